"""Full text: Tantivy, one document per passage and one per note. Bodies are not stored.

User text never meets Tantivy's query parser, which crashes the process on deep nesting
and finds nothing for `it's`: it is analysed like the notes and the query built from terms.
Runs of Chinese, Japanese or Korean are cut into single characters and pairs here, since
the tokenizers take a whole run for one word.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import tantivy

from vaultmem.index.catalog import Entry
from vaultmem.note import Note, printable

SCHEMA_VERSION: Final = 4
ENGINE: Final[str] = tantivy.__version__  # type: ignore[attr-defined]
_HEAP: Final = 32_000_000
_MANY_SEGMENTS: Final = 12
_MOST_TERMS: Final = 64
_CJK: Final = re.compile(
    "[\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0002fa1f]+"
)
# Few fields: each costs a look-up for every word of a question. A note's own document has
# fields of its own (`whole_title` …), so that no condition must tell it from a passage's.
_FIELDS: Final = {"title": 3.0, "context": 1.5, "body": 1.0}
WHOLE: Final = "whole_"
_ANYONE: Final = "session:"  # a note that is not bound to one session
_CJK_FIELDS: Final = {"title_cjk": 2.0, "body_cjk": 1.0}


@dataclass(frozen=True)
class Filters:
    """What a hit must be; an empty filter lets everything pass but what is forgotten."""

    types: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # any of them; `a` stands for `a/b` too
    rooms: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    folder: str = ""
    after: int | None = None  # seconds since the epoch
    before: int | None = None
    min_importance: float | None = None
    forgotten: bool = False
    # What the caller is bound to. Notes that belong to nobody in particular pass as well.
    user: str = ""
    home: str = ""  # the project
    session: str = ""  # of session-scope notes only


@dataclass(frozen=True)
class TextHits:
    total: int = 0  # notes that match, exactly
    passages: tuple[tuple[int, int, float], ...] = ()  # note, passage, score
    notes: tuple[tuple[int, float], ...] = field(default=())  # note, score


class FullText:
    def __init__(self, folder: Path, language: str) -> None:
        self.folder = folder
        self._analyzer = _analyzer(language)
        folder.mkdir(parents=True, exist_ok=True)
        self._schema = _schema()
        self._index = tantivy.Index(self._schema, path=str(folder), reuse=True)
        self._index.register_tokenizer("words", self._analyzer)
        self._searcher = self._index.searcher()

    @staticmethod
    def stamp(language: str) -> str:
        """Changes whenever the documents would."""
        engine = re.sub(r"[^0-9a-z.]+", "-", ENGINE.lower())
        return f"{SCHEMA_VERSION}-{language or 'plain'}-{engine}"

    def reload(self) -> None:
        self._index.reload()
        self._searcher = self._index.searcher()

    @property
    def documents(self) -> int:
        return int(self._searcher.num_docs)

    # --- writing -----------------------------------------------------------------------

    @contextlib.contextmanager
    def writing(self) -> Iterator[Writing]:
        """A batch of changes, visible at its commit. The caller holds the index lock."""
        writing = Writing(self._index, self._schema)
        try:
            yield writing
        except BaseException:
            writing.abandon()
            self.sweep()
            raise
        self.reload()
        if self._searcher.num_segments > _MANY_SEGMENTS:
            writing.merge()

    def sweep(self) -> None:
        """Remove what a failed or killed writer left: a full disk needs the room.

        Only under the index lock, when no writer is open.
        """
        with contextlib.suppress(OSError, ValueError, KeyError):
            meta = json.loads((self.folder / "meta.json").read_bytes())
            live = {s["segment_id"].replace("-", ""): s.get("deletes") for s in meta["segments"]}
            for file in self.folder.iterdir():
                if _is_left_over(file.name, live):
                    file.unlink()

    # --- searching ---------------------------------------------------------------------

    def search(self, text: str, filters: Filters, limit: int) -> TextHits:
        words = list(dict.fromkeys(self._analyzer.analyze(_CJK.sub(" ", text))))[:_MOST_TERMS]
        pairs = list(dict.fromkeys(_query_pairs(text)))[:_MOST_TERMS]
        if not words and not pairs:
            return TextHits()
        conditions = list(self._conditions(filters))
        searcher = self._searcher
        notes = searcher.search(self._query(words, pairs, conditions, WHOLE), limit, count=True)
        found = searcher.search(self._query(words, pairs, conditions), limit, count=False)
        return TextHits(
            total=int(notes.count or 0),  # type: ignore[attr-defined]
            passages=tuple(self._numbers(found.hits, ("note", "passage"))),
            notes=tuple((n, s) for n, _, s in self._numbers(notes.hits, ("note", "note"))),
        )

    def _numbers(
        self, hits: Sequence[tuple[float, Any]], names: tuple[str, str]
    ) -> Iterator[tuple[int, int, float]]:
        addresses = [address for _, address in hits]
        if not addresses:
            return
        first = self._searcher.fast_field_values(names[0], addresses)
        second = self._searcher.fast_field_values(names[1], addresses)
        for (score, _), a, b in zip(hits, first, second, strict=True):
            yield int(a or 0), int(b or 0), float(score)

    def _query(
        self, words: list[str], pairs: list[str], conditions: list[Any], prefix: str = ""
    ) -> Any:
        """Any word in any field, best where there are most. Without conditions the engine can
        skip most documents, which is why there are none for the usual question."""
        terms = [
            (tantivy.Occur.Should, self._term(prefix + name, word, boost))
            for wanted, fields in ((words, _FIELDS), (pairs, _CJK_FIELDS))
            for word in wanted
            for name, boost in fields.items()
        ]
        query = tantivy.Query.boolean_query(terms)
        if not conditions:
            return query
        return tantivy.Query.boolean_query([(tantivy.Occur.Must, query), *conditions])

    def _term(self, name: str, word: str, boost: float) -> Any:
        query = tantivy.Query.term_query(self._schema, name, word, "freq")
        return tantivy.Query.boost_query(query, boost)

    def _conditions(self, filters: Filters) -> Iterator[tuple[Any, Any]]:
        must, must_not = tantivy.Occur.Must, tantivy.Occur.MustNot
        for values in _required_facets(filters):
            if values[0] == _ANYONE and not self._searcher.doc_freq("facets", "scope:session"):
                continue
            yield (
                must,
                self._silent(tantivy.Query.term_set_query(self._schema, "facets", list(values))),
            )
        if not filters.forgotten and self._searcher.doc_freq("facets", "forgotten"):
            yield must_not, self._facet("forgotten")
        if filters.after is not None or filters.before is not None:
            yield (
                must,
                self._silent(
                    self._range("created", tantivy.FieldType.Integer, filters.after, filters.before)
                ),
            )
        if filters.min_importance is not None:
            yield (
                must,
                self._silent(
                    self._range("importance", tantivy.FieldType.Float, filters.min_importance, None)
                ),
            )

    def _range(self, name: str, kind: Any, low: Any, high: Any) -> Any:
        return tantivy.Query.range_query(self._schema, name, kind, low, high)

    def _facet(self, value: str) -> Any:
        return tantivy.Query.term_query(self._schema, "facets", value, "basic")

    @staticmethod
    def _silent(query: Any) -> Any:
        return tantivy.Query.const_score_query(query, 0.0)


def _is_left_over(name: str, live: dict[str, dict[str, int] | None]) -> bool:
    """Whether a file belongs to no segment, or holds deletions that were never committed."""
    segment, *rest = name.split(".")
    if len(segment) != 32:
        return name.startswith(".tmp")
    if segment not in live:
        return True
    deletes = live[segment]
    return rest[-1] == "del" and (deletes is None or rest[0] != str(deletes["opstamp"]))


class Writing:
    """The engine indexes in a thread of its own while documents are being added."""

    def __init__(self, index: tantivy.Index, schema: tantivy.Schema) -> None:
        self._index = index
        self._schema = schema
        self._writer: tantivy.IndexWriter | None = None

    def _open(self) -> tantivy.IndexWriter:
        if self._writer is None:
            self._writer = self._index.writer(_HEAP, 1)
        return self._writer

    def put(self, note: int, passages: Sequence[int], entry: Entry, old_path: str = "") -> None:
        self.remove(entry.note.path)
        if old_path:
            self.remove(old_path)
        writer = self._open()
        for values in _documents(note, passages, entry):
            writer.add_document(tantivy.Document.from_dict(values, self._schema))

    def remove(self, path: str) -> None:
        self._open().delete_documents_by_term("file", printable(path))

    def commit(self) -> None:
        if self._writer is not None:
            self._writer.commit()

    def merge(self) -> None:
        if self._writer is not None:
            self._writer.wait_merging_threads()

    def abandon(self) -> None:
        self._writer = None


def discard(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _analyzer(language: str) -> tantivy.TextAnalyzer:
    builder = (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(tantivy.Filter.remove_long(64))
        .filter(tantivy.Filter.lowercase())
        .filter(tantivy.Filter.ascii_fold())
    )
    return (builder.filter(tantivy.Filter.stemmer(language)) if language else builder).build()


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for prefix in ("", WHOLE):
        for name in _FIELDS:
            builder.add_text_field(prefix + name, tokenizer_name="words", index_option="freq")
        for name in _CJK_FIELDS:
            builder.add_text_field(prefix + name, tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("file", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("facets", tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("note", indexed=True, fast=True)
    builder.add_unsigned_field("passage", fast=True)
    builder.add_integer_field("created", indexed=True, fast=True)
    builder.add_float_field("importance", indexed=True, fast=True)
    return builder.build()


def _documents(note: int, passages: Sequence[int], entry: Entry) -> Iterator[dict[str, Any]]:
    source = entry.note
    title = " ".join([printable(source.title), *map(printable, source.aliases)])
    facets = list(_facets(entry))
    around = " ".join([*map(printable, source.tags), *printable(source.path).split("/")[:-1]])
    shared: dict[str, Any] = {
        "file": printable(source.path),
        "note": note,
        "facets": facets,
        **_numbers(source),
    }
    body = " ".join(p.text for p in entry.passages)
    texts = _texts(title, f"{_headings(source)} {around}", body)
    yield {**shared, **{WHOLE + name: text for name, text in texts.items()}, "passage": 0}
    for number, passage in zip(passages, entry.passages, strict=True):
        texts = _texts(title, f"{passage.heading} {around}", passage.text)
        yield {**shared, **texts, "passage": number}


def _texts(title: str, context: str, body: str) -> dict[str, str]:
    texts = {"title": title, "context": context, "body": body}
    head = f"{title} {context}"
    if not head.isascii() and _CJK.search(head):
        texts["title_cjk"] = " ".join(_pieces(head))
    if not body.isascii() and _CJK.search(body):
        texts["body_cjk"] = " ".join(_pieces(body))
    return texts


def _headings(note: Note) -> str:
    return " ".join(printable(heading.text) for heading in note.headings)


def _numbers(note: Note) -> dict[str, int | float]:
    importance = note.number("importance")
    values: dict[str, int | float] = {"importance": 0.5 if importance is None else importance}
    if note.created:
        values["created"] = int(note.created.timestamp())
    return values


def _facets(entry: Entry) -> Iterator[str]:
    """What filters ask for, as exact words: `type:semantic`, `tag:auth`, `tag:auth/tokens` …"""
    note = entry.note
    for name in ("type", "scope", "project", "room", "user", "kind"):
        yield f"{name}:{printable(entry.attributes[name]).casefold()}"
    bound = entry.attributes["scope"].casefold() == "session"
    yield _ANYONE + (printable(entry.attributes["session"]).casefold() if bound else "")
    for tag in note.tags:
        parts = printable(tag).casefold().split("/")
        yield from (f"tag:{'/'.join(parts[: i + 1])}" for i in range(len(parts)))
    folders = printable(note.path).split("/")[:-1]
    yield from (f"folder:{'/'.join(folders[: i + 1])}" for i in range(len(folders)))
    if note.flag("forgotten"):
        yield "forgotten"


def _required_facets(filters: Filters) -> Iterator[tuple[str, ...]]:
    """One set for each filter; a hit needs one word of every set."""
    for name, values in (
        ("type", filters.types),
        ("scope", filters.scopes),
        ("project", filters.projects),
        ("room", filters.rooms),
        ("kind", filters.kinds),
        ("tag", tuple(tag.lstrip("#") for tag in filters.tags)),
    ):
        if values:
            yield tuple(f"{name}:{value.casefold()}" for value in values)
    for name, pinned in (
        ("user", filters.user),
        ("project", filters.home),
        ("session", filters.session),
    ):
        if pinned:
            yield f"{name}:", f"{name}:{pinned.casefold()}"
    if filters.folder:
        yield (f"folder:{filters.folder.strip('/')}",)


def _pieces(text: str) -> Iterator[str]:
    """Every character and every pair of neighbours of each run."""
    for run in _CJK.findall(text):
        yield from run
        yield from (run[i : i + 2] for i in range(len(run) - 1))


def _query_pairs(text: str) -> Iterator[str]:
    """What to look for: pairs, and a character only where it stands alone."""
    for run in _CJK.findall(text):
        if len(run) == 1:
            yield run
        yield from (run[i : i + 2] for i in range(len(run) - 1))
