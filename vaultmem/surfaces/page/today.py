"""What agents and people did to the memories, newest first, and how the memory is."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from vaultmem.base.own_program import command_to_type
from vaultmem.surfaces.page import pieces
from vaultmem.surfaces.page.agents import connected_agents
from vaultmem.surfaces.page.asking import PageRequest, Screen, note_address, page_address
from vaultmem.surfaces.page.conflict_watch import CONFLICTS
from vaultmem.surfaces.page.markup import Markup, joined, tag

if TYPE_CHECKING:
    from vaultmem.operations.happened.activity import Activity, Happening

_SHOWN: Final = 40
_MOST: Final = 100_000
_WHO: Final = (("", "Everybody"), ("agent", "Agents"), ("person", "People"))
_DEEDS: Final = {
    "fact": "stated a fact in",
    "summarised": "summed up",
    "forgotten": "forgot",
    "superseded": "replaced",
    "trashed": "put in the trash",
}


def today_screen(request: PageRequest) -> Screen:
    offset = request.number("offset", 0, _MOST)
    found = request.vault.activity(
        by=request.asked("by") or None,
        since=request.asked("since") or None,
        project=request.asked("project") or None,
        limit=_SHOWN,
        offset=offset,
    )
    main = joined(
        (
            tag("h1", "Today", class_="hidden"),
            pulse(request),
            _choices(request),
            _feed(found, request) if found.activity else _nothing(found, request),
            _older(found, request),
        )
    )
    return Screen("Today", main, "/")


# --- how the memory is ------------------------------------------------------------------------


def pulse(request: PageRequest) -> Markup:
    """One sentence of health, each part of it leading to where more is said."""
    parts = [part for part in _pulse_parts(request) if part is not None]
    return tag("p", *_with_dots(parts), class_="pulse", id="pulse")


def _pulse_parts(request: PageRequest) -> Iterator[Markup | None]:
    vault = request.vault
    agents = [] if request.is_bound else connected_agents(vault.root)
    names = ", ".join(dict.fromkeys(str(each.get("client") or "an agent") for each in agents))
    said = f"{pieces.counted(len(agents), 'agent')} connected" if agents else "No agent connected"
    if not request.is_bound:  # who else is connected is nobody's business
        yield tag("a", said, href="/health#agents", title=names or None)
    index = vault.status().index
    yield _index_part(index.pending, len(index.skipped), index.fulltext)
    if conflicts := len(CONFLICTS.known(vault)):
        yield tag("a", pieces.counted(conflicts, "conflict"), href="/review", class_="warn")
    waiting = len(vault.review_items()) + len(vault.proposed())
    yield tag("a", f"{waiting} to review" if waiting else "nothing to review", href="/review")
    if request.read_only:
        yield tag("span", "read-only")


def _index_part(pending: int, skipped: int, fulltext: str) -> Markup:
    if fulltext not in ("ready", "filling", ""):
        return tag("a", "index not ready", href="/health", class_="warn")
    said = f"index {pending:,} passages behind" if pending else "index up to date"
    more = f", {pieces.counted(skipped, 'note')} skipped" if skipped else ""
    return tag("a", said + more, href="/health", class_="warn" if skipped else None)


def _with_dots(parts: Sequence[Markup]) -> Iterator[Markup | str]:
    for number, part in enumerate(parts):
        yield from ((tag("span", " · ", aria_hidden="true"),) if number else ())
        yield part


# --- what happened ----------------------------------------------------------------------------


def _choices(request: PageRequest) -> Markup:
    by = request.asked("by")
    links = [
        tag(
            "a",
            name,
            href=page_address("/", by=who, project=request.asked("project")),
            aria_current="true" if who == by else None,
        )
        for who, name in _WHO
    ]
    if by and by not in dict(_WHO):
        links.append(tag("a", by, href=page_address("/", by=by), aria_current="true"))
    if project := request.asked("project"):
        links.append(tag("a", f"{project} ✕", href=page_address("/", by=by), title="All projects"))
    return tag("nav", *links, class_="chips", aria_label="Whose changes")


def _feed(found: Activity, request: PageRequest) -> Markup:
    days = groupby(found.activity, lambda each: dt.datetime.fromisoformat(each.at).date())
    return joined(
        tag(
            "section",
            tag("h2", pieces.day_name(day), id=f"day-{day}"),
            tag("ol", *(_line(each, request) for each in lines), class_="feed"),
            aria_labelledby=f"day-{day}",
        )
        for day, lines in days
    )


def _line(each: Happening, request: PageRequest) -> Markup:
    words = (
        pieces.moment(each.at),
        tag("div", _who_did_what(each), pieces.changed_words(each.changes)),
        _way_back(each, request),
    )
    key = "|".join((each.at, each.what, each.path, each.version or ""))
    return tag("li", *words, class_=f"line by-{each.by}", data_line=key, tabindex="-1")


def _who_did_what(each: Happening) -> Markup:
    who = each.client or each.person or ("A person" if each.by == "person" else "An agent")
    done = _DEEDS.get(each.what, each.what)
    times = f" {each.times} times" if each.times else ""
    named = page_address("/", by=each.client) if each.client else None
    return tag(
        "p",
        tag("a", who, href=named, class_="who") if named else tag("span", who, class_="who"),
        f" {done}{times} ",
        tag("a", each.title, href=note_address(each.path), class_="what", data_open=True),
        " ",
        tag("span", *_places(each), class_="where"),
    )


def _places(each: Happening) -> Iterable[Markup]:
    if each.project:
        href = page_address("/", project=each.project)
        yield tag("a", each.project, href=href, class_="label")
    if each.machine:
        elsewhere = "another machine" if each.machine == "another" else each.machine
        yield pieces.label(f"on {elsewhere}")
    if each.session:
        href = page_address("/sessions", id=each.session)
        short = each.session if len(each.session) <= 12 else f"…{each.session[-6:]}"
        yield tag("a", f"session {short}", href=href, class_="label")
    if each.moved_from:
        yield pieces.label(f"from {each.moved_from}")


def _way_back(each: Happening, request: PageRequest) -> Markup:
    if request.read_only:
        return tag("span")
    if each.undo:
        return pieces.deed(
            "undo", "Undo", kind="quiet", key="u", ref=each.id or each.path, version=each.version
        )
    return tag("a", "History", href=note_address(each.path, tab="history"), class_="quiet")


def _older(found: Activity, request: PageRequest) -> Markup:
    if found.next_offset is None:
        return joined([])
    asked = {name: request.asked(name) for name in ("by", "project", "since")}
    href = page_address("/", **asked, offset=found.next_offset)
    return tag("p", tag("a", "Older", href=href, rel="next"), class_="more")


def _nothing(found: Activity, request: PageRequest) -> Markup:
    if request.asked("by") or request.asked("project") or request.asked("since"):
        return pieces.empty(found.message or "Nothing happened.")
    install, add = command_to_type("install"), command_to_type("add")
    return pieces.empty(
        "Nothing was stored or changed in the last 30 days.",
        tag(
            "ul",
            tag("li", "Connect an agent: ", tag("code", f"{install} claude-code")),
            tag("li", "Remember something yourself: ", tag("code", f"{add} TEXT")),
            tag("li", "Or ask for what is there: ", tag("a", "Search", href="/search")),
        ),
    )
