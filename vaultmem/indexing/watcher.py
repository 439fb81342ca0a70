"""The file watcher: says where in the vault to look, never what happened there.

What the system reports is late, doubled, missing or about files long gone, so it is only
gathered into hints; whoever gets a hint compares the files with what it knows. Every doubt
(events lost, folders moved, git at work) becomes a hint to look at everything.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import math
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vaultmem.storage.drives import network_drive

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent

log = logging.getLogger("vaultmem")

TICK: Final = 1.0  # seconds between two looks at the watch's own health
RETRY: Final = 300.0  # seconds of polling before a watch is tried again
GIT_SECONDS: Final = 30.0  # the longest wait for git; an older lock was left by a killed git
_GIT_STATE: Final = frozenset({".git/HEAD", ".git/index", ".git/MERGE_HEAD"})
_LOGGERS: Final = ("watchdog.observers.inotify", "watchdog.observers.inotify_c")
_WATCHES: Final = "perhaps the limit fs.inotify.max_user_watches is reached"
_INSTANCES: Final = "perhaps the limit fs.inotify.max_user_instances is reached"


@dataclass(frozen=True)
class WatchHint:
    paths: frozenset[str]  # vault paths worth a look; empty when everything is
    everything: bool = False


class Watcher:
    """Calls `on_hint`, in a thread of its own, until it is stopped; it is started once.

    The first hint, sent when the watch stands, is to look at everything: what changed
    while the watch was being set up is in no event.
    """

    def __init__(
        self,
        root: Path,
        is_note: Callable[[str], bool],
        on_hint: Callable[[WatchHint], None],
        *,
        quiet: float = 0.2,
        longest: float = 1.0,
        many: int = 500,
        poll_seconds: float = 5.0,
        decides: Callable[[str], bool] = lambda path: False,
    ) -> None:
        self._root = os.path.realpath(root)
        self._on_hint = on_hint
        self._poll_seconds = poll_seconds
        self._news = _WatchedNews(self._root, is_note, decides, quiet, longest, many)
        self._native: _NativeWatch | None = None
        self._mode, self._trouble = "stopped", ""
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._tried_at, self._poll_at, self._check_at = -math.inf, 0.0, 0.0
        self._suspects: frozenset[str] = frozenset()

    @property
    def mode(self) -> str:
        return "stopped" if self._stopping.is_set() else self._mode

    @property
    def trouble(self) -> str:
        return self._trouble

    def start(self) -> None:
        if self._thread is None:
            self._mode = "starting"
            thread = threading.Thread(target=self._run_watcher, name="vaultmem-watch", daemon=True)
            thread.start()
            self._thread = thread  # whoever stops it meanwhile finds it running, or nothing

    def stop(self) -> None:
        self._stopping.set()
        self._news.arrived.set()
        if self._thread not in (None, threading.current_thread()):
            self._thread.join(0.9)

    def _run_watcher(self) -> None:
        pause = min(TICK, self._poll_seconds)
        while not self._stopping.is_set():
            try:
                self._tend_watch()
                if self._news.arrived.wait(pause):
                    self._deliver_watch_hint()
            except Exception:
                log.exception("The file watcher stumbled; it goes on.")
                self._stopping.wait(TICK)
        self._let_go_of_watch()

    def _tend_watch(self) -> None:
        """Keep a watch on the vault, or poll it; while its folder is away do neither."""
        if not os.path.isdir(self._root):
            self._let_go_of_watch()
            self._mode, self._tried_at = "starting", -math.inf
            self._trouble = f"The vault's folder {self._root} is not there; it is waited for."
            return
        now = time.monotonic()
        if self._native is None:
            if now >= self._tried_at + RETRY:
                self._watch_natively()
        elif not self._native.is_watch_healthy():
            self._watch_natively()
        elif now >= self._check_at:
            self._check_native_watch(self._native)
        if self._mode == "polling" and now >= self._poll_at:
            self._poll_at = now + self._poll_seconds
            self._news.doubt_watched_news()

    def _watch_natively(self) -> None:
        self._let_go_of_watch()
        if kind := network_drive(self._root):
            self._poll_instead_of_watching(
                f"The vault is on a network drive ({kind}), which does not report changes"
            )
            return
        try:
            self._native = _NativeWatch(self._root, self._news)
        except (OSError, ImportError, RuntimeError) as error:
            limits = {errno.ENOSPC: _WATCHES, errno.EMFILE: _INSTANCES}
            self._poll_instead_of_watching(
                f"The vault's folders cannot be watched ({limits.get(getattr(error, 'errno', 0), error)})"
            )
            return
        self._mode, self._trouble = "native", ""
        self._tried_at, self._check_at = time.monotonic(), 0.0
        self._news.doubt_watched_news()

    def _poll_instead_of_watching(self, reason: str) -> None:
        self._let_go_of_watch()
        every = f"{self._poll_seconds:g} seconds"
        trouble = f"{reason}; the vault is looked through every {every} instead."
        if trouble != self._trouble:
            log.warning(trouble)
        self._mode, self._trouble = "polling", trouble
        self._tried_at, self._poll_at = time.monotonic(), 0.0

    def _check_native_watch(self, native: _NativeWatch) -> None:
        """Compare the folders that are watched with those that exist.

        watchdog says nothing when the system refuses it a watch, and keeps the watches of
        folders that were moved out of the vault. It may also just be late: only a
        difference that lasts counts, and an old watch deserves a second try.
        """
        missing, stale = native.folders_not_watched()
        suspects = missing | stale
        if suspects and suspects == self._suspects:
            if missing and time.monotonic() < self._tried_at + 60:
                self._poll_instead_of_watching(
                    f"{len(missing)} of the vault's folders cannot be watched ({_WATCHES})"
                )
            else:
                self._watch_natively()
            suspects = frozenset()
        else:
            self._check_at = time.monotonic() + TICK if suspects else math.inf
        self._suspects = suspects

    def _let_go_of_watch(self) -> None:
        native, self._native = self._native, None
        if native:
            native.close()

    def _deliver_watch_hint(self) -> None:
        while (seconds := self._news.seconds_until_watched_news()) and not self._stopping.is_set():
            self._stopping.wait(seconds)
        paths, everything, folders = self._news.take_watched_news()
        if folders and not self._suspects:
            self._check_at = 0.0
        if not everything:
            self._wait_until_watched_files_settle(paths)
        if self._stopping.is_set() or not os.path.isdir(self._root):
            return
        try:
            self._on_hint(WatchHint(frozenset() if everything else paths, everything))
        except Exception:
            log.exception("A change in the vault could not be followed.")

    def _wait_until_watched_files_settle(self, paths: frozenset[str]) -> None:
        """Wait, half a second at most, until nobody is in the middle of saving these files.

        Editors empty a file before they fill it, or take it away before they put it back.
        """
        looks = {path: self._look_at_watched_file(path) for path in paths}
        if gone := [path for path, look in looks.items() if look is None]:
            self._stopping.wait(0.1)
            looks |= {path: self._look_at_watched_file(path) for path in gone}
        moving = {
            path for path, look in looks.items() if look and _is_watched_file_freshly_saved(*look)
        }
        end = time.monotonic() + 0.5
        while moving and time.monotonic() < end and not self._stopping.wait(0.03):
            again = {path: self._look_at_watched_file(path) for path in moving}
            moving = {path for path in moving if again[path] != looks[path]}
            looks |= again

    def _look_at_watched_file(self, path: str) -> tuple[int, int] | None:
        try:
            found = os.lstat(os.path.join(self._root, path))
        except OSError:
            return None
        return found.st_size, found.st_mtime_ns


class _WatchedNews:
    """What was heard since the last hint. Cheap to tell: a checkout tells it 60,000 times."""

    def __init__(
        self,
        root: str,
        is_note: Callable[[str], bool],
        decides: Callable[[str], bool],
        quiet: float,
        longest: float,
        many: int,
    ) -> None:
        self.arrived = threading.Event()
        self._top = root.rstrip(os.sep) + os.sep
        self._is_note = is_note
        self._decides = decides  # whether a hidden file says what is a note
        self._quiet, self._longest, self._many = quiet, longest, many
        self._lock = threading.Lock()
        self._clear_watched_news()

    def _clear_watched_news(self) -> None:
        self._paths: set[str] = set()
        self._everything = self._folders = False
        self._first = self._last = self._git = 0.0

    def hear_watched_event(self, event: FileSystemEvent) -> None:
        for name in (os.fsdecode(event.src_path), os.fsdecode(event.dest_path)):
            path = name[len(self._top) :].replace(os.sep, "/")
            if not name.startswith(self._top):
                continue
            if path.startswith(".") or "/." in path:
                if path in _GIT_STATE:
                    self.doubt_watched_news(git=True)
                elif self._decides(path):
                    self.doubt_watched_news()
            elif not event.is_directory and self._is_note(path):
                self._add_watched_path(path)
            # Windows does not say whether it was a file or a folder that is gone.
            elif event.is_directory or (sys.platform == "win32" and event.event_type == "deleted"):
                self.doubt_watched_news(folders=True)

    def _add_watched_path(self, path: str) -> None:
        with self._lock:
            self._watched_news_arrive()
            self._paths.add(path)
            if len(self._paths) > self._many:
                self._everything = True
                self._paths.clear()

    def doubt_watched_news(self, *, folders: bool = False, git: bool = False) -> None:
        with self._lock:
            self._watched_news_arrive()
            self._everything = True
            self._folders |= folders
            self._git = self._last if git else self._git

    def _watched_news_arrive(self) -> None:
        self._last = time.monotonic()
        self._first = self._first or self._last
        self.arrived.set()

    def seconds_until_watched_news(self) -> float:
        """The seconds for which a hint should still wait for more news."""
        with self._lock:
            now = time.monotonic()
            patience = self._first + GIT_SECONDS - now
            longest = max(self._first, self._git) + self._longest - now
            rest = min(self._last + self._quiet - now, longest, patience)
        if rest <= 0 < patience and self._is_git_at_work_on_watched():
            return 0.05
        return max(rest, 0.0)

    def _is_git_at_work_on_watched(self) -> bool:
        try:
            age = time.time() - os.stat(f"{self._top}.git/index.lock").st_mtime
        except OSError:
            return False
        return abs(age) < GIT_SECONDS

    def take_watched_news(self) -> tuple[frozenset[str], bool, bool]:
        with self._lock:
            taken = frozenset(self._paths), self._everything, self._folders
            self._clear_watched_news()
            self.arrived.clear()
            return taken


class _NativeWatch:
    """The system's own reports. Making one takes seconds in a vault of many folders."""

    def __init__(self, root: str, news: _WatchedNews) -> None:
        from watchdog import events, observers  # late: most commands watch nothing

        class Ear(events.FileSystemEventHandler):
            def dispatch(self, event: FileSystemEvent) -> None:
                news.hear_watched_event(event)

        # Not the opening and closing of files: our own reading would be reported.
        wanted: list[type[FileSystemEvent]] = [
            *(events.FileCreatedEvent, events.FileModifiedEvent, events.FileClosedEvent),
            *(events.FileMovedEvent, events.FileDeletedEvent),
            *(events.DirCreatedEvent, events.DirMovedEvent, events.DirDeletedEvent),
        ]
        self._root, self._folder = root, os.stat(root)
        self._overflow = _WatchOverflow(news)
        # Said, with the names of all folders, about every folder made inside a new one.
        warnings.filterwarnings("ignore", "Callback with id", RuntimeWarning)
        self._observer = observers.Observer()
        for name in _LOGGERS:
            logging.getLogger(name).addHandler(self._overflow)
        try:
            self._observer.schedule(Ear(), root, recursive=True, event_filter=wanted)
            self._observer.start()
        except BaseException:
            self.close()
            raise

    def is_watch_healthy(self) -> bool:
        """Whether all threads live and the watched folder is still the one at this path."""
        reader = getattr(self._observer, "_inotify_fd", self._observer)
        threads = (self._observer, reader, *self._observer.emitters)
        if self._overflow.broken or not all(thread.is_alive() for thread in threads):
            return False
        watches = self._watches_of_watchdog()
        if watches is not None and os.fsencode(self._root) not in watches:
            return False  # unmounted, and perhaps mounted again
        try:
            return os.path.samestat(os.stat(self._root), self._folder)
        except OSError:
            return False

    def folders_not_watched(self) -> tuple[frozenset[str], frozenset[str]]:
        """Folders without a watch, and watches without their folder."""
        existing: set[str] = set()
        for folder, inner, _ in os.walk(self._root, onerror=lambda e: existing.add(e.filename)):
            inner[:] = [name for name in inner if not name.startswith(".")]
            existing.add(folder)
        watches = self._watches_of_watchdog()
        if watches is None:
            return frozenset(), frozenset()
        watched = {os.fsdecode(path) for path in list(watches)}
        start, hidden = len(self._root), os.sep + "."
        stale = frozenset(p for p in watched - existing if hidden not in p[start:])
        return frozenset(existing - watched), stale

    def _watches_of_watchdog(self) -> Mapping[bytes, int] | None:
        """watchdog's own table of watches, where it has one."""
        try:
            (emitter,) = self._observer.emitters
            watches: Mapping[bytes, int] = emitter._inotify._active_callbacks_by_path  # type: ignore[attr-defined]
        except (AttributeError, ValueError):
            return None
        return watches

    def close(self) -> None:
        for name in _LOGGERS:
            logging.getLogger(name).removeHandler(self._overflow)
        groups: list[Any] = [getattr(e, "_inotify", None) for e in self._observer.emitters]
        try:
            self._observer.stop()
        except Exception:  # it loses count when a folder takes the place of one moved out
            self._observer.event_queue.put(self._observer.stop_event)
            with contextlib.suppress(AttributeError):
                self._observer._inotify_fd.stop()  # type: ignore[attr-defined]
                for group in groups:
                    group._move_event_grouper.close()
        if self._observer.ident is not None:
            self._observer.join(0.5)


class _WatchOverflow(logging.Handler):
    """watchdog tells its log, and nobody else, that events were lost."""

    def __init__(self, news: _WatchedNews) -> None:
        super().__init__(logging.WARNING)
        self._news = news
        self.broken = False

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        self.broken |= "Unable to rebuild" in message
        if self.broken or "queue overflowed" in message:
            self._news.doubt_watched_news(folders=True)


def _is_watched_file_freshly_saved(size: int, mtime_ns: int) -> bool:
    return size == 0 or abs(time.time() - mtime_ns / 1e9) < 0.05
