"""Full text: Tantivy, one document per passage and one per note. Bodies are not stored.

What of a note goes in is in `documents`, what a question looks for in `question_terms`.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import tantivy

from vaultmem.base.own_path import OwnPath
from vaultmem.base.text_forms import folded
from vaultmem.base.words import CJK_RUN
from vaultmem.errors import Unavailable
from vaultmem.index.embedded.text import fulltext_files
from vaultmem.index.embedded.text.coverage import AskedWord, asked_words, coverage_query
from vaultmem.index.embedded.text.documents import ALONE
from vaultmem.index.embedded.text.question_terms import (
    CJK_FIELD,
    TAIL,
    Vocabulary,
    WantedWord,
    question_terms,
)
from vaultmem.index.embedded.text.stems import OtherStems
from vaultmem.index.embedded.text.text_writer import TextWriter
from vaultmem.index.failures import IndexDamaged, engine_call
from vaultmem.index.filters import (
    ANY_SESSION,
    Filters,
    forbidden_facets,
    required_facets,
)
from vaultmem.notes.note import printable

SCHEMA_VERSION: Final = 11
TEXT_ENGINE: Final[str] = tantivy.__version__  # type: ignore[attr-defined]
# Few fields: each costs a look-up for every word of a question. Each passage is a document:
# what is above it, what it says, and for an observation what is said around it. The text of a
# whole memory (`whole`) is a document of its own for a note; an observation's is with its first
# passage, since the engine takes the usual length of a field from all documents there are.
_FIELDS: Final = {"head": 1.5, "body": 1.0, "near": 1.0}
_WHOLE: Final = {"whole": 1.0}
_NEIGHBOURS: Final = 0.1
_MOST_PAIRS: Final = 16
_ALL: Final = 0.6
_OF_WHOLE: Final = 0.5  # what words count that stand in a memory, but not in one passage
_SHORT_QUESTION: Final = 5  # words
_COMPARED: Final = 16  # words of a note


class TextHits(NamedTuple):
    """A memory is a note, or an observation in one: then its first passage's number tells which,
    and is 0 for the note itself."""

    total: int = 0  # memories that match, exactly
    passages: tuple[tuple[int, int, int, float], ...] = ()  # note, observation, passage, score
    memories: tuple[tuple[int, int, float], ...] = ()  # note, observation, score
    words: tuple[AskedWord, ...] = ()
    covered: tuple[tuple[int, int, float], ...] = ()  # note, observation, share of the question

    @property
    def notes(self) -> tuple[tuple[int, float], ...]:
        """Each note with the best score of a memory in it."""
        best: dict[int, float] = {}
        for note, _, score in self.memories:
            best.setdefault(note, score)
        return tuple(best.items())


class FullText:
    @engine_call
    def __init__(self, folder: Path | OwnPath, language: str, *, new: bool = False) -> None:
        self.place = OwnPath.of(folder)
        self.folder = self.place.path
        self._stems = OtherStems(language)
        self._analyzer = self._stems.words
        if (
            not new and (self.place / fulltext_files.TEXT_META).stat() is None
        ):  # it would begin an empty one
            raise IndexDamaged("The full text is gone and will be rebuilt.")
        self._schema = _fulltext_schema()
        try:
            checked = self.place.checked_folder()
        except Unavailable as error:  # something else where one of its files should be
            raise IndexDamaged(f"The full text is damaged and will be rebuilt: {error}") from error
        self._index = tantivy.Index(self._schema, path=str(checked), reuse=True)
        # Else a thread of its own opens new files at any moment, whatever they are by then.
        self._index.config_reader(reload_policy="manual")
        self._index.register_tokenizer("words", self._analyzer)
        self._index.config_reader("manual")  # else it reads whatever it finds, in its own time
        self._look_at_fulltext()

    @staticmethod
    def stamp(language: str) -> str:
        """Changes whenever the documents would."""
        engine = re.sub(r"[^0-9a-z.]+", "-", TEXT_ENGINE.lower())
        return f"{SCHEMA_VERSION}-{language or 'plain'}-{engine}"

    @engine_call
    def reload(self) -> None:
        self._index.reload()
        self._look_at_fulltext()

    def _look_at_fulltext(self) -> None:
        self._searcher = self._index.searcher()
        self._vocabulary = Vocabulary(self._searcher, self._stems)

    @property
    def languages(self) -> Mapping[str, int]:
        return self._vocabulary.languages

    @property
    def documents(self) -> int:
        return int(self._searcher.num_docs)

    @engine_call
    def counts_in_fulltext(self, path: str, text: str) -> list[int]:
        """How many documents there are of a note, and how many with each of some of its words."""
        must, file = tantivy.Occur.Must, self._fulltext_term("file", printable(path), 1.0)
        words = sorted(set(self._analyzer.analyze(CJK_RUN.sub(" ", folded(printable(text))))))
        some = words[:: max(1, len(words) // _COMPARED)]
        wanted = [
            [(must, file)],
            *([(must, file), (must, self._fulltext_term("whole", word, 1.0))] for word in some),
        ]
        queries = map(tantivy.Query.boolean_query, wanted)
        return [int(self._searcher.search(query, 1).count or 0) for query in queries]  # type: ignore[attr-defined]

    # --- writing -----------------------------------------------------------------------

    @contextlib.contextmanager
    def writing(self, notes: int) -> Iterator[TextWriter]:
        """A batch of changes to so many notes, visible at its commit. The caller holds the
        index lock."""
        writing = TextWriter(self._index, self._schema, self._stems, notes)
        try:
            yield writing
        except BaseException as error:
            full = fulltext_files.disk_is_full(self.folder)
            writing.abandon_fulltext()
            self.sweep()
            if full and isinstance(error, (ValueError, IndexDamaged)):  # it does not always say why
                raise OSError(errno.ENOSPC, "No space left on device") from error
            raise
        writing.close()
        self.reload()

    def sweep(self) -> None:
        """Only under the index lock, when no writer is open."""
        fulltext_files.sweep_fulltext_files(self.place)

    # --- searching ---------------------------------------------------------------------

    @engine_call
    def words_beginning(self, beginning: str) -> list[str]:
        return self._vocabulary.terms_beginning(folded(printable(beginning)).casefold())

    @engine_call
    def search(self, text: str, filters: Filters, limit: int) -> TextHits:
        known = self._vocabulary
        wanted = question_terms(text, self._stems, known)
        if not wanted:
            return TextHits()
        conditions = list(self._fulltext_conditions(filters))
        find = self._searcher.search
        whole = find(self._fulltext_query(wanted, conditions, _WHOLE), limit, count=True)
        near = bool(self._searcher.doc_freq("facets", ALONE))
        fields = {name: boost for name, boost in _FIELDS.items() if near or name != "near"}
        found = find(self._fulltext_query(wanted, conditions, fields), limit, count=False)
        return TextHits(
            total=int(whole.count or 0),  # type: ignore[attr-defined]
            passages=tuple(self._fulltext_hits(found.hits, ("note", "observation", "passage"))),
            memories=tuple(self._fulltext_hits(whole.hits, ("note", "observation"))),
            words=tuple(asked_words(wanted, known)),
            covered=tuple(self._covered_by_fulltext(wanted, known, conditions, limit)),
        )

    def _covered_by_fulltext(
        self, wanted: list[WantedWord], known: Vocabulary, conditions: list[Any], limit: int
    ) -> Iterator[tuple[int, int, float]]:
        shares: dict[tuple[int, int], float] = {}
        for fields, counts in ((("head", "body"), 1.0), (("whole",), _OF_WHOLE)):
            query = coverage_query(self._schema, wanted, known, fields)
            found = self._searcher.search(_narrowed_fulltext(query, conditions), limit, count=False)
            for note, observation, share in self._fulltext_hits(
                found.hits, ("note", "observation")
            ):
                memory = note, observation
                shares[memory] = max(share * counts, shares.get(memory, 0.0))
        return ((*memory, share) for memory, share in shares.items())

    def _fulltext_hits(
        self, hits: Sequence[tuple[float, Any]], names: tuple[str, ...]
    ) -> Iterable[Any]:
        if not hits:
            return ()
        scores, addresses = zip(*hits, strict=True)
        columns = [self._searcher.fast_field_values(name, list(addresses)) for name in names]
        return zip(*([v or 0 for v in column] for column in columns), scores, strict=True)

    def _fulltext_query(
        self, wanted: list[WantedWord], conditions: list[Any], fields: dict[str, float]
    ) -> Any:
        """Any word in any field, best where there are most. Without conditions the engine can
        skip most documents, which is why there are none for the usual question."""
        terms = [
            (
                tantivy.Occur.Should,
                self._fulltext_term(name + each.suffix, each.word, boost * each.weight),
            )
            for each in wanted
            for name, boost in fields.items()
        ]
        if "body" in fields:
            terms += ((tantivy.Occur.Should, each) for each in self._fulltext_together(wanted))
        return _narrowed_fulltext(tantivy.Query.boolean_query(terms), conditions)

    def _fulltext_together(self, wanted: list[WantedWord]) -> Iterator[Any]:
        """What stands together in a question stands together in its answer: more for a passage
        with two neighbouring words of it, and much more for one with all of a short question's,
        than for passages with some."""
        must, should = tantivy.Occur.Must, tantivy.Occur.Should
        words = [each for each in wanted if not each.stands_for and not each.suffix]
        words = [each for each in words if self._vocabulary.count_of_term(each.word)]
        for pair in list(itertools.pairwise(words))[:_MOST_PAIRS]:
            both = [
                (must, self._fulltext_term("body", w.word, _NEIGHBOURS * w.weight)) for w in pair
            ]
            yield tantivy.Query.boolean_query(both)
        if 2 <= len(words) <= _SHORT_QUESTION:
            either = [
                [
                    (should, self._fulltext_term(name, w.word, _ALL * w.weight))
                    for name in ("head", "body")
                ]
                for w in words
            ]
            yield tantivy.Query.boolean_query(
                [(must, tantivy.Query.boolean_query(fields)) for fields in either]
            )

    def _fulltext_term(self, name: str, word: str, boost: float) -> Any:
        query = tantivy.Query.term_query(self._schema, name, word, "freq")
        return query if boost == 1.0 else tantivy.Query.boost_query(query, boost)

    def _fulltext_conditions(self, filters: Filters) -> Iterator[tuple[Any, Any]]:
        must, must_not, kinds = tantivy.Occur.Must, tantivy.Occur.MustNot, tantivy.FieldType
        for values in required_facets(filters):
            if values[0] == ANY_SESSION and not self._searcher.doc_freq("facets", "scope:session"):
                continue
            facets = tantivy.Query.term_set_query(self._schema, "facets", list(values))
            yield must, tantivy.Query.const_score_query(facets, 0.0)
        for facet in forbidden_facets(filters):
            if self._searcher.doc_freq("facets", facet):
                yield must_not, tantivy.Query.term_query(self._schema, "facets", facet, "basic")
        if filters.after is not None or filters.before is not None:
            yield (
                must,
                self._fulltext_range("created", kinds.Integer, filters.after, filters.before),
            )
        if filters.min_importance is not None:
            yield (
                must,
                self._fulltext_range("importance", kinds.Float, filters.min_importance, None),
            )

    def _fulltext_range(self, name: str, kind: Any, low: Any, high: Any) -> Any:
        query = tantivy.Query.range_query(self._schema, name, kind, low, high)
        return tantivy.Query.const_score_query(query, 0.0)


def _narrowed_fulltext(query: Any, conditions: list[Any]) -> Any:
    if not conditions:
        return query
    return tantivy.Query.boolean_query([(tantivy.Occur.Must, query), *conditions])


def _fulltext_schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for name in (*_FIELDS, *_WHOLE):
        builder.add_text_field(name, tokenizer_name="words", index_option="freq")
        builder.add_text_field(name + CJK_FIELD, tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field(TAIL, tokenizer_name="whitespace", index_option="basic")
    builder.add_text_field("file", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("facets", tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("note", fast=True)
    builder.add_unsigned_field("observation", fast=True)
    builder.add_unsigned_field("passage", fast=True)
    builder.add_integer_field("created", fast=True)
    builder.add_float_field("importance", fast=True)
    return builder.build()
