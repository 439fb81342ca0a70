"""Claude Code's transcripts: a file of JSON lines for each session, in a folder for each project."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

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

EXPECTED: Final = "Claude Code's transcripts: its folder ~/.claude/projects, a project's folder in it, or one .jsonl of a session"
_WANTED: Final = r'"type"\s*:\s*"(?:user|assistant)"'
_MOST_OPEN: Final = 1_000  # calls of tools that wait for their result
_REFUSED: Final = "The user doesn't want to"
# What the program says in the person's name.
_OF_PROGRAM: Final = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isSidechain")
_INTERRUPTED: Final = "[Request interrupted by user"


def read_export(reading: OpenedExport, *, settings: Settings, root: str) -> Iterator[Record]:
    if (reading.path / "projects").is_dir():
        reading.path = reading.path / "projects"
    clean = PastInput(settings)
    lines = TranscriptLines(reading, _WANTED)
    for part in transcript_files(reading, _is_of_person):
        session = _ClaudeCodeSession(PastSession(clean, session_of_file(part.name)), lines)
        if told := session.told(part, root):
            yield told
        else:
            reading.passed["sessions in which nothing was asked"] += 1
    clean.tell_redacted(reading)


def _is_of_person(name: str) -> bool:
    return "/subagents/" not in f"/{name}" and not name.rpartition("/")[2].startswith("agent-")


class _ClaudeCodeSession:
    def __init__(self, session: PastSession, lines: TranscriptLines) -> None:
        self._session = session
        self._lines = lines
        self._open: dict[str, tuple[str, dict[str, Any]]] = {}

    def told(self, part: Part, root: str) -> Record | None:
        for line in self._lines.lines_of(part):
            if any(line.get(name) for name in _OF_PROGRAM):
                continue
            if self._lines.is_new(text_value(line.get("uuid"))):
                self._session.id = self._session.id or text_value(line.get("sessionId"))
                at = moment_value(line.get("timestamp"))
                self._session.be_at(at, text_value(line.get("cwd")))
                self._take_line(line)
        return self._session.as_record("claude-code", root) if self._session.id else None

    def _take_line(self, line: Mapping[str, Any]) -> None:
        content = mapping_value(line.get("message")).get("content")
        blocks = object_values(content)
        if line.get("type") == "user":
            results = [block for block in blocks if block.get("type") == "tool_result"]
            for block in results:
                self._take_result(block, line.get("toolUseResult") if len(results) == 1 else None)
            if not results and not _is_said_by_program(line):
                self._session.hear_prompt(_joined_texts(content))
        elif line.get("type") == "assistant" and not line.get("isApiErrorMessage"):
            if said := _joined_texts(content):
                self._session.hear_answer(said)
            for block in blocks:
                if block.get("type") == "tool_use":
                    self._take_call(block)

    def _take_call(self, block: Mapping[str, Any]) -> None:
        self._session.hear_answer("")
        if len(self._open) >= _MOST_OPEN:
            self._open.pop(next(iter(self._open)))
        given = kept_of_call(mapping_value(block.get("input")))
        self._open[text_value(block.get("id"))] = text_value(block.get("name")), given

    def _take_result(self, block: Mapping[str, Any], known: Any) -> None:
        name, given = self._open.pop(text_value(block.get("tool_use_id")), ("", {}))
        text = _joined_texts(block.get("content"))
        if not name or (block.get("is_error") and text.startswith(_REFUSED)):
            return
        if block.get("is_error"):
            told: dict[str, Any] = {"error": text or "it failed"}
        else:
            told = {"tool_response": known if isinstance(known, dict) else text}
        self._session.see_tool(name, given, told)


def _is_said_by_program(line: Mapping[str, Any]) -> bool:
    """A task that reports back, a person who pressed Escape."""
    said = _joined_texts(mapping_value(line.get("message")).get("content"))
    origin = text_value(mapping_value(line.get("origin")).get("kind"))
    return (
        line.get("promptSource") == "system"
        or origin not in ("", "user", "human")
        or said.startswith(_INTERRUPTED)
    )


def _joined_texts(content: Any) -> str:
    if isinstance(content, str):
        return content
    texts = (block for block in object_values(content) if block.get("type") == "text")
    return "\n\n".join(text_value(block.get("text")) for block in texts)
