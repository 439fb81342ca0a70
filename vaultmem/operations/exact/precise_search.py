"""Questions with operators: what the ordinary search brings, as far as it meets their demands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final

from vaultmem.errors import VaultmemError
from vaultmem.index import INDEX_FAILURES, CatalogRow
from vaultmem.notes.attributes import MEMORY_TYPES
from vaultmem.notes.markdown import text_without_comments
from vaultmem.notes.note import Note, printable
from vaultmem.notes.passages import passages
from vaultmem.operations.view import View
from vaultmem.recall.query_operators import AskedText, QueryOperators, query_operators
from vaultmem.recall.recall import Answer, Asked, Hit
from vaultmem.recall.snippets import query_words, snippet

_FIRST, _MOST = 200, 1_000  # hits that are looked at
_LISTED: Final = 0.5  # the score of what is found by demands alone
_NOT_FOUND: Final = (
    "phrase_not_found: no memory has this phrase, or a word that begins so; without quotation marks "
    "and * what comes near is found too."
)
_SEARCHED_BY_WORDS: Final = (
    "phrase_not_found: no memory has this phrase, or a word that begins so; the question was "
    "searched by its words."
)
_KNOWN_TYPES: Final = (*MEMORY_TYPES, "entity", "session")


class PreciseSearch:
    def __init__(self, view: View, ask: Callable[[Asked], Answer]) -> None:
        self._view = view
        self._ask_words = ask

    def operators_of(self, query: str) -> QueryOperators:
        return query_operators(query, self._types)

    def answer(self, asked: Asked, operators: QueryOperators) -> Answer:
        """Without words the newest first. Where no memory has a phrase that stands among words of
        a question, those words are what is asked for."""
        wanted = self._narrowed(asked, operators)
        if not operators.lookup:
            return self._listed(wanted, operators)
        found = self._found(wanted, operators, _FIRST)
        if len(found.hits) <= asked.offset + asked.limit and found.more:
            found = self._found(wanted, operators, _MOST)
        if not found.hits and operators.names_text:
            if operators.words:
                found = self._ask_words(asked)
            found.warnings.append(_SEARCHED_BY_WORDS if operators.words else _NOT_FOUND)
            return found
        found.total = len(found.hits)
        found.hits = found.hits[asked.offset : asked.offset + asked.limit]
        found.nearest = found.nearest if not found.hits and not operators.names_text else []
        return found

    # --- what is asked for -----------------------------------------------------------------

    def _types(self) -> set[str]:
        try:
            here = self._view.index.lookup.counts("type", self._view.filters())
        except INDEX_FAILURES:
            here = {}
        return {*_KNOWN_TYPES, *here}

    def _narrowed(self, asked: Asked, operators: QueryOperators) -> Asked:
        """What filters can tell beforehand; the rest is looked up in each memory."""
        filters = asked.filters
        if (types := operators.values("type")) and not filters.types:
            filters = filters._replace(types=tuple(types[:1]))
        if (tags := operators.values("tag")) and not filters.tags:
            filters = filters._replace(tags=tuple(tags[:1]))
        if not filters.folder:
            folders = (self._folder(path) for path in operators.values("path"))
            filters = filters._replace(folder=next(filter(None, folders), ""))
        floor = asked.floor and not operators.names_text
        query = " ".join((operators.lookup, *self._words_beginning(operators)))
        return asked._replace(query=query, filters=filters, floor=floor)

    def _folder(self, path: str) -> str:
        """The folder at the top that is meant, where it can be no part of another's name."""
        name = path.strip("/").casefold()
        try:
            folders = [each.strip("/") for each in self._view.index.lookup.folders()]
        except INDEX_FAILURES:
            return ""
        lying = [each for each in folders if name in f"{each.casefold()}/"]
        exact = [each for each in lying if each.casefold() == name]
        within = all(each.casefold().startswith(name) for each in lying)
        return exact[0] if path.endswith("/") and len(exact) == 1 and within else ""

    def _words_beginning(self, operators: QueryOperators) -> Iterator[str]:
        for beginning in operators.values("prefix"):
            try:
                yield from self._view.index.words_beginning(beginning)
            except INDEX_FAILURES:
                return

    # --- what there is ---------------------------------------------------------------------

    def _found(self, asked: Asked, operators: QueryOperators, most: int) -> Answer:
        found = self._ask_words(asked._replace(limit=most, offset=0))
        found.more = len(found.hits) >= most
        found.hits = [hit for hit in found.hits if self._meets(hit, operators)]
        if operators.names_text:
            found.hits = [self._with_passage(hit, operators) for hit in found.hits]
        return found

    def _listed(self, asked: Asked, operators: QueryOperators) -> Answer:
        answer = Answer(strategy="keyword")
        rows, _ = self._view.gaps.select(asked.filters, "recent")
        found = [hit for hit in self._hits_of_rows(rows) if self._meets(hit, operators)]
        answer.total = len(found)
        answer.hits = found[asked.offset : asked.offset + asked.limit]
        return answer

    def _hits_of_rows(self, rows: Iterable[CatalogRow]) -> Iterator[Hit]:
        for row in rows[:_MOST] if isinstance(rows, list) else rows:
            if note := self._note(row):
                first = next(iter(passages(note)), None)
                text = printable(first.text) if first else ""
                heading = first.heading if first else ""
                whole = text == note.body.strip()
                yield Hit(row, _LISTED, text, snippet(text, []), heading, whole=whole)

    def _meets(self, hit: Hit, operators: QueryOperators) -> bool:
        row = hit.row
        alone = hit.is_observation and bool(hit.block)
        if alone:
            said = f"{hit.heading} {hit.passage}"
        elif self._lacks_words(row, operators):
            return False
        elif note := self._note(row):
            names = (note.shown_title, *note.aliases, *note.tags)
            said = "\n".join((*names, text_without_comments(note.body)))
        else:
            return False
        kind = "episodic" if alone else row.type
        return operators.are_met(AskedText(said, row.path, kind, row.tags))

    def _lacks_words(self, row: CatalogRow, operators: QueryOperators) -> bool:
        try:
            return operators.lack_words(self._view.store.read(row.path).raw, row.path)
        except VaultmemError:
            return True

    def _with_passage(self, hit: Hit, operators: QueryOperators) -> Hit:
        """The passage that has what is asked for is the one to show."""
        texts = replace(
            operators,
            demands=tuple(
                each
                for each in operators.demands
                if each.kind in ("phrase", "prefix") and not each.not_so
            ),
        )
        note = None if hit.is_observation and hit.block else self._note(hit.row)
        if note is None or texts.are_met(AskedText(hit.passage, "", "", ())):
            return hit
        for passage in passages(note):
            text = printable(passage.text)
            if texts.are_met(AskedText(text, "", "", ())):
                shown = snippet(text, query_words(operators.lookup))
                whole = text == note.body.strip()
                return hit._replace(
                    passage=text, snippet=shown, heading=passage.heading, whole=whole
                )
        return hit

    def _note(self, row: CatalogRow) -> Note | None:
        try:
            note = self._view.store.note(row.path)
        except VaultmemError:
            return None
        return note if self._view.is_visible(note) else None
