"""Exports: every note as a line of JSON, or the files themselves in a zip.

Both are made of the files and not of the index, in the order of their paths, so that an
unchanged vault gives the same export again. A file appears when it is whole.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import math
import os
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Final

from ulid_transform import ulid_now

from vaultmem.base import durable
from vaultmem.errors import AlreadyExists, InvalidInput, NotFound, VaultmemError
from vaultmem.notes.attributes import attributes_of
from vaultmem.notes.file_names import is_only_read
from vaultmem.notes.masking import without_private
from vaultmem.notes.note import Note, printable
from vaultmem.notes.tags import tag_key
from vaultmem.operations.results import memory_of_note
from vaultmem.operations.view import View
from vaultmem.storage.listing import Listing
from vaultmem.storage.paths import VOLATILE
from vaultmem.storage.store import StoredNote
from vaultmem.transfer import TARGETS, Progress
from vaultmem.transfer.sources.records import SkippedRecord

# Beside the visible files: what makes a folder a vault, here and in Obsidian. Plugins keep
# keys of their services in their settings, so they stay.
_HIDDEN: Final = (".vaultmem/config.toml", ".obsidian/*.json", ".gitignore", ".gitattributes")
_OF_THIS_MACHINE: Final = "workspace"
# The moments that a zip can hold.
_FIRST: Final = int(dt.datetime(1980, 1, 1, tzinfo=dt.UTC).timestamp())
_LAST: Final = int(dt.datetime(2107, 12, 31, tzinfo=dt.UTC).timestamp())
_NOTES_ALONE: Final = "Only notes are in it: whose the other files are nobody can tell."
_LINE_WITHOUT: Final = ("access_count",)  # this machine's own


@dataclass(frozen=True, slots=True)
class ExportFilter:
    """Which notes are to be exported; empty for all."""

    project: str = ""
    type: str = ""
    scope: str = ""
    tag: str = ""

    @property
    def all(self) -> bool:
        return not any((self.project, self.type, self.scope, self.tag))

    def __call__(self, note: Note, attributes: Mapping[str, str]) -> bool:
        wanted = (("project", self.project), ("type", self.type), ("scope", self.scope))
        if any(w and attributes[name].casefold() != w.casefold() for name, w in wanted):
            return False
        tag = tag_key(self.tag)
        tags = [each.casefold() for each in note.tags]
        return not tag or any(each == tag or each.startswith(f"{tag}/") for each in tags)


@dataclass(frozen=True)
class Exported:
    target: str
    path: str
    notes: int
    files: int  # others
    size: int  # bytes
    left_out: tuple[SkippedRecord, ...]
    warnings: tuple[str, ...] = ()


class Exporting:
    def __init__(self, view: View, wanted: ExportFilter, progress: Progress | None) -> None:
        self._view = view
        self.wanted = wanted
        self.progress = progress
        self.left: list[SkippedRecord] = []
        self.notes = 0
        self.files = 0

    def write_export(self, target: str, path: Path, *, force: bool) -> Exported:
        if target not in TARGETS:
            raise InvalidInput(f"Exports go to one of {', '.join(TARGETS)}, not to {target!r}.")
        path = Path(os.path.abspath(path.expanduser()))
        self._refuse_export_target(path, force)
        with (
            durable.disk_errors_explained(f"Writing {path}", "Nothing was exported."),
            _export_file_beside(path) as file,
        ):
            if target == "zip":
                self._write_zip_export(file)
            elif target == "okf":
                self._write_okf_export(file)
            else:
                for line in self.exported_lines():
                    file.write(line.encode() + b"\n")
            size = file.tell()
            _put_export(file, path, force)
        cut = target == "zip" and not self._is_whole_export
        warnings = (_NOTES_ALONE,) if cut else ()
        return Exported(target, str(path), self.notes, self.files, size, tuple(self.left), warnings)

    def _refuse_export_target(self, path: Path, force: bool) -> None:
        if path.is_dir():
            raise InvalidInput(f"{path} is a folder; name a file.")
        if not path.parent.is_dir():
            raise NotFound(f"There is no folder {path.parent}.")
        if self._view.store.root in path.resolve().parents:
            raise InvalidInput(
                f"{path.name} would lie in the vault itself, and in its next export. "
                f"Name a place outside of it, such as {self._view.store.root.parent / path.name}"
            )
        if path.exists() and not force:
            raise AlreadyExists(f"There is already {path}; --force writes over it.")

    @property
    def _is_whole_export(self) -> bool:
        """Whether everything was asked for, by someone who may see everything."""
        return self.wanted.all and not (self._view.caller.user or self._view.caller.project)

    # --- lines -----------------------------------------------------------------------------

    def exported_lines(self) -> Iterator[str]:
        listing = self._view.store.walk()
        if self._is_whole_export:
            self.left += [SkippedRecord(path, why.reason) for path, why in listing.refused.items()]
        for stored, note in self._notes_to_export(listing):
            yield _export_line(stored, note, self._view)

    def _notes_to_export(self, listing: Listing) -> Iterator[tuple[StoredNote, Note]]:
        """The notes that were asked for and that the caller may see. A canvas or a PDF is no note, and is
        exported as the other files are."""
        kept = (path for path in listing.notes if not path.startswith(VOLATILE))
        paths = sorted(path for path in kept if not is_only_read(path))
        for number, path in enumerate(paths, 1):
            try:
                stored = self._view.store.read(path)
            except VaultmemError as error:
                self.left.append(SkippedRecord(path, str(error)))
                continue
            note = self._view.store.parse(stored)
            attributes = attributes_of(note, self._view.settings)
            if self._view.sees_attributes(attributes) and self.wanted(note, attributes):
                self.notes += 1
                yield stored, note
            if self.progress:
                self.progress(number, len(paths))

    # --- zip -------------------------------------------------------------------------------

    def _write_zip_export(self, file: IO[bytes]) -> None:
        listing = self._view.store.walk()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            if self._is_whole_export:
                for path in self._hidden_files_to_export():
                    self._add_to_export(archive, path)
            for stored, _ in self._notes_to_export(listing):
                if self._has_name_for_export(stored.path):
                    archive.writestr(
                        _export_zip_info(stored.path, stored.stat.mtime_ns), stored.raw
                    )
            if self._is_whole_export:
                for path in sorted(listing.files):
                    if path in listing.notes and not is_only_read(path):
                        continue
                    self._add_to_export(archive, path)
        self.left += [
            SkippedRecord(path, "it is a link to another place") for path in listing.symlinks
        ]

    def _write_okf_export(self, file: IO[bytes]) -> None:
        """The notes as concepts, and the indexes; other files stay here."""
        from vaultmem.transfer.okf_bundle import OkfBundle

        listing = self._view.store.walk()
        kept = (path for path in listing.notes if not path.startswith(VOLATILE))
        bundle = OkfBundle(sorted(path for path in kept if not is_only_read(path)))
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for stored, note in self._notes_to_export(listing):
                if self._has_name_for_export(stored.path):
                    try:
                        raw, place = bundle.concept(note), bundle.place(stored.path)
                    except VaultmemError as error:
                        self.notes -= 1
                        self.left.append(SkippedRecord(stored.path, str(error).rstrip(".")))
                        continue
                    archive.writestr(_export_zip_info(place, stored.stat.mtime_ns), raw)
            for place, raw in bundle.indexes():
                archive.writestr(_export_zip_info(place, 0), raw)

    def _hidden_files_to_export(self) -> list[str]:
        root = self._view.store.root
        found = (file for pattern in _HIDDEN for file in sorted(root.glob(pattern)))
        plain = (file for file in found if file.is_file() and not file.is_symlink())
        kept = (file for file in plain if not file.name.startswith(_OF_THIS_MACHINE))
        return [file.relative_to(root).as_posix() for file in kept]

    def _has_name_for_export(self, path: str) -> bool:
        """Whether a zip can hold the name: it has to be Unicode."""
        if printable(path) == path:
            return True
        self.left.append(SkippedRecord(printable(path), "its name is not UTF-8"))
        return False

    def _add_to_export(self, archive: zipfile.ZipFile, path: str) -> None:
        file = self._view.store.root / path
        if not file.is_file() or not self._has_name_for_export(path):  # or a pipe, which never ends
            return
        try:
            with open(file, "rb") as source:
                info = _export_zip_info(path, os.fstat(source.fileno()).st_mtime_ns)
                with archive.open(info, "w", force_zip64=True) as into:
                    shutil.copyfileobj(source, into)
        except FileNotFoundError:
            return
        except PermissionError as error:
            self.left.append(SkippedRecord(path, error.strerror or "it cannot be read"))
            return
        self.files += 1


def _export_zip_info(path: str, mtime_ns: int) -> zipfile.ZipInfo:
    seconds = max(_FIRST, min(mtime_ns // 1_000_000_000, _LAST))
    made = dt.datetime.fromtimestamp(seconds)  # a zip has the clock's time
    info = zipfile.ZipInfo(path, made.timetuple()[:6])
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    return info


def _export_line(stored: StoredNote, note: Note, view: View) -> str:
    """The memory as the tools show it, and its properties as they stand in the file, so that
    the note can be made again."""
    made = view.store.births.creation(note, stored.stat).seconds
    shown = asdict(memory_of_note(note, view.settings, stored.stat.mtime_ns, 0, made))
    fields = {k: v for k, v in shown.items() if v is not None and k not in _LINE_WITHOUT}
    head = printable(without_private(note.text[: note.body_start]))
    return json.dumps(_exported_property({**fields, "frontmatter": head}), ensure_ascii=False)


def _exported_property(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {printable(str(name)): _exported_property(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_exported_property(item) for item in value]
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).replace(tzinfo=None, microsecond=0).isoformat() + "Z"
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and value.bit_length() > 4096:
        return hex(value)
    return printable(value) if isinstance(value, str) else value


@contextlib.contextmanager
def _export_file_beside(path: Path) -> Iterator[IO[bytes]]:
    """A file that is gone afterwards, unless it was put in its place."""
    temporary = path.with_name(f".vm-{ulid_now()}.tmp")
    try:
        with open(temporary, "x+b") as file:
            yield file
    finally:
        temporary.unlink(missing_ok=True)


def _put_export(file: IO[bytes], path: Path, force: bool) -> None:
    file.flush()
    os.fsync(file.fileno())
    temporary = Path(file.name)
    if force:
        os.replace(temporary, path)
    else:
        try:
            durable.place_new_file(temporary, path)
        except FileExistsError:
            raise AlreadyExists(f"There is already {path}; --force writes over it.") from None
    durable.flush_folder(path.parent)
