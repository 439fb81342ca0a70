"""The notes on disk. Only this module opens them.

Reading waits for a half-written file to settle; writing compares the bytes it was based
on with the bytes that are there, waits for a note that is being typed in, and leaves the
old note or the new one whatever happens.
"""

from __future__ import annotations

import contextlib
import io
import os
import posixpath
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from vaultmem.base import durable, lock, small_files
from vaultmem.base.file_stamps import UNSETTLED_STAMP, FileStamp, file_stamp
from vaultmem.base.own_path import OwnPath
from vaultmem.config import Settings, state_dir
from vaultmem.errors import (
    AlreadyExists,
    Busy,
    Conflict,
    NoteMalformed,
    NotFound,
    OutsideVault,
    ReadOnly,
    VaultmemError,
)
from vaultmem.notes import file_names
from vaultmem.notes.note import Note, note_version, parse, printable
from vaultmem.storage import absence
from vaultmem.storage.absence import GoneNote
from vaultmem.storage.listing import Listing, notes_below, vault_listing
from vaultmem.storage.local_state.authorship import DigestLog
from vaultmem.storage.local_state.births import NoteBirths
from vaultmem.storage.own_folder import OwnFolder
from vaultmem.storage.paths import VOLATILE, NotePaths
from vaultmem.storage.pdf.pdf_texts import PdfTexts, file_stamp_of
from vaultmem.storage.root import VaultFolder

if TYPE_CHECKING:
    from vaultmem.notes.canvas import Canvas
    from vaultmem.storage.pdf.pdf_pages import PdfPages

TRASH: Final = ".trash"
STORE_LOCK_SECONDS: Final = 10.0
MOST_NOTE_BYTES: Final = 64_000_000  # of one note; it is held in memory some four times over
_MORE: Final = 1 << 16
_OWN_WRITES: Final = 256  # that are told from a person's
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StoredNote:
    path: str
    raw: bytes  # as it is read: of a canvas or a PDF, what it says as Markdown
    stat: FileStamp
    canvas: Canvas | None = field(default=None, kw_only=True)
    pdf: PdfPages | None = field(default=None, kw_only=True)

    @property
    def version(self) -> str:
        return note_version(self.raw)


class Trash:
    """`.trash/`, as Obsidian has it: what is removed lies there under a name of its own."""

    def __init__(self, place: OwnPath) -> None:
        self.place = place

    def take_in(self, file: Path) -> str:
        """Move a file here; returns its place."""
        trashed = os.listdir(self.place.make())
        taken = {file_names.name_key(posixpath.splitext(name)[0]) for name in trashed}
        stem, suffix = posixpath.splitext(file.name)
        target = self.place / (file_names.numbered_name(stem, taken) + suffix)
        target.take_in(file)
        durable.flush_folder(file.parent)
        return f"{TRASH}/{target.name}"

    def clear(self, place: str, raw: bytes) -> None:
        """Take out what was put back from elsewhere, if it is still the same."""
        trashed = self.place / posixpath.basename(place)
        with contextlib.suppress(OSError, VaultmemError):
            if trashed.read() == raw:
                trashed.remove()


class Store:
    def __init__(self, root: Path, settings: Settings) -> None:
        self.root = root.resolve()
        self.home = VaultFolder(self.root)
        self.settings = settings
        self.own = OwnFolder(self.home, state_dir(self.root, settings))
        self.kept, self.state = self.own.kept, self.own.place
        self._volatile = self.state / "local" / "volatile"
        self.paths = NotePaths(self.root, self._volatile, settings)
        self.trash = Trash(OwnPath(self.root, (TRASH,), self.home.require_is))
        self.pdfs = PdfTexts(self.state / "index" / "pdf")
        self._own = DigestLog(self.state / "local" / "recent-writes", _OWN_WRITES)
        self.births = NoteBirths(self.state / "local" / "births.db", self.root)
        self.births.away = self.own.trouble
        self.knows: Callable[[str], bool] = lambda path: False  # a note that was there just now

    def take_settings(self, settings: Settings) -> None:
        self.settings = settings
        self.paths = NotePaths(self.root, self._volatile, settings)

    # --- looking ---------------------------------------------------------------------

    def walk(self) -> Listing:
        self.paths.look_anew()
        listing = vault_listing(self.root, self.paths.is_memory)
        if not self.home.trouble():  # else these are another folder's
            self.home.remember(listing.notes)
        try:
            listing.notes.update(notes_below(self._volatile, VOLATILE, self.paths.is_note))
        except (OSError, VaultmemError) as error:
            listing.unread.append((VOLATILE, str(error).rstrip(".")))
        return listing

    def volatile(self, session: str) -> list[str]:
        """The notes that last as long as one session."""
        found = notes_below(self._volatile / session, f"{VOLATILE}{session}/", self.paths.is_note)
        return [path for path, _ in found]

    # --- reading ---------------------------------------------------------------------

    def read(self, path: str) -> StoredNote:
        """The note's bytes, once they have settled: editors empty a file before they fill it."""
        file = self.paths.readable(path)
        if not self.paths.is_memory(path):  # it may have been one, to an index that is behind
            raise NotFound(f"{path} is no memory: it is a template, or excluded.")
        return self.read_settled(path, file)

    def read_settled(self, path: str, file: str) -> StoredNote:
        """Whatever it is; who asks has made sure that it may be read."""
        for _ in range(20):
            stored = self._read_stored_note(path, file)
            age = time.time() - stored.stat.mtime_ns / 1e9
            settled = 1.0 if not stored.raw else 0.05
            if not 0 <= age < settled or stored.version in self._own:
                return stored
            time.sleep(0.02)
        return stored

    def file_text(self, note: Note) -> str:
        """All of a note's file, byte for byte; a canvas is read as something else."""
        if not file_names.is_canvas(note.path):  # a PDF's own bytes are no text
            return note.text
        raw, _ = self._read_stored_file_once(note.path, self.paths.readable(note.path))
        return raw.decode("utf-8", "surrogateescape")

    def stat(self, path: str) -> FileStamp | None:
        """The note's stamp without reading it; None when there is no such note."""
        try:
            found = os.stat(self.paths.readable(path), follow_symlinks=False)
        except (OSError, VaultmemError):
            return None
        is_note = stat.S_ISREG(found.st_mode) and self.paths.is_note(path)
        return file_stamp(found) if is_note else None

    def is_there(self, path: str) -> bool:
        """Whether there is such a note, also while an editor writes it anew."""
        return self.stat(path) is not None or self._does_stored_note_come_back(
            path, self.paths.top + path
        )

    def note(self, path: str) -> Note:
        return self.parse(self.read(path))

    def parse(self, stored: StoredNote) -> Note:
        """A note may be anything: should one be too much for us, the others go on."""
        try:
            if stored.canvas is not None:
                from vaultmem.notes.canvas import canvas_note

                return canvas_note(stored.canvas, stored.path, self.settings.properties)
            if stored.pdf is not None:
                from vaultmem.storage.pdf.pdf_pages import pdf_note

                return pdf_note(stored.pdf, stored.path, self.settings.properties)
            return parse(stored.raw, stored.path, self.settings.properties)
        except Exception as error:
            raise NoteMalformed(
                f"{stored.path} could not be understood ({type(error).__name__}). The file is as "
                "it was. This is a fault of vaultmem: please report it."
            ) from error

    def _read_stored_note(self, path: str, file: str | Path) -> StoredNote:
        """One that is known is waited for while an editor writes it anew."""
        for _ in range(5):
            try:
                return self._read_stored_note_once(path, file)
            except GoneNote:
                if not self._does_stored_note_come_back(path, file):
                    break
        return self._read_stored_note_once(path, file)

    def _does_stored_note_come_back(self, path: str, file: str | Path) -> bool:
        return self.knows(path) and absence.is_absence_over(file)

    def read_pdf(self, path: str) -> bool:
        """Read the text of a PDF that waits for that, which can take seconds; says whether it
        could be opened."""
        try:
            self.pdfs.read(path, self.paths.readable(path))
        except (OSError, VaultmemError):
            return False  # it is gone, or may not be read: the next look says so
        return True

    def _stored_pdf(self, path: str, file: str | Path) -> StoredNote:
        """Only its stamp is looked at here: the text comes from what was kept of it."""
        from vaultmem.storage.pdf.pdf_pages import unread_pdf

        with small_files.open_plain_file(file) as opened:
            stamp = file_stamp_of(opened)
        known = self.pdfs.known(path, stamp)
        if known is None:
            known, stamp = unread_pdf(), UNSETTLED_STAMP
        return StoredNote(path, known.raw, stamp, pdf=known)

    def _read_stored_note_once(self, path: str, file: str | Path) -> StoredNote:
        if file_names.is_pdf(path):
            with self._opening_stored_file(path, file):
                return self._stored_pdf(path, file)
        raw, stamp = self._read_stored_file_once(path, file)
        if not file_names.is_canvas(path):
            return StoredNote(path, raw, stamp)
        from vaultmem.notes.canvas import read_canvas

        canvas = read_canvas(raw)
        return StoredNote(path, canvas.raw, stamp, canvas=canvas)

    def _read_stored_file_once(self, path: str, file: str | Path) -> tuple[bytes, FileStamp]:
        with (
            self._opening_stored_file(path, file),
            open(file, "rb", buffering=0, opener=_open_stored_file) as handle,
        ):
            before = os.fstat(handle.fileno())
            if not stat.S_ISREG(before.st_mode):
                raise NotFound(f"{path} is not a file.")
            return _read_stored_bytes(path, handle, before.st_size), file_stamp(before)

    @contextlib.contextmanager
    def _opening_stored_file(self, path: str, file: str | Path) -> Iterator[None]:
        """What keeps a file from being read, in plain words."""
        try:
            yield
        except FileNotFoundError:
            self.home.require()
            raise GoneNote(f"There is no note {path}.") from None
        except OSError as error:
            self.home.require()
            reason = "it is a link to another place" if os.path.islink(file) else error.strerror
            raise NotFound(f"{path} cannot be read: {reason}.") from None

    # --- writing ---------------------------------------------------------------------

    def create(self, path: str, raw: bytes) -> StoredNote:
        """A new note under a name that no other file has, not even in another case."""
        self._require_store_not_read_only()
        file = self.paths.new_file(path)
        with self.writing(), durable.disk_errors_explained(f"Making {path}"):
            self.paths.refuse_clash(path, file)
            self._own.add_digest(note_version(raw))
            try:
                if self._does_stored_note_come_back(
                    path, file
                ):  # an editor would write over the new note
                    raise FileExistsError
                local = path.startswith(VOLATILE)
                durable.create_durably(file, raw, self.state.anchor if local else self.root)
            except FileExistsError:
                raise AlreadyExists(f"There is already a note {path}.") from None
            if not local:
                self.home.add(path)
            return StoredNote(path, raw, file_stamp(file.stat()))

    def replace(self, path: str, raw: bytes, *, expect: str) -> StoredNote:
        """New bytes for a note that still has the expected version."""
        return self.update(path, lambda note: raw, expect=expect)

    def update(
        self, path: str, change: Callable[[Note], bytes], *, expect: str | None = None
    ) -> StoredNote:
        """Edit a note; if a person saves it meanwhile the edit is done again on the new text.

        With an expected version it is not: the caller has not seen the new text yet.
        Processes of ours take turns, so `change` should be quick.
        """

        def once(file: Path) -> StoredNote | None:
            current = self.read(path)
            self._require_stored_version(current, expect)
            note = self.parse(current)
            raw = change(note)
            if raw == current.raw:
                return current
            self.births.hold(note, current.stat)
            if not file.stat().st_mode & stat.S_IWUSR:
                raise ReadOnly(f"{path} is write-protected; its owner does not want it changed.")
            self._own.add_digest(note_version(raw))
            if durable.replace_durably(file, raw, current.raw):
                return StoredNote(path, raw, file_stamp(file.stat()))
            return None

        return self._change_stored_beside_others(path, f"Writing {path}", once, expect)

    def _change_stored_beside_others(
        self, path: str, doing: str, once: Callable[[Path], T | None], expect: str | None
    ) -> T:
        """Do something to a note while nobody else of ours writes and nobody types in it; again
        when somebody else changed the note meanwhile, which `once` says with None."""
        self._require_store_not_read_only()
        self.paths.require_changeable(path)
        file = self.paths.locate(path)
        for _ in range(10):
            with absence.absence_outwaited(path, file):
                if expect is not None:  # before anybody is waited for
                    self._require_stored_version(self.read(path), expect)
                self._wait_until_stored_note_rests(path, file)
                explained = durable.disk_errors_explained(doing)
                outwaited = absence.absence_outwaited(path, file)
                with self.writing(), explained, outwaited:
                    if (done := once(file)) is not None:
                        return done
        raise Busy(f"{path} is being changed again and again; try again in a moment.")

    def wrote(self, made: str) -> bool:
        """Whether a version is one of our own latest, and not a person's."""
        return made in self._own

    def remove(self, path: str, *, expect: str | None = None) -> str:
        """Move a note to `.trash/`, as Obsidian does; returns its place there."""

        def once(file: Path) -> str:
            self._require_stored_version(self._read_stored_note_once(path, file), expect)
            return self.trash.take_in(file)

        return self._change_stored_beside_others(path, f"Moving {path} to the trash", once, expect)

    def discard(self, path: str) -> None:
        """Delete a volatile note for good; its like are never moved to the trash."""
        self._require_store_not_read_only()
        if not path.startswith(VOLATILE):
            raise OutsideVault(f"{path} is not a volatile note; only those are deleted.")
        self.paths.locate(path)
        inner = path.removeprefix(VOLATILE).split("/")
        place = self.state._replace(parts=(*self._volatile.parts, *inner))
        with self.writing(), durable.disk_errors_explained(f"Deleting {path}"):
            place.remove()
            place.parent.remove_folder()

    def sweep(self, path: str) -> bool:
        """Remove a temporary file that a killed process left behind."""
        place = OwnPath(self.root, tuple(path.split("/")))
        with contextlib.suppress(OSError, VaultmemError):
            found = place.stat()
            if found is not None and durable.is_abandoned_temporary(place.name, found):
                place.remove()
                return True
        return False

    def require_writable(self) -> None:
        self.home.require()
        self.own.require_writable()

    def local(self) -> OwnPath:
        """This machine's own folder, made on first use and kept out of git."""
        return self.own.local()

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Nobody else of ours writes notes meanwhile, and the vault stays where it is."""
        with self.home.kept(), contextlib.ExitStack() as stack:
            local = self.local()
            with durable.disk_errors_explained(f"Locking {local}"):
                file = local / "write.lock"
                stack.enter_context(
                    lock.locked(file, timeout=STORE_LOCK_SECONDS, what="writing notes")
                )
            yield

    def _require_store_not_read_only(self) -> None:
        if self.settings["read_only"]:
            origin = self.settings.values["read_only"].origin
            raise ReadOnly(f"This vault is served read-only ({origin}); nothing was changed.")
        self.require_writable()

    def _require_stored_version(self, stored: StoredNote, expect: str | None) -> None:
        if expect is not None and stored.version != expect:
            raise Conflict(
                f"{stored.path} was changed by someone else. Look at its text as it is now, "
                f"and try again with expected_version {stored.version}.",
                text=printable(stored.raw.decode("utf-8", "surrogateescape")),
                version=stored.version,
            )

    def _wait_until_stored_note_rests(self, path: str, file: Path) -> None:
        """Someone may be typing in a note that was saved a moment ago; our own saves do not count."""
        quiet = self.settings["typing.quiet_seconds"]
        deadline = time.monotonic() + self.settings["typing.wait_seconds"]
        while True:
            stored = self._read_stored_note_once(path, file)
            age = time.time() - stored.stat.mtime_ns / 1e9
            if not 0 <= age < quiet or stored.version in self._own:
                return
            if time.monotonic() >= deadline:
                raise Busy(f"Someone is typing in {path}; try again in a few seconds.")
            time.sleep(min(quiet - age, 0.1))


def _read_stored_bytes(path: str, handle: io.FileIO, size: int) -> bytes:
    """All bytes of a note. A file may also be endless, or grow while it is read."""
    if size <= MOST_NOTE_BYTES:
        raw = handle.read(size + 1)
        while len(raw) <= MOST_NOTE_BYTES and (more := handle.read(_MORE)):
            raw += more
        if len(raw) <= MOST_NOTE_BYTES:
            return raw
    raise NoteMalformed(
        f"{path} has more than {MOST_NOTE_BYTES // 1_000_000} MB, which is too much for a note. "
        "Split it, or give it another ending."
    )


def _open_stored_file(file: str, flags: int) -> int:
    """Open without following a link and without waiting for a pipe."""
    return os.open(file, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
