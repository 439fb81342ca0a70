"""What kind of memory a note is, whose, and the day it is about: its properties, and where it has
none, its name and its place in the vault. And what a person says in properties of their own.

Where it cannot be read whose a note is, it is nobody's that is bound to a user or a project: a
property that is being typed, or that stands there twice, must not show the note to others.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from vaultmem.config import PROPERTIES, STATE, Settings
from vaultmem.notes import masking
from vaultmem.notes.note import Note, printable

OWNER_UNCLEAR, SESSION_UNCLEAR = "owner", "session"  # with the session, its owner too

MEMORY_TYPES: Final = ("episodic", "semantic", "procedural")
MEMORY_SCOPES: Final = ("session", "project", "user")
_OWNERS: Final = ("user", "project")
_BINDING: Final = (*_OWNERS, "scope", "session")
_UNREADABLE: Final = frozenset(
    ("malformed-frontmatter", "duplicate-key", "unclosed-frontmatter", "binary")
)
_VOLATILE: Final = f"{STATE}/local/volatile/"
_FIRST: Final = 16_000  # characters in which properties out of place are looked for
_INDENT: Final = 100  # before a name that begins a line
_SECOND_BLOCK: Final = re.compile(r"\s*---")
# What may be left of a block of properties: a first line that names something, a line of dashes.
_NAMING: Final = re.compile(r"[\w\"'-]+[ \t]*:")
_VALUE: Final = re.compile(r"[\"']?[ \t]*:")
_DASHES: Final = re.compile(r"(?m)^[ \t]*[-\u2013\u2014]+[ \t]*\r?$")

# A full date where no digit or version goes on: 2026-10-28, 2026_10_28, 20261028, 28.10.2026
_FULL: Final = re.compile(
    r"(?<![\d.])(?:(?P<y>(?:19|20)\d\d)(?P<s>[-_.]?)(?P<m>[01]\d)(?P=s)(?P<d>[0-3]\d)"
    r"|(?P<d2>[0-3]?\d)\.(?P<m2>[01]?\d)\.(?P<y2>(?:19|20)\d\d))(?![\d]|\.\d)"
)
_PROPERTIES: Final = ("date", "day", "datum", "data", "created")
_FIRST_HEADINGS: Final = 1

_MOST_OWN: Final = 8_000  # characters of a person's own properties
_KEY: Final = re.compile(
    r"(?:\"([^\"\n]+)\"|'([^'\n]+)'|([^\s:#'\"\-\[{][^:\n]*?))[ \t]*:(?=[ \t\r\n]|\Z)"
)
_OF_OBSIDIAN: Final = frozenset(
    ("tag", "tags", "alias", "aliases", "cssclass", "cssclasses", "publish", "permalink")
)
# Of ours, what people use in notes of their own as well; a note with an id is one of ours.
_ALSO_PEOPLES: Final = frozenset(("type", "project", "user", "kind", "about", "source", "review"))


def attributes_of(note: Note, settings: Settings) -> Mapping[str, str]:
    """The property is the authority, the folder only the default."""
    scope = note.string("scope")
    project = _unlinked_attribute(note.string("project"))
    if not project and scope in ("", "project"):  # promoted to its user, it left the project
        top = settings["folders.memories"].strip("/") + "/"
        inner = note.path.removeprefix(top) if note.path.startswith(top) else ""
        project = inner.partition("/")[0] if "/" in inner else ""
    plain = ("user", "room", "session", "kind")
    return {
        "type": note.string("type") or _type_attribute_by_folder(note.path, settings),
        "scope": scope or ("project" if project else "user"),
        "project": project,
        **{name: _unlinked_attribute(note.string(name)) for name in plain},
        "unclear": _unclear_attribute(note),
    }


def belongs_to_caller(
    attributes: Mapping[str, str], *, user: str = "", project: str = "", session: str = ""
) -> bool:
    """Whether the note exists for a caller who is bound so: it is theirs, or everybody's."""
    for name, pinned in (("user", user), ("project", project)):
        owner = attributes[name].casefold()
        if pinned and (attributes["unclear"] or owner not in ("", pinned.casefold())):
            return False
    if not session:
        return True
    bound = attributes["scope"].casefold() == "session"
    if bound and attributes["session"].casefold() != session.casefold():
        return False
    return attributes["unclear"] != SESSION_UNCLEAR


# --- whose it is ------------------------------------------------------------------------------


def _unclear_attribute(note: Note) -> str:
    unreadable = note.problems and any(_problems_with_attributes(note))
    if not unreadable and not any(_doubts_about_owner_attributes(note)):
        return ""
    return SESSION_UNCLEAR if note.path.startswith(_VOLATILE) else OWNER_UNCLEAR


def _problems_with_attributes(note: Note) -> Iterator[bool]:
    """What is wrong with the note, as far as it makes its properties unreadable."""
    kinds = {problem.kind for problem in note.problems}
    head = note.text[slice(*note.block)] if note.block else ""
    yield not kinds.isdisjoint(_UNREADABLE)
    yield "not-utf8" in kinds and printable(head) != head
    yield "conflict-markers" in kinds and (not note.block or "\n<<<<<<< " in f"\n{head}")


def _doubts_about_owner_attributes(note: Note) -> Iterator[bool]:
    """What else keeps one from saying whose the note is."""
    if note.block is None:
        yield not note.text or note.text.isspace()
        yield _look_like_lines_of_attributes(note, 0)
        return
    for name in _OWNERS:
        yield note.key_of(name) is not None and not _unlinked_attribute(note.string(name))
    spelt = Counter(key.casefold() for key in note.properties)
    yield any(spelt[note.names.get(name, name).casefold()] > 1 for name in _BINDING)
    second = _SECOND_BLOCK.match(note.text, note.body_start)
    yield second is not None and _look_like_lines_of_attributes(note, second.end())


def _look_like_lines_of_attributes(note: Note, start: int) -> bool:
    """Whether the first lines name a user or project as properties do: a fence of theirs is
    broken, or a line came before it."""
    text = note.text[start : start + _FIRST].lower()
    names = (note.names.get(name, name).lower() for name in _OWNERS)
    if not any(_is_line_of_attribute(name, text) for name in names):
        return False
    return bool(start or _NAMING.match(text.lstrip()) or _DASHES.search(text))


def _is_line_of_attribute(name: str, text: str) -> bool:
    at = text.find(name)
    while at >= 0:
        if _VALUE.match(text, at + len(name)):
            line = text[max(0, at - _INDENT) : at].rpartition("\n")[2]
            if len(line) < _INDENT and not line.strip(" \t>\"'"):
                return True
        at = text.find(name, at + 1)
    return False


# --- values -----------------------------------------------------------------------------------


def _unlinked_attribute(value: str) -> str:
    """`[[Atlas]]` and `[[Atlas|the project]]` name the project Atlas."""
    if value.startswith("[[") and value.endswith("]]"):
        return value[2:-2].partition("|")[0].strip()
    return value


def _type_attribute_by_folder(path: str, settings: Settings) -> str:
    for name, kind in (("entities", "entity"), ("sessions", "session")):
        if path.startswith(settings[f"folders.{name}"].strip("/") + "/"):
            return kind
    return "semantic"


# --- its day ----------------------------------------------------------------------------------


def note_day(note: Note) -> dt.date | None:
    """By its name (daily notes, meetings), else by a property, else by its first heading."""
    if found := day_in_name(note.title):
        made = note.created  # older journals were named by UTC
        if made and f"{made:%Y-%m-%d %H%M} " == note.title[:16]:
            return note.created_day
        return found
    for name in _PROPERTIES if note.properties else ():
        if found := day_in_name(note.string(name)):
            return note.created_day if name == "created" and note.created else found
    for heading in note.headings[:_FIRST_HEADINGS]:
        if found := day_in_name(heading.text):
            return found
    return None


def day_in_name(text: str) -> dt.date | None:
    """The first full date in a name, a heading (`## 2026-10-28`) or a property."""
    for match in _FULL.finditer(text[:1000]):
        parts = match["y"] or match["y2"], match["m"] or match["m2"], match["d"] or match["d2"]
        try:
            return dt.date(*map(int, parts))
        except ValueError:
            continue
    return None


# --- a person's own properties ----------------------------------------------------------------


def own_property_lines(note: Note) -> str:
    """The lines of the frontmatter that say something, as they stand in the file. What vaultmem
    keeps there for itself, and what Obsidian does, is left out; tags and aliases are read
    elsewhere."""
    if note.block is None or not note.properties:
        return ""
    left_out = _not_own_properties(bool(note.id), tuple(note.names.items()))
    if all(name.casefold() in left_out for name in note.properties):  # most notes of agents
        return ""
    head = note.text[slice(*note.block)][:_MOST_OWN]
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
