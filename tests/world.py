"""A vault and its index, without operations above them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from tests.conftest import make_store
from vaultmem.index import Index
from vaultmem.indexing.reconcile import Reconciler

STAMPS = ("note", "passage", "mtime_ns", "inode", "ctime_ns")  # differ from index to index
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
        original is a matter of history, so that is told."""
        fresh = World(self.root, self.state / "fresh")
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
    index.state()
    text = index.files.text
    result["documents"] = text.documents if text else None
    result["pending"] = index.catalog.pending()
    skips = index.inventory.skips().values()
    result["skipped"] = sorted((skip.path, skip.reason, skip.id) for skip in skips)
    return result
