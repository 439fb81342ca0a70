"""Links: which file one means, and when two of them, or two names of a relation, are the same.

By unique name, else by path; an ambiguous name is never guessed.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from vaultmem.notes import markdown
from vaultmem.notes.file_names import name_key

_LINK: Final = re.compile(r"\[\[[^\[\]\n]+\]\]")
_PLAIN_LINK: Final = re.compile(r"\[\[[^\[\]\n|#\\]+\]\]")


def link_target(text: str) -> str:
    """The name in a text that is nothing but one `[[link]]`; empty for any other text."""
    if not _LINK.fullmatch(text):
        return ""
    if _PLAIN_LINK.fullmatch(text):
        return text[2:-2].strip()
    found = markdown.property_links(text, "")
    return found[0].target if found else ""


@lru_cache(maxsize=5000)
def object_link(text: str) -> tuple[str, str]:
    """The name in a fact's object that is one link, and the key to compare it by."""
    name = link_target(text)
    return name, link_key(name)


def without_link_brackets(text: str) -> str:
    return link_target(text) or text


def as_link(name: str) -> str:
    """`[[name]]`, or nothing where a link could not carry the name."""
    link = f"[[{name}]]"
    return link if link_target(link) == name else ""


def link_key(name: str) -> str:
    return name_key(name.strip()).removesuffix(".md")


@lru_cache(maxsize=1000)
def relation_key(relation: str) -> str:
    """`Depends on`, `depends-on` and `depends_on` are one relation."""
    return re.sub(r"[\s-]+", "_", relation.strip()).casefold()


class LinkTarget(NamedTuple):
    paths: tuple[str, ...]  # none: dead; one: found; more: ambiguous

    @property
    def path(self) -> str | None:
        return self.paths[0] if len(self.paths) == 1 else None


class LinkMap:
    """All files of a vault, keyed the way Obsidian looks them up."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._by_path: dict[str, list[str]] = {}
        self._by_name: dict[str, list[str]] = {}
        for path in paths:
            key = name_key(path).removesuffix(".md")
            self._by_path.setdefault(key, []).append(path)
            self._by_name.setdefault(posixpath.basename(key), []).append(path)

    def resolve(self, target: str, source: str = "") -> LinkTarget:
        """The file behind a link's target; `source` is the note the link stands in."""
        wanted = name_key(target.strip().lstrip("/")).removesuffix(".md")
        if not wanted:
            return LinkTarget((source,))
        if wanted in self._by_path:
            return LinkTarget(tuple(self._by_path[wanted]))
        if source:
            beside = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
            key = name_key(beside).removesuffix(".md")
            if key in self._by_path:
                return LinkTarget(tuple(self._by_path[key]))
        named = self._by_name.get(posixpath.basename(wanted), [])
        if "/" in wanted:
            end = "/" + wanted
            named = [p for p in named if name_key(p).removesuffix(".md").endswith(end)]
        return LinkTarget(tuple(sorted(named)))
