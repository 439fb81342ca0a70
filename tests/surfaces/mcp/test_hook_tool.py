"""The tool that a client's hooks call: it says what `vaultmem hook` prints, and disturbs nobody."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import FIXTURES, TEMPLATE, clean_environment, snapshot
from tests.surfaces.mcp.harness import ERAS, Process, client, serving
from tests.waiting import until
from vaultmem.base import lock
from vaultmem.clients import our_entry
from vaultmem.surfaces.mcp import hook_tool, tools
from vaultmem.surfaces.mcp.server import Options

pytestmark = pytest.mark.anyio

HOOKS = {event.name: our_entry.server_hook(event, "vaultmem") for event in our_entry.EVENTS}
ASKED = [event.name for event in our_entry.EVENTS if event.fields]
PAYLOADS = [
    payload
    for payload in json.loads((FIXTURES / "claude-hooks.json").read_text())
    if payload["hook_event_name"] in ASKED
]
# With more time than an agent gives it: on a busy machine it would give up, as it should.
UNHURRIED = """
import sys
from vaultmem.__main__ import run
from vaultmem.surfaces.cli.commands import hook
hook.SECONDS = hook._UNTIL = 100.0
sys.argv[0] = "vaultmem"
run()
"""
UNHURRIED_SERVER = """
import sys
from vaultmem.__main__ import run
from vaultmem.surfaces.mcp import hook_tool
hook_tool.SECONDS = hook_tool._MODEL_SECONDS = 100.0
sys.argv[0] = "vaultmem"
run()
"""
QUESTION = "How long do refresh tokens live?"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return copied(tmp_path / "Brain")


def copied(place: Path) -> Path:
    return Path(shutil.copytree(TEMPLATE, place))


def filled(payload: dict[str, Any], name: str = "") -> dict[str, str]:
    """What Claude Code makes of the input that `install` writes: a field's text, an object's JSON,
    nothing for what is not there."""
    given = HOOKS[name or payload["hook_event_name"]]["input"]

    def text(found: re.Match[str]) -> str:
        value = payload.get(found[1])
        if value is None:
            return ""
        return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))

    return {field: re.sub(r"\$\{(\w+)\}", text, written) for field, written in given.items()}


def event(name: str, **fields: Any) -> dict[str, Any]:
    return {"hook_event_name": name, "session_id": "s-1", "cwd": "/home/me/Atlas", **fields}


def unhurried(home: Path, vault: Path, *arguments: str) -> Process:
    command = (sys.executable, "-c", UNHURRIED_SERVER, "serve")
    quiet = {"VAULTMEM_TYPING_QUIET_SECONDS": "0"}
    return Process(home, "--vault", str(vault), *arguments, command=command, env=quiet)


def printed(vault: Path, payload: dict[str, Any]) -> str:
    done = subprocess.run(
        [sys.executable, "-c", UNHURRIED, "hook", "--vault", str(vault)],
        input=json.dumps(payload), capture_output=True, text=True, timeout=120,
        env=clean_environment(vault.parent) | {"VAULTMEM_TYPING_QUIET_SECONDS": "0"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def text_of(result: dict[str, Any]) -> str:
    assert result["isError"] is False and "structuredContent" not in result
    return "".join(block["text"] for block in result["content"])


def journal(vault: Path, session: str = "s-1") -> str:
    """Without what differs from one moment to the next."""
    found = [file.read_text() for file in sorted((vault / "Sessions").rglob("*.md"))]
    kept = "".join(text for text in found if f"session: {session}\n" in text)
    return re.sub(r"(?m)^(?:id|created): .*$| \^\w+$|\*\*[\d:]+\*\*", "", kept)


# --- the same as the command ---------------------------------------------------------------


def test_it_says_what_the_command_prints(tmp_path: Path) -> None:
    """A session as Claude Code tells it, once to each: the same answers, the same journal."""
    by_command, by_tool = copied(tmp_path / "a" / "Brain"), copied(tmp_path / "b" / "Brain")
    said = 0
    with unhurried(tmp_path, by_tool) as process:
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}}
        hello["clientInfo"] = {"name": "claude-code", "version": "2.1.325"}
        process.request(0, "initialize", **hello)
        for number, payload in enumerate(PAYLOADS, 1):
            answered = text_of(process.call(number, hook_tool.NAME, **filled(payload)))
            assert answered == printed(by_command, payload), payload["hook_event_name"]
            said += bool(answered)
        assert process.end() == 0
    assert said == 1, "memories for the prompt, and nothing else"
    session = PAYLOADS[0]["session_id"]
    assert "change: Edited src/auth.py" in journal(by_tool, session)
    assert journal(by_tool, session) == journal(by_command, session)


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_library_may_call_it(
    era: str, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook_tool, "SECONDS", 100.0)
    with serving(vault) as served:
        async with client(served, era) as connection:
            listed = (await connection.list_tools()).tools
            asked = filled(event("UserPromptSubmit", prompt=QUESTION))
            told = await connection.call_tool(hook_tool.NAME, asked)
            quiet = await connection.call_tool(hook_tool.NAME, asked)
    assert hook_tool.NAME not in {tool.name for tool in listed}
    assert "grace period" in told.content[0].text  # type: ignore[union-attr]
    assert (quiet.content, quiet.is_error) == ([], False), "nothing is shown twice"


# --- in nobody's way -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"hook_event_name": "SomethingNew"},
        {"hook_event_name": 5, "session_id": {}, "cwd": []},
        event("PostToolUse", tool_name=7, tool_input=[], tool_response="{"),
        event("PostToolUse", tool_name="Write", tool_input='{"file_path": 3}'),
        event("UserPromptSubmit", prompt={"text": QUESTION}),
        event("UserPromptSubmit", prompt="ok thanks"),
        event("UserPromptSubmit", prompt="x" * 8_000_000),
        event("PostToolUse", tool_name="Write", tool_input='{"a":' * 90_000),
        event("Stop", session_id="../../etc", last_assistant_message="It is done now."),
        {"deep": json.loads("[" * 300 + "]" * 300)},
    ],
    ids=lambda given: str(given)[:50],
)
def test_odd_events_are_let_go_by(vault: Path, given: dict[str, Any]) -> None:
    with unhurried(vault.parent, vault) as process:
        process.start()
        assert text_of(process.call(1, hook_tool.NAME, **given)) == ""
        recalled = process.call(2, "recall_memories", query="refresh tokens rotate")
        assert "24 hours" in str(recalled)
        assert process.end() == 0
        assert "Traceback" not in process.errors()


@pytest.mark.parametrize("breakage", ["settings", "index", "gone"])
def test_a_broken_vault_disturbs_nobody(vault: Path, breakage: str) -> None:
    match breakage:
        case "settings":
            (vault / ".vaultmem" / "config.toml").write_text("read_only = [")
        case "index":
            (vault / ".vaultmem" / "index").write_text("not a folder")
    with unhurried(vault.parent, vault) as process:
        process.start()
        if breakage == "gone":
            vault.rename(vault.with_name("elsewhere"))
        for number, payload in enumerate(PAYLOADS, 1):
            result = process.call(number, hook_tool.NAME, **filled(payload))
            assert result["isError"] is False
        process.end()
        assert "Traceback" not in process.errors()


def test_a_busy_vault_keeps_nobody_waiting_and_nothing_is_lost(vault: Path) -> None:
    local = vault / ".vaultmem" / "local"
    local.mkdir(exist_ok=True)
    wrote = event("PostToolUse", tool_name="Write", tool_input={"file_path": "/home/me/Atlas/a"})
    with Process(vault.parent, "--vault", str(vault)) as process:
        process.start()
        process.call(1, "get_memory_status")
        held = [lock.try_to_lock(local / name) for name in ("write.lock", "journals.lock")]
        assert text_of(process.call(2, hook_tool.NAME, **filled(wrote))) == ""
        assert "Wrote a" not in journal(vault), "the answer came first"
        for one in held:
            assert one is not None
            one.release()
        until(lambda: "Wrote a" in journal(vault))


# --- no more than is allowed ---------------------------------------------------------------


def notes_of(vault: Path) -> dict[str, bytes]:
    return {k: v for k, v in snapshot(vault).items() if not k.startswith(".vaultmem/")}


@pytest.mark.parametrize("where", ["flag", "settings"])
def test_a_read_only_server_tells_and_writes_nothing(vault: Path, where: str) -> None:
    flags = ("--read-only",) if where == "flag" else ()
    if where == "settings":
        (vault / ".vaultmem" / "config.toml").write_text("read_only = true\n")
    before = notes_of(vault)
    with unhurried(vault.parent, vault, *flags) as process:
        process.start()
        asked = filled(event("UserPromptSubmit", prompt=QUESTION))
        assert "grace period" in text_of(process.call(1, hook_tool.NAME, **asked))
        for number, payload in enumerate(PAYLOADS, 2):
            result = process.call(number, hook_tool.NAME, **filled(payload))
            assert result["isError"] is False
        for name, fields in {
            "PostCompact": {"compact_summary": "Tokens now live in the Keychain."},
            "SessionEnd": {"reason": "other"},
        }.items():
            assert text_of(process.call(50, hook_tool.NAME, **event(name, **fields))) == ""
        assert process.end() == 0
        assert process.errors() == ""
    assert notes_of(vault) == before


def test_pins_hold_whatever_an_event_says(vault: Path) -> None:
    for project in ("Atlas", "Borealis"):
        note = f"---\ntype: note\nproject: {project}\n---\nThe walrus gate of {project} is Q7.\n"
        (vault / f"Walrus {project}.md").write_text(note)
    (vault / "Walrus Ada.md").write_text("---\nuser: ada\n---\nThe walrus gate of Ada is Q9.\n")
    with unhurried(vault.parent, vault, "--project", "Atlas", "--user", "bob") as process:
        process.start()
        more = {"project": "Borealis", "user": "ada", "read_only": False, "cwd": "/me/Borealis"}
        asked = event("UserPromptSubmit", prompt="What is the walrus gate?") | more
        said = text_of(process.call(1, hook_tool.NAME, **asked))
        assert "gate of Atlas" in said and "Borealis" not in said and "of Ada" not in said
        wrote = event("PostToolUse", tool_name="Write", tool_input={"file_path": "b.txt"}) | more
        assert text_of(process.call(2, hook_tool.NAME, **wrote)) == ""
        assert process.end() == 0
    assert "project: Atlas\n" in journal(vault) and "user: bob\n" in journal(vault)


def test_a_transcript_is_not_opened_for_whoever_names_one(vault: Path) -> None:
    """The command opens it; what comes to a server may come over a network."""
    said = {"type": "assistant", "message": {"content": "The gate opens at noon from now on."}}
    transcript = vault.parent / "t.jsonl"
    transcript.write_text(json.dumps(said) + "\n")
    with unhurried(vault.parent, vault) as process:
        process.start()
        wrote = event("PostToolUse", tool_name="Write", tool_input={"file_path": "b.txt"})
        process.call(1, hook_tool.NAME, **wrote)
        ended = event("Stop", transcript_path=str(transcript))
        process.call(2, hook_tool.NAME, **ended)
        assert process.end() == 0
    assert "Wrote b.txt" in journal(vault) and "at noon" not in journal(vault)


def test_a_dialect_has_no_such_tool(vault: Path) -> None:
    with unhurried(vault.parent, vault, "--dialect", "surreal") as process:
        process.start()
        asked = filled(event("UserPromptSubmit", prompt=QUESTION))
        reply = process.request(1, "tools/call", name=hook_tool.NAME, arguments=asked)
        assert "grace period" not in json.dumps(reply)
        assert "error" in reply or reply["result"]["isError"]


# --- its place in the list -----------------------------------------------------------------


def listed_by(*toolsets: str, read_only: bool = False) -> list[str]:
    return [tool.name for tool in tools.served_tools(toolsets, read_only=read_only)]


def test_it_is_listed_where_that_is_asked_for() -> None:
    assert hook_tool.NAME not in listed_by(*tools.parse_toolsets("all"))
    assert hook_tool.NAME not in listed_by(*Options().toolsets)
    assert tools.parse_toolsets("hooks,core") == ("core", "hooks")
    assert hook_tool.NAME in listed_by("core", "hooks")
    assert hook_tool.NAME not in listed_by("core", "hooks", read_only=True)


def test_it_takes_sixty_tokens_at_most() -> None:
    listing = hook_tool.HOOK_EVENT.listing()
    assert len(json.dumps(listing, separators=(",", ":")).encode()) / 4 <= 60
    assert "outputSchema" not in listing, "it would promise structured content"


def test_what_install_writes_names_it() -> None:
    assert {hook["tool"] for hook in HOOKS.values()} == {hook_tool.NAME}
