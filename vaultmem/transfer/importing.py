"""An import from beginning to end: read, decide, write in batches, tell.

Every batch is on disk and indexed before the next begins, so one that is stopped, or killed,
goes on where it was when it is started again.
"""

from __future__ import annotations

import datetime as dt
import itertools
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from typing import Final

from vaultmem.base import lock
from vaultmem.base.own_program import command_to_type
from vaultmem.errors import Busy, Conflict, Unavailable, VaultmemError
from vaultmem.notes.note import Note, note_version
from vaultmem.operations.writing import WritingGroup
from vaultmem.transfer import Progress
from vaultmem.transfer.cleaning import Cleaning
from vaultmem.transfer.decisions import Decisions, ImportDecision
from vaultmem.transfer.ledger import KnownRecord, Ledger
from vaultmem.transfer.sources import Opened
from vaultmem.transfer.sources.opening import OpenedExport
from vaultmem.transfer.sources.records import SkippedRecord, moment_value

_BATCH: Final = 250  # notes that are written and indexed together
_BATCH_BYTES: Final = 8_000_000
_BATCH_READ: Final = 50_000_000  # bytes of a source
_LEDGER: Final = "imports.db"


@dataclass(frozen=True)
class ImportStep:
    """What became of one note."""

    action: str  # "add", "update", "here", "kept" (changed on both sides), "gone" (removed here)
    what: str
    path: str | None = None
    why: str | None = None


@dataclass(frozen=True)
class Imported:
    source: str
    path: str  # what was read
    dry_run: bool
    added: int
    updated: int
    here: int  # already
    kept: int
    gone: int
    left: int
    notes: tuple[ImportStep, ...]
    left_out: tuple[SkippedRecord, ...]  # the first thousand of them
    warnings: tuple[str, ...]
    seconds: float


class Importing(WritingGroup):
    def import_records(
        self,
        opened: Opened,
        *,
        project: str,
        again: bool,
        dry_run: bool,
        progress: Progress | None,
    ) -> Imported:
        started, reading = time.monotonic(), opened.reading
        with ExitStack() as stack:
            if not dry_run:
                self._writing.require_writable()
                self._take_import_turn(stack)
            self._reconcile_before_import()
            ledger = self._open_import_ledger(stack, dry_run)
            fallback = moment_value(reading.path.stat().st_mtime) or dt.datetime.now(dt.UTC)
            sorting = Decisions(
                self._view,
                Cleaning(self._view, self._input, reading.leave),
                ledger,
                system=opened.source,
                project=project,
                again=again,
                fallback=fallback,
            )
            steps: list[ImportStep] = []
            behind = ""
            todos = (todo for each in opened.records for todo in sorting.decide_record(each))
            for batch in _import_batches(_shown_decisions(todos, reading, progress), reading):
                if not dry_run:
                    batch, late = self._import_batch(batch, sorting)
                    behind = late or behind
                steps += _import_steps(batch, reading)
        warnings = (*([behind] if behind else []), *_import_remarks(sorting, reading))
        return _import_report(opened, steps, warnings, dry_run, time.monotonic() - started)

    def _take_import_turn(self, stack: ExitStack) -> None:
        held = lock.try_to_lock(self._view.store.local() / "imports.lock")
        if held is None:
            raise Busy("Another import into this vault is under way; let it finish first.")
        stack.callback(held.release)

    def _reconcile_before_import(self) -> None:
        """What is there already is known by the index, so that has to be up to date."""
        if self._view.parts.reconciler.everything().withheld:
            raise Unavailable(
                "The vault looks empty, and its index knows of many notes; so nothing was "
                f"imported. If they are really gone: {command_to_type('index')} --rebuild"
            )

    def _open_import_ledger(self, stack: ExitStack, dry_run: bool) -> Ledger | None:
        file = self._view.store.local() / _LEDGER
        if dry_run and not file.stat():
            return None
        return stack.enter_context(closing(Ledger(file)))

    # --- carrying out ----------------------------------------------------------------------

    def _import_batch(
        self, batch: Sequence[ImportDecision], sorting: Decisions
    ) -> tuple[list[ImportDecision], str]:
        """The notes first, then what is known of them, then the index."""
        added = self._import_new_notes([todo for todo in batch if todo.action == "add"], sorting)
        changed = {id(t): self._import_changed_note(t) for t in batch if t.action == "update"}
        done = [added.get(id(todo)) or changed.get(id(todo)) or todo for todo in batch]
        written = [todo for todo in done if todo.action in ("add", "update")]
        if sorting.ledger:
            settled = [t for t in done if t.key and t.action in ("add", "update", "here")]
            sorting.ledger.keep_records(self._imported_ledger_entries(settled, sorting))
        notes = [todo.path for todo in written if self._view.store.paths.is_note(todo.path)]
        return done, self._writing.index_paths(notes) if notes else ""

    def _imported_ledger_entries(
        self, settled: Sequence[ImportDecision], sorting: Decisions
    ) -> Iterator[KnownRecord]:
        for todo in settled:
            known = sorting.known_record(todo.key)
            if todo.action == "here" and known and known.digest == todo.digest:
                continue
            yield KnownRecord(sorting.ledger_key(todo.key), todo.digest, todo.path, todo.version)

    def _import_new_notes(
        self, todos: Sequence[ImportDecision], sorting: Decisions
    ) -> dict[int, ImportDecision]:
        """Each under its name, or under the next that is free where someone was faster."""
        done: dict[int, ImportDecision] = {}
        left = {id(todo): todo for todo in todos}
        for _ in range(5):
            if not left:
                return done
            placed = set(sorting.paths.writer.place([(t.path, t.raw) for t in left.values()]))
            for number, todo in list(left.items()):
                if todo.path in placed:
                    done[number] = replace(todo, version=note_version(todo.raw))
                    del left[number]
                else:
                    left[number] = replace(todo, path=sorting.paths.another_path(todo.path))
        raise Busy("Others write so many notes that no name stays free; try again in a moment.")

    def _import_changed_note(self, todo: ImportDecision) -> ImportDecision:
        """By way of the store, which keeps what was there and waits for a person who types."""
        change = todo.change
        assert change is not None

        def remembered(current: Note) -> bytes:
            raw = change(current)
            if raw != current.raw:
                self._view.parts.history.take(current, "import")
            return raw

        try:
            stored = self._view.store.update(todo.path, remembered, expect=todo.expect or None)
        except Conflict:  # a person was at it since we looked
            return replace(todo, action="kept")
        except VaultmemError as error:
            return replace(todo, action="left", why=str(error), key="")
        return replace(todo, version=stored.version)


def _shown_decisions(
    todos: Iterable[ImportDecision], reading: OpenedExport, progress: Progress | None
) -> Iterator[ImportDecision]:
    """Reading takes longer than writing, so a person sees how far that is."""
    for number, todo in enumerate(todos, 1):
        if progress:
            progress(number, reading.expected(number))
        yield todo


def _import_batches(
    todos: Iterable[ImportDecision], reading: OpenedExport
) -> Iterator[list[ImportDecision]]:
    """Some hundred at a time; large ones, and much that was read for few, make a batch full
    sooner."""
    size = 0

    def full(todo: ImportDecision) -> tuple[int, int]:
        nonlocal size
        size += max(len(todo.raw), _BATCH_BYTES // _BATCH)
        return (size - 1) // _BATCH_BYTES, reading.at // _BATCH_READ

    for _, batch in itertools.groupby(todos, full):
        yield list(batch)


def _import_steps(batch: Iterable[ImportDecision], reading: OpenedExport) -> Iterator[ImportStep]:
    for todo in batch:
        if todo.action == "left":
            reading.leave(todo.what, todo.why)
        else:
            yield ImportStep(todo.action, todo.what, todo.path or None, todo.why or None)


def _import_remarks(sorting: Decisions, reading: OpenedExport) -> Iterator[str]:
    yield from reading.remarks
    for what, count in reading.passed.items():
        yield f"Passed over ({count:,}): {what}."
    if sorting.cleaning.redacted:
        yield (
            f"secret_redacted: {sorting.cleaning.redacted} texts had keys, tokens or passwords in them, "
            "which were replaced."
        )
    if sorting.cleaning.stripped:
        yield f"Control characters were taken out of {sorting.cleaning.stripped} texts."


def _import_report(
    opened: Opened,
    steps: Sequence[ImportStep],
    warnings: Sequence[str],
    dry_run: bool,
    seconds: float,
) -> Imported:
    counts, reading = Counter(step.action for step in steps), opened.reading
    return Imported(
        source=opened.source,
        path=str(reading.path),
        dry_run=dry_run,
        added=counts["add"],
        updated=counts["update"],
        here=counts["here"],
        kept=counts["kept"],
        gone=counts["gone"],
        left=reading.left_count,
        notes=tuple(steps),
        left_out=tuple(reading.left),
        warnings=tuple(warnings),
        seconds=round(seconds, 3),
    )
