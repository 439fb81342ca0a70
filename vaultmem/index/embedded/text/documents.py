"""A note as the documents of the full text: one of each passage, and one of the whole note.

Runs of Chinese, Japanese or Korean, and of other scripts without blanks, are cut into single signs
and pairs here, since the tokenizers take a whole run for one word; they have fields of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from vaultmem.base.text_forms import folded, with_other_forms, words_for_day
from vaultmem.base.text_language import text_language
from vaultmem.base.words import CJK_RUN, signs_of_run
from vaultmem.index.embedded.rows import IndexEntry
from vaultmem.index.embedded.text.question_terms import CJK_FIELD, TAIL
from vaultmem.index.embedded.text.stems import COMPOUNDING, LANGUAGE_FACET, OtherStems
from vaultmem.index.filters import filter_facets
from vaultmem.notes.note import printable
from vaultmem.notes.passages import day_above_passage, passage_observations, places_around_passage

_MOST_ABOVE: Final = 5_000  # characters of title, aliases and tags, which every passage carries
ALONE: Final = "alone"  # an observation that is a memory of its own
_SHORT_TEXT: Final = 400  # characters; it may be in a language that writes words together
_READ: Final = 1_000  # characters, to know the language


class _Prepared(NamedTuple):
    """A text as the engine gets it, made once however many fields have it: its words, and what is
    written in scripts without blanks."""

    words: str
    signs: str = ""


def _prepared_for_fulltext(
    texts: Sequence[str], language: str, stems: OtherStems
) -> list[_Prepared]:
    shown = [printable(text) for text in texts]
    plain = list(map(folded, shown))
    words = with_other_forms(plain)
    if stems.are_of(language):
        words = [
            " ".join((each, *stems.stems_in_text(text, language)))
            for each, text in zip(words, shown, strict=True)
        ]
    if all(map(str.isascii, plain)):
        return [_Prepared(each) for each in words]
    return [
        _Prepared(CJK_RUN.sub(" ", each), " ".join(_fulltext_cjk_pieces(text)))
        for each, text in zip(words, plain, strict=True)
    ]


def language_of_entry(entry: IndexEntry) -> str:
    """By its beginning; nothing where that does not tell."""
    parts, length = [entry.note.title], 0
    for passage in entry.passages:
        if length >= _READ:
            break
        parts.append(passage.text[:_READ])
        length += len(passage.text)
    return text_language("\n".join(parts))


def fulltext_documents(
    note: int, passages: Sequence[int], entry: IndexEntry, stems: OtherStems
) -> Iterator[dict[str, Any]]:
    language = language_of_entry(entry)
    for values in _fulltext_documents(note, passages, entry, language, stems):
        whole = values.get("whole", "")
        if whole and (language in COMPOUNDING or len(whole) <= _SHORT_TEXT):
            values[TAIL] = stems.tails_in_text(whole)
        yield values


def _fulltext_documents(
    note: int, passages: Sequence[int], entry: IndexEntry, language: str, stems: OtherStems
) -> Iterator[dict[str, Any]]:
    source, found = entry.note, entry.passages
    folders = source.path.split("/")[:-1]
    names = dict.fromkeys((source.shown_title, source.title))  # its file may still be asked for
    about = " ".join((*names, *folders, *source.aliases, *source.tags))
    trails = list(dict.fromkeys(p.heading for p in found))
    above, headings, *texts_of_note = _prepared_for_fulltext(
        (
            about[:_MOST_ABOVE],
            " \n".join(heading.text for heading in source.headings),
            *(trail[:_MOST_ABOVE] for trail in trails),
            *(p.text for p in found),
        ),
        language,
        stems,
    )
    day = f"{day_above_passage(source)} {words_for_day(source.created_day)}"
    above = above._replace(words=f"{above.words} {day}")
    heads = dict(zip(trails, texts_of_note, strict=False))
    bodies = texts_of_note[len(trails) :]
    shared: dict[str, Any] = {
        "file": printable(source.path),
        "note": note,
        **_fulltext_numbers(entry),
    }
    ours, alone = list(filter_facets(entry)), passage_observations(found, passages)
    texts = _fulltexts_of_memories(headings, bodies, passages, alone)
    for place, (number, passage) in enumerate(zip(passages, found, strict=True)):
        first = alone.get(number, 0)
        one = {**shared, "observation": first, "passage": number}
        one["facets"] = [*ours, ALONE] if first else ours
        fields = {"head": [above, heads[passage.heading]], "body": [bodies[place]]}
        if near := places_around_passage(found, place):
            fields["near"] = [bodies[each] for each in near]
        if first == number:
            fields["whole"] = [above, *texts[first]]
        yield {**one, **_fulltext_fields(fields)}
    known = [*ours, LANGUAGE_FACET + language] if language else ours
    yield {**shared, "facets": known, **_fulltext_fields({"whole": [above, *texts[0]]})}


def _fulltexts_of_memories(
    headings: _Prepared,
    bodies: Sequence[_Prepared],
    passages: Sequence[int],
    alone: Mapping[int, int],
) -> dict[int, list[_Prepared]]:
    """The texts of the note itself (0), and of each observation in it that stands alone."""
    texts = {0: [headings]}
    for number, body in zip(passages, bodies, strict=True):
        texts.setdefault(alone.get(number, 0), []).append(body)
    return texts


def _fulltext_fields(texts: Mapping[str, Sequence[_Prepared]]) -> dict[str, str]:
    """The fields, and those for Chinese, Japanese and Korean where there is any."""
    found: dict[str, str] = {}
    for name, parts in texts.items():
        found[name] = " ".join(part.words for part in parts)
        if signs := " ".join(part.signs for part in parts if part.signs):
            found[name + CJK_FIELD] = signs
    return found


def _fulltext_numbers(entry: IndexEntry) -> dict[str, int | float]:
    importance = entry.note.number("importance")
    values: dict[str, int | float] = {"importance": 0.5 if importance is None else importance}
    if entry.created is not None:
        values["created"] = entry.created
    return values


def _fulltext_cjk_pieces(text: str) -> Iterator[str]:
    """Every sign and every pair of neighbours of each run."""
    for run in CJK_RUN.findall(text):
        signs = signs_of_run(run)
        yield from signs
        yield from ("".join(signs[i : i + 2]) for i in range(len(signs) - 1))
