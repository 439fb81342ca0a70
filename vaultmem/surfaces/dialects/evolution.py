"""EvolutionDB's memory bridge: five tools, and one user for the whole process."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from vaultmem.errors import InvalidInput, NotFound, ReadOnly
from vaultmem.surfaces import answers
from vaultmem.surfaces.dialects import (
    INTERNAL_ERROR,
    ClientConnection,
    Dialect,
    DialectError,
    DialectTool,
    Given,
    ServerOptions,
    count_given,
    dialect_tool,
)
from vaultmem.surfaces.dialects.keyed_entries import EntryPreparation, KeyedEntries, KeyedEntry
from vaultmem.surfaces.mcp.schemas import TEXT, TEXTS, text_schema

if TYPE_CHECKING:
    from vaultmem.operations.caller import Caller
    from vaultmem.vault import Vault

DEFAULT_USER: Final = "default_user"
_KEY: Final = re.compile(r"mem_(\d{10,17})_[0-9a-f]{6}")


# --- what the tools do -----------------------------------------------------------------------


def _save_evolution_fact(vault: Vault, given: Given) -> dict[str, Any]:
    key = f"mem_{time.time_ns() // 1_000_000}_{secrets.token_hex(3)}"
    KeyedEntries(vault).put_entry(key, given["fact"], tags=given.get("tags") or ())
    return {"ok": True, "key": key, "user_id": vault.caller.user}


def _search_evolution_facts(vault: Vault, given: Given) -> dict[str, Any]:
    tag, limit = given.get("tag") or None, count_given(given, "limit", 5)
    found = KeyedEntries(vault).entries_containing(given["query"], tag=tag, limit=limit).found
    results = [_shown_evolution_fact(match.entry, score=int(match.score)) for match in found]
    return {"ok": True, "user_id": vault.caller.user, "results": results}


def _recent_evolution_facts(vault: Vault, given: Given) -> dict[str, Any]:
    found = KeyedEntries(vault).keyed_entries(limit=count_given(given, "limit", 10))
    return {
        "ok": True,
        "user_id": vault.caller.user,
        "results": [_shown_evolution_fact(e) for e in found],
    }


def _forget_evolution_fact(vault: Vault, given: Given) -> dict[str, Any]:
    try:
        vault.forget(KeyedEntries(vault).forgettable_entry(given["key"]).id)
    except NotFound:
        return {"ok": False, "key": given["key"]}
    return {"ok": True, "key": given["key"]}


def _list_evolution_tags(vault: Vault, given: Given) -> dict[str, Any]:
    tags = list(KeyedEntries(vault).entry_tags().tags)
    return {"ok": True, "user_id": vault.caller.user, "tags": tags}


def _shown_evolution_fact(entry: KeyedEntry, **more: Any) -> dict[str, Any]:
    """Its key says to the millisecond when it was saved; the note, to the second."""
    stamped = _KEY.fullmatch(entry.key)
    created = int(stamped[1]) / 1000 if stamped else entry.created_at.timestamp()
    shown = {"fact": entry.content, "tags": entry.tags, "created": created}
    return {"key": entry.key, **more, **shown}


# --- the surface -----------------------------------------------------------------------------


TOOLS: Final = (
    dialect_tool(
        _save_evolution_fact,
        "save_memory",
        "Remember a fact about the user for all later conversations: a preference, a decision, "
        "a detail of their life or work. Call it whenever the user tells you such a thing.",
        {
            "fact": text_schema("What to remember, in one short statement."),
            "tags": {
                **TEXTS,
                "description": "Labels such as work, preference or family. Optional.",
            },
        },
        "fact",
        writes=True,
    ),
    dialect_tool(
        _search_evolution_facts,
        "search_memory",
        "Search the remembered facts. Call it BEFORE you answer any question that depends on "
        "what is known about the user. Matches words anywhere in a fact or its tags.",
        {
            "query": text_schema("The words to look for."),
            "tag": text_schema("Only facts with this tag. Optional."),
            "limit": {"type": "integer", "default": 5},
        },
        "query",
    ),
    dialect_tool(
        _recent_evolution_facts,
        "recent_memories",
        "List the facts that were saved last, newest first.",
        {"limit": {"type": "integer", "default": 10}},
    ),
    dialect_tool(
        _forget_evolution_fact,
        "forget",
        "Delete a fact by its key, which save_memory and search_memory give.",
        {"key": TEXT},
        "key",
        writes=True,
    ),
    dialect_tool(
        _list_evolution_tags, "list_tags", "List all tags in use, each with its count.", {}
    ),
)


class EvolutionDialect(Dialect):
    name = "evolution"
    server_info: Mapping[str, Any] = {"name": "evolutiondb-memory", "version": "1.0.0"}
    capabilities: Mapping[str, Any] = {"tools": {"listChanged": False}}
    tools = TOOLS
    answers_bad_lines = False

    def __init__(self, started: ServerOptions) -> None:
        super().__init__(started)
        self._entries = EntryPreparation()

    def vault_opened(self, vault: Vault) -> None:
        self._entries.start(vault)

    def server_ended(self, vault: Vault) -> None:
        self._entries.stop()

    def caller_of_connection(self, known: Caller, connected: ClientConnection) -> Caller:
        """The one who starts the server says for whom; over HTTP the token says it first."""
        named = self.variables.user or known.user
        user = known.user or named if connected.over_http else self.started.user or named
        return replace(known, user=user or DEFAULT_USER)

    def checked_call(self, tool: DialectTool, given: Given) -> Given:
        """One tag may come as a text; an empty text is none."""
        tags = given.get("tags")
        given = {**given, "tags": [tags]} if isinstance(tags, str) else given
        for name in tool.schema.get("required", ()):
            if not given.get(name) or not str(given[name]).strip():
                what = "" if name == "key" else "non-empty "
                raise InvalidInput(f"{tool.name} requires {what}`{name}`")
        return super().checked_call(tool, given)

    def failure_result(self, tool: str, error: Exception) -> dict[str, Any]:
        if not isinstance(error, InvalidInput | ReadOnly):
            raise DialectError(INTERNAL_ERROR, answers.error_answer(error)["message"])
        return _evolution_error(str(error))

    def unknown_tool(self, name: str) -> dict[str, Any]:
        return _evolution_error(f"unknown tool: {name[:100]}")

    def unknown_method(self, method: str) -> str:
        return f"method not found: {method[:100]}"


def _evolution_error(sentence: str) -> dict[str, Any]:
    text = answers.compact_json({"error": sentence})
    return answers.text_result(text, is_error=True)
