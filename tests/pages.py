"""The documents as tests read them: fenced blocks, headings, code in the text, commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
README = ROOT / "README.md"
FORMAT = ROOT / "vault-template" / "NOTE-FORMAT.md"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.glob("**/*.md"))]

_FENCED = re.compile(r"^```([^\n`]*)\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_OURS = re.compile(r"(?:^|[|;&(]|\$)\s*(?:[A-Z_]+=\S+\s+)*(?:\S*/)?vaultmem\s+(?=\S)")


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    language: str
    text: str

    @property
    def place(self) -> str:
        return f"{self.page.name}:{self.line}"


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path, *languages: str) -> list[Block]:
    text = text_of(page)
    found = [
        Block(page, text.count("\n", 0, match.start()) + 1, match[1].strip(), match[2])
        for match in _FENCED.finditer(text)
    ]
    return [block for block in found if not languages or block.language in languages]


def words_of(page: Path) -> str:
    """The page without its fenced blocks."""
    return _FENCED.sub("", text_of(page))


def code_in(text: str) -> list[str]:
    return _INLINE.findall(text)


def anchors(page: Path) -> set[str]:
    """What a link to a heading of this page may be called, as GitHub does it."""
    found: set[str] = set()
    for heading in _HEADING.findall(words_of(page)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        found.add(slug if slug not in found else f"{slug}-1")
    return found


def commands_of(page: Path) -> Iterator[tuple[str, list[str]]]:
    """Every call of vaultmem on a page, in blocks and in the text: where, and its words."""
    for block in blocks(page, "sh", "console"):
        for line in block.text.replace("\\\n", " ").splitlines():
            for found in _OURS.finditer(line):
                yield block.place, _split(line[found.end() :])
    for code in code_in(words_of(page)):
        if called := _OURS.match(code):
            yield f"{page.name}: {code}", _split(code[called.end() :])


def _split(text: str) -> list[str]:
    """The words of one command, up to a pipe or whatever else follows it."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars="|;&<>()")
    lexer.commenters = "#"
    words: list[str] = []
    try:
        for word in lexer:
            if set(word) <= set("|;&<>()"):
                break
            words.append(word)
    except ValueError:  # a quotation goes on in the next line
        words = words or text.split()
    return words


def rows(page: Path, heading: str) -> list[list[str]]:
    """The cells of the first table below a heading."""
    part = text_of(page).partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in lines[2:]]
