"""The text of a PDF as a note: each page is a text by itself, below its number.

What a page says is no Markdown: a line of it is no heading, no tag, no link and no fact.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from vaultmem.notes.canvas import card_text
from vaultmem.notes.markdown import Outline
from vaultmem.notes.note import UNREAD_PDF, Card, Note, Problem, note_bytes

MOST_PAGES: Final = 2_000
MOST_PAGE_CHARACTERS: Final = 50_000
MOST_CHARACTERS: Final = 2_000_000

_LIGATURES: Final = re.compile("[\ufb00-\ufb06]")
_HYPHEN: Final = re.compile(r"(?<=[a-z\u00df-\u00ff])-\n(?=[a-z\u00df-\u00ff])")
_BLANKS: Final = re.compile(r"[ \t\u00a0]+(?=\n)|(?<=\n)\n{2,}")


class PdfPages(NamedTuple):
    raw: bytes
    cards: tuple[Card, ...] = ()
    problems: tuple[Problem, ...] = ()


def pdf_pages(pages: Sequence[tuple[int, str]], problem: str) -> PdfPages:
    """Numbered pages as Markdown, and what is wrong with the file, if something is."""
    pieces: list[str] = []
    cards: list[Card] = []
    length = 0
    for number, text in pages:
        said = card_text(_readable_page(text))
        if not said.strip():
            continue
        head = f"{'' if not pieces else chr(10) * 2}## Page {number}\n\n"
        cards.append(Card(length + len(head), length + len(head) + len(said), (f"Page {number}",)))
        pieces += (head, said)
        length += len(head) + len(said)
    problems = (Problem(UNREAD_PDF, problem),) if problem else ()
    if problem:  # the text says so too: another problem is another text
        pieces.append(f"{'' if not pieces else chr(10) * 2}%% {problem} %%")
    end = "\n" if pieces else ""
    return PdfPages(note_bytes("".join(pieces) + end), tuple(cards), problems)


def unread_pdf() -> PdfPages:
    return PdfPages(b"%% This PDF is not read yet. %%\n")


def pdf_note(pdf: PdfPages, path: str, names: Mapping[str, str]) -> Note:
    text = pdf.raw.decode("utf-8", "surrogateescape")
    return Note(path, text, None, 0, {}, text, *Outline(), pdf.problems, names, pdf.cards)


def _readable_page(text: str) -> str:
    """Words that a line's end divides are joined, and ligatures are the letters they stand for."""
    text = _LIGATURES.sub(lambda found: unicodedata.normalize("NFKC", found[0]), text)
    return _BLANKS.sub("", _HYPHEN.sub("", text)).strip()
