"""The notes on disk. Only this module opens them.

Reading waits for a half-written file to settle; writing compares the bytes it was based
on with the bytes that are there, waits for a note that is being typed in, and leaves the
old note or the new one whatever happens.
"""

from __future__ import annotations

import contextlib
import fnmatch
import os
import posixpath
import re
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from vaultmem import durable, lock, names
from vaultmem.config import STATE, Settings, state_dir
from vaultmem.errors import (
    AlreadyExists,
    Busy,
    Conflict,
    InvalidInput,
    NotFound,
    OutsideVault,
    ReadOnly,
    VaultmemError,
)
from vaultmem.note import Note, parse, printable, version

TRASH: Final = ".trash"
VOLATILE: Final = f"{STATE}/local/volatile/"  # notes of a session, on this machine only
LOCK_SECONDS: Final = 10.0
_IGNORED_NAMES: Final = frozenset(("conflict-files-obsidian-git.md",))
_DRIVE: Final = re.compile(r"[A-Za-z]:[\\/]")
# A path that no guard could object to; anything else takes the slow and careful way.
_ORDINARY: Final = re.compile(r"(?:[^/\\\0.:\ud800-\udfff][^/\\\0:\ud800-\udfff]*(?:/|\Z))+")
_OWN_GITIGNORE: Final = b"*\n!.gitignore\n!config.toml\n"


@dataclass(frozen=True, slots=True)
class FileStat:
    mtime_ns: int
    size: int
    inode: int


@dataclass(slots=True)
class Listing:
    """One look at the vault. What could not be looked at is said, never taken for gone."""

    notes: dict[str, FileStat] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)  # everything a link can point at
    unread: list[tuple[str, str]] = field(default_factory=list)  # folder or file, reason
    symlinks: list[str] = field(default_factory=list)
    temporaries: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Stored:
    path: str
    raw: bytes
    stat: FileStat

    @property
    def version(self) -> str:
        return version(self.raw)


class Store:
    def __init__(self, root: Path, settings: Settings) -> None:
        self.root = root.resolve()
        self.settings = settings
        self.state = state_dir(self.root, settings)
        self._excluded = _matcher(settings["exclude"])
        self._templates = names.name_key(settings["folders.templates"].strip("/"))
        self._top = str(self.root).rstrip("/") + "/"
        self._inside: set[str] = set()  # folders that were seen to lie in the vault
        self._own = _OwnWrites(self.state / "local" / "recent-writes")

    # --- looking ---------------------------------------------------------------------

    def walk(self) -> Listing:
        listing = Listing()
        self._inside.clear()
        folders = [""]
        while folders:
            folder = folders.pop()
            try:
                with os.scandir(self.root / folder) as entries:
                    found = sorted(entries, key=lambda entry: entry.name)
            except OSError as error:
                listing.unread.append((folder, error.strerror or str(error)))
                continue
            folders += reversed(list(self._sort_in(folder, found, listing)))
        listing.notes.update(self._volatile_notes())
        return listing

    def _volatile_notes(self) -> Iterator[tuple[str, FileStat]]:
        top = self._volatile_folder()
        for folder, _, files in os.walk(top):
            for name in sorted(files):
                path = VOLATILE + Path(folder, name).relative_to(top).as_posix()
                with contextlib.suppress(FileNotFoundError):
                    if self.is_note(path):
                        yield path, _stat(os.stat(Path(folder, name), follow_symlinks=False))

    def volatile(self, session: str) -> list[str]:
        """The notes that last as long as one session."""
        start = f"{VOLATILE}{session}/"
        return [path for path, _ in self._volatile_notes() if path.startswith(start)]

    def _volatile_folder(self) -> Path:
        return self.state / "local" / "volatile"

    def _sort_in(self, folder: str, found: list[os.DirEntry[str]], into: Listing) -> Iterator[str]:
        """File the entries of one folder; yields the folders below it."""
        for entry in found:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.name.startswith("."):
                if durable.is_temporary(entry.name):
                    into.temporaries.append(path)
                continue
            try:
                if entry.is_symlink():
                    into.symlinks.append(path)
                elif entry.is_dir(follow_symlinks=False):
                    yield path
                else:
                    into.files.append(path)
                    if self.is_note(path):
                        into.notes[path] = _stat(entry.stat(follow_symlinks=False))
            except FileNotFoundError:
                continue
            except OSError as error:
                into.unread.append((path, error.strerror or str(error)))

    def is_note(self, path: str) -> bool:
        """Whether a file is part of the memory: Markdown, not a template, not excluded."""
        name = posixpath.basename(path)
        if not name.lower().endswith(".md") or name in _IGNORED_NAMES:
            return False
        if any(segment.startswith(".") for segment in path.removeprefix(VOLATILE).split("/")):
            return False
        return not self._is_template(path) and not self._excluded(path)

    def _is_template(self, path: str) -> bool:
        return bool(self._templates) and names.name_key(path).startswith(self._templates + "/")

    # --- reading ---------------------------------------------------------------------

    def read(self, path: str) -> Stored:
        """The note's bytes, once they have settled: editors empty a file before they fill it."""
        file = self._readable(path)
        for _ in range(20):
            stored = self._read_once(path, file)
            age = time.time() - stored.stat.mtime_ns / 1e9
            settled = 1.0 if not stored.raw else 0.05
            if not 0 <= age < settled or stored.version in self._own:
                return stored
            time.sleep(0.02)
        return stored

    def stat(self, path: str) -> FileStat | None:
        """The note's stamp without reading it; None when there is no such note."""
        try:
            found = os.stat(self._readable(path), follow_symlinks=False)
        except (OSError, VaultmemError):
            return None
        return _stat(found) if stat.S_ISREG(found.st_mode) and self.is_note(path) else None

    def note(self, path: str) -> Note:
        return self.parse(self.read(path))

    def parse(self, stored: Stored) -> Note:
        return parse(stored.raw, stored.path, self.settings.properties)

    def _read_once(self, path: str, file: str | Path) -> Stored:
        try:
            with open(file, "rb", buffering=0, opener=_open_plain) as handle:
                before = os.fstat(handle.fileno())
                if not stat.S_ISREG(before.st_mode):
                    raise NotFound(f"{path} is not a file.")
                return Stored(path, handle.read(), _stat(before))
        except FileNotFoundError:
            raise NotFound(f"There is no note {path}.") from None
        except OSError as error:
            reason = "it is a link to another place" if os.path.islink(file) else error.strerror
            raise NotFound(f"{path} cannot be read: {reason}.") from None

    def locate(self, path: str) -> Path:
        """The file behind a vault path; refuses whatever could lead out of the vault."""
        if not path or "\0" in path:
            raise InvalidInput("A note's path is missing.")
        try:
            os.fsencode(path)
        except UnicodeEncodeError:
            raise InvalidInput(f"{printable(path)} cannot be the name of a file.") from None
        if path.startswith(("/", "\\")) or _DRIVE.match(path) or (os.name == "nt" and ":" in path):
            raise OutsideVault(f"{path} is an absolute path; name notes relative to the vault.")
        top, inner = self._top_of(path)
        segments = inner.replace("\\", "/").split("/") if os.name == "nt" else inner.split("/")
        if any(segment in ("", ".", "..") for segment in segments):
            raise OutsideVault(f"{path} leaves the vault or is not a plain path.")
        if any(segment.startswith(".") for segment in segments):
            raise OutsideVault(f"{path} lies in a hidden folder, which vaultmem leaves alone.")
        file = top.joinpath(*segments)
        self._require_inside(path, str(file.parent), top)
        return file

    def _top_of(self, path: str) -> tuple[Path, str]:
        """The folder that a path must not leave, and the path in it."""
        if path.startswith(VOLATILE):
            return self._volatile_folder(), path.removeprefix(VOLATILE)
        return self.root, path

    def _require_inside(self, path: str, folder: str, above: Path) -> None:
        real, top = os.path.realpath(folder), os.path.realpath(above)
        if real != top and not real.startswith(top.rstrip(os.sep) + os.sep):
            raise OutsideVault(f"{path} leads out of the vault through a link.")

    def _readable(self, path: str) -> str:
        """`locate` for the thousands of reads of one run: a folder is looked at only once."""
        if not _ORDINARY.fullmatch(path):
            return str(self.locate(path))
        file = f"{self._top}{path}"
        folder = file.rpartition("/")[0]
        if folder not in self._inside:
            self._require_inside(path, folder, self.root)
            self._inside.add(folder)
        return file

    # --- writing ---------------------------------------------------------------------

    def create(self, path: str, raw: bytes) -> Stored:
        """A new note under a name that no other file has, not even in another case."""
        self._require_writable()
        file = self._new_file(path)
        with self._writing(), durable.explained(f"Making {path}"):
            self._refuse_clash(path, file)
            self._own.add(version(raw))
            try:
                durable.create(file, raw)
            except FileExistsError:
                raise AlreadyExists(f"There is already a note {path}.") from None
            return Stored(path, raw, _stat(file.stat()))

    def replace(self, path: str, raw: bytes, *, expect: str) -> Stored:
        """New bytes for a note that still has the expected version."""
        return self.update(path, lambda note: raw, expect=expect)

    def update(
        self, path: str, change: Callable[[Note], bytes], *, expect: str | None = None
    ) -> Stored:
        """Edit a note; if a person saves it meanwhile the edit is done again on the new text.

        With an expected version it is not: the caller has not seen the new text yet.
        Processes of ours take turns, so `change` should be quick.
        """
        self._require_writable()
        file = self.locate(path)
        for _ in range(10):
            if expect is not None:
                self._require_version(self.read(path), expect)
            self._wait_until_quiet(path, file)
            with self._writing(), durable.explained(f"Writing {path}"):
                current = self.read(path)
                if expect is not None:
                    self._require_version(current, expect)
                raw = change(self.parse(current))
                if raw == current.raw:
                    return current
                if self._swap(path, file, current, raw):
                    return Stored(path, raw, _stat(file.stat()))
        raise Busy(f"{path} is being changed again and again; try again in a moment.")

    def _swap(self, path: str, file: Path, current: Stored, raw: bytes) -> bool:
        self._refuse_protected(path, file)
        self._own.add(version(raw))
        return durable.replace(file, raw, lambda: self._read_once(path, file).raw == current.raw)

    def remove(self, path: str, *, expect: str | None = None) -> str:
        """Move a note to `.trash/`, as Obsidian does; answers with its place there."""
        self._require_writable()
        file = self.locate(path)
        self._wait_until_quiet(path, file)
        with self._writing(), durable.explained(f"Moving {path} to the trash"):
            stored = self._read_once(path, file)
            if expect is not None:
                self._require_version(stored, expect)
            trash = self.root / TRASH
            if trash.is_symlink():
                raise OutsideVault(f"{TRASH} is a link to another place; nothing was moved there.")
            durable.make_folders(trash)
            stem, suffix = posixpath.splitext(posixpath.basename(path))
            taken = {names.name_key(posixpath.splitext(name)[0]) for name in os.listdir(trash)}
            target = trash / (_numbered(stem, taken) + suffix)
            durable.place_new(file, target)
            durable.sync_folder(trash)
            durable.sync_folder(file.parent)
            return f"{TRASH}/{target.name}"

    def discard(self, path: str) -> None:
        """Delete a volatile note for good; its like are never moved to the trash."""
        self._require_writable()
        if not path.startswith(VOLATILE):
            raise OutsideVault(f"{path} is not a volatile note; only those are deleted.")
        file = self.locate(path)
        with self._writing(), durable.explained(f"Deleting {path}"):
            file.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                file.parent.rmdir()

    def clear_trashed(self, place: str, raw: bytes) -> None:
        """Take out of the trash what was put back from elsewhere, if it is still the same."""
        file = self.root / TRASH / posixpath.basename(place)
        with contextlib.suppress(OSError):
            if not file.is_symlink() and file.read_bytes() == raw:
                file.unlink()

    def sweep(self, path: str) -> bool:
        """Remove a temporary file that a killed process left behind."""
        file = self.root / path
        with contextlib.suppress(FileNotFoundError):
            if durable.is_abandoned(file):
                file.unlink()
                return True
        return False

    def local(self) -> Path:
        """This machine's own folder, made on first use and kept out of git."""
        folder = self.state / "local"
        if not folder.is_dir():
            with durable.explained(f"Making {folder}"):
                durable.make_folders(folder)
                ignore = self.root / STATE / ".gitignore"
                if ignore.parent.is_dir() and not ignore.exists():
                    ignore.write_bytes(_OWN_GITIGNORE)
        return folder

    def writing(self) -> contextlib.AbstractContextManager[None]:
        """Nobody else of ours writes notes meanwhile: for a program that does so itself."""
        return self._writing()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        local = self.local()
        with contextlib.ExitStack() as stack:
            with durable.explained(f"Locking {local}"):
                file = local / "write.lock"
                stack.enter_context(lock.held(file, timeout=LOCK_SECONDS, what="writing notes"))
            yield

    def _require_writable(self) -> None:
        if self.settings["read_only"]:
            origin = self.settings.values["read_only"].origin
            raise ReadOnly(f"This vault is served read-only ({origin}); nothing was changed.")

    def _require_version(self, stored: Stored, expect: str) -> None:
        if stored.version != expect:
            raise Conflict(
                f"{stored.path} was changed by someone else. Look at its text as it is now, "
                f"and try again with expected_version {stored.version}.",
                text=printable(stored.raw.decode("utf-8", "surrogateescape")),
                version=stored.version,
            )

    def _refuse_protected(self, path: str, file: Path) -> None:
        if not file.stat().st_mode & stat.S_IWUSR:
            raise ReadOnly(f"{path} is write-protected; its owner does not want it changed.")

    def _new_file(self, path: str) -> Path:
        file = self.locate(path)
        if not self.is_note(path):
            raise InvalidInput(
                f"{path} would not be a note: it needs the ending .md, outside of "
                "the templates folder and of what the settings exclude."
            )
        for segment in path.removeprefix(VOLATILE).split("/"):
            if reason := names.unsafe(segment.removesuffix(".md")):
                raise InvalidInput(f"{path} is not a good name: {reason}.")
        if not names.is_new_name(file.stem):
            raise InvalidInput(f"{path} is too long a name, or not in Unicode's composed form.")
        return file

    def _refuse_clash(self, path: str, file: Path) -> None:
        """No second file or folder whose name differs only in case or in accents' form."""
        top, inner = self._top_of(path)
        place = top
        for segment in inner.split("/"):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                for name in os.listdir(place):
                    if names.name_key(name) == names.name_key(segment):
                        if name != segment or place / name == file:
                            other = (place / name).relative_to(top).as_posix()
                            raise AlreadyExists(
                                f"There is already {other}, which is the same name."
                            )
            place /= segment

    def _wait_until_quiet(self, path: str, file: Path) -> None:
        """Someone may be typing in a note that was saved a moment ago; our own saves do not count."""
        quiet = self.settings["typing.quiet_seconds"]
        deadline = time.monotonic() + self.settings["typing.wait_seconds"]
        while True:
            stored = self._read_once(path, file)
            age = time.time() - stored.stat.mtime_ns / 1e9
            if not 0 <= age < quiet or stored.version in self._own:
                return
            if time.monotonic() >= deadline:
                raise Busy(f"Someone is typing in {path}; try again in a few seconds.")
            time.sleep(min(quiet - age, 0.1))


class _OwnWrites:
    """The versions vaultmem itself wrote lately, shared by all its processes on this machine."""

    SLOTS: Final = 256

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, digest: str) -> None:
        raw = bytes.fromhex(digest)
        known = self._read()
        self.path.write_bytes((known + raw)[-len(raw) * self.SLOTS :])

    def __contains__(self, digest: str) -> bool:
        raw = bytes.fromhex(digest)
        known = self._read()
        # Counted from the end: a process killed while writing may have cut the beginning.
        return any(known[i - len(raw) : i] == raw for i in range(len(known), 0, -len(raw)))

    def _read(self) -> bytes:
        try:
            return self.path.read_bytes()
        except OSError:
            return b""


def _open_plain(file: str, flags: int) -> int:
    """Open without following a link and without waiting for a pipe."""
    return os.open(file, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _matcher(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    """A pattern names a file or a whole folder; `*` and `?` are allowed in it."""
    if not patterns:
        return lambda path: False
    translated = (fnmatch.translate(p.strip("/"))[:-2] for p in patterns)  # less its \\Z
    regex = re.compile("|".join(rf"(?:{t})(?:/|\Z)" for t in translated), re.DOTALL)
    return lambda path: regex.match(path) is not None


def _numbered(stem: str, taken: set[str]) -> str:
    candidate, number = stem, 1
    while names.name_key(candidate) in taken:
        number += 1
        candidate = f"{stem} {number}"
    return candidate


def _stat(result: os.stat_result) -> FileStat:
    return FileStat(result.st_mtime_ns, result.st_size, result.st_ino)
