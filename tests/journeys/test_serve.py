"""`vaultmem serve` as a person and a client's configuration meet it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run, clean_environment
from tests.surfaces.mcp.harness import Process, new_vault
from vaultmem.surfaces.cli import COMMANDS

STORE = {"content": "Refresh tokens rotate every 24 hours.", "type": "semantic", "scope": "user"}


def names(process: Process) -> set[str]:
    return {tool["name"] for tool in process.request(1, "tools/list")["result"]["tools"]}


def test_a_vault_that_is_not_there_is_made_without_examples(tmp_path: Path) -> None:
    root = tmp_path / "new" / "vault"
    with Process(tmp_path, "--vault", str(root)) as process:
        process.start()
        stored = process.call(1, "store_memory", **STORE)
        assert not stored["isError"]
        assert process.end() == 0
        assert f"Made a new vault in {root}" in process.errors()
    assert (root / "Home.md").is_file() and (root / ".vaultmem" / "config.toml").is_file()
    notes = [path.name for path in (root / "Memories").rglob("*.md")]
    assert notes == ["Refresh tokens rotate every 24 hours.md"]


def test_the_vault_of_the_environment_is_made_too(tmp_path: Path) -> None:
    root = tmp_path / "named"
    with Process(tmp_path, env={"VAULTMEM_VAULT": str(root)}) as process:
        process.start()
        assert process.end() == 0
    assert (root / "Home.md").is_file()


def test_what_one_session_stored_the_next_recalls(tmp_path: Path) -> None:
    root = new_vault(tmp_path / "vault")
    with Process(tmp_path, "--vault", str(root)) as process:
        process.start()
        process.call(1, "store_memory", **STORE)
        assert process.end() == 0
    with Process(tmp_path, "--vault", str(root)) as process:
        process.start()
        found = process.call(1, "recall_memories", query="how long do tokens live?")
        hit = found["structuredContent"]["memories"][0]
        assert hit["content"] == STORE["content"] and hit["path"].startswith("Memories/")
        assert process.end() == 0


def test_read_only_and_toolsets(tmp_path: Path) -> None:
    root = new_vault(tmp_path / "vault")
    with Process(tmp_path, "--vault", str(root), "--read-only", "--toolsets", "core") as process:
        process.start()
        assert names(process) == {
            *("recall_memories", "get_memories", "list_memories"),
            *("get_memory_context", "get_memory_status"),
        }
        told = process.call(2, "store_memory", **STORE)
        assert told["isError"] and told["structuredContent"]["error"] == "read_only"
    assert not list((root / "Memories").glob("*.md"))


def test_session_user_and_project_come_from_flags_or_surroundings(tmp_path: Path) -> None:
    root = new_vault(tmp_path / "vault")

    def session(*arguments: str, **env: str) -> Any:
        with Process(tmp_path, "--vault", str(root), *arguments, env=env) as process:
            process.start()
            status = process.call(1, "get_memory_status")["structuredContent"]
            return status["current_session"]["session_id"]

    around = {"CLAUDE_CODE_SESSION_ID": "from-the-client", "CLAUDE_PROJECT_DIR": "/home/me/Atlas"}
    assert session("--session", "mine", **around) == "mine"
    assert session(**around) == "from-the-client"
    assert len(session()) == 26
    with Process(tmp_path, "--vault", str(root), "--user", "ann", env=around) as process:
        process.start()
        made = process.call(1, "store_memory", **STORE | {"scope": "project"})["structuredContent"]
        assert made["project"] == "Atlas"
        read = process.call(2, "get_memories", ids=[made["memory_id"]])["structuredContent"]
        assert read["memories"][0]["user"] == "ann"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--toolsets", "core,nonsense"], "no toolset 'nonsense'"),
        (["--dialect", "klingon"], "no dialect 'klingon'"),
        (["--http", "nonsense:port"], "not an address"),
    ],
)
def test_a_wrong_option_is_a_sentence(
    run: Run, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    done = run("serve", "--vault", str(new_vault(tmp_path / "vault")), *arguments)
    assert done.code == 2 and sentence in done.err
    assert done.out == "" and "Traceback" not in done.err


def test_without_any_vault_it_says_so(run: Run, tmp_path: Path) -> None:
    done = run("serve", cwd=tmp_path)
    assert done.code == 2 and "--vault" in done.err and done.out == ""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_on_a_terminal_it_says_how_to_connect(tmp_path: Path) -> None:
    import pty

    root = new_vault(tmp_path / "vault")
    ours, theirs = pty.openpty()
    done = subprocess.Popen(
        [sys.executable, "-m", "vaultmem", "serve", "--vault", str(root)],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_environment(tmp_path),
    )
    os.close(theirs)
    with done:
        assert done.stdout and done.stderr
        told = ""
        while "mcpServers" not in told:
            line = done.stderr.readline().decode()
            assert line, told
            told += line
        os.write(ours, b"\x04")  # Ctrl-D
        assert done.wait(60) == 0
        assert done.stdout.read() == b""
    os.close(ours)
    assert str(root) in told and "claude mcp add vaultmem -- " in told
    entry = json.loads(told.splitlines()[-1])["mcpServers"]["vaultmem"]
    assert Path(entry["command"]).is_absolute()
    assert entry["args"][-3:] == ["serve", "--vault", str(root)]


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - {"serve"}))
def test_no_other_command_imports_the_mcp_library(command: str, tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from vaultmem.surfaces import cli\n"
        "assert cli.cli.get_command(None, sys.argv[1])\n"
        "import vaultmem.vault\n"
        "sys.exit(int('mcp' in sys.modules or 'pydantic' in sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, command], env=clean_environment(tmp_path), timeout=60
    )
    assert done.returncode == 0


def test_http_and_stdio_see_the_same_notes(tmp_path: Path) -> None:
    import urllib.request

    root = new_vault(tmp_path / "vault")
    with Process(tmp_path, "--vault", str(root), "--http", "127.0.0.1:0") as process:
        assert process.child.stderr is not None
        line = process.child.stderr.readline().decode()
        address = line.split()[-1]
        with Process(tmp_path, "--vault", str(root)) as other:
            other.start()
            other.call(1, "store_memory", **STORE)
            with urllib.request.urlopen(f"{address}/search?q=refresh+tokens", timeout=60) as answer:
                found = json.load(answer)
            assert found["memories"][0]["content"] == STORE["content"]
        process.signal(15)
        assert process.child.wait(60) == 0
