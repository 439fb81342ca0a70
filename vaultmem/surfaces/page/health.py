"""Whether all is well: what is indexed, what is wrong and what to do about it, who is connected."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Final

from vaultmem import __version__
from vaultmem.surfaces.page import pieces
from vaultmem.surfaces.page.agents import connected_agents
from vaultmem.surfaces.page.asking import PageRequest, Screen
from vaultmem.surfaces.page.markup import Child, Markup, joined, tag

if TYPE_CHECKING:
    from vaultmem.upkeep.status import Status

_SKIPPED: Final = 100
_PROBLEMS: Final = 200


def health_screen(request: PageRequest) -> Screen:
    status = request.vault.status()
    main = joined(
        (
            tag("h1", "Health"),
            _vault(request, status),
            _index(status),
            _agents(request),
            _problems(request),
        )
    )
    return Screen("Health", main, "/health")


def _vault(request: PageRequest, status: Status) -> Markup:
    counts, link = status.counts, status.connection
    rows: dict[str, Child] = {
        "State": link.status + (f": {link.reason}" if link.reason else ""),
        "Folder": None if request.is_bound else tag("code", link.path),
        "Memories": f"{counts.total:,}, {counts.forgotten:,} forgotten",
        "By type": _counts(counts.by_type),
        "By scope": _counts(counts.by_scope),
        "Entities": f"{counts.entities:,}, {counts.relationships:,} links",
        "May change": "no, read-only" if request.read_only else "yes",
        "Version": __version__,
    }
    return joined((tag("h2", "Memory"), pieces.table_of(rows)))


def _counts(found: object) -> str:
    pairs = dict(found).items()  # type: ignore[call-overload]
    return ", ".join(f"{name} {count:,}" for name, count in pairs if count)


def _index(status: Status) -> Markup:
    index, storage = status.index, status.storage
    rows: dict[str, Child] = {
        "Notes": f"{index.notes:,} in {index.passages:,} passages",
        "Waiting for meaning": f"{index.pending:,} passages" if index.pending else "none",
        "Words": index.fulltext,
        "Model": f"{index.model}, {index.model_state}"
        + (f": {index.model_reason}" if index.model_reason else ""),
        "Languages": index.language_gap,
        "Follows edits": index.following,
        "Size": f"{storage.database_size_bytes / 1e6:.1f} MB",
        "Revision": f"{index.revision}",
    }
    told: list[Child] = [tag("h2", "Index"), pieces.table_of(rows)]
    if index.skipped:
        lines = [
            tag("li", tag("code", each.path), " ", tag("span", each.reason, class_="soft"))
            for each in index.skipped[:_SKIPPED]
        ]
        told += [tag("h3", f"Skipped ({len(index.skipped):,})"), tag("ul", *lines)]
    return joined(told)


def _agents(request: PageRequest) -> Markup:
    head = tag("h2", "Connected agents", id="agents")
    agents = [] if request.is_bound else connected_agents(request.vault.root)
    if not agents:
        words = "None is connected through the engine now. Agents that work without it are not seen here."
        return joined((head, tag("p", words, class_="soft")))
    rows = [
        tag(
            "tr",
            tag("td", str(each.get("client") or "without a name")),
            tag("td", str(each.get("project") or "")),
            tag("td", str(each.get("session") or "")),
            tag(
                "td", pieces.moment(dt.datetime.fromtimestamp(int(each.get("since") or 0), dt.UTC))
            ),
        )
        for each in agents
    ]
    names = tag(
        "tr", *(tag("th", n, scope="col") for n in ("Client", "Project", "Session", "Since"))
    )
    table = tag("table", tag("thead", names), tag("tbody", *rows))
    return joined(
        (head, tag("div", table, class_="scroll", tabindex="0", role="group", aria_label="Agents"))
    )


def _problems(request: PageRequest) -> Markup:
    """What `doctor` finds; it looks through every file, so only when it is asked to."""
    head = tag("h2", "Doctor", id="doctor")
    if request.is_bound:
        return joined(
            (
                head,
                tag(
                    "p",
                    "It tells of the whole vault, which this token does not see.",
                    class_="soft",
                ),
            )
        )
    if not request.asked("doctor"):
        form = tag(
            "form",
            tag("input", type="hidden", name="doctor", value="1"),
            tag("button", "Look through every note"),
            action="/health",
            class_="actions",
        )
        return joined((head, form))
    found = request.vault.examine()
    lines = [
        tag(
            "li",
            tag("p", tag("code", each.path), " ", pieces.label(each.problem, kind="warn")),
            tag("p", each.message, " ", tag("span", each.fix, class_="soft")),
            class_="card",
        )
        for each in found[:_PROBLEMS]
    ]
    if not lines:
        return joined((head, tag("p", "Nothing is wrong.")))
    return joined(
        (
            head,
            tag("p", pieces.counted(len(found), "problem")),
            tag("ul", *lines, class_="versions"),
        )
    )
