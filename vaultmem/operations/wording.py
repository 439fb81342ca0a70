"""What is to become of a text, and whether whoever replaces all of it has seen all of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from vaultmem.errors import Conflict, InvalidInput
from vaultmem.notes.masking import private
from vaultmem.notes.note import Note, body_of, encode, printable, version
from vaultmem.notes.passages import is_one_passage
from vaultmem.operations.view import View
from vaultmem.operations.writing import Writing
from vaultmem.storage.store import Stored

_WAYS: Final = (
    "Change a part with old_text and new_text, or add to it with append. To replace all of it, "
    "read it with get_memories and give the version from there as expected_version."
)


@dataclass(frozen=True, slots=True)
class Wording:
    """What is to become of a text: some words of it, all of it, or more at its end."""

    new: str
    old: str = ""
    whole: bool = False
    section: str = ""

    @classmethod
    def of(
        cls,
        content: str | None,
        old_text: str | None,
        new_text: str | None,
        append: str | None,
        section: str | None,
    ) -> Wording | None:
        """One way at a time; None where the text is not to change."""
        ways = [content is not None, (old_text or new_text) is not None, append is not None]
        if sum(ways) > 1:
            raise InvalidInput(
                "content, old_text with new_text, and append are three ways to change a text; "
                "take one of them at a time."
            )
        if section and append is None:
            raise InvalidInput("section says where to append; give the text in append.")
        if content is not None:
            return cls(content, whole=True)
        if append is not None:
            return cls(append, section=section or "")
        if old_text is None and new_text is None:
            return None
        if not old_text or new_text is None:
            raise InvalidInput(
                "Give both: old_text, the words as they stand in the note, and new_text, what is "
                "to stand there instead (empty to delete them)."
            )
        return cls(new_text, old=old_text)


class Wordings:
    def __init__(self, view: View, writing: Writing) -> None:
        self._view = view
        self._writing = writing

    def whole_reading(self, note: Note, expected: str | None, shown_whole: bool) -> str:
        """The version of which the caller has seen all; refuses where it may not have."""
        known, path, body = self._view.parts.authorship, note.path, note.body
        seen = self._writing.has_seen(path, body)
        if expected:
            current = expected == version(note.raw)  # another one is a conflict
            if current and not seen and known.was_told(self._view.caller, path, expected):
                raise InvalidInput(
                    "This expected_version came with a part of the note, not with all of it. "
                    f"{_WAYS}"
                )
            return expected
        short = shown_whole or is_one_passage(note)
        seen_another = not seen and known.has_seen_another(self._view.caller, path)
        if short and (seen or (known.is_written(body) and (shown_whole or not seen_another))):
            return version(note.raw)
        if not short and not seen_another:
            raise InvalidInput(
                f"{note.path} has more text than one passage ({len(encode(body)):,} bytes), and "
                f"content would replace all of it. {_WAYS}"
            )
        raise self.unread(
            note, f"{note.path} is not as you last saw it, or you have not read it.", "content"
        )

    def require_open(self, note: Note) -> None:
        """Whoever replaces all of a text has not seen what is private in it."""
        if private(note.body):
            raise InvalidInput(
                f"{note.path} has private passages, which a new content would delete. Change "
                "what you mean with old_text and new_text, or add to it with append."
            )

    def wrote_whole(self, stored: Stored) -> None:
        """All of this text is the caller's."""
        self._writing.shown(stored)
        self._view.parts.authorship.write(body_of(stored.raw))

    def leave_secrets(self, old: str, new: str) -> None:
        """A person's own secret would be redacted on its way back into the note."""
        if not self._view.settings["privacy.redact"]:
            return
        from vaultmem.base import redaction

        found = redaction.find(old, self._view.settings["privacy.patterns"])
        if any(old[secret.start : secret.end] in new for secret in found):
            raise InvalidInput(
                "The text has a key or password in it that its owner wrote there, and it would be "
                "redacted. Quote less of the note in old_text, so that it is not part of that."
            )

    def unread(self, note: Note, said: str, how: str) -> Conflict:
        """The text goes with the refusal, so that the next try can know all of it."""
        made = version(note.raw)
        self._view.parts.authorship.show(self._view.caller, note.path, note.body, made)
        advice = f"try again with old_text and new_text, or with {how} and expected_version {made}"
        message = f"{said} Its text is given here: look at it, and {advice}."
        return Conflict(message, text=printable(note.text), version=made)
