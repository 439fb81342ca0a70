"""A program of its own: the text of one PDF, from standard input to lines of JSON.

A PDF may have been made to hang whoever reads it or to fill the memory, so it is read in a
process that is given little of either, writes no file, and can be ended at any moment. Each
page is told as soon as it is read: what comes before the trouble is kept.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import sys
from typing import Any, Final

from vaultmem.storage.pdf.pdf_pages import MOST_CHARACTERS, MOST_PAGE_CHARACTERS, MOST_PAGES
from vaultmem.storage.pdf.pdf_texts import MOST_PDF_BYTES, READ_SECONDS

_MEMORY: Final = 1_500_000_000
_ENCRYPTED: Final = "It asks for a password."
_NO_TEXT: Final = "It has no text, only pictures."


def main() -> None:
    logging.disable(logging.CRITICAL)
    _limit_this_process()
    raw = sys.stdin.buffer.read(MOST_PDF_BYTES + 1)
    try:
        _read_pages(raw)
    except MemoryError:
        _tell(problem="It takes more memory than it may have.")
    except RecursionError:
        _tell(problem="It is nested too deeply.")
    except Exception as error:  # of a file that anybody may have made
        _tell(problem=f"It cannot be read ({type(error).__name__}).")


def _read_pages(raw: bytes) -> None:
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(raw), strict=False)
    if reader.is_encrypted and not _is_open_to_all(reader):
        return _tell(problem=_ENCRYPTED)
    told = failed = length = 0
    for number, page in enumerate(reader.pages, 1):
        if number > MOST_PAGES or length > MOST_CHARACTERS:
            return _tell(problem=f"Only the first {number - 1:,} pages are read.")
        try:
            text = page.extract_text()[:MOST_PAGE_CHARACTERS]
        except (MemoryError, RecursionError):
            raise
        except Exception as error:
            failed += 1
            _tell(problem=f"Page {number} cannot be read ({type(error).__name__}).")
            continue
        length += len(text)
        told += bool(text.strip())
        _tell(page=number, text=text)
    if not told and not failed:
        _tell(problem=_NO_TEXT)
    return _tell(done=True)


def _is_open_to_all(reader: Any) -> bool:
    """Many are encrypted only against being changed, with an empty password to read them."""
    try:
        return bool(reader.decrypt(""))
    except Exception:  # also where what decrypts is not installed
        return False


def _tell(**said: Any) -> None:
    print(json.dumps(said), flush=True)


def _limit_this_process() -> None:
    with contextlib.suppress(AttributeError, OSError):
        os.nice(10)
    try:
        import resource
    except ImportError:  # Windows: the parent's clock ends it
        return
    wanted = (
        (resource.RLIMIT_AS, _MEMORY),
        (resource.RLIMIT_CPU, READ_SECONDS),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    )
    for what, most in wanted:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(what, (most, most))


if __name__ == "__main__":
    main()
