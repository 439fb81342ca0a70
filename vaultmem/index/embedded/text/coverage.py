"""How much of what a question says stands in which memory.

A question's words are weighed by how rare they are here; one that is nowhere weighs the most. A
memory's share is what its best passage has of that, or half of what its whole text has, since
words that stand far from each other were hardly meant together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import tantivy

from vaultmem.base.words import WORDS_SAYING_NOTHING
from vaultmem.index.embedded.text.question_terms import Vocabulary, WantedWord

_OF_MEANT: Final = 0.8  # of a word's weight, for another that was probably meant by it


class AskedWord(NamedTuple):
    """A word of a question, as the index writes it."""

    word: str
    share: float  # of what the question says
    known: bool  # it stands somewhere here, or another that was meant by it


class _WordGroup(NamedTuple):
    weight: float
    words: tuple[WantedWord, ...]  # the asked one, and those that may have been meant by it


def asked_words(wanted: Sequence[WantedWord], known: Vocabulary) -> list[AskedWord]:
    groups = _groups_to_cover(wanted, known)
    total = sum(group.weight for group in groups.values()) or 1.0
    return [
        AskedWord(
            word,
            group.weight / total,
            any(known.count_of_term(each.word, f"whole{each.suffix}") for each in group.words),
        )
        for word, group in groups.items()
    ]


def coverage_query(
    schema: tantivy.Schema,
    wanted: Sequence[WantedWord],
    known: Vocabulary,
    fields: Sequence[str],
) -> Any:
    """A query whose score is the share, for documents that have any of the words."""
    groups = _groups_to_cover(wanted, known)
    total = sum(group.weight for group in groups.values()) or 1.0
    found = [
        (tantivy.Occur.Should, part)
        for group in groups.values()
        for part in _coverage_queries(schema, group, group.weight / total, fields)
    ]
    return tantivy.Query.boolean_query(found)


def _groups_to_cover(wanted: Sequence[WantedWord], known: Vocabulary) -> dict[str, _WordGroup]:
    words = [each for each in wanted if not each.is_sign]
    told = [each for each in words if each.asked not in WORDS_SAYING_NOTHING] or words
    found: dict[str, list[WantedWord]] = {}
    for each in told:
        found.setdefault(each.asked, []).append(each)
    return {
        asked: _WordGroup(known.information_in_term(f"body{words[0].suffix}", asked), tuple(words))
        for asked, words in found.items()
    }


def _coverage_queries(
    schema: tantivy.Schema, group: _WordGroup, share: float, fields: Sequence[str]
) -> Iterator[Any]:
    """One word of a group is enough, and the asked one is worth a little more; of parts of a word
    all are wanted."""
    asked = [each for each in group.words if not each.stands_for]
    if parts := [each for each in group.words if each.is_part]:
        for part in parts:
            yield _query_for_any_covered(schema, [*asked, part], fields, share / len(parts))
        return
    if asked:
        yield _query_for_any_covered(
            schema, asked, fields, share * (1 - _OF_MEANT if len(group.words) > 1 else 1)
        )
    if len(group.words) > 1 or not asked:
        yield _query_for_any_covered(schema, group.words, fields, share * _OF_MEANT)


def _query_for_any_covered(
    schema: tantivy.Schema, words: Sequence[WantedWord], fields: Sequence[str], share: float
) -> Any:
    terms = [
        (
            tantivy.Occur.Should,
            tantivy.Query.term_query(schema, f"{name}{each.suffix}", each.word, "freq"),
        )
        for each in words
        for name in fields
    ]
    return tantivy.Query.const_score_query(tantivy.Query.boolean_query(terms), share)
