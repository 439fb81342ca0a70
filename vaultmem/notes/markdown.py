"""What a note's text says: headings, tags, links, block ids, facts, observations, relations.

Everything is found in a copy of the text in which code, comments and private passages
are blanked out, so that `#x` in a code block is no tag; offsets are the same in both,
and what is found is cut from the text itself.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple
from urllib.parse import unquote

from vaultmem.base.line_ends import end_of_line, with_unix_line_ends
from vaultmem.notes.masking import (
    INLINE_MASK,
    is_escaped,
    list_items,
    mask_private,
    text_without_comments,
    visible_text,
    without_private,
)
from vaultmem.notes.tags import TAG, is_tag

__all__ = [
    "INLINE_MASK",
    "text_without_comments",
    "visible_text",
    "without_private",
]  # part of reading a text as well


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


class Outline(NamedTuple):
    headings: tuple[Heading, ...] = ()
    tags: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    blocks: tuple[Block, ...] = ()
    facts: tuple[Fact, ...] = ()
    observations: tuple[Observation, ...] = ()
    relations: tuple[Relation, ...] = ()


def markdown_outline(text: str) -> Outline:
    said = mask_private(text)
    seen = visible_text(said)
    heads = markdown_headings(said, seen)
    links, spans = _links_in_markdown(said, seen) if "[" in seen else ((), [])
    tags = _tags_in_markdown(seen, spans) if "#" in seen else []
    blocks = _block_ids_in_markdown(seen) if "^" in seen else ()
    said, seen = "\n" + said, "\n" + seen
    entries = _entries_in_markdown(said, seen, heads) if "*" in seen else ()
    noted = _markdown_observations(said, seen, tags) if "[" in seen else ()
    return Outline(
        headings=heads,
        tags=_each_markdown_tag_once(name for _, name in tags) if tags else (),
        links=links,
        blocks=blocks,
        facts=tuple(_facts_in_markdown(said, seen, heads)) if ":" in seen else (),
        observations=(*entries, *noted),
        relations=tuple(_relations_in_markdown(said, seen)) if links else (),
    )


# --- headings, tags, links, blocks ------------------------------------------------------

# Patterns for lines start with a literal newline, which the re module finds many times
# faster than a line start; so the text is searched with a newline put before it. What may
# fail behind a repetition is not in a group: the end of one makes it step back slowly.
_HEADING: Final = re.compile(r"\n {0,3}(#{1,6})(?:[ \t]([^\r\n]*))?(?=\r?\n|\r?\Z)")
_UNDERLINE: Final = re.compile(r"\n {0,3}(=+|--+)[ \t]*(?=\r?\n|\r?\Z)")
_NO_TITLE: Final = re.compile(r"[ \t]*(?:[-*+>|#=]|\d+[.)]|\r?\Z)| {4}|\t")
WIKILINK: Final = re.compile(r"\[\[[^\[\]\n]*\]\]")
INLINE_LINK: Final = re.compile(
    r"\[[^\[\]\n]*\]\((?:<([^<>\n]+)>"
    r"|(?=[^)\s])([^()\s]*(?:\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*\)[^()\s]*)*))"
    r"(?:[ \t]+\"[^\"\n]*\")?[ \t]*\)"
)
URL_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:|//|#")
_BLOCK: Final = re.compile(r"\^([A-Za-z0-9-]+)[ \t]*(?=\r?\n|\r?\Z)")
_BLOCK_ID: Final = re.compile(r"[A-Za-z0-9-]+")


def markdown_headings(text: str, seen: str | None = None) -> tuple[Heading, ...]:
    seen = visible_text(text) if seen is None else seen
    found = []
    if "#" in seen:
        for m in _HEADING.finditer("\n" + seen):
            blanks = len(m[2]) - len(m[2].lstrip(" \t")) if m[2] else 0
            title = _heading_text(text, m.start(2) + blanks, m.end(2))
            found.append(Heading(len(m[1]), title, m.start(), m.end() - 1))
    if ("=" in seen and "\n==" in seen) or ("-" in seen and "\n--" in seen):
        found += _underlined_headings(text, seen)
        found.sort(key=lambda heading: heading.start)
    if any(text[heading.start] == " " for heading in found):
        items = list_items(seen)  # a heading there is a part of the item, not of the note
        found = [heading for heading in found if heading.start not in items]
    return tuple(found)


def _heading_text(text: str, start: int, end: int) -> str:
    title = text[start - 1 : end - 1].strip() if start > 0 else ""
    if not title.endswith("#"):
        return title
    bare = title.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else title


def _underlined_headings(text: str, seen: str) -> Iterator[Heading]:
    for m in _UNDERLINE.finditer(seen):
        start = seen.rfind("\n", 0, m.start()) + 1
        if not _NO_TITLE.match(seen, start, m.start()):
            title = text[start : m.start()].strip()
            yield Heading(1 if m[1][0] == "=" else 2, title, start, m.end())


def _block_ids_in_markdown(seen: str) -> tuple[Block, ...]:
    return tuple(
        Block(m[1], seen.rfind("\n", 0, m.start()) + 1)
        for m in _BLOCK.finditer(seen)
        if m.start() == 0 or seen[m.start() - 1] in " \t\n"
    )


def _tags_in_markdown(seen: str, links: list[tuple[int, int]]) -> list[tuple[int, str]]:
    """Each tag with its place; `links` are spans in which a `#` is none."""
    found = []
    links.sort()
    i = reach = 0
    for match in TAG.finditer(seen):
        start, name = match.start(), match[1].rstrip("/")
        if not name or name.isdigit() or not _markdown_tag_may_start(seen, start):
            continue
        while i < len(links) and links[i][0] < start:
            reach = max(reach, links[i][1])
            i += 1
        if start >= reach:
            found.append((start, name))
    return found


def _each_markdown_tag_once(names: Iterable[str]) -> tuple[str, ...]:
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(name.casefold(), name)
    return tuple(found.values())


def _markdown_tag_may_start(seen: str, at: int) -> bool:
    if at == 0 or seen[at - 1].isspace():
        return True
    return seen[at - 1] == "(" and seen[at - 2 : at - 1] != "]"


def _links_in_markdown(said: str, seen: str) -> tuple[tuple[Link, ...], list[tuple[int, int]]]:
    """The links, and the spans of those in which a `#` could pass for a tag."""
    found: list[Link] = []
    spans: list[tuple[int, int]] = []
    for match in WIKILINK.finditer(seen):
        if not is_escaped(seen, match.start()):
            found.append(_markdown_wiki_link(said, match))
            if "#" in match[0]:
                spans.append(match.span())
    if "(" in seen and "](" in seen:
        for match in INLINE_LINK.finditer(seen):
            if link := _markdown_inline_link(said, match):
                found.append(link)
            if "#" in match[0]:
                spans.append((seen.index("]", match.start()), match.end()))
    return tuple(found), spans


def property_links(text: str, place: str) -> list[Link]:
    """The links in a property's text."""
    found = (m for m in WIKILINK.finditer(text) if not is_escaped(text, m.start()))
    links = [_markdown_wiki_link(text, m, place) for m in found]
    if "](" in text:
        inline = (_markdown_inline_link(text, m, place) for m in INLINE_LINK.finditer(text))
        links += filter(None, inline)
    return links


def _markdown_wiki_link(text: str, match: re.Match[str], place: str = "") -> Link:
    start, end = match.span()
    name, _, display = text[start + 2 : end - 2].partition("|")
    target, _, anchor = name.rstrip("\\").partition("#")  # tables escape the bar: [[A\|b]]
    embed = start > 0 and text[start - 1] == "!"
    return Link(target.strip(), anchor.strip(), display.strip(), embed, place)


def _markdown_inline_link(text: str, match: re.Match[str], place: str = "") -> Link | None:
    address = _group_in_markdown(text, match, 1) or _group_in_markdown(text, match, 2)
    if URL_SCHEME.match(address) or is_escaped(text, match.start()):
        return None
    target, _, anchor = unquote(address).partition("#")
    embed = text[match.start() - 1 : match.start()] == "!"
    display = text[match.start() + 1 : match.string.index("]", match.start())]
    return Link(target, anchor, display, embed, place)


def _group_in_markdown(text: str, match: re.Match[str], group: int | str) -> str:
    """A group as the text has it: in the copy that was searched, code is blanked out."""
    start, end = match.span(group)
    return text[start:end] if start >= 0 else ""


# --- facts, observations, relations ------------------------------------------------------

# A pattern finds how such a line starts. What stands at its end is taken off step by step:
# one pattern for both would try every way to divide the line, in quadratic time. `said` and
# `seen` have a newline before them here, so a match starts where the line does in the note.
_FACT: Final = re.compile(r"\n[ \t]*[-*+][ \t]+([^\s:\[\]()`*])[^:\n\[\]]{0,99}::[ \t]*")
_QUALIFIER: Final = re.compile(r"\([^()→;\n]*→[^()→;\n]*([;)])")
_ENTRY: Final = re.compile(
    r"\n- \*\*(\d\d:\d\d(?::\d\d)?)\*\*[ \t](?:[ \t]*(?P<category>[\w-]+):[ \t])?"
)
_MORE: Final = re.compile(r"(?:(?:\n ?\r?(?=\n))*\n(?:  |\t)[^\n]*)*")
_WORD: Final = re.compile(r"\S+")
_INDENT: Final = re.compile(r"\n(?:  |\t)")
_ULID: Final = re.compile(r"[0-7][0-9a-hjkmnp-tv-z]{25}")
_VERBATIM: Final = re.compile(r"\n(`{3,})(text|text crlf|json)\n(.*)\n\1", re.DOTALL)
_NOTED: Final = re.compile(r"\n[ \t]*[-*+][ \t]+\[([^\s\[\]()#|^])[^\[\]()#|\n]+\][ \t]+(?=\S)")
_RELATION: Final = re.compile(
    r"\n[ \t]*[-*+][ \t]+(?P<kind>[^\W\d])[\w \t-]*\[\["
    r"(?P<target>[^\[\]\n|#]+)(?:[|#][^\[\]\n]*)?\]\][ \t]*"
)
_KIND: Final = re.compile(r"([\w-]+(?: [\w-]+){0,3})[ \t]+")
_CONTEXT: Final = re.compile(r"\([^()]*\)")


def markdown_section(heads: tuple[Heading, ...], name: str, end: int) -> tuple[int, int] | None:
    """The span of text under the heading with this name, up to the next of its rank.

    `## **Log**:` is found as "Log" when no heading is just that.
    """
    wanted, bare = name.casefold(), _bare_markdown_heading(name)
    at = next((i for i, h in enumerate(heads) if h.text.casefold() == wanted), None)
    if at is None and bare:
        at = next((i for i, h in enumerate(heads) if _bare_markdown_heading(h.text) == bare), None)
    if at is None:
        return None
    later = (h.start for h in heads[at + 1 :] if h.level <= heads[at].level)
    return heads[at].end, next(later, end)


def _bare_markdown_heading(title: str) -> str:
    return title.lstrip("*_ ").rstrip("*_ \t:;.,!?…").casefold()


def _found_in_markdown_section(
    pattern: re.Pattern[str], name: str, seen: str, heads: tuple[Heading, ...]
) -> Iterator[re.Match[str]]:
    if span := markdown_section(heads, name, len(seen) - 1):
        yield from pattern.finditer(seen, span[0] + 1, span[1] + 1)


def _facts_in_markdown(said: str, seen: str, heads: tuple[Heading, ...]) -> Iterator[Fact]:
    for m in _found_in_markdown_section(_FACT, "Facts", seen, heads):
        start, line_end = m.end(), end_of_line(said, m.end())
        stop, block = _markdown_line_stop(seen, start, line_end)
        stop = _trimmed_markdown_span(seen, start, stop)[1]
        opening = _fact_qualifier_in_markdown(seen, start, stop)
        qualities = (
            _markdown_fact_qualities(said, seen, opening, stop)
            if opening >= 0
            else ("", "", None, "")
        )
        yield Fact(
            said[m.start(1) : seen.index("::", m.start(1))].strip(),
            said[start : stop if opening < 0 else opening].strip(),
            *qualities,
            block,
            m.start(),
            line_end - 1,
        )


def _fact_qualifier_in_markdown(seen: str, start: int, end: int) -> int:
    """Where the `(FROM → TO; …)` opens with which the line ends; -1 without one."""
    if seen[end - 1 : end] != ")" or (arrow := seen.rfind("→", start, end)) < 0:
        return -1
    # The partner of the last parenthesis, or, where they do not pair, the one before the arrow.
    for at in (_parenthesis_in_markdown(seen, start, end), seen.rfind("(", start, arrow)):
        if at > 0 and seen[at - 1] in " \t" and (found := _QUALIFIER.match(seen, at, end)):
            if found[1] == ";" or found.end() == end:
                return at
    return -1


def _parenthesis_in_markdown(seen: str, start: int, end: int) -> int:
    depth = 0
    for at in range(end - 1, start - 1, -1):
        if seen[at] == ")":
            depth += 1
        elif seen[at] == "(":
            depth -= 1
            if depth == 0:
                return at
    return -1


def _markdown_fact_qualities(
    said: str, seen: str, opening: int, end: int
) -> tuple[str, str, float | None, str]:
    arrow = seen.index("→", opening)
    rest = seen.find(";", arrow, end)
    rest = end - 1 if rest < 0 else rest
    more = [part.strip() for part in said[rest + 1 : end - 1].split(";", 1)]
    confidence = _fact_confidence_in_markdown(more[0])
    provenance = "; ".join(part for part in (more if confidence is None else more[1:]) if part)
    return said[opening + 1 : arrow].strip(), said[arrow + 1 : rest].strip(), confidence, provenance


def _fact_confidence_in_markdown(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None


def _entries_in_markdown(said: str, seen: str, heads: tuple[Heading, ...]) -> Iterator[Observation]:
    for m in _found_in_markdown_section(_ENTRY, "Log", seen, heads):
        start, line_end = m.end(), end_of_line(said, m.end())
        stop, block = _markdown_line_stop(said, start, line_end)  # code may run past the id
        if block:  # the line is an agent's, whose blanks count: one of them is before the id
            stop = max(start, stop - 1)
        else:
            start, stop = _trimmed_markdown_span(said, start, line_end)
        stop, tags = _markdown_line_without_tags(said, start, stop)
        more, end = _indented_markdown_behind(said, line_end)
        kept = _verbatim_markdown(more) if start == stop and _ULID.fullmatch(block) else None
        yield Observation(
            content=said[start:stop] + more if kept is None else kept,
            category=m["category"] or "",
            tags=tags,
            time=m[1],
            block=block,
            start=m.start(),
            end=end - 1,
        )


def _markdown_line_without_tags(said: str, start: int, end: int) -> tuple[int, tuple[str, ...]]:
    """Where a line ends before the tags at its end, and these."""
    names: list[str] = []
    if said.find("#", start, end) >= 0:
        for word in reversed(list(_WORD.finditer(said, start, end))):
            if word[0][0] != "#" or not is_tag(word[0][1:]):
                break
            names.append(word[0][1:])
            end = max(start, word.start() - 1)
    return end, tuple(reversed(names))


def _indented_markdown_behind(said: str, line_end: int) -> tuple[str, int]:
    """The indented lines after a line, and where they end."""
    found = _MORE.match(said, said.find("\n", line_end) if line_end < len(said) else line_end)
    if found is None or not found[0]:
        return "", line_end
    more = _INDENT.sub("\n", with_unix_line_ends(found[0]))
    end = found.end()
    return (more[:-1], end - 1) if more.endswith("\r") else (more, end)


def _verbatim_markdown(more: str) -> str | None:
    """What an agent's entry keeps in a code block, because as Markdown it would not survive."""
    block = _VERBATIM.fullmatch(more)
    if block is None or block[2] == "text":
        return block and block[3]
    if block[2] == "text crlf":
        return block[3].replace("\n", "\r\n")
    try:
        kept = json.loads(block[3])
    except (ValueError, RecursionError):
        return None
    return kept if isinstance(kept, str) else None


def _markdown_observations(
    said: str, seen: str, tags: list[tuple[int, str]]
) -> Iterator[Observation]:
    places = [place + 1 for place, _ in tags]
    for m in _NOTED.finditer(seen):
        start, line_end = m.end(), end_of_line(said, m.end())
        end, block = _markdown_line_stop(seen, start, line_end)
        end = stop = _trimmed_markdown_span(seen, start, end)[1]
        if seen[end - 1 : end] == ")":
            at = seen.rfind("(", start, end)
            if at > start and seen[at - 1] in " \t" and seen.find(")", at, end) == end - 1:
                stop = at
        within = tags[bisect_left(places, start) : bisect_left(places, stop)]
        yield Observation(
            content=said[start:stop].strip(),
            category=said[m.start(1) : seen.index("]", m.start(1))].strip(),
            tags=_each_markdown_tag_once(name for _, name in within),
            context=said[stop + 1 : end - 1].strip() if stop < end else "",
            block=block,
            start=m.start(),
            end=line_end - 1,
        )


def _relations_in_markdown(said: str, seen: str) -> Iterator[Relation]:
    """Lines without a link are passed over: every list has many."""
    link = seen.find("[[")
    while link >= 0:
        if m := _RELATION.match(seen, seen.rfind("\n", 0, link)):
            yield from _relation_in_markdown_line(said, seen, m)
        next_line = seen.find("\n", link)
        link = seen.find("[[", next_line) if next_line >= 0 else -1


def _relation_in_markdown_line(said: str, seen: str, m: re.Match[str]) -> Iterator[Relation]:
    start, named = m.end(), m.start("kind")
    if kind := _KIND.fullmatch(seen, named, seen.index("[[", named)):
        end, _ = _markdown_line_stop(seen, start, end_of_line(said, start))
        start, end = _trimmed_markdown_span(seen, start, end)
        if start < end and not _CONTEXT.fullmatch(seen, start, end):
            return
        context = said[start + 1 : end - 1].strip() if start < end else ""
        yield Relation(kind[1], _group_in_markdown(said, m, "target").strip(), context, m.start())


def _trimmed_markdown_span(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without the blanks around it."""
    line = text[start:end]
    bare = line.lstrip(" \t")
    start = end - len(bare)
    return start, start + len(bare.rstrip(" \t"))


def _markdown_line_stop(seen: str, start: int, end: int) -> tuple[int, str]:
    """Where a line ends before its ` ^id`, and the id."""
    end = _trimmed_markdown_span(seen, start, end)[1]
    at = seen.rfind("^", start, end)
    if at < 0 or seen[at - 1] not in " \t" or not _BLOCK_ID.fullmatch(seen, at + 1, end):
        return end, ""
    return at, seen[at + 1 : end]
