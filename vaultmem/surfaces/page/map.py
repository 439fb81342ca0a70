"""The neighbourhood of one thing as a picture, and the same as a list beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from vaultmem.errors import NotFound
from vaultmem.surfaces.page import pieces
from vaultmem.surfaces.page.asking import PageRequest, Screen, page_address
from vaultmem.surfaces.page.markup import Markup, joined, tag
from vaultmem.surfaces.render import short_text

if TYPE_CHECKING:
    from vaultmem.operations.graphs.graph import GraphAnswer
    from vaultmem.operations.graphs.neighbours import Neighbourhood

_WIDE, _HIGH = 760, 620
_RINGS: Final = ((0.0, 1), (150.0, 14), (225.0, 22), (290.0, 400))  # radius, and how many fit
_FLAT: Final = 0.92
_WIDEST: Final = 1.4  # where only inner rings are needed
_LABEL: Final = 22  # characters
_STARTS: Final = 40


def map_screen(request: PageRequest) -> Screen:
    at = request.asked("at")
    hops = 2 if request.asked("hops") == "2" else 1
    head = tag("h1", "Map", class_="hidden")
    if not at:
        answer = request.vault.search_graph(include_memories=False, limit=_STARTS)
        return Screen("Map", joined((head, _search(at, hops), _starts(answer))), "/map")
    try:
        around = request.vault.neighbourhood(at, depth=hops)
    except NotFound as error:
        main = joined((head, _search(at, hops), pieces.empty(error.message)))
        return Screen("Map", main, "/map")
    both = tag("div", _picture(around, hops), _list(around, hops), class_="map")
    main = joined((head, _search(at, hops), both))
    return Screen(f"Map of {around.names[0].name}", main, "/map")


def _search(at: str, hops: int) -> Markup:
    return tag(
        "form",
        tag("label", "Around", tag("input", name="at", value=at, autocomplete="off")),
        tag(
            "label",
            "Steps",
            tag(
                "select",
                *(tag("option", n, value=n, selected=n == hops) for n in (1, 2)),
                name="hops",
            ),
        ),
        tag("button", "Show"),
        action="/map",
        class_="filters",
        role="search",
        aria_label="Where the map begins",
    )


def _starts(answer: GraphAnswer) -> Markup:
    lines = [
        tag(
            "li",
            tag("a", entity.name, href=page_address("/map", at=entity.path or entity.name)),
            tag("span", f" {entity.type} · {len(entity.relationships)} links", class_="soft small"),
        )
        for entity in answer.entities
    ]
    if not lines:
        return pieces.empty("Nothing is connected yet. Links in notes make the map.")
    return joined((tag("h2", "Begin at what is most connected"), tag("ul", *lines)))


# --- the picture ------------------------------------------------------------------------------


def placed_in_rings(distances: Sequence[int]) -> list[tuple[float, float]]:
    """The middle first; nearer ones on inner rings, turned evenly: the same for the same names."""
    rings: list[list[int]] = [[0], [], [], []]
    for number, distance in enumerate(distances[1:], 1):
        ring = max(1, distance)
        while ring < 3 and len(rings[ring]) >= _RINGS[ring][1]:
            ring += 1
        rings[ring].append(number)
    found = [(0.0, 0.0)] * len(distances)
    outermost = max(ring for ring, numbers in enumerate(rings) if numbers)
    wider = _RINGS[3][0] / _RINGS[outermost][0] if outermost else 1.0
    for ring, numbers in enumerate(rings):
        radius = _RINGS[ring][0] * min(wider, _WIDEST)
        for place, number in enumerate(numbers):
            turn = 2 * math.pi * (place + ring * 0.37) / max(1, len(numbers)) - math.pi / 2
            found[number] = (
                _WIDE / 2 + radius * 1.15 * math.cos(turn),
                _HIGH / 2 + radius * _FLAT * math.sin(turn),
            )
    return found


def _picture(around: Neighbourhood, hops: int) -> Markup:
    spots = placed_in_rings([name.distance for name in around.names])
    edges = [
        tag("line", class_="edge", **_ends(spots[each.source], spots[each.target]))
        for each in around.connections
    ]
    nodes = [_node(around, number, spot, hops) for number, spot in enumerate(spots)]
    picture = tag(
        "svg",
        tag("title", f"What lies around {around.names[0].name}"),
        *edges,
        *nodes,
        viewBox=f"0 0 {_WIDE} {_HIGH}",
        role="group",
        aria_label="The map; the list beside it says the same",
    )
    left = around.total - len(around.names)
    said = f"{left:,} more are not drawn." if left > 0 else ""
    return tag("div", picture, tag("p", said, class_="soft small") if said else None)


def _ends(start: tuple[float, float], end: tuple[float, float]) -> dict[str, str]:
    return dict(zip(("x1", "y1", "x2", "y2"), (f"{n:.1f}" for n in (*start, *end)), strict=True))


def _node(around: Neighbourhood, number: int, spot: tuple[float, float], hops: int) -> Markup:
    name = around.names[number]
    kind = "centre" if number == 0 else "entity" if name.type == "entity" else "memory"
    x, y = f"{spot[0]:.1f}", spot[1]
    size = 13 if number == 0 else 8 if name.distance == 1 else 6
    label = tag("text", short_text(name.name, _LABEL), x=x, y=f"{y + size + 13:.1f}")
    return tag(
        "a",
        tag("title", name.name),
        tag("circle", cx=x, cy=f"{y:.1f}", r=size),
        label,
        href=page_address("/map", at=name.path or name.name, hops=hops if hops > 1 else ""),
        class_=kind,
    )


def _list(around: Neighbourhood, hops: int) -> Markup:
    middle = around.names[0]
    opened = (
        pieces.note_link(middle.path, "Open the note") if middle.path else "No note has this name."
    )
    lines = []
    for each in around.connections:
        source, target = around.names[each.source], around.names[each.target]
        lines.append(
            tag(
                "li",
                *(_named(source.name, source.path, hops) if each.source else (middle.name,)),
                tag("span", f" {each.relation.replace('_', ' ')} ", class_="soft"),
                *(_named(target.name, target.path, hops) if each.target else (middle.name,)),
            )
        )
    return tag(
        "section",
        tag("h2", middle.name),
        tag("p", opened),
        tag("ul", *lines) if lines else tag("p", "Nothing links to it.", class_="soft"),
        aria_label="The same as a list",
        class_="beside",
    )


def _named(name: str, path: str, hops: int) -> tuple[Markup]:
    return (
        tag("a", name, href=page_address("/map", at=path or name, hops=hops if hops > 1 else "")),
    )
