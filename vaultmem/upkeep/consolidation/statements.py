"""What a sentence says, for comparing: its words, the values in it, and what it denies.

By words alone. Two sentences are the same when their words are and no value differs; they differ
when the same thing has another number, day, state or name in each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from vaultmem.base.words import CJK_RUN, WORDS_SAYING_NOTHING, pairs_of_signs, word_stem
from vaultmem.upkeep.duplicates import shared_part

_READ: Final = 600  # characters of a sentence
_DATE: Final = r"\d{4}-\d\d-\d\d"
_CLOCK: Final = r"\d{1,2}:\d\d(?::\d\d)?|\d{1,2}(?=[ ]?[ap]\.?m\b)"
_NUMBER: Final = r"\d+(?:[.,]\d+)*"
# A word may have signs inside, as a path, a flag or a version has.
_LETTERS: Final = r"[^\W\d_](?:[\w'’]|[-./+](?=\w))*"
_TOKEN: Final = re.compile(
    rf"(?P<date>{_DATE})|(?P<clock>\b(?:{_CLOCK}))|(?P<number>\bv?{_NUMBER})(?=[a-z%]{{0,3}}\b)"
    r"|(?P<end>[,;.:!?()](?=\s|$)|[()–—])"
    rf"|(?P<word>{_LETTERS})|(?P<percent>%)",
    re.IGNORECASE,
)
_WORD: Final = re.compile(_LETTERS)
_AFTERNOON: Final = re.compile(r"[ ]?p\.?m\b", re.IGNORECASE)

_COUNTED: Final = "zero one two three four five six seven eight nine ten eleven twelve"
_NUMBERS: Final = {word: str(number) for number, word in enumerate(_COUNTED.split())} | {
    "fifteen": "15",
    "twenty": "20",
    "thirty": "30",
    "sixty": "60",
    "hundred": "100",
}
_DAYS: Final = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_MONTHS: Final = "january february march april june july august september october november december"
_RHYTHMS: Final = "hourly daily nightly weekly fortnightly monthly quarterly yearly"
_CALENDAR: Final = (
    {f"{name}{s}": ("day", name) for name in _DAYS for s in ("", "s")}
    | {name: ("month", name) for name in _MONTHS.split()}
    | {name: ("rhythm", "daily" if name == "nightly" else name) for name in _RHYTHMS.split()}
)
_UNITS: Final = {
    "h": "hour",
    "hr": "hour",
    "hrs": "hour",
    "min": "minut",
    "mins": "minut",
    "s": "second",
    "sec": "second",
    "secs": "second",
    "%": "percent",
}
_OPPOSITES: Final = (
    *(("on", "off"), ("enabled", "disabled"), ("enable", "disable"), ("yes", "no")),
    *(("true", "false"), ("allowed", "forbidden"), ("open", "closed"), ("always", "never")),
    *(("required", "optional"), ("public", "private"), ("manual", "automatic")),
    *(("synchronous", "asynchronous"), ("included", "excluded"), ("active", "inactive")),
    *(("accepted", "rejected"), ("accepts", "rejects"), ("before", "after")),
    *(("safe", "unsafe"), ("stable", "unstable")),
    *(("mutable", "immutable"), ("supported", "unsupported"), ("manually", "automatically")),
)
# Small words of a place or an answer: states only right behind one of those below, and at an end.
_STATES: Final = frozenset(("on", "off", "yes", "no", "open"))
_STATE_ENDS: Final = re.compile(
    r"\s*(?:\Z|[,;.:!?)]|(?:by default|now|again|for|in|since|but|and)\b)", re.IGNORECASE
)
_BEING_WORDS: Final = "is are was were be been stays stay remains turned switched set to now again"
_BEING: Final = frozenset(_BEING_WORDS.split())
_OPPOSITE: Final = {
    word: (f"state {pair[0]}", other)
    for pair in _OPPOSITES
    for word, other in (pair, reversed(pair))
}
_DENYING: Final = frozenset(["not", "never", "no", "without", "cannot", "neither", "nor", "avoid"])
# Denying only together with the next word, or where something is preferred over another.
_DENYING_TWO: Final = re.compile(r"(?:instead of|rather than|stop(?:ped)? using)\b", re.IGNORECASE)
_PREFERRING: Final = re.compile(r"\b(?:prefer|choose|chose|pick|like)", re.IGNORECASE)
# What says that something is so, and nothing of what: it may be another word in each sentence.
_EMPTY_WORDS: Final = """
    a an am as at be by do go if in is it me my no of on or so to up us we he i don didn isn
    doesn won wasn aren couldn shouldn wouldn hasn run runs running ran has have takes take
    taking took uses use used using gets get goes going allows allow allowed remains remain
    stays stay kept keeps keep becomes become currently usually normally please okay default set
    sets decided decision prefer prefers preferred want wants wanted asked ask asks like likes
    liked each today yesterday tomorrow built made make makes longer anymore
"""
_EMPTY: Final = WORDS_SAYING_NOTHING.union(_EMPTY_WORDS.split())


class StatedValue(NamedTuple):
    """Something that can be another: a number, a day, a state."""

    kind: str  # with what it counts: of two values of one kind only one can hold
    value: str
    place: int  # of its word among the sentence's


class SaidWord(NamedTuple):
    text: str
    stem: str  # empty for one that says nothing
    denied: bool
    value: bool
    named: bool  # written like a name, and not only because it comes first
    start: int
    end: int


class SaidSentence(NamedTuple):
    text: str
    words: tuple[SaidWord, ...]
    stems: frozenset[str]  # of what it says
    denied: frozenset[str]  # of what it says is not so
    all_stems: frozenset[str]
    values: tuple[StatedValue, ...]


@lru_cache(maxsize=30_000)
def statement(text: str) -> SaidSentence:
    words, values = _read_statement(text)
    said = frozenset(word.stem for word in words if word.stem and not word.denied)
    denied = frozenset(word.stem for word in words if word.stem and word.denied)
    if CJK_RUN.search(text):
        said |= frozenset(pairs_of_signs(text))
    return SaidSentence(text, words, said, denied - said, said | denied, values)


def statement_stems(text: str) -> frozenset[str]:
    """What a sentence may say, and more: good enough to find those that it should be compared to."""
    found = {_stated_stem(word) for word in set(_WORD.findall(text[:_READ].casefold())) - _EMPTY}
    return frozenset(found.union(pairs_of_signs(text)) if CJK_RUN.search(text) else found)


def _read_statement(text: str) -> tuple[tuple[SaidWord, ...], tuple[StatedValue, ...]]:
    words: list[SaidWord] = []
    values: list[StatedValue] = []
    denying = False
    for found in _TOKEN.finditer(text[:_READ]):
        plain = found[0].casefold().replace("’", "'")
        if found["end"]:
            denying = False
            continue
        kind = _stated_kind(found, plain, words, denying)
        denying = denying or _denies_in_statement(found, plain)
        stem = "" if kind or plain in _EMPTY or len(plain) < 2 else _stated_stem(plain)
        named = bool(words) and (found[0][:1].isupper() or any(map(str.isdigit, plain)))
        if kind:
            values.append(StatedValue(*kind, len(words)))
        words.append(
            SaidWord(found[0], stem, denying, bool(kind), named, found.start(), found.end())
        )
    return tuple(words), tuple(_stated_with_units(values, words))


def _denies_in_statement(found: re.Match[str], plain: str) -> bool:
    if plain == "over":
        return _PREFERRING.search(found.string, 0, found.start()) is not None
    two = _DENYING_TWO.match(found.string, found.start())
    return plain in _DENYING or plain.endswith("n't") or two is not None


def _stated_kind(
    found: re.Match[str], plain: str, words: Sequence[SaidWord], denied: bool
) -> tuple[str, str] | None:
    """Of what kind a word is a value, and which."""
    if found["date"]:
        return "date", plain
    if found["clock"]:
        hour, _, minute = plain.partition(":")
        late = _AFTERNOON.match(found.string, found.end()) and int(hour) < 12
        return "clock", f"{int(hour) + (12 if late else 0)}:{minute[:2] or '00'}"
    if found["number"]:
        return "number", re.sub(r",(?=\d{3}\b)", "", plain.removeprefix("v"))
    if plain in _NUMBERS:
        return "number", _NUMBERS[plain]
    if plain in _CALENDAR:
        return _CALENDAR[plain]
    if plain in _OPPOSITE and _states_a_value(found, plain, words):
        kind, other = _OPPOSITE[plain]
        return kind, other if denied else plain
    return None


def _states_a_value(found: re.Match[str], plain: str, words: Sequence[SaidWord]) -> bool:
    if plain not in _STATES:
        return True
    behind = bool(words) and words[-1].text.casefold() in _BEING
    return behind and _STATE_ENDS.match(found.string, found.end()) is not None


@lru_cache(maxsize=50_000)
def _stated_stem(word: str) -> str:
    return word_stem(word.removesuffix("'s").replace("-", ""))


def _stated_with_units(
    values: Iterable[StatedValue], words: Sequence[SaidWord]
) -> Iterator[StatedValue]:
    """A number is of the kind of what it counts, or else of what it stands behind."""
    for value in values:
        if value.kind != "number":
            yield value
            continue
        after = words[value.place + 1] if value.place + 1 < len(words) else None
        before = next((w for w in reversed(words[: value.place]) if w.stem), None)
        counts = after is not None and not after.value and after.text.casefold() not in _LINKING
        unit = _UNITS.get(after.text.casefold(), after.stem) if after and counts else ""
        version = "." in value.value and value.place and words[value.place - 1].stem
        if unit and not version:
            yield value._replace(kind=f"number of {unit}")
        elif words[value.place].text.casefold() != "one":
            yield value._replace(kind=f"number behind {before.stem if before else ''}")


_LINKING_WORDS: Final = """
    and or on in at of to for with by from is are was were as per than before after
"""
_LINKING: Final = frozenset(_LINKING_WORDS.split())


# --- the same, or another -------------------------------------------------------------------

_SAME: Final = 0.75  # of the words of the one that has more of its own
_WITHIN: Final = 0.9  # of the words of one that another says too


def says_same(a: SaidSentence, b: SaidSentence) -> bool:
    """Whether both say the same in nearly the same words, with the same values."""
    return (
        shared_part(a.all_stems, b.all_stems) >= _SAME
        and _statements_agree(a, b)
        and known_values(a) == known_values(b)
    )


def says_all(a: SaidSentence, b: SaidSentence) -> bool:
    """Whether the first says all that the second does."""
    shared = len(a.all_stems & b.all_stems)
    within = shared >= _WITHIN * len(b.all_stems)
    return within and _statements_agree(a, b) and known_values(b) <= known_values(a)


def known_values(a: SaidSentence) -> frozenset[tuple[str, str]]:
    return frozenset((value.kind.partition(" ")[0], value.value) for value in a.values)


def _statements_agree(a: SaidSentence, b: SaidSentence) -> bool:
    return not (a.denied & b.stems or b.denied & a.stems)
