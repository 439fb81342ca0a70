"""Small parts that several screens show: moments, words of a change, buttons, filters."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Mapping
from typing import Any

from vaultmem.base.local_time import local_time
from vaultmem.surfaces.page.asking import note_address
from vaultmem.surfaces.page.markup import Child, Markup, joined, tag


def moment(at: dt.datetime | str | None) -> Markup:
    """The clock's time of today, else the day; in full for who points at it."""
    if isinstance(at, str):
        try:
            at = dt.datetime.fromisoformat(at)
        except ValueError:
            return joined([str(at)])
    if at is None:
        return joined([])
    here = local_time(at)
    now = dt.datetime.now().astimezone()
    today = here.date() == now.date()
    day = f"{here.day} {here:%b}" + ("" if here.year == now.year else f" {here.year}")
    whole = here.isoformat(timespec="seconds")
    return tag("time", f"{here:%H:%M}" if today else day, datetime=whole, title=whole)


def day_name(day: dt.date) -> str:
    today = dt.datetime.now().astimezone().date()
    if (today - day).days in (0, 1):
        return ("Today", "Yesterday")[(today - day).days]
    return f"{day:%A}, {day.day} {day:%B}" + ("" if day.year == today.year else f" {day.year}")


def changed_words(changes: Iterable[Any] | None) -> Markup:
    """What went and what came, as a small diff that is read aloud as well."""
    said = [
        tag(
            "p",
            _side("del", "removed", change.removed),
            " " if change.removed and change.added else None,
            _side("ins", "added", change.added),
        )
        for change in changes or ()
    ]
    return tag("div", *said, class_="diff") if said else joined([])


def _side(name: str, label: str, words: str | None) -> Markup | None:
    if not words:
        return None
    return tag(name, tag("span", f"{label}: ", class_="hidden"), words)


def deed(name: str, label: str, *, kind: str = "", key: str = "", **given: Any) -> Markup:
    """A button that changes something; it works with the token of the run alone."""
    kept = {field: value for field, value in given.items() if value is not None}
    return tag(
        "button",
        label,
        type="button",
        class_=f"deed {kind}".strip(),
        data_deed=name,
        data_given=json.dumps(kept, ensure_ascii=False),
        data_press=key or None,
        title=f"{label} ({key})" if key else None,
    )


def label(text: str, *, kind: str = "") -> Markup:
    return tag("span", text, class_=f"label {kind}".strip())


def labels(tags: Iterable[str] = (), *others: str | None) -> list[Markup]:
    return [label(text) for text in others if text] + [label(f"#{t}", kind="tag") for t in tags]


def note_link(ref: str, title: str, **more: Any) -> Markup:
    return tag("a", title, href=note_address(ref), **more)


def empty(title: str, *what_to_do: Child) -> Markup:
    return tag("div", tag("p", tag("strong", title)), *what_to_do, class_="empty")


def table_of(pairs: Mapping[str, Child]) -> Markup:
    rows = [
        (tag("dt", name), tag("dd", value))
        for name, value in pairs.items()
        if value not in ("", None)
    ]
    return tag("dl", *rows, class_="pairs") if rows else joined([])


def counted(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
