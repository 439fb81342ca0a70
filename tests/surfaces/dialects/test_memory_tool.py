"""The API's memory tool over MCP: real processes, on stdio and over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.surfaces.mcp.harness import Process

COMMANDS = {"view", "create", "str_replace", "insert", "delete", "rename"}


def told(server: Process, number: int, **given: Any) -> tuple[bool, str]:
    result = server.call(number, "memory", **given)
    (part,) = result["content"]
    return result["isError"], part["text"]


def test_six_commands_on_files_that_are_notes(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    words = ("--vault", str(root), "--dialect", "memory-tool", "--user", "ada")
    with Process(tmp_path, *words, env={"VAULTMEM_MODEL": "off"}) as server:
        server.start()
        [tool] = server.request(1, "tools/list")["result"]["tools"]
        assert tool["name"] == "memory"
        assert set(tool["inputSchema"]["properties"]["command"]["enum"]) == COMMANDS
        path = "/memories/plan.md"
        assert told(server, 2, command="create", path=path, file_text="a\nb\n") == (
            False, "File created successfully at: /memories/plan.md"
        )  # fmt: skip
        changed = told(server, 3, command="str_replace", path=path, old_str="b", new_str="c")
        assert changed[1].endswith("     1\ta\n     2\tc\n     3\t")
        assert told(server, 4, command="view", path="/memories/../x")[0]
        assert told(server, 5, command="create", path=path) == (
            True, "The command create needs file_text."
        )  # fmt: skip
        assert told(server, 6, command="dance", path=path)[0]
        new = "/memories/old/plan.md"
        assert told(server, 7, command="rename", old_path=path, new_path=new)[0] is False
        note = root / "Memory files/old/plan.md"
        assert note.read_text() == "---\nuser: ada\n---\na\nc\n"
    with Process(tmp_path, *words, "--read-only", env={"VAULTMEM_MODEL": "off"}) as server:
        server.start()
        assert told(server, 2, command="view", path=new)[1].endswith("     2\tc\n     3\t")
        assert told(server, 3, command="delete", path=new)[0] and note.exists()
