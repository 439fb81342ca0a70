"""Names that follow each other: `Rates 2025` and `Rates 2026`, `Rota` and `Rota from September`.

In one folder the later of a series usually took the place of the earlier one. A date in front is
a log's, and the days of a log do not replace each other.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

from vaultmem.base.text_forms import MONTH_NUMBERS
from vaultmem.notes.attributes import day_in_name

# What a name ends with, and what that says of its place among others with the same beginning.
VERSION, DATE, SEASON, CHANGED = "version", "date", "season", "changed"
_SEASONS: Final = {
    3: "spring frühling frühjahr primavera printemps",
    6: "summer sommer verão verano été",
    9: "autumn fall herbst outono otoño automne autunno",
    12: "winter inverno invierno hiver",
}
_SINCE: Final = (
    "from since after as_of ab seit nach desde depois_de a_partir_de à_partir_de depuis après vanaf"
)
_NEW: Final = "new updated revised current neu aktuell novo nova nuevo nueva nouveau nouvelle"
_LONGEST: Final = 200


class NameSeries(NamedTuple):
    name: str  # what is called
    kind: str
    place: tuple[int, ...]
    mark: str  # how the title says it

    @property
    def follows_bare_name(self) -> bool:
        """Whether it came after the note that is called by the name alone."""
        return self.kind in (CHANGED, SEASON) or (self.kind == VERSION and self.place > (1,))

    @property
    def is_year(self) -> bool:
        """One that is over has been followed by the note that is called by the name alone."""
        return self.kind == DATE and len(self.place) == 1


def name_series(title: str) -> NameSeries | None:
    match = _endings().fullmatch(title.strip()[:_LONGEST])
    if match is None:
        return None
    name = match["name"].strip(" ,_-(–—").casefold()
    if not name or day_in_name(name):
        return None
    return NameSeries(name, *_place(match), match["mark"].strip())


def _place(match: re.Match[str]) -> tuple[str, tuple[int, ...]]:
    if match["version"]:
        return VERSION, tuple(int(part) for part in match["version"].split("."))
    if match["new"]:
        return CHANGED, ()
    if match["date"]:
        return CHANGED if match["since"] else DATE, _numbers(match["date"])
    month = _months()[match["month"].casefold()]
    place = (int(match["year"]), month) if match["year"] else (month,)
    kind = DATE if match["year"] else SEASON
    return CHANGED if match["since"] else kind, place


def _numbers(date: str) -> tuple[int, ...]:
    return tuple(int(part) for part in date.split("-"))


@cache
def _months() -> dict[str, int]:
    named = {name: number for name, number in MONTH_NUMBERS.items() if len(name) > 3}
    return named | {word: month for month, words in _SEASONS.items() for word in words.split()}


@cache
def _endings() -> re.Pattern[str]:
    months = "|".join(sorted(map(re.escape, _months()), key=len, reverse=True))
    since = "|".join(word.replace("_", " ") for word in _SINCE.split())
    return re.compile(
        r"(?P<name>.*?\D)[\s,_–—-]*\(?(?P<mark>"
        r"v(?:ersion)?[ .]?(?P<version>\d{1,4}(?:\.\d{1,4}){0,3})"
        rf"|(?<![^\W_])(?P<new>{'|'.join(_NEW.split())})"
        rf"|(?:(?<![^\W_])(?P<since>{since})[ ]+)?(?:"
        r"(?P<date>(?:19|20)\d\d(?:-[01]\d(?:-[0-3]\d)?)?)"
        rf"|(?<![^\W_])(?P<month>{months})(?:[ ]+(?P<year>(?:19|20)\d\d))?))\)?",
        re.IGNORECASE | re.DOTALL,
    )
