"""How the memory is: what is in it, how far the index follows, which model reads it."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from vaultmem import __version__
from vaultmem.config import Settings
from vaultmem.desk import SCOPES, TYPES, Desk
from vaultmem.index import Filters, IndexStatus

if TYPE_CHECKING:
    from vaultmem.index.embed import ModelState

_STARTED: Final = time.monotonic()
_QUICKLY_LOOKED_THROUGH: Final = 5_000  # notes


@dataclass(frozen=True)
class Connection:
    status: str  # "connected" or "degraded"
    mode: str
    path: str
    uptime_seconds: int
    version: str
    read_only: bool


@dataclass(frozen=True)
class Counts:
    total: int
    by_scope: Mapping[str, int]
    by_type: Mapping[str, int]
    forgotten: int
    entities: int
    relationships: int


@dataclass(frozen=True)
class Storage:
    database_size_bytes: int
    embedding_dimensions: int | None
    embedding_model: str | None


@dataclass(frozen=True)
class CurrentSession:
    session_id: str
    memories_this_session: int
    started_at: dt.datetime


@dataclass(frozen=True)
class Skipped:
    path: str
    reason: str


@dataclass(frozen=True)
class IndexHealth:
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


@dataclass(frozen=True)
class Effective:
    value: Any
    origin: str


@dataclass(frozen=True)
class Status:
    connection: Connection
    counts: Counts
    storage: Storage
    index: IndexHealth
    current_session: CurrentSession | None = None
    settings: Mapping[str, Effective] | None = None
    settings_problems: tuple[str, ...] = ()


class Health(Desk):
    def status(self, *, type: Sequence[str] = ()) -> Status:
        """What get_memory_status answers; a person sees the settings beside it.

        Memories of some types alone are counted where `type` names them.
        """
        index, model, following = self._parts.health()
        unseen = self._unseen([path for path, _ in index.skipped])
        skipped = tuple(Skipped(p, r) for p, r in index.skipped if p not in unseen)
        trouble = index.fulltext != "ready"
        return Status(
            connection=Connection(
                status="degraded" if trouble else "connected",
                mode="file-backed",
                path=str(self.store.root),
                uptime_seconds=int(time.monotonic() - _STARTED),
                version=__version__,
                read_only=self.caller.read_only or bool(self.settings["read_only"]),
            ),
            counts=self._counts(type),
            storage=self._storage(model),
            index=_index_health(index, model, skipped, following),
            current_session=self._session_health(),
            settings=effective(self.settings),
            settings_problems=tuple(problem.message for problem in self.settings.problems),
        )

    def behind(self) -> int | None:
        """How many notes the index does not know as they are now; None in a vault so large that
        finding out takes long."""
        from vaultmem import doctor

        if self.index.size > _QUICKLY_LOOKED_THROUGH:
            return None
        return len(doctor.examine_index(self.store, self.index))

    def _unseen(self, paths: list[str]) -> set[str]:
        """Those of notes that this caller may not know of."""
        rows = self.index.lookup.at(paths)
        return {path for path, row in rows.items() if not self._sees(row.belonging)}

    def _counts(self, type: Sequence[str]) -> Counts:
        lookup, mine = self.index.lookup, self._filters(type=type)
        everything = self._filters(type=type, include_forgotten=True)
        by_scope, by_type = lookup.counts("scope", mine), lookup.counts("type", mine)
        total = sum(by_scope.values())
        return Counts(
            total=total,
            by_scope={name: by_scope.get(name, 0) for name in dict.fromkeys((*SCOPES, *by_scope))},
            by_type={name: by_type.get(name, 0) for name in dict.fromkeys((*TYPES, *by_type))},
            forgotten=sum(lookup.counts("scope", everything).values()) - total,
            entities=lookup.counts("type", self._filters()).get("entity", 0),
            relationships=lookup.relationships(self._filters()),
        )

    def _storage(self, model: ModelState) -> Storage:
        files = (self.store.state / "index").rglob("*")
        size = sum(file.stat().st_size for file in files if file.is_file())
        ready = model.state == "ready"
        return Storage(size, model.dimensions if ready else None, model.name if ready else None)

    def _session_health(self) -> CurrentSession | None:
        session = self.caller.session
        if not session:
            return None
        count = self.index.lookup.counts("session", Filters(forgotten=True)).get(session, 0)
        return CurrentSession(session, count, self._parts.opened_at)


def _index_health(
    index: IndexStatus, model: ModelState, skipped: tuple[Skipped, ...], following: str
) -> IndexHealth:
    return IndexHealth(
        revision=index.revision,
        notes=index.notes,
        passages=index.passages,
        pending=max(0, index.passages - index.embedded),
        skipped=skipped,
        fulltext=index.fulltext,
        model=model.name,
        model_state=model.state,
        model_reason=model.reason,
        following=following,
    )


def effective(settings: Settings) -> dict[str, Effective]:
    return {name: Effective(s.value, s.origin) for name, s in settings.values.items()}
