"""A change that quotes the text it is about: a note's words replaced, or more put behind them.

Only what the caller named differs afterwards. Passages that a person keeps private are neither
found nor touched, and what follows is read as it was: no code block or comment opens or closes
over it. Where a quotation does not stand exactly once the error shows what does stand there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from vaultmem.base.line_ends import end_of_line
from vaultmem.base.words import PLAIN_WORD
from vaultmem.errors import InvalidInput
from vaultmem.notes import markdown
from vaultmem.notes.markdown import Heading
from vaultmem.notes.masking import private_spans, public_part
from vaultmem.notes.note import printable

_SHOWN: Final = 4  # candidates
_AROUND: Final = 50  # characters on either side of one
_LINE: Final = 160
_LOOKED_AT: Final = 20_000  # lines that are compared with a quotation that is nowhere
_SECTIONS: Final = 30
_LIST: Final = re.compile(r"[-*+] |\d+[.)] ")
_ROW: Final = re.compile(r"\|")
_QUOTED: Final = re.compile(r">(?! ?\[!)")  # a line with [! begins a callout of its own
_LINK: Final = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
_MARKS: Final = re.compile(r"\*+|`+|==|~~")
_TRAIL: Final = re.compile(r"\s*[›>]\s*")


def replace_quotation(body: str, old: str, new: str) -> str:
    """The body with `new` in the one place where `old` stands; line ends are the caller's care."""
    start, end = _place_of_quotation(body, old)
    return body_with_change(body, start, end, new)


def append_behind_section(body: str, text: str, section: str, newline: str) -> str:
    """The body with a text more: at its end, or at the end of what stands under a heading."""
    lines = text.strip("\r\n")
    if not section:
        return lines_behind(body, 0, len(body), lines, newline)
    heads = markdown.markdown_headings(body)
    at = _section_quoted_by_trail(body, heads, section)
    if any(head.level <= heads[at].level for head in markdown.markdown_headings(lines)):
        raise InvalidInput(
            f"The text has a heading of the rank of {heads[at].text!r}, and would not be in that "
            "section. Make its headings smaller, or append it to the note: leave section out."
        )
    return lines_behind(body, *_span_under_heading(body, heads, at), lines, newline)


def section_text(body: str, section: str, *, whole: bool = False) -> tuple[int, int]:
    """What stands under a heading: up to the next one, or as a whole with the smaller ones."""
    heads = markdown.markdown_headings(body)
    at = _section_quoted_by_trail(body, heads, section)
    return _span_under_heading(body, heads, at, whole=whole)


# --- where a quotation stands -----------------------------------------------------------------


def _place_of_quotation(body: str, quoted: str) -> tuple[int, int]:
    if not quoted.strip():
        raise InvalidInput("old_text is empty: give the words that are to be replaced.")
    content = public_part(body)
    found = list(islice(_occurrences_of_quotation(printable(content), quoted), _SHOWN + 1))
    if not found:
        raise InvalidInput(_quotation_stands_nowhere(content, quoted))
    if len(found) > 1:
        raise InvalidInput(_quotation_stands_several_times(content, found))
    spans = private_spans(body)
    for start, end in _occurrences_of_quotation(printable(body), quoted):
        if not any(start < span.end and end > span.start for span in spans):
            return start, end
    raise InvalidInput(
        "Within old_text stands a passage that the note's owner keeps private. "
        "Change the text before it and the text behind it, each for itself."
    )


def _occurrences_of_quotation(text: str, quoted: str) -> Iterator[tuple[int, int]]:
    """Also those that overlap; a line may end in either way, and no line end is torn apart."""
    lines = re.split(r"\r?\n", printable(quoted))
    pattern = re.compile(r"\r?\n".join(map(re.escape, lines)))
    at = 0
    while match := pattern.search(text, at):
        start, end = match.span()
        if "\r\n" not in (text[start - 1 : start + 1], text[end - 1 : end + 1]):
            yield start, end
        at = start + 1


# --- changing it ------------------------------------------------------------------------------


def body_with_change(body: str, start: int, end: int, new: str) -> str:
    after = body[:start] + new + body[end:]
    further = len(new) - (end - start)
    kept = [(s + further, e + further) if s >= end else (s, e) for s, e, _ in private_spans(body)]
    if kept != [(s, e) for s, e, _ in private_spans(after)]:
        raise InvalidInput(
            "The change would touch a passage that the note's owner keeps private, or stand in "
            "one. Nothing was written."
        )
    seen, before = markdown.visible_text(after), markdown.visible_text(body)
    if seen[:start] != before[:start] or seen[start + len(new) :] != before[end:]:
        raise InvalidInput(
            "The change would open or close a code block, a comment or a mark, so that other text "
            "of the note is read in another way. Nothing was written. Let old_text and new_text "
            "hold the whole of it; or read the note with get_memories and give its new content "
            "with that expected_version."
        )
    return after


def lines_behind(body: str, start: int, end: int, lines: str, newline: str) -> str:
    """Put lines behind the last text of a stretch; what they go on with has no blank line."""
    said = body[start:end].rstrip()
    at = end_of_line(body, start + len(said)) if said else start
    gap = newline * (1 if _goes_on(said, lines) else 2) if said or start else ""
    if at and not markdown.visible_text(f"{body[:at]}{gap}x").endswith("x"):
        raise InvalidInput(
            "The text there ends in a code block, a comment or a private passage that is not "
            "closed, and what is appended would be a part of it. Nothing was written."
        )
    ending = "" if body[at:].startswith(("\n", "\r\n")) else newline
    return body_with_change(body, at, at, gap + lines + ending)


def _goes_on(said: str, lines: str) -> bool:
    """Whether the lines are the next items of a list, rows of a table, or words of a quotation."""
    if _LIST.match(lines):
        return ends_in_list(said)
    last = said[said.rfind("\n") + 1 :]
    return any(kind.match(lines) and kind.match(last[:1]) for kind in (_ROW, _QUOTED))


def ends_in_list(text: str) -> bool:
    """Whether the last line that is not indented begins an item."""
    last = next((line for line in reversed(text.split("\n")) if line[:1].strip()), "")
    return _LIST.match(last) is not None


# --- sections ---------------------------------------------------------------------------------


def _span_under_heading(
    body: str, heads: Sequence[Heading], at: int, *, whole: bool = False
) -> tuple[int, int]:
    later = (h.start for h in heads[at + 1 :] if not whole or h.level <= heads[at].level)
    return heads[at].end, next(later, len(body))


class _SectionTrail(NamedTuple):
    trail: tuple[str, ...]
    line: int


def _section_quoted_by_trail(body: str, heads: Sequence[Heading], wanted: str) -> int:
    """The one heading of this name, or of this path as recall gives it: Auth › Tokens."""
    named = list(_quotable_trails_of_headings(body, heads))
    steps = tuple(_bare_step_of_quoted_trail(step) for step in _TRAIL.split(wanted.strip()) if step)
    folded = [tuple(map(_bare_step_of_quoted_trail, each.trail)) for each in named]
    found = [i for i, trail in enumerate(folded) if steps and trail[-len(steps) :] == steps]
    exact = [i for i in found if len(named[i].trail) == len(steps)]
    spelt = [i for i in found if named[i].trail[-1] == _TRAIL.split(wanted.strip())[-1]]
    if only := next((some for some in (exact, found, spelt) if len(some) == 1), None):
        return only[0]
    if not named:
        raise InvalidInput(
            "The note has no sections. Leave section out, and append the heading with the text."
        )
    which = [named[i] for i in found] or named
    listed = "; ".join(f"{' › '.join(each.trail)} (line {each.line})" for each in which[:_SECTIONS])
    more = f" and {len(which) - _SECTIONS} more" if len(which) > _SECTIONS else ""
    if found:
        raise InvalidInput(
            f"{wanted!r} could be any of these sections; name one with those above it, or if they "
            f"have the same, use old_text and new_text: {listed}{more}."
        )
    raise InvalidInput(
        f"The note has no section {wanted!r}. It has: {listed}{more}. To make one, leave section "
        "out and append its heading with the text."
    )


def _quotable_trails_of_headings(body: str, heads: Sequence[Heading]) -> Iterator[_SectionTrail]:
    above: list[Heading] = []
    line = at = 0
    for head in heads:
        line, at = line + body.count("\n", at, head.start), head.start
        above = [*(each for each in above if each.level < head.level), head]
        yield _SectionTrail(tuple(printable(each.text) for each in above), line + 1)


def _bare_step_of_quoted_trail(name: str) -> str:
    """As it is shown: a heading is named by its words, whatever marks stand about them."""
    plain = _MARKS.sub("", _LINK.sub(r"\1", re.sub(r"\A#{1,6}[ \t]+", "", name.strip())))
    return plain.lstrip("*_ \t").rstrip("*_: \t").casefold()


# --- what stands there instead ----------------------------------------------------------------


def _quotation_stands_several_times(content: str, found: Sequence[tuple[int, int]]) -> str:
    shown = "".join(_quotation_candidate(content, start, end) for start, end in found[:_SHOWN])
    many = f"{len(found)} times" if len(found) <= _SHOWN else f"more than {_SHOWN} times"
    return (
        f"old_text stands in the note {many}. Give more of the text around the one that you "
        f"mean:{shown}"
    )


def _quotation_stands_nowhere(content: str, quoted: str) -> str:
    words = r"\s+".join(map(re.escape, quoted.split()[:200]))
    if spread := re.search(words, printable(content)):
        shown = _quotation_candidate(content, *spread.span())
        return f"old_text stands there with other blanks or line breaks; give it as it is:{shown}"
    near = _lines_near_quotation(content, quoted)
    shown = "".join(_quotation_candidate(content, *place) for place in near)
    return (
        "old_text is not in the note's text; it is looked for letter by letter, below the "
        "properties. " + (f"Near it come:{shown}" if shown else "Read the note with get_memories.")
    )


def _lines_near_quotation(content: str, quoted: str) -> list[tuple[int, int]]:
    """The lines with the most words in common with the quotation, in their order."""
    wanted = set(PLAIN_WORD.findall(quoted[:2_000].casefold()))
    scored, at = [], 0
    for line in islice(content.split("\n"), _LOOKED_AT):
        words = set(PLAIN_WORD.findall(line[:2_000].casefold()))
        if shared := len(words & wanted):
            scored.append((shared / len(words | wanted), -at, at + len(line)))
        at += len(line) + 1
    best = sorted(scored, reverse=True)[: _SHOWN - 1]
    return sorted((-start, end) for _, start, end in best)


def _quotation_candidate(content: str, start: int, end: int) -> str:
    """A place with its line, the headings above it, and what stands around."""
    line = content.count("\n", 0, start) + 1
    heads = [head for head in markdown.markdown_headings(content) if head.start <= start]
    trails = list(_quotable_trails_of_headings(content, heads))
    under = f", under {' › '.join(trails[-1].trail)}" if trails else ""
    first = max(content.rfind("\n", 0, start) + 1, start - _AROUND)
    last = min(end_of_line(content, end), end + _AROUND)
    said = " ".join(printable(content[first:last]).split())
    short = said if len(said) <= _LINE else f"{said[:_LINE]}…"
    return f"\n- line {line}{under}: {short}"
