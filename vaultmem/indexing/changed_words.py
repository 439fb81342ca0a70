"""What changed from one version of a note to another, in words that may be kept and shown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from vaultmem.base.differences.word_difference import WordChange, word_changes
from vaultmem.base.line_ends import with_unix_line_ends
from vaultmem.notes.attributes import attributes_of
from vaultmem.notes.markdown import text_without_comments
from vaultmem.notes.masking import public_part
from vaultmem.notes.note import Note, printable

if TYPE_CHECKING:
    from vaultmem.config import Settings

_OWNER: Final = ("user", "project", "scope", "session", "unclear")
_MOST: Final = 64_000  # characters
_STAMPS: Final = ("id", "created", "updated", "forgotten", "forgotten_at", "session", "user")
_BLOCK_ID: Final = re.compile(r"[ \t]+\^[0-9A-Za-z-]{4,40}[ \t]*$", re.MULTILINE)
_OF_JOURNAL: Final = re.compile(r"^## (?:Log|Summary)[ \t]*$", re.MULTILINE)  # say nothing new
_LOGGED_AT: Final = re.compile(r"- \*\*[\d:]+\*\* ")
_NAME: Final = re.compile(r"([^\s:#-][^:\n]*):(?:[ \t]|$)")


def note_owner(note: Note, settings: Settings) -> Mapping[str, str]:
    """Whose a note is: all that decides which callers it exists for."""
    attributes = attributes_of(note, settings)
    return {name: attributes[name] for name in _OWNER if attributes[name]}


def changed_words(
    before: Sequence[str], after: Sequence[str], settings: Settings
) -> tuple[WordChange, ...]:
    """Of readable lines; without the secrets that the settings keep out of notes."""
    if settings["privacy.redact"]:
        from vaultmem.base.redaction import redacted

        own, gone, come = settings["privacy.patterns"], set(before), set(after)
        before = [line if line in come else redacted(line, own)[0] for line in before]
        after = [line if line in gone else redacted(line, own)[0] for line in after]
    return tuple(word_changes(before, after))


def readable_lines(note: Note) -> tuple[list[str], int]:
    """Properties and text, without what is private, comments, block ids and our own stamps; and
    where among the lines the text begins."""
    properties = note.text[slice(*note.block)] if note.block else ""
    lines = _properties_worth_reading(note, properties[:_MOST])
    text = _BLOCK_ID.sub("", text_without_comments(note.body))[:_MOST]
    if note.string("type") == "session":
        text = _OF_JOURNAL.sub("", text)
    return [printable(line) for line in (*lines, *_written_lines(text))], len(lines)


def readable_entry(text: str) -> str:
    """The same of what came to a journal; when it came is known."""
    return _LOGGED_AT.sub(
        "", " ".join(_written_lines(_BLOCK_ID.sub("", text_without_comments(text))))
    )


def _written_lines(text: str) -> list[str]:
    squeezed = (" ".join(line.split()) for line in with_unix_line_ends(text).split("\n"))
    return [line for line in squeezed if line]


def _properties_worth_reading(note: Note, text: str) -> list[str]:
    stamps = {(note.key_of(name) or name).casefold() for name in _STAMPS}
    kept: list[str] = []
    told = True
    for line in _written_lines(public_part(text)):
        if match := _NAME.match(line):
            told = match[1].strip().strip("\"'").casefold() not in stamps
        if told:
            kept.append(line)
    return kept
