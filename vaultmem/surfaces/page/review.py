"""One row of everything that a person decides, by keys: each decision can be undone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Final

from vaultmem.surfaces.page import pieces
from vaultmem.surfaces.page.asking import PageRequest, Screen, note_address
from vaultmem.surfaces.page.conflict_watch import CONFLICTS
from vaultmem.surfaces.page.markup import Child, Markup, joined, tag
from vaultmem.surfaces.page.note_pages.rendering import rendered_note

if TYPE_CHECKING:
    from vaultmem.upkeep.review_queue import CaseText, ReviewCase

_KINDS: Final = {
    "proposed": "Proposed by agents",
    "conflict": "Changed on two machines",
    "contradiction": "Contradict each other",
    "double": "Nearly the same",
    "stale": "Out of date",
    "fact": "Two values of one fact",
}
_MOST: Final = 60


def review_screen(request: PageRequest) -> Screen:
    cases = request.vault.review_queue(CONFLICTS.known(request.vault))
    parts: list[Child] = [tag("h1", "Review"), _how(request, len(cases))]
    for kind, found in groupby(cases[:_MOST], lambda case: case.kind):
        parts.append(tag("h2", _KINDS[kind]))
        parts.append(tag("ol", *(_case(each, request) for each in found), class_="feed"))
    if len(cases) > _MOST:
        parts.append(tag("p", f"{len(cases) - _MOST} more come when these are decided."))
    if not cases:
        parts.append(_nothing())
    return Screen("Review", joined(parts), "/review")


def _how(request: PageRequest, count: int) -> Markup:
    if request.read_only:
        return tag("p", "This memory is read-only here, so nothing can be decided.", class_="soft")
    keys = "Keys: j k to move, a r m s on a line, u to undo. " if count else ""
    look = pieces.deed("look_for_review", "Look now", kind="quiet")
    return tag("p", f"{pieces.counted(count, 'case')} to decide. {keys}", look, class_="soft")


def _nothing() -> Markup:
    return pieces.empty(
        "Nothing to decide.",
        tag(
            "p",
            "Doubles, contradictions and stale memories come here when they are looked for. To see "
            "what agents store before anybody finds it, set ",
            tag("code", "new = true"),
            " under ",
            tag("code", "[review]"),
            " in .vaultmem/config.toml.",
        ),
    )


def _case(case: ReviewCase, request: PageRequest) -> Markup:
    shown = [_text(text) for text in case.texts if text.text]
    body: list[Child] = [tag("p", *_without_brackets(case.why))]
    if shown:
        body.append(tag("div", *shown, class_="two" if len(shown) > 1 else None))
    if case.diff:
        body.append(tag("pre", *_diff(case.diff), tabindex="0", aria_label="Mine and theirs"))
    buttons = [] if request.read_only else list(_CHOICES[case.kind](case))
    if buttons:
        buttons.append(_skip())
        body.append(tag("div", *buttons, class_="actions"))
    at = next((text.at for text in case.texts if text.at), None)
    return tag(
        "li",
        pieces.moment(at) if at else tag("span"),
        tag("div", *body),
        class_="line case",
        data_line=f"{case.kind} {case.id}",
        tabindex="-1",
    )


def _without_brackets(text: str) -> Iterator[Child]:
    yield text.replace("[[", "").replace("]]", "")


def _text(text: CaseText) -> Markup:
    link = tag("a", text.title, href=note_address(text.path), data_open=True, class_="what")
    title = link if not text.path.startswith("vaultmem proposed/") else tag("strong", text.title)
    return tag(
        "div",
        tag("p", title, " ", tag("span", pieces.moment(text.at), class_="soft small")),
        tag("div", rendered_note(text.text), class_="text"),
        class_="card",
    )


def _diff(text: str) -> Iterator[Child]:
    names = {"+": "ins", "-": "del"}
    for line in text.splitlines():
        name = "" if line.startswith(("+++", "---")) else names.get(line[:1], "")
        yield tag(name, line) if name else line
        yield "\n"


def _skip() -> Markup:
    return tag(
        "button", "Skip", type="button", class_="quiet with-token", data_skip=True, data_press="s",
        title="Skip (s)",
    )  # fmt: skip


# --- choices ----------------------------------------------------------------------------------


def _of_proposal(case: ReviewCase) -> Iterable[Markup]:
    yield pieces.deed("accept", "Accept", kind="main", key="a", item=case.id)
    yield pieces.deed("reject", "Reject", kind="grave", key="r", item=case.id)


def _of_conflict(case: ReviewCase) -> Iterable[Markup]:
    for key, side, label in (
        ("a", "ours", "Mine"),
        ("r", "theirs", "Theirs"),
        ("m", "both", "Both"),
    ):
        yield pieces.deed("resolve", label, key=key, note=case.id, side=side)


def _of_contradiction(case: ReviewCase) -> Iterable[Markup]:
    yield pieces.deed("approve", "The newer one holds", kind="main", key="a", item=case.id)
    yield pieces.deed("dismiss", "Both hold", key="r", item=case.id)
    yield from _edit(case)


def _of_double(case: ReviewCase) -> Iterable[Markup]:
    if len(case.texts) == 2:
        first, second = case.texts
        yield pieces.deed(
            "supersede",
            "Keep the first",
            kind="main",
            key="a",
            ref=second.path,
            by=first.path,
            item=case.id,
        )
        yield pieces.deed(
            "supersede", "Keep the second", key="m", ref=first.path, by=second.path, item=case.id
        )
    yield pieces.deed("dismiss", "Keep both", key="r", item=case.id)
    yield from _edit(case)


def _of_stale(case: ReviewCase) -> Iterable[Markup]:
    for text in case.texts[:1]:
        yield pieces.deed(
            "forget", "Forget", kind="grave", key="a", ref=text.path, reason="Out of date",
            version=text.version, item=case.id,
        )  # fmt: skip
    yield pieces.deed("dismiss", "Keep", key="r", item=case.id)
    yield from _edit(case)


def _of_fact(case: ReviewCase) -> Iterable[Markup]:
    for number, value in enumerate(case.values[:4]):
        yield pieces.deed(
            "end_fact",
            f"End “{value}”",
            key="am34"[number],
            subject=case.texts[0].path,
            predicate=case.predicate,
            object=value,
        )


def _edit(case: ReviewCase) -> Iterable[Markup]:
    for text in case.texts[:1]:
        yield tag(
            "a", "Edit", href=note_address(text.path, tab="edit"), data_press="e", class_="quiet"
        )


_CHOICES: Final[Mapping[str, Callable[[ReviewCase], Iterable[Markup]]]] = {
    "proposed": _of_proposal,
    "conflict": _of_conflict,
    "contradiction": _of_contradiction,
    "double": _of_double,
    "stale": _of_stale,
    "fact": _of_fact,
}
