"""Looking at memories: recall, lists, tags. Light to load, for commands that only look."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from vaultmem.base.words import word_beginning
from vaultmem.errors import InvalidInput
from vaultmem.index import INDEX_FAILURES, LOOKUP_ORDERS, CatalogRow, Filters
from vaultmem.limits import DETAILS, KINDS, bounded
from vaultmem.notes.markdown import Observation, markdown_outline
from vaultmem.notes.note import printable
from vaultmem.operations.budget import fields_cost, hit_fields, hits_within, recall_budget
from vaultmem.operations.input import require_one_of
from vaultmem.operations.results import (
    DEFAULT_IMPORTANCE,
    HitTrace,
    Listed,
    NearMiss,
    Recalled,
    RecalledMemory,
    Summary,
    TagCount,
    Tags,
    Trace,
    row_moment,
    source_value,
    summary_of_row,
)
from vaultmem.operations.view import View
from vaultmem.parts import Freshness
from vaultmem.recall.gaps import UNUSABLE
from vaultmem.recall.recall import Answer, Asked, Hit, with_journals
from vaultmem.recall.snippets import query_words

NOTHING_KNOWN: Final = "Nothing known about this."
_MAY_DEMAND: Final = re.compile(r"[\"*:]|(?<!\S)-")  # most questions have no sign of an operator
_COMPLETED: Final = 500  # names that a shell may offer
_LOOKED_THROUGH: Final = 100  # hits, for those that one agent or session made
NEAREST: Final = 3  # that are named where nothing is known
_FILLING: Final = "partial_results: the index is being filled; the other notes were looked through."


class Reader:
    def __init__(self, view: View) -> None:
        self._view = view

    @bounded()
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
        floor: bool = True,
        detail: str = "full",
        max_tokens: int | None = None,
        made_by: str | None = None,
        made_in: str | None = None,
        operators: bool = True,
    ) -> Recalled:
        """The memories that answer a question best, best first.

        All of each passage, or as much as the detail (`brief`, `normal`) or `max_tokens` allow;
        the first get more. Without the `floor` whatever is nearest is a hit. The profile "seed"
        counts importance and recency beside relevance: 0.6, 0.2, 0.2. What nobody asked for is
        not `counted` as used. Of the best hits those of an agent (`made_by`) or of a session
        (`made_in`) alone can be had. Without `operators` the question is nothing but words.
        """
        filters = self._view.filters(
            scope=scope,
            type=type,
            tags=tags,
            project=project,
            room=room,
            folder=folder,
            after=after,
            before=before,
            min_importance=min_importance,
            include_forgotten=include_forgotten,
        )
        require_one_of(detail, DETAILS, "detail")
        among = _LOOKED_THROUGH if made_by or made_in else limit
        asked = Asked(query, strategy, filters, among, offset, profile, floor)
        found = self._ask_precisely(asked) if operators else self.ask_words(asked)
        if made_by or made_in:
            hits = [hit for hit in found.hits if _is_made(hit.row, made_by or "", made_in or "")]
            found = replace(found, hits=hits[:limit], total=len(hits))
        memories = self._recalled_memories(found.hits)
        if budget := recall_budget(detail, limit, max_tokens):
            memories = hits_within(memories, query_words(query), budget, detail)
        shown = found.hits[: len(memories)]
        if counted:
            self._view.parts.usage.note(
                (hit.row.id or hit.row.path for hit in shown),
                self._view.caller.session,
                client=self._view.caller.client,
            )
        for hit, memory in zip(shown, memories, strict=True):
            if memory.whole and not (hit.is_observation and hit.block):
                self._view.parts.authorship.show(self._view.caller, hit.row.path, hit.passage)
        if explain:
            explained = (
                _explained_memory(*pair, found) for pair in zip(shown, memories, strict=True)
            )
            memories = tuple(explained)
        # Here and not in `ask`: of a question that nobody asked, nobody reads the warnings.
        gap = self._view.parts.language_gap.sentence_for_answer()
        return Recalled(
            memories=memories,
            total_matched=found.total,
            strategy_used=found.strategy,
            query_time_ms=round(found.milliseconds, 1),
            index=self._index_freshness(),
            warnings=(*found.warnings, gap) if gap else tuple(found.warnings),
            message=None if memories or not query.strip() else NOTHING_KNOWN,
            more=max(found.total - offset, len(found.hits)) - len(memories) or None,
            nearest=tuple(map(_near_miss, found.nearest))[:NEAREST],
            trace=_answer_trace(filters, memories, found) if explain else None,
        )

    def _recalled_memories(self, hits: Sequence[Hit]) -> tuple[RecalledMemory, ...]:
        used = self._view.parts.usage.of([hit.row.id or hit.row.path for hit in hits])
        counts = (used.get(hit.row.id or hit.row.path) for hit in hits)
        return tuple(
            _recalled_memory(hit, known.count if known else 0)
            for hit, known in zip(hits, counts, strict=True)
        )

    def _index_freshness(self) -> Freshness:
        try:
            everything = self._view.filters(include_forgotten=True)
            return self._view.parts.freshness(everything if self._view.is_bound() else None)
        except INDEX_FAILURES:
            return Freshness(0, 0, 0)

    def ask(
        self,
        query: str,
        strategy: str,
        filters: Filters,
        limit: int,
        offset: int,
        profile: str,
        *,
        floor: bool = True,
    ) -> Answer:
        return self.ask_words(Asked(query, strategy, filters, limit, offset, profile, floor))

    def _ask_precisely(self, asked: Asked) -> Answer:
        if _MAY_DEMAND.search(asked.query):
            from vaultmem.operations.exact.precise_search import PreciseSearch

            precise = PreciseSearch(self._view, self.ask_words)
            demanded = precise.operators_of(asked.query)
            if demanded.demands:
                return precise.answer(asked, demanded)
        return self.ask_words(asked)

    def ask_words(self, asked: Asked) -> Answer:
        """By the index; where it cannot be used, or has gaps, by the files themselves."""
        query, filters, limit, offset = asked.query, asked.filters, asked.limit, asked.offset
        try:
            lacks = self._view.parts.catch_up()
            found, gaps = self._recall_from_index(asked)
        except InvalidInput:
            raise
        except INDEX_FAILURES as error:
            from vaultmem.recall import file_scan

            self._view.store.home.require()
            found = file_scan.ask(self._view.store, query, filters, limit=limit, offset=offset)
            self._view.store.home.require()
            found.warnings.append(UNUSABLE.format(error))
            return found
        if gaps is None or gaps:
            from vaultmem.recall import file_scan

            file_scan.fill_gaps(found, self._view.store, query, filters, limit=limit, paths=gaps)
            lacks = lacks or _FILLING
        if lacks := lacks or self._view.parts.absence():
            found.warnings.append(lacks)
        return found

    def _recall_from_index(self, asked: Asked) -> tuple[Answer, Sequence[str] | None]:
        """What the index found, and the notes that it cannot have found; None for all of them."""
        while True:
            before = self._filling_of_index()
            found = self._view.parts.recall.ask(**asked._asdict())
            gaps = None if found.unsearched else self._view.parts.unindexed()
            if gaps or gaps is None or self._filling_of_index() == before:
                return found, gaps  # else it was filled meanwhile

    def _filling_of_index(self) -> tuple[str, str]:
        """Which index it is and, until it is whole, how far it has come."""
        state = self._view.index.state()
        return state.identity, "" if state.is_whole else state.revision

    @bounded(room=KINDS)
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
        require_one_of(order, tuple(LOOKUP_ORDERS), "order")
        filters = self._view.filters(
            scope=scope,
            type=type,
            project=project,
            tags=tag,
            room=room,
            folder=folder,
            include_forgotten=include_forgotten,
        )
        lacks = self._view.gaps.look()
        rows, total = self._view.gaps.select(filters, order, limit, offset)
        more = offset + len(rows)
        shown = tuple(self._row_summary(row) for row in rows)
        return Listed(shown, total, more if more < total else None, lacks())

    @bounded()
    def recent(self, limit: int = 20) -> Listed:
        return self.list(limit=limit)

    def _row_summary(self, row: CatalogRow) -> Summary:
        self._view.parts.authorship.tell(self._view.caller, row.path, row.version)
        return summary_of_row(row, self._view.visible_body(row) or "")

    @bounded()
    def tags(self, *, limit: int | None = None) -> Tags:
        """All tags, or those that most notes have."""
        lacks = self._view.gaps.look()
        most = -1 if limit is None else limit
        found, total = self._view.gaps.tags(self._view.filters(), most)
        shown = tuple(TagCount(*pair) for pair in found)
        return Tags(shown, total if total > len(shown) else None, lacks())

    @bounded()
    def beginning(self, what: str, start: str) -> tuple[str, ...]:
        """Titles, tags, projects or entities that begin so, in the index as it is: for a shell,
        which asks while a person types."""
        lookup, mine = self._view.index.lookup, self._view.filters(include_forgotten=True)
        entities = self._view.filters(type="entity")
        names: Mapping[str, Callable[[], Iterable[str]]] = {
            "titles": lambda: lookup.titles_beginning(start, mine, _COMPLETED),
            "tags": lambda: lookup.tags_beginning(start, mine),
            "projects": lambda: lookup.counts("project", mine),
            "entities": lambda: lookup.titles_beginning(start, entities, _COMPLETED),
        }
        first = start.casefold()
        return tuple(each for each in names[what]() if each and each.casefold().startswith(first))


def _is_made(row: CatalogRow, by: str, in_session: str) -> bool:
    source = source_value(row.more.get("source", ""))
    client = source.get("tool", "") if isinstance(source, dict) else source or ""
    return str(client).casefold().startswith(by.casefold()) and (
        not in_session or row.session.casefold() == in_session.casefold()
    )


def _recalled_memory(hit: Hit, count: int) -> RecalledMemory:
    row = hit.row
    alone = hit.is_observation and bool(hit.block)  # a memory of its own
    seen = journal_observation(hit) if alone else None
    return RecalledMemory(
        id=hit.block if alone else row.id or row.path,
        title=row.title,
        path=row.path,
        content=printable(seen.content) if seen else hit.passage,
        whole=hit.whole,
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
        superseded_by=hit.superseded_by or None,
        later=hit.later or None,
    )


def _explained_memory(hit: Hit, memory: RecalledMemory, found: Answer) -> RecalledMemory:
    said = f"{memory.title}\n{memory.heading or ''}\n{hit.passage}".casefold()
    near = next((lane.score for lane in hit.lanes if lane.name == "vector"), None)
    trace = HitTrace(
        lanes=tuple(lane._asdict() for lane in hit.lanes),
        tokens=fields_cost(hit_fields(memory)),
        words={w.word: w.share for w in found.words if word_beginning(w.word) in said} or None,
        similarity=near,
        usual_similarity=None if near is None else found.evidence.usual,
        moved=dict(hit.boosts) or None,
    )
    return replace(memory, trace=trace)


def _near_miss(hit: Hit) -> NearMiss:
    return NearMiss(hit.row.path, hit.row.title, round(hit.score, 4))


def _answer_trace(filters: Filters, memories: Sequence[RecalledMemory], found: Answer) -> Trace:
    return Trace(
        filters=described_filters(with_journals(filters)),
        tokens=sum(fields_cost(hit_fields(memory)) for memory in memories),
        words={word.word: round(word.share, 3) for word in found.words} or None,
        unknown=tuple(word.word for word in found.words if not word.known),
        meaning_share=round(found.evidence.meaning_share, 3),
        known=round(found.evidence.known, 3),
    )


def journal_observation(hit: Hit) -> Observation | None:
    """What a journal's line says, without its time and id; a part of a long one says itself."""
    found = markdown_outline(f"## Log\n\n{hit.passage}\n").observations
    return found[0] if len(found) == 1 else None


def described_filters(filters: Filters) -> tuple[str, ...]:
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
    said += [f"{word} {_filter_day(bound)}" for word, bound in days if bound is not None]
    if filters.min_importance is not None:
        said.append(f"importance at least {filters.min_importance}")
    pins = (("user", filters.user), ("project", filters.home), ("session", filters.session))
    said += [f"of the {name} {value}, or of none" for name, value in pins if value]
    return (*said, "forgotten ones too" if filters.forgotten else "not forgotten")


def _filter_day(seconds: int) -> str:
    return f"{dt.datetime.fromtimestamp(seconds).astimezone():%Y-%m-%d %H:%M %Z}"
