"""One way at a time of changing a text: some words of it, more at its end, a task, or all of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from vaultmem.errors import InvalidInput

_SECTION: Final = (
    "section says where to append, or to add or check a task; give append or task too."
)
Way = Literal["whole", "words", "more", "new task", "task"]


@dataclass(frozen=True, slots=True)
class TextChange:
    way: Way
    new: str
    old: str = ""
    section: str = ""
    done: bool = False

    @property
    def whole(self) -> bool:
        return self.way == "whole"

    @property
    def is_task(self) -> bool:
        return self.way in ("new task", "task")

    @property
    def said(self) -> str:
        """What of it comes into the note from the caller."""
        return "" if self.way == "task" else self.new

    @classmethod
    def of(
        cls,
        content: str | None = None,
        old_text: str | None = None,
        new_text: str | None = None,
        append: str | None = None,
        section: str | None = None,
        task: str | None = None,
        done: bool | None = None,
    ) -> TextChange | None:
        """None where the text is not to change."""
        quoted = (old_text or new_text) is not None
        ways = [content is not None, quoted, append is not None, task is not None]
        if sum(ways) > 1:
            raise InvalidInput(
                "content, old_text with new_text, append, and task are four ways to change a text; "
                "take one of them at a time."
            )
        if section and append is None and task is None:
            raise InvalidInput(_SECTION)
        if done is not None and task is None:
            raise InvalidInput("done checks or unchecks a task; give its text in task.")
        if content is not None:
            return cls("whole", content)
        if append is not None:
            return cls("more", append, section=section or "")
        if task is not None:
            way: Way = "new task" if done is None else "task"
            return cls(way, task, section=section or "", done=bool(done))
        if old_text is None and new_text is None:
            return None
        if not old_text or new_text is None:
            raise InvalidInput(
                "Give both: old_text, the words as they stand in the note, and new_text, what is "
                "to stand there instead (empty to delete them)."
            )
        return cls("words", new_text, old=old_text)
