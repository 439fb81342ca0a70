"""A canvas of Obsidian as Markdown: its cards under the labels of their groups, then its arrows.

A canvas is JSON (jsoncanvas.org) and somebody's drawing: it is read and never written. What
comes out is read as any note is, but for the places of its cards, each of which is a passage.
Every card is a text by itself: what is private or a comment in it ends with it, and so does a
code block that nobody closed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from typing import Any, Final, NamedTuple

from vaultmem.base import small_files
from vaultmem.base.line_ends import with_unix_line_ends
from vaultmem.notes import masking
from vaultmem.notes.links import as_link, link_target
from vaultmem.notes.note import Card, Note, Problem, note_bytes, one_line, parse, printable

MOST_CANVAS_BYTES: Final = 4_000_000  # its values take some thirty times as much memory
MOST_NODES: Final = 5_000
MOST_GROUPS: Final = 500  # each is compared with every card
MOST_ARROWS: Final = 5_000
MOST_LABELS: Final = 4  # above one card
_LONGEST_LABEL: Final = 250
_LONGEST_PATH: Final = 1_000
_LONGEST_NAME: Final = 80  # of a card that an arrow leads to
_READ_ONCE: Final = 200_000
_BETWEEN: Final = "\n\n***\n\n"
_NAMELESS: Final = "…"

_OPEN_MARK: Final = re.compile(r"%%|<!--|<(?=/?private)", re.IGNORECASE)
_CLOSING_MARKS: Final = "\n\n%% --> </private>"
_BLOCK_MARK: Final = re.compile(r"\A[#>*+\-\s]+")
_NO_NAME: Final = re.compile(r"[`~\[\]:]")
_MALFORMED: Final = "malformed-canvas"
_TOO_LARGE: Final = "large-canvas"
_ODD: Final = Problem(
    _MALFORMED, "Some of this canvas is not as canvases are; the rest is searched."
)
_MANY: Final = Problem(
    _TOO_LARGE,
    f"Only the first {MOST_NODES:,} cards, {MOST_GROUPS} groups and {MOST_ARROWS:,} arrows are read.",
)


class Canvas(NamedTuple):
    raw: bytes  # Markdown
    cards: tuple[Card, ...] = ()
    problems: tuple[Problem, ...] = ()


def read_canvas(raw: bytes) -> Canvas:
    """Never raises: what is wrong becomes a Problem. The text says so too, in a comment."""
    return (_canvas_read if len(raw) <= _READ_ONCE else _canvas_read.__wrapped__)(raw)


def canvas_note(canvas: Canvas, path: str, names: Mapping[str, str]) -> Note:
    """The canvas as a note. A line on a card is no fact, no entry of a journal and no trace of
    a merge."""
    note = parse(canvas.raw, path, names)
    inside = (problem for problem in note.problems if problem.kind != "conflict-markers")
    problems = (*canvas.problems, *inside)
    return replace(note, facts=(), observations=(), cards=canvas.cards, problems=problems)


@lru_cache(maxsize=8)
def _canvas_read(raw: bytes) -> Canvas:
    try:
        data = _canvas_data(raw)
    except ValueError as error:
        return _unread_canvas(Problem(_MALFORMED, _why_canvas_is_malformed(raw, error)))
    except _LargeCanvas:
        most = f"{MOST_CANVAS_BYTES // 1_000_000} MB"
        return _unread_canvas(Problem(_TOO_LARGE, f"Only canvases of up to {most} are read."))
    return _CanvasPage(_Drawing(data)).canvas()


class _LargeCanvas(Exception):
    pass


def _canvas_data(raw: bytes) -> dict[str, Any]:
    if len(raw) > MOST_CANVAS_BYTES:
        raise _LargeCanvas
    text = raw.decode("utf-8-sig")
    if not text.strip():
        return {}  # as Obsidian makes a new one
    data = small_files.parse_json(text)
    if not isinstance(data, dict):
        raise ValueError("it is no object with nodes and edges")
    return data


def _why_canvas_is_malformed(raw: bytes, error: ValueError) -> str:
    if b"\n<<<<<<< " in b"\n" + raw:
        return "This canvas has git's conflict markers in it, so it cannot be read."
    if isinstance(error, json.JSONDecodeError):
        return f"Line {error.lineno}: this canvas is not valid JSON, so it cannot be read."
    if isinstance(error, UnicodeDecodeError):
        return "This canvas is not UTF-8 text, so it cannot be read."
    return f"This canvas cannot be read: {one_line(str(error))[:200]}."


def _unread_canvas(problem: Problem) -> Canvas:
    return Canvas(note_bytes(f"%% {problem.message} %%\n"), (), (problem,))


# --- what is drawn -----------------------------------------------------------------------------


class _Frame(NamedTuple):
    """Where something lies; what says no place lies nowhere, and comes last."""

    y: float = math.inf
    x: float = math.inf
    width: float = 0.0
    height: float = 0.0

    @classmethod
    def of(cls, node: Mapping[str, Any]) -> _Frame:
        sizes = [_canvas_number(node.get(name)) for name in ("y", "x", "width", "height")]
        found = [size for size in sizes if size is not None]
        return cls(*found) if len(found) == 4 else cls()

    @property
    def area(self) -> float:
        return self.width * self.height

    def holds(self, other: _Frame) -> bool:
        """Whether the middle of the other lies in it: people draw a card over the edge."""
        x, y = other.x + other.width / 2, other.y + other.height / 2
        if not math.isfinite(self.x):
            return False
        return self.x <= x <= self.x + self.width and self.y <= y <= self.y + self.height


class _Node(NamedTuple):
    frame: _Frame
    number: int
    id: str
    kind: str
    text: str  # Markdown of a card, a link of a file, the address of a page, a group's label
    name: str  # by which an arrow calls it


class _Drawing:
    """The nodes and edges of a canvas, without what is none."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.problems: dict[Problem, None] = {}
        nodes = [
            node
            for number, each in enumerate(self._canvas_objects(data, "nodes", MOST_NODES))
            if (node := self._canvas_node(number, each))
        ]
        nodes.sort(key=lambda node: node[:2])  # as one reads: down, then to the right
        groups = [node for node in nodes if node.kind == "group" and node.text]
        if len(groups) > MOST_GROUPS:
            self.problems[_MANY] = None
        self.groups = groups[:MOST_GROUPS]
        self.cards = [node for node in nodes if node.kind != "group" and node.text]
        self.names = {node.id: node.name for node in nodes if node.id}
        self.edges = self._canvas_objects(data, "edges", MOST_ARROWS)

    def _canvas_objects(
        self, data: Mapping[str, Any], name: str, most: int
    ) -> list[Mapping[str, Any]]:
        found = data.get(name, [])
        if not isinstance(found, list):
            self.problems[_ODD] = None
            return []
        if len(found) > most:
            self.problems[_MANY] = None
        objects: list[Mapping[str, Any]] = [each for each in found[:most] if isinstance(each, dict)]
        if len(objects) < len(found[:most]):
            self.problems[_ODD] = None
        return objects

    def _canvas_node(self, number: int, node: Mapping[str, Any]) -> _Node | None:
        """Of a kind that is not known, nothing; plugins have their own."""
        kind = self.canvas_string(node, "type")
        if kind not in _TEXT_OF_KIND:
            return None
        said = self.canvas_string(node, _TEXT_OF_KIND[kind])
        if kind == "text":
            text = name = card_text(said)
        elif kind == "file":
            text = _canvas_file_link(said, self.canvas_string(node, "subpath"))
            name = said.rpartition("/")[2].removesuffix(".md")
        else:
            text = name = _canvas_label(said)
        id_ = self.canvas_string(node, "id")
        return _Node(_Frame.of(node), number, id_, kind, text, _canvas_card_name(name))

    def canvas_string(self, thing: Mapping[str, Any], name: str) -> str:
        found = thing.get(name, "")
        if isinstance(found, str):
            return found
        self.problems[_ODD] = None
        return ""

    def groups_around(self, frame: _Frame) -> tuple[int, ...]:
        """The numbers of the groups in which something lies, the largest first."""
        found = [number for number, group in enumerate(self.groups) if group.frame.holds(frame)]
        found.sort(key=lambda number: -self.groups[number].frame.area)
        return tuple(found[-MOST_LABELS:])

    def groups_around_group(self, number: int) -> tuple[int, ...]:
        own = self.groups[number].frame
        around = (each for each in self.groups_around(own) if each != number)
        return tuple(each for each in around if self.groups[each].frame.area >= own.area)


def _canvas_number(value: Any) -> float | None:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


# --- texts -------------------------------------------------------------------------------------


def card_text(text: str) -> str:
    """What a reader may see of a card; nothing in it reaches beyond it."""
    text = with_unix_line_ends(printable(text).replace("\0", "\ufffd"))
    text = masking.text_without_comments(masking.without_private(text)).rstrip()
    text = text[text.rfind("\n", 0, len(text) - len(text.lstrip())) + 1 :]
    if fence := masking.open_fence(text):
        text = f"{text}\n{fence}"
    if masking.text_without_comments(text + _CLOSING_MARKS)[: len(text)] != text:
        text = _without_canvas_marks(text)
    return text


def _without_canvas_marks(text: str) -> str:
    """Marks that would hide what follows are none any more."""
    return _OPEN_MARK.sub(lambda mark: f"{mark[0][0]} {mark[0][1:]}", text)


def _canvas_label(text: str) -> str:
    words = one_line(card_text(text)).split()
    return _without_canvas_marks(" ".join(words)[:_LONGEST_LABEL].strip())


def _canvas_file_link(path: str, place: str) -> str:
    """A link to the file, or its name where no link can carry it."""
    name = one_line(printable(path)).removesuffix(".md")
    if not name or len(name) > _LONGEST_PATH or _OPEN_MARK.search(name):
        return _canvas_label(path)
    link = f"[[{name}{_canvas_label(place)}]]"
    return link if link_target(link) == name else as_link(name) or _canvas_label(path)


def _canvas_card_name(text: str) -> str:
    """The first line of it that says something."""
    for line in text.split("\n", 20)[:20]:
        name = _NO_NAME.sub("", _BLOCK_MARK.sub("", line[:1000]))
        if name := _canvas_label(name):
            return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME].rstrip()} …"
    return ""


_TEXT_OF_KIND: Final = {"text": "text", "file": "file", "link": "url", "group": "label"}


# --- the page ----------------------------------------------------------------------------------


class _CanvasPage:
    """The text of a canvas as it grows, and where its cards stand in it."""

    def __init__(self, drawing: _Drawing) -> None:
        self._drawing = drawing
        self._pieces: list[str] = []
        self._length = 0
        self._cards: list[Card] = []
        self._under: tuple[int, ...] = ()  # groups whose labels stand above what comes next
        self._is_below_card = False

    def canvas(self) -> Canvas:
        self._write_canvas_cards()
        self._write_canvas_arrows()
        problems = tuple(self._drawing.problems)
        for problem in problems:
            self._write_on_canvas_page(f"\n\n%% {problem.message} %%")
        if self._pieces:
            self._write_on_canvas_page("\n")
        return Canvas(note_bytes("".join(self._pieces)), tuple(self._cards), problems)

    def _write_on_canvas_page(self, text: str) -> None:
        if not self._pieces:
            text = text.lstrip("\n")
            if text.startswith(("---", "\ufeff")):
                text = "\n" + text  # a canvas has no properties
        self._pieces.append(text)
        self._length += len(text)

    def _write_canvas_card(
        self, text: str, groups: tuple[int, ...], before: str, *, is_arrow: bool = False
    ) -> None:
        """A card, and that it is one."""
        self._write_on_canvas_page(before + text)
        labels = tuple(self._drawing.groups[number].text for number in groups)
        self._cards.append(Card(self._length - len(text), self._length, labels, is_arrow))
        self._is_below_card = True

    def _write_canvas_cards(self) -> None:
        for groups, found in groupby(self._canvas_cards_by_group(), key=lambda each: each[0]):
            cards = [card for _, card in found if card is not None]
            self._write_canvas_labels(groups, is_empty=not cards)
            for card in cards:
                if card.kind == "text":
                    self._write_canvas_card(card.text, groups, self._space_before_card)
            if rest := [f"- {card.text}" for card in cards if card.kind != "text"]:
                self._write_canvas_card("\n".join(rest), groups, self._space_before_card)

    @property
    def _space_before_card(self) -> str:
        return _BETWEEN if self._is_below_card else "\n\n"

    def _canvas_cards_by_group(self) -> list[tuple[tuple[int, ...], _Node | None]]:
        """Every card with the groups around it; a group without any, alone."""
        drawing = self._drawing
        found: list[tuple[tuple[int, ...], _Node | None]] = [
            (drawing.groups_around(card.frame), card) for card in drawing.cards
        ]
        used = {number for groups, _ in found for number in groups}
        empty = (number for number in range(len(drawing.groups)) if number not in used)
        found += (((*drawing.groups_around_group(number), number), None) for number in empty)
        return sorted(found, key=lambda each: each[0])

    def _write_canvas_labels(self, groups: tuple[int, ...], *, is_empty: bool) -> None:
        """The labels of the groups that begin here; that of an empty one is told as a card."""
        shared = 0
        while shared < min(len(groups), len(self._under)) and groups[shared] == self._under[shared]:
            shared += 1
        for depth, number in enumerate(groups[shared:], shared):
            label, before = self._drawing.groups[number].text, f"\n\n{'#' * (depth + 2)} "
            if is_empty and number == groups[-1]:
                self._write_canvas_card(label, groups[:depth], before)
            else:
                self._write_on_canvas_page(before + label)
            self._is_below_card = False
        self._under = groups

    def _write_canvas_arrows(self) -> None:
        """A label is said with what it joins; where there is none, only a reader needs the arrow."""
        for number, (ends, label) in enumerate(self._canvas_arrows()):
            before = f"{'' if number or not self._pieces else _BETWEEN[:-1]}\n- "
            if label:
                line = f"{ends}: {label}"
                self._write_canvas_card(line, (), before, is_arrow=True)
            else:
                self._write_on_canvas_page(before + ends)

    def _canvas_arrows(self) -> Iterator[tuple[str, str]]:
        drawing = self._drawing
        for edge in drawing.edges:
            ends = [drawing.canvas_string(edge, name) for name in ("fromNode", "toNode")]
            label = _canvas_label(drawing.canvas_string(edge, "label"))
            names = [drawing.names.get(end, "") for end in ends]
            heads = edge.get("fromEnd") == "arrow", edge.get("toEnd", "arrow") == "arrow"
            told = f" {_ARROWS[heads]} ".join(name or _NAMELESS for name in names)
            if label or all(names):
                yield told, label


_ARROWS: Final = {
    (False, True): "→",
    (True, False): "←",
    (True, True): "↔",
    (False, False): "–",
}
