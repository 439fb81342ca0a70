"""What a session was shown and what was logged of it, so that nothing is said twice, and what its
journal needs to know before there is one: what was asked for, and where.

This machine's own state: losing it costs a repetition. Texts in it are without secrets and
private passages.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from typing import TYPE_CHECKING, Any, Final

from vaultmem.base import small_files
from vaultmem.errors import VaultmemError
from vaultmem.notes.file_names import safe_name
from vaultmem.storage.local_state.session_folders import HOOKS_FOLDER

if TYPE_CHECKING:
    from vaultmem.parts import Parts

# What clients call a session by: no secret looks so, and nothing has to be loaded to know it.
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MOST: Final = 500
_TEXTS: Final = ("request", "folder", "unanswered")
_LONG: Final = 30 * 86_400  # seconds


class SessionMind:
    """What is known of a session so far."""

    def __init__(self) -> None:
        self.memories: list[str] = []
        self.lines: list[str] = []  # their marks: the texts may hold what must not be kept
        self.request = ""  # the person's first, by which the journal is named
        self.folder = ""  # where the agent worked then
        self.unanswered = ""  # the last prompt, until the agent stops
        self.exchanges = 0  # prompts that were answered
        self.todo: list[str] = []  # what is open on the agent's list
        self.tasks: dict[str, str] = {}  # the same, where the client names them by number
        self.steps: list[str] = []  # what the last answer left to do
        self.findings: list[str] = []  # "kind text": said before there was a journal

    def has_line(self, text: str) -> bool:
        return _mark(text) in self.lines

    def add_line(self, text: str) -> None:
        self.lines.append(_mark(text))

    def save(self) -> None:
        """Keep it for the next event; nothing where all are told of in one go."""


class Notebook(SessionMind):
    def __init__(self, parts: Parts, session: str) -> None:
        super().__init__()
        self._folder = parts.store.local() / HOOKS_FOLDER
        self._file = self._folder / f"{_file_name(parts, session)}.json" if session else None
        with contextlib.suppress(OSError, VaultmemError, ValueError, AttributeError, TypeError):
            if self._file:
                data = small_files.parse_json(self._file.read(small_files.MOST_BYTES))
                self.memories = [str(item) for item in data.get("memories", [])]
                self.lines = [str(item) for item in data.get("lines", [])]
                self._read_work(data.get("work") or {})

    def _read_work(self, data: dict[str, Any]) -> None:
        for name in _TEXTS:
            setattr(self, name, str(data.get(name) or ""))
        self.exchanges = int(data.get("exchanges") or 0)
        self.todo = [str(item) for item in data.get("todo") or ()]
        self.steps = [str(item) for item in data.get("steps") or ()]
        self.findings = [str(item) for item in data.get("findings") or ()]
        self.tasks = {str(key): str(item) for key, item in (data.get("tasks") or {}).items()}

    def _work(self) -> dict[str, Any]:
        named = (*_TEXTS, "exchanges", "todo", "steps", "tasks", "findings")
        return {name: value for name in named if (value := getattr(self, name))}

    def save(self) -> None:
        work = self._work()
        if self._file is None or not (self.memories or self.lines or work):
            return
        kept: dict[str, Any] = {"memories": self.memories[-_MOST:], "lines": self.lines[-_MOST:]}
        kept |= {"work": work} if work else {}
        with contextlib.suppress(OSError, VaultmemError):
            self._file.write(json.dumps(kept).encode())

    def remove(self) -> None:
        with contextlib.suppress(OSError, VaultmemError):
            if self._file:
                self._file.remove()

    def forget_old(self) -> None:
        """Sessions that never ended leave their file behind."""
        import time

        long_ago = time.time() - _LONG
        with contextlib.suppress(OSError, VaultmemError):
            for file in self._folder.files():
                if file.stat.st_mtime < long_ago and file.name.endswith(".json"):
                    (self._folder / file.name).remove()


def _mark(text: str) -> str:
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=8).hexdigest()


def _file_name(parts: Parts, session: str) -> str:
    settings: Any = parts.settings
    if _UUID.fullmatch(session) and not settings["privacy.patterns"]:
        return session
    from vaultmem.notes.masking import without_private

    session = without_private(session)
    if settings["privacy.redact"]:
        from vaultmem.base import redaction

        session = redaction.redacted(session, settings["privacy.patterns"])[0]
    return safe_name(session)
