"""One note: what it says, what it is about, where it leads, how it became so, who was shown it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from vaultmem.errors import NotFound, VaultmemError
from vaultmem.surfaces.page import pieces
from vaultmem.surfaces.page.asking import PageRequest, Screen, note_address, page_address
from vaultmem.surfaces.page.markup import Child, Markup, joined, tag
from vaultmem.surfaces.page.note_pages import actions, tabs
from vaultmem.surfaces.page.note_pages.rendering import MOST_SHOWN, rendered_note

if TYPE_CHECKING:
    from vaultmem.operations.facts import FactView
    from vaultmem.operations.graphs.neighbours import Neighbourhood
    from vaultmem.operations.results import Memory

_LINKS: Final = 120
_SHOWN_LINKS: Final = 30
_TABS: Final[Mapping[str, tuple[str, Callable[[PageRequest, Memory], Markup]]]] = {
    "file": ("File", tabs.file_tab),
    "edit": ("Edit", tabs.edit_tab),
    "history": ("History", tabs.history_tab),
    "uses": ("Uses", tabs.uses_tab),
}


def note_screen(request: PageRequest) -> Screen:
    memory = _memory(request)
    tab = request.asked("tab")
    if request.read_only and tab == "edit":
        tab = ""
    show = _TABS[tab][1] if tab in _TABS else _reading
    main = joined((_head(memory), _tabs(request, memory, tab), show(request, memory)))
    return Screen(memory.title, main, live=tab != "edit")


def _memory(request: PageRequest) -> Memory:
    found = request.vault.get([request.path], counted=False)
    if not found.memories:
        raise NotFound(
            f"There is no note {request.path!r} here. It may have been moved, or belong to "
            "somebody else."
        )
    return found.memories[0]


def _head(memory: Memory) -> Markup:
    told: list[Child] = [tag("h1", memory.title, dir="auto")]
    if memory.forgotten:
        why = f": {memory.forgotten_reason}" if memory.forgotten_reason else "."
        told.append(tag("p", f"Forgotten{why} Agents do not find it.", class_="forgotten"))
    if memory.superseded_by:
        link = pieces.note_link(memory.superseded_by, memory.superseded_by)
        told.append(tag("p", "Replaced by ", link, class_="forgotten"))
    told.extend(tag("p", problem.message, class_="warn small") for problem in memory.problems or ())
    return joined(told)


def _tabs(request: PageRequest, memory: Memory, at: str) -> Markup:
    names = {"": "Note"} | {name: title for name, (title, _) in _TABS.items()}
    if request.read_only:
        del names["edit"]
    links = (
        tag(
            "a",
            title,
            href=note_address(memory.path, tab=name),
            aria_current="page" if name == at else None,
        )
        for name, title in names.items()
    )
    return tag("nav", *links, class_="tabs", aria_label="This note")


# --- reading ----------------------------------------------------------------------------------


def _reading(request: PageRequest, memory: Memory) -> Markup:
    text: list[Child] = [actions.actions(request, memory), rendered_note(memory.content)]
    if len(memory.content) > MOST_SHOWN:
        left = len(memory.content) - MOST_SHOWN
        whole = tag("a", "the file", href=note_address(memory.path, tab="file"))
        text.append(tag("p", f"{left:,} characters more: ", whole, class_="soft"))
    return tag(
        "div",
        tag("article", *text, class_="text"),
        tag("aside", *_beside(request, memory), class_="beside", aria_label="About this note"),
        class_="note",
    )


def _beside(request: PageRequest, memory: Memory) -> Iterator[Markup]:
    yield tag("h2", "Properties")
    yield pieces.table_of(_properties(memory))
    around = _around(request, memory)
    yield from _facts(request, memory)
    yield from _links("Links to", around, outgoing=True)
    yield from _links("Linked from", around, outgoing=False)
    if similar := request.vault.similar(memory.path):
        lines = (
            tag("li", pieces.note_link(s.path, s.title), f" {s.relevance_score:.0%}")
            for s in similar
        )
        yield tag("h2", "Similar")
        yield tag("ul", *lines)
    map_link = tag("a", "On the map", href=page_address("/map", at=memory.path))
    yield tag("p", map_link, " · ", _obsidian(request, memory), class_="small")


def _properties(memory: Memory) -> dict[str, Child]:
    source = memory.source
    if isinstance(source, dict):
        source = "; ".join(f"{name}: {value}" for name, value in source.items())
    rows: dict[str, Child] = {
        "Type": memory.kind or memory.type,
        "Scope": memory.scope,
        "Project": memory.project
        and tag("a", memory.project, href=page_address("/", project=memory.project)),
        "User": memory.user,
        "Tags": [
            tag("a", f"#{each} ", href=page_address("/search", q=each, tag=each))
            for each in memory.tags
        ],
        "About": _names(memory.about),
        "From": _names(memory.derived_from),
        "Made": pieces.moment(memory.created_at),
        "Changed": pieces.moment(memory.updated_at),
        "Source": source,
        "Session": memory.session
        and tag("a", memory.session, href=page_address("/sessions", id=memory.session)),
        "Importance": f"{memory.importance:g}",
        "Confidence": None if memory.confidence is None else f"{memory.confidence:g}",
        "Aliases": ", ".join(memory.aliases or ()),
        "Key": memory.key,
        "Id": tag("code", memory.id) if memory.id != memory.path else None,
        "File": tag("code", memory.path),
    }
    others = {name: _plain(value) for name, value in (memory.properties or {}).items()}
    return {name: value for name, value in (rows | others).items() if value}


def _plain(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_plain, value))
    return str(value)[:500]


def _names(names: Iterable[str] | None) -> list[Child]:
    found: list[Child] = []
    for name in names or ():
        found += [pieces.note_link(name, name), " "]
    return found


# --- facts and links --------------------------------------------------------------------------


def _facts(request: PageRequest, memory: Memory) -> Iterator[Markup]:
    """What held on a day: without one, what holds now."""
    as_of = request.asked("as_of")
    if not memory.facts:
        return
    try:
        every = request.vault.facts(memory.path, as_of=as_of or None).facts
    except VaultmemError as error:
        yield tag("p", error.message, class_="warn small")
        return
    yield tag("h2", "Facts")
    box = tag("input", type="date", name="as_of", value=as_of, aria_label="Facts as of")
    yield tag(
        "form",
        tag("label", "As of", box),
        tag("button", "Show", class_="quiet"),
        action=note_address(memory.path),
        class_="filters",
    )
    lines = [_fact(each) for each in every if each.path == memory.path]
    yield tag("ul", *lines) if lines else tag("p", "None held then.", class_="soft small")


def _fact(fact: FactView) -> Markup:
    bare = fact.object.removeprefix("[[").removesuffix("]]")
    said: Child = fact.object
    if bare != fact.object and "[[" not in bare:
        said = pieces.note_link(bare.partition("|")[0], bare.partition("|")[2] or bare)
    span = [pieces.moment(at) for at in (fact.valid_from, fact.valid_to)]
    held: list[Child] = ["since ", span[0]] if fact.valid_from else []
    if fact.valid_to:
        held += [" until ", span[1]]
    return tag("li", f"{fact.predicate} ", said, " ", tag("span", *held, class_="soft small"))


def _around(request: PageRequest, memory: Memory) -> Neighbourhood | None:
    try:
        return request.vault.neighbourhood(memory.path, limit=_LINKS)
    except VaultmemError:
        return None


def _links(title: str, around: Neighbourhood | None, *, outgoing: bool) -> Iterator[Markup]:
    if around is None:
        return
    lines = []
    for each in around.connections:
        near, far = (each.source, each.target) if outgoing else (each.target, each.source)
        if near != 0:
            continue
        other = around.names[far]
        kind = "" if each.relation in ("links_to", "about") else f"{each.relation} "
        lines.append(
            tag(
                "li",
                tag("span", kind, class_="soft"),
                pieces.note_link(other.path or other.name, other.name),
            )
        )
    if not lines:
        return
    yield tag("h2", f"{title} ({len(lines)})")
    yield tag("ul", *lines[:_SHOWN_LINKS])
    if len(lines) > _SHOWN_LINKS:
        yield tag("details", tag("summary", "the others"), tag("ul", *lines[_SHOWN_LINKS:]))


def _obsidian(request: PageRequest, memory: Memory) -> Markup:
    vault, file = quote(request.vault.root.name, safe=""), quote(memory.path, safe="")
    return tag("a", "Open in Obsidian", href=f"obsidian://open?vault={vault}&file={file}")
