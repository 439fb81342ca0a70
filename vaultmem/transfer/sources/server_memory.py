"""The memory server of the MCP reference servers: entities and relations, a line for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from vaultmem.transfer.sources.entities import GatheredEntities
from vaultmem.transfer.sources.json_stream import export_items
from vaultmem.transfer.sources.opening import OpenedExport
from vaultmem.transfer.sources.records import Record, mapping_value, object_values, text_value

EXPECTED: Final = "the memory server's file: lines of JSON with entities and relations"


def read_export(reading: OpenedExport) -> Iterator[Record]:
    things = GatheredEntities(reading.path.name)
    for number, item in export_items(reading, r"(?:[^/]*/)*memory\.jsonl?"):
        if isinstance(item, dict) and ("entities" in item or "relations" in item):
            _server_memory_graph(item, things, reading)
        elif not _server_memory_item(mapping_value(item), things):
            reading.leave(f"record {number}", "it is no entity and no relation")
    reading.remarks += things.entity_remarks()
    reading.total = len(things)
    yield from things


def _server_memory_graph(
    item: Mapping[str, Any], things: GatheredEntities, reading: OpenedExport
) -> None:
    """The whole graph in one document, as the server's tool `read_graph` answers."""
    for kind, name in (("entity", "entities"), ("relation", "relations")):
        for number, each in enumerate(object_values(item.get(name)), 1):
            if not _server_memory_item({**each, "type": kind}, things):
                reading.leave(f"{kind} {number}", "it has no name")


def _server_memory_item(item: Mapping[str, Any], things: GatheredEntities) -> bool:
    if item.get("type") == "entity":
        name = text_value(item.get("name"))
        known = things.add_entity(name, text_value(item.get("entityType")))
        said = item.get("observations")
        for each in said if known and isinstance(said, list) else ():
            things.add_observation(name, text_value(mapping_value(each).get("content") or each))
        return known
    if item.get("type") == "relation":
        source, target = text_value(item.get("from")), text_value(item.get("to"))
        return things.add_relation(source, text_value(item.get("relationType")), target)
    return False
