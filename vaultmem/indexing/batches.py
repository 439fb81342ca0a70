"""Which notes are read and indexed together, and in what order."""

from __future__ import annotations

import posixpath
from collections.abc import Container, Iterator, Sequence
from typing import Final

from vaultmem.base.file_stamps import FileStamp
from vaultmem.notes.file_names import copy_rank_of_name, is_pdf

BATCH_NOTES: Final = 2500  # fewer and larger pieces of full text need less joining later
BATCH_BYTES: Final = 16_000_000
LARGE: Final = 1_000_000
_PDF_TEXT: Final = 200_000  # bytes, as most have at most


def reading_batches(
    suspects: dict[str, FileStamp], first: Container[str] = frozenset()
) -> Iterator[Sequence[str]]:
    """Small notes together, each large one alone and last: it delays nobody.

    Of two notes with one id the first is indexed: so conflict copies come behind what they
    were made from, and what was saved later behind what is older.
    """
    batch: list[str] = []
    size = 0

    def place(item: tuple[str, FileStamp]) -> tuple[bool, bool, int, int]:
        path, stamp = item
        rank = copy_rank_of_name(posixpath.basename(path).removesuffix(".md"))
        return path not in first, bytes_to_read(path, stamp) > LARGE, rank, stamp.mtime_ns

    for path, stamp in sorted(suspects.items(), key=place):
        length = bytes_to_read(path, stamp)
        full = len(batch) >= BATCH_NOTES or size + length > BATCH_BYTES
        if batch and (full or length > LARGE):
            yield batch
            batch, size = [], 0
        batch.append(path)
        size += length
    if batch:
        yield batch


def bytes_to_read(path: str, stamp: FileStamp) -> int:
    """Of a PDF the text that was kept is read, not the pictures."""
    return min(stamp.size, _PDF_TEXT) if is_pdf(path) else stamp.size
