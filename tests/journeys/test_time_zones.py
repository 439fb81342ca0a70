"""Time as people mean it: whole processes on machines in several time zones."""

from __future__ import annotations

import datetime as dt
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import nursery
from tests.clocks import LOS_ANGELES, TOKYO, zone_where_it_is
from tests.conftest import Run, clean_environment
from tests.surfaces.mcp.harness import new_vault

DATED = re.compile(r"(?m)^(?:created|updated|forgotten_at): (.+)$")
CLOCK = re.compile(r"\*\*(\d\d:\d\d:\d\d)\*\*")


class Machine:
    """A machine in one time zone, with the command line, an agent's server and its hooks."""

    def __init__(self, run: Run, home: Path, zone: str, offset: dt.tzinfo) -> None:
        self.run, self.home, self.offset = run, home, offset
        self.env = {"TZ": zone, "VAULTMEM_MODEL": "off"}
        self.root = home / "Vault"

    @property
    def today(self) -> dt.date:
        return dt.datetime.now(self.offset).date()

    def day(self, back: int) -> str:
        return (self.today - dt.timedelta(days=back)).isoformat()

    def command(self, *arguments: str, finds: bool = True) -> Any:
        ran = self.run(*arguments, "--vault", str(self.root), env=self.env)
        assert ran.code == 0 or not finds, ran.err
        return ran

    def paths(self, *arguments: str) -> set[str]:
        found = self.command("search", *arguments, "--json", finds=False).json
        return {hit["path"] for hit in found["memories"]}

    def hook(self, **event: Any) -> None:
        given = {"session_id": "monday", "cwd": str(self.home), **event}
        done = nursery.run(
            [sys.executable, "-m", "vaultmem", "hook", "--vault", str(self.root)],
            cwd=self.home,
            env=clean_environment(self.home) | self.env,
            input=json.dumps(given).encode(),
            capture_output=True,
            timeout=60,
        )
        assert done.returncode == 0 and not done.stderr, done.stderr

    def call_tools(self, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        asked: list[Any] = [{"id": 0, "method": "initialize", "params": hello}]
        asked.append({"method": "notifications/initialized"})
        with subprocess.Popen(
            [sys.executable, "-m", "vaultmem", "serve", "--vault", str(self.root)],
            env=clean_environment(self.home) | self.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as server:
            assert server.stdin is not None and server.stdout is not None
            answers = []
            for number, (name, arguments) in enumerate(calls, 1):
                params = {"name": name, "arguments": arguments}
                asked.append({"id": number, "method": "tools/call", "params": params})
                for each in asked:
                    server.stdin.write(json.dumps({"jsonrpc": "2.0", **each}).encode() + b"\n")
                server.stdin.flush()
                asked.clear()
                while (answer := json.loads(server.stdout.readline())).get("id") != number:
                    pass
                assert not answer["result"]["isError"], answer
                answers.append(answer["result"]["structuredContent"])
            server.stdin.close()
            server.wait(30)
        return answers

    def texts(self, folder: str) -> dict[str, str]:
        files = sorted((self.root / folder).rglob("*.md"))
        return {file.relative_to(self.root).as_posix(): file.read_text() for file in files}


ZONES = [*(f"{hour}" for hour in (23, 0)), LOS_ANGELES, TOKYO]


@pytest.fixture(params=ZONES)
def machine(request: pytest.FixtureRequest, run: Run, tmp_path: Path) -> Machine:
    """In the last or first hour of its day, or in a city."""
    if request.param.isdigit():
        zone, offset = zone_where_it_is(int(request.param))
        made = Machine(run, tmp_path, zone, offset)
    else:
        from zoneinfo import ZoneInfo

        made = Machine(run, tmp_path, request.param, ZoneInfo(request.param))
    made.root.joinpath(".vaultmem").mkdir(parents=True)
    return made


def is_now(text: str, zone: dt.tzinfo) -> bool:
    shown = dt.datetime.fromisoformat(text).replace(tzinfo=zone)
    return abs((shown - dt.datetime.now(zone)).total_seconds()) < 300


def test_everything_that_is_written_has_the_local_time(machine: Machine) -> None:
    def tea(degrees: str) -> dict[str, str]:
        text = f"Tea is brewed at {degrees} degrees"
        return {"content": text, "key": "tea", "type": "semantic", "scope": "user"}

    days = {machine.today}
    machine.command("add", "The gateway signs tokens with RS256")
    machine.hook(hook_event_name="SessionStart", source="startup")
    machine.hook(hook_event_name="UserPromptSubmit", prompt="Please remember: we deploy on Fridays")
    machine.hook(
        hook_event_name="PostToolUse",
        tool_name="Edit",
        tool_input={"file_path": "/tmp/a.py", "old_string": "a", "new_string": "b"},
        tool_response={},
    )
    machine.hook(hook_event_name="SessionEnd", reason="exit")
    started, logged, fact, *_ = machine.call_tools(
        ("start_session", {"title": "Evening"}),
        ("log_observation", {"content": "A late finding", "type": "finding"}),
        ("assert_fact", {"subject": "Gateway", "predicate": "signs_with", "object": "RS256"}),
        ("store_memory", tea("eighty")),
        ("store_memory", tea("seventy")),
        ("forget_memory", {"memory_id": "The gateway signs tokens with RS256"}),
    )
    days.add(machine.today)
    written = machine.texts("Memories") | machine.texts("Sessions") | machine.texts("Entities")
    dates = [date for text in written.values() for date in DATED.findall(text)]
    assert len(dates) >= 6 and all(is_now(date, machine.offset) for date in dates), dates
    for path in machine.texts("Sessions"):
        assert any(path.startswith(f"Sessions/{d:%Y}/{d:%Y-%m-%d} ") for d in days), path
    journal = written[started["path"]]
    (clock,) = CLOCK.findall(journal)
    assert any(is_now(f"{day}T{clock}", machine.offset) for day in days)
    (since,) = re.findall(r"\((\S+) →", written["Entities/Gateway.md"])
    assert is_now(since, machine.offset)
    for told in (
        fact["fact"]["valid_from"],
        machine.command("show", "Tea is brewed at eighty degrees", "--json").json["created_at"],
    ):
        assert told.endswith("Z") and is_now(told[:-1], dt.UTC)
    assert logged["path"] == started["path"]


def test_days_of_filters_are_the_persons(machine: Machine) -> None:
    machine.command("add", "The gateway signs tokens")
    today, yesterday, tomorrow = machine.day(0), machine.day(1), machine.day(-1)
    assert machine.paths("gateway", "--after", today)
    assert machine.paths("gateway", "--before", today)
    assert machine.paths("gateway", "--after", "today")
    assert not machine.paths("gateway", "--after", tomorrow)
    assert not machine.paths("gateway", "--before", yesterday)
    assert not machine.paths("gateway", "--before", "yesterday")


def test_today_and_yesterday_in_a_question_are_the_persons(machine: Machine) -> None:
    for back in range(4):
        day = machine.today - dt.timedelta(days=back)
        file = machine.root / f"Daily/{day}.md"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"Walk number {back} in the park.\n")
    for question, back in (("today", 0), ("yesterday", 1)):
        hits = machine.command("search", f"which walk {question}", "--json").json["memories"]
        assert hits[0]["path"] == f"Daily/{machine.day(back)}.md", (question, machine.env)


def test_a_vault_that_travels(run: Run, tmp_path: Path) -> None:
    from zoneinfo import ZoneInfo

    machines = {zone: Machine(run, tmp_path, zone, ZoneInfo(zone)) for zone in (TOKYO, LOS_ANGELES)}
    machines[TOKYO].root.joinpath(".vaultmem").mkdir(parents=True)
    begun = dt.datetime.now(dt.UTC).replace(microsecond=0)
    for number, zone in enumerate((TOKYO, LOS_ANGELES, TOKYO)):
        machines[zone].command("add", f"Tea number {number}")
    for machine in machines.values():
        machine.command("index", "--rebuild")
        listed = machine.command("search", "tea number", "--json").json["memories"]
        made = {m["path"]: dt.datetime.fromisoformat(m["created_at"]) for m in listed}
        assert len(made) == 3 and sorted(made, key=lambda path: made[path]) == sorted(made)
        assert all(begun <= each <= dt.datetime.now(dt.UTC) for each in made.values())
    texts = machines[TOKYO].texts("Memories").values()
    assert len({text.partition("created: ")[2][:13] for text in texts}) == 2  # two clocks


def test_older_notes_in_utc_are_read_as_they_were_meant(machine: Machine) -> None:
    old = "---\nid: 01KE6P1P80R9M2N4P6R7S8T9VW\ntype: semantic\ncreated: {}\n---\nTea is green.\n"
    from ulid_transform import ulid_to_timestamp

    made = dt.datetime.fromtimestamp(
        ulid_to_timestamp("01KE6P1P80R9M2N4P6R7S8T9VW") // 1000, dt.UTC
    )
    (machine.root / "Tea.md").write_text(old.format(f"{made:%Y-%m-%dT%H:%M:%S}"))
    shown = machine.command("show", "Tea", "--json").json
    assert shown["created_at"] == shown["updated_at"] == f"{made:%Y-%m-%dT%H:%M:%SZ}"
    machine.call_tools(("update_memory", {"memory_id": "Tea", "append": "And hot."}))
    shown = machine.command("show", "Tea", "--json").json
    assert shown["created_at"] == f"{made:%Y-%m-%dT%H:%M:%SZ}"
    assert is_now(shown["updated_at"][:-1], dt.UTC)
    assert f"created: {made:%Y-%m-%dT%H:%M:%S}\n" in (machine.root / "Tea.md").read_text()


def test_a_journal_around_midnight(run: Run, tmp_path: Path) -> None:
    """What is seen after midnight is of the day after, whoever reads it."""
    journal = (
        "---\ntype: session\nsession: night\n"
        "created: 2026-01-05T23:50:00\n---\n## Log\n\n"
        "- **23:59:00** note: Before midnight ^a1\n- **00:10:00** note: After midnight ^a2\n"
    )
    for zone, moments in (
        (LOS_ANGELES, ["2026-01-06T07:59:00Z", "2026-01-06T08:10:00Z"]),
        (TOKYO, ["2026-01-05T14:59:00Z", "2026-01-05T15:10:00Z"]),
    ):
        from zoneinfo import ZoneInfo

        machine = Machine(run, tmp_path, zone, ZoneInfo(zone))
        folder = machine.root / "Sessions/2026"
        folder.mkdir(parents=True, exist_ok=True)
        (machine.root / ".vaultmem").mkdir(exist_ok=True)
        (folder / "2026-01-05 2350 Night.md").write_text(journal)
        seen = machine.command("timeline", "--session", "night", "--json").json["observations"]
        assert [each["time"] for each in seen] == moments


@pytest.mark.parametrize(("zone", "ahead"), [(LOS_ANGELES, "-08:00"), (TOKYO, "+09:00")])
def test_a_pipe_shows_the_clock_of_whoever_asks(tmp_path: Path, zone: str, ahead: str) -> None:
    """With what it is ahead of UTC, so that it is exact as well."""
    root = new_vault(tmp_path / "vault")
    told = "created: 2026-01-05T19:30:00\n---\n## Log\n\n- **19:31:00** note: A walk ^a1\n"
    (root / "Sessions").mkdir(exist_ok=True)
    (root / "Sessions/Evening.md").write_text(f"---\ntype: session\nsession: s\n{told}")
    for command in (["timeline"], ["recent"]):
        begun = [sys.executable, "-m", "vaultmem", *command, "--vault", str(root)]
        env = clean_environment(tmp_path) | {"TZ": zone, "VAULTMEM_MODEL": "off"}
        done = subprocess.run(begun, env=env, capture_output=True, check=True, cwd=tmp_path)
        shown = done.stdout.decode().partition("\t")[0]
        assert shown.endswith(ahead), shown
        if command == ["timeline"]:
            assert shown == f"2026-01-05T19:31:00{ahead}"
