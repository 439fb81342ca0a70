"""What comes up again and again: sentences that are said in several sessions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from vaultmem.notes import sentences
from vaultmem.upkeep.consolidation.comparison import Comparison
from vaultmem.upkeep.consolidation.drafts import SourceMemory, occasions
from vaultmem.upkeep.consolidation.statements import statement

_SESSIONS: Final = 3  # in so many something comes up before it is a pattern
_MOST: Final = 20
_LONGEST: Final = 300  # characters of a sentence
_WORDS: Final = 2  # of a sentence that tells of something


@dataclass(frozen=True, slots=True)
class Pattern:
    pattern: str  # a sentence that was said
    frequency: int  # of memories and observations
    suggested_scope: str
    sessions: int
    seen_in: tuple[str, ...] = ()  # these sessions
    derived_from: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A sentence, and the memories of several sessions that say it."""

    sentence: str
    sources: tuple[SourceMemory, ...]
    is_known: bool = False  # a lasting memory says it already

    @property
    def pattern(self) -> Pattern:
        one_home = len({source.home for source in self.sources}) == 1
        sessions = tuple(dict.fromkeys(source.occasion for source in self.sources))
        return Pattern(
            self.sentence,
            len(self.sources),
            "project" if one_home and self.sources[0].project else "user",
            len(sessions),
            sessions,
            tuple(source.id for source in self.sources),
        )


def recurrences(compared: Comparison) -> list[Recurrence]:
    """Most frequent first."""
    found = []
    for group in compared.repeated:
        numbers = sorted({n for one in group for n in compared.speakers[one]})
        sources = tuple(source for n in numbers if not (source := compared.sources[n]).drawn)
        lead = compared.texts[group[0]]
        if is_recurring(sources) and len(statement(lead).stems) >= _WORDS:
            known = any(compared.sources[n].is_lasting for n in numbers)
            found.append(Recurrence(lead, sources, known))
    return sorted(found, key=lambda each: (-len(each.sources), each.sentence))[:_MOST]


def recurring_in_other_words(
    groups: Iterable[Sequence[SourceMemory]], known: Sequence[Recurrence]
) -> Iterator[Recurrence]:
    """What groups of the same meaning say, as far as it was not found by its words."""
    found = {source.id for one in known for source in one.sources}
    for sources in groups:
        if is_recurring(sources) and not any(source.id in found for source in sources):
            said = sentences.main_sentences([source.text for source in sources], 1, _LONGEST)
            if said:
                yield Recurrence(said[0], tuple(sources))


def is_recurring(sources: Sequence[SourceMemory]) -> bool:
    return occasions(sources) >= _SESSIONS
