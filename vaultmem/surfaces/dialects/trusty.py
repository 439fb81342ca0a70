"""trusty-memory: palaces are projects, drawers are memories, rooms are their `room` property."""

from __future__ import annotations

import logging
import re
import uuid
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from vaultmem.errors import AlreadyExists, InvalidInput, NotFound, ReadOnly, VaultmemError
from vaultmem.setting_values import CHOICES
from vaultmem.surfaces import answers, arguments
from vaultmem.surfaces.dialects import (
    INTERNAL_ERROR,
    Dialect,
    DialectError,
    DialectTool,
    Given,
    ServerOptions,
    dialect_tool,
    picked_fields,
)
from vaultmem.surfaces.dialects.reach import is_page_of_ours, text_told, versions_of_pages
from vaultmem.surfaces.mcp.schemas import TEXT, TEXTS, TYPES, text_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from vaultmem.operations.results import Memory, Project
    from vaultmem.upkeep.dreams import Dreamers
    from vaultmem.vault import Vault

log = logging.getLogger("vaultmem")

SERVER: Final = {"name": "trusty-memory", "version": "0.1.10"}
GENERAL: Final = "General"
ROOMS: Final = (
    *("Frontend", "Backend", "Testing", "Planning", "Documentation", "Research"),
    *("Configuration", "Meetings", GENERAL),
)
_USUAL: Final = 0.5  # importance; drawers above it are the essentials of a palace
_ESSENTIALS: Final = 15
_IDENTITY: Final = "identity"  # the tag
_MOST: Final = 1000
_PAGE: Final = 100


# --- memories --------------------------------------------------------------------------------


def _remember_trusty_drawer(vault: Vault, given: Given) -> dict[str, Any]:
    from vaultmem.notes.tags import as_tags

    palace, _ = _entered_trusty_palace(vault, given["palace"], make=True)
    tags = [tag for tag in given.get("tags", ()) if isinstance(tag, str)]
    stored = palace.remember(
        given["text"],
        scope="project",
        room=_trusty_room(given.get("room")),
        tags=as_tags(tags),
        importance=given.get("importance"),
    )
    drawer = drawer_uuid(stored.memory_id)
    return {"drawer_id": drawer, "palace": given["palace"], "status": "stored"}


def _recall_trusty_layers(vault: Vault, given: Given, layer: int) -> dict[str, Any]:
    """What the question finds, best first, and where there is room the palace's identity and
    essentials. Layer 2 looks at memories, layer 3 at entities and journals too; both at those of
    the palace and those that belong to no palace."""
    palace, about = _entered_trusty_palace(vault, given["palace"])
    top, types = min(given.get("top_k", 10), _MOST), TYPES if layer == 2 else ()
    scores = _trusty_scores(palace, about, given["query"], types, top)
    layers = _trusty_standing_layers(palace, about)
    chosen = _trusty_layers_together(list(scores), layers, top)
    found = list(_read_trusty_drawers(palace, chosen))
    weights = palace.weights.of(found)
    results = [
        {
            "drawer_id": drawer_uuid(memory.id),
            "content": about.description if memory.id == about.id else text_told(memory),
            "score": scores.get(memory.id, 0.0),
            "layer": layers.get(memory.id, layer),
            "tags": memory.tags,
            "importance": weights[memory.id],
        }
        for memory in found
        if memory.content.strip() or memory.id == about.id
    ]
    return {"palace": given["palace"], "query": given["query"], "results": results}


def _trusty_scores(
    palace: Vault, about: Project, query: str, types: tuple[str, ...], top: int
) -> dict[str, float]:
    if not top or not query.strip():
        return {}
    hits = palace.recall(query, type=types, limit=top, floor=False, operators=False).memories
    hidden = about.id if not about.description else None
    return {hit.id: hit.relevance_score for hit in hits if hit.id != hidden}


def _trusty_standing_layers(palace: Vault, about: Project) -> dict[str, int]:
    """What counts whatever is asked: the palace's identity (0), which is its description and
    what is tagged so, and its essentials (1), which are its most important drawers."""

    weighed = palace.weights.weighed(project=about.name, type=TYPES, limit=_ESSENTIALS)
    essentials = [drawer for drawer, weight in weighed.items() if weight > _USUAL]
    described = {about.id: 0} if about.id and about.description else {}
    identity = palace.list(
        project=about.name, type=TYPES, tag=_IDENTITY, order="importance", limit=_ESSENTIALS
    ).memories
    standing = described | dict.fromkeys(essentials, 1)
    return standing | {memory.id: 0 for memory in identity}


def _trusty_layers_together(found: list[str], layers: dict[str, int], top: int) -> list[str]:
    """What the question found goes first, yet leaves a place for the identity."""
    standing = sorted((each for each in layers if each not in found), key=lambda each: layers[each])
    kept = found[: max(top - 1, 1)] if standing and layers[standing[0]] == 0 else found
    return list(dict.fromkeys((*kept, *standing, *found)))[:top]


def _list_trusty_drawers(vault: Vault, given: Given) -> dict[str, Any]:
    from vaultmem.notes.tags import as_tags

    palace, about = _entered_trusty_palace(vault, given["palace"])
    rooms = _trusty_rooms(given["room"]) if "room" in given else ()
    tag = (as_tags([given["tag"]]) or [given["tag"]])[0] if "tag" in given else None
    limit = min(given.get("limit", 50), _MOST)
    weights = _trusty_weights(palace, about, rooms, tag, limit)
    drawers = [
        {
            "drawer_id": drawer_uuid(memory.id),
            "content": memory.content,
            "importance": weights[memory.id],
            **picked_fields(memory, "tags", "created_at"),
        }
        for memory in _read_trusty_drawers(palace, list(weights)[:limit])
    ]
    return {"palace": given["palace"], "drawers": drawers}


def _trusty_weights(
    palace: Vault, about: Project, rooms: Sequence[str], tag: str | None, limit: int
) -> dict[str, float]:
    """The weightiest first: its own drawers, and where these are fewer those of no palace."""
    weigh = partial(palace.weights.weighed, type=TYPES, room=rooms, tag=tag)
    weights = weigh(project=about.name, limit=max(1, limit))
    left = limit - len(weights)
    if left > 0:
        pages = len(versions_of_pages())
        others = weigh(project=None, limit=limit + len(weights) + pages)
        names = [name for name in others if name not in weights][: left + pages]
        read = _read_trusty_drawers(palace, names)
        more = [memory.id for memory in read if not is_page_of_ours(memory.version)]
        weights |= {name: others[name] for name in more[:left]}
    return dict(sorted(weights.items(), key=lambda each: -each[1]))


def _read_trusty_drawers(palace: Vault, ids: Sequence[str]) -> Iterator[Memory]:
    for start in range(0, len(ids), _PAGE):
        yield from palace.get(ids[start : start + _PAGE], counted=False).memories


def _forget_trusty_drawer(vault: Vault, given: Given) -> dict[str, Any]:
    palace, about = _entered_trusty_palace(vault, given["palace"])
    wanted = given["drawer_id"]
    found = palace.get([drawer_memory_id(wanted)], counted=False).memories
    if not any(_is_trusty_drawer_of(memory, about) for memory in found):
        raise NotFound(f"There is no drawer {wanted} in the palace {about.name}.")
    palace.remove(found[0].id)
    return {"status": "deleted", "drawer_id": wanted, "palace": given["palace"]}


def _is_trusty_drawer_of(memory: Memory, about: Project) -> bool:
    """What all projects share is no palace's to delete, and neither is a journal's line."""
    own = (memory.project or "").casefold() == about.name.casefold()
    return own and memory.type in TYPES and memory.block is None


def drawer_uuid(id: str) -> str:
    """An id as the UUID of the same 128 bits; for a person's note, which has a path instead of
    an id, a UUID that shows it and cannot be used to delete it."""
    from ulid_transform import ulid_to_bytes_or_none

    raw = ulid_to_bytes_or_none(id) if len(id) == 26 else None
    return str(uuid.UUID(bytes=raw) if raw else uuid.uuid5(uuid.NAMESPACE_URL, id))


def drawer_memory_id(drawer: str) -> str:
    from ulid_transform import bytes_to_ulid

    try:
        return bytes_to_ulid(uuid.UUID(drawer).bytes)
    except ValueError:
        raise InvalidInput(f"memory_forget: invalid drawer_id UUID: {drawer[:100]}") from None


def _trusty_room(given: str | None) -> str:
    """One of the known rooms in its own spelling, or any other as it is."""
    text = " ".join((given or "").split())
    custom = re.fullmatch(r"Custom\((.*)\)", text)
    text = custom[1] if custom else text
    return {name.casefold(): name for name in ROOMS}.get(text.casefold(), text) or GENERAL


def _trusty_rooms(given: str) -> tuple[str, ...]:
    """A memory that was stored without a room is in the general one."""
    room = _trusty_room(given)
    return (room, "") if room == GENERAL else (room,)


# --- palaces ---------------------------------------------------------------------------------


def _entered_trusty_palace(vault: Vault, name: str, *, make: bool = False) -> tuple[Vault, Project]:
    """The vault with nothing in it but a palace's notes and those that all projects share."""
    try:
        about = vault.project(name)
    except NotFound:
        if not make:
            raise NotFound(f"open palace {name}: there is no such palace.") from None
        about = vault.make_project(name)
    return vault.for_caller(replace(vault.caller, project=about.name)), about


def _create_trusty_palace(vault: Vault, given: Given) -> dict[str, Any]:
    try:
        vault.make_project(given["name"], given.get("description", ""))
    except AlreadyExists:
        raise AlreadyExists(
            f"create_palace: {given['name']} exists already, with another description."
        ) from None
    return {"palace_id": given["name"], "status": "created"}


def _list_trusty_palaces(vault: Vault, given: Given) -> dict[str, Any]:
    return {"palaces": [project.name for project in vault.projects().projects]}


def _trusty_palace_info(vault: Vault, given: Given) -> dict[str, Any]:
    _, about = _entered_trusty_palace(vault, given["palace"])
    return {
        "id": about.name,
        "name": about.name,
        "drawer_count": about.memories,
        "data_dir": str(vault.project_folder(about)),
    }


# --- the knowledge graph ---------------------------------------------------------------------


def _assert_trusty_fact(vault: Vault, given: Given) -> dict[str, Any]:
    palace, _ = _entered_trusty_palace(vault, given["palace"], make=True)
    palace.assert_fact(
        given["subject"],
        re.sub(r"[^\w-]+", "_", given["predicate"]).strip("_-")[:64] or given["predicate"],
        given["object"],
        confidence=min(1.0, max(0.0, given.get("confidence", 1.0))),
        provenance=given.get("provenance"),
        own=True,
    )
    return {"status": "asserted"}


def _query_trusty_facts(vault: Vault, given: Given) -> dict[str, Any]:
    palace, _ = _entered_trusty_palace(vault, given["palace"])
    triples = [
        {
            "subject": given["subject"],
            **picked_fields(fact, "predicate", "object", "valid_from", "valid_to"),
            "confidence": 1.0 if fact.confidence is None else fact.confidence,
            "provenance": fact.provenance,
        }
        for fact in palace.facts(given["subject"], own=True).facts
    ]
    return {"subject": given["subject"], "triples": triples}


# --- the surface -----------------------------------------------------------------------------

_TOP: Final = {"type": "integer", "default": 10}
_PALACE: Final = text_schema("Palace ID (optional if server started with --palace)")
_ROOM: Final = text_schema(f"Filter by room type ({', '.join(ROOMS)}, or custom)")
_LIMIT: Final = {"type": "integer", "description": "Max results (default 50)"}

TOOLS: Final[tuple[DialectTool, ...]] = (
    dialect_tool(
        _remember_trusty_drawer,
        "memory_remember",
        "Store a memory (drawer) in a palace room.",
        {
            "palace": _PALACE,
            "text": text_schema("Memory content"),
            "room": text_schema("Room type (optional)"),
            "tags": TEXTS,
        },
        *("palace", "text"),
        writes=True,
    ),
    dialect_tool(
        partial(_recall_trusty_layers, layer=2),
        "memory_recall",
        "Recall memories using L0+L1+L2 progressive retrieval.",
        {"palace": TEXT, "query": TEXT, "top_k": _TOP},
        *("palace", "query"),
    ),
    dialect_tool(
        partial(_recall_trusty_layers, layer=3),
        "memory_recall_deep",
        "Deep recall using L3 full HNSW search.",
        {"palace": TEXT, "query": TEXT, "top_k": _TOP},
        *("palace", "query"),
    ),
    dialect_tool(
        _create_trusty_palace,
        "palace_create",
        "Create a new memory palace.",
        {"name": TEXT, "description": TEXT},
        "name",
        writes=True,
    ),
    dialect_tool(_list_trusty_palaces, "palace_list", "List all palaces on this machine.", {}),
    dialect_tool(
        _assert_trusty_fact,
        "kg_assert",
        "Assert a fact in the temporal knowledge graph.",
        {
            "palace": TEXT,
            "subject": TEXT,
            "predicate": TEXT,
            "object": TEXT,
            "confidence": {"type": "number", "default": 1.0},
            "provenance": TEXT,
        },
        *("palace", "subject", "predicate", "object"),
        writes=True,
    ),
    dialect_tool(
        _query_trusty_facts,
        "kg_query",
        "Query active knowledge-graph triples for a subject.",
        {"palace": TEXT, "subject": TEXT},
        *("palace", "subject"),
    ),
    dialect_tool(
        _list_trusty_drawers,
        "memory_list",
        "List drawers in a palace, optionally filtered by room type or tag.",
        {"palace": TEXT, "room": _ROOM, "tag": text_schema("Filter by tag"), "limit": _LIMIT},
        "palace",
    ),
    dialect_tool(
        _forget_trusty_drawer,
        "memory_forget",
        "Delete a drawer from a palace by its UUID.",
        {"palace": TEXT, "drawer_id": text_schema("UUID of the drawer to delete")},
        *("palace", "drawer_id"),
        writes=True,
    ),
    dialect_tool(
        _trusty_palace_info,
        "palace_info",
        "Get metadata and stats for a single palace.",
        {"palace": TEXT},
        "palace",
    ),
)


def _with_trusty_palace(tool: DialectTool) -> DialectTool:
    """As it is listed where a palace is known: `palace` is still taken, but not required."""
    schema = dict(tool.schema)
    if "required" in schema:
        schema["required"] = [name for name in schema["required"] if name != "palace"]
    return replace(tool, listing={**tool.listing, "inputSchema": schema})


class TrustyDialect(Dialect):
    name = "trusty"
    server_info: Mapping[str, Any] = SERVER
    capabilities: Mapping[str, Any] = {"tools": {}}
    tools: Sequence[DialectTool] = TOOLS
    http_beside_stdio = True

    def __init__(self, started: ServerOptions) -> None:
        super().__init__(started)
        self._dreamers: Dreamers | None = None
        if started.palace:
            self.server_info = SERVER | {"default_palace": started.palace}
            self.tools = tuple(map(_with_trusty_palace, TOOLS))

    def vault_opened(self, vault: Vault) -> None:
        if self.started.palace:
            try:
                _entered_trusty_palace(vault, self.started.palace, make=True)
            except (InvalidInput, ReadOnly, NotFound) as error:
                log.warning("The palace %s cannot be made: %s", self.started.palace, error)
        if not (self.started.read_only or vault.settings["read_only"]):
            self._start_dreamers(vault)

    def _start_dreamers(self, vault: Vault) -> None:
        """All that dreamers do, unless the vault's settings say what of it."""
        told, origin = vault.settings.values["upkeep.dreams"]
        try:
            self._dreamers = vault.dreamers(
                CHOICES["upkeep.dreams"] if origin == "default" else told
            )
        except VaultmemError as error:
            log.warning("The dreamers did not start: %s", error)

    def server_ended(self, vault: Vault) -> None:
        if self._dreamers is not None:
            self._dreamers.stop()

    def checked_call(self, tool: DialectTool, given: Given) -> Given:
        """An argument of another type counts as missing."""
        properties = tool.schema["properties"]
        known = {name: given.get(name) for name in properties}
        kept = {n: v for n, v in known.items() if _IS_A[properties[n]["type"]](v)}
        if "palace" in properties and "palace" not in kept:
            if not self.started.palace:
                told = f"{tool.name}: missing 'palace' (no --palace default configured)"
                raise DialectError(INTERNAL_ERROR, told)
            kept["palace"] = self.started.palace
        for name in tool.schema.get("required", ()):
            if name not in kept:
                raise DialectError(INTERNAL_ERROR, f"missing '{name}'")
        weight: Any = given.get(
            "importance"
        )  # more than the guide has: else no drawer is essential
        if tool.writes and _is_trusty_number(weight):
            kept["importance"] = min(1.0, max(0.0, float(weight)))
        arguments.require_within_bounds(tool.name, kept)
        return kept

    def success_result(self, tool: DialectTool, value: Any) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": answers.answer_text(value)}]}

    def failure_result(self, tool: str, error: Exception) -> dict[str, Any]:
        raise DialectError(INTERNAL_ERROR, answers.error_answer(error)["message"])

    def unknown_tool(self, name: str) -> dict[str, Any]:
        raise DialectError(INTERNAL_ERROR, f"unknown tool: {name[:100]}")


def _is_trusty_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value


_IS_A: Final = {
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "integer": lambda value: _is_trusty_number(value) and isinstance(value, int) and value >= 0,
    "number": _is_trusty_number,
}
