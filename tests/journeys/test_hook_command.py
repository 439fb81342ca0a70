"""`vaultmem hook` as an agent's program runs it: a process, JSON in, JSON out, always 0."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import nursery
from tests.conftest import FIXTURES, TEMPLATE, Ran, Run, clean_environment, snapshot
from vaultmem.base import lock

UNHURRIED = """
import sys
from vaultmem.__main__ import run
from vaultmem.surfaces.cli.commands import hook
hook.SECONDS = hook._UNTIL = 100.0
sys.argv[0] = "vaultmem"
run()
"""
HEAVY = ("mcp", "numpy", "fastembed", "onnxruntime", "pydantic", "usearch", "sklearn")


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TEMPLATE, tmp_path / "Brain"))


def environment(home: Path, vault: Path | None) -> dict[str, str]:
    env = clean_environment(home) | {"VAULTMEM_TYPING_QUIET_SECONDS": "0"}
    env = {k: v for k, v in env.items() if not k.startswith("CLAUDE_")}
    return env | ({"VAULTMEM_VAULT": str(vault)} if vault else {})


def hook(
    vault: Path | None,
    data: bytes | dict[str, Any],
    *arguments: str,
    cwd: Path | None = None,
    program: tuple[str, str] = ("-c", UNHURRIED),
) -> Ran:
    """With more time than an agent gives it: on a busy machine it would give up, as it should."""
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    home = cwd or (vault.parent if vault else Path.cwd())
    done = nursery.run(
        [sys.executable, *program, "hook", *arguments],
        input=raw, capture_output=True, env=environment(home, vault), cwd=home, timeout=120,
    )  # fmt: skip
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def event(name: str, **fields: Any) -> dict[str, Any]:
    common = {"session_id": "s-1", "transcript_path": "/t.jsonl", "cwd": "/home/me/Atlas"}
    return {**common, "hook_event_name": name, **fields}


def test_a_whole_session(vault: Path) -> None:
    started = hook(vault, event("SessionStart", source="startup", model="opus"))
    output = started.json["hookSpecificOutput"]
    assert output["hookEventName"] == "SessionStart"
    assert "small commits" in output["additionalContext"]
    assert "Refresh tokens rotate" in output["additionalContext"]
    assert started.json["suppressOutput"] is True

    assert "5 minute grace period" in output["additionalContext"]

    asked = event("UserPromptSubmit", prompt="How long do refresh tokens live?")
    assert "5 minute grace period" not in hook(vault, asked).out  # it was shown
    other = hook(vault, asked | {"session_id": "s-2"})
    assert "5 minute grace period" in other.json["hookSpecificOutput"]["additionalContext"]
    thanked = hook(vault, event("UserPromptSubmit", prompt="ok thanks"))
    assert (thanked.code, thanked.out, thanked.err) == (0, "", "")

    edit = {"file_path": "/home/me/Atlas/src/auth.py", "old_string": "a", "new_string": "SECRET b"}
    quiet = [
        event("PreToolUse", tool_name="Edit", tool_input=edit, tool_use_id="t"),
        event("PostToolUse", tool_name="Edit", tool_input=edit, tool_response={}, duration_ms=3),
        event("PostToolBatch", tool_calls=[]),
        event("PreCompact", trigger="auto", custom_instructions=None),
        event("PostCompact", trigger="auto", compact_summary="Tokens now live in the Keychain."),
        event("Stop", stop_hook_active=False, last_assistant_message="Done."),
        event("SubagentStop", stop_hook_active=False, agent_id="a", agent_type="x"),
        event("SessionEnd", reason="prompt_input_exit"),
    ]
    effects = {
        "PostToolUse": lambda: "change: Edited src/auth.py" in journal(vault),
        "PostCompact": (vault / "Memories/Atlas/Tokens now live in the Keychain.md").exists,
        "SessionEnd": lambda: "## Summary" in journal(vault),
    }
    for payload in quiet:
        effect = effects.get(payload["hook_event_name"], lambda: True)
        for _ in range(5):  # on a busy machine it may give up
            assert hook(vault, payload) == Ran(0, "", "")
            if effect():
                break
        assert effect(), payload["hook_event_name"]
    assert "SECRET" not in journal(vault)


def journal(vault: Path) -> str:
    found = [f.read_text() for f in (vault / "Sessions").rglob("*.md")]
    return "".join(text for text in found if "session: s-1" in text)


PAYLOADS = json.loads((FIXTURES / "claude-hooks.json").read_text())
# Only for these events does Claude Code take a context; for others it drops the whole answer.
TAKES_CONTEXT = {"SessionStart", "UserPromptSubmit"}


@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda p: f"{p['hook_event_name']}")
def test_what_claude_code_sends(tmp_path: Path, payload: dict[str, Any]) -> None:
    """Payloads with every field that Claude Code 2.1 sends, each to a process of its own."""
    vault = Path(shutil.copytree(TEMPLATE, tmp_path / "Brain"))
    name = payload["hook_event_name"]
    ran = hook(vault, payload)
    assert (ran.code, ran.err) == (0, "")
    assert bool(ran.out) == (name in TAKES_CONTEXT)
    if ran.out:
        output = ran.json["hookSpecificOutput"]
        assert output["hookEventName"] == name
        assert 0 < len(output["additionalContext"]) <= 9_000


def test_looking_changes_no_note(vault: Path) -> None:
    notes = {k: v for k, v in snapshot(vault).items() if not k.startswith(".vaultmem/")}
    hook(vault, event("SessionStart", source="startup"))
    hook(vault, event("UserPromptSubmit", prompt="How long do refresh tokens live?"))
    after = {k: v for k, v in snapshot(vault).items() if not k.startswith(".vaultmem/")}
    assert after == notes


@pytest.mark.parametrize(
    "payload",
    [
        event("SessionStart", source="startup"),
        event("UserPromptSubmit", prompt="How long do refresh tokens live?"),
        event("PostToolUse", tool_name="Write", tool_input={"file_path": "/a"}, tool_response={}),
        event("PostCompact", compact_summary="Tokens moved."),
        event("SessionEnd", reason="other"),
    ],
    ids=lambda payload: payload["hook_event_name"],
)
def test_nothing_heavy_is_loaded(vault: Path, payload: dict[str, Any]) -> None:
    code = (
        "import sys; from vaultmem.surfaces.cli import main;"
        "from vaultmem.surfaces.cli.commands import hook; hook.SECONDS = 100.0; main(['hook']);"
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(payload).encode(),
        capture_output=True, env=environment(vault.parent, vault), timeout=120,
    )  # fmt: skip
    assert done.stderr.decode().splitlines()[-1] == "[]"


DEEP = (
    b'{"hook_event_name": "UserPromptSubmit", "prompt": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"
)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"   \n",
        b"not json",
        b"\xff\xfe\x00",
        b"null",
        b"[1, 2]",
        b'"SessionStart"',
        b"{}",
        b'{"hook_event_name": 5}',
        b'{"hook_event_name": "SomethingNew", "session_id": "s"}',
        b'{"hook_event_name": "UserPromptSubmit"}',
        b'{"hook_event_name": "PostToolUse", "tool_name": 7, "tool_input": [], "tool_response": 1}',
        b'{"hook_event_name": "PostToolUse", "session_id": {}, "tool_name": "Write", "tool_input": null}',
        b'{"hook_event_name": "UserPromptSubmit", "prompt": "' + b"x" * 20_000_000 + b'"}',
        b'{"hook_event_name": "SessionEnd", "session_id": "../../etc"}',
        DEEP,
    ],
    ids=lambda data: repr(data[:40]),
)
def test_odd_input_is_let_go_by(vault: Path, data: bytes) -> None:
    ran = hook(vault, data)
    assert (ran.code, ran.out) == (0, "")
    assert len(ran.err.splitlines()) <= 1
    assert "Traceback" not in ran.err


def test_half_a_character_spoils_no_question(vault: Path) -> None:
    data = b'{"hook_event_name": "UserPromptSubmit", "prompt": "refresh \\ud800 tokens", "cwd": "\\u0000"}'
    ran = hook(vault, data)
    assert ran.code == 0 and "Refresh tokens rotate every 24 hours" in ran.out
    assert "Traceback" not in ran.err


def test_a_hostile_session_id_stays_in_its_folder(vault: Path) -> None:
    payload = event("PostToolUse", tool_name="Write", tool_input={"file_path": "/a"})
    assert hook(vault, payload | {"session_id": "../../../x\n\n---\nid: y"}).code == 0
    written = [f for f in vault.parent.rglob("*") if f.is_file() and vault not in f.parents]
    assert written == []


def test_without_a_vault_it_is_silent(tmp_path: Path) -> None:
    payload = event("UserPromptSubmit", prompt="Rotate the tokens", cwd=str(tmp_path))
    assert hook(None, payload, cwd=tmp_path) == Ran(0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_the_vault_is_the_nearest_one_above_the_agents_folder(vault: Path, tmp_path: Path) -> None:
    inner = vault / "Memories" / "Atlas"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    payload = event("UserPromptSubmit", prompt="How long do refresh tokens live?", cwd=str(inner))
    assert "grace period" in hook(None, payload, cwd=elsewhere).out
    named = hook(
        None, payload | {"cwd": "/", "session_id": "x"}, "--vault", str(vault), cwd=elsewhere
    )
    assert "grace period" in named.out


@pytest.mark.parametrize(
    "arguments", [["--vault"], ["--no-such"], ["more", "words"], ["--vault", "/no/such"]]
)
def test_wrong_use_stops_nobody(vault: Path, arguments: list[str]) -> None:
    ran = hook(None, event("SessionStart", source="startup"), *arguments, cwd=vault.parent)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith("vaultmem hook: ")


def test_the_event_may_be_named_by_an_option(vault: Path) -> None:
    payload = {"session_id": "s", "tool_name": "Write", "tool_input": {"path": "a.txt"}}
    ran = hook(vault, payload, "--event", "PostToolUse")
    assert ran.json["observation_id"]


@pytest.mark.parametrize("breakage", ["settings", "index", "pattern", "read-only"])
def test_a_broken_vault_stops_nobody(vault: Path, breakage: str) -> None:
    config = vault / ".vaultmem" / "config.toml"
    match breakage:
        case "settings":
            config.write_text("read_only = [")
        case "pattern":
            config.write_text("[privacy]\npatterns = ['(']\n")
        case "read-only":
            config.write_text("read_only = true\n")
        case "index":
            (vault / ".vaultmem" / "index").write_text("not a folder")
    for payload in (
        event("UserPromptSubmit", prompt="How long do refresh tokens live?"),
        event("PostToolUse", tool_name="Write", tool_input={"file_path": "/a"}),
    ):
        ran = hook(vault, payload)
        assert ran.code == 0 and "Traceback" not in ran.err
        assert len(ran.err.splitlines()) <= 1


@pytest.fixture
def locked(vault: Path) -> Iterator[None]:
    local = vault / ".vaultmem" / "local"
    local.mkdir(exist_ok=True)
    held = [lock.try_to_lock(local / name) for name in ("write.lock", "journals.lock")]
    yield
    for one in held:
        assert one is not None
        one.release()


def test_a_locked_vault_holds_nobody_up(vault: Path, locked: None) -> None:
    payload = event("PostToolUse", tool_name="Write", tool_input={"file_path": "/a"})
    ran = hook(vault, payload, program=("-m", "vaultmem"))  # it would be waited for ten seconds
    assert (ran.code, ran.out) == (0, "")


def test_input_that_never_ends_is_not_waited_for(vault: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "vaultmem", "hook"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env=environment(vault.parent, vault),
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(b'{"hook_event_name": ')
    process.stdin.flush()
    assert process.wait(timeout=120) == 0
    process.stdin.close()
    assert process.stdout is not None
    assert process.stdout.read() == b""
    process.stdout.close()


def test_an_end_that_takes_long_is_no_failure(tmp_path: Path) -> None:
    """The alarm that ends a hook in time must not meet a program that is putting itself away."""
    slow = (
        "import sys, time\n"
        "class Last:\n"
        "    def __del__(self, sleep=time.sleep): sleep(2.5)\n"
        "last = Last()\n"
        "from vaultmem.__main__ import run\n"
        "sys.argv[0] = 'vaultmem'\n"
        "run()\n"
    )
    env = {k: v for k, v in environment(tmp_path, None).items() if k != "VAULTMEM_ENGINE"}
    done = nursery.run(
        [sys.executable, "-c", slow, "hook"],
        input=b"{}", capture_output=True, env=env, cwd=tmp_path, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, b"")


def test_help_says_what_it_is_for(run: Run) -> None:
    ran = run("hook", "--help")
    assert ran.code == 0 and "life-cycle" in ran.out


def test_doctor_finds_secrets(run: Run, vault: Path) -> None:
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ2sT4vW6xY8zA0cD2fG4"
    (vault / "Mine.md").write_text(f"one\n{token}\n")
    ran = run("doctor", "--secrets", "--json", cwd=vault)
    found = [f for f in ran.json if f["problem"] == "secret"]
    assert [(f["path"], f["message"]) for f in found] == [
        ("Mine.md", "Line 2 looks like it holds a secret: github token.")
    ]
    assert token not in ran.out and ran.code == 1


def test_adding_a_secret_says_what_was_replaced(run: Run, vault: Path) -> None:
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ2sT4vW6xY8zA0cD2fG4"
    ran = run("add", f"The token is {token}", cwd=vault)
    assert ran.code == 0 and "github token" in ran.err
    assert not any(token.encode() in f.read_bytes() for f in vault.rglob("*") if f.is_file())


def test_a_plain_vault(tmp_path: Path) -> None:
    """No property anywhere, and nothing prepared."""
    vault = tmp_path / "Plain"
    notes = {
        "Health/Dentist.md": "Dr Moreau, Rua da Praia 4. Next cleaning in March, ask for Ana.\n",
        "Projects/Tern/Overview.md": "Tern counts sea birds from photographs.\n",
        "Preferences/Answers.md": "Short, in British English.\n",
        "Recipes/Pea soup.md": "Soak the peas, cook them with a ham bone.\n",
    }
    for path, text in notes.items():
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        (vault / path).write_text(text)
    (vault / ".vaultmem").mkdir()
    started = hook(vault, event("SessionStart", source="startup", cwd="/home/me/Tern"))
    said = started.json["hookSpecificOutput"]["additionalContext"]
    assert "British English" in said and "counts sea birds" in said and "Pea soup" not in said
    asked = event("UserPromptSubmit", prompt="When is my next cleaning at the dentist?")
    found = hook(vault, asked | {"session_id": "s-2"})
    assert "[[Dentist]]" in found.json["hookSpecificOutput"]["additionalContext"]
    for prompt in ("thanks", "continue", "run the tests again and fix what fails"):
        assert hook(vault, event("UserPromptSubmit", prompt=prompt)) == Ran(0, "", "")
