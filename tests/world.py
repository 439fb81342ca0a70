"""A vault and its index, without operations above them."""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

from tests.conftest import make_store
from vaultmem.index import Index
from vaultmem.indexing.reconcile import Reconciler

STAMPS = ("note", "passage", "shelf", "mtime_ns", "inode", "ctime_ns")  # differ from index to index
KEPT = ("note", "passage", "tag", "name", "link", "link_text", "fact", "problem")


class World:
    """A vault, its index, and a way to look at both."""

    def __init__(self, root: Path, state: Path) -> None:
        self.root = root
        self.state = state
        state.mkdir(exist_ok=True)
        self.open()

    def open(self) -> None:
        self.store = make_store(self.root, state_dir=str(self.state / "state"))
        self.store.local()  # the folder of this machine's records, as whoever opens a vault makes it
        self.index = Index(self.state / "index")
        self.sync = Reconciler(self.store, self.index)

    def close(self) -> None:
        self.index.close()

    def put(self, path: str, text: str | bytes = "text\n") -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def copy(self, source: Path) -> None:
        shutil.copytree(source, self.root, dirs_exist_ok=True)
        self.close()
        self.open()  # the vault may have brought settings

    def contents(self) -> dict[str, Any]:
        return contents(self.index)

    def rebuilt(self) -> dict[str, Any]:
        """What an index made from nothing would hold. Which of two notes with one id is the
        original is a matter of history, so that is told; so is when a note was first seen, which
        is this machine's own record and no part of the index."""
        fresh = World(self.root, self.state / "fresh")
        fresh.store.births = self.store.births
        try:
            fresh.index.rebuild()
            fresh.sync.everything(told=True, first=self.index.inventory.known())
            return fresh.contents()
        finally:
            fresh.close()

    def twins(self) -> dict[str, str]:
        """Notes left out for having another's id, and which; each of them really has it."""
        twins = {path: skip.id for path, skip in self.index.inventory.skips().items() if skip.id}
        for path, id_ in twins.items():
            owner = self.index.inventory.owner(id_)
            assert owner not in ("", path)
            assert self.store.note(owner).id.upper() == self.store.note(path).id.upper() == id_
            assert path not in self.index.inventory.known()
        return twins

    def find(self, query: str, **filters: Any) -> list[str]:
        from vaultmem.index import Filters

        hits = self.index.search_text(query, Filters(**filters), 100)
        rows = self.index.lookup.rows(note for note, _ in hits.notes)
        return sorted(rows[note].path for note, _ in hits.notes)


_ON_SHELF = "type, scope, project, user, room, kind, unclear, forgotten"


def _kept_counts(db: sqlite3.Connection) -> list[Any]:
    """What triggers have counted."""
    shelf = f"SELECT {_ON_SHELF}, sum(notes), sum(bytes), sum(passages), sum(relations) FROM shelf"
    return [
        sorted(db.execute(f"{shelf} GROUP BY {_ON_SHELF}")),
        sorted(db.execute("SELECT folder, sum(notes) FROM folder GROUP BY 1")),
        sorted(db.execute("SELECT folded, tag, sum(notes) FROM tagged GROUP BY 1, 2")),
        sorted(db.execute("SELECT folded, notes FROM common_tag")),
        db.execute(
            "SELECT count(*) FROM tagged WHERE shelf NOT IN (SELECT shelf FROM shelf)"
        ).fetchone(),
    ]


def _counts_anew(db: sqlite3.Connection) -> list[Any]:
    """The same from the rows themselves."""
    notes = f"""SELECT {_ON_SHELF}, count(*), sum(max(size, 0)),
      sum((SELECT count(*) FROM passage WHERE passage.note = n.note)),
      sum((SELECT count(*) FROM link WHERE link.note = n.note)
        + (SELECT count(*) FROM fact WHERE fact.note = n.note)) FROM note n GROUP BY {_ON_SHELF}"""
    open_to_all = "forgotten = 0 AND lower(scope) <> 'session' AND unclear = ''"
    folders = Counter(path.rpartition("/")[0] for (path,) in db.execute("SELECT path FROM note"))
    return [
        sorted(db.execute(notes)),
        sorted((f"{folder}/" if folder else "", count) for folder, count in folders.items()),
        sorted(db.execute("SELECT folded, tag, count(*) FROM tag GROUP BY 1, 2")),
        sorted(
            db.execute(
                "SELECT folded, count(*) FROM tag JOIN note USING (note) "
                f"WHERE tag <> '' AND {open_to_all} GROUP BY 1"
            )
        ),
        (0,),
    ]


def contents(index: Index) -> dict[str, Any]:
    """Everything the catalog and the full text know, without numbers that depend on history."""
    db = index.catalog.db
    paths = dict(db.execute("SELECT note, path FROM note"))
    result: dict[str, Any] = {}
    for table in KEPT:
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        kept = [c for c in columns if c not in STAMPS]
        rows = db.execute(f"SELECT note, {', '.join(kept)} FROM {table}").fetchall()
        result[table] = sorted((paths[row[0]], *map(repr, row[1:])) for row in rows)
    assert _kept_counts(db) == _counts_anew(db)
    index.state()
    text = index.files.text
    result["documents"] = text.documents if text else None
    result["pending"] = index.catalog.pending()
    skips = index.inventory.skips().values()
    result["skipped"] = sorted((skip.path, skip.reason, skip.id) for skip in skips)
    return result
