"""What a note's text says: headings, tags, links, block ids, facts, observations, relations.

Everything works on a copy of the text in which code, comments and private passages
are blanked out, so that offsets stay true and `#x` in a code block is no tag.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple
from urllib.parse import unquote


class Heading(NamedTuple):
    level: int
    text: str
    start: int  # of the heading's line
    end: int  # of the heading itself, its underline included


class Link(NamedTuple):
    target: str  # a name or path as written, without heading and display text
    anchor: str = ""  # "Heading", "A#B" or "^block"
    display: str = ""
    embed: bool = False
    place: str = ""  # the property it stands in; empty for the body


class Block(NamedTuple):
    id: str
    start: int  # of the line that carries the id


@dataclass(frozen=True, slots=True)
class Fact:
    predicate: str
    object: str
    valid_from: str = ""
    valid_to: str = ""
    confidence: float | None = None
    provenance: str = ""
    block: str = ""
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Observation:
    """A line of a session's log, or a `- [category] text` bullet."""

    content: str
    category: str = ""
    tags: tuple[str, ...] = ()
    context: str = ""
    time: str = ""
    block: str = ""
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Relation:
    kind: str
    target: str
    context: str = ""
    start: int = 0


@dataclass(frozen=True, slots=True)
class Outline:
    headings: tuple[Heading, ...] = ()
    tags: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    blocks: tuple[Block, ...] = ()
    facts: tuple[Fact, ...] = ()
    observations: tuple[Observation, ...] = ()
    relations: tuple[Relation, ...] = ()


def outline(text: str) -> Outline:
    seen = visible(text)
    heads = headings(text, seen)
    found, spans = _links(seen)
    facts, observations = _sections(text, seen, heads)
    return Outline(
        headings=heads,
        tags=_tags(seen, spans) if "#" in seen else (),
        links=found,
        blocks=_blocks(seen) if "^" in seen else (),
        facts=facts,
        observations=observations,
        relations=_relations(seen) if "[[" in seen else (),
    )


# --- what does not count as text --------------------------------------------------------

# Each alternative starts with a literal: the re module then skips ahead by a charset.
_OPENING: Final = re.compile(r"``*|~~~+|%%|<!--|<private>")
_BEFORE_FENCE: Final = re.compile(r"[ \t>]*(?:[-*+][ \t]+|\d+[.)][ \t]+)?\Z")
INLINE: Final = "\0"  # stands for inline code, which is no blank: a line of it is not empty
_PARAGRAPH_END: Final = re.compile(r"\n[ \t]*\r?\n")
_INDENTED: Final = re.compile(r"\n[ \t]*\r?\n(?P<code>(?:(?: {4}|\t)[ \t]*\S[^\n]*(?:\n|\Z))+)")
_PRIVATE: Final = re.compile(r"<private>.*?(?:</private>|\Z)", re.DOTALL | re.IGNORECASE)


def visible(text: str) -> str:
    """The text with code, comments and private passages blanked out, offsets kept."""
    indented = "\n    " in text or "\n\t" in text
    if "`" in text or "~~~" in text or "%%" in text or "<!--" in text or "<private>" in text:
        text = _blank(text, iter(_Hidden(text)))
    return _blank(text, _indented_code(text)) if indented else text


def without_private(text: str) -> str:
    """The text without its `<private>` passages; an unclosed one runs to the end."""
    return _PRIVATE.sub("", text) if "<private>" in text.lower() else text


def _blank(text: str, spans: Iterator[tuple[int, int, str]]) -> str:
    pieces, at = [], 0
    for start, end, blank in spans:
        pieces.append(text[at:start])
        pieces.append("\n".join(blank * len(line) for line in text[start:end].split("\n")))
        at = end
    pieces.append(text[at:])
    return "".join(pieces)


class _Hidden:
    """Spans of fences, code spans, comments and private passages, in one pass.

    The trap is quadratic time on hostile text: a mark without a partner is remembered
    (as CommonMark parsers do), and so is the end of the paragraph, and neither is
    searched for again.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.unpaired: dict[str, int] = {}  # an opening mark -> no partner before here
        self.paragraph_end = -1

    def __iter__(self) -> Iterator[tuple[int, int, str]]:
        at = 0
        while match := _OPENING.search(self.text, at):
            start, mark = match.start(), match[0]
            end = (
                self._fence(start, match.end(), mark)
                if len(mark) >= 3 and mark[0] in "`~"
                else None
            )
            if end is not None:
                yield self.text.rfind("\n", 0, start) + 1, end, " "
            elif mark[0] == "`":
                end = self._ticks(match.end(), mark)
                if end is not None:
                    yield start, end, INLINE
            elif mark[0] != "~":
                end = self._closed(match.end(), mark)
                if end is not None:
                    yield start, end, " "
            at = match.end() if end is None else end

    def _closed(self, at: int, mark: str) -> int | None:
        if mark in self.unpaired:
            return None
        closing = {"%%": "%%", "<!--": "-->", "<private>": "</private>"}[mark]
        end = self.text.find(closing, at)
        if end >= 0:
            return end + len(closing)
        if mark == "<private>":
            return len(self.text)  # an unclosed comment is text; an unclosed secret stays one
        self.unpaired[mark] = len(self.text)
        return None

    def _fence(self, start: int, at: int, fence: str) -> int | None:
        """Where a fenced block ends, at its closing line or with the note; None if it is none."""
        text = self.text
        line = text.rfind("\n", max(0, start - 200), start) + 1
        if not _BEFORE_FENCE.match(text, line, start) or (line == 0 and start > 200):
            return None
        first = text.find("\n", at)
        first = len(text) if first < 0 else first
        if fence[0] == "`" and text.find("`", at, first) >= 0:
            return None
        close = re.compile(rf"\n[ \t>]*{fence[0]}{{{len(fence)},}}[ \t]*(?=\r?\n|\Z)")
        found = close.search(text, first)
        return found.end() if found else len(text)

    def _ticks(self, at: int, ticks: str) -> int | None:
        if at <= self.unpaired.get(ticks, -1):
            return None
        if at > self.paragraph_end:
            limit = _PARAGRAPH_END.search(self.text, at)
            self.paragraph_end = limit.start() if limit else len(self.text)
        stop, length = self.paragraph_end, len(ticks)
        start = self.text.find(ticks, at, stop)
        while start >= 0:
            end = start + length
            while end < stop and self.text[end] == "`":
                end += 1
            if end - start == length:
                return end
            start = self.text.find(ticks, end, stop)
        self.unpaired[ticks] = stop
        return None


def _indented_code(text: str) -> Iterator[tuple[int, int, str]]:
    """Blocks indented by four after a blank line, unless a list item owns them."""
    for match in _INDENTED.finditer(text):
        before = text[max(0, match.start() - 2000) : match.start()].rstrip().rpartition("\n")[2]
        if not re.match(r"[ \t]+|[-*+][ \t]|\d+[.)][ \t]", before):
            yield (*match.span("code"), " ")


# --- headings, tags, links, blocks ------------------------------------------------------

# These start with a literal character, which the re module finds many times faster
# than a line start; so the text is searched with a newline put before it.
_HEADING: Final = re.compile(r"\n {0,3}(#{1,6})(?:[ \t]+([^\r\n]*))?(?=\r?\n|\r?\Z)")
_UNDERLINED: Final = re.compile(
    r"\n(?![ \t]*(?:[-*+>|#=]|\d+[.)])) {0,3}(\S[^\r\n]*)\r?\n {0,3}(=+|-{2,})[ \t]*(?=\r?\n|\r?\Z)"
)
_TAG: Final = re.compile(
    r"#([^\u2000-\u200c\u200e-\u206f\u2e00-\u2e7f'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\\s]+)"
)
_WIKI: Final = re.compile(r"\[\[([^\[\]\n|]*)(?:\|([^\[\]\n]*))?\]\]")
_INLINE: Final = re.compile(
    r"\[([^\[\]\n]*)\]\((?:<([^<>\n]+)>|([^()\s]+))(?:[ \t]+\"[^\"\n]*\")?\)"
)
_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:|//|#")
_BLOCK: Final = re.compile(r"\^([A-Za-z0-9-]+)[ \t]*(?=\r?\n|\r?\Z)")


def headings(text: str, seen: str | None = None) -> tuple[Heading, ...]:
    seen = visible(text) if seen is None else seen
    lines = "\n" + seen
    found = [
        Heading(len(m[1]), _heading_text(text, m.start(2), m.end(2)), m.start(), m.end() - 1)
        for m in _HEADING.finditer(lines)
    ]
    if "\n==" in seen or "\n--" in seen:
        for m in _UNDERLINED.finditer(lines):
            title = text[m.start(1) - 1 : m.end(1) - 1].strip()
            found.append(Heading(1 if m[2][0] == "=" else 2, title, m.start(), m.end() - 1))
        found.sort(key=lambda heading: heading.start)
    return tuple(found)


def _heading_text(text: str, start: int, end: int) -> str:
    title = text[start - 1 : end - 1].strip() if start > 0 else ""
    bare = title.rstrip("#")
    return bare.rstrip() if bare != title and (not bare or bare[-1] in " \t") else title


def _blocks(seen: str) -> tuple[Block, ...]:
    return tuple(
        Block(m[1], seen.rfind("\n", 0, m.start()) + 1)
        for m in _BLOCK.finditer(seen)
        if m.start() == 0 or seen[m.start() - 1] in " \t\n"
    )


def is_tag(name: str) -> bool:
    """Obsidian's tag grammar, without the `#`."""
    return _TAG.fullmatch("#" + name) is not None and not name.isdigit()


def _tags(seen: str, links: list[tuple[int, int]]) -> tuple[str, ...]:
    result: dict[str, str] = {}
    for match in _TAG.finditer(seen):
        start, name = match.start(), match[1].rstrip("/")
        if not name or name.isdigit() or not _tag_may_start(seen, start):
            continue
        if not any(a < start < b for a, b in links):
            result.setdefault(name.casefold(), name)
    return tuple(result.values())


def _tag_may_start(seen: str, at: int) -> bool:
    if at == 0 or seen[at - 1].isspace():
        return True
    return seen[at - 1] == "(" and seen[at - 2 : at - 1] != "]"


def _links(seen: str) -> tuple[tuple[Link, ...], list[tuple[int, int]]]:
    """The links, and the spans of those in which a `#` could pass for a tag."""
    found: list[Link] = []
    spans: list[tuple[int, int]] = []
    if "[[" in seen:
        for match in _WIKI.finditer(seen):
            found.append(_wiki_link(seen, match))
            if "#" in match[0]:
                spans.append(match.span())
    if "](" in seen:
        for match in _INLINE.finditer(seen):
            if link := _inline_link(seen, match):
                found.append(link)
            if "#" in match[0]:
                spans.append((match.end(1), match.end()))
    return tuple(found), spans


def property_links(text: str, place: str) -> list[Link]:
    """The links in a property's text."""
    links = [_wiki_link(text, match, place) for match in _WIKI.finditer(text)]
    if "](" in text:
        links += [link for m in _INLINE.finditer(text) if (link := _inline_link(text, m, place))]
    return links


def _wiki_link(text: str, match: re.Match[str], place: str = "") -> Link:
    target, _, anchor = match[1].rstrip("\\").partition("#")  # tables escape the bar: [[A\|b]]
    embed = text[match.start() - 1 : match.start()] == "!"
    return Link(target.strip(), anchor.strip(), (match[2] or "").strip(), embed, place)


def _inline_link(text: str, match: re.Match[str], place: str = "") -> Link | None:
    address = match[2] or match[3]
    if _SCHEME.match(address):
        return None
    target, _, anchor = unquote(address).partition("#")
    embed = text[match.start() - 1 : match.start()] == "!"
    return Link(target, anchor, match[1], embed, place)


# --- facts, observations, relations ------------------------------------------------------

_FACT: Final = re.compile(
    r"^[ \t]*[-*+][ \t]+(?P<predicate>[^\s:\[\]()`*][^:\n\[\]]{0,99}?)::[ \t]*(?P<object>[^\r\n]*?)"
    r"(?:[ \t]+\((?P<from>[^()→;\n]*)→(?P<to>[^()→;\n]*)(?P<more>;[^\r\n]*)?\))?"
    r"(?:[ \t]+\^(?P<block>[A-Za-z0-9-]+))?[ \t]*(?=\r?$)",
    re.MULTILINE,
)
_ENTRY: Final = re.compile(
    r"^- \*\*(?P<time>\d\d:\d\d(?::\d\d)?)\*\*[ \t]+(?:(?P<category>[\w-]+):[ \t]+)?"
    r"(?P<content>[^\r\n]*?)(?:[ \t]+\^(?P<block>[A-Za-z0-9-]+))?[ \t]*(?=\r?$)"
    r"(?P<more>(?:\r?\n(?:(?:  |\t)[^\r\n]*|[ \t]*(?=\r?\n(?:  |\t)[^\s])))*)",
    re.MULTILINE,
)
_NOTED: Final = re.compile(
    r"^[ \t]*[-*+][ \t]+\[(?P<category>[^\s\[\]()#|][^\[\]()#|\n]+)\][ \t]+(?P<content>[^\r\n]+?)"
    r"(?:[ \t]+\((?P<context>[^()\n]*)\))?(?:[ \t]+\^(?P<block>[A-Za-z0-9-]+))?[ \t]*(?=\r?$)",
    re.MULTILINE,
)
_RELATION: Final = re.compile(
    r"\n[ \t]*[-*+][ \t]+(?P<kind>[^\W\d][\w-]*(?: [\w-]+){0,3})[ \t]+\[\[(?P<target>[^\[\]\n|#]+)"
    r"[^\[\]\n]*\]\][ \t]*(?:\((?P<context>[^()\n]*)\))?(?:[ \t]+\^[A-Za-z0-9-]+)?[ \t]*(?=\r?\n|\r?\Z)"
)
_TRAILING_TAGS: Final = re.compile(r"(?:[ \t]+#[^\s#]+)+\Z")


def section(heads: tuple[Heading, ...], name: str, end: int) -> tuple[int, int] | None:
    """The span of text under the heading with this name, up to the next of its rank."""
    wanted = name.casefold()
    for i, heading in enumerate(heads):
        if heading.text.casefold() == wanted:
            later = (h.start for h in heads[i + 1 :] if h.level <= heading.level)
            return heading.end, next(later, end)
    return None


def _sections(
    text: str, seen: str, heads: tuple[Heading, ...]
) -> tuple[tuple[Fact, ...], tuple[Observation, ...]]:
    facts: tuple[Fact, ...] = ()
    observations: list[Observation] = []
    if span := section(heads, "Facts", len(text)):
        facts = tuple(_fact(text, m) for m in _FACT.finditer(seen, *span))
    if span := section(heads, "Log", len(text)):
        observations += [_entry(text, m) for m in _ENTRY.finditer(seen, *span)]
    if "- [" in seen or "* [" in seen or "+ [" in seen:
        observations += [_noted(text, m) for m in _NOTED.finditer(seen)]
    return facts, tuple(observations)


def _fact(text: str, m: re.Match[str]) -> Fact:
    more = [part.strip() for part in (m["more"] or "").removeprefix(";").split(";", 1)]
    confidence = _confidence(more[0])
    provenance = "; ".join(part for part in (more if confidence is None else more[1:]) if part)
    return Fact(
        predicate=m["predicate"].strip(),
        object=text[m.start("object") : m.end("object")].strip(),
        valid_from=(m["from"] or "").strip(),
        valid_to=(m["to"] or "").strip(),
        confidence=confidence,
        provenance=provenance,
        block=m["block"] or "",
        start=m.start(),
        end=m.end(),
    )


def _confidence(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None


def _entry(text: str, m: re.Match[str]) -> Observation:
    content = text[m.start("content") : m.end("content")]
    tags = _TRAILING_TAGS.search(" " + content)
    names = tuple(word[1:] for word in tags[0].split()) if tags else ()
    first = content[: len(content) - len(tags[0])] if tags else content
    more = re.sub(
        r"(?m)^(?:  |\t)", "", text[m.start("more") : m.end("more")].replace("\r\n", "\n")
    )
    return Observation(
        content=first + more,
        category=m["category"] or "",
        tags=names,
        time=m["time"],
        block=m["block"] or "",
        start=m.start(),
        end=m.end(),
    )


def _noted(text: str, m: re.Match[str]) -> Observation:
    return Observation(
        content=text[m.start("content") : m.end("content")].strip(),
        category=m["category"].strip(),
        tags=tuple(t[1] for t in _TAG.finditer(m["content"]) if not t[1].isdigit()),
        context=(m["context"] or "").strip(),
        block=m["block"] or "",
        start=m.start(),
        end=m.end(),
    )


def _relations(seen: str) -> tuple[Relation, ...]:
    return tuple(
        Relation(m["kind"], m["target"].strip(), (m["context"] or "").strip(), m.start())
        for m in _RELATION.finditer("\n" + seen)
    )
