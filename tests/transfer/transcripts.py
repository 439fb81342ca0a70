"""Transcripts as Claude Code 2.1.325 and Codex 0.169.0 write them, line by line, for tests."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

CLOCK = "2026-03-02T10:{:02d}:{:02d}.500Z"
Line = Mapping[str, Any] | str


def write_lines(file: Path, lines: Iterable[Line]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    said = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    file.write_text("".join(f"{line}\n" for line in said), encoding="utf-8")
    return file


class ClaudeCode:
    """One session's file; what it says gets ids and times as it goes on."""

    def __init__(self, home: Path, number: int = 1, folder: str = "/home/me/code/gateway") -> None:
        self.id = str(uuid.UUID(int=number, version=4))
        self.file = home / "projects" / folder.replace("/", "-") / f"{self.id}.jsonl"
        self.folder = folder
        self.lines: list[Line] = []

    def _line(self, **fields: Any) -> None:
        count = len(self.lines)
        self.lines.append(
            {
                "uuid": str(uuid.uuid5(uuid.UUID(self.id), str(count))),
                "isSidechain": False,
                "timestamp": CLOCK.format(count // 60, count % 60),
                "cwd": self.folder,
                "sessionId": self.id,
                "version": "2.1.325",
                **fields,
            }
        )

    def ask(self, text: Any, **more: Any) -> None:
        self._line(type="user", message={"role": "user", "content": text}, **more)

    def answer(self, text: str) -> None:
        blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}]
        self._line(type="assistant", message={"role": "assistant", "content": blocks})

    def use(self, name: str, given: Any, told: Any, *, failed: bool = False) -> None:
        call = {"type": "tool_use", "id": f"toolu_{len(self.lines)}", "name": name, "input": given}
        self._line(type="assistant", message={"role": "assistant", "content": [call]})
        text = told if isinstance(told, str) else "ok"
        block = {"type": "tool_result", "tool_use_id": call["id"], "content": text}
        self._line(
            type="user",
            message={"role": "user", "content": [{**block, "is_error": failed}]},
            toolUseResult=f"Error: {text}" if failed else told,
        )

    def run(self, command: str, printed: str, code: int = 0) -> None:
        if code:
            self.use("Bash", {"command": command}, f"Exit code {code}\n{printed}", failed=True)
        else:
            shown = {"stdout": printed, "stderr": "", "interrupted": False}
            self.use("Bash", {"command": command}, shown)

    def write(self) -> Path:
        return write_lines(self.file, self.lines)


class Codex:
    def __init__(self, home: Path, number: int = 1, folder: str = "/home/me/code/gateway") -> None:
        self.id = str(uuid.UUID(int=number, version=4))
        name = f"rollout-2026-03-02T10-00-00-{self.id}.jsonl"
        self.file = home / "sessions/2026/03/02" / name
        self.lines: list[Line] = []
        self._line("session_meta", id=self.id, cwd=folder, source="cli", cli_version="0.169.0")

    def _line(self, kind: str, **payload: Any) -> None:
        at = CLOCK.format(len(self.lines) // 60, len(self.lines) % 60)
        self.lines.append({"timestamp": at, "type": kind, "payload": payload})

    def say(self, role: str, text: str) -> None:
        kind = "output_text" if role == "assistant" else "input_text"
        self._item("message", role=role, content=[{"type": kind, "text": text}])

    def use(self, name: str, arguments: Any, output: Any) -> None:
        call, given = f"call_{len(self.lines)}", json.dumps(arguments)
        self._item("function_call", name=name, arguments=given, call_id=call)
        self._item("function_call_output", call_id=call, output=output)

    def patch(self, patch: str, output: Any) -> None:
        call = f"call_{len(self.lines)}"
        self._item("custom_tool_call", name="apply_patch", input=patch, call_id=call)
        self._item("custom_tool_call_output", call_id=call, output=output)

    def _item(self, kind: str, **payload: Any) -> None:
        self._line("response_item", type=kind, **payload)

    def write(self) -> Path:
        return write_lines(self.file, self.lines)
