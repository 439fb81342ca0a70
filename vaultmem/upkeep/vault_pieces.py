"""The pieces of the template, each of which a vault may have or do without, and what vaultmem's own
settings say about the pages among them: that they are about the vault, and no memories."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from vaultmem.base import small_files
from vaultmem.errors import InvalidInput

EVERY_PIECE: Final = "all"
BASES_NEED: Final = "Obsidian 1.10 or newer"  # views that group, and views that are lists


class VaultPiece(NamedTuple):
    name: str
    what: str
    files: tuple[str, ...]  # of the template: a file, or all in a folder


VAULT_PIECES: Final = (
    VaultPiece("agents", "rules for agents that work in the vault", ("AGENTS.md", "CLAUDE.md")),
    VaultPiece("format", "what a note looks like inside", ("NOTE-FORMAT.md",)),
    VaultPiece(
        "bases", f"lists of memories, entities and sessions; they need {BASES_NEED}",
        ("Templates/Bases/",),
    ),
    VaultPiece(
        "home", f"a start page with these lists; it needs {BASES_NEED}",
        ("Home.md", "Templates/Bases/"),
    ),
    VaultPiece("templates", "templates for notes that you make by hand", ("Templates/",)),
    VaultPiece(
        "folders", "the empty folders for agents' notes now, and not with the first note", (),
    ),
    VaultPiece("obsidian", "settings of Obsidian, where the vault has none", (".obsidian/",)),
)  # fmt: skip
_NAMES: Final = tuple(piece.name for piece in VAULT_PIECES)
PAGES: Final = ("Home.md", "AGENTS.md", "CLAUDE.md", "NOTE-FORMAT.md")  # about the vault itself

_ABOUT_PAGES: Final = "# These pages are about the vault itself.\n"
_EXCLUDE: Final = re.compile(r"(?m)^exclude[ \t]*=[ \t]*\[[^\]\n]*\][ \t]*$")
_NO_EXCLUDE: Final = re.compile(r"(?m)^#[ \t]*exclude[ \t]*=[ \t]*\[[^\]\n]*\][ \t]*$")


def required_pieces(given: Sequence[str]) -> frozenset[str]:
    """The names of pieces that a person asked for, each alone or several between commas."""
    asked = [name.strip().lower() for each in given for name in each.split(",") if name.strip()]
    for name in asked:
        if name in ("git", "gitignore", "gitattributes"):
            raise InvalidInput("What git needs comes with --git.")
        if name not in (*_NAMES, EVERY_PIECE):
            raise InvalidInput(f"There is no piece {name!r}. There are: {', '.join(_NAMES)}, all.")
    return frozenset(_NAMES if EVERY_PIECE in asked else asked)


def is_in_pieces(path: str, wanted: Collection[str]) -> bool:
    """Whether a file of the template belongs to one of the pieces."""
    bases = path.startswith("Templates/Bases/")
    for piece in VAULT_PIECES:
        if piece.name in wanted and not (bases and piece.name == "templates"):
            if any(path.startswith(f) if f.endswith("/") else path == f for f in piece.files):
                return True
    return False


def settings_excluding(text: str, pages: Sequence[str]) -> str | None:
    """The settings' text with these pages excluded too; None where that is to be done by hand."""
    try:
        old = small_files.parse_toml(text)
    except ValueError:
        return None
    listed = old.get("exclude", [])
    if not isinstance(listed, list):
        return None
    wanted = [*listed, *(page for page in pages if page not in listed)]
    if wanted == listed:
        return text
    line = f"exclude = {json.dumps(wanted, ensure_ascii=False)}"
    found = (_EXCLUDE if "exclude" in old else _NO_EXCLUDE).search(text)
    if found:
        new = text[: found.start()] + line + text[found.end() :]
    else:
        new = f"{line}\n{text}"
    try:
        return new if small_files.parse_toml(new) == {**old, "exclude": wanted} else None
    except ValueError:
        return None


def first_settings(text: str, pages: Sequence[str]) -> str:
    """The template's settings for a vault that has only these of its pages."""
    if not pages:
        text = text.replace(_ABOUT_PAGES, "")
    line = f"exclude = {json.dumps(list(pages), ensure_ascii=False)}"
    return _EXCLUDE.sub(lambda _: line if pages else f"# {line}", text, count=1)
