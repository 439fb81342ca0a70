"""A note cut into passages: what is searched, embedded and shown.

Paragraphs are gathered under their heading until a passage is of a good size, and small
neighbouring sections become one; an observation or a fact is a passage of its own, or
several when it is long. Sizes are tokens at most: the usual small letters of English come
two or more to a token, of anything else every byte may be one. So no model that reads 512
tokens has to leave out the end of a passage, whatever script or code it is written in.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final, NamedTuple

from vaultmem.notes import markdown
from vaultmem.notes.attributes import own_property_lines
from vaultmem.notes.note import MAX_SCANNED, Card, Note, one_line, printable
from vaultmem.notes.sentences import sentences

GOOD_PASSAGE: Final = 380  # some 700 bytes of English
MOST_OF_PASSAGE: Final = 420
IN_CONTEXT: Final = 500  # of 512, with what stands around a passage
_HEAD: Final = 64
_BEFORE: Final = 110
_NEAR: Final = 2  # passages on each side
_SHORT: Final = 250
_SHORTEST_SENTENCE: Final = 12  # characters
_MOST_SENTENCES: Final = 24
_LONGEST_HEADING: Final = 250  # each passage carries those above it
_CHEAP: Final = b"abcdefghilmnoprstuy "
_PARAGRAPH: Final = re.compile(r"\n[ \t]*\r?\n")
_BREAKS: Final = re.compile(r"(?<=[.!?。！？])\s+|\n|(?<=[。！？])")
_BLANKS: Final = re.compile(r"\s{2,}|[\t\r\f\v]")
_ODD_BLANKS: Final = ("  ", " \n", "\n ", "\t", "\r")
_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


class Passage(NamedTuple):
    text: str
    heading: str  # the path of headings above it: "Auth › Tokens"
    start: int  # offsets in the note's body, or in the lines of its own properties
    end: int
    kind: str = "text"  # or "observation", "fact", "properties", "arrow"
    block: str = ""

    @property
    def stands_alone(self) -> bool:
        """A memory of its own inside its note: it has an id by which it can be called."""
        return self.kind == "observation" and bool(self.block)


def tokens_at_most(text: str) -> int:
    raw = text.encode(errors="replace")
    dear = len(raw.translate(None, _CHEAP))
    return dear + (len(raw) - dear + 1) // 2


def passage_hash(text_in_context: str) -> bytes:
    return hashlib.blake2b(text_in_context.encode(), digest_size=16).digest()


# --- what stands around a passage ------------------------------------------------------------


def passages_in_context(note: Note, found: Sequence[Passage]) -> list[str]:
    """The texts as a model should read them: each below what stands above it. An observation
    also with the end of the one before, to which it is often an answer; not with the one
    after, or each new entry of a journal would change the one before."""
    title, day = printable(note.shown_title), day_above_passage(note)
    heads = {p.heading: _head_of_passage(title, p.heading, day) for p in found}
    texts = [_passage_without_runs_of_blanks(_own_words_of_passage(p)) for p in found]
    before = ["", *texts]
    return [
        "\n".join(
            filter(None, (heads[p.heading], _text_before_passage(p, before[i], texts[i]), texts[i]))
        )
        for i, p in enumerate(found)
    ]


def passage_sentences(note: Note, passage: Passage) -> list[str]:
    """The sentences of a passage that says several things, each below the note's name."""
    if passage.kind != "text":
        return []
    said = [each for each in sentences(passage.text) if len(each) >= _SHORTEST_SENTENCE]
    if len(said) < 2:
        return []
    title = printable(note.shown_title)
    return [f"{title}: {printable(each)}" for each in said[:_MOST_SENTENCES]]


def _own_words_of_passage(passage: Passage) -> str:
    """An arrow's label without what it joins: that is on cards, and would be found twice."""
    label = passage.text.partition(": ")[2] if passage.kind == "arrow" else ""
    return label or passage.text


def day_above_passage(note: Note) -> str:
    """The day of the note as people say it, and ask for it: 8 May 2023."""
    if note.created is None:
        return ""
    # As it stands there: the text above a passage is the same on every machine.
    made = dt.datetime.fromisoformat(note.string("created"))
    return f"{made.day} {_MONTHS[made.month - 1]} {made.year}"


def _head_of_passage(title: str, heading: str, day: str) -> str:
    head = " › ".join(part for part in (title, heading, day) if part)
    return beginning_of_tokens(" ".join(head.split()), _HEAD)


def _text_before_passage(passage: Passage, before: str, text: str) -> str:
    if passage.kind != "observation":
        return ""
    return ending_of_tokens(before, min(_BEFORE, IN_CONTEXT - _HEAD - 2 - tokens_at_most(text)))


def places_around_passage(found: Sequence[Passage], place: int) -> list[int]:
    """Where that stands which is said shortly before and after an observation: much of its sense stands there.
    Only between short ones; a long one says enough, and would drown out a short neighbour."""
    own = found[place]
    if own.kind != "observation" or not _is_short_passage(own):
        return []
    near = (*range(max(0, place - _NEAR), place), *range(place + 1, place + 1 + _NEAR))
    return [i for i in near if i < len(found) and _is_passage_said_near(found[i], own)]


def _is_passage_said_near(passage: Passage, own: Passage) -> bool:
    if passage.kind == "properties":
        return False
    return _is_short_passage(passage) and (not passage.block or passage.block != own.block)


def _is_short_passage(passage: Passage) -> bool:
    return len(passage.text) <= 2 * _SHORT and tokens_at_most(passage.text) <= _SHORT


def passage_observations(found: Sequence[Passage], numbers: Sequence[int]) -> dict[int, int]:
    """Of passages that stand alone: the number of the first one of the same observation."""
    first: dict[str, int] = {}
    alone = ((n, p.block) for n, p in zip(numbers, found, strict=True) if p.stands_alone)
    return {number: first.setdefault(block, number) for number, block in alone}


def _passage_without_runs_of_blanks(text: str) -> str:
    """Runs of blanks say nothing, and each of them is a token."""
    if not any(blanks in text for blanks in _ODD_BLANKS):  # by far the most texts
        while "\n\n" in text:
            text = text.replace("\n\n", "\n")
        return text
    return _BLANKS.sub(lambda m: "\n" if "\n" in m[0] else " ", text)


def beginning_of_tokens(text: str, most: int) -> str:
    return text[: _passage_length_for_tokens(text, most)].rstrip()


def ending_of_tokens(text: str, most: int) -> str:
    length = _passage_length_for_tokens(text[::-1], most)
    return text[len(text) - length :].lstrip()


def _passage_length_for_tokens(text: str, most: int) -> int:
    """How many characters have at most so many tokens."""
    if len(text) <= most and text.isascii():  # a byte is a token at most
        return len(text)
    length = min(len(text), 2 * max(0, most))
    while length and (size := tokens_at_most(text[:length])) > most:
        length = min(length - 1, length * most // size)
    return length


# --- cutting -----------------------------------------------------------------------------------


def passages(note: Note) -> list[Passage]:
    text = printable(markdown.text_without_comments(note.body[:MAX_SCANNED]))
    own = sorted(_facts_and_observations_as_passages(note, text), key=lambda p: p.start)
    taken = [(p.start, p.end) for p in own]
    if note.cards:
        found = [passage for card in note.cards for passage in _passages_of_card(note, text, card)]
    else:
        whole = Card(0, len(text))
        found = own + list(
            _merged_passages(text, _stretches_for_passages(note, text, taken, whole))
        )
    found.sort(key=lambda p: p.start)
    return [*found, *_properties_as_passages(note)]


def _passages_of_card(note: Note, text: str, card: Card) -> list[Passage]:
    """One passage for each, however short it is; a long one is cut as a note is. One may also be
    nothing but headings."""
    said = text[card.start : card.end].strip()
    if not said:
        return []
    heading, kind = " › ".join(card.labels), "arrow" if card.is_arrow else "text"
    whole = Passage(said, heading, card.start, min(card.end, len(text)), kind)
    parts = list(_bounded_passages(text, said, whole))
    if len(parts) < 2:
        return parts
    card = card._replace(end=whole.end)
    return list(_merged_passages(text, _stretches_for_passages(note, text, [], card))) or parts


def _properties_as_passages(note: Note) -> Iterator[Passage]:
    """Last: what a note says first is its text."""
    lines = own_property_lines(note)
    if lines:
        whole = Passage(lines, "Properties", 0, len(lines), "properties")
        yield from _bounded_passages(lines, lines, whole)


def is_one_passage(note: Note) -> bool:
    """Whether recall shows all of the note's text as one passage."""
    body = note.body
    if len(body) > 4 * MOST_OF_PASSAGE:  # even of letters that cost least
        return False
    found = [passage for passage in passages(note) if passage.kind != "properties"]
    return not body.strip() or (len(found) == 1 and found[0].text == printable(body).strip())


def _facts_and_observations_as_passages(note: Note, text: str) -> Iterator[Passage]:
    for fact in note.facts:
        line = text[fact.start : fact.end].strip().lstrip("-*+ ")
        yield from _bounded_passages(
            text, line, Passage(line, "Facts", fact.start, fact.end, "fact", fact.block)
        )
    for seen in note.observations:
        if seen.content.strip():
            kind = f"{seen.category}:" if seen.category else ""
            words = (kind, seen.content, *(f"#{tag}" for tag in seen.tags))
            said = printable(" ".join(word for word in words if word))
            whole = Passage(said, "", seen.start, seen.end, "observation", seen.block)
            yield from _bounded_passages(text, said, whole)


def _bounded_passages(text: str, said: str, whole: Passage) -> Iterator[Passage]:
    """One passage, or the parts of what is too long for one."""
    if len(said) <= MOST_OF_PASSAGE or tokens_at_most(said) <= MOST_OF_PASSAGE:
        yield whole
        return
    for start, end in _paragraphs_for_one_passage(text, whole.start, whole.end):
        yield Passage(text[start:end].strip(), whole.heading, start, end, whole.kind, whole.block)


class _Stretch(NamedTuple):
    """A piece of text under its headings; `lead` is where its heading's line begins."""

    trail: tuple[str, ...]
    lead: int
    start: int
    end: int


def _stretches_for_passages(
    note: Note, text: str, taken: list[tuple[int, int]], card: Card
) -> Iterator[_Stretch]:
    done = 0  # of what is taken
    for trail, lead, start, end in _sections_for_passages(note, card):
        while done < len(taken) and taken[done][1] <= start:
            done += 1
        for a, b in _stretches_between_passages(taken, done, start, end):
            for first, last in _paragraphs_for_one_passage(text, a, b):
                yield _Stretch(trail, lead if lead >= 0 else first, first, last)
                lead = -1


def _sections_for_passages(
    note: Note, card: Card
) -> Iterator[tuple[tuple[str, ...], int, int, int]]:
    """Each stretch of text with the headings above it and where the last of them begins."""
    trail = [(0, label) for label in card.labels]
    at = lead = card.start
    first = bisect_left(note.headings, card.start, key=lambda heading: heading.start)
    last = bisect_left(note.headings, card.end, key=lambda heading: heading.start)
    for heading in note.headings[first:last]:
        yield tuple(name for _, name in trail), lead, at, heading.start
        trail = [(level, name) for level, name in trail if level < heading.level]
        trail.append((heading.level, one_line(heading.text[:_LONGEST_HEADING])))
        at, lead = heading.end, heading.start
    yield tuple(name for _, name in trail), lead, at, card.end


def _merged_passages(text: str, stretches: Iterator[_Stretch]) -> Iterator[Passage]:
    """Small sections that follow one another are one passage, under what they share."""
    held: _Stretch | None = None
    alone = True
    for each in stretches:
        if held is not None and _fit_in_one_passage(text, held, each):
            trails = zip(held.trail, each.trail, strict=False)
            pairs = takewhile(lambda pair: pair[0] == pair[1], trails)
            shared = tuple(heading for heading, _ in pairs)
            held, alone = _Stretch(shared, held.lead, held.lead, each.end), False
            continue
        if held is not None:
            yield _passage_of_stretch(text, held, alone)
        held, alone = each, True
    if held is not None:
        yield _passage_of_stretch(text, held, alone)


def _fit_in_one_passage(text: str, one: _Stretch, other: _Stretch) -> bool:
    """Whether two stretches touch, but for a heading, and fit into one passage."""
    if other.end - one.lead > 2 * GOOD_PASSAGE or text[one.end : other.lead].strip():
        return False
    return tokens_at_most(text[one.lead : other.end]) <= GOOD_PASSAGE


def _passage_of_stretch(text: str, stretch: _Stretch, alone: bool) -> Passage:
    start = stretch.start if alone else stretch.lead
    heading = " › ".join(stretch.trail)
    return Passage(text[start : stretch.end].strip(), heading, start, stretch.end)


def _stretches_between_passages(
    taken: list[tuple[int, int]], first: int, start: int, end: int
) -> Iterator[tuple[int, int]]:
    """What is left of a stretch when observations and facts are taken out of it."""
    for number in range(first, len(taken)):
        a, b = taken[number]
        if a >= end:
            break
        if b > start:
            if a > start:
                yield start, a
            start = max(start, b)
    if start < end:
        yield start, end


def _paragraphs_for_one_passage(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    first = last = -1
    size = 0
    for a, b, length in _pieces_of_paragraphs_for_passages(text, start, end):
        if first >= 0 and size + length > GOOD_PASSAGE:
            yield first, last
            first, size = -1, 0
        first = a if first < 0 else first
        last, size = b, size + length
    if first >= 0:
        yield first, last


def _pieces_of_paragraphs_for_passages(
    text: str, start: int, end: int
) -> Iterator[tuple[int, int, int]]:
    """Paragraphs, and the sentences of those that are too long, each with its tokens."""
    at = start
    for stop in [*(m.start() for m in _PARAGRAPH.finditer(text, start, end)), end]:
        piece = text[at:stop]
        if piece and not piece.isspace():
            if (
                stop - at <= 2 * MOST_OF_PASSAGE
                and (size := tokens_at_most(piece)) <= MOST_OF_PASSAGE
            ):
                yield at, stop, size
            else:
                for first, last in _sentences_for_passages(text, at, stop):
                    yield first, last, tokens_at_most(text[first:last])
        at = stop


def _sentences_for_passages(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    at = start
    for stop in [*(m.end() for m in _BREAKS.finditer(text, start, end)), end]:
        while (
            stop - at > 2 * MOST_OF_PASSAGE or tokens_at_most(text[at:stop]) > MOST_OF_PASSAGE
        ):  # it has no end
            cut = _place_to_cut_passage(text, at, stop)
            yield at, cut
            at = cut
        if text[at:stop].strip():
            yield at, stop
        at = stop


def _place_to_cut_passage(text: str, start: int, end: int) -> int:
    """A place to cut an endless sentence: a blank if there is one, near the good size."""
    limit = start + max(
        1, _passage_length_for_tokens(text[start : start + 2 * GOOD_PASSAGE], GOOD_PASSAGE)
    )
    blank = text.rfind(" ", start + (limit - start) // 2, limit)
    return min(end, blank + 1 if blank > start else limit)
