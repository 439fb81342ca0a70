"""The texts of the vault's PDFs. Each is read once, by a process of its own, and kept beside the
index until the file changes; until it is read, the PDF is known by its name alone.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import threading
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple

from vaultmem.base import own_program, small_files
from vaultmem.base.file_stamps import FileStamp, file_stamp
from vaultmem.base.own_path import OwnPath
from vaultmem.errors import VaultmemError

if TYPE_CHECKING:
    import subprocess

    from vaultmem.storage.pdf.pdf_pages import PdfPages

PDF_LIBRARY: Final = "pypdf"
MOST_PDF_BYTES: Final = 100_000_000
READ_SECONDS: Final = 30  # of work
_MOST_OUTPUT: Final = 30_000_000  # bytes: characters may be written as six
_WAIT_SECONDS: Final = READ_SECONDS + 15.0
_FORM: Final = 1  # of what is kept
_TOO_LARGE: Final = f"It has more than {MOST_PDF_BYTES // 1_000_000} MB."
_TOO_SLOW: Final = "Reading it takes too long."
_TOO_MUCH: Final = "It has too much text."
_FIRST_PAGES: Final = " The pages before that are searched."


@functools.cache
def can_read_pdfs() -> bool:
    """Whether the library is installed that reads them; looking for it loads nothing."""
    from importlib.util import find_spec

    return find_spec(PDF_LIBRARY) is not None


class _PdfText(NamedTuple):
    pages: list[tuple[int, str]]
    problem: str


class PdfTexts:
    def __init__(self, folder: OwnPath) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._waiting: dict[str, None] = {}

    # --- what is known -----------------------------------------------------------------

    def known(self, path: str, stamp: FileStamp) -> PdfPages | None:
        """The text of a PDF as it is now; None while nobody has read it."""
        kept = self._kept(path)
        if kept is None or kept["stamp"] != [stamp.mtime_ns, stamp.size]:
            with self._lock:
                self._waiting[path] = None
            return None
        from vaultmem.storage.pdf.pdf_pages import pdf_pages

        return pdf_pages([(number, text) for number, text in kept["pages"]], kept["problem"])

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def next_waiting(self) -> str | None:
        with self._lock:
            return next(iter(self._waiting), None)

    def keep_only(self, paths: Collection[str]) -> None:
        """Forget the texts of PDFs that are gone."""
        wanted = {_kept_name(path) for path in paths}
        with self._lock:
            self._waiting = {path: None for path in self._waiting if path in paths}
        try:
            gone = [name for name, _ in self._folder.files() if name not in wanted]
            for name in gone:
                (self._folder / name).remove()
        except (OSError, VaultmemError):
            return

    def _kept(self, path: str) -> dict[str, Any] | None:
        try:
            found = json.loads((self._folder / _kept_name(path)).read(2 * _MOST_OUTPUT))
            is_ours = found["form"] == _FORM and found["path"] == path
            return found if is_ours else None
        except (OSError, ValueError, KeyError, TypeError, VaultmemError):
            return None

    # --- reading -----------------------------------------------------------------------

    def read(self, path: str, file: str) -> None:
        """Read one that waits. Whatever it is, that is known afterwards, and not tried again
        before the file changes."""
        try:
            with small_files.open_plain_file(file) as opened:
                before = file_stamp_of(opened)
                if before.size > MOST_PDF_BYTES:
                    text = _PdfText([], _TOO_LARGE)
                else:
                    text = _text_from_reader(opened)
            said = {"form": _FORM, "path": path, "stamp": [before.mtime_ns, before.size]}
            raw = json.dumps({**said, "pages": text.pages, "problem": text.problem}).encode()
            self._folder.make()
            (self._folder / _kept_name(path)).write(raw)
        finally:
            with self._lock:
                self._waiting.pop(path, None)


def file_stamp_of(opened: BinaryIO) -> FileStamp:
    return file_stamp(os.fstat(opened.fileno()))


def _kept_name(path: str) -> str:
    digest = hashlib.blake2b(path.encode("utf-8", "surrogateescape"), digest_size=16)
    return f"{digest.hexdigest()}.json"


def _text_from_reader(opened: BinaryIO) -> _PdfText:
    """What the reader tells, until it has ended, or has taken too long or told too much."""
    import subprocess

    reader = subprocess.Popen(
        own_program.own_module("vaultmem.storage.pdf.pdf_reader"),
        stdin=opened,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    late = threading.Event()

    def end() -> None:
        late.set()
        reader.kill()

    clock = threading.Timer(_WAIT_SECONDS, end)
    clock.daemon = True
    clock.start()
    try:
        return _text_told(reader, late)
    finally:
        clock.cancel()
        reader.kill()
        reader.wait()
        if reader.stdout:
            reader.stdout.close()


def _text_told(reader: subprocess.Popen[bytes], late: threading.Event) -> _PdfText:
    pages: list[tuple[int, str]] = []
    problems: list[str] = []
    ended = too_much = False
    for said in _lines_told(reader):
        if said is None:
            too_much = True
        elif "problem" in said:
            problems.append(str(said["problem"]))
        elif "page" in said:
            pages.append((int(said["page"]), str(said["text"])))
        ended |= said is not None and "page" not in said
    if too_much:
        problems.append(_TOO_MUCH)
    elif not ended:  # ended by us, by the system's limits, or by a fault
        problems.append(_TOO_SLOW if late.is_set() or reader.wait(5) < 0 else "It cannot be read.")
    problem = problems[0] if problems else ""
    more = f" And {len(problems) - 1:,} more like it." if len(problems) > 1 else ""
    return _PdfText(
        pages, problem + more + (_FIRST_PAGES if problem and pages and not ended else "")
    )


def _lines_told(reader: subprocess.Popen[bytes]) -> Iterator[dict[str, Any] | None]:
    """None in the place of what is too much."""
    assert reader.stdout is not None
    left = _MOST_OUTPUT
    while line := reader.stdout.readline(left + 1):
        left -= len(line)
        if left < 0:
            yield None
            return
        try:
            said = json.loads(line)
        except ValueError:
            return  # it was ended in the middle
        yield said
