"""The text of a session's journal: an observation as an entry of its log, and back.

Ordinary text stands there as it is. Text that Markdown would read as something else (a tag
at the end of its first line, a comment, blank lines at its end) is put into a code block
under an empty first line, where a person can still read it, and comes back as it was given.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable
from typing import Final

from ulid_transform import ulid_at_time, ulid_to_timestamp

from vaultmem.base.line_ends import with_unix_line_ends
from vaultmem.base.local_time import local_time, utc_moment
from vaultmem.errors import NoteMalformed
from vaultmem.notes import markdown
from vaultmem.notes.edit import AppendToSection, ReplaceSection, SetProperty, edit_note, edited_note
from vaultmem.notes.journal_text.session_summary import USUAL_KIND as USUAL_KIND
from vaultmem.notes.journal_text.session_summary import summary_of_entries
from vaultmem.notes.markdown import Observation, markdown_outline
from vaultmem.notes.masking import mask_private, private_spans
from vaultmem.notes.note import Note, note_bytes, parse

JOURNAL_LOG: Final = "Log"
JOURNAL_SUMMARY: Final = "Summary"

# What may do something to other entries or to later edits, however it reads here.
_TRICKY: Final = re.compile(
    r"%%|<!--|\$\$|\r|\^[A-Za-z0-9-]+[ \t]*(?:\n|\Z)|(?:\A|\n)[^\S\n]*\Z|<{7} |>{7} "
)
_TICKS: Final = re.compile(r"`+")
_KIND: Final = re.compile(r"[\w-]+")
_ULID: Final = re.compile(r"[0-7][0-9a-hjkmnp-tv-z]{25}", re.IGNORECASE)
_AROUND: Final = ("- **00:00:00** note: before ^before", "- **00:00:00** note: after ^after")


def new_entry_id(moment: dt.datetime) -> str:
    return ulid_at_time(moment.timestamp()).lower()


def is_entry_kind(name: str) -> bool:
    return _KIND.fullmatch(name) is not None


def journal_entry(
    moment: dt.datetime, kind: str, text: str, tags: tuple[str, ...], block: str
) -> str:
    """The lines of one observation; reading them gives exactly these parts again."""
    head = f"- **{local_time(moment):%H:%M:%S}** {kind}: "
    tail = "".join(f"#{tag} " for tag in tags) + f"^{block}"
    first, *more = text.split("\n")
    plain = "\n".join([f"{head}{first} {tail}", *map(_indented_entry_line, more)])
    if not _TRICKY.search(text) and _survives_in_journal(plain, kind, text, tags, block):
        return plain
    return "\n".join([head + tail, *indented_verbatim(text)])


def verbatim_entry(text: str) -> str:
    """The text in a code block, from which every byte of it can be had again."""
    unix = with_unix_line_ends(text)
    if unix == text and "\r" not in text:
        info, inside = "text", text
    elif "\r" not in unix and unix.replace("\n", "\r\n") == text:
        info, inside = "text crlf", unix
    else:
        info, inside = "json", json.dumps(text, ensure_ascii=False)
    fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(inside)), default=0))
    return f"{fence}{info}\n{inside}\n{fence}"


def indented_verbatim(text: str) -> list[str]:
    """Its lines, as they stand in an item of a list."""
    return [_indented_entry_line(line) for line in verbatim_entry(text).split("\n")]


def append_journal_entry(note: Note, lines: str) -> bytes:
    """The note with an entry more. Behind the last one this is a matter of inserting it: the
    careful way reads a long journal several times over."""
    last = next((seen.end for seen in reversed(journal_entries(note))), 0)
    span = markdown.markdown_section(note.headings, JOURNAL_LOG, len(note.body))
    if not last or span is None or note.problems or note.body[last : span[1]].strip():
        return edit_note(note, AppendToSection(JOURNAL_LOG, lines))
    at, newline = note.body_start + last, note.newline
    added = newline + lines.replace("\n", newline)
    return note_bytes(note.text[:at] + added + (note.text[at:] or newline))


def _indented_entry_line(line: str) -> str:
    return f"  {line}" if line else ""


def _survives_in_journal(
    lines: str, kind: str, text: str, tags: tuple[str, ...], block: str
) -> bool:
    """Whether the entry reads as it should, and its neighbours and headings as before."""
    before, after = _AROUND
    found = markdown_outline(
        f"## {JOURNAL_LOG}\n\n{before}\n{lines}\n{after}\n\n## {JOURNAL_SUMMARY}\n"
    )
    entries = [(o.category, o.content, o.tags, o.block) for o in found.observations if o.time]
    return (
        entries
        == [
            ("note", "before", (), "before"),
            (kind, text, tags, block),
            ("note", "after", (), "after"),
        ]
        and [heading.text for heading in found.headings] == [JOURNAL_LOG, JOURNAL_SUMMARY]
        and [b.id for b in found.blocks] == ["before", block, "after"]
    )


# --- reading ----------------------------------------------------------------------------


def journal_entries(note: Note) -> list[Observation]:
    """The entries of a journal's log, in the order in which they stand."""
    return [seen for seen in note.observations if seen.time]


def time_of_entry(seen: Observation, note: Note) -> dt.datetime:
    """When it was seen: by its id, else at its time on the journal's day or the one after."""
    started = note.created or dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    try:
        if _ULID.fullmatch(seen.block):
            return dt.datetime.fromtimestamp(ulid_to_timestamp(seen.block) / 1000, dt.UTC)
        at = dt.time.fromisoformat(seen.time)
    except (ValueError, OverflowError, OSError):  # 25:00, or a year beyond the calendar
        return started
    begun = started.astimezone(note.written_zone) if note.written_zone else local_time(started)
    clock = begun.replace(tzinfo=None)
    seen_at = dt.datetime.combine(clock.date(), at)
    if seen_at < clock.replace(second=0):
        seen_at += dt.timedelta(days=1)
    return utc_moment(seen_at, None if note.is_written_here else note.written_zone)


def journal_summary(note: Note) -> str:
    """The summary as a reader may see it."""
    return _summary_in_journal(note, mask_private(note.body))


def _summary_in_journal(note: Note, body: str) -> str:
    span = markdown.markdown_section(note.headings, JOURNAL_SUMMARY, len(body))
    return with_unix_line_ends(body[slice(*span)].strip()) if span else ""


# --- the summary ------------------------------------------------------------------------

_AT_ONCE: Final = 10  # entries of the second in which a session ended


def journal_with_summary(
    note: Note, given: str, now: dt.datetime, is_ours: Callable[[str], bool]
) -> Note:
    """The note with its summary. One that is there stays as it is, unless another is given, or
    it was made from the log and the log has grown since. What a person made of it stays also
    then, and what is given comes behind it."""
    old = _summary_in_journal(note, note.body)
    ours = not old or is_ours(old) or _is_summary_made_from_log(old, note)
    if old and not given and not _is_summary_made_from_log(old, note):
        return note
    new = given or summary_of_entries(journal_entries(note))
    if not new or old in (new, verbatim_entry(new)):
        return note
    ours = ours and not private_spans(old)  # what a person keeps to themselves is not replaced
    change = ReplaceSection if old and ours else AppendToSection
    updated = SetProperty("updated", now)
    try:
        return edited_note(note, change(JOURNAL_SUMMARY, new), updated)
    except NoteMalformed:  # code or a comment in it is not closed
        return edited_note(note, change(JOURNAL_SUMMARY, verbatim_entry(new)), updated)


def _is_summary_made_from_log(said: str, note: Note) -> bool:
    """Whether the summary is what was made of the log when the session ended, or is made now."""
    entries, ended = journal_entries(note), note.updated
    if said == summary_of_entries(entries):
        return True
    times = [time_of_entry(seen, note).replace(microsecond=0) for seen in entries]
    first = sum(bool(ended and time < ended) for time in times)
    last = sum(bool(ended and time <= ended) for time in times)
    return any(
        said == summary_of_entries(entries[:i])
        for i in range(max(first, 1, last - _AT_ONCE), last + 1)
    )


def note_with_fresh_summary(before: Note, after: Note) -> Note:
    """A journal whose log has just changed, with a summary that says so. One that was given, or
    that a person worded, stays; the first one is put before the log."""
    old = _summary_in_journal(before, before.body)
    if old and not _is_summary_made_from_log(old, before):
        return after
    new = summary_of_entries(journal_entries(after))
    if not new or new == old:
        return after
    try:
        if old:
            return edited_note(after, ReplaceSection(JOURNAL_SUMMARY, new))
        return _with_summary_before_log(after, new)
    except NoteMalformed:  # a person left something open; the log says it all
        return after


def _with_summary_before_log(note: Note, text: str) -> Note:
    log = next((head for head in note.headings if head.text == JOURNAL_LOG), None)
    if log is None or any(head.text == JOURNAL_SUMMARY for head in note.headings):
        return note
    at, newline = note.body_start + log.start, note.newline
    section = f"## {JOURNAL_SUMMARY}\n\n{text}\n\n".replace("\n", newline)
    made = parse(note_bytes(note.text[:at] + section + note.text[at:]), note.path, note.names)
    kept = [each.block for each in journal_entries(made)] == [
        e.block for e in journal_entries(note)
    ]
    return made if kept and journal_summary(made) == text else note


def journal_with_entry_text(note: Note, block: str, text: str) -> Note | None:
    """The journal with another text, of one line, in an entry; None where it cannot be put there."""
    seen = next((each for each in journal_entries(note) if each.block == block), None)
    if seen is None or "\n" in text:
        return None
    start, end = note.body_start + seen.start, note.body_start + seen.end
    line, old = note.text[start:end], f": {seen.content} ^{block}"
    if line.count(old) != 1 or note.problems:
        return None
    new = line.replace(old, f": {text} ^{block}")
    made = parse(note_bytes(note.text[:start] + new + note.text[end:]), note.path, note.names)
    read = {each.block: each.content for each in journal_entries(made)}
    others = {each.block: each.content for each in journal_entries(note)} | {block: text}
    return made if read == others else None


def with_smaller_headings(text: str) -> str:
    """The text with its headings made small enough to stand under one of the second rank."""
    heads = markdown.markdown_headings(text)
    step = 3 - min((head.level for head in heads), default=3)
    pieces, at = [], 0
    for head in heads if step > 0 else ():
        title = f"{'#' * min(6, head.level + step)} {head.text}".rstrip()
        pieces += [text[at : head.start], title]
        at = head.end
    return "".join([*pieces, text[at:]]).strip()
