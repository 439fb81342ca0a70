"""MemPalace: drawers and the knowledge graph of a palace that keeps them in SQLite."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from vaultmem.errors import InvalidInput
from vaultmem.notes.yaml_writer import yaml_moment
from vaultmem.transfer.sources.databases import Tables, is_sqlite, open_database
from vaultmem.transfer.sources.entities import GatheredEntities
from vaultmem.transfer.sources.opening import OpenedExport
from vaultmem.transfer.sources.records import (
    MemoryRecord,
    Record,
    mapping_value,
    moment_value,
    share_value,
    text_value,
)

EXPECTED: Final = "a palace's folder (it has chroma.sqlite3 or sqlite_exact.sqlite3 in it)"
STORES: Final = ("chroma.sqlite3", "sqlite_exact.sqlite3")
GRAPH: Final = "knowledge_graph.sqlite3"
_DRAWERS: Final = "mempalace_drawers"
# Chroma keeps each value of a document's metadata in a row, in the column of its kind.
_CHROMA: Final = """
    SELECT e.embedding_id AS id, m.key AS key,
           coalesce(m.string_value, m.int_value, m.float_value, m.bool_value) AS value
    FROM embeddings e JOIN segments s ON s.id = e.segment_id
    JOIN collections c ON c.id = s.collection JOIN embedding_metadata m ON m.id = e.id
    WHERE c.name = ? ORDER BY e.id
"""
_EXACT: Final = """
    SELECT d.id AS id, d.document AS document, d.metadata_json AS metadata
    FROM documents d JOIN collections c ON c.id = d.collection_id WHERE c.name = ? ORDER BY d.rowid
"""


def read_export(reading: OpenedExport) -> Iterator[Record]:
    files = _mempalace_databases(reading.path)
    if not files:
        raise InvalidInput(
            f"There is no palace in {reading.path}: neither {STORES[0]} nor {STORES[1]}. "
            "One that is kept by a server (Qdrant, Milvus, PostgreSQL) cannot be read; let "
            "MemPalace export it, and import that as a plain folder."
        )
    for file in files:
        with open_database(file) as tables:
            reading.total += sum(map(tables.last_row_id, ("embeddings", "documents", "entities")))
            if file.name == GRAPH:
                yield from _mempalace_graph(tables)
            else:
                yield from _mempalace_drawers(tables, file, reading)


def _mempalace_databases(path: Path) -> list[Path]:
    """The palace's own files, whichever of its folders was named; its graph may lie above it."""
    if is_sqlite(path):
        return [path]
    places = (path / "palace", path, path.parent if (path / STORES[0]).exists() else path)
    names = {(place / name).resolve(): name for name in (*STORES, GRAPH) for place in places}
    found = {name: file for file, name in reversed(names.items()) if is_sqlite(file)}
    return [found[name] for name in (*STORES, GRAPH) if name in found]


def _mempalace_drawers(tables: Tables, file: Path, reading: OpenedExport) -> Iterator[MemoryRecord]:
    drawers = (
        _mempalace_chroma_drawers(tables)
        if file.name != STORES[1]
        else _mempalace_exact_drawers(tables)
    )
    for id_, document, meta in drawers:
        if meta.get("ingest_mode") == "registry":
            reading.passed["marks of what was mined"] += 1
        elif not document.strip():
            reading.leave(f"drawer {id_}", "it has no text")
        else:
            yield _mempalace_memory(id_, document, meta)


def _mempalace_chroma_drawers(tables: Tables) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    id_ = ""
    meta: dict[str, Any] = {}
    needed = ("embeddings", "segments", "collections", "embedding_metadata")
    for row in tables.select_from(_CHROMA, _DRAWERS, tables=needed):
        if row["id"] != id_ and meta:
            yield id_, text_value(meta.pop("chroma:document", "")), meta
            meta = {}
        id_ = row["id"]
        meta[row["key"]] = row["value"]
    if meta:
        yield id_, text_value(meta.pop("chroma:document", "")), meta


def _mempalace_exact_drawers(tables: Tables) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for row in tables.select_from(_EXACT, _DRAWERS, tables=("documents", "collections")):
        yield row["id"], text_value(row["document"]), mapping_value(row["metadata"])


def _mempalace_memory(id_: str, document: str, meta: Mapping[str, Any]) -> MemoryRecord:
    dates = ("authored_at", "content_date", "date", "filed_at")
    return MemoryRecord(
        id=id_,
        text=document,
        type="episodic" if meta.get("ingest_mode") == "convos" else "semantic",
        project=text_value(meta.get("wing")).strip(),
        room=text_value(meta.get("room")).strip(),
        importance=share_value(meta.get("importance")),
        source="; ".join(filter(None, ["mempalace", text_value(meta.get("source_file")).strip()])),
        created=next((found for name in dates if (found := moment_value(meta.get(name)))), None),
    )


def _mempalace_graph(tables: Tables) -> Iterator[Record]:
    things = GatheredEntities()
    names: dict[str, str] = {}
    for row in tables.table_rows("entities", "rowid"):
        id_, kind = text_value(row.get("id")), text_value(row.get("type"))
        known = names[id_] = text_value(row.get("name")) or id_
        kind = "" if kind == "unknown" else kind
        things.add_entity(known, kind, moment_value(row.get("created_at")))
        for name, value in mapping_value(row.get("properties")).items():
            said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            things.add_relation(known, name, said, linked=False)
    for row in tables.table_rows("triples", "rowid"):
        subject, target = text_value(row.get("subject")), text_value(row.get("object"))
        things.add_relation(
            names.get(subject, subject),
            text_value(row.get("predicate")),
            names.get(target, target),
            since=_mempalace_day(row.get("valid_from")),
            until=_mempalace_day(row.get("valid_to")),
            confidence=share_value(row.get("confidence")),
            provenance=text_value(row.get("source_file")) or text_value(row.get("source_closet")),
            linked=target in names,
        )
    yield from things


def _mempalace_day(value: Any) -> str:
    """As facts have it: a date, or a date and time."""
    found = moment_value(value)
    if found is None:
        return ""
    return found.date().isoformat() if len(text_value(value).strip()) == 10 else yaml_moment(found)
