"""A graph as others draw it: Graphviz, Mermaid, and the JSON Canvas of Obsidian."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from vaultmem.surfaces.cli import screen

Edge = tuple[str, str, str]  # source, relation, target

_WIDTH, _HEIGHT = 260, 60
_APART: Final = 340  # pixels between neighbours on the circle


def dot_drawing(edges: Sequence[Edge]) -> str:
    def quoted(text: str) -> str:
        return '"' + screen.one_screen_line(text).replace("\\", "\\\\").replace('"', '\\"') + '"'

    lines = [f"  {quoted(a)} -> {quoted(b)} [label={quoted(r)}];" for a, r, b in edges]
    return "\n".join(["digraph vault {", "  rankdir=LR;", *lines, "}"])


def mermaid_drawing(edges: Sequence[Edge]) -> str:
    def quoted(text: str) -> str:
        return screen.one_screen_line(text).replace("&", "&amp;").replace('"', "&quot;")

    names = dict.fromkeys(name for source, _, target in edges for name in (source, target))
    marks = {name: f"n{number}" for number, name in enumerate(names, 1)}
    boxes = [f'  {mark}["{quoted(name)}"]' for name, mark in marks.items()]
    lines = [f'  {marks[a]} -->|"{quoted(r)}"| {marks[b]}' for a, r, b in edges]
    return "\n".join(["graph LR", *boxes, *lines])


def canvas_drawing(edges: Sequence[Edge], files: Mapping[str, str]) -> dict[str, Any]:
    """Everything on one circle; what has a note is shown as that note."""
    names = list(dict.fromkeys([*files, *(n for a, _, b in edges for n in (a, b))]))
    radius = max(_APART, _APART * len(names) / math.tau)
    nodes = []
    for number, name in enumerate(names):
        turn = math.tau * number / max(1, len(names))
        place = {"x": round(radius * math.cos(turn)), "y": round(radius * math.sin(turn))}
        shown = (
            {"type": "file", "file": files[name]}
            if name in files
            else {"type": "text", "text": name}
        )
        nodes.append(
            {"id": _canvas_mark(name), **shown, **place, "width": _WIDTH, "height": _HEIGHT}
        )
    lines = [
        {
            "id": _canvas_mark(a, r, b),
            "fromNode": _canvas_mark(a),
            "toNode": _canvas_mark(b),
            "label": r,
        }
        for a, r, b in edges
    ]
    return {"nodes": nodes, "edges": lines}


def _canvas_mark(*parts: str) -> str:
    """The same id for the same thing, so that a drawing made again can be compared."""
    return hashlib.blake2b("\0".join(parts).encode(errors="replace"), digest_size=8).hexdigest()
