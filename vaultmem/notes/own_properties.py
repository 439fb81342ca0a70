"""A person's own properties: the lines of a note's frontmatter that say something.

What vaultmem keeps there for itself, and what Obsidian does, is left out; tags and aliases are
read elsewhere. The lines are the file's own, so that what is found is what stands there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from vaultmem.config import PROPERTIES
from vaultmem.notes import masking
from vaultmem.notes.note import Note, printable

_MOST: Final = 8_000  # characters
_KEY: Final = re.compile(
    r"(?:\"([^\"\n]+)\"|'([^'\n]+)'|([^\s:#'\"\-\[{][^:\n]*?))[ \t]*:(?=[ \t\r\n]|\Z)"
)
_OF_OBSIDIAN: Final = frozenset(
    ("tag", "tags", "alias", "aliases", "cssclass", "cssclasses", "publish", "permalink")
)
# Of ours, what people use in notes of their own as well; a note with an id is one of ours.
_ALSO_PEOPLES: Final = frozenset(("type", "project", "user", "kind", "about", "source", "review"))


def own_property_lines(note: Note) -> str:
    if note.block is None or not note.properties:
        return ""
    left_out = _not_own_properties(bool(note.id), tuple(note.names.items()))
    if all(name.casefold() in left_out for name in note.properties):  # most notes of agents
        return ""
    head = note.text[slice(*note.block)][:_MOST]
    private = masking.private_spans(head)
    kept = []
    for name, start, end in _lines_of_each_property(head):
        hidden = any(span.start < end and start < span.end for span in private)
        if name.casefold() not in left_out and not hidden and _says_own_property(note, name):
            kept.append(head[start:end].rstrip("\r\n"))
    return printable("\n".join(kept)).replace("\r\n", "\n")


@lru_cache(maxsize=16)
def _not_own_properties(is_ours: bool, mapped: tuple[tuple[str, str], ...]) -> frozenset[str]:
    names = dict(mapped)
    ours = PROPERTIES if is_ours else [name for name in PROPERTIES if name not in _ALSO_PEOPLES]
    return _OF_OBSIDIAN.union(names.get(name, name).casefold() for name in ours)


def _lines_of_each_property(head: str) -> Iterator[tuple[str, int, int]]:
    """Each property with where its lines begin and end; comments of YAML belong to none."""
    at, name, start, end = 0, "", 0, 0
    for line in head.splitlines(keepends=True):
        key = _KEY.match(line)
        if key is not None:
            if name:
                yield name, start, end
            name, start = key[1] or key[2] or key[3], at
        at += len(line)
        if not line.lstrip().startswith("#"):
            end = at
    if name:
        yield name, start, end


def _says_own_property(note: Note, name: str) -> bool:
    value = note.shown.get(name)
    return value not in (None, "", []) and value == note.properties.get(name)
