"""Looking at memories: recall, lists, tags. Light to load, for commands that only look."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Final

from vaultmem.desk import Desk, require_one_of, several
from vaultmem.errors import InvalidInput, VaultmemError
from vaultmem.index import TROUBLE, Filters, Row
from vaultmem.index.lookup import ORDERS
from vaultmem.markdown import Observation, outline
from vaultmem.note import body_of, printable
from vaultmem.recall import Answer, Hit
from vaultmem.views import (
    DEFAULT_IMPORTANCE,
    Freshness,
    Listed,
    Recalled,
    RecalledMemory,
    Summary,
    TagCount,
    Tags,
    row_moment,
    source_value,
    summary,
)

_JOURNALS: Final = ("session",)
_WHOLE_JOURNALS: Final = 10  # that may stand between the memories that are wanted


class Looking(Desk):
    def recall(
        self,
        query: str,
        *,
        scope: str | Sequence[str] | None = None,
        type: str | Sequence[str] | None = None,
        strategy: str = "hybrid",
        limit: int = 10,
        offset: int = 0,
        min_importance: float | None = None,
        tags: Sequence[str] = (),
        after: str | None = None,
        before: str | None = None,
        include_forgotten: bool = False,
        project: str | None = None,
        room: str | None = None,
        folder: str | None = None,
        explain: bool = False,
        profile: str = "relevance",
        counted: bool = True,
    ) -> Recalled:
        """The memories that answer a question best, best first.

        The profile "seed" counts importance and recency beside relevance: 0.6, 0.2, 0.2. What
        nobody asked for is not `counted` as used.
        """
        types = several(type)
        journals = _JOURNALS if "episodic" in types and "session" not in types else ()
        filters = self._filters(
            scope=scope,
            type=(*types, *journals),
            tags=tags,
            project=project,
            room=room,
            folder=folder,
            after=after,
            before=before,
            min_importance=min_importance,
            include_forgotten=include_forgotten,
        )
        more = _WHOLE_JOURNALS if journals and not offset and 1 <= limit <= 900 else 0
        found = self._ask(query, strategy, filters, limit + more, offset, profile)
        if journals:  # for the events in them, each a memory of its own
            found.hits = [hit for hit in found.hits if not _is_journal(hit)][:limit]
        ids = [hit.row.id or hit.row.path for hit in found.hits]
        used = self._parts.usage.of(ids)
        if counted:
            self._parts.usage.note(ids, self.caller.session)
        counts = [used[id_].count if id_ in used else 0 for id_ in ids]
        hits = zip(found.hits, counts, strict=True)
        return Recalled(
            memories=tuple(_recalled(hit, count, explain=explain) for hit, count in hits),
            total_matched=found.total,
            strategy_used=found.strategy,
            query_time_ms=round(found.milliseconds, 1),
            index=self._freshness(),
            warnings=tuple(found.warnings),
            filters=described(filters) if explain else None,
        )

    def _freshness(self) -> Freshness:
        try:
            return self._parts.freshness()
        except TROUBLE:
            return Freshness(0, 0, 0)

    def _ask(
        self, query: str, strategy: str, filters: Filters, limit: int, offset: int, profile: str
    ) -> Answer:
        """By the index; where it cannot be used, by looking through the files themselves."""
        try:
            behind = self._parts.catch_up()
            found = self._parts.recall.ask(
                query,
                strategy=strategy,
                filters=filters,
                limit=limit,
                offset=offset,
                profile=profile,
            )
        except InvalidInput:
            raise
        except TROUBLE as error:
            from vaultmem import scan

            found = scan.ask(self.store, query, filters, limit=limit, offset=offset)
            found.warnings.append(f"partial_results: the index cannot be used now ({error}).")
            return found
        if behind:
            found.warnings.append(behind)
        return found

    def list(
        self,
        *,
        scope: str | None = None,
        type: str | Sequence[str] | None = None,
        project: str | None = None,
        tag: str | None = None,
        room: str | Sequence[str] | None = None,
        folder: str | None = None,
        order: str = "recent",
        limit: int = 20,
        offset: int = 0,
        include_forgotten: bool = False,
    ) -> Listed:
        require_one_of(order, tuple(ORDERS), "order")
        if not 1 <= limit <= 1000 or offset < 0:
            raise InvalidInput("limit must be from 1 to 1000 and offset not negative.")
        filters = self._filters(
            scope=scope,
            type=type,
            project=project,
            tags=tag,
            room=room,
            folder=folder,
            include_forgotten=include_forgotten,
        )
        self._parts.catch_up()
        rows, total = self.index.lookup.select(filters, order, limit, offset)
        more = offset + len(rows)
        shown = tuple(self._summary(row) for row in rows)
        return Listed(shown, total, more if more < total else None)

    def recent(self, limit: int = 20) -> Listed:
        return self.list(limit=limit)

    def _summary(self, row: Row) -> Summary:
        try:
            return summary(row, body_of(self.store.read(row.path).raw))
        except VaultmemError:
            return summary(row, "")

    def tags(self) -> Tags:
        self._parts.catch_up()
        return Tags(tuple(TagCount(*pair) for pair in self.index.lookup.tags(self._filters())))

    def beginning(self, what: str, start: str) -> tuple[str, ...]:
        """Titles, tags, projects or entities that begin so, in the index as it is: for a shell,
        which asks while a person types."""
        lookup, mine = self.index.lookup, self._filters(include_forgotten=True)
        names: Mapping[str, Callable[[], Iterable[str]]] = {
            "titles": lambda: lookup.titles(mine),
            "tags": lambda: (tag for tag, _ in lookup.tags(mine)),
            "projects": lambda: lookup.counts("project", mine),
            "entities": lambda: lookup.titles(self._filters(type="entity")),
        }
        first = start.casefold()
        return tuple(each for each in names[what]() if each and each.casefold().startswith(first))


def _is_journal(hit: Hit) -> bool:
    return hit.row.type == "session" and not (hit.is_observation and hit.block)


def _recalled(hit: Hit, count: int, *, explain: bool) -> RecalledMemory:
    row = hit.row
    alone = hit.is_observation and bool(hit.block)  # a memory of its own
    seen = _observation(hit) if alone else None
    return RecalledMemory(
        id=hit.block if alone else row.id or row.path,
        title=row.title,
        path=row.path,
        content=printable(seen.content) if seen else hit.passage,
        snippet=hit.snippet,
        type="episodic" if alone else row.type,
        scope=row.scope,
        importance=DEFAULT_IMPORTANCE if row.importance is None else row.importance,
        tags=seen.tags if seen else row.tags,
        created_at=row_moment(row),
        relevance_score=round(hit.score, 4),
        access_count=count,
        why=hit.why,
        heading=hit.heading or None,
        block=hit.block or None,
        project=row.project or None,
        source=source_value(row.more.get("source", "")),
        forgotten=True if row.forgotten else None,
        lanes=[asdict(lane) for lane in hit.lanes] if explain else None,
        boosts=dict(hit.boosts) if explain else None,
    )


def _observation(hit: Hit) -> Observation | None:
    """What a journal's line says, without its time and id; a part of a long one says itself."""
    found = outline(f"## Log\n\n{hit.passage}\n").observations
    return found[0] if len(found) == 1 else None


def described(filters: Filters) -> tuple[str, ...]:
    """The conditions that every hit of an answer meets, for a reader."""
    any_of = {
        "type": filters.types,
        "scope": filters.scopes,
        "project": filters.projects,
        "tag": filters.tags,
        "room": filters.rooms,
        "kind": filters.kinds,
    }
    said = [f"{name} is {' or '.join(values)}" for name, values in any_of.items() if values]
    if filters.folder:
        said.append(f"in the folder {filters.folder}")
    days = (("made from", filters.after), ("made until", filters.before))
    said += [f"{word} {_day(bound)}" for word, bound in days if bound is not None]
    if filters.min_importance is not None:
        said.append(f"importance at least {filters.min_importance}")
    pins = (("user", filters.user), ("project", filters.home), ("session", filters.session))
    said += [f"of the {name} {value}, or of none" for name, value in pins if value]
    return (*said, "forgotten ones too" if filters.forgotten else "not forgotten")


def _day(seconds: int) -> str:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y-%m-%d %H:%M UTC")
