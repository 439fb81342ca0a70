"""Which languages the notes are in, and whether the model of meaning knows them.

How many notes are in which language is known from what is indexed; no note is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from vaultmem.base.text_language import ENGLISH, text_language

_LETTERS: Final = re.compile(r"[^\W\d_]")
_LATIN: Final = re.compile(r"[A-Za-z\u00c0-\u024f]")
_ENGLISH_MODEL: Final = re.compile(r"english|\ben\b|minilm-l6|-en-", re.IGNORECASE)
_MUCH: Final = 0.25  # of the notes
_FEWEST: Final = 3  # notes
_NAMED: Final = 2  # languages that a sentence names


def knows_english_only(model: str) -> bool:
    return bool(_ENGLISH_MODEL.search(model))


def reads(model: str, question: str, languages: Mapping[str, int]) -> bool:
    """Whether a model can say anything about this: one of English knows no other scripts, and
    only disturbs where notes and question are in another language. A word or two that may be of
    any is taken to be of the notes' own."""
    if not knows_english_only(model):
        return True
    if not _is_latin(question):
        return False
    main = next(iter(languages), "")
    language = text_language(question, main) or main
    there = languages.get(language, 0)
    return language in ("", ENGLISH) or not there or there < _MUCH * sum(languages.values())


def meaning_gap(model: str, languages: Mapping[str, int], notes: int, change: str) -> str:
    """What to say where much of the vault is in languages that the model does not know; `change`
    is the command that changes it."""
    others = {name: count for name, count in languages.items() if name != ENGLISH}
    some = min(notes, sum(others.values()))
    if not knows_english_only(model) or some < max(_FEWEST, _MUCH * notes):
        return ""
    named = [name if name.islower() and " " in name else name.capitalize() for name in others]
    which = " and ".join(named[:_NAMED]) if len(named) <= _NAMED else f"{named[0]} and others"
    return (
        f"Search by meaning knows English only, and {some:,} of {notes:,} notes here are in "
        f"{which}; this changes it: {change}"
    )


def _is_latin(question: str) -> bool:
    letters = len(_LETTERS.findall(question))
    return not letters or len(_LATIN.findall(question)) * 2 > letters
