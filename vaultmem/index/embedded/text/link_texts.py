"""What other notes call a note: the texts of links that lead to it.

They stand in the catalog with the note that has the link, so they come and go with it, and no
other note is touched by a change. Which note a link means is seen when somebody asks.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from typing import Final

from vaultmem.base.database import SQL_LIST, sql_list
from vaultmem.index.embedded.catalog import Catalog
from vaultmem.index.embedded.rows import words_of_link_text
from vaultmem.index.embedded.text.fulltext import TextHits
from vaultmem.index.filters import Filters, filters_on_rows
from vaultmem.notes.file_names import name_key

_MOST_ROWS: Final = 2_000
_MOST_WORDS: Final = 12  # of a question that could be what somebody called a note
_ENOUGH: Final = 0.5  # of the question, and of the link's text
_WEIGHT: Final = 0.5  # in parts of the best memory's score


class LinkTexts:
    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def notes_named_by_link_texts(self, question: str, filters: Filters) -> dict[int, float]:
        """Notes that are called by the question's words elsewhere, and how well: 0 to 1."""
        asked = set(words_of_link_text(question))
        if not 0 < len(asked) <= _MOST_WORDS:
            return {}
        shares = self._shares_of_link_texts(asked, filters)
        best: dict[str, float] = {}
        for (_, folded), (found, share) in shares.items():
            if min(found / len(asked), share) >= _ENOUGH:
                best[folded] = max(best.get(folded, 0.0), found / len(asked) * min(1.0, share))
        targets = self._targets_of_link_texts(best, filters) if best else {}
        return {note: best[folded] for folded, note in targets.items()}

    def _shares_of_link_texts(
        self, asked: Iterable[str], filters: Filters
    ) -> dict[tuple[int, str], tuple[int, float]]:
        """Of each note that links to a name: how many of the words its link has, and what part of
        the link's text they are. Whoever may not see the note learns nothing from its links."""
        bound = Filters(user=filters.user, home=filters.home, session=filters.session)._replace(
            roots=filters.roots
        )
        condition, values = filters_on_rows(bound)
        sql = (
            "SELECT link_text.note, link_text.folded, count(DISTINCT word), sum(share) "
            f"FROM link_text JOIN note USING (note) WHERE word IN {SQL_LIST} AND {condition} "
            "GROUP BY 1, 2 ORDER BY 3 DESC LIMIT ?"
        )
        found = self._catalog.query(sql, [sql_list(asked), *values, _MOST_ROWS])
        return {(note, folded): (count, share) for note, folded, count, share in found}

    def _targets_of_link_texts(self, names: Iterable[str], filters: Filters) -> dict[str, int]:
        """The note behind each name that means exactly one, of those that pass."""
        wanted = list(names)
        bases = {posixpath.basename(name) for name in wanted}
        condition, values = filters_on_rows(filters)
        sql = (
            "SELECT name.folded, note.note, note.path FROM name JOIN note USING (note) "
            f"WHERE name.folded IN {SQL_LIST} AND {condition}"
        )
        known: dict[str, dict[int, str]] = {}
        for folded, note, path in self._catalog.query(sql, [sql_list(bases), *values]):
            known.setdefault(folded, {})[note] = "/" + name_key(path).removesuffix(".md")
        targets = {}
        for name in wanted:
            paths = known.get(posixpath.basename(name), {})
            fitting = [
                n for n, path in paths.items() if "/" not in name or path.endswith("/" + name)
            ]
            if len(fitting) == 1:
                targets[name] = fitting[0]
        return targets


def with_link_texts(hits: TextHits, named: Mapping[int, float]) -> TextHits:
    """The hits, and what is called so elsewhere: higher where it was found, added where not."""
    if not named or not hits.memories:
        return hits
    scale = _WEIGHT * hits.memories[0][2]
    memories = {memory[:2]: memory[2] for memory in hits.memories}
    new = {note: share for note, share in named.items() if (note, 0) not in memories}
    for note, share in named.items():
        memories[note, 0] = memories.get((note, 0), 0.0) + scale * share
    passages = [*hits.passages, *((note, 0, 0, scale * share) for note, share in new.items())]
    scores = ((*memory, score) for memory, score in memories.items())
    return hits._replace(
        total=hits.total + len(new),
        passages=tuple(sorted(passages, key=lambda each: -each[3])),
        memories=tuple(sorted(scores, key=lambda memory: -memory[2])),
        covered=(*hits.covered, *((note, 0, share) for note, share in new.items())),
    )
