"""Codex's transcripts ("rollouts"): a file of JSON lines for each session, in a folder for each day.

Each line is an item of the conversation in an envelope; in those of 2025 it stands by itself.
Commands and patches are read from the calls of tools, which all versions wrote alike.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from vaultmem.base import small_files
from vaultmem.config import Settings
from vaultmem.transfer.sources.opening import OpenedExport, Part
from vaultmem.transfer.sources.records import (
    Record,
    mapping_value,
    moment_value,
    object_values,
    text_value,
)
from vaultmem.transfer.transcripts.files import (
    TranscriptLines,
    session_of_file,
    transcript_files,
)
from vaultmem.transfer.transcripts.past_session import PastInput, PastSession, kept_of_call

EXPECTED: Final = (
    "Codex's transcripts: its folder ~/.codex/sessions, or one rollout-….jsonl of a session"
)
_WANTED: Final = (
    r'"(?:session_meta|turn_context|response_item|message|(?:function|custom_tool|local_shell)_call'
    r'(?:_output)?)"'
)
_MOST_OPEN: Final = 1_000  # calls of tools that wait for their result
# What the program says in the person's name.
_OF_PROGRAM: Final = re.compile(
    r"\s*(?:<(?:environment_context|user_instructions|ENVIRONMENT_CONTEXT|turn_aborted|skill|image"
    r"|subagent_notification|user_shell_command|[a-z_]+_instructions|INSTRUCTIONS)\b|# AGENTS\.md )"
)
_ASKED_IN_EDITOR: Final = "## My request for Codex:"
_PATCHED: Final = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+?)\s*$", re.MULTILINE)
_EXIT: Final = re.compile(r"(?:\A|\n)(?:Process exited with code|Exit code:) (-?\d+)")
_SHELLS: Final = {"shell_command": "shell", "local_shell": "shell", "container.exec": "shell"}


def read_export(reading: OpenedExport, *, settings: Settings, root: str) -> Iterator[Record]:
    if (reading.path / "sessions").is_dir():
        reading.path = reading.path / "sessions"
    clean = PastInput(settings)
    lines = TranscriptLines(reading, _WANTED)
    for part in transcript_files(reading, lambda name: not name.endswith("history.jsonl")):
        session = _CodexSession(PastSession(clean, session_of_file(part.name)), lines)
        told = session.told(part, root)
        if session.of_agent:
            reading.passed["sessions of sub-agents"] += 1
        elif told is None:
            reading.passed["sessions in which nothing was asked"] += 1
        else:
            yield told
    clean.tell_redacted(reading)


class _CodexSession:
    def __init__(self, session: PastSession, lines: TranscriptLines) -> None:
        self.of_agent = False
        self._session = session
        self._lines = lines
        self._open: dict[str, tuple[str, dict[str, Any]]] = {}

    def told(self, part: Part, root: str) -> Record | None:
        for line in self._lines.lines_of(part):
            item = mapping_value(line.get("payload")) or line
            at = text_value(line.get("timestamp"))
            known = text_value(item.get("id")) or text_value(item.get("call_id"))
            if not self._lines.is_new(at, known, text_value(item.get("type"))):
                continue
            self._session.be_at(moment_value(at), text_value(item.get("cwd")))
            self._take_line(text_value(line.get("type")), item)
            if self.of_agent:
                return None
        return self._session.as_record("codex", root) if self._session.id else None

    def _take_line(self, kind: str, item: Mapping[str, Any]) -> None:
        if kind == "session_meta":
            self._session.id = self._session.id or text_value(item.get("id"))
            begun_by = mapping_value(item.get("source"))
            self.of_agent = "subagent" in begun_by or item.get("thread_source") == "subagent"
        elif kind != "event_msg":
            self._take_item(text_value(item.get("type")), item)

    def _take_item(self, kind: str, item: Mapping[str, Any]) -> None:
        if kind == "message":
            self._take_message(item)
        elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
            self._session.hear_answer("")
            if len(self._open) >= _MOST_OPEN:
                self._open.pop(next(iter(self._open)))
            known = text_value(item.get("call_id")) or text_value(item.get("id"))
            self._open[known] = _codex_call(kind, item)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            name, given = self._open.pop(text_value(item.get("call_id")), ("", {}))
            if name:
                self._take_result(name, given, *_codex_result(item.get("output")))

    def _take_message(self, item: Mapping[str, Any]) -> None:
        said = "\n\n".join(text_value(c.get("text")) for c in object_values(item.get("content")))
        if item.get("role") == "assistant":
            self._session.hear_answer(said)
        elif item.get("role") == "user" and not _OF_PROGRAM.match(said):
            self._session.hear_prompt(said.rpartition(_ASKED_IN_EDITOR)[2])

    def _take_result(
        self, name: str, given: Mapping[str, Any], code: int | None, said: str
    ) -> None:
        """A patch is no command, however it was handed in."""
        if patched := given.get("patched"):
            for what, path in patched if not code else ():
                self._session.see_change(path, new=what == "Add")
            return
        told = {"stdout": said, **({"exit_code": code} if code is not None else {})}
        self._session.see_tool(name, given, {"tool_response": told})


def _codex_call(kind: str, item: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The tool's name, and what is worth to be kept of what it was given."""
    name = "shell" if kind == "local_shell_call" else text_value(item.get("name"))
    written = item.get("input") or item.get("arguments") or item.get("action")
    given = mapping_value(written)
    patch = text_value(written) if name == "apply_patch" and not given else ""
    command = given.get("command") or given.get("cmd")
    words = command if isinstance(command, list) else [command]
    text = patch or text_value(given.get("input")) or "\n".join(map(text_value, words))
    if "*** Begin Patch" in text:
        return name, {"patched": _PATCHED.findall(text)}
    return _SHELLS.get(name, name), kept_of_call(given)


def _codex_result(output: Any) -> tuple[int | None, str]:
    """The exit code, where one is told, and what was printed."""
    if isinstance(output, str) and output.startswith("{"):
        with contextlib.suppress(ValueError):
            output = small_files.parse_json(output)
    if isinstance(output, dict):
        code = mapping_value(output.get("metadata")).get("exit_code")
        said = text_value(output.get("output")) or text_value(output.get("content"))
        if isinstance(code, int) and not isinstance(code, bool):
            return code, said
        output = said
    if isinstance(output, list):
        output = "\n".join(text_value(each.get("text")) for each in object_values(output))
    said = text_value(output)
    head, divided, body = said.partition("\nOutput:\n")
    found = list(_EXIT.finditer(f"{head}\n{body[:200]}" if divided else said[:400]))
    if found and divided and body.startswith("Exit code:"):
        body = body.partition("\nOutput:\n")[2]
    return (int(found[-1][1]) if found else None), body if divided else said
