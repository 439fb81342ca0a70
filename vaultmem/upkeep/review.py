"""Looking after memories in quiet hours: what is double, out of date or contradicts itself goes on
a list.

The list is a note that a person reads in Obsidian. It is no memory: agents do not find it, and
see of it only what they may. No memory is changed before a person approves of it. What a person
ticks off or writes beside an item stays; a list that would be the same is not written.
"""

from __future__ import annotations

import datetime as dt
import logging
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Final

from vaultmem.base.line_ends import with_unix_line_ends
from vaultmem.base.local_time import local_time
from vaultmem.base.words import topic_words
from vaultmem.config import REVIEW
from vaultmem.errors import InvalidInput, NotFound, VaultmemError
from vaultmem.index import CatalogRow, Filters
from vaultmem.limits import bounded
from vaultmem.notes.attributes import MEMORY_TYPES
from vaultmem.notes.edit import AppendToSection, NoteEdit, ReplaceSection, SetProperty, edit_note
from vaultmem.notes.links import as_link, link_target
from vaultmem.notes.markdown import markdown_section, property_links, text_without_comments
from vaultmem.notes.note import Note, note_body, note_title, one_line
from vaultmem.operations.caller import Caller
from vaultmem.operations.input import now_utc
from vaultmem.operations.results import DEFAULT_IMPORTANCE as _USUAL
from vaultmem.operations.results import row_moment
from vaultmem.operations.view import View
from vaultmem.operations.writing import Writing
from vaultmem.storage.store import Store
from vaultmem.upkeep import duplicates
from vaultmem.upkeep.consolidation.comparison import Disagreement, comparisons_by_home, review_mark
from vaultmem.upkeep.sources import Sources

log = logging.getLogger("vaultmem")

QUIET_SECONDS: Final = 60.0  # nothing was written for so long
PAUSE_SECONDS: Final = 3600.0  # between two looks
DAY_SECONDS: Final = 86_400.0  # after which one looks again in any case: memories grow old
_MOST: Final = 20_000  # memories that are looked at, the newest
_PAGE: Final = 1_000
_SAME_MEANING: Final = 0.92  # paraphrases begin there; others of the same subject end at 0.87
_SAME_WORDS: Final = 0.6
_LISTED: Final = 50  # of each kind, beside what was ticked off
CONFLICTING, DOUBLE, STALE = "Contradicting", "Nearly the same", "Out of date"
_NONE: Final = "Nothing at present."
_HEAD: Final = """\
What may be double, out of date or contradicting among your memories. Nothing has been changed: \
open each, and merge, correct or forget what you agree with. Tick what should stay as it is.
"""
_NO_LINK: Final = re.compile(r"[\[\]|#^`]")
_ITEM_END: Final = re.compile(r" \^r-[0-9a-f]{8}\s*\Z")
_ITEM: Final = re.compile(r"- \[(?P<tick>.)\] .*\^(?P<id>r-[0-9a-f]{8})\s*\Z")


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """A memory, or two, and why a person should look at them."""

    id: str
    say: Callable[[], str]  # only of those that are listed


@dataclass(frozen=True, slots=True)
class Reviewed:
    near_duplicates: int
    stale: int
    path: str | None  # of the list; none where there was never anything to list
    changed: bool
    contradictions: int = 0


@dataclass(frozen=True, slots=True)
class ListedItem:
    item: str
    text: str
    kind: str = ""  # the section it stands in


@dataclass(frozen=True, slots=True)
class Approved:
    item: str
    path: str  # of the memory that was marked
    superseded_by: str


class Review:
    def __init__(self, view: View, writing: Writing) -> None:
        self._view = view
        self._writing = writing

    def upkeep(self, stopping: threading.Event | None = None) -> Reviewed:
        """Bring the list of what a person should look at up to date.

        It is the vault's list, so it does not depend on who asks.
        """
        self._writing.require_writable()
        self._view.gaps.require_none()
        stop = stopping or threading.Event()
        rows = list(self._rows_to_review(stop))
        conflicts = self._conflicts_to_review() if rows and not stop.is_set() else []
        apart = {frozenset((c.older.id, c.newer.id)) for c in conflicts}
        doubles, stale = (
            self._doubles_to_review(rows, stop, apart),
            list(self._stale_to_review(rows)),
        )
        if stop.is_set():
            return Reviewed(0, 0, self.review_note(), False)
        found = {CONFLICTING: _conflict_review_items(conflicts), DOUBLE: doubles, STALE: stale}
        changed = self._write_review_list(found)
        return Reviewed(len(doubles), len(stale), self.review_note(), changed, len(conflicts))

    def add_conflicts(self, conflicts: Sequence[Disagreement]) -> bool:
        """Put what somebody came upon on the list, beside what stands there."""
        return self._write_review_list(
            {CONFLICTING: _conflict_review_items(conflicts)}, adding=True
        )

    def settled_in_review(self) -> frozenset[str]:
        """The items that a person ticked: they stay as they are."""
        found = (_ITEM.match(line) for line in self._listed_for_review())
        return frozenset(item["id"] for item in found if item and item["tick"] != " ")

    @bounded()
    def approve(self, item: str) -> Approved:
        """Do what a contradiction on the list proposes: the older memory says that it was replaced.

        Its old bytes are kept, as before any change."""
        self._writing.require_writable()
        self._view.gaps.require_none()
        found = next(
            (c for c in self._conflicts_to_review() if c.mark == item.strip().lstrip("^")), None
        )
        if found is None or not self._view.is_visible(self._view.store.note(found.older.path)):
            raise NotFound(f"There is nothing to approve under {item!r} any more.")
        if found.proposal is None:
            raise InvalidInput(
                f"{found.older.path} says more than what is out of date, so it cannot be replaced "
                "as a whole: correct the sentence in it, or tick the item."
            )
        note = self._view.store.note(found.older.path)
        self._writing.edit_note(note, "review", SetProperty("superseded_by", found.newer.link))
        self._write_review_list({CONFLICTING: _conflict_review_items(self._conflicts_to_review())})
        return Approved(found.mark, note.path, found.newer.link)

    @bounded()
    def dismiss(self, item: str) -> str:
        """Tick an item of the list: it stays as it is, and is not proposed again."""
        return self._tick_review_item(item, "- [ ]", "- [x]")

    def _tick_review_item(self, item: str, old: str, new: str) -> str:
        self._writing.require_writable()
        wanted, store = item.strip().lstrip("^"), self._review_store()
        lines = {m["id"]: line for line in self._listed_for_review() if (m := _ITEM.match(line))}
        if wanted not in lines or not self._may_know_review_item(lines[wanted]):
            raise NotFound(f"There is no item {item!r} on the list for review.")

        def change(note: Note) -> bytes:
            line = lines[wanted]
            return note.raw.replace(line.encode(), line.replace(old, new, 1).encode(), 1)

        stored = store.update(REVIEW, change)
        self._writing.record_write(REVIEW, stored.version, "review", "")
        return wanted

    def _conflicts_to_review(self) -> list[Disagreement]:
        """It is the vault's list, so what is on it does not depend on who asks."""
        sources = Sources(View(self._view.parts, Caller()))
        found = [
            c for compared in comparisons_by_home(sources.all_sources()) for c in compared.conflicts
        ]
        return [sources.linked_disagreement(c) for c in found]

    def review_note(self) -> str | None:
        """Where the list is, if there is one."""
        return REVIEW if (self._view.store.root / REVIEW).is_file() else None

    def to_review(self) -> tuple[str, ...]:
        """What is on the list and not ticked off, as far as this caller may know of it."""
        return tuple(each.text for each in self.review_items())

    def review_items(self) -> tuple[ListedItem, ...]:
        kind, found = "", []
        for line in self._listed_for_review():
            kind = line[3:].strip() if line.startswith("## ") else kind
            item = _ITEM.match(line)
            if item and item["tick"] == " " and self._may_know_review_item(line):
                found.append(ListedItem(item["id"], _ITEM_END.sub("", line[6:]), kind))
        return tuple(found)

    @bounded()
    def reopen(self, item: str) -> str:
        """Take back that an item was ticked."""
        return self._tick_review_item(item, "- [x]", "- [ ]")

    def _listed_for_review(self) -> list[str]:
        try:
            return self._review_store().note(REVIEW).body.splitlines()
        except VaultmemError:
            return []

    def _may_know_review_item(self, line: str) -> bool:
        relations, filters = self._view.index.relations, self._view.filters()
        links = list(property_links(line, ""))
        return bool(links) and all(relations.named(link.target, filters) for link in links)

    # --- what is listed ------------------------------------------------------------------

    def _rows_to_review(self, stop: threading.Event) -> Iterator[CatalogRow]:
        """Lasting memories that agents wrote: a person's own notes are theirs to judge."""
        for offset in range(0, _MOST, _PAGE):
            if stop.is_set():
                return
            filters = Filters(types=MEMORY_TYPES)
            rows, total = self._view.index.lookup.select(filters, "created", _PAGE, offset)
            yield from (row for row in rows if row.id and row.scope.casefold() != "session")
            if offset + _PAGE >= total:
                return

    def _doubles_to_review(
        self, rows: Sequence[CatalogRow], stop: threading.Event, apart: Set[frozenset[str]]
    ) -> list[ReviewItem]:
        """Within what belongs to one user and project, without what contradicts each other."""
        homes: dict[tuple[str, str], list[CatalogRow]] = {}
        for row in rows:
            if not row.more.get("superseded_by"):
                homes.setdefault((row.user.casefold(), row.project.casefold()), []).append(row)
        found: list[tuple[float, str, str, ReviewItem]] = []
        for home in homes.values():
            for a, b, likeness in self._pairs_to_review(home, stop) if len(home) > 1 else ():
                first, second = sorted((a, b), key=lambda row: (row.created or 0, row.id))
                if frozenset((first.id, second.id)) in apart:
                    continue
                made = ReviewItem(
                    review_mark("double", first.id, second.id),
                    partial(self._review_of_doubles, second, first, likeness),
                )
                found.append((-likeness, first.id, second.id, made))
        return [made for *_, made in sorted(found, key=lambda item: item[:3])]

    def _review_of_doubles(self, new: CatalogRow, old: CatalogRow, likeness: float) -> str:
        return f"{self._review_link(new)} and {self._review_link(old)}: {likeness:.0%} alike"

    def _pairs_to_review(
        self, rows: Sequence[CatalogRow], stop: threading.Event
    ) -> Iterator[tuple[CatalogRow, CatalogRow, float]]:
        import numpy as np

        vectors: dict[int, np.ndarray] = {}
        for start in range(0, len(rows), _PAGE):
            if not stop.is_set():
                numbers = [row.note for row in rows[start : start + _PAGE]]
                identity = self._view.index.vectors.last_model()
                vectors |= self._view.index.vectors.of_notes(identity, numbers)
        known = [row for row in rows if row.note in vectors]
        if known:
            matrix = np.stack([vectors[row.note] for row in known])
            for a, b, likeness in duplicates.duplicates_by_meaning(matrix, _SAME_MEANING, stop):
                yield known[a], known[b], likeness
        others = [row for row in rows if row.note not in vectors]
        words = [self._words_to_review(row) if not stop.is_set() else frozenset() for row in others]
        for a, b, likeness in duplicates.duplicates_by_words(words, _SAME_WORDS, stop):
            yield others[a], others[b], likeness

    def _words_to_review(self, row: CatalogRow) -> frozenset[str]:
        try:
            return frozenset(
                topic_words(text_without_comments(note_body(self._view.store.read(row.path).raw)))
            )
        except VaultmemError:
            return frozenset()

    def _stale_to_review(self, rows: Sequence[CatalogRow]) -> Iterator[ReviewItem]:
        """Replaced ones first, then the oldest of what nobody asked for."""
        limit = now_utc() - dt.timedelta(days=self._view.settings["upkeep.stale_days"])
        old: list[tuple[dt.datetime, str, CatalogRow]] = []
        for start in range(0, len(rows), _PAGE):
            part = rows[start : start + _PAGE]
            used = self._view.parts.usage.of([row.id for row in part])
            for row in part:
                if row.more.get("superseded_by"):
                    yield ReviewItem(
                        review_mark("replaced", row.id), partial(self._review_of_replaced, row)
                    )
                elif (
                    row.id not in used
                    and _reviewed_change(row) < limit
                    and _review_weight(row) < _USUAL
                ):
                    old.append((_reviewed_change(row), row.path, row))
        for _, _, row in sorted(old, key=lambda item: item[:2]):
            yield ReviewItem(review_mark("stale", row.id), partial(self._review_of_stale, row))

    def _review_of_replaced(self, row: CatalogRow) -> str:
        by = as_link(link_target(row.more["superseded_by"].strip()))
        return f"{self._review_link(row)}: replaced" + (f" by {by}" if by else "")

    def _review_of_stale(self, row: CatalogRow) -> str:
        why = f"importance {_review_weight(row):g}, unchanged since {local_time(_reviewed_change(row)):%Y-%m-%d}"
        return f"{self._review_link(row)}: {why}, never asked for"

    def _review_link(self, row: CatalogRow) -> str:
        if _NO_LINK.search(row.path) or one_line(row.path) != row.path:
            return f"`{one_line(row.path).replace('`', ' ')}`"
        title = note_title(row.path)
        alone = len(self._view.index.lookup.find(title)) <= 1
        return f"[[{title if alone else row.path.removesuffix('.md')}]]"

    # --- the list ------------------------------------------------------------------------

    def _review_store(self) -> Store:
        """The vault's own leaves the list out, as it is no memory."""
        return Store(self._view.store.root, self._view.settings)

    def _write_review_list(
        self, sections: Mapping[str, Sequence[ReviewItem]], *, adding: bool = False
    ) -> bool:
        """Write what is to be listed; False when it stands there already."""
        store = self._review_store()

        def change(note: Note) -> bytes:
            raw = edit_note(note, *_review_changes(note, sections, adding))
            if raw != note.raw:
                self._view.parts.history.take(note, "upkeep")
            return raw

        try:
            before = store.read(REVIEW).version
        except NotFound:
            if not any(sections.values()):
                return False
            listed = (
                f"\n## {title}\n\n{_review_section('', found)}\n"
                for title, found in sections.items()
                if found or title in (DOUBLE, STALE)
            )
            raw = (_HEAD + "".join(listed)).encode()
            stored, before = store.create(REVIEW, raw), ""
        else:
            stored = store.update(REVIEW, change)
        if stored.version == before:
            return False
        self._writing.record_write(REVIEW, stored.version, "upkeep", "")
        return True


def _review_changes(
    note: Note, sections: Mapping[str, Sequence[ReviewItem]], adding: bool
) -> Iterator[NoteEdit]:
    for title, found in sections.items():
        span = markdown_section(note.headings, title, len(note.body))
        if span is None:
            if found:
                yield AppendToSection(title, _review_section("", found))
            continue
        old = with_unix_line_ends(note.body[slice(*span)]).strip("\n")
        if adding:
            ids = {item.id for item in found}
            found = [*_kept_review_items(old, ids), *found]
        if (new := _review_section(old, found)) != old:
            yield ReplaceSection(title, new)


def _review_section(old: str, found: Sequence[ReviewItem]) -> str:
    """The items of a section. Those that a person ticked or wrote below of stay as they are while
    they are called for, and so does whatever else they wrote there."""
    items, others = _parsed_review_items(old)
    lines: list[str] = []
    listed = left_out = 0
    for candidate in found:
        block = items.pop(candidate.id, ())
        if len(block) > 1 or (block and not block[0].startswith("- [ ]")):
            lines += block
        elif listed < _LISTED:
            lines.append(f"- [ ] {candidate.say()} ^{candidate.id}")
            listed += 1
        else:
            left_out += 1
    lines += [line for block in items.values() if len(block) > 1 for line in block]
    lines += [f"- and {left_out} more"] if left_out else []
    text, kept = "\n".join(lines) or _NONE, "\n".join(others).strip("\n")
    return f"{text}\n\n{kept}" if kept else text


def _kept_review_items(text: str, but: Set[str]) -> Iterator[ReviewItem]:
    """What stands there already, apart from these."""
    for mark, block in _parsed_review_items(text)[0].items():
        if mark not in but:
            yield ReviewItem(mark, partial(_ITEM_END.sub, "", block[0][6:]))


def _conflict_review_items(conflicts: Sequence[Disagreement]) -> list[ReviewItem]:
    return [
        ReviewItem(conflict.mark, partial(_review_of_conflict, conflict)) for conflict in conflicts
    ]


def _review_of_conflict(conflict: Disagreement) -> str:
    """The newer first, with what each says and when."""
    older, newer, says = conflict.older, conflict.newer, conflict.difference
    return (
        f"{newer.link} ({newer.day}) says “{_plain_review_text(says.second)}”, "
        f"{older.link} ({older.day}) “{_plain_review_text(says.first)}”"
    )


def _plain_review_text(text: str) -> str:
    return " ".join(_NO_LINK.sub(" ", one_line(text)).split())


def _parsed_review_items(text: str) -> tuple[dict[str, Sequence[str]], list[str]]:
    """Our items with the lines below each, by id; and everything else."""
    items: dict[str, Sequence[str]] = {}
    others: list[str] = []
    current: list[str] | None = None
    for line in text.splitlines():
        if found := _ITEM.match(line):
            current = [line]
            items[found["id"]] = current
        elif current is not None and line.startswith((" ", "\t")) and line.strip():
            current.append(line)
        elif line != _NONE and not re.fullmatch(r"- and \d+ more", line):
            current = None
            others.append(line)
    return items, others


def review_marks(a: str, b: str) -> frozenset[str]:
    """What two memories are called on the list, whichever is the older one."""
    return frozenset((review_mark("double", a, b), review_mark("double", b, a)))


def _review_weight(row: CatalogRow) -> float:
    return _USUAL if row.importance is None else row.importance


def _reviewed_change(row: CatalogRow) -> dt.datetime:
    return row_moment(row if row.updated is None else row._replace(created=row.updated))


# --- in quiet hours ---------------------------------------------------------------------------


def review_rounds(
    look: Callable[[threading.Event], object],
    revision: Callable[[], int],
    stopping: threading.Event,
    *,
    quiet: float = QUIET_SECONDS,
    pause: float = PAUSE_SECONDS,
) -> None:
    """Look whenever something was written and then nothing for a while, until told to stop."""
    seen = reviewed = -1
    looked = float("-inf")
    while not stopping.wait(quiet):
        now, since = revision(), time.monotonic() - looked
        due = since >= (pause if now != reviewed else DAY_SECONDS)
        if now == seen and due:
            try:
                look(stopping)
            except VaultmemError as error:
                log.warning("upkeep waits: %s", error)
            reviewed, looked = now, time.monotonic()
        seen = now
