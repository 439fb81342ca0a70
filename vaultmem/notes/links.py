"""Which file a link means: by unique name, else by path; an ambiguous name is never guessed."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass

from vaultmem.names import name_key


@dataclass(frozen=True, slots=True)
class Resolved:
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

    def resolve(self, target: str, source: str = "") -> Resolved:
        """The file behind a link's target; `source` is the note the link stands in."""
        wanted = name_key(target.strip().lstrip("/")).removesuffix(".md")
        if not wanted:
            return Resolved((source,))
        if wanted in self._by_path:
            return Resolved(tuple(self._by_path[wanted]))
        if source:
            beside = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
            key = name_key(beside).removesuffix(".md")
            if key in self._by_path:
                return Resolved(tuple(self._by_path[key]))
        named = self._by_name.get(posixpath.basename(wanted), [])
        if "/" in wanted:
            named = [path for path in named if _ends_with(path, wanted)]
        return Resolved(tuple(sorted(named)))


def _ends_with(path: str, wanted: str) -> bool:
    return name_key(path).removesuffix(".md").endswith("/" + wanted)
