"""trae-mem: sessions, observations, a context block, life-cycle events, and plain HTTP."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from ulid_transform import ulid_now

from vaultmem.errors import NotFound
from vaultmem.surfaces import answers
from vaultmem.surfaces.dialects import Dialect, DialectTool, Given
from vaultmem.surfaces.http.routes import Rest

if TYPE_CHECKING:
    from vaultmem.operations.results import Memory, RecalledMemory
    from vaultmem.operations.sessions import ObservationView
    from vaultmem.vault import Vault

SERVER: Final = {"name": "trae-mem", "version": "0.1.0"}
CAPABILITIES: Final[dict[str, Any]] = {"tools": {}}
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
# Names that its clients use as well.
_ALSO: Final = {"session": "session_id", "text": "content", "kind": "type"}


# --- what the tools do -----------------------------------------------------------------------


def _search(vault: Vault, given: Given) -> dict[str, Any]:
    found = vault.recall(
        given["query"],
        strategy="keyword",
        limit=_count(given, "limit", 20),
        project=_project(given),
    )
    return {"results": [_hit(vault, each) for each in found.memories]}


def _timeline(vault: Vault, given: Given) -> dict[str, Any]:
    window = _count(given, "window", 10)
    found = vault.timeline(
        observation_id=given["observation_id"],
        before=int(given.get("before", window)),
        after=int(given.get("after", window)),
    )
    return _items(_observed(each) for each in found.observations)


def _get(vault: Vault, given: Given) -> dict[str, Any]:
    found = vault.get(given["ids"])
    return _items(_remembered(each) for each in found.memories) | {"missing": list(found.missing)}


def _inject(vault: Vault, given: Given) -> dict[str, Any]:
    block = vault.context(
        given["query"],
        project=_project(given),
        related=_count(given, "limit", 12),
        max_tokens=_TOKENS,
    )
    return {"context": block.context_block}


def _start(vault: Vault, given: Given) -> dict[str, Any]:
    started = vault.start_session(project=_project(given), session_id=ulid_now().lower())
    return {"session_id": started.session_id}


def _log(vault: Vault, given: Given) -> dict[str, Any]:
    from vaultmem.notes.tags import as_tags

    content = given["content"]
    logged = vault.log(
        content if _public(content).strip() else PRIVATE,
        session_id=given["session_id"],
        type=given.get("type"),
        tags=as_tags(given.get("tags", ())),
    )
    return {"observation_id": logged.observation_id, "session_id": logged.session_id}


def _end(vault: Vault, given: Given) -> dict[str, Any]:
    ended = vault.end_session(session_id=given["session_id"])
    return {"session_id": ended.session_id, "summary": ended.summary}


def _event(vault: Vault, given: Given) -> dict[str, Any]:
    from vaultmem.hooks import answer

    told = {"event": given["event"], "payload": _public(given["payload"])}
    return {"ok": True, **answer.to_event(vault, told)}


def _public(value: Any) -> Any:
    """Without private passages, however deep in an event they are."""
    from vaultmem.notes.masking import without_private

    if isinstance(value, str):
        return without_private(value)
    if isinstance(value, list):
        return [_public(item) for item in value]
    if isinstance(value, dict):
        return {name: _public(item) for name, item in value.items()}
    return value


def _count(given: Given, name: str, usual: int) -> int:
    return min(1000, max(1, int(given.get(name) or usual)))


def _project(given: Given) -> str | None:
    """A project is named, or given as the folder it lies in."""
    return re.split(r"[\\/]", str(given.get("project") or "").rstrip("\\/"))[-1] or None


# --- shapes ----------------------------------------------------------------------------------


def _hit(vault: Vault, hit: RecalledMemory) -> dict[str, Any]:
    seen = vault.observation(hit.id) if hit.block else None
    return {
        "id": hit.id,
        "ts": int((seen.time if seen else hit.created_at).timestamp()),
        "kind": seen.type if seen else hit.type,
        "tool_name": None,
        "session_id": seen.session_id if seen else None,
        "snippet": hit.snippet,
        "score": hit.relevance_score,
    }


def _observed(seen: ObservationView) -> dict[str, Any]:
    return {
        "id": seen.id,
        "session_id": seen.session_id,
        "ts": int(seen.time.timestamp()),
        "kind": seen.type,
        "content": seen.content,
        "tags": seen.tags,
    }


def _remembered(memory: Memory) -> dict[str, Any]:
    made = memory.created_at
    return {
        "id": memory.id,
        "session_id": memory.session,
        "ts": int(made.timestamp()) if not isinstance(made, str) else None,
        "kind": memory.kind or memory.type,
        "content": memory.content,
        "tags": memory.tags,
    }


def _items(found: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """By trae-mem's name, and by the one that the rest of this product uses."""
    items = list(found)
    return {"items": items, "observations": items}


# --- the surface -----------------------------------------------------------------------------

_TEXT: Final = {"type": "string"}
_PROJECT: Final = {"type": "string", "description": "项目名称或路径"}


def _whole(usual: int) -> dict[str, Any]:
    return {"type": "integer", "default": usual}


def _tool(
    name: str,
    description: str,
    run: Any,
    takes: dict[str, Any],
    needs: Sequence[str],
    *,
    writes: bool = False,
) -> DialectTool:
    schema = {"type": "object", "properties": takes, "required": list(needs)}
    listing = {"name": f"trae_mem_{name}", "description": description, "inputSchema": schema}
    return DialectTool(listing, run, writes)


TOOLS: Final = (
    _tool(
        "search",
        "全文检索：在持久化记忆中搜索。Full-text search in memory.",
        _search,
        {"query": _TEXT, "limit": _whole(20), "project": _PROJECT},
        ["query"],
    ),
    _tool(
        "timeline",
        "按 observation_id 拉时间窗。What was observed before and after an observation.",
        _timeline,
        {"observation_id": _TEXT, "before": _whole(10), "after": _whole(10)},
        ["observation_id"],
    ),
    _tool(
        "get_observations",
        "按 ID 批量取详情。Observations in full, by their ids.",
        _get,
        {"ids": {"type": "array", "items": _TEXT}},
        ["ids"],
    ),
    _tool(
        "inject",
        "生成可注入上下文块（最近会话摘要与相关观测）。A block of context to start from.",
        _inject,
        {"query": _TEXT, "limit": _whole(12), "project": _PROJECT},
        ["query"],
    ),
    _tool(
        "start_session",
        "创建 session。Start a session.",
        _start,
        {"project": _PROJECT},
        [],
        writes=True,
    ),
    _tool(
        "log",
        "写入 observation；<private> 片段不入库。Log an observation; private passages are left out.",
        _log,
        {
            "session_id": _TEXT,
            "content": _TEXT,
            "type": {"type": "string", "description": "user, tool, note, decision, error …"},
            "tags": {"type": "array", "items": _TEXT},
        },
        ["session_id", "content"],
        writes=True,
    ),
    _tool(
        "end_session",
        "结束 session 并生成摘要。End a session and sum it up.",
        _end,
        {"session_id": _TEXT},
        ["session_id"],
        writes=True,
    ),
    _tool(
        "hook_event",
        "适配生命周期事件（把 Trae 事件写进记忆）。Take a life-cycle event.",
        _event,
        {"event": {"type": "string", "enum": list(EVENTS)}, "payload": {"type": "object"}},
        ["event", "payload"],
        writes=True,
    ),
)


# --- HTTP ------------------------------------------------------------------------------------


def _asked(given: Given) -> dict[str, Any]:
    return {"query": given["q"], **{k: v for k, v in given.items() if k != "q"}}


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _bounded(usual: int, least: int, description: str) -> dict[str, Any]:
    bounds = {"minimum": least, "maximum": 1000, "default": usual}
    return {"type": "integer", **bounds, "description": description}


ROUTES: Final = (
    Rest(
        "/search",
        "Find observations and memories by their words.",
        {"query": "string", "results": "array"},
        lambda vault, given: {"query": given["q"], **_search(vault, _asked(given))},
        {
            "q": _text("what to look for"),
            "limit": _bounded(20, 1, "how many at most"),
            "project": _text("of this project"),
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
            **_timeline(vault, given),
        },
        {
            "observation_id": _text("the observation in the middle"),
            "window": _bounded(10, 1, "how many before it, and how many after it"),
            "before": _bounded(10, 0, "how many before it"),
            "after": _bounded(10, 0, "how many after it"),
        },
        ("observation_id",),
        try_it="/timeline?observation_id=01ke6nz8a0b1c2d3e4f5g6h7jk",
    ),
    Rest(
        "/inject",
        "A block of text for a model's context.",
        {"query": "string", "context": "string"},
        lambda vault, given: {"query": given["q"], **_inject(vault, _asked(given))},
        {
            "q": _text("the task, in a few words"),
            "project": _text("the project's name or folder"),
            "limit": _bounded(12, 1, "how many observations at most"),
        },
        ("q",),
        try_it="/inject?q=fix+the+login&project=Atlas",
    ),
)


class TraeDialect(Dialect):
    name = "trae"
    server_info = SERVER
    capabilities = CAPABILITIES
    settings = SETTINGS
    tools = TOOLS
    routes = ROUTES

    def checked(self, tool: DialectTool, given: Given) -> Given:
        """Its own clients say session, text, kind, window; tags may come as an object."""
        renamed = {_ALSO.get(n, n) if tool.name != _EVENT else n: v for n, v in given.items()}
        if isinstance(renamed.get("tags"), dict):
            renamed["tags"] = list(renamed["tags"])
        if isinstance(window := renamed.get("window"), int):
            renamed = {"before": window, "after": window, **renamed}
        return super().checked(tool, renamed)

    def success(self, tool: DialectTool, value: Any) -> dict[str, Any]:
        result = answers.success(value)
        if "context" in value and tool.name == _INJECT:
            result["content"][0]["text"] = value["context"]
        return result

    def failure(self, tool: str, error: Exception) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": _sentence(error)}], "isError": True}

    def unknown_tool(self, name: str) -> dict[str, Any]:
        return self.failure(name, NotFound(f"未知工具: {name[:100]}"))

    def unknown_method(self, method: str) -> str:
        return f"method_not_found: {method[:100]}"


_EVENT, _INJECT = "trae_mem_hook_event", "trae_mem_inject"


def _sentence(error: Exception) -> str:
    return str(answers.envelope(error)["message"])
