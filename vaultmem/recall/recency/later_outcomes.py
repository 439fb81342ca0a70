"""Of what sessions tell of one thing, the latest comes first: whoever asks how the test run ended
means the last one, and what failed once may have passed since."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from ulid_transform import ulid_to_timestamp

from vaultmem.errors import VaultmemError
from vaultmem.index import INDEX_FAILURES, CatalogRow, Index, PassagePlace
from vaultmem.notes.journal_text import work_lines
from vaultmem.notes.note import note_body
from vaultmem.recall.fusion import Candidate, Ranking
from vaultmem.recall.snippets import entry_text
from vaultmem.storage.store import Store

_COMPARED: Final = 60  # hits
_FIRST: Final = 10
_AS_WELL: Final = 0.75  # the later one's score in parts of the earlier one's
_COVERED: Final = 0.02  # of a question's words that the later one may say less
_COVERED_IN_ONE: Final = 0.35  # of those that the earlier one of a session says
_BEHIND: Final = 0.98
_KIND: Final = re.compile(r"(\w+): ")
_ULID: Final = 26  # letters
_ENDINGS: Final = (work_lines.ENDING, work_lines.OPEN)


class TimedOutcome(NamedTuple):
    """A line of a journal with words of the question that tells how something ended, for then."""

    hit: Candidate
    seconds: float
    thing: tuple[str, str]  # the project, and what it was: tests, a command, the session
    command: tuple[int, str]  # the journal and the command; of a session no command


class LaterOutcomes:
    def __init__(self, store: Store, index: Index) -> None:
        self._store = store
        self._index = index
        self._bodies: dict[int, str] = {}

    def prefer(self, ranking: Ranking, *, across: bool) -> None:
        """An earlier one and a later one change places; `across` journals as well."""
        with contextlib.suppress(*INDEX_FAILURES):  # then they stay as they are
            first = ranking.first(_COMPARED)
            best = [ranking.candidate(memory) for memory in first if memory.observation]
            if across and len(best) > 1:
                for outcomes in _groups(self._outcomes(best), lambda each: each.thing):
                    _put_later_first(ranking, outcomes)
            if best:
                found = self._outcomes(list(_with_their_journals(ranking)))
                for outcomes in _groups(found, lambda each: each.command):
                    _put_last_first(ranking, outcomes)

    def _outcomes(self, events: Sequence[Candidate]) -> Iterator[TimedOutcome]:
        lookup = self._index.lookup
        rows = lookup.rows({hit.memory.note for hit in events})
        places = lookup.places([hit.memory.observation for hit in events])
        for hit in events:
            place, row = places.get(hit.memory.observation), rows.get(hit.memory.note)
            if place is None or row is None or not place.block or not hit.covered:
                continue
            said = entry_text(self._line_at(row, place))
            if outcome := _outcome(hit, row, place, said):
                yield outcome

    def _line_at(self, row: CatalogRow, place: PassagePlace) -> str:
        if row.note not in self._bodies:
            try:
                stored = self._store.read(row.path)
                same = stored.version == row.version
                self._bodies[row.note] = note_body(stored.raw) if same else ""
            except VaultmemError:
                self._bodies[row.note] = ""
        return self._bodies[row.note][place.start : place.end].partition("\n")[0]


def _with_their_journals(ranking: Ranking) -> Iterator[Candidate]:
    """The first events, and whatever else was found in their journals."""
    journals = {memory.note for memory in ranking.first(_FIRST) if memory.observation}
    found = [
        ranking.candidate(memory)
        for memory, _ in ranking.scores()
        if memory.observation and memory.note in journals
    ]
    yield from sorted(found, key=lambda hit: -hit.score)


def _outcome(
    hit: Candidate, row: CatalogRow, place: PassagePlace, said: str
) -> TimedOutcome | None:
    kind = _KIND.match(said)
    if kind is None or (seconds := _seconds(place.block)) is None:
        return None
    project = (row.project or "").casefold()
    if run := work_lines.run_of_line(said[kind.end() :]):
        thing = "\0tests" if run.of_tests else run.command
        return TimedOutcome(hit, seconds, (project, thing), (row.note, run.command))
    if kind[1] in _ENDINGS:
        return TimedOutcome(hit, seconds, (project, f"\0{kind[1]}"), (row.note, ""))
    return None


def _seconds(block: str) -> float | None:
    try:
        return ulid_to_timestamp(block) / 1000 if len(block) == _ULID else None
    except ValueError:
        return None


def _groups(
    outcomes: Iterable[TimedOutcome], key: Callable[[TimedOutcome], Hashable]
) -> Iterable[list[TimedOutcome]]:
    groups: dict[Hashable, list[TimedOutcome]] = {}
    for each in outcomes:
        groups.setdefault(key(each), []).append(each)
    return groups.values()


def _put_later_first(ranking: Ranking, outcomes: list[TimedOutcome]) -> None:
    """Of several sessions: one change of places for each two that answer as well."""
    places = [each.hit.score for each in outcomes]
    for i, j in itertools.combinations(range(len(outcomes)), 2):
        old, new = outcomes[i].hit, outcomes[j].hit
        as_well = new.score >= _AS_WELL * old.score and new.covered >= old.covered - _COVERED
        other = new.memory.note != old.memory.note
        if as_well and other and outcomes[j].seconds > outcomes[i].seconds:
            outcomes[i], outcomes[j] = outcomes[j], outcomes[i]
    for each, score in zip(outcomes, places, strict=True):
        if each.hit.score != score:
            why = "later" if score > each.hit.score else "earlier"
            ranking.set_score(each.hit.memory, score, (why, 1))


def _put_last_first(ranking: Ranking, outcomes: list[TimedOutcome]) -> None:
    """Of one command in one session: how it ended at last stands before how it had, unless the
    question is about that."""
    best, last = outcomes[0], max(outcomes, key=lambda each: each.seconds)
    if last is not best and last.hit.covered >= _COVERED_IN_ONE * best.hit.covered:
        ranking.set_score(last.hit.memory, best.hit.score, ("later", 1))
        ranking.set_score(best.hit.memory, best.hit.score * _BEHIND, ("earlier", _BEHIND))
