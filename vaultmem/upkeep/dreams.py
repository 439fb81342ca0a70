"""Dreamers: what looks after a project's memories while nobody asks for any.

Memories that say nothing beyond another one are merged into it: they are marked as forgotten and
name what they were merged into, which names them; their old bytes are kept, and `restore` takes
each back for good. The index is brought up to date. What nobody used for long fades. Each of these
can be left out, everything done is told in the log, and a dreamer stops where it stands.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from vaultmem.base import lock
from vaultmem.base.own_program import command_to_type
from vaultmem.errors import Busy, VaultmemError
from vaultmem.index import INDEX_FAILURES, CatalogRow
from vaultmem.notes.attributes import MEMORY_TYPES
from vaultmem.notes.edit import AddItems, NoteEdit, SetProperty
from vaultmem.notes.file_names import safe_name
from vaultmem.operations.input import Input, now_utc
from vaultmem.operations.references import ULID
from vaultmem.operations.results import row_moment
from vaultmem.operations.view import View
from vaultmem.operations.weights import is_pinned
from vaultmem.operations.writing import Writing, WritingGroup
from vaultmem.upkeep.consolidation.comparison import Double, comparisons_by_home
from vaultmem.upkeep.consolidation.consolidate import Consolidation
from vaultmem.upkeep.sources import Sources

log = logging.getLogger("vaultmem")

_MARK: Final = "consolidate"  # by which it is known that somebody took a merge back
_QUIET_SECONDS: Final = 5.0  # since something was written
_REST: Final = 50  # times as long as a round took
_LEAST_REST: Final = 30.0
_DAY: Final = 86_400.0
_STOP_SECONDS: Final = 2.0
_FRESH_DAYS: Final = 7.0  # after its last use a memory is as it was
_HALF_LIFE_DAYS: Final = 90.0


@dataclass(frozen=True, slots=True)
class Dreamt:
    """What one round did."""

    merged: tuple[tuple[str, str], ...] = ()  # each memory, and the one that it was merged into
    indexed: int = 0  # notes that the index did not know as they are
    faded: int = 0  # memories whose importance is another one now


class Dreams(WritingGroup):
    """Of the project that the caller is bound to."""

    def __init__(
        self, view: View, writing: Writing, input: Input, consolidation: Consolidation
    ) -> None:
        super().__init__(view, writing, input)
        self._consolidation = consolidation

    @property
    def project(self) -> str:
        return self._view.caller.project

    def dream(self, jobs: Sequence[str], stopping: threading.Event) -> Dreamt:
        """One round, unless another process is at it."""
        file = self._view.store.local() / f"dreams-{safe_name(self.project)}.lock"
        held = lock.try_to_lock(file)
        if held is None:
            return Dreamt()
        try:
            indexed = self._bring_up_to_date(stopping) if "index" in jobs else 0
            merged = self._merge_doubles(stopping) if "merge" in jobs else ()
            faded = self._fade(stopping) if "decay" in jobs else 0
        finally:
            held.release()
        return Dreamt(merged, indexed, faded)

    # --- merging ---------------------------------------------------------------------------

    def _merge_doubles(self, stopping: threading.Event) -> tuple[tuple[str, str], ...]:
        if stopping.is_set():
            return ()
        self._view.gaps.require_none()
        merged: list[tuple[str, str]] = []
        for double in self._doubles():
            merged += self._merged(double) if not stopping.is_set() else ()
        return tuple(merged)

    def _doubles(self) -> list[Double]:
        """Only drawers of this project: what is shared, or a person's own, stays as it is."""
        found = Sources(self._view).all_sources()
        mine = [
            source
            for source in found
            if source.project.casefold() == self.project.casefold()
            and not source.block
            and ULID.match(source.id)
        ]
        settled, own = frozenset[str](), {source.id for source in mine}
        return [
            double
            for compared in comparisons_by_home(mine)
            for double in self._consolidation.doubles_to_consolidate(
                compared, own, compared.contested(settled), settled
            )
        ]

    def _merged(self, double: Double) -> list[tuple[str, str]]:
        link = Sources(self._view).linked_source
        kept, others = double.kept, [link(other) for other in double.others]
        done = []
        try:
            note = self._view.store.note(kept.path)
            tags = tuple(dict.fromkeys(tag for other in others for tag in other.tags))
            best = max((o.importance for o in others if o.importance is not None), default=None)
            changes: list[NoteEdit] = [AddItems("derived_from", tuple(o.link for o in others))]
            changes += [AddItems("tags", tags)] if tags else []
            if best is not None and best > (0.5 if kept.importance is None else kept.importance):
                changes.append(SetProperty("importance", best))
            self._writing.edit_note(note, _MARK, *changes)
            for other in others:
                self._writing.edit_note(
                    self._view.store.note(other.path),
                    _MARK,
                    SetProperty("superseded_by", kept.link),
                    SetProperty("forgotten", True),
                    SetProperty("forgotten_at", now_utc()),
                    SetProperty("forgotten_reason", f"merged into {kept.title} by a dreamer"),
                )
                done.append((other.id, kept.id))
                log.info(
                    "dreamer of %s: merged %s into %s; `%s` takes that back",
                    *(self.project, other.path, kept.path),
                    command_to_type(f"restore {other.id}"),
                )
        except VaultmemError as error:
            log.warning("dreamer of %s: %s was not merged: %s", self.project, kept.path, error)
        return done

    # --- the index -------------------------------------------------------------------------

    def _bring_up_to_date(self, stopping: threading.Event) -> int:
        """Notes that changed unseen, and those that have no vector yet."""
        parts = self._view.parts
        report = parts.bring_up_to_date()
        if model := parts.loaded_embedder():
            while not stopping.is_set() and parts.reconciler.embed_some(model):
                pass
        changed = len(report.added) + len(report.changed) + len(report.removed)
        if changed:
            log.info("dreamer of %s: %d notes were indexed anew", self.project, changed)
        return changed

    # --- fading ----------------------------------------------------------------------------

    def _fade(self, stopping: threading.Event) -> int:
        filters = self._view.filters(project=self.project, type=MEMORY_TYPES)
        rows = self._view.gaps.select(filters, "created")[0]
        names = [row.id or row.path for row in rows]
        used, before = self._view.parts.usage.of(names), self._view.parts.fading.of(names)
        parts: dict[str, float] = {}
        now = time.time()
        for row, name in zip(rows, names, strict=True):
            last = used[name].last if name in used else None
            left = _part_left(row, last, now)
            if abs(left - before.get(name, 1.0)) >= 0.01:
                parts[name] = left
        if parts and not stopping.is_set():
            self._view.parts.fading.keep(parts)
            log.info("dreamer of %s: %d memories weigh less or more", self.project, len(parts))
        return len(parts)


def _part_left(row: CatalogRow, used: int | None, now: float) -> float:
    """Halved every so many days since a memory was last made, changed or asked for."""
    if is_pinned(row):
        return 1.0
    last = max(row_moment(row).timestamp(), row.updated or 0, used or 0)
    idle = (now - last) / _DAY
    return 1.0 if idle <= _FRESH_DAYS else round(0.5 ** ((idle - _FRESH_DAYS) / _HALF_LIFE_DAYS), 3)


class Dreamers:
    """A thread for each project; one process at a time dreams of a project."""

    def __init__(
        self,
        dreams: Mapping[str, Dreams],
        jobs: Sequence[str],
        revision: Callable[[], int],
        quiet: float = _QUIET_SECONDS,
    ) -> None:
        self._jobs, self._revision, self._quiet = tuple(jobs), revision, quiet
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(
                target=self._dream_on, args=(each,), name=f"dreamer {name}", daemon=True
            )
            for name, each in dreams.items()
        ]

    def start(self) -> None:
        if self._threads and self._jobs:
            log.info("dreamers of %d projects: %s", len(self._threads), ", ".join(self._jobs))
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Each finishes the note it is at, within two seconds."""
        self._stopping.set()
        deadline = time.monotonic() + _STOP_SECONDS
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, deadline - time.monotonic()))

    def _dream_on(self, dreams: Dreams) -> None:
        seen = dreamt = -1
        rested, rest = float("-inf"), _LEAST_REST
        while not self._stopping.wait(self._quiet):
            with suppress(*INDEX_FAILURES):
                now, since = self._revision(), time.monotonic() - rested
                if now == seen and since >= (rest if now != dreamt else _DAY):
                    began = time.monotonic()
                    self._dream_once(dreams)
                    rested = time.monotonic()
                    rest = max(_LEAST_REST, _REST * (rested - began))
                    dreamt = self._revision()
                seen = now

    def _dream_once(self, dreams: Dreams) -> None:
        try:
            dreams.dream(self._jobs, self._stopping)
        except Busy as error:
            log.debug("dreamer of %s waits: %s", dreams.project, error)
        except VaultmemError as error:
            log.warning("dreamer of %s: %s", dreams.project, error)
        except Exception:  # the edge of a thread
            log.exception("dreamer of %s woke up", dreams.project)
