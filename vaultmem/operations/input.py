"""What callers give, made fit for a note: bounded, plain, without secrets and private passages."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from vaultmem.base.local_time import look_up_zone
from vaultmem.config import Settings
from vaultmem.errors import InvalidInput
from vaultmem.notes import masking
from vaultmem.notes.journal_text.plain_line import shortened
from vaultmem.notes.tags import is_tag, tag_key, tag_of

MOST_BYTES: Final = 1_000_000  # of one memory's text
_CLEANED: Final = 20_000  # characters of a text that nobody chose
_LONGEST_LINE: Final = {"session_id": 200, "project": 100, "room": 100, "title": 300}
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class Input:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def clean_text(self, text: str, what: str = "The content") -> str:
        """Text fit for a note: without private passages, bounded, and plain."""
        if len(text.encode(errors="replace")) > MOST_BYTES:
            raise InvalidInput(
                f"{what} has more than {MOST_BYTES:,} bytes; a memory is a note, not a file. "
                "Store what matters in it, and name the file as its source."
            )
        if found := _CONTROL.search(text):
            raise InvalidInput(
                f"{what} has the control character U+{ord(found[0]):04X} in it, "
                "perhaps a terminal's colours. Remove such characters and try again."
            )
        text = self.redact_text(masking.without_private(text))
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InvalidInput(f"{what} has half a character (a lone surrogate) in it.") from None
        return text

    def cleaned_text(self, text: str) -> str:
        """Text that nobody is told about, such as a program's output: its beginning without what
        is private, secret or cannot be shown; empty where it cannot be cleaned."""
        plain = text[:_CLEANED]
        if not plain.isprintable():
            plain = "".join(s if s.isprintable() or s in "\n\t" else " " for s in plain)
        try:
            return self.clean_text(plain)
        except InvalidInput:
            return ""

    def cleaned_line(self, text: str, most: int) -> str:
        """The same on one line, cut at a word."""
        return shortened(self.cleaned_text(text), most)

    def redact_text(self, text: str) -> str:
        if not self._settings["privacy.redact"]:
            return text
        from vaultmem.base import redaction

        return redaction.redacted(text, self._settings["privacy.patterns"])[0]

    def redaction_warnings(self, given: str, kept: str) -> tuple[str, ...]:
        """What a receipt says about what did not go into the note."""
        from vaultmem.base import redaction

        kinds = redaction.redacted_kinds(given, kept)
        named = (f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}" for kind in kinds)
        told = (
            ["private_removed: what stood in <private> was left out"]
            if masking.private_spans(given)
            else []
        )
        return (*told, *(f"secret_redacted: {kind} was replaced" for kind in named))

    def property_line(self, text: str, what: str, most: int = 500) -> str:
        """Text for a property: one line, not long."""
        text = " ".join(self.clean_text(text, what).split())
        if len(text) > most:
            raise InvalidInput(f"{what} has more than {most} characters; make it shorter.")
        return text

    def property_lines(self, **texts: str | None) -> dict[str, str]:
        """Texts for the properties of these names."""
        return {
            name: self.property_line(text or "", name, _LONGEST_LINE.get(name, 500))
            for name, text in texts.items()
        }

    def clean_tags(self, tags: Iterable[str]) -> tuple[str, ...]:
        """Each once."""
        found: dict[str, str] = {}
        for given in [tags] if isinstance(tags, str) else tags:
            tag = tag_of(self.property_line(given, "A tag", 100))
            if not is_tag(tag):
                raise InvalidInput(
                    f"{tag!r} cannot be a tag: use letters, digits, - _ and /, not digits alone."
                )
            found.setdefault(tag_key(tag), tag)
        return tuple(found.values())


def now_utc() -> dt.datetime:
    """Now, to the second. What is written of it is local time: the zone is looked up."""
    look_up_zone()
    return dt.datetime.now(dt.UTC).replace(microsecond=0)


def require_share(value: Any, name: str) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 <= value <= 1:
        raise InvalidInput(f"{name} must be a number from 0 to 1, not {value!r}.")


def require_one_of(value: str, allowed: Sequence[str], name: str) -> str:
    if value not in allowed:
        raise InvalidInput(f"{name} must be one of {', '.join(allowed)}, not {value!r}.")
    return value


def plain_key(key: str) -> str:
    """A key as a property holds it: on one line."""
    return " ".join(key.split())


def source_text(source: str | Mapping[str, Any] | None) -> str:
    """`{"tool": "Edit", "file": "a.py", "conversation_turn": 3}` as `tool=Edit; file=a.py; turn=3`."""
    if source is None or isinstance(source, str):
        return source or ""
    named = {"turn" if key == "conversation_turn" else key: value for key, value in source.items()}
    return "; ".join(f"{key}={value}" for key, value in named.items() if value not in (None, ""))
