"""A batch of changes to the full text."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Iterator, Sequence
from typing import Final

import tantivy

from vaultmem.index.embedded.rows import IndexEntry
from vaultmem.index.embedded.text.documents import fulltext_documents
from vaultmem.index.embedded.text.stems import OtherStems
from vaultmem.index.failures import engine_call
from vaultmem.notes.note import printable

_HEAP: Final = 32_000_000
_SMALL_HEAP: Final = 15_000_000  # the least there is; room that a note does not need costs time
_FEW: Final = 16  # notes


class TextWriter:
    """The engine indexes in a thread of its own while documents are being added."""

    def __init__(
        self,
        index: tantivy.Index,
        schema: tantivy.Schema,
        stems: OtherStems,
        notes: int,
    ) -> None:
        self._index = index
        self._schema = schema
        self._stems = stems
        self._heap = _SMALL_HEAP if notes <= _FEW else _HEAP
        self._writer: tantivy.IndexWriter | None = None

    def _open_fulltext(self) -> tantivy.IndexWriter:
        if self._writer is None:
            try:
                self._writer = self._index.writer(self._heap, 1)
            except ValueError:  # one that failed is held by its own error until that is cleared up
                gc.collect()
                self._writer = self._index.writer(self._heap, 1)
        return self._writer

    def put(
        self, note: int, passages: Sequence[int], entry: IndexEntry, old_path: str = ""
    ) -> None:
        self.remove(entry.note.path)
        if old_path:
            self.remove(old_path)
        for values in fulltext_documents(note, passages, entry, self._stems):
            self._add_to_fulltext(tantivy.Document.from_dict(values, self._schema))

    @engine_call
    def _add_to_fulltext(self, document: tantivy.Document) -> None:
        self._open_fulltext().add_document(document)

    @engine_call
    def remove(self, path: str) -> None:
        self._open_fulltext().delete_documents_by_term("file", printable(path))

    @engine_call
    def commit(self) -> None:
        if self._writer is not None:
            self._writer.commit()

    @contextlib.contextmanager
    def committing(self) -> Iterator[None]:
        """Commit while something else is done; both are done in the end, or neither counts."""
        failures: list[BaseException] = []

        def commit() -> None:
            try:
                self.commit()
            except BaseException as error:
                failures.append(error)

        aside = threading.Thread(target=commit, name="commit")
        aside.start()
        try:
            yield
        finally:
            aside.join()
        if failures:
            raise failures[0]

    @engine_call
    def close(self) -> None:
        """Wait for what the engine joins behind a commit. A writer that is only dropped may
        still be writing when the next one, perhaps of another process, has begun; and what it
        had joined by then would have been for nothing."""
        if self._writer is not None:
            self._writer.wait_merging_threads()
            self._writer = None

    def abandon_fulltext(self) -> None:
        self._writer = None
