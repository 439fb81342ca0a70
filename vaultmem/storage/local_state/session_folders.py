"""Which sessions are alive, and the clearing away of what dead ones left behind.

Memories of scope `session` lie in a folder for each session. A process that stores some there,
or that serves the session, holds a lock file of its own in that folder; the system frees it when
the process dies, however it dies. A folder is swept when nobody holds a lock in it any more and
nothing was heard of its session for a while: for a minute where a process left its lock behind,
for a day where there was none, because then commands or hooks work for the session, and each of
them ends at once.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Final

from ulid_transform import ulid_now

from vaultmem.base import lock
from vaultmem.base.own_path import OwnPath
from vaultmem.errors import VaultmemError
from vaultmem.notes.attributes import attributes_of
from vaultmem.storage.store import Store

log = logging.getLogger("vaultmem")

SESSION_GRACE_SECONDS: Final = 60.0  # a client may start its server anew
SESSION_IDLE_SECONDS: Final = 24 * 3600.0
HOOKS_FOLDER: Final = "hooks"  # what `vaultmem hook` knows of each session, in the local state
_ALIVE: Final = ".alive-"
_KEEP: Final = ".keep"
_TURN_SECONDS: Final = 5.0


class SessionFolders:
    """The folders of sessions, by the names that they have there."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._held: dict[str, tuple[OwnPath, lock.HeldLock]] = {}
        self._holding = threading.Lock()
        self._served: Counter[str] = Counter()  # sessions, and how many windows serve each
        self._is_server = False

    @property
    def _keeps_session_folders(self) -> bool:
        return bool(self._store.settings["sessions.keep"])

    def serve(self, session: str) -> None:
        """Hold a session until as many have left it as have come; or until this process ends."""
        self._is_server = True
        self._served[session] += 1
        self.hold(session)

    def leave(self, session: str) -> None:
        """One window that served the session is gone."""
        with self._holding:
            self._served[session] -= 1
            if self._served[session] <= 0:
                del self._served[session]
                if session in self._held:
                    self._release_session_folder(session)

    def hold(self, session: str) -> None:
        """Keep others from sweeping a session. Where that cannot be said, it counts as idle."""
        with self._holding:
            if session in self._held:
                return
            with contextlib.suppress(OSError, VaultmemError), self._turn_at_session_folders():
                folder = self._folder_of_sessions / session
                file = folder / f"{_ALIVE}{ulid_now()}"
                if held := lock.try_to_lock(file):
                    self._held[session] = file, held
                if self._keeps_session_folders:
                    (folder / _KEEP).touch()

    def keep(self, session: str) -> None:
        """Let a session's memories outlast its processes."""
        with contextlib.suppress(OSError, VaultmemError):
            if self._store.volatile(session):
                (self._folder_of_sessions / session / _KEEP).touch()

    def is_kept(self, session: str) -> bool:
        """Whether its memories outlast its processes."""
        return (self._folder_of_sessions / session / _KEEP).stat() is not None

    def stop_keeping(self, session: str) -> None:
        with contextlib.suppress(OSError, VaultmemError):
            (self._folder_of_sessions / session / _KEEP).remove()

    def is_held(self, session: str) -> bool:
        """Whether a process works in a session's folder at this moment, this one included."""
        folder = self._folder_of_sessions / session
        alive = (file.name for file in folder.files() if file.name.startswith(_ALIVE))
        return any(lock.is_locked(folder / name) for name in alive)

    def is_shared(self, session: str, own: int) -> bool:
        """Whether another process works in a session's folder, or more windows of this one than
        these."""
        mine = self._held[session][0].name if session in self._held else ""
        folder = self._folder_of_sessions / session
        alive = [f.name for f in folder.files() if f.name.startswith(_ALIVE) and f.name != mine]
        return self._served[session] > own or any(lock.is_locked(folder / n) for n in alive)

    def let_go(self, session: str) -> None:
        """The session is over; what it had is gone, or kept."""
        with self._holding:
            if session in self._held and session not in self._served:
                self._release_session_folder(session)

    def renew(self) -> None:
        """Hold the same sessions in the folder that is at this path now."""
        with self._holding:
            held, self._held = self._held, {}
        for session, (_, old) in held.items():
            old.release()
            self.hold(session)

    def close(self) -> None:
        with self._holding:
            for session in tuple(self._held):
                self._release_session_folder(session)

    def _release_session_folder(self, session: str) -> None:
        """Leave a server's lock file behind where there is something to be swept later."""
        file, held = self._held.pop(session)
        with contextlib.suppress(OSError, VaultmemError), self._turn_at_session_folders():
            if self._is_server and self._store.volatile(session):
                file.touch()
                held.release()
                return
            held.release()
            file.remove()
            file.parent.remove_folder()
        held.release()

    # --- sweeping ------------------------------------------------------------------------

    def sweep(self) -> list[str]:
        """Delete what dead sessions left; returns the paths of the notes that are gone."""
        if self._keeps_session_folders or self._store.settings["read_only"]:
            return []
        gone: list[str] = []
        for folder in self._folder_of_sessions.folders():
            with self._turn_at_session_folders():
                if folder.is_folder() and self._is_session_over(folder):
                    gone += self._clear_session_folder(folder)
        return gone

    def _is_session_over(self, folder: OwnPath) -> bool:
        files = folder.files()
        locks = [folder / file.name for file in files if file.name.startswith(_ALIVE)]
        if any(file.name == _KEEP for file in files) or any(map(lock.is_locked, locks)):
            return False
        hooks = (self._store.local() / HOOKS_FOLDER / f"{folder.name}.json").stat()
        limit = SESSION_GRACE_SECONDS if locks and not hooks else SESSION_IDLE_SECONDS
        stats = (folder.path.lstat(), hooks, *(file.stat for file in files))
        return time.time() - max(stat.st_mtime for stat in stats if stat) > limit

    def _clear_session_folder(self, folder: OwnPath) -> Iterator[str]:
        """What a person gave another scope by hand stays."""
        for path in self._store.volatile(folder.name):
            if self._is_note_of_session(path):
                self._store.discard(path)
                yield path
        for file in folder.files():
            if file.name.startswith(_ALIVE):
                (folder / file.name).remove()
        folder.remove_folder()

    def _is_note_of_session(self, path: str) -> bool:
        try:
            note = self._store.note(path)
        except VaultmemError:  # gone, or promoted a moment ago
            return False
        return attributes_of(note, self._store.settings)["scope"].casefold() == "session"

    @property
    def _folder_of_sessions(self) -> OwnPath:
        return self._store.local() / "volatile"

    def _turn_at_session_folders(self) -> contextlib.AbstractContextManager[None]:
        """Nobody takes up a session while another finds that it is over."""
        file = self._store.local() / "volatile.lock"
        return lock.locked(file, timeout=_TURN_SECONDS, what="clearing up after sessions")
