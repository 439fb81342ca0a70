"""What many memories say, compared sentence by sentence: what is said again, and what cannot all
hold. Each sentence counts once, whoever says it, so a summary that quotes its sources changes
nothing here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from vaultmem.notes import sentences
from vaultmem.upkeep import duplicates
from vaultmem.upkeep.consolidation.contradictions import Difference, contradiction, keeps_apart
from vaultmem.upkeep.consolidation.drafts import SourceMemory, is_said
from vaultmem.upkeep.consolidation.statements import (
    SaidSentence,
    says_all,
    says_same,
    statement,
    statement_stems,
)

_SENTENCES: Final = 12  # of a memory that are compared
_SHORT: Final = 3  # sentences of a memory that is replaced as a whole
_SPEAKERS: Final = 50  # of one sentence that are told of
_SHARED: Final = 2  # words, before two sentences are looked at
_LOOSE: Final = 0.4  # of all words of two sentences, where one says all that the other does


class Disagreement(NamedTuple):
    """Two memories, of which each says something that cannot hold beside the other."""

    older: SourceMemory
    newer: SourceMemory
    older_sentence: str
    newer_sentence: str
    difference: Difference  # the older one's first

    @property
    def proposal(self) -> str | None:
        """What would settle it; nothing can be said in an observation, or of half a note."""
        old = self.older
        if old.block or len(sentences.sentences(old.text)) > _SHORT or not self.newer.link:
            return None
        return f'superseded_by: "{self.newer.link}" in {old.path}'

    @property
    def mark(self) -> str:
        """The same for the same two sentences, whichever memories say them."""
        return review_mark("conflict", *sorted((self.older_sentence, self.newer_sentence)))


def review_mark(kind: str, *what: str) -> str:
    """The id of an item on the list for review."""
    return "r-" + hashlib.blake2b("\0".join((kind, *what)).encode(), digest_size=4).hexdigest()


class Double(NamedTuple):
    """A memory, and others that say nothing beyond it."""

    kept: SourceMemory
    others: list[SourceMemory]


@dataclass(frozen=True)
class Comparison:
    """Of sources that belong to one user and project, oldest first."""

    sources: Sequence[SourceMemory]

    @cached_property
    def _compared_sentences(self) -> tuple[list[list[int]], list[str]]:
        numbers: dict[str, int] = {}
        said = [
            [
                numbers.setdefault(text, len(numbers))
                for text in sentences.sentences(source.text)[:_SENTENCES]
            ]
            for source in self.sources
        ]
        return said, list(numbers)

    @property
    def said(self) -> list[list[int]]:
        """Of each source the numbers of its statements."""
        return self._compared_sentences[0]

    @property
    def texts(self) -> list[str]:
        """The statements, by their numbers."""
        return self._compared_sentences[1]

    def _compared_statement(self, number: int) -> SaidSentence:
        return statement(self.texts[number])

    @cached_property
    def speakers(self) -> list[list[int]]:
        """Of each statement the numbers of the sources that say it."""
        found: list[list[int]] = [[] for _ in self.texts]
        for number, said in enumerate(self.said):
            for one in dict.fromkeys(said):
                found[one].append(number)
        return found

    @cached_property
    def _compared_pairs(self) -> list[tuple[int, int]]:
        return duplicates.near_duplicates(self._compared_stems, _SHARED)

    @cached_property
    def _compared_stems(self) -> list[frozenset[str]]:
        return [statement_stems(text) for text in self.texts]

    # --- what cannot all hold ------------------------------------------------------------

    @cached_property
    def conflicts(self) -> list[Disagreement]:
        """For each memory that something newer contradicts, the newest that does."""
        newest: dict[tuple[int, int], Disagreement] = {}
        latest: dict[tuple[int, int], int] = {}
        for a, b in self._contradicting_pairs:
            for first, second in self._disagreeing_speakers(a, b):
                old, new = sorted((first, second))
                said = (a, b) if first == old else (b, a)
                if new > latest.get((old, said[0]), -1):
                    latest[old, said[0]] = new
                    newest[old, said[0]] = self._disagreement_between(old, new, *said)
        return sorted(newest.values(), key=lambda c: (c.older.id, c.newer.id))

    @cached_property
    def _contradicting_pairs(self) -> list[tuple[int, int]]:
        said = self._compared_statement
        return [
            (a, b) for a, b in self._compared_pairs if contradiction(said(a), said(b)) is not None
        ]

    def _disagreement_between(self, old: int, new: int, a: int, b: int) -> Disagreement:
        one, other = self._compared_statement(a), self._compared_statement(b)
        difference = contradiction(one, other)
        assert difference is not None
        return Disagreement(self.sources[old], self.sources[new], one.text, other.text, difference)

    def _disagreeing_speakers(self, a: int, b: int) -> Iterator[tuple[int, int]]:
        """A summary speaks for the sources that it was drawn from."""
        both = {number for number in self.speakers[a] if number in self.speakers[b]}
        for first in self._compared_speakers(a)[:_SPEAKERS]:
            for second in self._compared_speakers(b)[:_SPEAKERS]:
                if first not in both and second not in both:
                    yield first, second

    def _compared_speakers(self, number: int) -> list[int]:
        speakers = self.speakers[number]
        speakers = [one for one in speakers if not self.sources[one].replaced]
        return [one for one in speakers if self.sources[one].drawn] or speakers

    def contested(self, settled: Set[str]) -> set[str]:
        """The ids of all who say something that another denies, unless a person settled it."""
        return {
            self.sources[n].id
            for a, b in self._contradicting_pairs
            if review_mark("conflict", *sorted((self.texts[a], self.texts[b]))) not in settled
            and any(True for _ in self._disagreeing_speakers(a, b))
            for n in (*self.speakers[a], *self.speakers[b])
        }

    @cached_property
    def apart(self) -> set[tuple[int, int]]:
        """Statements of which not both should stand in one text, by their numbers."""
        found, said = set(self._contradicting_pairs), self._compared_statement
        found |= {(a, b) for a, b in self._compared_pairs if keeps_apart(said(a), said(b))}
        return found

    def are_apart(self, first: int, second: int) -> bool:
        """Whether two sources should not go into one text, by their numbers."""
        pairs = ((a, b) for a in self.said[first] for b in self.said[second])
        return any((min(pair), max(pair)) in self.apart for pair in pairs)

    # --- what is said again --------------------------------------------------------------

    @cached_property
    def repeated(self) -> list[list[int]]:
        """Groups of statements that say the same, or one all that another says."""
        near: dict[int, set[int]] = {}
        for a, b in self._compared_pairs:
            if is_repetition(self._compared_statement(a), self._compared_statement(b)):
                near.setdefault(a, set()).add(b)
                near.setdefault(b, set()).add(a)
        groups: list[list[int]] = []
        left = set(range(len(self.texts)))
        for lead in sorted(
            left, key=lambda n: (-self._compared_voices(n, near), len(self.texts[n]), n)
        ):
            if lead in left:
                group = [lead, *sorted(near.get(lead, set()) & left)]
                left -= set(group)
                groups.append(group)
        return groups

    def _compared_voices(self, number: int, near: dict[int, set[int]]) -> int:
        return len({s for n in (number, *near.get(number, ())) for s in self.speakers[n]})

    def doubles(self, free: Set[str]) -> Iterator[Double]:
        """Memories that say nothing beyond what another one says, which lasts."""
        left = {
            n for n, source in enumerate(self.sources) if source.id in free and not source.block
        }
        for group in self.repeated:
            speakers = sorted({n for one in group for n in self.speakers[one]} & left)[-_SPEAKERS:]
            if len(speakers) < 2:
                continue
            lasting = [n for n in speakers if self.sources[n].is_lasting]
            for kept in sorted(lasting, key=lambda n: (-len(self._compared_words(n)), -n)):
                others = [n for n in speakers if n != kept and self._is_compared_double(n, kept)]
                if kept in left and (others := [n for n in others if n in left]):
                    left -= {kept, *others}
                    yield Double(self.sources[kept], [self.sources[n] for n in others])

    def _compared_words(self, number: int) -> set[str]:
        return {stem for n in self.said[number] for stem in self._compared_stems[n]}

    def _is_compared_double(self, number: int, of: int) -> bool:
        source = self.sources[number]
        if source.drawn or (source.used and source.is_event) or self.are_apart(number, of):
            return False
        mine, theirs = ([self._compared_statement(n) for n in self.said[x]] for x in (number, of))
        return is_said(mine, theirs)


def is_repetition(a: SaidSentence, b: SaidSentence) -> bool:
    if says_same(a, b):
        return True
    mine, other = a.all_stems, b.all_stems
    loose = len(mine & other) >= max(_SHARED, _LOOSE * len(mine | other))
    return loose and (says_all(a, b) or says_all(b, a))


def comparisons_by_home(sources: Sequence[SourceMemory]) -> list[Comparison]:
    """What belongs to one user and project is compared, and nothing beyond."""
    homes: dict[tuple[str, str], list[SourceMemory]] = {}
    for source in sources:
        homes.setdefault(source.home, []).append(source)
    return [Comparison(home) for home in homes.values()]
