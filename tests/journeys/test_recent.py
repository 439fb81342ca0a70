"""What happened today, by whom, and in which words: several clients, a person, other machines."""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Ran, Run, clean_environment
from tests.surfaces.mcp.harness import INITIALIZED, Process, new_vault
from tests.waiting import until

QUICK = {"VAULTMEM_TYPING_QUIET_SECONDS": "0", "VAULTMEM_MODEL": "off"}


@contextmanager
def client(home: Path, root: Path, name: str, *arguments: str) -> Iterator[Process]:
    """A server as a client of that name has started it."""
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": name, "version": "1"},
    }
    with Process(home, "--vault", str(root), *arguments, env=QUICK) as process:
        process.request(0, "initialize", **hello)
        process.send(INITIALIZED)
        yield process


def content(result: dict[str, Any]) -> dict[str, Any]:
    assert not result["isError"], result
    found: dict[str, Any] = result["structuredContent"]
    return found


def store(process: Process, text: str, **more: Any) -> str:
    given = {"type": "semantic", "scope": "user", **more}
    return str(content(process.call(1, "store_memory", content=text, **given))["memory_id"])


def happened(run: Run, root: Path, *arguments: str, **env: str) -> list[dict[str, Any]]:
    """With another zone in a process that starts anew: a clock is set when a program starts."""
    asked = ("recent", *arguments, "--json", "--vault", str(root))
    if env:
        begun = [sys.executable, "-m", "vaultmem", *asked]
        kept = clean_environment(root.parent) | QUICK | env
        told = subprocess.run(begun, env=kept, capture_output=True, check=True, cwd=root.parent)
        done = Ran(0, told.stdout.decode(), "")
    else:
        done = run(*asked, env=QUICK)
    assert done.code == 0, done.err
    found: list[dict[str, Any]] = done.json["activity"]
    return found


def deeds(found: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Oldest first."""
    return [(each.get("client") or each["by"], each["what"], each["title"]) for each in found[::-1]]


def git(folder: Path, *arguments: str) -> str:
    env = clean_environment(folder.parent)
    done = subprocess.run(["git", *arguments], cwd=folder, env=env, capture_output=True, check=True)
    return done.stdout.decode()


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return new_vault(tmp_path / "vault")


def test_two_clients_and_a_person_are_told_apart(tmp_path: Path, vault: Path, run: Run) -> None:
    with client(tmp_path, vault, "claude-code") as one, client(tmp_path, vault, "cursor") as other:
        tokens = store(one, "Refresh tokens rotate every 24 hours.")
        lamp = store(other, "The lamp in the hall has an E14 socket.")
        change = {"old_text": "24 hours", "new_text": "12 hours"}
        content(other.call(2, "update_memory", memory_id=tokens, **change))
        content(one.call(3, "forget_memory", memory_id=lamp, reason="moved out"))
        content(one.call(4, "restore_memory", memory_id=lamp))
        content(one.call(5, "tag_memory", memory_id=lamp, add=["house"]))
        session = content(one.call(6, "start_session", title="Night work"))["session_id"]
        said = {"session_id": session, "type": "decision"}
        content(one.call(7, "log_observation", content="Sign with RS256", **said))
        content(one.call(8, "log_observation", content="Keep ES256 too", **said))
        gone = {"scope": "user", "tags": ["house"]}
        content(other.call(9, "prune_memories", **gone))
        asked = content(one.call(10, "list_memories", by="cursor", since="today"))
        by_person = vault / "Memories" / "Refresh tokens rotate every 24 hours.md"
        by_person.write_text(by_person.read_text().replace("12 hours", "6 hours, says Ada"))
        until(lambda: "person" in str(happened(run, vault, "--by", "person")))
    found = happened(run, vault, "--since", "today")
    hours, lamps = "Refresh tokens rotate every 24 hours", "The lamp in the hall has an E14 socket"
    journal = found[1]["title"] if found[0]["by"] == "person" else ""
    assert deeds([each for each in found if "Night work" not in each["title"]]) == [
        ("claude-code", "stored", hours),
        ("cursor", "stored", lamps),
        ("cursor", "changed", hours),
        ("claude-code", "forgotten", lamps),
        ("claude-code", "restored", lamps),
        ("claude-code", "tagged", lamps),
        ("cursor", "pruned", lamps),
        ("person", "changed", hours),
    ], journal
    words = {(each["what"], each["by"], each["title"]): each.get("changes") for each in found}
    assert words["changed", "agent", hours] == [{"removed": "24", "added": "12"}]
    assert words["changed", "person", hours] == [
        {"removed": "12 hours.", "added": "6 hours, says Ada."}
    ]
    assert words["forgotten", "agent", lamps] == [{"added": "forgotten_reason: moved out"}]
    started = next(each for each in found if each["what"] == "started")
    assert not started.get("changes"), "a heading says nothing"
    logged = next(each for each in found if each["what"] == "logged")
    assert logged["times"] == 2 and logged["session"] == session
    assert [each["added"] for each in logged["changes"]] == [
        "decision: Sign with RS256",
        "decision: Keep ES256 too",
    ]
    assert [(each["client"], each["what"]) for each in asked["activity"]] == [
        ("cursor", "pruned"),
        ("cursor", "changed"),
        ("cursor", "stored"),
    ]
    assert asked["activity"][1]["changes"] == ["-24 +12"]


def test_a_pull_brings_what_others_did_and_nobody_here(tmp_path: Path, run: Run) -> None:
    first, second, bare = tmp_path / "first", tmp_path / "second", tmp_path / "bare.git"
    assert run("init", str(first), "--git").code == 0
    git(tmp_path, "init", "--bare", "--quiet", "--initial-branch=main", str(bare))
    git(first, "remote", "add", "origin", str(bare))
    assert run("sync", "--vault", str(first), env=QUICK).code == 0
    git(tmp_path, "clone", "--quiet", str(bare), str(second))
    assert run("index", "--vault", str(first), env=QUICK).code == 0
    with client(tmp_path, second, "windsurf") as there:
        store(there, "The harbour office opens at seven.")
    (second / "Tides.md").write_text("High water at noon.\n")
    them = {"GIT_AUTHOR_NAME": "Ada", "GIT_COMMITTER_NAME": "Ada's laptop"}
    assert run("sync", "--vault", str(second), env=QUICK | them).code == 0
    (first / "Mine.md").write_text("Written here.\n")
    assert run("sync", "--vault", str(first), env=QUICK).code == 0
    found = [e for e in happened(run, first, "--since", "1h") if e["title"] != "Home"]
    told = {each["title"]: each for each in found}
    office = told["The harbour office opens at seven"]
    assert (office["by"], office["client"], office["what"]) == ("agent", "windsurf", "stored")
    assert office["machine"] == "Ada's laptop"
    assert office["changes"] == [{"added": "The harbour office opens at seven."}]
    tides = told["Tides"]
    assert (tides["by"], tides["person"], tides["what"]) == ("person", "Ada", "created")
    assert tides["changes"] == [{"added": "High water at noon."}]
    mine = told["Mine"]
    assert mine["by"] == "person" and "machine" not in mine
    assert sum(each["title"] == "Tides" for each in found) == 1
    assert run("recent", "--since", "1h", "--vault", str(first), env=QUICK).code == 0


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Asia/Tokyo"])
def test_today_is_the_day_of_the_person(zone: str, tmp_path: Path, vault: Path, run: Run) -> None:
    """A note saved just before midnight over there is of yesterday, one just after of today."""
    assert run("index", "--vault", str(vault), env=QUICK).code == 0
    for name in ("Late", "Early"):
        (vault / f"{name}.md").write_text("x\n")
    assert run("index", "--vault", str(vault), env=QUICK).code == 0
    midnight = midnight_in(run, zone)
    for name, moment in (("Late", midnight - 60), ("Early", midnight + 1)):
        (vault / f"{name}.md").write_text(f"{name} words\n")
        os.utime(vault / f"{name}.md", (moment, moment))
    assert run("index", "--vault", str(vault), env=QUICK).code == 0
    today = happened(run, vault, "--since", "today", TZ=zone)
    changed = {each["title"]: each["at"] for each in today if each["what"] == "changed"}
    assert list(changed) == ["Early"]
    assert changed["Early"][11:19] == "00:00:01"
    assert changed["Early"][19:] in {"-08:00", "-07:00", "+09:00"}
    since = happened(run, vault, "--since", "yesterday", TZ=zone)
    assert {each["title"] for each in since if each["what"] == "changed"} == {"Early", "Late"}


def midnight_in(run: Run, zone: str) -> float:
    from zoneinfo import ZoneInfo

    today = dt.datetime.now(ZoneInfo(zone)).date()
    return dt.datetime.combine(today, dt.time(), ZoneInfo(zone)).timestamp()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("--since", "soon"), "since must be today, yesterday, an age like 2d or 3h, or a date"),
        (("--since", "2026-02-30"), "since must be today"),
        (("--since", "today", "--limit", "0"), "limit"),
        (("--by", " ", "--since", "today"), "by must be agent, person or the name of a client"),
    ],
)
def test_what_cannot_be_meant_is_a_sentence(
    given: tuple[str, ...], told: str, vault: Path, run: Run
) -> None:
    done = run("recent", *given, "--vault", str(vault), env=QUICK)
    assert done.code == 2 and told in done.err and "Traceback" not in done.err


def test_who_wrote_is_named_where_another_was_asked_for(
    tmp_path: Path, vault: Path, run: Run
) -> None:
    with client(tmp_path, vault, "claude-code") as process:
        store(process, "Tea is drunk at four.")
    done = run("recent", "--by", "cursr", "--vault", str(vault), env=QUICK)
    assert done.code == 0
    assert "Nothing by cursr since" in done.err and "Agents that wrote: claude-code." in done.err


def test_a_killed_server_leaves_what_it_put_down(tmp_path: Path, vault: Path, run: Run) -> None:
    with client(tmp_path, vault, "claude-code") as process:
        store(process, "Bees sleep in the afternoon.")
        process.child.kill()
        process.child.wait()
    found = happened(run, vault, "--by", "claude-code")
    assert deeds(found) == [("claude-code", "stored", "Bees sleep in the afternoon")]


def test_what_is_logged_belongs_to_its_project(tmp_path: Path, vault: Path, run: Run) -> None:
    """The lines of a journal are most of what an agent tells."""
    with client(tmp_path, vault, "claude-code") as process:
        content(process.call(1, "start_session", title="Night work", project="Atlas"))
        content(process.call(2, "log_observation", content="Sign with RS256", type="decision"))
        content(process.call(3, "log_observation", content="Keep ES256 too", type="decision"))
        there = content(process.call(4, "list_memories", since="today"))["activity"]
        assert content(process.call(5, "list_memories", since="today", by="agent"))
    assert {each["project"] for each in there} == {"Atlas"}
    found = happened(run, vault, "--project", "atlas")
    assert [each["what"] for each in found] == ["logged", "started"]
    assert [each["added"] for each in found[0]["changes"]] == [
        "decision: Sign with RS256",
        "decision: Keep ES256 too",
    ]
    assert not happened(run, vault, "--project", "Beacon")


def test_a_bound_caller_knows_nothing_of_others(tmp_path: Path, vault: Path) -> None:
    with client(tmp_path, vault, "claude-code") as process:
        atlas = store(process, "Atlas ships in May.", scope="project", project="Atlas")
        store(process, "Beacon ships in June.", scope="project", project="Beacon")
        change = {"old_text": "May", "new_text": "July"}
        content(process.call(2, "update_memory", memory_id=atlas, **change))
    with client(tmp_path, vault, "cursor", "--project", "Beacon") as bound:
        told = json.dumps(content(bound.call(1, "list_memories", since="today")))
        resource = bound.request(2, "resources/read", uri="memory://recent?since=today&by=agent")
        told += json.dumps(resource["result"])
        told += json.dumps(bound.request(3, "resources/read", uri="memory://recent")["result"])
        assert "Beacon" in told and "Atlas" not in told and "July" not in told
        missing = content(bound.call(4, "list_memories", by="nobody"))
        assert "claude-code" in missing["message"]  # it did something that is seen here


def test_what_lasts_a_session_and_what_is_private_is_not_told(
    tmp_path: Path, vault: Path, run: Run
) -> None:
    with client(tmp_path, vault, "claude-code", "--session", "S1") as process:
        store(process, "qzvolatile for now", scope="session", session_id="S1")
        store(process, "Kept words <private>qzprivate</private> here")
    assert run("index", "--vault", str(vault), env=QUICK).code == 0
    (vault / "Mine.md").write_text("Public. <private>qzperson</private> %%qzcomment%%\n")
    assert run("index", "--vault", str(vault), env=QUICK).code == 0
    (vault / "Mine.md").write_text("Public. <private>qzother</private> more %%qzcomment2%%\n")
    assert run("index", "--vault", str(vault), env=QUICK).code == 0
    told = json.dumps(happened(run, vault, "--since", "today"))
    assert "Kept words" in told and "more" in told and "qz" not in told
    log = b"".join(p.read_bytes() for p in (vault / ".vaultmem/local").glob("activity.db*"))
    assert b"qz" not in log


def test_words_that_a_person_deletes_leave_the_log(vault: Path, run: Run) -> None:
    def indexed() -> Ran:
        return run("index", "--vault", str(vault), env=QUICK)

    (vault / "Other.md").write_text("stays\n")
    indexed()
    note = vault / "Diary.md"
    note.write_text("The qzplan is secret.\n")
    indexed()
    assert "qzplan" in json.dumps(happened(run, vault, "--by", "person"))
    note.unlink()
    indexed()
    found = happened(run, vault, "--by", "person")
    assert "qzplan" not in json.dumps(found)
    assert [each["what"] for each in found[:2]] == ["deleted", "created"]


def test_many_processes_put_down_everything(tmp_path: Path, vault: Path, run: Run) -> None:
    from contextlib import ExitStack
    from threading import Thread

    with ExitStack() as stack:
        names = ("one", "two", "three")
        clients = {n: stack.enter_context(client(tmp_path, vault, n)) for n in names}

        def write(name: str) -> None:
            for number in range(8):
                store(clients[name], f"{name} says {number} things about ships and sails")

        threads = [Thread(target=write, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for name in names:
        assert len(happened(run, vault, "--by", name, "--limit", "50")) == 8
    assert not happened(run, vault, "--by", "person", "--since", "1h")
