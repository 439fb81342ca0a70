"""MemPalace: drawers and the knowledge graph of a palace that keeps them in SQLite."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from vaultmem.errors import InvalidInput
from vaultmem.notes.yaml_writer import yaml_moment
from vaultmem.transfer.sources.databases import Tables, database, is_sqlite
from vaultmem.transfer.sources.entities import Things
from vaultmem.transfer.sources.opening import OpenedExport
from vaultmem.transfer.sources.records import MemoryRecord, Record, mapping, share, text, when

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


def read(reading: OpenedExport) -> Iterator[Record]:
    files = _databases(reading.path)
    if not files:
        raise InvalidInput(
            f"There is no palace in {reading.path}: neither {STORES[0]} nor {STORES[1]}. "
            "One that is kept by a server (Qdrant, Milvus, PostgreSQL) cannot be read; let "
            "MemPalace export it, and import that as a plain folder."
        )
    for file in files:
        with database(file) as tables:
            reading.total += sum(map(tables.last, ("embeddings", "documents", "entities")))
            yield from _graph(tables) if file.name == GRAPH else _drawers(tables, file, reading)


def _databases(path: Path) -> list[Path]:
    """The palace's own files, whichever of its folders was named; its graph may lie above it."""
    if is_sqlite(path):
        return [path]
    places = (path / "palace", path, path.parent if (path / STORES[0]).exists() else path)
    names = {(place / name).resolve(): name for name in (*STORES, GRAPH) for place in places}
    found = {name: file for file, name in reversed(names.items()) if is_sqlite(file)}
    return [found[name] for name in (*STORES, GRAPH) if name in found]


def _drawers(tables: Tables, file: Path, reading: OpenedExport) -> Iterator[MemoryRecord]:
    drawers = _chroma(tables) if file.name != STORES[1] else _exact(tables)
    for id_, document, meta in drawers:
        if meta.get("ingest_mode") == "registry":
            reading.passed["marks of what was mined"] += 1
        elif not document.strip():
            reading.leave(f"drawer {id_}", "it has no text")
        else:
            yield _memory(id_, document, meta)


def _chroma(tables: Tables) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    id_ = ""
    meta: dict[str, Any] = {}
    needed = ("embeddings", "segments", "collections", "embedding_metadata")
    for row in tables.select(_CHROMA, _DRAWERS, tables=needed):
        if row["id"] != id_ and meta:
            yield id_, text(meta.pop("chroma:document", "")), meta
            meta = {}
        id_ = row["id"]
        meta[row["key"]] = row["value"]
    if meta:
        yield id_, text(meta.pop("chroma:document", "")), meta


def _exact(tables: Tables) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for row in tables.select(_EXACT, _DRAWERS, tables=("documents", "collections")):
        yield row["id"], text(row["document"]), mapping(row["metadata"])


def _memory(id_: str, document: str, meta: Mapping[str, Any]) -> MemoryRecord:
    dates = ("authored_at", "content_date", "date", "filed_at")
    return MemoryRecord(
        id=id_,
        text=document,
        type="episodic" if meta.get("ingest_mode") == "convos" else "semantic",
        project=text(meta.get("wing")).strip(),
        room=text(meta.get("room")).strip(),
        importance=share(meta.get("importance")),
        source="; ".join(filter(None, ["mempalace", text(meta.get("source_file")).strip()])),
        created=next((found for name in dates if (found := when(meta.get(name)))), None),
    )


def _graph(tables: Tables) -> Iterator[Record]:
    things = Things()
    names: dict[str, str] = {}
    for row in tables.rows("entities", "rowid"):
        names[text(row.get("id"))] = text(row.get("name")) or text(row.get("id"))
        kind = text(row.get("type"))
        known = names[text(row.get("id"))]
        things.entity(known, "" if kind == "unknown" else kind, when(row.get("created_at")))
        for name, value in mapping(row.get("properties")).items():
            said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            things.relate(known, name, said, linked=False)
    for row in tables.rows("triples", "rowid"):
        subject, target = text(row.get("subject")), text(row.get("object"))
        things.relate(
            names.get(subject, subject),
            text(row.get("predicate")),
            names.get(target, target),
            since=_day(row.get("valid_from")),
            until=_day(row.get("valid_to")),
            confidence=share(row.get("confidence")),
            provenance=text(row.get("source_file")) or text(row.get("source_closet")),
            linked=target in names,
        )
    yield from things


def _day(value: Any) -> str:
    """As facts have it: a date, or a moment in UTC."""
    found = when(value)
    if found is None:
        return ""
    return found.date().isoformat() if len(text(value).strip()) == 10 else yaml_moment(found)
