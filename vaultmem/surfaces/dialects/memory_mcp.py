"""The "Memory MCP Server" of the agent-knowledge-vault: a volatile and a lasting scope, by key."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, quote, unquote

from vaultmem.errors import InvalidInput, NotFound, OutsideVault
from vaultmem.surfaces import answers
from vaultmem.surfaces.dialects import (
    INVALID_PARAMS,
    ClientConnection,
    Dialect,
    DialectError,
    DialectTool,
    Given,
    Resources,
    ServerOptions,
    picked_fields,
)
from vaultmem.surfaces.dialects.keyed_entries import EntryPreparation, KeyedEntries, KeyedEntry
from vaultmem.surfaces.mcp.schemas import FLAG, TEXT, TEXTS, one_of_schema, text_schema

if TYPE_CHECKING:
    from vaultmem.operations.caller import Caller
    from vaultmem.vault import Vault

DEFAULT_SESSION: Final = "default"
SESSION, VAULT = "memory://session/", "memory://vault"
JSON: Final = "application/json"
PAGE: Final = 100
MOST: Final = 1000  # memories in one answer
UNFILTERED: Final = "Bulk vault prune requires at least one filter."

_SCOPES: Final = {
    "session": ("session",),
    "vault": ("user", "project"),
    "all": ("session", "user", "project"),
}
_NUMBERS: Final = {"type": "array", "items": {"type": "number"}}


def _memory_mcp_schema(required: Sequence[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


COMMIT: Final = {
    "name": "commit_memory",
    "description": "Store a memory entry in the session (volatile) or vault (persistent) scope. "
    "Upserts on key collision.",
    "inputSchema": _memory_mcp_schema(
        ("scope", "key", "content"),
        scope=one_of_schema("session", "vault"),
        key=text_schema("Unique identifier for this memory within its scope."),
        content=text_schema("The memory content to store."),
        tags={**TEXTS, "description": "Categorization tags for retrieval."},
        embedding={
            **_NUMBERS,
            "description": "Optional pre-computed embedding vector (float32[D]).",
        },
    ),
    "outputSchema": _memory_mcp_schema(
        ("committed", "key", "scope"),
        committed=FLAG,
        key=TEXT,
        scope=TEXT,
    ),
}
SEARCH: Final = {
    "name": "search_memories",
    "description": "Search memories by text query, tags, or both. Returns ranked results. "
    "Semantic ranking used if embeddings are present and a query_embedding is provided.",
    "inputSchema": _memory_mcp_schema(
        ("query",),
        query=text_schema("Full-text search query (FTS5 syntax supported)."),
        scope=one_of_schema(*_SCOPES, description="Which scope(s) to search."),
        tags={**TEXTS, "description": "Filter: only return memories with ALL specified tags."},
        query_embedding={
            **_NUMBERS,
            "description": "Optional: embedding of the query for semantic re-ranking.",
        },
        limit={"type": "integer", "description": "Max results to return.", "default": 10},
    ),
    "outputSchema": _memory_mcp_schema(
        ("results", "total_searched"),
        results={
            "type": "array",
            "items": _memory_mcp_schema(
                ("key", "content", "tags", "scope", "relevance"),
                key=TEXT,
                content=TEXT,
                tags=TEXTS,
                scope=TEXT,
                relevance={"type": "number", "description": "Score in [0,1]; 1.0 = exact match."},
            ),
        },
        total_searched={"type": "integer"},
    ),
}
PRUNE: Final = {
    "name": "prune_memory",
    "description": "Delete memory entries. Can target a specific key, or bulk-delete by age or "
    "scope.",
    "inputSchema": _memory_mcp_schema(
        ("scope",),
        scope=one_of_schema(*_SCOPES),
        key=text_schema("If provided, delete only this key (within scope)."),
        older_than=text_schema("ISO 8601 datetime. Delete entries created before this timestamp."),
        tags={**TEXTS, "description": "Delete entries matching ALL these tags."},
    ),
    "outputSchema": _memory_mcp_schema(("pruned_count",), pruned_count={"type": "integer"}),
}
SET_SESSION: Final = {
    "name": "set_session_id",
    "description": "Name the session whose volatile memories this connection reads and writes.",
    "inputSchema": _memory_mcp_schema(
        ("session_id",), session_id=text_schema("The session's identifier.")
    ),
    "outputSchema": _memory_mcp_schema(("session_id",), session_id=TEXT),
}
TEMPLATES: Final = tuple(
    {"uriTemplate": f"memory://{place}", "name": name, "description": line, "mimeType": JSON}
    for place, name, line in (
        (
            "session/{session_id}",
            "session memories",
            "All memories for the given session, as a JSON array",
        ),
        (
            "vault{?offset,limit}",
            "vault memories",
            "All vault memories, in pages, as a JSON array",
        ),
        ("vault/{key}", "vault memory", "Single vault memory by key, as a JSON object"),
    )
)


# --- what the tools do -----------------------------------------------------------------------


def _memory_mcp_commit(vault: Vault, given: Given) -> dict[str, Any]:
    scope, key = given["scope"], given["key"]
    KeyedEntries(vault).put_entry(
        key,
        given["content"],
        scope="session" if scope == "session" else "user",
        tags=given.get("tags", ()),
        vector=given.get("embedding"),
    )
    return {"committed": True, "key": key, "scope": scope}


def _memory_mcp_search(vault: Vault, given: Given) -> dict[str, Any]:
    found = KeyedEntries(vault).entries_matching(
        given["query"],
        scopes=_SCOPES[given.get("scope", "all")],
        tags=given.get("tags", ()),
        vector=given.get("query_embedding", ()),
        limit=min(MOST, max(0, int(given.get("limit", 10)))),
    )
    results = [
        _memory_mcp_entry(match.entry) | {"relevance": round(match.score, 4)}
        for match in found.found
    ]
    return {"results": results, "total_searched": found.searched}


def _memory_mcp_prune(vault: Vault, given: Given) -> dict[str, Any]:
    filters = {name: given[name] for name in ("key", "older_than", "tags") if given.get(name)}
    if given["scope"] != "session" and not filters:
        raise DialectError(INVALID_PARAMS, UNFILTERED)
    return {"pruned_count": KeyedEntries(vault).prune_entries(_SCOPES[given["scope"]], **filters)}


def _memory_mcp_entry(entry: KeyedEntry) -> dict[str, Any]:
    scope = "session" if entry.scope == "session" else "vault"
    return picked_fields(entry, "key", "content", "tags") | {"scope": scope}


# --- resources -------------------------------------------------------------------------------


def _memory_mcp_resource_entry(entry: KeyedEntry) -> dict[str, Any]:
    return _memory_mcp_entry(entry) | picked_fields(entry, "created_at", "updated_at")


def _memory_mcp_resources(vault: Vault, cursor: str | None) -> dict[str, Any]:
    """The two collections first, then every vault memory by its key."""
    offset = _memory_mcp_number(cursor or "0", "cursor")
    found = KeyedEntries(vault).keyed_entries(oldest_first=True, offset=offset, limit=PAGE + 1)
    page: list[dict[str, Any]] = []
    if not cursor:
        own = SESSION + quote(vault.caller.session, safe="")
        page += [{"uri": own, "name": "session memories", "mimeType": JSON}]
        page += [{"uri": VAULT, "name": "vault memories", "mimeType": JSON}]
    for entry in found[:PAGE]:
        uri = f"{VAULT}/{quote(entry.key, safe='')}"
        page.append({"uri": uri, "name": entry.key, "mimeType": JSON})
    more = {"nextCursor": str(offset + PAGE)} if len(found) > PAGE else {}
    return {"resources": page, **more}


def _read_memory_mcp_resource(vault: Vault, uri: str) -> tuple[str, str]:
    if uri.startswith(SESSION):
        wanted = memory_mcp_session(unquote(uri.removeprefix(SESSION)))
        own = wanted == vault.caller.session  # another one's memories do not exist
        entries = KeyedEntries(vault)
        found = entries.keyed_entries(scopes=("session",), oldest_first=True) if own else ()
        return JSON, answers.answer_text([_memory_mcp_resource_entry(entry) for entry in found])
    path, _, query = uri.partition("?")
    if path == VAULT:
        asked = {name: values[-1] for name, values in parse_qs(query).items()}
        offset = _memory_mcp_number(asked.get("offset", "0"), "offset")
        limit = _memory_mcp_number(asked.get("limit", "100"), "limit")
        found = KeyedEntries(vault).keyed_entries(
            oldest_first=True, offset=offset, limit=min(MOST, max(1, limit))
        )
        return JSON, answers.answer_text(
            [_memory_mcp_resource_entry(entry) for entry in found[:limit]]
        )
    if path.startswith(f"{VAULT}/"):
        entry = KeyedEntries(vault).keyed_entry(unquote(uri.removeprefix(f"{VAULT}/")))
        return JSON, answers.answer_text(_memory_mcp_resource_entry(entry))
    raise NotFound(f"There is no resource {uri}.")


def _memory_mcp_number(text: str, name: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise InvalidInput(f"{name} must be a whole number, not {text!r}.")
    return int(text)


# --- sessions --------------------------------------------------------------------------------


def memory_mcp_session(id: str) -> str:
    """A session's id as a name that no other id shares, whatever a file system makes of it."""
    if re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,99}", id):
        return id
    plain = re.sub(r"[^a-z0-9_-]+", "-", id.lower())[:40].strip("-")
    return f"{plain or 'session'}-{hashlib.sha256(id.encode()).hexdigest()[:12]}"


class MemoryMcpDialect(Dialect):
    name = "memory-mcp"
    server_info: Mapping[str, Any] = {"name": "memory-mcp", "version": "1.0.0"}
    capabilities: Mapping[str, Any] = {
        "tools": {"listChanged": False},
        "resources": {"subscribe": False, "listChanged": True},
    }
    tools = (
        DialectTool(COMMIT, _memory_mcp_commit, writes=True),
        DialectTool(SEARCH, _memory_mcp_search),
        DialectTool(PRUNE, _memory_mcp_prune, writes=True),
        DialectTool(
            SET_SESSION,
            lambda vault, given: {"session_id": given["session_id"]},
            writes=True,
            connects=True,
        ),
    )
    resources = Resources(_memory_mcp_resources, _read_memory_mcp_resource, TEMPLATES)

    def __init__(self, started: ServerOptions) -> None:
        super().__init__(started)
        self._joined: dict[int, dict[str, Caller]] = {}  # each connection's sessions
        self._entries = EntryPreparation()
        self._named = ""  # the session of who has no connection, once it was set

    def caller_of_connection(self, known: Caller, connected: ClientConnection) -> Caller:
        """A client may name its session when it connects; else the server has one."""
        own = self.started.session or self.variables.session or DEFAULT_SESSION
        session = memory_mcp_session(connected.session or self._named or own)
        return replace(known, session=session)

    def connection_after(self, connected: ClientConnection, given: Given) -> ClientConnection:
        session = str(given["session_id"]).strip()
        pinned = self.started.session
        if not session:
            raise InvalidInput("session_id is empty; a session needs a name.")
        if pinned and memory_mcp_session(session) != memory_mcp_session(pinned):
            raise InvalidInput(f"This server is bound to the session {pinned!r}.")
        if not connected.number and connected.over_http:
            raise InvalidInput(
                "This protocol has no connections that a session could be set for. Begin one with "
                "initialize, or start the server with MEMORY_MCP_SESSION_ID."
            )
        if not connected.number:
            self._named = session
        return replace(connected, session=session)

    def success_result(self, tool: DialectTool, value: Any) -> dict[str, Any]:
        return answers.success_answer(value)

    def failure_result(self, tool: str, error: Exception) -> dict[str, Any]:
        if isinstance(error, InvalidInput | OutsideVault):
            raise DialectError(INVALID_PARAMS, str(error))
        return answers.failure_answer(error)

    # --- volatile memories end with their session ------------------------------------------

    def vault_served(self, vault: Vault, connected: ClientConnection) -> None:
        """The first question of a connection in a session. What nobody serves any more was left
        by a server that was killed."""
        joined, session = self._joined.setdefault(connected.number, {}), vault.caller.session
        if session not in joined and not vault.caller.read_only:
            joined[session] = vault.caller
            if not vault.is_session_kept():
                self._clear_memory_mcp_session(vault)
            vault.serve_session()

    def vault_opened(self, vault: Vault) -> None:
        self._entries.start(vault)

    def connection_ended(self, vault: Vault, connected: ClientConnection) -> None:
        self._leave_memory_mcp_sessions(vault, connected.number)

    def server_ended(self, vault: Vault) -> None:
        self._entries.stop()
        for number in tuple(self._joined):
            self._leave_memory_mcp_sessions(vault, number)

    def _leave_memory_mcp_sessions(self, vault: Vault, number: int) -> None:
        for caller in self._joined.pop(number, {}).values():
            mine = vault.for_caller(caller)
            mine.leave_session()
            self._clear_memory_mcp_session(mine)

    def _clear_memory_mcp_session(self, vault: Vault) -> None:
        """Another window may have the same session, and goes on with it."""
        if self.variables.keep_session:
            vault.keep_session()
        elif not vault.is_session_shared(own=self.started.session == vault.caller.session):
            vault.clear_session()
            vault.keep_session(keep=False)
