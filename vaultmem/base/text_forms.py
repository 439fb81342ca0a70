"""Other forms of what a text says: those by which people ask for it.

The engine's tokenizer cuts at every sign and knows nothing of names in code, dates or numbers.
What it would lose is written behind the text as further words, for notes and questions alike:
`getUserName` also as its parts, `2.4.1` as one word, a date however it is written as the same
three words. Nothing of it is ever shown.
"""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

_MONTH_NAMES: Final = """
    january jan januar jänner janvier enero janeiro gennaio januari
    february feb februar février fevrier febrero fevereiro febbraio februari
    march mar märz maerz mars marzo março marco maart
    april apr avril abril aprile
    may mai mayo maio maggio mei
    june jun juni juin junio junho giugno
    july jul juli juillet julio julho luglio
    august aug août aout agosto augustus
    september sep sept septembre septiembre setembro settembre
    october oct oktober okt octobre octubre outubro ottobre
    november nov novembre noviembre novembro
    december dec dezember dez décembre decembre diciembre dezembro dicembre
"""
MONTH_NUMBERS: Final = {
    name: number
    for number, line in enumerate(_MONTH_NAMES.strip().splitlines(), 1)
    for name in line.split()
}
_LONGEST_MONTH: Final = 10
_LONGEST_WORD: Final = 60
_MOST_COMPARED: Final = 5_000  # forms with texts
# --- folding
_MARKED: Final = re.compile("[\u0300-\u06ff]+")  # Greek, Cyrillic, Armenian, Hebrew, Arabic
_MARKS: Final = re.compile("[\u0300-\u036f\u0591-\u05c7\u0640\u064b-\u065f\u0670]")
_ARABIC: Final = str.maketrans({"ى": "ي", "ة": "ه", "ς": "σ", "ک": "ك", "ی": "ي"})
# Of Indian scripts what the engine takes for the end of a word: signs without a sound of their own.
_INDIAN: Final = re.compile("[\u0900-\u0dff][\u0900-\u0dff\u200c\u200d]*")
_SILENT: Final = re.compile(
    "[\u093c\u094d\u09bc\u09cd\u0a3c\u0a4d\u0abc\u0acd\u0b3c\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca\u200c\u200d]"
)
_UMLAUT: Final = re.compile(r"[äöüÄÖÜ]\w{0,60}")
_SPELT: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})
# --- names in code
# A pattern begins with what it is found by: the engine of `re` then looks at nothing else. What
# stands before is looked at when something was found.
_HUMPED: Final = re.compile(r"[A-Z](?<=[a-z0-9][A-Z])[A-Za-z0-9]{0,60}")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SIGNED: Final = re.compile(r"(?:#|\+\+)(?![\w+#])")
_DOTTED: Final = re.compile(r"\.(?:([A-Z][A-Za-z]{1,9})|([a-z]{2,4}))(?![\w.])")
_WORD_BEFORE: Final = re.compile(r"\w+\Z")
_NAME_BEFORE: Final = re.compile(r"(?<![\w.-])\w[\w-]*\Z")
_SIGNS: Final = {"++": "plusplus", "#": "sharp"}
# --- numbers
_AROUND_DIGITS: Final = re.compile(r"\d[^\n]{0,28}\S{0,40}")
_VERSION: Final = re.compile(r"\d(?<![\d.]\d)\d{0,3}(?:\.\d{1,4}){1,3}(?!\.?\d)")
_PHONE: Final = re.compile(r"\d(?<![\w.]\d)[\d ()/.-]{5,18}\d(?![\w-])")
_YEAR_FIRST: Final = re.compile(r"(\d(?<!\d\d)\d{3})([-/.])(\d{1,2})\2(\d{1,2})(?!\d)")
_YEAR_LAST: Final = re.compile(r"(\d(?<!\d\d)\d?)([-/.])(\d{1,2})\2(\d{4})(?!\d)")
_YEAR_AND_MONTH: Final = re.compile(r"(\d(?<![\d-]\d)\d{3})-(\d{2})(?![\d-])")
_DAY_MONTH: Final = re.compile(
    r"(\d(?<!\d\d)\d?)(?:st|nd|rd|th|er|º|\.)? (?:of |de )?([^\W\d_]{3,10})"
    r"(?:\.?,?(?: de)? (\d{4}))?"
)
_MONTH_DAY: Final = re.compile(r" (?:de )?(\d{1,4})(?!\d)(?:st|nd|rd|th)?(?:,? (\d{4}))?")
_SIGN_DATE: Final = re.compile(
    r"(?:(\d{4})\s?年\s?)?(\d{1,2})\s?[月월]\s?(?:(\d{1,2})\s?[日号일])?"
)


class Form(NamedTuple):
    source: str  # as it stands in the text
    words: tuple[str, ...]  # by which it can be found as well
    is_parts: bool = False  # its parts, each a word of its own


def folded(text: str) -> str:
    """One spelling for what only looks different: full-width forms, marks beside letters, accents
    of scripts that the engine does not know."""
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKC", text)
    if _MARKED.search(text):
        text = _MARKED.sub(_form_without_marks, text)
    if _INDIAN.search(text):
        text = _INDIAN.sub(lambda found: _SILENT.sub("", found[0]), text)
    return text


def with_other_forms(texts: Sequence[str]) -> list[str]:
    """Folded texts of one note, each with its other forms behind it. They are looked for in all
    texts at once: most of them are short, and have none."""
    forms: dict[str, list[str]] = {}
    for form in text_forms("\n".join(texts)):
        forms.setdefault(form.source, []).extend(form.words)
    if not forms:
        return list(texts)
    if len(forms) * len(texts) > _MOST_COMPARED:
        found = [[word for form in text_forms(text) for word in form.words] for text in texts]
    else:
        found = [[w for source in forms if source in text for w in forms[source]] for text in texts]
    return [
        f"{text} {' '.join(dict.fromkeys(more))}" if more else text
        for text, more in zip(texts, found, strict=True)
    ]


def text_forms(text: str) -> Iterator[Form]:
    """Of a folded text."""
    if not text.isascii():
        yield from _forms_of_umlauts(text)
    if _HUMPED.search(text):
        yield from _forms_of_name_parts(text)
    if "#" in text or "++" in text:
        yield from _forms_of_names_with_signs(text)
    if "." in text:
        yield from _forms_of_names_with_dots(text)
    if numbers := _text_with_forms_of_numbers(text):
        yield from _forms_of_numbers(numbers)


def words_for_day(day: dt.date | None) -> str:
    """As a date in a text would be found, without looking for one."""
    if day is None:
        return ""
    return " ".join(next(_forms_of_date("", str(day.year), day.month, day.day)).words)


def _form_without_marks(found: re.Match[str]) -> str:
    bare = _MARKS.sub("", unicodedata.normalize("NFD", found[0]))
    return unicodedata.normalize("NFC", bare).translate(_ARABIC)


def _forms_of_umlauts(text: str) -> Iterator[Form]:
    for found in _UMLAUT.finditer(text):
        word = _text_before_form(_WORD_BEFORE, text, found.start()) + found[0]
        yield Form(word, (word.translate(_SPELT),))


def _text_before_form(pattern: re.Pattern[str], text: str, end: int) -> str:
    found = pattern.search(text[max(0, end - _LONGEST_WORD) : end])
    return found[0] if found else ""


def _forms_of_name_parts(text: str) -> Iterator[Form]:
    for found in _HUMPED.finditer(text):
        word = _text_before_form(_WORD_BEFORE, text, found.start()) + found[0]
        parts = tuple(part for part in _HUMP.split(word.rpartition("_")[2]) if len(part) > 1)
        if parts:
            yield Form(word, parts, is_parts=True)


def _forms_of_names_with_signs(text: str) -> Iterator[Form]:
    for found in _SIGNED.finditer(text):
        letter = _text_before_form(_WORD_BEFORE, text, found.start())
        if len(letter) == 1 and letter.isalpha():
            yield Form(letter + found[0], (letter + _SIGNS[found[0]],))


def _forms_of_names_with_dots(text: str) -> Iterator[Form]:
    for found in _DOTTED.finditer(text):
        name = _text_before_form(_NAME_BEFORE, text, found.start())
        if (
            found[1]
            and not name
            and text[found.start() - 1 : found.start()] in ("", " ", "(", "\n")
        ):
            yield Form(found[0], (f"dot{found[1]}",))
        elif found[2] and name:
            yield Form(name + found[0], (f"{name}{found[2]}".replace("-", ""),))


def _text_with_forms_of_numbers(text: str) -> str:
    """The parts of a text that have numbers in them, a line each."""
    parts = []
    for found in _AROUND_DIGITS.finditer(text):
        start = max(0, found.start() - _LONGEST_MONTH - 6)
        blank = text.rfind(" ", max(0, start - _LONGEST_WORD), start + 1)
        parts.append(text[blank if blank >= 0 else start : found.end()])
    return "\n".join(parts)


def _forms_of_numbers(text: str) -> Iterator[Form]:
    if "." in text:
        yield from _forms_of_versions(text)
    if "-" in text or "/" in text or "." in text:
        yield from _forms_of_dates_in_numbers(text)
    yield from _forms_of_dates_with_names(text)
    if not text.isascii():
        for found in _SIGN_DATE.finditer(text):
            yield from _forms_of_date(found[0], found[1] or "", int(found[2]), int(found[3] or 0))
    for found in _PHONE.finditer(text):
        digits = re.sub(r"\D", "", found[0])
        if 7 <= len(digits) <= 15 and not _YEAR_FIRST.search(found[0]):
            yield Form(found[0], (f"tel{digits[-7:]}",))


def _forms_of_versions(text: str) -> Iterator[Form]:
    for found in _VERSION.finditer(text):
        parts = found[0].split(".")
        sizes = range(2, len(parts) + 1)
        yield Form(found[0], tuple("dot".join(parts[:size]) for size in sizes))


def _forms_of_dates_in_numbers(text: str) -> Iterator[Form]:
    for found in _YEAR_FIRST.finditer(text):
        yield from _forms_of_date(found[0], found[1], int(found[3]), int(found[4]))
    for found in _YEAR_LAST.finditer(text):
        first, second = int(found[1]), int(found[3])
        yield from _forms_of_date(found[0], found[4], second, first)
        if found[2] == "/" and first != second:  # Americans say the month first
            yield from _forms_of_date(found[0], found[4], first, second)
    for found in _YEAR_AND_MONTH.finditer(text):
        yield from _forms_of_date(found[0], found[1], int(found[2]), 0)


def _forms_of_dates_with_names(text: str) -> Iterator[Form]:
    for found in _DAY_MONTH.finditer(text):
        if month := MONTH_NUMBERS.get(found[2].lower()):
            yield from _forms_of_date(found[0], found[3] or "", month, int(found[1]))
    for found in _MONTH_DAY.finditer(text):
        yield from _forms_of_date_with_month_first(text, found)


def _forms_of_date_with_month_first(text: str, found: re.Match[str]) -> Iterator[Form]:
    """March 5, March 5, 2026 or March 2026."""
    before = text[max(0, found.start() - _LONGEST_MONTH - 2) : found.start()].rstrip(".,")
    name = _text_before_form(_WORD_BEFORE, before, len(before))
    if month := MONTH_NUMBERS.get(name.lower()):
        source = f"{name}{found[0]}"
        if len(found[1]) == 4:
            yield from _forms_of_date(source, found[1], month, 0)
        else:
            yield from _forms_of_date(source, found[2] or "", month, int(found[1]))


def _forms_of_date(source: str, year: str, month: int, day: int) -> Iterator[Form]:
    """The day, the day of whatever year, and the month of the year, each as one word."""
    if not 1 <= month <= 12 or not 0 <= day <= 31:
        return
    words = [f"ymd{year}{month:02}{day:02}"] if year and day else []
    words += [f"md{month:02}{day:02}"] if day else []
    words += [f"ym{year}{month:02}"] if year else []
    yield Form(source, tuple(words))
