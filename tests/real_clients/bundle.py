"""An unpacked .mcpb bundle, started as a client would start it: with uv, from its manifest.

Run by scripts/run check-plugin with the bundle's folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


def command(folder: Path, vault: str) -> tuple[list[str], dict[str, str]]:
    """What the manifest says, with the client's and the person's values put in."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    known = {"${__dirname}": str(folder), "${user_config.vault}": vault}
    known["${user_config.read_only}"] = str(manifest["user_config"]["read_only"]["default"]).lower()

    def filled(text: str) -> str:
        for name, value in known.items():
            text = text.replace(name, value)
        return text

    start = manifest["server"]["mcp_config"]
    words = [filled(word) for word in (start["command"], *start["args"])]
    return words, {name: filled(value) for name, value in start["env"].items()}


def main(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as home:
        words, variables = command(folder, "${HOME}/My Brain")
        server = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "HOME": home, **variables},
        )  # fmt: skip
        client = {"protocolVersion": "2025-11-25", "capabilities": {}}
        client["clientInfo"] = {"name": "check", "version": "1"}
        _ask(server, 1, "initialize", client)
        _send(server, {"method": "notifications/initialized"})
        listed = _ask(server, 2, "tools/list", {})["tools"]
        given = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["tools"]
        assert {tool["name"] for tool in listed} == {tool["name"] for tool in given}
        stored = {"content": "Bundles work.", "type": "semantic", "scope": "user"}
        _ask(server, 3, "tools/call", {"name": "store_memory", "arguments": stored})
        assert (Path(home) / "My Brain" / "Memories" / "Bundles work.md").exists()
        assert (Path(home) / "My Brain" / ".gitignore").exists()
        assert server.stdin is not None
        server.stdin.close()
        assert server.wait(20) == 0
    print("The bundle starts, lists its tools and stores a memory.")


def _send(server: subprocess.Popen[str], message: dict[str, Any]) -> None:
    assert server.stdin is not None
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    server.stdin.flush()


def _ask(server: subprocess.Popen[str], number: int, method: str, params: Any) -> dict[str, Any]:
    _send(server, {"id": number, "method": method, "params": params})
    assert server.stdout is not None
    for line in server.stdout:
        answer = json.loads(line)
        if answer.get("id") == number:
            assert "error" not in answer, answer
            result: dict[str, Any] = answer["result"]
            return result
    raise AssertionError(f"the server ended before it answered {method}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
