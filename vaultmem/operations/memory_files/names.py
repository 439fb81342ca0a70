"""The names under `/memories`, which may be any, and those of notes, which every system accepts.

`plan.md` is `plan.md`. What is no Markdown gets the ending of a note, `todo.txt.md`, and loses it
again on the way back; a name without an ending is marked, `scratch%.md`. Signs that no note may
have stand as `%3F`. Each name has one on the other side, and the same one on the way back.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final
from urllib.parse import unquote

from vaultmem.notes import file_names

ROOT: Final = "/memories"
_TOP: Final = "memories"
_ENDING: Final = re.compile(r"(?s).\.[A-Za-z0-9]{1,10}\Z")
_ESCAPED: Final = re.compile(r"(?:%[0-9A-F]{2})+")
_NO_ENDING: Final = "%"


class BadMemoryPath(ValueError):
    """A path that leads nowhere under `/memories`, and why."""


def path_segments(path: str) -> list[str]:
    """The names of a path below the root; what would leave it is refused."""
    if not path.startswith(ROOT):
        raise BadMemoryPath(f"Path must start with /memories, got: {path}")
    found = [_TOP]
    for segment in path[len(ROOT) :].split("/"):
        if segment == ".." and not found:
            break
        if segment == "..":
            found.pop()
        elif segment not in ("", "."):
            found.append(segment)
    else:
        if found[:1] == [_TOP]:
            return found[1:]
    raise BadMemoryPath(f"Path {path} would escape /memories directory")


def folder_name(name: str) -> str:
    return _escaped(name)


def note_name(name: str) -> str:
    """The name of the note that a file stands for."""
    plain = _escaped(name)
    stem = name.removesuffix(".md")
    if name.endswith(".md") and not _ENDING.search(stem) and not stem.endswith(_NO_ENDING):
        return plain
    return f"{plain}.md" if _ENDING.search(name) else f"{plain}{_NO_ENDING}.md"


def file_of_note(note: str) -> str:
    """The file that a note stands for; empty where none could have this name."""
    stem = note.removesuffix(".md")
    name = stem if _ENDING.search(stem) else note
    if stem.endswith(_NO_ENDING):
        name = stem[: -len(_NO_ENDING)]
    name = folder_of(name)
    return name if name and note_name(name) == note else ""


def folder_of(name: str) -> str:
    return _ESCAPED.sub(lambda found: unquote(found[0], errors="replace"), name)


def _escaped(name: str) -> str:
    """Signs that a note's name must not have, and what reads like an escaped one."""
    composed = unicodedata.normalize("NFC", name) == name
    last = len(name) - 1
    made = "".join(
        _percent(sign)
        if (sign == "%" and (at == last or re.match(r"[0-9A-F]{2}", name[at + 1 : at + 3])))
        or (sign == "." and at in (0, last))
        or (sign == " " and at in (0, last))
        or file_names.why_name_is_unsafe(f"a{sign}a")
        or not (composed or sign.isascii())
        else sign
        for at, sign in enumerate(name)
    )
    device = file_names.why_name_is_unsafe(made) is not None
    return _percent(made[0]) + made[1:] if device and made else made


def _percent(sign: str) -> str:
    return "".join(f"%{byte:02X}" for byte in sign.encode("utf-8", "surrogateescape"))
