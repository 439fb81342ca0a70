"""Reconciling: the only road into the index.

Walk, compare by stamps, read what differs, compare by hash, parse what differs, apply.
Start-up, the watcher, an agent's write, a pull and a repair all come this way, and a
second look at an unchanged vault does nothing. What cannot be looked at is never removed;
one bad note is named and the rest goes on.
"""

from __future__ import annotations

import posixpath
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from vaultmem import changes
from vaultmem.attributes import attributes_of
from vaultmem.changes import Identity
from vaultmem.errors import NotFound, VaultmemError
from vaultmem.index import Batch, Entry, Index, Known
from vaultmem.names import copy_rank
from vaultmem.passages import in_context, passage_hash, passages
from vaultmem.store import FileStat, Store, Stored

if TYPE_CHECKING:
    from vaultmem.index.embed import Embedder

BATCH_NOTES: Final = 2500  # fewer and larger pieces of full text need less joining later
BATCH_BYTES: Final = 16_000_000
BREATH: Final = 0.03  # seconds between batches: whoever waits for the lock looks every 0.02
LARGE: Final = 1_000_000
MOST_TEXTS: Final = 24  # embedded in one go: about a second of work

Progress = Callable[[int, int], None]


@dataclass
class Report:
    """What a reconcile did, by paths."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    moved: list[tuple[str, str]] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)
    withheld: int = 0  # notes that seem gone but were kept, because the vault looks empty
    seconds: float = 0.0
    revision: int = 0

    @property
    def touched(self) -> list[str]:
        new = [path for _, path in self.moved]
        return [*self.added, *self.changed, *new, *self.removed]


class _Run:
    """One reconcile under way: what was known, what is missing, what is in hand."""

    def __init__(
        self,
        known: dict[str, Known],
        missing: Iterable[str],
        report: Report,
        *,
        whole: bool = False,
    ) -> None:
        self.known = known
        self.missing = dict.fromkeys(missing)
        self.report = report
        self.whole = whole  # `known` is all there is
        self.identities = {p: Identity(known[p].version, known[p].id) for p in self.missing}
        self.owners = {k.id: path for path, k in known.items() if k.id}
        self.batch = Batch([])

    def skip(self, path: str, reason: str) -> None:
        self.batch.skipped.append((path, reason))
        self.report.problems.append((path, reason))


class Sync:
    def __init__(self, store: Store, index: Index) -> None:
        self.store = store
        self.index = index

    # --- files to index ----------------------------------------------------------------

    def everything(self, *, told: bool = False, progress: Progress | None = None) -> Report:
        """Bring the index up to date with the whole vault; `told` allows it to empty itself."""
        started = time.monotonic()
        self.index.recover()
        listing = self.store.walk()
        known = self.index.known()
        report = Report(problems=list(listing.unread))
        if changes.looks_emptied(len(known), len(listing.notes)) and not told:
            report.withheld = len(known)
        else:
            unseen = [path for path, _ in listing.unread]
            look = changes.compare(known, listing.notes, unseen)
            self._bring_in(look.suspects, _Run(known, look.missing, report, whole=True), progress)
        return self._finished(report, started)

    def these(self, paths: Iterable[str]) -> Report:
        """The same for some notes only: those a hint or a write named."""
        started = time.monotonic()
        wanted = list(dict.fromkeys(paths))
        known = self.index.known(wanted)
        seen = {path: stamp for path in wanted if (stamp := self.store.stat(path)) is not None}
        report = Report()
        look = changes.compare(known, seen)
        self._bring_in(look.suspects, _Run(known, look.missing, report))
        return self._finished(report, started)

    def _finished(self, report: Report, started: float) -> Report:
        report.seconds = time.monotonic() - started
        report.revision = self.index.revision
        return report

    def _bring_in(
        self, suspects: dict[str, FileStat], run: _Run, progress: Progress | None = None
    ) -> None:
        """Add before remove: a note that turns up elsewhere keeps its identity."""
        done = 0
        for paths in _batches(suspects):
            run.batch = Batch([*paths, *run.missing])
            run.batch.put = self._entries(paths, run)
            self.index.apply(run.batch)
            done += len(paths)
            if progress:
                progress(done, len(suspects))
            if done < len(suspects):
                time.sleep(BREATH)
        if run.missing:
            gone = list(run.missing)
            self.index.apply(Batch(gone, removed=gone))
            run.report.removed += gone

    def _entries(self, paths: Sequence[str], run: _Run) -> Iterator[Entry]:
        """Read while the index works: it takes each note as soon as it is parsed."""
        for path in paths:
            entry = self._sort_in(path, run)
            if entry is not None:
                yield entry

    def _sort_in(self, path: str, run: _Run) -> Entry | None:
        """Read a suspect and say where it belongs; the answer is what is to be indexed."""
        before = run.known.get(path)
        try:
            stored = self.store.read(path)
        except NotFound:
            if before is not None and self.store.stat(path) is None:
                run.missing[path] = None
            return None
        except VaultmemError as error:
            run.skip(path, str(error))
            return None
        if before is not None and before.version == stored.version:
            run.batch.touched.append((path, stored.stat))
            return None
        entry = self.entry(stored)
        run.report.problems += [(path, problem.message) for problem in entry.note.problems]
        if before is None and (old := self._moved_from(entry, run)) is not None:
            run.missing.pop(old, None)
            run.batch.moved[path] = old
            run.report.moved.append((old, path))
        elif (twin := self._twin(entry, run)) is not None:
            run.skip(path, f"It has the same id as {twin}, so only that one is indexed.")
            return None
        else:
            (run.report.changed if before else run.report.added).append(path)
        if entry.note.id:
            run.owners[entry.note.id.upper()] = path
        return entry

    def _moved_from(self, entry: Entry, run: _Run) -> str | None:
        """The path of a note that is no longer there and is this one."""
        identity = Identity(entry.version, entry.note.id.upper())
        gone = {p: run.identities[p] for p in run.missing if p in run.identities}
        found = changes.moves(gone, {entry.note.path: identity}).get(entry.note.path)
        if found is None and identity.id:
            owner = self._owner(identity.id, run)
            if owner and owner != entry.note.path and self.store.stat(owner) is None:
                found = owner
        return None if found in run.batch.moved.values() else found

    def _twin(self, entry: Entry, run: _Run) -> str | None:
        """Another note in the vault with the same id: a conflict copy, or its original."""
        owner = self._owner(entry.note.id.upper(), run) if entry.note.id else None
        if not owner or owner == entry.note.path or self.store.stat(owner) is None:
            return None  # an owner that is gone left its id to this one
        return owner

    def _owner(self, id_: str, run: _Run) -> str | None:
        """Which path the index has under an id."""
        if id_ not in run.owners and not run.whole:
            found = self.index.lookup.find(id_)
            held = self.index.known(found[:5])
            run.owners[id_] = next((p for p, known in held.items() if known.id == id_), "")
        return run.owners.get(id_) or None

    def entry(self, stored: Stored) -> Entry:
        note = self.store.parse(stored)
        cut = tuple(passages(note))
        attributes = attributes_of(note, self.store.settings)
        return Entry(note, stored.stat, stored.version, cut, attributes)

    # --- text to vectors ---------------------------------------------------------------

    def embed_some(self, embedder: Embedder, notes: int = 16) -> int:
        """Embed passages of a few notes that lack vectors; answers with how many were done.

        No lock is held meanwhile. A note that changed since it was indexed is brought in
        first, so that nothing stale is embedded.
        """
        paths = self.index.without_vector(embedder.identity, notes)
        if not paths:
            return 0
        texts: dict[bytes, str] = {}
        for path in paths:
            for text in self._texts(path):
                texts[passage_hash(text)] = text
        missing = self.index.missing_vectors(embedder.identity, texts)
        wanted = [(key, text) for key, text in texts.items() if key in missing][:MOST_TEXTS]
        if not wanted:
            self.these(paths)
            return 0
        keys = [key for key, _ in wanted]
        self.index.add_vectors(embedder.identity, keys, embedder.embed([t for _, t in wanted]))
        return len(keys)

    def embed_note(self, embedder: Embedder, path: str, most: int) -> bool:
        """Embed one note at once if it is short; says whether all of it has vectors now."""
        texts = {passage_hash(text): text for text in self._texts(path)}
        missing = self.index.missing_vectors(embedder.identity, texts)
        if len(missing) > most:
            return False
        if missing:
            keys = list(missing)
            vectors = embedder.embed([texts[key] for key in keys])
            self.index.add_vectors(embedder.identity, keys, vectors)
        return True

    def _texts(self, path: str) -> list[str]:
        try:
            note = self.store.note(path)
        except VaultmemError:
            return []
        return in_context(note, passages(note))


def _batches(suspects: dict[str, FileStat]) -> Iterator[Sequence[str]]:
    """Small notes together, each large one alone and last: it delays nobody.

    Conflict copies come behind what they were made from: of two notes with one id the
    first is indexed.
    """
    batch: list[str] = []
    size = 0

    def place(item: tuple[str, FileStat]) -> tuple[bool, int]:
        return item[1].size > LARGE, copy_rank(posixpath.basename(item[0]).removesuffix(".md"))

    for path, stamp in sorted(suspects.items(), key=place):
        full = len(batch) >= BATCH_NOTES or size + stamp.size > BATCH_BYTES
        if batch and (full or stamp.size > LARGE):
            yield batch
            batch, size = [], 0
        batch.append(path)
        size += stamp.size
    if batch:
        yield batch
