"""Bytes to Note: properties, text, and everything the text says. Nothing here writes."""

from __future__ import annotations

import datetime as dt
import hashlib
import itertools
import posixpath
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from vaultmem.base.line_ends import usual_line_end
from vaultmem.base.local_time import local_time, moment, zone_by_id
from vaultmem.notes import file_names, markdown, masking
from vaultmem.notes import frontmatter as properties
from vaultmem.notes.frontmatter import MalformedFrontmatter, PropertyValue
from vaultmem.notes.markdown import Block, Fact, Heading, Link, Observation, Outline, Relation
from vaultmem.notes.tags import bare_tag

BOM: Final = "\ufeff"
MAX_SCANNED: Final = 4_000_000  # characters; beyond it a note is a file, not a text
MOST_TAGS: Final = 500  # every passage is indexed with all tags of its note
LONGEST_TAG: Final = 250
LONGEST_ID: Final = 250
UNREAD_PDF: Final = "unread-pdf"  # the problem of a PDF whose text, or some of it, is not known
_JUST_THEN: Final = dt.timedelta(seconds=5)  # between stamping a note and its file being saved
_READ_ONCE: Final = 200_000  # bytes of a note that is worth being kept in mind

_FENCE: Final = re.compile(r"---[ \t]*\r?\n")
_CLOSING: Final = re.compile(r"\n---[ \t]*(?:\r?\n|\r?\Z)")
_UNCLOSED: Final = re.compile(r"---[ \t]*\r?\n[^\s:#-][^\n:]*:(?:[ \t\r\n]|\Z)")
_ONE_WORD: Final = re.compile(r"[^,\s]+")
_SEPARATORS: Final = re.compile(r"[,\s]+")
_LINE_BREAKS: Final = re.compile("[\t-\r\x1c-\x1f\x85\u2028\u2029]+")  # as `splitlines` has it
_STEERING: Final = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]")
_BETWEEN_SIDES: Final = re.compile(r"\n={7}\r?\n")


@dataclass(frozen=True, slots=True)
class Problem:
    kind: str
    message: str
    line: int = 0


class Card(NamedTuple):
    """A part of a body that is a text by itself, and the labels that stand above it."""

    start: int
    end: int
    labels: tuple[str, ...] = ()
    is_arrow: bool = False  # between two others, which it names before a colon


@dataclass(frozen=True)
class Note:
    path: str
    text: str  # as on disk; bytes that are not UTF-8 stand as lone surrogates
    block: tuple[int, int] | None  # span of the frontmatter between its fences
    body_start: int
    properties: Mapping[str, PropertyValue]
    body: str
    headings: tuple[Heading, ...]
    body_tags: tuple[str, ...]
    body_links: tuple[Link, ...]
    blocks: tuple[Block, ...]
    facts: tuple[Fact, ...]
    observations: tuple[Observation, ...]
    relations: tuple[Relation, ...]
    problems: tuple[Problem, ...]
    names: Mapping[str, str]  # our property names -> the vault's
    cards: tuple[Card, ...] = ()  # of a canvas, or the pages of a PDF

    @property
    def raw(self) -> bytes:
        return note_bytes(self.text)

    @property
    def newline(self) -> str:
        return usual_line_end(self.text)

    @cached_property
    def title(self) -> str:
        return note_title(self.path)

    @cached_property
    def shown_title(self) -> str:
        """What answers call it: where its title was taken from a text that was corrected since,
        what the text says now."""
        if not self.id or self.string("type").casefold() in ("entity", "session"):
            return self.title
        from vaultmem.notes.naming.title_origin import shown_title  # for our own notes alone

        return one_line(shown_title(self.title, self.id, masking.public_part(self.body)))

    @cached_property
    def id(self) -> str:
        """What nobody could ask for is no id; the note goes by its path then."""
        found = self.string("id")
        return found if found.isprintable() and len(found) <= LONGEST_ID else ""

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """The note's tags, those of the properties first, each once."""
        found: dict[str, str] = {}
        for name in ("tags", "tag"):
            for tag in _tag_names_in_note_property(self.get(name)):
                found.setdefault(tag.casefold(), tag)
        for tag in self.body_tags:
            found.setdefault(tag.casefold(), tag)
        fitting = (tag for tag in found.values() if len(tag) <= LONGEST_TAG)
        return tuple(itertools.islice(fitting, MOST_TAGS))

    @cached_property
    def aliases(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.strings("aliases"), *self.strings("alias"))))

    @cached_property
    def links(self) -> tuple[Link, ...]:
        return (*property_links(self.shown), *self.body_links)

    @cached_property
    def created(self) -> dt.datetime | None:
        """When the note says that it was made."""
        return moment(self.string("created"), self.written_zone)

    @cached_property
    def written_zone(self) -> dt.timezone | None:
        """Where the note was made, if its id tells: the id is the exact moment, `created` what a
        clock showed then. Older notes were written in UTC, and others come from elsewhere."""
        return zone_by_id(self.string("created"), self.id)

    @cached_property
    def is_written_here(self) -> bool:
        """Whether the clock that `created` was read from is this machine's, as far as one knows."""
        return self.written_zone is None or self.created == moment(self.string("created"))

    @property
    def created_day(self) -> dt.date | None:
        """The day on which the note was made, as whoever made it would say: what it carries, but
        for older notes, which carry UTC's."""
        if self.created is None:
            return None
        wall = dt.datetime.fromisoformat(self.string("created"))
        is_utc = self.written_zone is not None and not self.written_zone.utcoffset(None)
        return (local_time(self.created) if is_utc or wall.tzinfo else wall).date()

    @cached_property
    def updated(self) -> dt.datetime | None:
        return self.updated_by(None)

    def updated_by(self, saved: dt.datetime | None) -> dt.datetime | None:
        """When a program changed the note last. It was done here, or where the note was made: not
        before that, not after the file was `saved`, and just then if nobody saved it since."""
        text = self.string("updated")
        if not text or self.is_written_here:
            return moment(text)
        there, here = moment(text, self.written_zone), moment(text)
        if there is None or here is None or there == here:
            return there
        if saved and abs(saved - here) < _JUST_THEN:
            return here
        fits = (not self.created or there >= self.created) and (not saved or there <= saved)
        return there if fits else here

    def key_of(self, name: str) -> str | None:
        """The property's own spelling in this note: names compare without case."""
        wanted = self.names.get(name, name)
        if wanted in self.properties:
            return wanted
        return self._spellings_of_note_properties.get(wanted.casefold())

    @cached_property
    def _spellings_of_note_properties(self) -> dict[str, str]:
        return {key.casefold(): key for key in reversed(list(self.properties))}

    @cached_property
    def shown(self) -> Mapping[str, PropertyValue]:
        """The properties without what is private in them: `properties` is for edits alone."""
        head = self.text[slice(*self.block)] if self.block else ""
        if "<" not in head and "\\" not in head:
            return self.properties
        named = {name: masking.public_value(value) for name, value in self.properties.items()}
        return {name: value for name, value in named.items() if not masking.private_spans(name)}

    def get(self, name: str) -> PropertyValue:
        """What a reader may know of a property."""
        key = self.key_of(name)
        return None if key is None else self.shown.get(key)

    def string(self, name: str) -> str:
        value = self.get(name)
        if value is None or isinstance(value, (list, dict)):
            return ""
        return _note_property_as_text(value).strip()

    def strings(self, name: str) -> tuple[str, ...]:
        """A list property, read leniently: one value is a list of one."""
        value = self.get(name)
        items = value if isinstance(value, list) else [value]
        texts = (
            _note_property_as_text(i).strip()
            for i in items
            if not isinstance(i, (dict, type(None)))
        )
        return tuple(text for text in texts if text)

    def number(self, name: str) -> float | None:
        value = self.get(name)
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            return None
        try:
            return float(value)
        except OverflowError:  # a whole number of more than 308 digits
            return None

    def flag(self, name: str) -> bool:
        return self.get(name) is True

    def moment(self, name: str) -> dt.datetime | None:
        """By the clocks here."""
        return moment(self.string(name))


def parse(raw: bytes, path: str = "", names: Mapping[str, str] | None = None) -> Note:
    """Never raises and never changes a byte: what is wrong becomes a Problem."""
    read = (
        _note_parsed_from_bytes if len(raw) <= _READ_ONCE else _note_parsed_from_bytes.__wrapped__
    )
    return replace(read(raw), path=path, names=names or {})


@lru_cache(maxsize=8)
def _note_parsed_from_bytes(raw: bytes) -> Note:
    """A note without its name. What was just written is read again a moment later, for the index
    and for its vectors: the same bytes are parsed once."""
    problems: list[Problem] = []
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = raw.decode("utf-8", "surrogateescape")
        problems.append(Problem("not-utf8", "Some bytes are not UTF-8; the rest is searched."))
    if "\0" in text:
        problems.append(Problem("binary", "This is not text: it has NUL bytes in it."))
        return Note("", text, None, 0, {}, text, *Outline(), tuple(problems), {})
    start = len(BOM) if text.startswith(BOM) else 0
    block, body_start = _frontmatter_span_of_note(text, start)
    values = _read_note_properties(text, start, block, problems)
    body = text[body_start:]
    if "<<<<<<< " in text:
        problems += _conflict_markers_in_note(text)
    if len(body) > MAX_SCANNED:
        problems.append(Problem("too-long", "Only the first 4 million characters are read."))
    outline = markdown.markdown_outline(body[:MAX_SCANNED])
    if len(outline.tags) > MOST_TAGS:
        problems.append(Problem("too-many-tags", f"Only the first {MOST_TAGS} tags are read."))
    return Note("", text, block, body_start, values, body, *outline, tuple(problems), {})


def note_body(raw: bytes) -> str:
    """The text below the properties, without parsing either."""
    text = raw.decode("utf-8", "surrogateescape")
    return text[_frontmatter_span_of_note(text, len(BOM) if text.startswith(BOM) else 0)[1] :]


def _frontmatter_span_of_note(text: str, start: int) -> tuple[tuple[int, int] | None, int]:
    """The span between the fences, and where the body starts."""
    opening = _FENCE.match(text, start)
    # From the opening's own newline on: the block may be empty.
    closing = _CLOSING.search(text, opening.end() - 1) if opening else None
    if opening is None or closing is None:
        return None, start
    return (opening.end(), closing.start() + 1), closing.end()


def _read_note_properties(
    text: str, start: int, block: tuple[int, int] | None, problems: list[Problem]
) -> Mapping[str, PropertyValue]:
    if block is None:
        if _UNCLOSED.match(text, start):
            problems.append(
                Problem("unclosed-frontmatter", "The properties have no closing ---.", 1)
            )
        return {}
    try:
        return properties.read_frontmatter(text[block[0] : block[1]])
    except MalformedFrontmatter as error:
        quoting = masking.private_spans(text[block[0] : block[1]])  # what it quotes may be private
        why = "the properties cannot be read" if quoting else str(error)
        problems.append(Problem(error.kind, f"Line {error.line}: {why}.", error.line))
        return {}


def _conflict_markers_in_note(text: str) -> Iterator[Problem]:
    lines = "\n" + markdown.visible_text(text[:MAX_SCANNED])
    start = lines.find("\n<<<<<<< ")
    between = _BETWEEN_SIDES.search(lines, start) if start >= 0 else None
    if between and lines.find("\n>>>>>>> ", between.end() - 1) >= 0:
        line = lines.count("\n", 0, start) + 1
        yield Problem("conflict-markers", f"Line {line}: an unfinished git merge.", line)


def note_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def printable(text: str) -> str:
    """The text for eyes, an index or JSON: bytes that are not UTF-8 become U+FFFD."""
    return text if text.isascii() else re.sub("[\ud800-\udfff]", "\ufffd", text)


def one_line(text: str) -> str:
    """A name as part of a line of ours: whatever a file or a property is called, nothing in it
    can begin a line of its own, or steer a terminal."""
    if text.isprintable():  # nearly all
        return text
    return _STEERING.sub("\ufffd", _LINE_BREAKS.sub(" ", printable(text)))


def note_title(path: str) -> str:
    """What a note is called; on some systems a file's name may have several lines. A canvas or a PDF
    is called with its ending, as links name it: there may be a note beside it that has its name."""
    name = posixpath.basename(path)
    return one_line(name if file_names.is_only_read(name) else posixpath.splitext(name)[0])


def words_digest(text: str) -> bytes:
    """The same for two texts that differ in white space alone; in code that counts."""
    has_code = "```" in text or "~~~" in text or "\n    " in text or "\n\t" in text
    lines = text.strip("\r\n").splitlines() if has_code else text.split()
    plain = "\n".join(map(str.rstrip, lines)) if has_code else " ".join(lines)
    return hashlib.blake2b(note_bytes(unicodedata.normalize("NFC", plain)), digest_size=8).digest()


def note_version(raw: bytes) -> str:
    """What stands for exactly these bytes in `expected_version` and in the index."""
    return hashlib.blake2b(raw, digest_size=10).hexdigest()


def has_ended(valid_to: str, now: dt.datetime) -> bool:
    """Whether a fact's TO lies behind us; one that is no date was closed at an unknown time."""
    if not valid_to:
        return False
    until = moment(valid_to)
    return until is None or until <= now


def property_links(values: Mapping[str, PropertyValue]) -> Iterator[Link]:
    for name, value in values.items():
        for item in value if isinstance(value, list) else (value,):
            if isinstance(item, str) and ("[[" in item or "](" in item):
                yield from markdown.property_links(item, name)


def _tag_names_in_note_property(value: PropertyValue) -> Iterator[str]:
    items = value if isinstance(value, list) else [value]
    for item in items:
        if item is None or isinstance(item, (list, dict)):
            continue
        text = _note_property_as_text(item)
        for word in (text,) if _ONE_WORD.fullmatch(text) else _SEPARATORS.split(text):
            if name := bare_tag(word.strip()).rstrip("/"):
                yield name


def _note_property_as_text(value: PropertyValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    try:
        return str(value)
    except ValueError:  # Python does not print whole numbers of more than 4300 digits
        return hex(value) if isinstance(value, int) else ""
