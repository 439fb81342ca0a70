"""Whether two sentences cannot both hold: another value, state, name or choice for the same thing,
or one says what the other denies. By words; what they leave open is no contradiction.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from vaultmem.upkeep.consolidation.statements import SaidSentence, SaidWord, StatedValue

_FRAME: Final = 0.6  # of the shorter one's words that both have, where a value differs
_FRAME_DENIED: Final = 0.75
_NUMBERED_WORDS: Final = """
    room section chapter step ticket issu pr bug tabl figur phas task item pag part level topic
    lin session day week sprint mileston question exercis number case test attempt volum season
    episod
"""
_NUMBERED: Final = frozenset(_NUMBERED_WORDS.split())
_HOLDING: Final = frozenset(("port", "version", "python", "node", "java", "postgres", "android"))
_PAST: Final = re.compile(
    r"\A(?:(?:we|i|they|he|she|again:?|then|today|yesterday)\s+)?(?:\w+ed|ran|wrote|met|went|saw|took"
    r"|made|found|got|began|bought|sent|read|sold|gave|built|cut|put|did|paid|came)\b",
    re.IGNORECASE,
)
_SINGLE: Final = re.compile(
    r"\b(?:is|are|was)\s+(?:now\s+)?(?:in|on|at|called|named)?\s*\Z"
    r"|\b(?:hosted|deployed|deploys?|lives?|located|written|runs?|moved|moves|based|belongs)"
    r"\s+(?:on|in|to|at|by)\s+\Z",
    re.IGNORECASE,
)
_CHOICE: Final = re.compile(
    r"\b(?:prefers?|preferred|chooses?|chose|picks?|picked|uses?|using|go with|switch(?:ed)? to)"
    r"\s+(?:the\s+)?\Z",
    re.IGNORECASE,
)
_PREFERENCE: Final = re.compile(r"\bprefer\w*\s+(?:the\s+)?\Z", re.IGNORECASE)
_PURPOSE: Final = re.compile(r"\b(?:for|as)\b", re.IGNORECASE)
_ROLE: Final = re.compile(r"\A\s*(?:is|are)\s+(?:now\s+)?(?:the|our|my)\b", re.IGNORECASE)
_HALF: Final = re.compile(r" ?[ap]\.?m\b", re.IGNORECASE)
_SLOT: Final = 3  # words that can stand in for one another


class Difference(NamedTuple):
    """What the first says, and what the second says in its place."""

    first: str
    second: str


def contradiction(a: SaidSentence, b: SaidSentence) -> Difference | None:
    """In what the two cannot both hold; None where they can."""
    return (
        _contradiction_in_value(a, b)
        or _contradiction_by_denial(a, b)
        or _contradiction_in_choice(a, b)
    )


def keeps_apart(a: SaidSentence, b: SaidSentence) -> bool:
    """Whether one text should not say both, though it may be that both hold."""
    shared = a.all_stems & b.all_stems
    return len(shared) > 1 and any(_contradicting_values(a, b)) and not _are_both_events(a, b)


# --- another value ------------------------------------------------------------------------


def _contradicting_values(
    a: SaidSentence, b: SaidSentence
) -> list[tuple[StatedValue, StatedValue]]:
    """Values of one kind, of which the two have none in common."""
    found = []
    for kind in dict.fromkeys(value.kind for value in a.values if value.kind != "number behind "):
        mine = [value for value in a.values if value.kind == kind]
        other = [value for value in b.values if value.kind == kind]
        if other and {value.value for value in mine}.isdisjoint(value.value for value in other):
            if _is_number_of_subject(mine[0], a) or _is_number_of_subject(other[0], b):
                return []  # they are not of the same thing
            found.append((mine[0], other[0]))
    return found


def _contradiction_in_value(a: SaidSentence, b: SaidSentence) -> Difference | None:
    differing = _contradicting_values(a, b)
    if (
        not differing
        or not _may_contradict(a, b)
        or _are_both_events(a, b)
        or _differ_in_subject(a, b)
    ):
        return None
    one, other = differing[0]
    return Difference(_contradicting_part(one, a), _contradicting_part(other, b))


def _may_contradict(a: SaidSentence, b: SaidSentence) -> bool:
    mine, other = a.all_stems, b.all_stems
    shared = len(mine & other)
    most = shared > 1 and shared >= _FRAME * min(len(mine), len(other))
    return most or (shared == 1 and mine == other)


def _are_both_events(a: SaidSentence, b: SaidSentence) -> bool:
    """What was done once has its own numbers each time, and what is dated its own date."""
    if _PAST.match(a.text) and _PAST.match(b.text):
        return True
    return all(any(v.kind == "date" and v.place < 2 for v in s.values) for s in (a, b))


def _is_number_of_subject(value: StatedValue, of: SaidSentence) -> bool:
    """`Room 2`, `plan 3`: another number is another thing. Not so `PostgreSQL 14` or `port 80`."""
    before = of.words[value.place - 1] if value.place else None
    if not value.kind.startswith("number behind ") or before is None or not before.stem:
        return False
    product = value.place > 1 and before.text[:1].isupper()
    plain = not product and "." not in value.value and before.stem not in _HOLDING
    return before.stem in _NUMBERED or plain


def _differ_in_subject(a: SaidSentence, b: SaidSentence) -> bool:
    """Whether in the same place each has a word of its own: `staging` here, `production` there."""
    first, second = _telling_words(a), _telling_words(b)
    mine = _contradicting_places(first, b.all_stems)
    return any(place in mine for place in _contradicting_places(second, a.all_stems))


def _contradicting_places(words: Sequence[SaidWord], known: frozenset[str]) -> set[tuple[str, str]]:
    """The places of words that are not known elsewhere: the word before or behind each."""
    found = set()
    for at, word in enumerate(words):
        if word.stem not in known:
            before = words[at - 1].stem if at else ""
            behind = words[at + 1].stem if at + 1 < len(words) else ""
            found |= {("behind", before)} if before in known else set()
            found |= {("before", behind)} if behind in known else set()
    return found


def _telling_words(a: SaidSentence) -> list[SaidWord]:
    return [word for word in a.words if word.stem]


def _contradicting_part(value: StatedValue, of: SaidSentence) -> str:
    """The value with the word that it counts or that it follows."""
    word = of.words[value.place]
    if value.kind.startswith("state ") and word.denied:
        return _contradicting_phrase(of, value.place, value.place)
    if value.kind.startswith("number of ") and value.place + 1 < len(of.words):
        return of.text[word.start : of.words[value.place + 1].end]
    if value.kind == "clock" and (half := _HALF.match(of.text, word.end)):
        return of.text[word.start : half.end()]
    before = of.words[value.place - 1] if value.place else word
    behind = value.kind.startswith("number behind ") and before.stem
    return of.text[(before if behind else word).start : word.end]


# --- what one denies ----------------------------------------------------------------------


def _contradiction_by_denial(a: SaidSentence, b: SaidSentence) -> Difference | None:
    mine, other = a.all_stems, b.all_stems
    shared = len(mine & other)
    share = shared / max(1, min(len(mine), len(other)))
    if (
        share < _FRAME_DENIED
        or (shared < 2 and mine != other)
        or any(_contradicting_values(a, b))
        or _differ_in_subject(a, b)
    ):
        return None
    denied = (a.denied & b.stems) | (b.denied & a.stems)
    enough = 2 * len(a.denied & b.stems) >= len(a.denied) > 0
    enough |= 2 * len(b.denied & a.stems) >= len(b.denied) > 0
    if not denied or not enough or not (a.stems & b.stems or len(denied) > 1 or share == 1):
        return None
    return Difference(_denied_phrase(a, denied), _denied_phrase(b, denied))


def _denied_phrase(of: SaidSentence, stems: frozenset[str]) -> str:
    """The words around these, from what denies them on."""
    places = [n for n, word in enumerate(of.words) if word.stem in stems]
    return _contradicting_phrase(of, places[0], places[-1])


def _contradicting_phrase(of: SaidSentence, first: int, last: int) -> str:
    while first and of.words[first].denied and of.words[first - 1].denied:
        first -= 1
    return of.text[of.words[first].start : of.words[last].end]


# --- another choice -----------------------------------------------------------------------


def _contradiction_in_choice(a: SaidSentence, b: SaidSentence) -> Difference | None:
    first, second = _contradicting_words(a, b), _contradicting_words(b, a)
    if not first or not second or a.denied or b.denied:
        return None
    rest = len(a.stems & b.stems)
    equal = len(a.stems) - len(first) == rest == len(b.stems) - len(second)
    if not rest or not equal or any(_contradicting_values(a, b)) or _are_both_events(a, b):
        return None
    if not (_is_exclusive_choice(a, first, rest) and _is_exclusive_choice(b, second, rest)):
        return None
    return Difference(_contradicting_text(a, first), _contradicting_text(b, second))


def _contradicting_words(a: SaidSentence, b: SaidSentence) -> list[SaidWord]:
    """The words that only the first has, where they are few and stand together."""
    words = _telling_words(a)
    places = [at for at, word in enumerate(words) if word.stem not in b.stems]
    together = places and places[-1] - places[0] < len(places) <= _SLOT
    return [words[at] for at in places] if together else []


def _is_exclusive_choice(of: SaidSentence, slot: Sequence[SaidWord], rest: int) -> bool:
    """Whether only one can stand there: a choice, a place, a name in a role."""
    before, behind = of.text[: slot[0].start], of.text[slot[-1].end :]
    if _CHOICE.search(before):
        wanted = _PREFERENCE.search(before) or _PURPOSE.search(behind)
        return bool(wanted or _PURPOSE.search(before))
    if not before.strip():
        return rest > 1 and _ROLE.match(behind) is not None and slot[0].text[:1].isupper()
    named = all(word.named for word in slot)
    return named and _SINGLE.search(before) is not None


def _contradicting_text(of: SaidSentence, slot: Sequence[SaidWord]) -> str:
    return of.text[slot[0].start : slot[-1].end]
