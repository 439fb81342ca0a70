"""Notes to be: a record of another system as the bytes of a note, by the vault's own format.

What a draft says depends on the record alone, so two machines that import the same export
write the same bytes, and importing again can compare.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ulid_transform import bytes_to_ulid

from vaultmem.base.line_ends import with_unix_line_ends
from vaultmem.base.local_time import local_time
from vaultmem.errors import InvalidInput
from vaultmem.notes import journal, yaml_writer
from vaultmem.notes.file_names import safe_name
from vaultmem.notes.frontmatter import WritableValue
from vaultmem.notes.journal_text.plain_line import first_line_of_note
from vaultmem.notes.markdown import Fact, markdown_outline
from vaultmem.notes.naming.derived_titles import derived_title
from vaultmem.notes.note import parse
from vaultmem.notes.tags import as_tags
from vaultmem.transfer.sources.records import (
    EntityRecord,
    MemoryRecord,
    TalkRecord,
    TalkTurn,
    record_digest,
)

OBSERVATIONS, FACTS = "Observations", "Facts"
_LONGEST_LOG: Final = 400_000  # bytes of one journal; longer conversations go on in another
_MOST_TAGS: Final = 30
_REQUEST: Final = 400  # characters of what a session was begun for
_TRICKY: Final = re.compile(r"%%|<!--|\$\$|<{7} |>{7} |\r|\^[\w-]+[ \t]*(?:\n|\Z)")


@dataclass(frozen=True, slots=True)
class NoteDraft:
    """A note that is not there yet. `values` have no id; the folder is chosen with its home."""

    key: str
    title: str
    values: Mapping[str, WritableValue]
    body: str
    digest: str  # of what it says, apart from dates
    born: dt.datetime | None  # where the record says when


def stable_id(at: dt.datetime | None, *parts: object) -> str:
    """A ULID that is the same wherever it is made of the same."""
    milliseconds = max(0, int(at.timestamp() * 1000)) & (1 << 48) - 1 if at else 0
    rest = hashlib.blake2b("\0".join(map(str, parts)).encode(errors="replace"), digest_size=10)
    return bytes_to_ulid(milliseconds.to_bytes(6, "big") + rest.digest())


def record_key(system: str, id_: str, *content: object) -> str:
    """What a record is known by in the vault; one without an id is known by what it says."""
    plain = " ".join(id_.split())
    if not plain:
        return f"{system}:~{record_digest(*content)}"
    return f"{system}:{plain if len(plain) <= 120 else record_digest(plain)}"


# --- memories -------------------------------------------------------------------------------


def memory_draft(record: MemoryRecord, key: str, fallback: dt.datetime) -> NoteDraft:
    created = record.created or fallback
    given = " ".join(record.title.split())[:300]
    title = given or derived_title(record.text)
    later = record.updated and record.updated.replace(microsecond=0) > created
    values: dict[str, WritableValue] = {
        "key": key,
        "type": record.type,
        "scope": "project" if record.project else "user",
        "project": record.project,
        "session": record.session,
        "user": record.user,
        "room": record.room,
        "importance": record.importance,
        "confidence": record.confidence,
        "tags": _draft_tags(record.tags),
        "aliases": [given] if given and safe_name(given) != given else [],
        "source": record.source,
        "created": created,
        "updated": record.updated if later else None,
        **record.more,
    }
    return _note_draft(key, title, values, record.text + "\n", record.created)


def _note_draft(
    key: str,
    title: str,
    values: Mapping[str, WritableValue],
    body: str,
    born: dt.datetime | None,
    said: object = "",
) -> NoteDraft:
    kept = {name: value for name, value in values.items() if value not in (None, "", [])}
    dates = ("created", "updated")
    about = sorted((name, repr(v)) for name, v in kept.items() if name not in dates)
    return NoteDraft(key, title, kept, body, record_digest(title, about, said or body), born)


def _draft_tags(given: Iterable[str]) -> list[WritableValue]:
    found: list[WritableValue] = [tag for tag in as_tags(given) if len(tag) <= 100]
    return found[:_MOST_TAGS]


# --- conversations --------------------------------------------------------------------------


def journal_drafts(
    talk: TalkRecord, key: str, session: str, fallback: dt.datetime
) -> Iterator[NoteDraft]:
    """The conversation as a session's journal, and as more of them where it is very long."""
    began = talk.created or fallback
    pieces = list(_journal_draft_pieces(talk.said)) or [()]
    for number, said in enumerate(pieces, 1):
        last = number == len(pieces)
        part = "" if number == 1 else f" part {number}"
        if number > 1:
            began = max(began, next((s.at for s in said if s.at), began))
        name = " ".join(talk.title.split())[:200] or "Conversation"
        title = f"{local_time(began):%Y-%m-%d %H%M} {derived_title(name)}{part}"
        values: dict[str, WritableValue] = {
            "key": key if number == 1 else f"{key}#{number}",
            "type": "session",
            "scope": "project" if talk.project else "user",
            "project": talk.project,
            "session": session,
            "user": talk.user,
            "source": talk.source,
            "created": began,
            "updated": talk.updated if last and talk.updated and talk.updated > began else None,
        }
        summary = talk.summary if last else ""
        log = _journal_draft_log(said, key, began)
        body = (
            _draft_of_session(log, talk.request if number == 1 else "", summary)
            if talk.session
            else _draft_with_summary(log, summary)
        )
        yield _note_draft(str(values["key"]), title, values, body, talk.created, (said, summary))


def _journal_draft_pieces(said: Sequence[TalkTurn]) -> Iterator[tuple[TalkTurn, ...]]:
    piece: list[TalkTurn] = []
    size = 0
    for each in said:
        length = len(each.text.encode(errors="replace"))
        if piece and size + length > _LONGEST_LOG:
            yield tuple(piece)
            piece, size = [], 0
        piece.append(each)
        size += length
    if piece:
        yield tuple(piece)


def _journal_draft_log(said: Sequence[TalkTurn], key: str, started: dt.datetime) -> str:
    """Every entry comes back as it was said; where their neighbourhood prevents that, all of
    them stand in code blocks."""
    timed = list(_timed_draft_turns(said, key, started))
    for write in (journal.journal_entry, _journal_draft_entry):
        entries = [write(at, s.kind, s.text, tags, block) for at, s, tags, block in timed]
        body = f"## {journal.JOURNAL_LOG}\n\n" + "".join(f"{entry}\n" for entry in entries)
        found = (o for o in markdown_outline(body).observations if o.time)
        read = [(o.category, o.content, o.tags, o.block) for o in found]
        if read == [(s.kind, s.text, tags, block) for _, s, tags, block in timed]:
            return body
    raise InvalidInput("its messages could not be written so that they come back as they are")


def _journal_draft_entry(
    at: dt.datetime, kind: str, text: str, tags: tuple[str, ...], block: str
) -> str:
    tail = "".join(f"#{tag} " for tag in tags) + f"^{block}"
    return "\n".join(
        [f"- **{local_time(at):%H:%M:%S}** {kind}: {tail}", *journal.indented_verbatim(text)]
    )


def _timed_draft_turns(
    said: Sequence[TalkTurn], key: str, started: dt.datetime
) -> Iterator[tuple[dt.datetime, TalkTurn, tuple[str, ...], str]]:
    """Each with a time and an id; one without a time comes right behind the one before."""
    seen: set[str] = set()
    last = started
    for number, each in enumerate(said):
        at = each.at or last
        block = stable_id(at, key, each.id or number).lower()
        if block in seen:
            block = stable_id(at, key, each.id, number).lower()
        seen.add(block)
        last = at
        yield at, each, tuple(map(str, _draft_tags(each.tags))), block


def _draft_of_session(log: str, request: str, summary: str) -> str:
    """As a journal looks that was kept while the session went on: what was asked for first, and
    the summary above the log."""
    first = first_line_of_note(request, _REQUEST)
    said = f"## {journal.JOURNAL_SUMMARY}\n\n{summary}\n" if summary else ""
    whole = "\n".join(filter(None, (f"{first}\n" if first else "", said, log)))
    read = parse(whole.encode())
    entries = [o.block for o in markdown_outline(log).observations if o.time]
    if [o.block for o in journal.journal_entries(read)] == entries:
        if journal.journal_summary(read) == summary:
            return whole
    return _draft_with_summary(log, summary)


def _draft_with_summary(body: str, summary: str) -> str:
    said = journal.with_smaller_headings(summary)
    if not said:
        return body
    for text in (said, journal.verbatim_entry(said)):
        whole = f"{body}\n## {journal.JOURNAL_SUMMARY}\n\n{text}\n"
        read = parse(whole.encode())
        if journal.journal_summary(read) == with_unix_line_ends(text):
            entries = [o.content for o in markdown_outline(body).observations if o.time]
            if [o.content for o in journal.journal_entries(read)] == entries:
                return whole
    return body


# --- entities -------------------------------------------------------------------------------


def entity_draft(record: EntityRecord, source: str, fallback: dt.datetime) -> NoteDraft:
    values: dict[str, WritableValue] = {
        "type": "entity",
        "project": record.project,
        "user": record.user,
        "kind": record.kind,
        "aliases": [record.name] if safe_name(record.name) != record.name else [],
        "source": source,
        "created": record.created or fallback,
    }
    body = _entity_draft_sections(record)
    return _note_draft(f"{source}:[[{record.name}]]", record.name, values, body, record.created)


def _entity_draft_sections(record: EntityRecord) -> str:
    """Observations and facts; none of the former may hide one of the latter."""
    facts = "".join(f"{fact_line(fact)}\n" for fact in record.facts)
    for write in (observation_line, _verbatim_draft_line):
        said = "".join(f"{write(each)}\n" for each in record.observations)
        sections = ((OBSERVATIONS, said), (FACTS, facts))
        body = "\n".join(f"## {name}\n\n{lines}" for name, lines in sections if lines)
        read = tuple(replace(fact, start=0, end=0) for fact in markdown_outline(body).facts)
        if read == record.facts:
            return body
    raise InvalidInput("its observations could not be written so that its facts stay readable")


def observation_line(said: str) -> str:
    """A list item that reads as an observation; awkward text stands in a code block in it."""
    first, *more = said.split("\n")
    if _TRICKY.search(said) or first.lstrip().startswith(("[", "```", "~~~", "#")):
        return _verbatim_draft_line(said)
    lines = (f"  {line}" if line.strip() else "" for line in more)
    return "\n".join([f"- [observation] {first.strip()}", *lines])


def _verbatim_draft_line(said: str) -> str:
    return "\n".join(["- [observation] in its own words:", *journal.indented_verbatim(said)])


def fact_line(fact: Fact) -> str:
    span = f"{fact.valid_from} → {fact.valid_to}" if fact.valid_from or fact.valid_to else ""
    sure = "" if fact.confidence is None else yaml_writer.render_yaml(fact.confidence)
    qualities = [part for part in (sure, fact.provenance) if part]
    inner = "; ".join([span or "→", *qualities]) if span or qualities else ""
    return f"- {fact.predicate}:: {fact.object}{f' ({inner})' if inner else ''} ^{fact.block}"


def reads_back(fact: Fact) -> bool:
    """Whether a fact's line says exactly this fact."""
    found = markdown_outline(f"## {FACTS}\n\n{fact_line(fact)}\n").facts
    return [replace(f, start=0, end=0) for f in found] == [fact]
