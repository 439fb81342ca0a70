"""A question as words of time: each with its kind, its value and where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from vaultmem.recall.date_words import (
    LONGEST_ENTRY,
    french_words,
    future_words,
    lexicon,
    past_words,
    plain,
)
from vaultmem.recall.periods import Period, date_period, iso_week, month_period

_LONGEST: Final = 10_000  # characters of a question
_NUMERIC: Final = (
    r"(?<![\w./:#@-])(?:"
    r"(?P<y>(?:19|20)\d\d)-(?:(?P<m>\d\d)(?:-(?P<d>\d\d))?|[Ww](?P<w>\d\d?)|[Qq](?P<q>[1-4]))"
    r"|(?P<a>\d{1,2})(?P<sep>[./])(?P<b>\d{1,2})(?P=sep)(?P<c>(?:19|20)\d\d)"
    r"|(?P<y2>(?:19|20)\d\d)/(?P<m2>\d{1,2})/(?P<d2>\d{1,2})"
    r")(?![\w/-]|[.:]\d)"
)
_TOKEN: Final = r"['’]s\b|[^\W_]+|[,.?!;:()\n]"


class DateToken(NamedTuple):
    kind: str
    value: str
    start: int
    end: int
    languages: str = ""
    text: str = ""
    periods: tuple[Period, ...] = ()  # of a date in numbers


class DateTokens(NamedTuple):
    all: list[DateToken]
    kinds: str  # one letter for each token
    future: bool  # the question is about what comes
    past: bool
    text: str


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    return re.compile(_NUMERIC), re.compile(_TOKEN)


def date_tokens(text: str) -> DateTokens:
    words = list(_raw_words(text[:_LONGEST]))
    spoken = {word.text for word in words}
    french = len(words) == 1 or not french_words().isdisjoint(spoken)
    found = []
    for token in _joined(words, text):
        if token.text == "hier" and not french:  # German for "here"
            token = token._replace(kind="_")
        found.append(token)
    kinds = "".join(token.kind for token in found)
    past = not past_words().isdisjoint(spoken)
    future = not past and not future_words().isdisjoint(spoken)
    return DateTokens(found, kinds, future, past, text)


def _raw_words(text: str) -> Iterator[DateToken]:
    numeric, token = _patterns()
    at = 0
    for date in [*numeric.finditer(text), None]:
        end = date.start() if date else len(text)
        for match in token.finditer(text, at, end):
            word = match[0].lower()
            if word[0] not in "'’":
                yield DateToken("", "", *match.span(), text=word)
        if date:
            periods = tuple(_numeric_periods(date))
            yield DateToken("Z" if periods else "_", "", *date.span(), text="", periods=periods)
            at = date.end()


def _numeric_periods(match: re.Match[str]) -> Iterator[Period]:
    """The date; of one that is read in two ways, both."""
    number = {name: int(value) for name, value in match.groupdict().items() if _is_number(value)}
    readings: list[Period | None] = []
    if "y" in number:
        if "w" in number:
            readings = [iso_week(number["y"], number["w"])]
        elif "q" in number:
            readings = [month_period(number["y"], 3 * number["q"] - 2, 3)]
        elif "d" in number:
            readings = [date_period(number["y"], number["m"], number["d"])]
        elif 1 <= number["m"] <= 12:
            readings = [month_period(number["y"], number["m"])]
    elif "y2" in number:
        readings = [date_period(number["y2"], number["m2"], number["d2"])]
    else:
        a, b, year = number["a"], number["b"], number["c"]
        readings = [date_period(year, b, a)]
        if match["sep"] == "/" and a != b:  # 3/5/2024 is in March or in May
            readings.append(date_period(year, a, b))
    yield from (period for period in readings if period)


def _is_number(value: str | None) -> bool:
    return value is not None and value.isdecimal()


def _joined(words: list[DateToken], text: str) -> Iterator[DateToken]:
    """Entries of several words become one token, the longest first."""
    known, at = lexicon(), 0
    while at < len(words):
        word = words[at]
        if word.kind:
            yield word
            at += 1
            continue
        for length in range(min(LONGEST_ENTRY, len(words) - at), 0, -1):
            entry = tuple(each.text for each in words[at : at + length])
            found = known.get(entry) or known.get(tuple(map(plain, entry)))
            if found:
                last = words[at + length - 1].end
                joined = " ".join(entry)
                yield DateToken(found.kind, found.value, word.start, last, found.languages, joined)
                break
        else:
            yield _number_or_other(word, text)
        at += length


@cache
def _written() -> re.Pattern[str]:
    return re.compile(
        r"(?P<year>(?:19|20)\d\d)|(?P<number>\d{1,3})(?:st|nd|rd|th|º|ª|er|e)?"
        r"|q(?P<quarter>[1-4])|h(?P<half>[12])|(?:kw|cw|w)(?P<week>\d\d?)"
        r"|(?P<decade>(?:19|20)?[1-9]0)(?:s|er|ern)"
    )


def _number_or_other(word: DateToken, text: str) -> DateToken:
    sign = word.text
    if sign in ",.?!;:()\n":
        # The dot of an ordinal: 5. März
        dotted = sign == "." and text[word.start - 1 : word.start].isdigit()
        kind = "," if sign == "," else "'" if dotted and word.start else "."
        return word._replace(kind=kind)
    match = _written().fullmatch(sign) if sign.isascii() or sign[0].isdigit() else None
    if match and match["number"] and (days := _range_of_days().search(text, *_around(word))):
        first = days.start() == word.start  # of May 3-4
        return word._replace(kind="N" if first else "'", value=match["number"])
    if match is None or _is_glued(word, text):
        return word._replace(kind="_")
    name = match.lastgroup or ""
    if name in ("year", "number") and not match[name].isascii():
        return word._replace(kind="_")
    kinds = {"year": "Y", "number": "N", "quarter": "Q", "half": "h", "week": "K", "decade": "D"}
    return word._replace(kind=kinds[name], value=match[name])


@cache
def _range_of_days() -> re.Pattern[str]:
    return re.compile(r"(?<![\w.,:/#-])[0-3]?\d[-–][0-3]?\d(?![\w/-]|[.:,]\d)")


def _around(word: DateToken) -> tuple[int, int]:
    return max(0, word.start - 3), word.end + 4


def _is_glued(word: DateToken, text: str) -> bool:
    """Part of a version, a price, a time, an identifier."""
    before, after = text[max(0, word.start - 1) : word.start], text[word.end : word.end + 2]
    if before and before in ".:/#@$€£_-+=":
        spaced = before == "-" and text[max(0, word.start - 2) : word.start - 1].isspace()
        if not spaced and not text[: word.start].endswith(("mid-", "Mid-")):
            return True
    return bool(after) and (after[0] in "%€$£_/@°" or (after[0] in ".:-," and after[1:].isdigit()))
