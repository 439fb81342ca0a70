"""Notes that were replaced by others: what a note says about itself, and what another says of it.

People seldom go back to mark the old note; the new one says "Replaces [[…]]", or only carries a
later year in its name (`name_series`), which is the weakest of the three signs.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from vaultmem.base.text_forms import MONTH_NUMBERS
from vaultmem.notes.attributes import day_in_name
from vaultmem.notes.links import link_target
from vaultmem.notes.markdown import visible_text
from vaultmem.notes.note import Note

_BY: Final = (
    *("superseded_by", "replaced_by", "superseded-by", "replaced-by", "moved_to", "successor"),
    *("ersetzt_durch", "abgelöst_durch", "nachfolger"),
    *("substituído_por", "substituido_por", "sucessor"),
)
_REPLACES: Final = ("supersedes", "replaces", "ersetzt", "substitui", "predecessor")
_FLAGS: Final = ("superseded", "deprecated", "obsolete", "outdated", "archived", "veraltet")
_SINCE: Final = (
    *("superseded_at", "superseded_on", "replaced_on", "deprecated_on", "archived_on"),
    *("valid_to", "valid_until", "gültig_bis", "válido_até", "ended"),
)
_STATES: Final = """
    superseded replaced outdated obsolete deprecated archived retired expired
    veraltet ersetzt überholt abgelöst archiviert
    substituído substituída obsoleto obsoleta desatualizado desatualizada arquivado arquivada
"""
_TITLE_MARK: Final = (
    r"\((?:old|outdated|obsolete|deprecated|superseded|alt|veraltet|antig[oa])\)\s*\Z"
)
_LINK: Final = r"(?:\*\*|the |der |die |das |pel[oa] |o |a )?(?P<link>\[\[[^\[\]\n]{1,300}\]\])"
# How a sentence begins that is about its note: a mark of a list or callout, "This note is …".
_ABOUT_ITSELF: Final = (
    r"(?:this(?: \w+)? (?:is|was|has been) (?:now )?|(?:now|since [^.\[\]]{1,30}) "
    r"|diese[rs]? \w+ (?:ist|wurde|gilt) (?:seit [^.\[\]]{1,30} )?"
    r"|est[ea] \w+ (?:está|foi|é) )?"
)
_SAID: Final = (
    # with what came instead
    rf"(?:superseded|replaced|obsoleted|succeeded) by {_LINK}",
    rf"(?:moved|migrated) to {_LINK}",
    rf"(?:see|use|read) {_LINK}(?: \w+)? instead\b",
    rf"(?:ersetzt|abgelöst|überholt) (?:durch|von) {_LINK}",
    rf"(?:durch|von) {_LINK} (?:ersetzt|abgelöst|überholt)\b",
    rf"(?:verschoben|umgezogen) nach {_LINK}",
    rf"(?:siehe|nutze) (?:stattdessen|jetzt) {_LINK}",
    rf"substituíd[oa] p(?:or|el[oa]) {_LINK}",
    rf"(?:movid[oa]|mudou) para {_LINK}",
    rf"(?:ver|usar) {_LINK} em vez d",
    # without
    r"(?:outdated|obsolete|deprecated|superseded)\s*(?=[.!:;,(–—-]|\Z)",
    r"no longer (?:valid|true|current|in use|in force|used|applies|up to date)\b",
    r"(?:not valid|not current|not in force) any ?more\b",
    r"(?:veraltet|überholt|hinfällig)\s*(?=[.!:;,(–—-]|\Z)",
    r"(?:gilt nicht mehr|nicht mehr (?:gültig|aktuell|in kraft))\b",
    r"(?:desatualizad[oa]|obsolet[oa])\s*(?=[.!:;,(–—-]|\Z)",
    r"(?:já não (?:é válid[oa]|vale|está em vigor)|não é mais válid[oa])\b",
)
_SAID_OF_ANOTHER: Final = (
    rf"(?:(?:this(?: \w+)?|it) )?(?:replaces|supersedes) {_LINK}",
    rf"(?:(?:diese[rs]? \w+|das) )?ersetzt {_LINK}",
    rf"(?:diese[rs]? \w+ )?löst {_LINK}[^.\n]{{0,20}} ab\b",
    rf"(?:est[ea] \w+ )?substitui {_LINK}",
)
# What is said of another anywhere in a sentence.
_OVER: Final = (
    rf"{_LINK} (?:is|are) (?:now )?(?:void|obsolete|outdated|superseded)\b",
    rf"{_LINK} (?:is|are) no longer (?:valid|true|current|in use|in force|used)\b",
    rf"{_LINK} (?:no longer|does not|doesn't) (?:applies|holds|apply|hold)(?: any ?more)?\b",
    rf"{_LINK} (?:gilt nicht mehr|ist (?:damit |jetzt )?(?:hinfällig|überholt|veraltet|erledigt))\b",
    rf"{_LINK} (?:já não vale|deixou de valer|está desatualizad[oa])\b",
)
# A sentence's beginning, behind marks of lists, quotes and callouts.
_BEGINNING: Final = r"(?:\A|\n|(?<=[.!?;:)])[ \t]|\()(?:[ \t>#*_~⚠️❗-]|\[![\w-]+\][+-]?|\*\*)*"
_FIRST: Final = 600  # characters in which a note says that it was replaced
_READ: Final = 5000  # characters in which it says what it replaced


_OF_PROPERTIES: Final = (*_BY, *_FLAGS, *_SINCE, "status", "state")
# Looked for first, since that is quick and most notes have none of them.
_HINTS: Final = (
    *("supersed", "replac", "obsolet", "outdat", "deprecat", "succeed", "moved to", "migrated"),
    *("instead", "no longer", "anymore", "any more", "not valid", "not current", "not in force"),
    *("ersetzt", "gelöst", "überholt", "verschoben", "umgezogen", "siehe", "nutze", "veraltet"),
    *("hinfällig", "nicht mehr", "substituíd", "movid", "mudou", "em vez d", "desatualizad"),
    *("já não", "não é mais"),
)
_HINTS_OF_ANOTHER: Final = (
    *("replaces", "supersedes", "ersetzt", "löst", "substitui"),
    *("]] is ", "]] are ", "]] no longer", "]] does", "]] gilt", "]] ist ", "]] já", "]] deixou"),
    "]] está",
)


class Replacement(NamedTuple):
    """A note says that it does not hold any more."""

    by: str  # the name that its link carries; empty where none is given
    since: dt.date | None  # may lie ahead: valid until then
    says: str  # the property or the words


def replacement(note: Note) -> Replacement | None:
    """What a note says about itself, in its properties, its name or its first sentences."""
    has_any = any(note.key_of(name) for name in _OF_PROPERTIES) if note.properties else False
    days = (day_in_name(note.string(name)) for name in _SINCE) if has_any else ()
    since = next(filter(None, days), None)
    said = _replacement_in_properties(note) if has_any or note.tags else None
    said = said or _replacement_in_text(note) or _replacement_in_title(note)
    if said is None and since is not None:
        return Replacement("", since, "its time")
    return said._replace(since=said.since or since) if said else None


def _replacement_in_properties(note: Note) -> Replacement | None:
    for name in _BY:
        if by := next(iter(note.strings(name)), ""):
            return Replacement(link_target(by) or by, None, name)
    for name in _FLAGS:
        value = note.get(name)
        day = day_in_name(note.string(name))
        if value is True or day:
            return Replacement("", day, name)
    for value in (*note.strings("status"), *note.strings("state")):
        if value.casefold() in _replaced_states():
            return Replacement(_linked_replacement(note), None, f"status: {value}")
    if found := next((tag for tag in note.tags if tag.casefold() in _replaced_states()), None):
        return Replacement(_linked_replacement(note), None, f"#{found}")
    return None


def _linked_replacement(note: Note) -> str:
    """What the text of a note with such a status links as its successor."""
    said = _replacement_in_text(note)
    return said.by if said else ""


@cache
def _replaced_states() -> frozenset[str]:
    return frozenset(_STATES.split())


@cache
def _replacement_patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    about_itself = "|".join(_unnamed_replacement_patterns(_SAID))
    of_another = "|".join(_unnamed_replacement_patterns(_SAID_OF_ANOTHER))
    over = "|".join(_unnamed_replacement_patterns(_OVER))
    return (
        re.compile(f"{_BEGINNING}(?P<said>{_ABOUT_ITSELF}(?:{about_itself}))", re.IGNORECASE),
        re.compile(f"{_BEGINNING}(?P<said>{of_another})|(?P<over>{over})", re.IGNORECASE),
        re.compile(_TITLE_MARK, re.IGNORECASE),
    )


def _unnamed_replacement_patterns(patterns: tuple[str, ...]) -> Iterator[str]:
    """A name can be given to one group alone."""
    return (pattern.replace("(?P<link>", "(?:") for pattern in patterns)


def _replacement_in_text(note: Note) -> Replacement | None:
    if not _has_replacement_hint(note.body[:_FIRST], _HINTS):
        return None
    text = visible_text(note.body[:_FIRST])
    match = _replacement_patterns()[0].search(text)
    if match is None:
        return None
    said = match["said"]
    by = next(_replacement_links(said), "") or next(
        _replacement_links(_replacement_sentence(text, match.start("said"))), ""
    )
    day = day_in_name(_replacement_sentence(text, match.start("said")))
    return Replacement(by, day, said.strip())


def _replacement_in_title(note: Note) -> Replacement | None:
    match = _replacement_patterns()[2].search(note.title)
    return Replacement("", None, match[0].strip()) if match else None


def replaced_names(note: Note) -> tuple[str, ...]:
    """The notes that this one says it replaces, by the names of its links."""
    found: dict[str, None] = {}
    for name in _REPLACES if note.properties else ():
        found.update((link_target(value) or value, None) for value in note.strings(name))
    if not _has_replacement_hint(note.body[:_READ], _HINTS_OF_ANOTHER):
        return tuple(found)
    text = visible_text(note.body[:_READ])
    for match in _replacement_patterns()[1].finditer(text):
        found.update(dict.fromkeys(_replacement_links(match["said"] or match["over"])))
    return tuple(found)


def _has_replacement_hint(text: str, hints: tuple[str, ...]) -> bool:
    low = text.lower()
    return any(hint in low for hint in hints)


def _replacement_links(text: str) -> Iterator[str]:
    for link in re.findall(r"\[\[[^\[\]\n]{1,300}\]\]", text):
        if name := link_target(link):
            yield name


def _replacement_sentence(text: str, start: int) -> str:
    end = re.compile(r"[.!?](?=\s|\Z)|\n").search(text, start)
    return text[start : end.start() if end else len(text)][:_FIRST]


# --- by name --------------------------------------------------------------------------------------

# In one folder the later of a series usually took the place of the earlier one: `Rates 2025` and
# `Rates 2026`, `Rota` and `Rota from September`. A date in front is a log's, and the days of a
# log do not replace each other.
# What a name ends with, and what that says of its place among others with the same beginning.
VERSION, DATE, SEASON, CHANGED = "version", "date", "season", "changed"
_SEASONS: Final = {
    3: "spring frühling frühjahr primavera printemps",
    6: "summer sommer verão verano été",
    9: "autumn fall herbst outono otoño automne autunno",
    12: "winter inverno invierno hiver",
}
_SINCE_WORDS: Final = (
    "from since after as_of ab seit nach desde depois_de a_partir_de à_partir_de depuis après vanaf"
)
_NEW: Final = "new updated revised current neu aktuell novo nova nuevo nueva nouveau nouvelle"
_LONGEST_NAME: Final = 200


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
    title = title.strip()
    match = _endings_of_names().fullmatch(title) if len(title) <= _LONGEST_NAME else None
    if match is None or (match["month"] or "april").casefold() not in _months_in_names():
        return None  # the engine takes a dotless i for an i
    name = match["name"].strip(" ,_-(–—").casefold()
    if not name or day_in_name(name):
        return None
    return NameSeries(name, *_place_in_series(match), match["mark"].strip())


def _place_in_series(match: re.Match[str]) -> tuple[str, tuple[int, ...]]:
    if match["version"]:
        bare = re.sub(r"(?:\.0+)+\Z", "", match["version"])
        return VERSION, tuple(int(part) for part in bare.split("."))
    if match["new"]:
        return CHANGED, ()
    if match["date"]:
        return CHANGED if match["since"] else DATE, _numbers_of_date(match["date"])
    month = _months_in_names()[match["month"].casefold()]
    place = (int(match["year"]), month) if match["year"] else (month,)
    kind = DATE if match["year"] else SEASON
    return CHANGED if match["since"] else kind, place


def _numbers_of_date(date: str) -> tuple[int, ...]:
    return tuple(int(part) for part in date.split("-"))


@cache
def _months_in_names() -> dict[str, int]:
    named = {name: number for name, number in MONTH_NUMBERS.items() if len(name) > 3}
    return named | {word: month for month, words in _SEASONS.items() for word in words.split()}


@cache
def _endings_of_names() -> re.Pattern[str]:
    months = "|".join(sorted(map(re.escape, _months_in_names()), key=len, reverse=True))
    since = "|".join(word.replace("_", " ") for word in _SINCE_WORDS.split())
    return re.compile(
        r"(?P<name>.*?\D)[\s,_–—-]*\(?(?P<mark>"
        r"v(?:ersion)?[ .]?(?P<version>\d{1,4}(?:\.\d{1,4}){0,3})"
        rf"|(?<![^\W_])(?P<new>{'|'.join(_NEW.split())})"
        rf"|(?:(?<![^\W_])(?P<since>{since})[ ]+)?(?:"
        r"(?P<date>(?:19|20)\d\d(?:-[01]\d(?:-[0-3]\d)?)?)"
        rf"|(?<![^\W_])(?P<month>{months})(?:[ ]+(?P<year>(?:19|20)\d\d))?))\)?",
        re.IGNORECASE | re.DOTALL,
    )
