"""Kinds of work for which people say once how they want it done: code, its languages, letters."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from vaultmem.notes.note import Note

CODE, LETTERS = "code", "letters"
_LANGUAGES: Final = {
    "python": "py pyi ipynb",
    "javascript": "js jsx mjs cjs",
    "typescript": "ts tsx",
    "go": "go",
    "rust": "rs",
    "java": "java",
    "kotlin": "kt kts",
    "c": "c h",
    "cpp": "cc cpp hpp",
    "csharp": "cs",
    "ruby": "rb",
    "php": "php",
    "swift": "swift",
    "scala": "scala",
    "sql": "sql",
    "shell": "sh bash zsh ps1",
    "lua": "lua",
    "r": "r rmd",
    "julia": "jl",
    "elixir": "ex exs",
    "haskell": "hs",
    "css": "css scss",
    "html": "html vue svelte",
    "terraform": "tf",
}
_OTHER_CODE: Final = "toml gradle proto dockerfile makefile lock"
# As they are written where they are meant: "go" and "r" are words, and letters, of their own.
_NAMED: Final = re.compile(
    r"\b(?:Python|JavaScript|TypeScript|Go|Golang|Rust|Java|Kotlin|Ruby|PHP|Swift|Scala|SQL|Bash"
    r"|Lua|R|Julia|Elixir|Haskell|CSS|HTML|Terraform)\b"
)
_ALSO: Final = {"golang": "go", "bash": "shell"}
_OF_CODE: Final = re.compile(
    r"\b(?:cod(?:e|ing)|commits?|git|branch(?:es)?|refactor\w*|pull requests?|PRs?|unit tests?"
    r"|type hints?|lint\w*|source files?|programm\w*|python|typescript|javascript|sql"
    r"|repo(?:sitor(?:y|ies))?|agents?|endpoint|stack ?trace|quelltext|código|dépôt)\b",
    re.IGNORECASE,
)
_LETTER: Final = r"letters?|e-?mails?|mails?|messages?|correspondence|briefe?n?|cartas?|lettres?|courriels?|correos?"
_OF_LETTERS: Final = re.compile(
    rf"\b(?:{_LETTER}|(?:write|reply|answer|respond|complain|apologi[sz]e) (?:back )?to"
    r"|draft (?:an? |the |my )?(?:\w+ )?(?:reply|answer|note|invitation|complaint|reminder|apology)"
    r"|schreib\w* (?:an|der|dem|den|ihm|ihr|ihnen)\b|antwort\w* (?:an|auf|der|dem)|\w+ an .{1,40} aufsetzen"
    r"|escrev\w* (?:a|ao|à|para)|respond\w* (?:a|ao|à)|écri\w* (?:à|au)|escrib\w* (?:a|al))\b",
    re.IGNORECASE,
)
# What a note is called that says how to write to people.
_ABOUT_LETTERS: Final = re.compile(
    rf"\b(?:{_LETTER}|tone|languages?|writing style|sprachen?|ton|idiomas?|línguas?|langues?)\b",
    re.IGNORECASE,
)


def kinds_of_task(task: str, files: tuple[str, ...]) -> frozenset[str]:
    endings = [file.rpartition("/")[2].rpartition(".")[2].lower() for file in files]
    found = {_languages()[each] for each in endings if each in _languages()}
    if found or any(each in _OTHER_CODE.split() for each in endings) or _OF_CODE.search(task):
        found |= {CODE, *_named_languages(task)}
    if _OF_LETTERS.search(task):
        found.add(LETTERS)
    return frozenset(found)


def kinds_of_preference(note: Note) -> frozenset[str]:
    """By its name and tags; its text speaks of much. What is said of one language is meant for
    that one alone."""
    named = " ".join([note.title, *note.tags])
    found = _named_languages(note.title) or ({CODE} if _OF_CODE.search(named) else set())
    if _ABOUT_LETTERS.search(named) or "writing" in note.tags:
        found.add(LETTERS)
    return frozenset(found)


def _named_languages(text: str) -> set[str]:
    named = (found.lower() for found in _NAMED.findall(text))
    return {_ALSO.get(each, each) for each in named}


@cache
def _languages() -> dict[str, str]:
    return {ending: name for name, endings in _LANGUAGES.items() for ending in endings.split()}
