"""trae-mem: sessions, observations, a context block, life-cycle events, and plain HTTP."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ulid_transform import ulid_now

from vaultmem.errors import NotFound
from vaultmem.surfaces import answers
from vaultmem.surfaces.dialects import Dialect, DialectTool, Given, count_given, dialect_tool
from vaultmem.surfaces.http.routes import Rest
from vaultmem.surfaces.mcp.schemas import TEXT, TEXTS, one_of_schema, text_schema, whole_schema

if TYPE_CHECKING:
    from vaultmem.operations.results import Memory, RecalledMemory
    from vaultmem.operations.sessions import ObservationView
    from vaultmem.vault import Vault

EVENTS: Final = (
    *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse"),
    *("Stop", "SessionEnd"),
)
SETTINGS: Final = {  # it keeps what happens, where we keep little unless we are told
    "hooks.keep": (
        *("edit", "failure", "command", "read", "search", "web", "tool"),
        *("prompt", "answer", "compact"),
    )
}
PRIVATE: Final = "[PRIVATE]"
_TOKENS: Final = 4000
_LOOKED_AT: Final = 5  # times as many as are wanted, of which those with most words are shown
# Names that its clients use as well.
_ALSO: Final = {"session": "session_id", "text": "content", "kind": "type"}


# --- what the tools do -----------------------------------------------------------------------


def _search_trae(vault: Vault, given: Given) -> dict[str, Any]:
    """Lines that have the words, those with most of them first."""
    limit = count_given(given, "limit", 20)
    found = vault.recall(
        given["query"],
        strategy="keyword",
        limit=min(1000, _LOOKED_AT * limit),
        project=_trae_project(given),
        floor=False,
        operators=False,
    )
    wanted = _trae_words(given["query"])
    having = [(each, _trae_share(wanted, each)) for each in found.memories]
    kept = sorted((pair for pair in having if pair[1]), key=lambda pair: -pair[1])[:limit]
    return {"results": [_trae_hit(vault, each) for each, _ in kept]}


def _trae_share(wanted: Sequence[str], hit: RecalledMemory) -> int:
    """How many of the words a hit has, in any of their forms."""
    said = " ".join((hit.content, *hit.tags)).casefold()
    stems = set(_trae_words(said))
    return sum(word in stems or word in said for word in wanted)


def _trae_words(text: str) -> list[str]:
    from vaultmem.base.words import topic_words, word_stem

    words = [word.casefold() for word in topic_words(text)] or text.casefold().split()
    return list(dict.fromkeys(map(word_stem, words)))


def _trae_timeline(vault: Vault, given: Given) -> dict[str, Any]:
    window = count_given(given, "window", 10)
    found = vault.timeline(
        observation_id=given["observation_id"],
        before=int(given.get("before", window)),
        after=int(given.get("after", window)),
    )
    return _trae_items(_trae_observation(each) for each in found.observations)


def _get_trae_observations(vault: Vault, given: Given) -> dict[str, Any]:
    found = vault.get(given["ids"])
    missing = {"missing": list(found.missing)}
    return _trae_items(_trae_memory(each) for each in found.memories) | missing


def _inject_trae_context(vault: Vault, given: Given) -> dict[str, Any]:
    block = vault.context(
        given["query"],
        project=_trae_project(given),
        related=count_given(given, "limit", 12),
        max_tokens=_TOKENS,
    )
    return {"context": block.context_block}


def _start_trae_session(vault: Vault, given: Given) -> dict[str, Any]:
    started = vault.start_session(project=_trae_project(given), session_id=ulid_now().lower())
    return {"session_id": started.session_id}


def _log_trae_observation(vault: Vault, given: Given) -> dict[str, Any]:
    from vaultmem.notes.tags import as_tags

    content = given["content"]
    logged = vault.log(
        content if _without_trae_private(content).strip() else PRIVATE,
        session_id=given["session_id"],
        type=given.get("type"),
        tags=as_tags(given.get("tags", ())),
    )
    return {"observation_id": logged.observation_id, "session_id": logged.session_id}


def _end_trae_session(vault: Vault, given: Given) -> dict[str, Any]:
    ended = vault.end_session(session_id=given["session_id"])
    return {"session_id": ended.session_id, "summary": ended.summary}


def _take_trae_event(vault: Vault, given: Given) -> dict[str, Any]:
    from vaultmem.hooks.event_record import record_event

    payload = _without_trae_private(given["payload"])
    return {"ok": True, "event": given["event"], **record_event(vault, given["event"], payload)}


def _understood_trae_event(given: Given) -> Given:
    from vaultmem.hooks.event_record import understood_event

    name = given.get("event") or given.get("event_name") or given.get("hook_event_name")
    payload = next((given[n] for n in ("payload", "data", "input") if n in given), None)
    if payload is None:  # a client that gives the fields of the payload beside the event
        beside = ("event", "event_name", "hook_event_name")
        payload = {n: v for n, v in given.items() if n not in beside} or None
    if not isinstance(name, str):
        return {n: v for n, v in {"event": name, "payload": payload}.items() if v is not None}
    name, payload = understood_event(name, payload)
    return {"event": name} | ({} if payload is None else {"payload": payload})


def _without_trae_private(value: Any) -> Any:
    """Without private passages, however deep in an event they are."""
    from vaultmem.notes.masking import without_private

    if isinstance(value, str):
        return without_private(value)
    if isinstance(value, list):
        return [_without_trae_private(item) for item in value]
    if isinstance(value, dict):
        return {name: _without_trae_private(item) for name, item in value.items()}
    return value


def _trae_project(given: Given) -> str | None:
    """A project is named, or given as the folder it lies in."""
    return re.split(r"[\\/]", str(given.get("project") or "").rstrip("\\/"))[-1] or None


# --- shapes ----------------------------------------------------------------------------------


def _trae_hit(vault: Vault, hit: RecalledMemory) -> dict[str, Any]:
    seen = vault.observation(hit.id) if hit.block else None
    return {
        "id": hit.id,
        "ts": int((seen.time if seen else hit.created_at).timestamp()),
        "kind": seen.type if seen else hit.type,
        "tool_name": _trae_tool(seen),
        "session_id": seen.session_id if seen else None,
        "snippet": hit.snippet,
        "score": hit.relevance_score,
    }


def _trae_observation(seen: ObservationView) -> dict[str, Any]:
    return {
        "id": seen.id,
        "session_id": seen.session_id,
        "ts": int(seen.time.timestamp()),
        "kind": seen.type,
        "tool_name": _trae_tool(seen),
        "content": seen.content,
        "tags": seen.tags,
    }


def _trae_tool(seen: ObservationView | None) -> str | None:
    from vaultmem.hooks.event_record import tool_of_line

    return tool_of_line(seen.type, seen.content) if seen else None


def _trae_memory(memory: Memory) -> dict[str, Any]:
    made = memory.created_at
    return {
        "id": memory.id,
        "session_id": memory.session,
        "ts": int(made.timestamp()) if not isinstance(made, str) else None,
        "kind": memory.kind or memory.type,
        "content": memory.content,
        "tags": memory.tags,
    }


def _trae_items(found: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """By trae-mem's name, and by the one that the rest of this product uses."""
    items = list(found)
    return {"items": items, "observations": items}


# --- the surface -----------------------------------------------------------------------------

_PROJECT: Final = text_schema("项目名称或路径")


def _trae_whole_number(usual: int) -> dict[str, Any]:
    return {"type": "integer", "default": usual}


TOOLS: Final = (
    dialect_tool(
        _search_trae,
        "trae_mem_search",
        "全文检索：在持久化记忆中搜索。Full-text search in memory.",
        {"query": TEXT, "limit": _trae_whole_number(20), "project": _PROJECT},
        "query",
    ),
    dialect_tool(
        _trae_timeline,
        "trae_mem_timeline",
        "按 observation_id 拉时间窗。What was observed before and after an observation.",
        {"observation_id": TEXT, "before": _trae_whole_number(10), "after": _trae_whole_number(10)},
        "observation_id",
    ),
    dialect_tool(
        _get_trae_observations,
        "trae_mem_get_observations",
        "按 ID 批量取详情。Observations in full, by their ids.",
        {"ids": TEXTS},
        "ids",
    ),
    dialect_tool(
        _inject_trae_context,
        "trae_mem_inject",
        "生成可注入上下文块（最近会话摘要与相关观测）。A block of context to start from.",
        {"query": TEXT, "limit": _trae_whole_number(12), "project": _PROJECT},
        "query",
    ),
    DialectTool(
        {
            "name": "trae_mem_start_session",
            "description": "创建 session。Start a session.",
            "inputSchema": {"type": "object", "properties": {"project": _PROJECT}, "required": []},
        },
        _start_trae_session,
        writes=True,
    ),
    dialect_tool(
        _log_trae_observation,
        "trae_mem_log",
        "写入 observation；<private> 片段不入库。Log an observation; private passages are left out.",
        {
            "session_id": TEXT,
            "content": TEXT,
            "type": text_schema("user, tool, note, decision, error …"),
            "tags": TEXTS,
        },
        *("session_id", "content"),
        writes=True,
    ),
    dialect_tool(
        _end_trae_session,
        "trae_mem_end_session",
        "结束 session 并生成摘要。End a session and sum it up.",
        {"session_id": TEXT},
        "session_id",
        writes=True,
    ),
    dialect_tool(
        _take_trae_event,
        "trae_mem_hook_event",
        "适配生命周期事件（把 Trae 事件写进记忆）。Take a life-cycle event.",
        {"event": one_of_schema(*EVENTS), "payload": {"type": "object"}},
        *("event", "payload"),
        writes=True,
    ),
)


# --- HTTP ------------------------------------------------------------------------------------


def _trae_query(given: Given) -> dict[str, Any]:
    return {"query": given["q"], **{k: v for k, v in given.items() if k != "q"}}


ROUTES: Final = (
    Rest(
        "/search",
        "Find observations and memories by their words.",
        {"query": "string", "results": "array"},
        lambda vault, given: {"query": given["q"], **_search_trae(vault, _trae_query(given))},
        {
            "q": text_schema("what to look for"),
            "limit": whole_schema(1, 1000, default=20, description="how many at most"),
            "project": text_schema("of this project"),
        },
        ("q",),
        try_it="/search?q=login",
    ),
    Rest(
        "/timeline",
        "What was observed before and after an observation.",
        {"observation_id": "string", "items": "array"},
        lambda vault, given: {
            "observation_id": given["observation_id"],
            **_trae_timeline(vault, given),
        },
        {
            "observation_id": text_schema("the observation in the middle"),
            "window": whole_schema(
                1, 1000, default=10, description="how many before it, and how many after it"
            ),
            "before": whole_schema(0, 1000, default=10, description="how many before it"),
            "after": whole_schema(0, 1000, default=10, description="how many after it"),
        },
        ("observation_id",),
        try_it="/timeline?observation_id=01ke6nz8a0b1c2d3e4f5g6h7jk",
    ),
    Rest(
        "/inject",
        "A block of text for a model's context.",
        {"query": "string", "context": "string"},
        lambda vault, given: {
            "query": given["q"],
            **_inject_trae_context(vault, _trae_query(given)),
        },
        {
            "q": text_schema("the task, in a few words"),
            "project": text_schema("the project's name or folder"),
            "limit": whole_schema(1, 1000, default=12, description="how many observations at most"),
        },
        ("q",),
        try_it="/inject?q=fix+the+login&project=Atlas",
    ),
)


class TraeDialect(Dialect):
    name = "trae"
    server_info: Mapping[str, Any] = {"name": "trae-mem", "version": "0.1.0"}
    capabilities: Mapping[str, Any] = {"tools": {}}
    settings = SETTINGS
    tools = TOOLS
    routes = ROUTES

    def checked_call(self, tool: DialectTool, given: Given) -> Given:
        """Its own clients say session, text, kind, window; tags may come as an object."""
        if tool.name == _EVENT:
            return super().checked_call(tool, _understood_trae_event(given))
        renamed = {_ALSO.get(n, n): v for n, v in given.items()}
        if isinstance(renamed.get("tags"), dict):
            renamed["tags"] = list(renamed["tags"])
        if isinstance(window := renamed.get("window"), int):
            renamed = {"before": window, "after": window, **renamed}
        return super().checked_call(tool, renamed)

    def success_result(self, tool: DialectTool, value: Any) -> dict[str, Any]:
        result = answers.success_answer(value)
        if "context" in value and tool.name == _INJECT:
            result["content"][0]["text"] = value["context"]
        return result

    def failure_result(self, tool: str, error: Exception) -> dict[str, Any]:
        return answers.text_result(answers.error_answer(error)["message"], is_error=True)

    def unknown_tool(self, name: str) -> dict[str, Any]:
        return self.failure_result(name, NotFound(f"未知工具: {name[:100]}"))

    def unknown_method(self, method: str) -> str:
        return f"method_not_found: {method[:100]}"


_EVENT, _INJECT = "trae_mem_hook_event", "trae_mem_inject"
