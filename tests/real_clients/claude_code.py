"""Claude Code itself as a client, offline: a scripted model on loopback asks it to store a
memory and to recall it; the answers it hands back to the model are what is checked.

Run by scripts/run check-claude-code with the program's path.
"""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, ClassVar

SAID = "The gateway signs its tokens with RS256."
PREFIX = "mcp__vaultmem__"
SCRIPT = [
    (f"{PREFIX}store_memory", {"content": SAID, "type": "semantic", "scope": "project"}),
    (f"{PREFIX}recall_memories", {"query": "how are gateway tokens signed"}),
    (f"{PREFIX}forget_memory", {"memory_id": "No such memory"}),
]


class Model(http.server.BaseHTTPRequestHandler):
    """Asks for the script's tools one after the other, then says that it is done."""

    protocol_version = "HTTP/1.1"
    seen: ClassVar[list[dict[str, Any]]] = []

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._send("application/json", b"{}")

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])) or b"{}")
        if not self.path.startswith("/v1/messages") or "count_tokens" in self.path:
            return self._send("application/json", b'{"input_tokens": 1}')
        self.seen.append(asked)
        block = self._next(asked)
        stop = "tool_use" if block["type"] == "tool_use" else "end_turn"
        message = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": asked["model"],
            "content": [], "stop_reason": None, "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip
        if not asked.get("stream"):
            whole = {**message, "content": [block], "stop_reason": stop}
            return self._send("application/json", json.dumps(whole).encode())
        events = "".join(
            f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n"
            for name, data in _events(message, block, stop)
        )
        return self._send("text/event-stream", events.encode())

    def _next(self, asked: dict[str, Any]) -> dict[str, Any]:
        done = len(list(results([asked])))
        if asked.get("tools") and done < len(SCRIPT):
            name, arguments = SCRIPT[done]
            return {"type": "tool_use", "id": f"toolu_{done}", "name": name, "input": arguments}
        return {"type": "text", "text": "Done."}

    def _send(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _events(
    message: dict[str, Any], block: dict[str, Any], stop: str
) -> list[tuple[str, dict[str, Any]]]:
    if block["type"] == "text":
        empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        empty = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    return [
        ("message_start", {"message": message}),
        ("content_block_start", {"index": 0, "content_block": empty}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": {"stop_reason": stop, "stop_sequence": None},
                           "usage": {"output_tokens": 1}}),
        ("message_stop", {}),
    ]  # fmt: skip


def results(requests: list[dict[str, Any]]) -> Any:
    """What tools answered, as the model gets to see it."""
    for message in requests[-1]["messages"] if requests else ():
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block.get("type") == "tool_result":
                yield json.dumps(block["content"])


def require_transcript_imported(home: Path) -> None:
    """The transcript that the program just wrote becomes one journal, and no second."""
    words = [sys.executable, "-m", "vaultmem", "import", "claude-code", "--vault", "vault"]
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": os.getcwd()}
    for told in ("1 added", "1 here already"):
        done = subprocess.run(words, cwd=home, env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and told in done.stdout, done.stdout + done.stderr
    (journal,) = (home / "vault/Sessions").rglob("*.md")
    text = journal.read_text()
    assert "\nRemember how the gateway signs.\n" in text and "source: claude-code" in text


def main(program: str) -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        serve = ["-m", "vaultmem", "serve", "--vault", str(home / "vault")]
        entry = {"mcpServers": {"vaultmem": {"command": sys.executable, "args": serve}}}
        (home / "mcp.json").write_text(json.dumps(entry))
        done = subprocess.run(
            [program, "-p", "Remember how the gateway signs.", "--mcp-config", home / "mcp.json",
             "--strict-mcp-config", "--output-format", "json",
             "--allowedTools", ",".join(name for name, _ in SCRIPT)],
            cwd=home, capture_output=True, text=True, timeout=180, stdin=subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], "HOME": folder, "PYTHONPATH": os.getcwd(),
                 "ANTHROPIC_API_KEY": "none", "DISABLE_AUTOUPDATER": "1",
                 "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}",
                 "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        stored, recalled, missing = results(Model.seen)
        (note,) = (home / "vault/Memories").rglob("*.md")
        assert SAID in note.read_text() and "source: claude-code" in note.read_text()
        assert note.stem in stored and "searchable" in stored
        assert SAID in recalled and note.stem in recalled
        assert "There is no memory" in missing
        require_transcript_imported(home)
    inline = [tool["name"] for tool in Model.seen[0].get("tools", ())]
    assert SCRIPT[0][0] in inline and SCRIPT[1][0] in inline, "store and recall are not deferred"
    print("Claude Code stored, recalled and read the error; its transcript was imported.")


if __name__ == "__main__":
    main(sys.argv[1])
