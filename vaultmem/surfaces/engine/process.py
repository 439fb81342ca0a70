"""The life of an engine: elected by a lock, reached by a socket, gone when nobody needs it."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vaultmem import __version__
from vaultmem.base import lock
from vaultmem.front.engine_call import way_to
from vaultmem.front.engine_place import EnginePlace
from vaultmem.surfaces.engine import commands
from vaultmem.surfaces.engine.callers import Hello, Refused, Visitor, WindowLog
from vaultmem.surfaces.engine.program_files import ProgramFiles

if TYPE_CHECKING:
    from vaultmem.surfaces.engine.shared_vault import SharedVault
    from vaultmem.surfaces.engine.windows import Windows

log = logging.getLogger("vaultmem")

LOOK_SECONDS: Final = 0.5  # between two looks whether it is still needed
FIRST_SECONDS: Final = 15.0  # until whoever started it has come
LAST_SECONDS: Final = 60.0  # for what runs when it is told to stop
_ELECTION_SECONDS: Final = 0.5
_WAITING: Final = 128  # who connect at the same moment


class Engine:
    def __init__(self, root: Path, place: EnginePlace, dialect: str, idle_seconds: float) -> None:
        self._root, self._place, self._dialect = root, place, dialect
        self._idle_seconds = idle_seconds
        self._visitors: set[Visitor] = set()
        self._changing = threading.Lock()
        self._making = threading.Lock()
        self._shared: SharedVault | None = None
        self._loop: Windows | None = None
        self._stopping = threading.Event()
        self._stopped = threading.Event()
        self._begun = self._last_used = time.monotonic()
        self._was_used = False
        self._program = ProgramFiles()
        self._vault_found = _found(root)

    def run(self) -> None:
        """Until nobody has needed it for a while, or it is told to stop."""
        held = elected(self._place)
        if held is None:
            return  # another one was faster
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._stopping.set())
        self.attend(held, _exit_in_time)
        if self._shared is not None:
            self._shared.close()

    def attend(self, held: lock.HeldLock, when_ending: Callable[[], None] = lambda: None) -> None:
        """Let everybody in who comes, to the end; what was open for them is left open."""
        _log_for_windows()
        commands.stand_between()
        while not self._is_over(held):
            with _listening(self._place) as door:
                while door.is_there() and not self._is_over(held):
                    self._let_in(door)
        held.release()  # another one may begin while what runs here comes to its end
        while self._program.are_others() and self._visitors and not self._stopping.is_set():
            time.sleep(LOOK_SECONDS)  # they began with this program, and may end with it
        when_ending()
        self._end_windows()
        self._stopped.set()

    def stop(self) -> None:
        self._stopping.set()

    def _let_in(self, door: _Door) -> None:
        link = door.next_visitor()
        if link is None:
            return
        try:
            threading.Thread(target=self._meet, args=[link, door], daemon=True).start()
        except RuntimeError:  # no more threads: whoever came has to do it alone
            link.close()

    def _is_over(self, held: lock.HeldLock) -> bool:
        if self._stopping.is_set() or not held.is_at(Path(self._place.lock)):
            return True  # where our lock is gone, another engine may be elected
        if _found(self._root) not in (None, self._vault_found):
            return True  # another vault stands in this one's place
        if self._program.are_others():
            return True
        with self._changing:
            busy = bool(self._visitors)
        if busy:
            self._was_used = True
            self._last_used = time.monotonic()
            return False
        if not self._root.is_dir():
            return True
        patience = self._idle_seconds if self._was_used else max(self._idle_seconds, FIRST_SECONDS)
        return time.monotonic() - self._last_used > patience

    def _end_windows(self) -> None:
        with self._changing:
            left = tuple(self._visitors)
        for visitor in left:
            visitor.hang_up()
        if self._loop is not None:
            self._loop.stop()
        for visitor in left:
            visitor.close()

    # --- who comes -----------------------------------------------------------------------

    def _meet(self, link: socket.socket, door: _Door) -> None:
        visitor = Visitor(link)
        try:
            if not door.is_for(link):
                return
            with self._changing:
                self._visitors.add(visitor)
            self._serve(visitor, visitor.hello(self._place.name))
        except Refused as refused:
            with contextlib.suppress(OSError):
                visitor.tell({"refused": str(refused)})
        except OSError:
            log.debug("a connection ended", exc_info=True)
        except Exception:  # the edge: the others go on
            log.warning("a connection ended oddly", exc_info=True)
        finally:
            with self._changing:
                self._visitors.discard(visitor)
            visitor.close()

    def _serve(self, visitor: Visitor, hello: Hello) -> None:
        if hello.kind == "window":
            self._window_loop().serve(visitor, hello)
        elif hello.kind == "command":
            commands.do_command(self.vault(), visitor, hello)
        elif hello.kind == "status":
            visitor.tell(self._told(but=visitor))
        elif hello.kind == "stop":
            visitor.tell({"stopping": os.getpid()})
            self._stopping.set()
            self._stopped.wait(LAST_SECONDS)  # who asked hears from the line's end that it is done
        else:
            raise Refused(f"an engine does nothing called {hello.kind[:40]!r}")

    def vault(self) -> SharedVault:
        from vaultmem.surfaces.engine.shared_vault import SharedVault

        with self._making:
            if self._shared is None:
                self._shared = SharedVault(self._root, self._dialect)
            return self._shared

    def _window_loop(self) -> Windows:
        from vaultmem.surfaces.engine.windows import Windows

        shared = self.vault()
        with self._making:
            if self._loop is None:
                self._loop = Windows(shared)
            return self._loop

    def _told(self, but: Visitor) -> dict[str, Any]:
        with self._changing:
            others = [each for each in self._visitors if each is not but]
        return {
            "process": os.getpid(),
            "version": __version__,
            "vault": str(self._root),
            "seconds": int(time.monotonic() - self._begun),
            "windows": [each.told() for each in others if each.kind == "window"],
        }


def elected(place: EnginePlace) -> lock.HeldLock | None:
    """The lock, if no engine has it. Who only looks whether one does has it for a moment too."""
    until = time.monotonic() + _ELECTION_SECONDS
    while (held := lock.try_to_lock(Path(place.lock))) is None and time.monotonic() < until:
        time.sleep(_ELECTION_SECONDS / 20)
    return held


class _Door:
    """The socket that is listened to. Its file may be deleted, which nobody is told of."""

    def __init__(self, place: EnginePlace, listening: socket.socket, secret: bytes) -> None:
        self._place, self._listening, self._secret = place, listening, secret
        self._found = _found(place.socket)

    def is_there(self) -> bool:
        return self._found is not None and _found(self._place.socket) == self._found

    def is_for(self, link: socket.socket) -> bool:
        """Nobody but our own user is served."""
        return bool(way_to(self._place).is_owner(link, self._secret))

    def next_visitor(self) -> socket.socket | None:
        """None where nobody came for a while."""
        try:
            return self._listening.accept()[0]
        except TimeoutError:
            return None
        except OSError as error:  # too many files are open; somebody will leave
            log.warning("nobody can be let in: %s", error.strerror)
            time.sleep(LOOK_SECONDS)
            return None


@contextlib.contextmanager
def _listening(place: EnginePlace) -> Iterator[_Door]:
    """The lock is ours, so whatever lies at the socket's place is a dead one's."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(place.socket)
    door, secret = way_to(place).listening(place)
    found = _Door(place, door, secret)
    try:
        door.listen(_WAITING)
        door.settimeout(LOOK_SECONDS)
        yield found
    finally:
        door.close()
        if found.is_there():
            os.unlink(place.socket)


def _found(path: str | Path) -> tuple[int, int] | None:
    """Which file or folder it is."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _exit_in_time() -> None:
    """Whatever cannot be interrupted does not keep an engine."""
    last = threading.Timer(LAST_SECONDS, os._exit, (0,))
    last.daemon = True
    last.start()


def _log_for_windows() -> None:
    handler = WindowLog(log.level or logging.WARNING)
    handler.setFormatter(logging.Formatter("vaultmem: %(message)s"))
    logging.basicConfig(handlers=[handler], force=True)
    log.setLevel(handler.own_level)
