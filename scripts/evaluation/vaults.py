"""A set laid out as a vault: a note for each document, or a journal for each session."""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from evaluation.sets import Document, Set
from vaultmem.notes.edit import new_note_bytes
from vaultmem.notes.file_names import name_key, safe_name, unique_name
from vaultmem.notes.frontmatter import WritableValue
from vaultmem.notes.journal import journal_entry

Key = tuple[str, str]  # a note's path and, in a journal, the block
_FORMS = ("%I:%M %p on %d %B, %Y", "%B-%d-%Y", "%Y-%m-%dT%H:%M:%SZ")
_NO_BLOCK = re.compile(r"[^A-Za-z0-9-]+")


def lay_out(documents: Iterable[Document], turns: bool, root: Path) -> dict[Key, str]:
    """Write the notes, those that are not there yet; answers with what stands for what."""
    keys: dict[Key, str] = {}
    for path, raw, parts in _journals(documents) if turns else _notes(documents):
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_bytes() != raw:
            file.write_bytes(raw)
        keys.update({(path, block): id_ for block, id_ in parts.items()})
    return keys


def haystacks(data: Set, pooled: bool) -> dict[str, list[Document]]:
    if pooled:
        return {"pooled": list(data.documents)}
    return {
        name: [document for document in data.documents if document.haystack == name]
        for name in data.haystacks
    }


def _notes(documents: Iterable[Document]) -> Iterator[tuple[str, bytes, dict[str, str]]]:
    taken: set[str] = set()
    for document in documents:
        path, aliases = _place(document, taken)
        values = _values(
            created=moment(document.timestamp), aliases=aliases, tags=list(document.tags)
        )
        yield path, new_note_bytes(values, document.text + "\n"), {"": document.id}


def _place(document: Document, taken: set[str]) -> tuple[str, list[str]]:
    """Where the note lies, and its names; a title that cannot be a file's name is an alias."""
    if document.id.endswith(".md"):
        return document.id, list(document.aliases)
    title = document.title or document.id.replace("/", " ")
    name = unique_name(safe_name(title), taken)
    taken.add(name_key(name))
    more = [title] if document.title and name != title else []
    return f"Notes/{name}.md", [*more, *document.aliases]


def _journals(documents: Iterable[Document]) -> Iterator[tuple[str, bytes, dict[str, str]]]:
    for session, turns in itertools.groupby(documents, lambda turn: turn.session):
        several = list(turns)
        begun = moment(several[0].timestamp) or dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
        blocks = {_NO_BLOCK.sub("-", turn.id): turn.id for turn in several}
        lines = [
            _line(turn, block, begun + dt.timedelta(seconds=5 * i))
            for i, (turn, block) in enumerate(zip(several, blocks, strict=True))
        ]
        values = _values(type="session", session=session, created=begun)
        body = "## Log\n\n" + "\n".join(lines) + "\n"
        yield (
            f"Sessions/{safe_name(session.replace('/', ' '))}.md",
            new_note_bytes(values, body),
            blocks,
        )


def _line(turn: Document, block: str, at: dt.datetime) -> str:
    said = turn.text.removeprefix(f"{turn.speaker}: ")
    return journal_entry(at, _NO_BLOCK.sub("-", turn.speaker) or "note", said, (), block)


def _values(**values: WritableValue) -> dict[str, WritableValue]:
    return {name: value for name, value in values.items() if value}


def moment(text: str) -> dt.datetime | None:
    for form in _FORMS:
        try:
            return dt.datetime.strptime(text, form).replace(tzinfo=dt.UTC)
        except ValueError:
            continue
    return None
