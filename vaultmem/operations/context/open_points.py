"""What a project's notes tell first: what is open, an overview, decisions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from vaultmem.index import CatalogRow

_OPEN: Final = re.compile(r"(?m)^\s*[-*+] \[ \] +(?P<point>\S.*)$")
_LABELLED: Final = re.compile(
    r"(?im)^\s*(?:[-*+] )?\**(?:to ?do|open|next(?: steps?)?|offen|nächste schritte|em aberto"
    r"|a fazer|à faire|pendiente)\**:\**\s*(?P<point>\S.*)$"
)
_OVERVIEW: Final = re.compile(
    r"\b(?:overview|readme|index|home|about|summary|überblick|übersicht|visão geral|aperçu|resumen)\b",
    re.IGNORECASE,
)
_DECISION: Final = re.compile(
    r"\b(?:decisions?|decided|adr|entscheidung\w*|decis(?:ão|ões|ión|iones)|décisions?)\b",
    re.IGNORECASE,
)
_POINTS: Final = 5


class OpenPoints(NamedTuple):
    path: str
    title: str
    text: str


def open_points(notes: Sequence[tuple[CatalogRow, str]]) -> OpenPoints | None:
    """What is open in the newest note that has anything open."""
    for row, body in notes:
        if points := list(_points(body))[:_POINTS]:
            return OpenPoints(row.path, row.title, "Open: " + "; ".join(points))
    return None


def _points(body: str) -> Iterator[str]:
    for pattern in (_OPEN, _LABELLED):
        yield from (match["point"].strip() for match in pattern.finditer(body))


def telling_first(rows: Sequence[CatalogRow], project: str) -> list[CatalogRow]:
    """An overview, then what was decided, then what counts most; else the newest first."""

    def place(row: CatalogRow) -> tuple[int, float]:
        if row.title.casefold() == project.casefold() or _OVERVIEW.search(row.title):
            return 0, 0.0
        decided = _DECISION.search(" ".join([row.title, row.kind, *row.tags]))
        return (1 if decided else 2), -(0.5 if row.importance is None else row.importance)

    return sorted(rows, key=place)
