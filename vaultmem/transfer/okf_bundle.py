"""Notes as concepts of a bundle in the Open Knowledge Format, v0.2: properties that it asks for are
added, links become Markdown's own, and each folder gets an index. The notes themselves stay."""

from __future__ import annotations

import datetime as dt
import json
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final
from urllib.parse import quote

from vaultmem import __version__
from vaultmem.errors import InvalidInput
from vaultmem.notes import markdown, sentences
from vaultmem.notes.edit import SetProperty, edited_note
from vaultmem.notes.file_names import numbered_name
from vaultmem.notes.links import LinkMap
from vaultmem.notes.masking import without_private
from vaultmem.notes.note import Note, parse, printable

OKF_VERSION: Final = "0.2"
INDEX: Final = "index.md"
RESERVED: Final = (INDEX, "log.md")
_TYPE: Final = "Note"  # of what nobody gave one
_DESCRIPTION: Final = 200  # characters
_SHOWN: Final = re.compile(
    r"!?\[\[(?:[^\[\]\n|]*\|)?([^\[\]\n]*)\]\]|!?\[([^\[\]\n]*)\]\([^()\n]*\)"
)


class UnfitConcept(InvalidInput):
    """Why a note cannot be part of a bundle."""


class OkfBundle:
    def __init__(self, paths: Sequence[str]) -> None:
        self._links = LinkMap(paths)
        self._places = dict(_places_in_bundle(paths))
        self._listed: dict[str, list[tuple[str, str, str]]] = {"": []}

    def place(self, path: str) -> str:
        return self._places[path]

    def concept(self, note: Note) -> bytes:
        """The note as a concept, which is listed from then on."""
        plain = parse(note.raw, note.path)  # by the format's own names, whatever ours are here
        if plain.problems:
            raise UnfitConcept("its properties cannot be read, so a bundle cannot have it")
        kind = plain.get("type")
        if "type" in map(str.casefold, plain.properties) and not (
            isinstance(kind, str) and kind.strip()
        ):
            plain = edited_note(plain, SetProperty("type", _TYPE))
        body = without_private(self._with_plain_links(note))
        title = posixpath.basename(note.path).removesuffix(".md")
        shown = _SHOWN.sub(lambda found: found[1] or found[2] or "", without_private(note.body))
        text = sentences.first_sentence(shown, _DESCRIPTION)
        given = note.string("description") or (text if not text.startswith(("#", "|")) else "")
        about = " ".join(printable(given).split())
        added = dict(_added_properties(note, title, about, self._source_of))
        made = _with_properties(plain, added, body)
        if not parse(made.encode()).string("type"):
            raise UnfitConcept("its properties leave no place for the type that a concept needs")
        self._list(self.place(note.path), note.string("title") or title, about)
        return made.encode()

    def indexes(self) -> Iterator[tuple[str, bytes]]:
        """The index of each folder; that of the bundle says which version it is."""
        for folder, entries in sorted(self._listed.items()):
            lines = [
                f"* [{_escaped(title)}]({quote(name)})" + (f" - {about}" if about else "")
                for name, title, about in sorted(entries)
            ]
            head = f'---\nokf_version: "{OKF_VERSION}"\n---\n\n' if not folder else ""
            name = posixpath.basename(folder) or "Contents"
            place = f"{folder}/{INDEX}" if folder else INDEX
            yield place, (f"{head}# {name}\n\n" + "".join(f"{each}\n" for each in lines)).encode()

    def _list(self, place: str, title: str, about: str) -> None:
        folder, _, name = place.rpartition("/")
        self._listed.setdefault(folder, []).append((name, title, about))
        while folder:
            above, _, inner = folder.rpartition("/")
            entry = (f"{inner}/", inner, "")
            known = self._listed.setdefault(above, [])
            if entry not in known:
                known.append(entry)
            folder = above

    # --- links -------------------------------------------------------------------------------

    def _target(self, target: str, source: str) -> str:
        """The bundle's path of a note that a link means; empty where that is not one note."""
        found = self._links.resolve(target, source).paths
        return f"/{quote(self._places[found[0]])}" if len(found) == 1 and target.strip() else ""

    def _source_of(self, written: str, note: Note) -> str:
        link = markdown.WIKILINK.fullmatch(written.strip())
        target = link[0][2:-2].partition("|")[0].partition("#")[0] if link else ""
        return (self._target(target, note.path) if target else "") or written

    def _with_plain_links(self, note: Note) -> str:
        pieces, at = [], 0
        for found in markdown.WIKILINK.finditer(markdown.visible_text(note.body)):
            written, _, display = found[0][2:-2].partition("|")
            target, _, anchor = written.partition("#")
            place = self._target(target, note.path)
            if not place or note.body[: found.start()].endswith("!"):  # what is embedded stays so
                continue
            shown = display.rpartition("|")[2] or written
            there = f"{place}#{quote(anchor)}" if anchor and anchor[0] != "^" else place
            pieces += [note.body[at : found.start()], f"[{shown}]({there})"]
            at = found.end()
        return "".join([*pieces, note.body[at:]])


def _escaped(title: str) -> str:
    return title.replace("[", "(").replace("]", ")").replace("\\", "/")


def _places_in_bundle(paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Names that the format keeps for itself get a number."""
    for path in paths:
        folder, _, name = path.rpartition("/")
        if name.casefold() in RESERVED:
            taken = {each.removesuffix(".md") for each in RESERVED}
            name = f"{numbered_name(name[:-3], taken)}.md"
        yield path, f"{folder}/{name}" if folder else name


def _added_properties(
    note: Note, title: str, about: str, source_of: Callable[[str, Note], str]
) -> Iterator[tuple[str, Any]]:
    """What the format has words for, of what we know."""
    kind = note.string("type") or _TYPE
    yield from (("type", kind), ("title", title), ("description", about))
    made = note.updated or note.created
    by = (
        f"{note.string('source').split(';')[0].strip()}/{__version__}"
        if _is_agents(note)
        else "human:owner"
    )
    yield (
        "generated",
        {"by": by, **({"at": f"{made.astimezone(dt.UTC):%Y-%m-%dT%H:%M:%SZ}"} if made else {})},
    )
    origins = [*note.strings("derived_from"), *([note.string("source")] if _is_place(note) else [])]
    if origins:
        yield "sources", [{"resource": source_of(origin, note)} for origin in origins]
    if note.properties.get("forgotten") is True or note.strings("superseded_by"):
        yield "status", "deprecated"


def _is_agents(note: Note) -> bool:
    """Whether a program wrote it: it says which."""
    return bool(re.fullmatch(r"[\w.-]+(?:;.*)?", note.string("source")))


def _is_place(note: Note) -> bool:
    return "/" in note.string("source")


def _with_properties(note: Note, added: dict[str, Any], body: str) -> str:
    """The note's own properties as they stand, and behind them those that it lacks."""
    head = printable(without_private(note.text[: note.body_start]))
    known = {name.casefold() for name, value in note.properties.items() if value not in (None, "")}
    empty = {name.casefold() for name in note.properties} - known
    lines = [
        f"{name}: {json.dumps(value, ensure_ascii=False)}"
        for name, value in added.items()
        if value and name not in known and name not in empty
    ]
    newline = note.newline
    if not note.block:
        return newline.join(["---", *lines, "---", ""]) + printable(body)
    fence = head.rstrip().rfind("---")
    return f"{head[:fence]}{''.join(f'{line}{newline}' for line in lines)}{head[fence:]}{printable(body)}"
