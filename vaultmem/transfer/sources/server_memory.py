"""The memory server of the MCP reference servers: entities and relations, a line for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from vaultmem.transfer.sources.entities import Things
from vaultmem.transfer.sources.json_stream import values
from vaultmem.transfer.sources.opening import OpenedExport, parts
from vaultmem.transfer.sources.records import Record, mapping, objects, text

EXPECTED: Final = "the memory server's file: lines of JSON with entities and relations"


def read(reading: OpenedExport) -> Iterator[Record]:
    things = Things(reading.path.name)
    for part in parts(reading.path, r"(?:[^/]*/)*memory\.jsonl?"):
        for number, item in enumerate(values(part, reading), 1):
            if isinstance(item, dict) and ("entities" in item or "relations" in item):
                _graph(item, things, reading)
            elif not _one(mapping(item), things):
                reading.leave(f"record {number}", "it is no entity and no relation")
    reading.remarks += things.remarks()
    reading.total = len(things)
    yield from things


def _graph(item: Mapping[str, Any], things: Things, reading: OpenedExport) -> None:
    """The whole graph in one document, as the server's tool `read_graph` answers."""
    for kind, name in (("entity", "entities"), ("relation", "relations")):
        for number, each in enumerate(objects(item.get(name)), 1):
            if not _one({**each, "type": kind}, things):
                reading.leave(f"{kind} {number}", "it has no name")


def _one(item: Mapping[str, Any], things: Things) -> bool:
    if item.get("type") == "entity":
        name = text(item.get("name"))
        known = things.entity(name, text(item.get("entityType")))
        said = item.get("observations")
        for each in said if known and isinstance(said, list) else ():
            things.observe(name, text(mapping(each).get("content") or each))
        return known
    if item.get("type") == "relation":
        source, target = text(item.get("from")), text(item.get("to"))
        return things.relate(source, text(item.get("relationType")), target)
    return False
