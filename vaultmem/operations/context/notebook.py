"""What a session was shown and what was logged of it, so that nothing is said twice.

This machine's own state: losing it costs a repetition.
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
from vaultmem.storage.session_folders import HOOKS_FOLDER

if TYPE_CHECKING:
    from vaultmem.parts import Parts

# What clients call a session by: no secret looks so, and nothing has to be loaded to know it.
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MOST: Final = 500
_LONG: Final = 30 * 86_400  # seconds


class Notebook:
    def __init__(self, parts: Parts, session: str) -> None:
        self.memories: list[str] = []
        self.lines: list[str] = []  # their marks: the texts may hold what must not be kept
        self._folder = parts.store.local() / HOOKS_FOLDER
        self._file = self._folder / f"{_file_name(parts, session)}.json" if session else None
        with contextlib.suppress(OSError, VaultmemError, ValueError, AttributeError, TypeError):
            if self._file:
                data = small_files.parse_json(self._file.read(small_files.MOST_BYTES))
                self.memories = [str(item) for item in data.get("memories", [])]
                self.lines = [str(item) for item in data.get("lines", [])]

    def has_line(self, text: str) -> bool:
        return _mark(text) in self.lines

    def add_line(self, text: str) -> None:
        self.lines.append(_mark(text))

    def save(self) -> None:
        if self._file is None or not (self.memories or self.lines):
            return
        kept = {"memories": self.memories[-_MOST:], "lines": self.lines[-_MOST:]}
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
