"""Reconciling: the only way into the index.

Walk, compare by stamps, read what differs, compare by hash, parse what differs, apply.
Start-up, the watcher, an agent's write, a pull and a repair all come this way, and a
second look at an unchanged vault does nothing. What cannot be looked at is never removed;
one bad note is named and the rest goes on.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from vaultmem.base.file_stamps import UNSETTLED_STAMP, FileStamp
from vaultmem.errors import (
    Away,
    Busy,
    NoteMalformed,
    NotFound,
    ReadOnly,
    StorageFull,
    VaultmemError,
)
from vaultmem.index import Batch, Index, IndexDamaged, IndexEntry, KnownNote, SkippedNote
from vaultmem.indexing import changes
from vaultmem.indexing.batches import reading_batches
from vaultmem.indexing.changes import DepartedNotes
from vaultmem.indexing.embed_sentences import SentenceVectors
from vaultmem.indexing.kept_away import KeptAway
from vaultmem.indexing.seen_changes import FoundNote, SeenChanges
from vaultmem.notes.attributes import attributes_of
from vaultmem.notes.file_names import (
    escaped_name,
    is_pdf,
    is_unicode_name,
)
from vaultmem.notes.note import printable
from vaultmem.notes.passages import passage_hash, passages, passages_in_context
from vaultmem.storage import absence
from vaultmem.storage.creation import creation_told
from vaultmem.storage.listing import Listing
from vaultmem.storage.store import Store, StoredNote

if TYPE_CHECKING:
    from vaultmem.embedding.embedder import Embedder
    from vaultmem.storage.local_state.activity import ActivityLog

BREATH: Final = 0.03  # seconds between batches: whoever waits for the lock looks every 0.02
_NO_NOTE: Final = ""  # a path that no note has
_UNREAD_CURE: Final = "Check that you may read it, and that its path is not too long."
_TWIN_CURE: Final = "Keep one of the two, or remove the id line from the copy."
MOST_TEXTS: Final = 24  # embedded in one go: about a second of work

ReconcileProgress = Callable[[int, int], None]


@dataclass
class ReconcileReport:
    """What a reconcile did, by paths."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    moved: list[tuple[str, str]] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)
    withheld: int = 0  # notes that seem gone but were kept, because the vault looks empty
    seconds: float = 0.0
    revision: int = 0

    def add(self, other: ReconcileReport) -> None:
        self.added += other.added
        self.changed += other.changed
        self.moved += other.moved
        self.removed += other.removed
        self.problems += other.problems

    @property
    def touched(self) -> list[str]:
        new = [path for _, path in self.moved]
        return [*self.added, *self.changed, *new, *self.removed]


class _ReconcileRun:
    """One reconcile under way: what was known, and what of it is not there any more."""

    def __init__(
        self,
        known: dict[str, KnownNote],
        missing: Iterable[str],
        report: ReconcileReport,
        seen: SeenChanges | None = None,
        *,
        first: bool = False,  # what is new to the index is no news
    ) -> None:
        self.seen, self.first = seen, first
        self.known = known
        self.missing = dict.fromkeys(path for path in missing if path in known)
        self.report = report
        self.departed = DepartedNotes({path: known[path] for path in self.missing})


class _BatchAttempt:
    """What one batch would do. It counts once the index has taken it: a single note may make it
    fail, and then the others are tried again without that one."""

    def __init__(self, run: _ReconcileRun, paths: Sequence[str]) -> None:
        self.run = run
        self.known = run.known
        self.missing = dict(run.missing)
        self.report = ReconcileReport()
        self.batch = Batch([*paths, *run.missing])
        self.found: list[FoundNote] = []

    def skip_unreconciled(self, note: SkippedNote) -> None:
        """What cannot be read stays as it was; it may be readable again."""
        self.batch.skipped.append(note)
        self.report.problems.append((note.path, note.reason))

    def leave_out_unreconciled(self, note: SkippedNote) -> None:
        """What is there and cannot be indexed must not be found by what it was before."""
        if note.path in self.known:
            self.batch.removed.append(note.path)
            self.report.removed.append(note.path)
        self.skip_unreconciled(note)

    def succeed_reconciling(self) -> None:
        self.run.missing = self.missing
        self.run.report.add(self.report)
        if self.run.seen:
            self.run.seen.put_down(self.found, self.report.removed, first=self.run.first)


class Reconciler:
    def __init__(self, store: Store, index: Index, log: ActivityLog | None = None) -> None:
        self.store = store
        self.index = index
        self.seen = SeenChanges(store, log) if log is not None else None
        self.kept_away = KeptAway(store, index, lambda: log)
        self.sentences = SentenceVectors(store, index)
        self._hopeless: set[tuple[str, str]] = set()  # versions of notes that give no text

    # --- files to index ----------------------------------------------------------------

    def everything(
        self,
        *,
        told: bool = False,
        progress: ReconcileProgress | None = None,
        first: Container[str] = frozenset(),
    ) -> ReconcileReport:
        """Bring the index up to date with the whole vault; `told` allows it to empty itself.

        Where several notes have one id, those in `first` are the originals.
        """
        started = time.monotonic()
        self.store.home.require()
        self._hopeless.clear()
        self.index.recover()
        self.kept_away.settle()
        begun = self.index.identity
        listing = self.store.walk()
        self.store.pdfs.keep_only({path for path in listing.notes if is_pdf(path)})
        corrected = self.store.births.corrected()
        known, skips = self.index.inventory.known(), self.index.inventory.skips()
        known |= {
            p: known[p]._replace(stat=UNSETTLED_STAMP, version="") for p in corrected if p in known
        }
        report = ReconcileReport()
        there = len(listing.notes) + sum(path in known for path in listing.left_out)
        if changes.does_vault_look_emptied(len(known), there) and not told:
            report.withheld = len(known)
            report.problems += listing.unread
        else:
            unseen = [path for path, _ in listing.unread]
            look = changes.compare_stamps(
                changes.known_stamps(known, skips),
                self._stamps_with_returned_notes(known, listing.notes),
                unseen,
            )
            filling = not self.index.is_whole
            run = _ReconcileRun(known, look.missing, report, self.seen, first=filling)
            left = {known[path].id for path in run.missing}
            heirs = (path for path, skip in skips.items() if skip.id and skip.id in left)
            suspects = look.suspects | {p: s for p in heirs if (s := listing.notes.get(p))}
            self._reconcile_suspects(suspects, run, progress, first)
            self._reconcile_skipped_notes(
                _not_reconcilable_in_listing(listing), skips, look.missing
            )
            self._let_heirs_in(report)
            left_out = self.index.inventory.skips().values()
            report.problems += ((note.path, note.reason) for note in left_out)
            self.index.finished(begun)
        return self._finished_reconcile_report(report, started)

    def these(self, paths: Iterable[str], *, written: bool = False) -> ReconcileReport:
        """The same for some notes only: those a hint named, or that we have just `written`."""
        started = time.monotonic()
        self.store.home.require()
        self.kept_away.settle()
        wanted = [path for path in dict.fromkeys(paths) if is_unicode_name(path)]
        known, skips = self.index.inventory.known(wanted), self.index.inventory.skips(wanted)
        seen = self._stamps_to_reconcile(wanted)
        report = ReconcileReport()
        look = changes.compare_stamps(
            changes.known_stamps(known, skips),
            seen if written else self._stamps_with_returned_notes(known, seen),
        )
        first = written or not self.index.is_whole  # who wrote them has put it down
        run = _ReconcileRun(known, look.missing, report, self.seen, first=first)
        left = [known[path].id for path in run.missing]
        suspects = look.suspects | self._stamps_to_reconcile(self.index.inventory.twins(left))
        self._reconcile_suspects(suspects, run)
        self._reconcile_skipped_notes({}, skips, look.missing)
        self._let_heirs_in(report)
        return self._finished_reconcile_report(report, started)

    def _stamps_to_reconcile(self, paths: Iterable[str]) -> dict[str, FileStamp]:
        return {path: stamp for path in paths if (stamp := self.store.stat(path)) is not None}

    def _stamps_with_returned_notes(
        self, known: dict[str, KnownNote], seen: dict[str, FileStamp]
    ) -> dict[str, FileStamp]:
        """And the notes that were away only because an editor was writing them anew."""
        away = [path for path in known if path not in seen]
        files = ((path, os.path.join(self.store.root, path)) for path in away)
        back = set(away).difference(absence.lasting_absences(files)) if away else ()
        return seen | self._stamps_to_reconcile(back) if back else seen

    def _finished_reconcile_report(
        self, report: ReconcileReport, started: float
    ) -> ReconcileReport:
        report.problems = list(dict.fromkeys(report.problems))
        report.seconds = time.monotonic() - started
        report.revision = self.index.revision
        return report

    def _reconcile_suspects(
        self,
        suspects: dict[str, FileStamp],
        run: _ReconcileRun,
        progress: ReconcileProgress | None = None,
        first: Container[str] = frozenset(),
    ) -> None:
        """Add before remove: a note that turns up elsewhere keeps its identity. What seems gone
        with the whole vault is not removed."""
        done = 0
        for paths in reading_batches(suspects, first):
            self._reconcile_batch(paths, run)
            done += len(paths)
            if progress:
                progress(done, len(suspects))
            self.store.births.save()
            if done < len(suspects):
                time.sleep(BREATH)
        if run.missing:
            self.store.home.require()
            gone = list(run.missing)
            self.index.apply(Batch(gone, removed=gone))
            self.store.births.drop(gone)
            run.report.removed += gone
            if run.seen:
                run.seen.put_down([], gone, first=run.first)

    def _reconcile_batch(self, paths: Sequence[str], run: _ReconcileRun) -> None:
        attempt = _BatchAttempt(run, paths)
        # Read while the index works: it takes each note as soon as it is parsed.
        found = (self._entry_to_reconcile(path, attempt) for path in paths)
        attempt.batch.put = (entry for entry in found if entry is not None)
        try:
            self.index.apply(attempt.batch)
        except (StorageFull, Busy, ReadOnly, Away, IndexDamaged):
            raise
        except Exception as error:
            self._find_culprit(paths, run, error)
        else:
            attempt.succeed_reconciling()

    def _find_culprit(self, paths: Sequence[str], run: _ReconcileRun, error: Exception) -> None:
        """One note that the index does not take must not keep out the others: halves of the
        batch are tried until it stands alone. Where the index takes nothing at all, the error
        is its own, and goes to the caller."""
        self.index.apply(Batch([_NO_NOTE], removed=[_NO_NOTE]))
        run.known.update(self.index.inventory.known(paths))  # to be done again
        if len(paths) > 1:
            half = len(paths) // 2
            self._reconcile_batch(paths[:half], run)
            self._reconcile_batch(paths[half:], run)
            return
        attempt = _BatchAttempt(run, paths)
        stat = self.store.stat(paths[0]) or UNSETTLED_STAMP
        attempt.leave_out_unreconciled(
            SkippedNote(paths[0], _apology_for_not_reconciling(error), stat=stat)
        )
        self.index.apply(attempt.batch)
        attempt.succeed_reconciling()

    def _reconcile_skipped_notes(
        self, found: dict[str, SkippedNote], known: dict[str, SkippedNote], gone: Iterable[str]
    ) -> None:
        """Write down what cannot be a note, and forget what is no longer there."""
        past = [path for path in gone if path in known and path not in found]
        new = [skip for path, skip in found.items() if known.get(path) != skip]
        if past or new:
            self.index.apply(Batch([], skipped=new, unskipped=past))

    def _let_heirs_in(self, report: ReconcileReport) -> None:
        """Of notes with one id one is indexed. When it is gone, or has another id, the next of
        them has its turn, though nothing about that one has changed."""
        before: list[str] = []
        while (heirs := self.index.inventory.heirs()) != before:
            before = heirs
            seen = self._stamps_to_reconcile(heirs)
            gone = [path for path in heirs if path not in seen]
            self._reconcile_skipped_notes({}, self.index.inventory.skips(heirs), gone)
            self._reconcile_suspects(
                seen,
                _ReconcileRun(
                    self.index.inventory.known(heirs),
                    (),
                    report,
                    self.seen,
                    first=not self.index.is_whole,
                ),
            )

    def _entry_to_reconcile(self, path: str, attempt: _BatchAttempt) -> IndexEntry | None:
        """Read a suspect and say where it belongs; the answer is what is to be indexed.

        Whatever is wrong with a note, it can only spoil itself.
        """
        stored = self._read_to_reconcile(path, attempt)
        before = attempt.known.get(path)
        if stored is None:
            return None
        if before is not None and before.version == stored.version:
            attempt.batch.touched.append((path, stored.stat, stored.version))
            return None
        try:
            entry = self.entry(stored)
        except Exception as error:  # ours: notes may be anything
            attempt.leave_out_unreconciled(
                SkippedNote(path, _apology_for_not_reconciling(error), stat=stored.stat)
            )
            return None
        if not self._reconcile_with_known_notes(entry, attempt):
            return None
        return self._with_birth_elsewhere(entry, attempt.batch.moved.get(path))

    def _with_birth_elsewhere(self, entry: IndexEntry, old: str | None) -> IndexEntry:
        """A note that moved was made when it was, whatever its new file says."""
        if old is None or creation_told(entry.note) is not None:
            return entry
        known = self.store.births.move(old, entry.note.path)
        return entry if known is None else entry._replace(created=known.seconds)

    def _read_to_reconcile(self, path: str, attempt: _BatchAttempt) -> StoredNote | None:
        try:
            return self.store.read(path)
        except Away:
            raise
        except NoteMalformed as error:  # too large
            stat = self.store.stat(path) or UNSETTLED_STAMP
            attempt.leave_out_unreconciled(SkippedNote(path, str(error), stat=stat))
        except NotFound as error:
            if self.store.stat(path) is not None:  # it is there, and cannot be read
                attempt.skip_unreconciled(SkippedNote(path, str(error)))
            elif path in attempt.known:
                attempt.missing[path] = None
        except VaultmemError as error:
            attempt.skip_unreconciled(SkippedNote(path, str(error)))
        return None

    def _reconcile_with_known_notes(self, entry: IndexEntry, attempt: _BatchAttempt) -> bool:
        """Where a note belongs among those that are known; False if it has no place there."""
        path, report = entry.note.path, attempt.report
        known, moved_from = path in attempt.known, ""
        if not known and (old := self._path_before_reconciling(entry, attempt)) is not None:
            attempt.missing.pop(old, None)
            attempt.batch.moved[path] = moved_from = old
            report.moved.append((old, path))
        elif (twin := self._twin_of_reconciled_note(entry)) is not None:
            reason = f"It has the same id as {twin}, so only that one is indexed. {_TWIN_CURE}"
            attempt.leave_out_unreconciled(SkippedNote(path, reason, entry.id, entry.stat))
            return False
        else:
            (report.changed if known else report.added).append(path)
        report.problems += [(path, problem.message) for problem in entry.note.problems]
        if attempt.run.seen:
            attempt.found += attempt.run.seen.look_at(entry, known=known, moved_from=moved_from)
        return True

    def _path_before_reconciling(self, entry: IndexEntry, attempt: _BatchAttempt) -> str | None:
        """The path of a note that is no longer there and is this one."""
        found = attempt.run.departed.find(entry.version, entry.id, attempt.missing)
        if found is None and entry.id:
            owner = self.index.inventory.owner(entry.id)
            if owner and owner != entry.note.path and self.store.stat(owner) is None:
                found = owner
        return found

    def _twin_of_reconciled_note(self, entry: IndexEntry) -> str | None:
        """Another note in the vault with the same id: a conflict copy, or its original."""
        owner = self.index.inventory.owner(entry.id)
        if not owner or owner == entry.note.path or self.store.stat(owner) is None:
            return None  # an owner that is gone left its id to this one
        return owner

    def entry(self, stored: StoredNote) -> IndexEntry:
        note = self.store.parse(stored)
        cut = tuple(passages(note))
        attributes = attributes_of(note, self.store.settings)
        made = self.store.births.creation(note, stored.stat).seconds
        return IndexEntry(note, stored.stat, stored.version, cut, attributes, made)

    # --- PDFs to text ------------------------------------------------------------------

    def read_pdf(self) -> str:
        """Read one PDF whose text is not known yet, and bring it in; returns its path. It takes
        seconds, and no lock is held meanwhile."""
        path = self.store.pdfs.next_waiting()
        if path is None:
            return ""
        if self.store.read_pdf(path):
            self.these([path])
        return path

    # --- text to vectors ---------------------------------------------------------------

    def embed_some(self, embedder: Embedder, notes: int = 16) -> int:
        """Embed passages of a few notes that lack vectors; returns how many were done.

        No lock is held meanwhile. A note that changed since it was indexed is brought in
        first, so that nothing stale is embedded.
        """
        while waiting := self._reconciled_without_vector(embedder.identity, notes):
            texts = self._reconciled_texts_without_vector(embedder, [path for path, _ in waiting])
            if some := dict(list(texts.items())[:MOST_TEXTS]):
                self._embed_reconciled_texts(embedder, some)
                return len(some)
            self.these([path for path, _ in waiting])
            self._hopeless.update(waiting)  # as they were: what has changed is tried again
        return 0

    def _reconciled_without_vector(self, identity: str, notes: int) -> list[tuple[str, str]]:
        """Paths and versions of some notes. One that cannot be read now, and will be looked at
        again with everything, must not keep the others waiting."""
        paths = self.index.vectors.notes_without_vectors(identity, notes + len(self._hopeless))
        known = self.index.inventory.known(paths)
        found = ((path, known[path].version) for path in paths if path in known)
        return [each for each in found if each not in self._hopeless][:notes]

    def embed_note(self, embedder: Embedder, path: str, most: int) -> bool:
        """Embed one note at once if it is short; says whether all of it has vectors now."""
        texts = self._reconciled_texts_without_vector(embedder, [path])
        if texts and len(texts) <= most:
            self._embed_reconciled_texts(embedder, texts)
        return len(texts) <= most

    def _reconciled_texts_without_vector(
        self, embedder: Embedder, paths: Iterable[str]
    ) -> dict[bytes, str]:
        texts = {passage_hash(t): t for path in paths for t in self._texts_of_reconciled_note(path)}
        missing = self.index.vectors.hashes_without_vectors(embedder.identity, texts)
        return {key: text for key, text in texts.items() if key in missing}

    def _embed_reconciled_texts(self, embedder: Embedder, texts: dict[bytes, str]) -> None:
        vectors = embedder.embed(list(texts.values()))
        self.index.vectors.add(embedder.identity, list(texts), vectors)

    def _texts_of_reconciled_note(self, path: str) -> list[str]:
        try:
            note = self.store.note(path)
            return passages_in_context(note, passages(note))
        except Exception:  # whatever is wrong with it was said when it was indexed
            return []


def _not_reconcilable_in_listing(listing: Listing) -> dict[str, SkippedNote]:
    """What the walk itself has found to be no note, or could not look at."""
    found = {p: SkippedNote(p, f"{why.reason} {why.cure}") for p, why in listing.refused.items()}
    for path, reason in listing.unread:
        place = escaped_name(path) or "."
        found[place] = SkippedNote(place, f"It could not be looked at: {reason}. {_UNREAD_CURE}")
    return found


def _apology_for_not_reconciling(error: Exception) -> str:
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return (
        f"It could not be indexed ({printable(' '.join(message.split()))[:200]}). The file is as it "
        "was, and all other notes are searched. This is a fault of vaultmem: please report it."
    )
