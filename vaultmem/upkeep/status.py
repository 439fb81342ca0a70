"""How the memory is: what is in it, how far the index follows, which model reads it."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from vaultmem import __version__
from vaultmem.front import way_in
from vaultmem.index import INDEX_FAILURES, INDEX_FILLING, INDEX_READY, IndexStatus
from vaultmem.limits import bounded
from vaultmem.notes.attributes import MEMORY_SCOPES, MEMORY_TYPES
from vaultmem.notes.file_names import is_pdf
from vaultmem.operations.results import Project, Result
from vaultmem.operations.view import View

if TYPE_CHECKING:
    from vaultmem.embedding.embedder import ModelState

_STARTED: Final = time.monotonic()
_QUICKLY_LOOKED_THROUGH: Final = 5_000  # notes


@dataclass(eq=False, repr=False)
class Connection(Result):
    status: str  # "connected" or "degraded"
    mode: str
    path: str
    uptime_seconds: int
    version: str
    read_only: bool
    reason: str | None = None  # why it is degraded
    without_engine: str | None = None  # why a window had to be a server by itself


@dataclass(eq=False, repr=False)
class Counts(Result):
    total: int
    by_scope: Mapping[str, int]
    by_type: Mapping[str, int]
    forgotten: int
    entities: int
    relationships: int


@dataclass(eq=False, repr=False)
class Storage(Result):
    database_size_bytes: int
    embedding_dimensions: int | None
    embedding_model: str | None


@dataclass(eq=False, repr=False)
class CurrentSession(Result):
    session_id: str
    memories_this_session: int
    started_at: dt.datetime


@dataclass(eq=False, repr=False)
class Skipped(Result):
    path: str
    reason: str


@dataclass(eq=False, repr=False)
class IndexHealth(Result):
    revision: int
    notes: int
    passages: int
    pending: int
    skipped: tuple[Skipped, ...]
    fulltext: str
    model: str
    model_state: str
    model_reason: str
    following: str
    language_gap: str | None = None  # what the model does not know of the notes' languages


@dataclass(eq=False, repr=False)
class PdfHealth(Result):
    read: int
    waiting: int  # until somebody reads them: a running server, or vaultmem index
    unread: Mapping[str, int]  # by the reason


@dataclass(eq=False, repr=False)
class Effective(Result):
    value: Any
    origin: str


@dataclass(eq=False, repr=False)
class Status(Result):
    connection: Connection
    counts: Counts
    storage: Storage
    index: IndexHealth
    current_session: CurrentSession | None = None
    pdfs: PdfHealth | None = None
    settings: Mapping[str, Effective] | None = None
    settings_problems: tuple[str, ...] = ()
    projects: tuple[Project, ...] | None = None  # where they were asked for
    projects_total: int | None = None  # of them all, where some are left out


_NOTHING_COUNTED: Final = Counts(0, {}, {}, 0, 0, 0)


class Health:
    def __init__(self, view: View) -> None:
        self._view = view

    @bounded()
    def status(self, *, type: Sequence[str] = ()) -> Status:
        """What get_memory_status answers; a person sees the settings beside it.

        Memories of some types alone are counted where `type` names them.
        """
        settings, (index, model, following) = self._view.settings, self._view.parts.health()
        trouble = (
            self._view.store.own.trouble()
            or self._view.store.own.unwritable()
            or ("" if index.fulltext in (INDEX_READY, INDEX_FILLING) else index.fulltext)
        )
        try:
            index = self._index_status_of_caller(index, model)
            counts, session = self._status_memory_counts(type), self._session_health()
            pdfs = self._pdf_health()
        except INDEX_FAILURES as error:
            counts, session, trouble = _NOTHING_COUNTED, None, trouble or str(error)
            pdfs = None
        return Status(
            connection=self._connection_health(trouble),
            counts=counts,
            storage=self._storage_health(model),
            index=_index_health(index, model, following, self._language_gap(model)),
            current_session=session,
            pdfs=pdfs,
            settings={n: Effective(s.value, s.origin) for n, s in settings.values.items()},
            settings_problems=tuple(problem.message for problem in settings.problems),
        )

    def _connection_health(self, trouble: str) -> Connection:
        return Connection(
            status="degraded" if trouble else "connected",
            mode="file-backed",
            path=str(self._view.store.root),
            uptime_seconds=int(time.monotonic() - _STARTED),
            version=__version__,
            read_only=self._view.caller.read_only or bool(self._view.settings["read_only"]),
            reason=trouble or None,
            without_engine=way_in.reason_for_no_engine() or None,
        )

    def _language_gap(self, model: ModelState) -> str:
        return self._view.parts.language_gap.sentence(model.name) if model.state == "ready" else ""

    def behind(self) -> int | None:
        """How many notes the index does not know as they are now; None in a vault so large that
        finding out takes long."""
        from vaultmem.upkeep import doctor

        if self._view.index.size > _QUICKLY_LOOKED_THROUGH:
            return None
        return len(doctor.examine_index(self._view.store, self._view.index))

    def _index_status_of_caller(self, index: IndexStatus, model: ModelState) -> IndexStatus:
        """Of all this only what the caller may know of. What could not be indexed is not named
        to one who is bound: whose it is was never read."""
        if not self._view.is_bound():
            unseen = self._status_paths_of_others([path for path, _ in index.skipped])
            return index._replace(skipped=tuple(s for s in index.skipped if s[0] not in unseen))
        mine = self._view.filters(include_forgotten=True)
        mine_of_it = self._view.index.lookup.extent(mine)
        missing = index.passages - index.embedded
        if missing and model.identity:
            missing = self._view.index.vectors.count_missing(model.identity, mine)
        return index._replace(
            notes=mine_of_it.notes,
            passages=mine_of_it.passages,
            embedded=max(0, mine_of_it.passages - missing),
            skipped=tuple(self._view.index.lookup.problems(mine)),
        )

    def _status_paths_of_others(self, paths: list[str]) -> set[str]:
        """Those of other sessions' notes."""
        rows = self._view.index.lookup.at(paths)
        return {path for path, row in rows.items() if not self._view.sees_attributes(row.belonging)}

    def _status_memory_counts(self, type: Sequence[str]) -> Counts:
        lookup, mine = self._view.index.lookup, self._view.filters(type=type)
        everything = self._view.filters(type=type, include_forgotten=True)
        by_scope, by_type = lookup.counts("scope", mine), lookup.counts("type", mine)
        total = sum(by_scope.values())
        return Counts(
            total=total,
            by_scope=dict.fromkeys(MEMORY_SCOPES, 0) | by_scope,
            by_type=dict.fromkeys(MEMORY_TYPES, 0) | by_type,
            forgotten=lookup.count(everything) - total,
            entities=lookup.counts("type", self._view.filters()).get("entity", 0),
            relationships=lookup.extent(self._view.filters()).relations,
        )

    def _storage_health(self, model: ModelState) -> Storage:
        if self._view.is_bound():
            mine = self._view.filters(include_forgotten=True)
            size = self._view.index.lookup.extent(mine).bytes
        else:
            files = (self._view.store.state / "index").path.rglob("*")
            size = sum(file.stat().st_size for file in files if file.is_file())
        ready = model.state == "ready"
        return Storage(size, model.dimensions if ready else None, model.name if ready else None)

    def _pdf_health(self) -> PdfHealth | None:
        """Not for one who is bound: whose they are nobody can say of them."""
        number, waiting, unread = self._view.index.inventory.pdfs()
        if self._view.is_bound() or not number:
            return None
        return PdfHealth(max(0, number - waiting - sum(unread.values())), waiting, unread)

    def pdfs_without_reader(self) -> int:
        """How many PDFs there are that nothing here can read, in a vault that is not too large to
        look."""
        from vaultmem.storage.pdf import pdf_texts

        if pdf_texts.can_read_pdfs() or self._view.index.size > _QUICKLY_LOOKED_THROUGH:
            return 0
        return sum(map(is_pdf, self._view.store.walk().files))

    def _session_health(self) -> CurrentSession | None:
        session = self._view.caller.session
        if not session:
            return None
        mine = self._view.filters(type=MEMORY_TYPES)  # as the session's summary counts them
        count = self._view.index.journals.count_of_session(session, mine)
        return CurrentSession(session, count, self._view.parts.opened_at)


def _index_health(
    index: IndexStatus, model: ModelState, following: str, language_gap: str
) -> IndexHealth:
    return IndexHealth(
        revision=index.revision,
        notes=index.notes,
        passages=index.passages,
        pending=max(0, index.passages - index.embedded),
        skipped=tuple(Skipped(path, reason) for path, reason in index.skipped),
        fulltext=index.fulltext,
        model=model.name,
        model_state=model.state,
        model_reason=model.reason,
        following=following,
        language_gap=language_gap or None,
    )
