"""Full text: Tantivy, one document per passage and one per note. Bodies are not stored.

User text never meets Tantivy's query parser, which crashes the process on deep nesting
and finds nothing for `it's`: it is analysed like the notes and the query built from terms.
Runs of Chinese, Japanese or Korean are cut into single characters and pairs here, since
the tokenizers take a whole run for one word.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import re
import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import tantivy

from vaultmem.index.catalog import Entry
from vaultmem.note import Note, printable
from vaultmem.passages import Passage, around, day_of, observations

SCHEMA_VERSION: Final = 8
ENGINE: Final[str] = tantivy.__version__  # type: ignore[attr-defined]
_HEAP: Final = 32_000_000
_SMALL_HEAP: Final = 15_000_000  # the least there is; room that a note does not need costs time
_FEW: Final = 16  # notes
_NEARLY_NOTHING: Final = 1_000_000  # bytes free on a disk that is full
_MOST_TERMS: Final = 64
_RARITY: Final = 0.3  # the power by which rare words count more than BM25 lets them
_RUNS: Final = re.compile(
    "[\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0002fa1f]+"
)
# Few fields: each costs a look-up for every word of a question. Each passage is a document:
# what is above it, what it says, and for an observation what is said around it. The text of a
# whole memory (`whole`) is a document of its own for a note; an observation's is with its first
# passage, since the engine takes the usual length of a field from all documents there are.
_FIELDS: Final = {"head": 1.5, "body": 1.0, "near": 1.0}
_WHOLE: Final = {"whole": 1.0}
_CJK: Final = "_cjk"  # the same field for scripts without blanks
_ALONE: Final = "alone"  # an observation that is a memory of its own
_ANYONE: Final = "session:"  # a note that is not bound to one session


# Words that questions are built with. A note is not found better for having many of them, and
# looking them up is what takes the time.
_FUNCTION_WORDS: Final = """
    a about after an and another any are as at be been before but by can could did do does during
    for from had has have he her him his how i if in into is it its many me more most much my of
    on or other our she should so some such that the their them then there these they this those
    to was we were what when where which who whom whose why will with would you your
"""
_ASKING: Final = re.compile(
    "什么时候|为什么|什么|哪些|哪个|哪里|哪儿|哪|多少|如何|怎么|怎样|是谁|谁|几个|请问|是否|[吗呢的是]"
)


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
    """A memory is a note, or an observation in one: then its first passage's number tells which,
    and is 0 for the note itself."""

    total: int = 0  # memories that match, exactly
    passages: tuple[tuple[int, int, int, float], ...] = ()  # note, observation, passage, score
    memories: tuple[tuple[int, int, float], ...] = ()  # note, observation, score

    @property
    def notes(self) -> tuple[tuple[int, float], ...]:
        """Each note with the best score of a memory in it."""
        best: dict[int, float] = {}
        for note, _, score in self.memories:
            best.setdefault(note, score)
        return tuple(best.items())


class _Wanted(NamedTuple):
    """A word of a question, the ending of the fields it is looked for in, and its weight."""

    word: str
    suffix: str
    weight: float


class FullText:
    def __init__(self, folder: Path, language: str) -> None:
        self.folder = folder
        self._analyzer = _analyzer(language)
        self._function_words = frozenset(self._analyzer.analyze(_FUNCTION_WORDS))
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
    def writing(self, notes: int) -> Iterator[Writing]:
        """A batch of changes to so many notes, visible at its commit. The caller holds the
        index lock."""
        writing = Writing(self._index, self._schema, _SMALL_HEAP if notes <= _FEW else _HEAP)
        try:
            yield writing
        except BaseException as error:
            full = shutil.disk_usage(self.folder).free < _NEARLY_NOTHING
            writing.abandon()
            self.sweep()
            if full and isinstance(error, ValueError):  # the engine does not always say why
                raise OSError(errno.ENOSPC, "No space left on device") from error
            raise
        writing.close()
        self.reload()

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
        words = self._telling(text)
        pairs = list(dict.fromkeys(_query_pairs(text)))[:_MOST_TERMS]
        if not words and not pairs:
            return TextHits()
        conditions = list(self._conditions(filters))
        find = self._searcher.search
        wanted = self._weighed(words, pairs)
        whole = find(self._query(wanted, conditions, _WHOLE), limit, count=True)
        near = bool(self._searcher.doc_freq("facets", _ALONE))
        fields = {name: boost for name, boost in _FIELDS.items() if near or name != "near"}
        found = find(self._query(wanted, conditions, fields), limit, count=False)
        return TextHits(
            total=int(whole.count or 0),  # type: ignore[attr-defined]
            passages=tuple(self._numbers(found.hits, ("note", "observation", "passage"))),
            memories=tuple(self._numbers(whole.hits, ("note", "observation"))),
        )

    def _telling(self, text: str) -> list[str]:
        """The words of a question that say what it is about; all of them if none does."""
        words = list(dict.fromkeys(self._analyzer.analyze(_RUNS.sub(" ", text))))
        return ([word for word in words if word not in self._function_words] or words)[:_MOST_TERMS]

    def _weighed(self, words: list[str], pairs: list[str]) -> list[_Wanted]:
        return [
            _Wanted(word, suffix, self._rarity("body" + suffix, word))
            for terms, suffix in ((words, ""), (pairs, _CJK))
            for word in terms
        ]

    def _rarity(self, field: str, word: str) -> float:
        """Above what BM25 makes of it: 1 for a word that is nowhere, little for one everywhere."""
        every, having = self._searcher.num_docs, self._searcher.doc_freq(field, word)
        others = max(0, every - having)  # what was deleted may still be counted as having it
        idf = math.log(1 + (others + 0.5) / (having + 0.5))
        return float((idf / math.log(2 + 2 * every)) ** _RARITY)

    def _numbers(self, hits: Sequence[tuple[float, Any]], names: tuple[str, ...]) -> Iterator[Any]:
        addresses = [address for _, address in hits]
        if addresses:
            columns = [self._searcher.fast_field_values(name, addresses) for name in names]
            scores = [float(score) for score, _ in hits]
            yield from zip(
                *([int(v or 0) for v in column] for column in columns), scores, strict=True
            )

    def _query(self, wanted: list[_Wanted], conditions: list[Any], fields: dict[str, float]) -> Any:
        """Any word in any field, best where there are most. Without conditions the engine can
        skip most documents, which is why there are none for the usual question."""
        terms = [
            (tantivy.Occur.Should, self._term(name + each.suffix, each.word, boost * each.weight))
            for each in wanted
            for name, boost in fields.items()
        ]
        query = tantivy.Query.boolean_query(terms)
        if not conditions:
            return query
        return tantivy.Query.boolean_query([(tantivy.Occur.Must, query), *conditions])

    def _term(self, name: str, word: str, boost: float) -> Any:
        query = tantivy.Query.term_query(self._schema, name, word, "freq")
        return query if boost == 1.0 else tantivy.Query.boost_query(query, boost)

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

    def __init__(self, index: tantivy.Index, schema: tantivy.Schema, heap: int) -> None:
        self._index = index
        self._schema = schema
        self._heap = heap
        self._writer: tantivy.IndexWriter | None = None

    def _open(self) -> tantivy.IndexWriter:
        if self._writer is None:
            self._writer = self._index.writer(self._heap, 1)
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

    @contextlib.contextmanager
    def committing(self) -> Iterator[None]:
        """Commit while something else is done; both are done in the end, or neither counts."""
        failures: list[BaseException] = []

        def commit() -> None:
            try:
                self.commit()
            except BaseException as error:
                failures.append(error)

        aside = threading.Thread(target=commit, name="commit")
        aside.start()
        try:
            yield
        finally:
            aside.join()
        if failures:
            raise failures[0]

    def close(self) -> None:
        """Wait for what the engine joins behind a commit. A writer that is only dropped may
        still be writing when the next one, perhaps of another process, has begun; and what it
        had joined by then would have been for nothing."""
        if self._writer is not None:
            self._writer.wait_merging_threads()
            self._writer = None

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
    for name in (*_FIELDS, *_WHOLE):
        builder.add_text_field(name, tokenizer_name="words", index_option="freq")
        builder.add_text_field(name + _CJK, tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("file", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("facets", tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("note", fast=True)
    builder.add_unsigned_field("observation", fast=True)
    builder.add_unsigned_field("passage", fast=True)
    builder.add_integer_field("created", fast=True)
    builder.add_float_field("importance", fast=True)
    return builder.build()


def _documents(note: int, passages: Sequence[int], entry: Entry) -> Iterator[dict[str, Any]]:
    source, found = entry.note, entry.passages
    about = " ".join(map(printable, (source.title, *source.aliases, *source.tags)))
    above = f"{about} {' '.join(printable(source.path).split('/')[:-1])} {day_of(source)}"
    shared: dict[str, Any] = {"file": printable(source.path), "note": note, **_numbers(source)}
    ours, alone = list(_facets(entry)), observations(found, passages)
    texts = _memories(source, found, passages, alone)
    for place, (number, passage) in enumerate(zip(passages, found, strict=True)):
        first = alone.get(number, 0)
        one = {**shared, "observation": first, "passage": number}
        one["facets"] = [*ours, _ALONE] if first else ours
        said = {"head": f"{above} {passage.heading}", "body": passage.text}
        if near := around(found, place):
            said["near"] = " ".join(near)
        if first == number:
            said["whole"] = f"{above} {texts[first]}"
        yield {**one, **_texts(said)}
    yield {**shared, "facets": ours, **_texts({"whole": f"{above} {texts[0]}"})}


def _memories(
    note: Note, found: Sequence[Passage], passages: Sequence[int], alone: Mapping[int, int]
) -> dict[int, str]:
    """The text of the note itself (0), and of each observation in it that stands alone."""
    texts: dict[int, list[str]] = {0: [printable(heading.text) for heading in note.headings]}
    for number, passage in zip(passages, found, strict=True):
        texts.setdefault(alone.get(number, 0), []).append(passage.text)
    return {first: " ".join(parts) for first, parts in texts.items()}


def _texts(texts: Mapping[str, str]) -> dict[str, str]:
    """The fields, and those for Chinese, Japanese and Korean where there is any."""
    found = dict(texts)
    for name, text in texts.items():
        if not text.isascii() and _RUNS.search(text):
            found[name + _CJK] = " ".join(_pieces(text))
    return found


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
    for run in _RUNS.findall(text):
        yield from run
        yield from (run[i : i + 2] for i in range(len(run) - 1))


def _query_pairs(text: str) -> list[str]:
    """What to look for, without what Chinese questions are built with, if anything is left."""
    return list(_pairs(_ASKING.sub(" ", text))) or list(_pairs(text))


def _pairs(text: str) -> Iterator[str]:
    """Pairs, and a character only where it stands alone."""
    for run in _RUNS.findall(text):
        if len(run) == 1:
            yield run
        yield from (run[i : i + 2] for i in range(len(run) - 1))
