"""What agents noted while they worked, session by session."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from vaultmem.surfaces.page import pieces
from vaultmem.surfaces.page.asking import PageRequest, Screen, page_address
from vaultmem.surfaces.page.markup import Markup, joined, tag
from vaultmem.surfaces.page.note_pages.inline import inline_markup

if TYPE_CHECKING:
    from vaultmem.operations.results import Summary
    from vaultmem.operations.sessions import ObservationView

_SHOWN: Final = 30
_MOST: Final = 100_000


def sessions_screen(request: PageRequest) -> Screen:
    if session := request.asked("id"):
        return Screen(f"Session {session}", _one(request, session), "/sessions")
    offset = request.number("offset", 0, _MOST)
    found = request.vault.list(type="session", limit=_SHOWN, offset=offset)
    lines = [_journal(each) for each in found.memories]
    if not lines:
        main = pieces.empty(
            "No session has a journal yet.",
            tag("p", "Agents write one with start_session, or hooks keep it for them."),
        )
        return Screen("Sessions", joined((tag("h1", "Sessions"), main)), "/sessions")
    more = None
    if found.next_offset is not None:
        href = page_address("/sessions", offset=found.next_offset)
        more = tag("p", tag("a", "Older", href=href, rel="next"), class_="more")
    head = tag("h1", "Sessions")
    return Screen("Sessions", joined((head, tag("ol", *lines, class_="feed"), more)), "/sessions")


def _journal(each: Summary) -> Markup:
    words = tag(
        "div",
        tag(
            "p",
            pieces.note_link(each.path, each.title, class_="what", data_open=True),
            " ",
            *pieces.labels(each.tags[:5], each.project),
        ),
        tag("p", each.excerpt, class_="soft"),
    )
    return tag(
        "li",
        pieces.moment(each.created_at),
        words,
        tag("a", "Timeline", href=page_address("/sessions", id=each.id), class_="quiet"),
        class_="line",
        data_line=each.path,
        tabindex="-1",
    )


def _one(request: PageRequest, session: str) -> Markup:
    wanted = _session_id(request, session)
    summary = request.vault.session_summary(wanted)
    found = request.vault.timeline(session_id=wanted)
    kinds = ", ".join(f"{count} {kind}" for kind, count in summary.stored_by_type.items())
    told = pieces.table_of(
        {
            "Began": pieces.moment(summary.started_at),
            "Project": summary.project,
            "Stored": f"{summary.memories_stored}" + (f" ({kinds})" if kinds else ""),
            "Asked": f"{summary.queries} questions, {summary.memories_served} memories served",
            "About": ", ".join(summary.topics),
            "Journal": summary.path and pieces.note_link(summary.path, summary.path),
        }
    )
    return joined(
        (
            tag("h1", f"Session {wanted}"),
            told,
            tag("p", summary.summary) if summary.summary else None,
            _days(list(found.observations)),
        )
    )


def _session_id(request: PageRequest, given: str) -> str:
    """A session's own name, or what its journal says of it."""
    found = request.vault.get([given], counted=False)
    return next((memory.session for memory in found.memories if memory.session), given)


def _days(found: list[ObservationView]) -> Markup:
    if not found:
        return pieces.empty("Nothing was noted in this session.")
    days = groupby(found, lambda each: each.time.astimezone().date())
    return joined(
        tag(
            "section",
            tag("h2", pieces.day_name(day)),
            tag("ol", *map(_observation, lines), class_="feed"),
        )
        for day, lines in days
    )


def _observation(each: ObservationView) -> Markup:
    clock = each.time.astimezone()
    return tag(
        "li",
        tag("time", f"{clock:%H:%M}", datetime=clock.isoformat(timespec="seconds")),
        tag("div", tag("p", inline_markup(each.content))),
        tag("span", *pieces.labels(each.tags, each.type)),
        class_="line",
        data_line=each.id,
        tabindex="-1",
    )
