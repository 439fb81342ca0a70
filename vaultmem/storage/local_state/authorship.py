"""Which texts a caller knows whole: what it was shown whole, and what agents wrote.

Whoever replaces a whole text must know all of it, or it takes away what a person wrote there
unseen. What was shown is remembered by the process that showed it; after a restart the caller
reads once more. What agents wrote whole lies in this machine's own state, as digests; of what
was stored under a key, the text is kept, so that the next store can tell a person's lines from
its own.
"""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict, deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Final

from vaultmem.base.line_ends import with_unix_line_ends
from vaultmem.base.own_path import OwnPath
from vaultmem.errors import VaultmemError
from vaultmem.notes.note import Note, note_bytes, note_version, parse
from vaultmem.storage.local_state.history import history_key

_NOTES: Final = 20_000  # of all callers, of which it is kept in mind what they were shown
_LATEST: Final = 8  # texts, and versions, of one note
_WRITTEN: Final = 4_096


class DigestLog:
    """Digests of the latest texts of some kind, shared by all processes on this machine. They tell
    what vaultmem or an agent wrote from what a person did. Losing them costs a few seconds of
    waiting, or one more look at a note."""

    def __init__(self, place: OwnPath, most: int) -> None:
        self._place = place
        self._most = most

    def add_digest(self, digest: str) -> None:
        """Behind the others, and only now and then all anew, which takes thirty times as long."""
        raw = bytes.fromhex(digest)
        if self._place.append(raw) > 2 * len(raw) * self._most:
            self._place.write(self._read_digests()[-len(raw) * self._most :])

    def __contains__(self, digest: str) -> bool:
        raw = bytes.fromhex(digest)
        known = self._read_digests()
        return any(known[i - len(raw) : i] == raw for i in range(len(known), 0, -len(raw)))

    def _read_digests(self) -> bytes:
        try:
            return self._place.read()
        except (OSError, VaultmemError):
            return b""


@dataclass(slots=True)
class _ShownTexts:
    texts: deque[str] = field(default_factory=lambda: deque(maxlen=_LATEST))  # all of each
    parts: deque[str] = field(default_factory=lambda: deque(maxlen=_LATEST))  # versions told
    version: str = ""  # that was read in pages
    read_to: int = 0  # from its beginning, without a gap


class Authorship:
    def __init__(self, local: OwnPath) -> None:
        self._written = DigestLog(local / "written-texts", _WRITTEN)
        self._stored = local / "stored"
        self._shown: OrderedDict[tuple[Hashable, str], _ShownTexts] = OrderedDict()
        self._guard = threading.Lock()

    # --- what a caller was shown ---------------------------------------------------------

    def show(self, caller: Hashable, path: str, body: str, version: str = "") -> None:
        """The caller has seen all of this text, or has written it; this is its version."""
        with self._guard:
            shown = self._texts_remembered_as_shown(caller, path)
            shown.texts.append(_digest_of_written_words(body))
            if version in shown.parts:
                shown.parts = deque((v for v in shown.parts if v != version), _LATEST)

    def tell(self, caller: Hashable, path: str, version: str) -> None:
        """The caller was told the version of a note of which it has not seen all."""
        with self._guard:
            self._texts_remembered_as_shown(caller, path).parts.append(version)

    def read(self, caller: Hashable, path: str, version: str, start: int, end: int) -> int:
        """The caller was shown this page of a text; returns how far it has read from its start."""
        with self._guard:
            shown = self._texts_remembered_as_shown(caller, path)
            if shown.version != version:
                shown.version, shown.read_to = version, 0
            if start <= shown.read_to:
                shown.read_to = max(shown.read_to, end)
            return shown.read_to

    def has_seen(self, caller: Hashable, path: str, body: str) -> bool:
        with self._guard:
            return _digest_of_written_words(body) in self._texts_known_as_shown(caller, path).texts

    def has_seen_another(self, caller: Hashable, path: str) -> bool:
        """Whether the caller was shown the whole of any text that this note had."""
        return bool(self._texts_known_as_shown(caller, path).texts)

    def was_told(self, caller: Hashable, path: str, version: str) -> bool:
        with self._guard:
            return version in self._texts_known_as_shown(caller, path).parts

    def _texts_known_as_shown(self, caller: Hashable, path: str) -> _ShownTexts:
        return self._shown.get((caller, path)) or _ShownTexts()

    def _texts_remembered_as_shown(self, caller: Hashable, path: str) -> _ShownTexts:
        found = self._shown.setdefault((caller, path), _ShownTexts())
        self._shown.move_to_end((caller, path))
        while len(self._shown) > _NOTES:
            self._shown.popitem(last=False)
        return found

    # --- what agents wrote ---------------------------------------------------------------

    def write(self, body: str) -> None:
        """An agent made this text, all of it."""
        with contextlib.suppress(OSError, VaultmemError):
            self._written.add_digest(_digest_of_written_words(body))

    def is_written(self, body: str) -> bool:
        return _digest_of_written_words(body) in self._written

    def store(self, note: Note) -> None:
        """What was last stored under the note's key: its text, and its properties then."""
        with contextlib.suppress(OSError, VaultmemError):
            self._file_of_stored_authorship(note).write(note.raw)

    def stored(self, note: Note) -> Note | None:
        try:
            return parse(self._file_of_stored_authorship(note).read(), note.path, note.names)
        except (OSError, VaultmemError):
            return None

    def drop(self, note: Note) -> None:
        with contextlib.suppress(OSError, VaultmemError):
            self._file_of_stored_authorship(note).remove()

    def _file_of_stored_authorship(self, note: Note) -> OwnPath:
        return self._stored / f"{history_key(note)}.md"


def same_words(one: str, other: str) -> bool:
    return _digest_of_written_words(one) == _digest_of_written_words(other)


def _digest_of_written_words(body: str) -> str:
    """Of the words: how lines end, and blanks around the text, are nobody's words."""
    return note_version(note_bytes(with_unix_line_ends(body).strip()))
