"""Opening a source by its name: what is wrong with it is said before anything is written."""

from __future__ import annotations

import difflib
import itertools
import os
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from vaultmem.base.own_program import command_to_type
from vaultmem.config import Settings
from vaultmem.errors import InvalidInput, NotFound, OutsideVault
from vaultmem.notes.file_names import safe_name
from vaultmem.transfer import SOURCES, transcripts
from vaultmem.transfer.sources.detect import source_it_looks_like, unknown_source, wrong_source
from vaultmem.transfer.sources.opening import OpenedExport, require_readable_export
from vaultmem.transfer.sources.records import Record
from vaultmem.transfer.transcripts import TRANSCRIPTS

AUTO: Final = "auto"
_MODULES: Final = {"claude": "claude_chats"}
_COPIED: Final = ("folder", "basic-memory", "okf")  # their files come as they are


@dataclass(frozen=True)
class Opened:
    source: str
    reading: OpenedExport
    records: Iterable[Record]


def opened_source(
    vault: Path, name: str, path: Path, settings: Settings, *, into: str | None, files: bool
) -> Opened:
    path = Path(os.path.abspath(path.expanduser()))
    require_readable_export(path)
    _refuse_source_inside_vault(vault, path)
    source = _named_source(name, path)
    if source not in _COPIED and (into or files):
        raise InvalidInput(f"--into and --files are for {' and '.join(_COPIED)} only.")
    reader, reading = _source_reader(source), OpenedExport(path)
    options: dict[str, Any] = {}
    if source in _COPIED:
        options = {"into": _import_folder(into, path), "files": files}
    elif source in TRANSCRIPTS:
        options = {"settings": settings, "root": str(vault)}
    records = iter(reader.read_export(reading, **options))
    try:
        first = list(itertools.islice(records, 1))
    except InvalidInput as error:
        raise wrong_source(path, source, reader.EXPECTED, str(error)) from None
    if not first and reading.left:
        told = f"{reading.left[0].what}: {reading.left[0].why}."
        raise wrong_source(path, source, reader.EXPECTED, told)
    return Opened(source, reading, itertools.chain(first, records))


def usual_place(source: str) -> Path:
    """Where the program of a source keeps what can be imported, for those that have one."""
    if source not in TRANSCRIPTS:
        raise InvalidInput(
            f"What is to be imported? {command_to_type('import')} {source[:50]} PATH"
        )
    place = transcripts.usual_transcripts(source)
    if not place.is_dir():
        raise NotFound(
            f"There are no transcripts in {place}. Where they lie elsewhere: "
            f"{command_to_type('import')} {source} PATH"
        )
    return place


def _named_source(name: str, path: Path) -> str:
    """The source that was named, unless the path is plainly another's."""
    if name != AUTO and name not in SOURCES:
        close = difflib.get_close_matches(name, SOURCES, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(SOURCES)}."
        raise InvalidInput(f"Nothing can be imported from {name!r}; {hint}")
    if name in TRANSCRIPTS:  # whose folder holds Markdown and other things as well
        return name
    found = source_it_looks_like(path)
    if name == AUTO:
        if not found:
            raise unknown_source(path)
        return found
    if found and found != name and not (name in ("folder", "okf") and path.is_dir()):
        raise wrong_source(path, name, _source_reader(name).EXPECTED, "")
    return name


def _source_reader(source: str) -> Any:
    package = transcripts.__name__ if source in TRANSCRIPTS else __name__
    return import_module(f"{package}.{_MODULES.get(source, source.replace('-', '_'))}")


def _refuse_source_inside_vault(vault: Path, path: Path) -> None:
    real = path.resolve()
    if real == vault or vault in real.parents:
        raise InvalidInput(f"{path} lies in the vault itself: its notes are memories already.")
    if path.is_dir() and real in vault.parents:
        raise InvalidInput(f"The vault lies in {path}, so it would be imported into itself.")


def _import_folder(into: str | None, path: Path) -> str:
    """The folder of the vault for copies; by default one of the same name."""
    if into is None:
        return safe_name(path.resolve().name)
    if into in ("", "."):
        return ""
    segments = into.replace("\\", "/").strip("/").split("/")
    if any(segment.startswith(".") for segment in segments) or into.startswith("/"):
        raise OutsideVault(f"{into} is no folder of the vault.")
    return "/".join(segment for segment in segments if segment)
