"""The vault as resources: a few fixed ones that summarise it, and every note by id or path."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, quote, unquote

from vaultmem import limits
from vaultmem.surfaces import answers

if TYPE_CHECKING:
    from mcp import MCPError

    from vaultmem.vault import Vault

ROOT: Final = "memory://"
PAGE: Final = 100  # notes in one answer of resources/list
MOST: Final = 500  # notes on one page of memory://vault
ENTITIES, EDGES = 40, 6  # of the graph: how many, and connections of each
LONGEST: Final = 4_000  # characters of an address
JSON: Final = "application/json"
MARKDOWN: Final = "text/markdown"

FIXED: Final[Mapping[str, tuple[str, str, str]]] = {  # path: title, what it is, type
    "status": ("Memory status", "Health, counts, index and current session", JSON),
    "session/summary": ("Current session", "What this session stored and logged", MARKDOWN),
    "project/knowledge-graph": ("Knowledge graph", "Entities and how they relate", MARKDOWN),
    "user/preferences": ("User preferences", "What the user prefers and how", MARKDOWN),
    "recent": ("Recent memories", "The notes that changed last, by whom and how", JSON),
    "vault": ("All memories", "Every note, in pages", JSON),
    "conflicts": ("Conflicts", "Notes that two machines or people changed at once", JSON),
}
TEMPLATES: Final = tuple(
    {"uriTemplate": ROOT + path, "name": name, "description": text, "mimeType": kind}
    for path, name, text, kind in (
        ("vault{?offset,limit}", "memories", "Every note, in pages", JSON),
        ("recent{?by,since,project,limit}", "activity", "Who changed what since when", JSON),
        ("vault/{+key}", "memory", "One note by id, key or path", MARKDOWN),
        ("session/{session_id}", "session", "One session's journal", JSON),
    )
)


# --- listing -----------------------------------------------------------------------------


def list_resources(vault: Vault, cursor: str | None) -> dict[str, Any]:
    """One page: the fixed resources first, then the notes by title."""
    offset = _resource_offset(cursor)
    found = vault.list(order="title", limit=PAGE, offset=offset)
    first = [
        {"uri": ROOT + path, "name": path, "title": title, "description": text, "mimeType": kind}
        for path, (title, text, kind) in FIXED.items()
        if cursor is None
    ]
    page = {
        "resources": first
        + [_resource_entry(answers.plain_answer(memory)) for memory in found.memories]
    }
    more = {} if found.next_offset is None else {"nextCursor": f"notes-{found.next_offset}"}
    return page | more


def _resource_offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    match = re.fullmatch(r"notes-(\d{1,9})", cursor)
    if match is None:
        raise _invalid("This cursor is not one that this server gave out.")
    return int(match[1])


def _resource_entry(memory: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "uri": memory_uri(memory["path"]),
        "name": memory["path"],
        "title": memory["title"],
        "mimeType": MARKDOWN,
        "annotations": {"lastModified": memory["updated_at"]},
    }


def memory_uri(path: str) -> str:
    return f"{ROOT}vault/{quote(path)}"


# --- reading -----------------------------------------------------------------------------


def read_resource(vault: Vault, uri: str) -> dict[str, Any]:
    kind, text = _resource_text(vault, uri)
    return {"contents": [{"uri": uri, "mimeType": kind, "text": text}]}


def _resource_text(vault: Vault, uri: str) -> tuple[str, str]:
    require_known_resource(uri)
    path, _, query = uri.removeprefix(ROOT).partition("?")
    if path == "recent" and query:
        return JSON, _activity_resource(vault, query)
    if path in _READERS:
        return FIXED[path][2], _READERS[path](vault)
    if path == "vault":
        return JSON, _list_page_resource(vault, query)
    first, _, rest = path.partition("/")
    if first == "session":
        return JSON, _journal_resource(vault, unquote(rest))
    return MARKDOWN, _note_resource(vault, unquote(rest), uri)


def is_known_resource(uri: str) -> bool:
    """One of ours by its form; whether the note is there is another question."""
    path = uri.removeprefix(ROOT) if uri.startswith(ROOT) else ""
    bare = path.partition("?")[0]
    return bare in FIXED or any(
        bare.startswith(prefix) and len(bare) > len(prefix) for prefix in ("vault/", "session/")
    )


def require_known_resource(uri: str) -> None:
    if len(uri) > LONGEST:
        raise unknown_resource(
            uri[:100], f"A resource's address has at most {LONGEST:,} characters."
        )
    if not is_known_resource(uri):
        raise unknown_resource(
            uri, "There is no such resource; resources/list names those there are."
        )


def unknown_resource(uri: str, message: str) -> MCPError:
    return _invalid(message, {"uri": uri})


def _invalid(message: str, data: Any = None) -> MCPError:
    import mcp_types as types  # listing needs none of it
    from mcp import MCPError

    return MCPError(types.INVALID_PARAMS, message, data)


def _note_resource(vault: Vault, key: str, uri: str) -> str:
    found = vault.get([key])
    if not found.memories:
        raise unknown_resource(uri, f"There is no note {key!r} in this vault.")
    return _cut_resource_text(answers.plain_answer(found.memories[0].content))


def _cut_resource_text(text: str) -> str:
    """A note of which the end says how much of it is missing."""
    if len(text) <= limits.SHOWN:
        return text
    left = len(text) - limits.SHOWN
    return (
        f"{text[: limits.SHOWN]}…\n\n({left:,} more characters; recall finds passages in them.)\n"
    )


def resource_version(vault: Vault, uri: str) -> str:
    """What a note is at now; unlike reading it, this counts as no use of the memory."""
    return vault.source(unquote(uri.removeprefix(f"{ROOT}vault/"))).version


def _journal_resource(vault: Vault, session: str) -> str:
    told = answers.plain_answer(vault.session_summary(session))
    return answers.answer_text(told | {"log": vault.timeline(session_id=session).observations})


def _list_page_resource(vault: Vault, query: str) -> str:
    given = {name: values[-1] for name, values in parse_qs(query).items()}
    numbers: dict[str, Any] = {}
    for name, least, most in (("offset", 0, 10**9), ("limit", 1, MOST)):
        text = given.get(name, "50" if name == "limit" else "0")
        if not text.isascii() or not text.isdigit() or not least <= int(text[:12]) <= most:
            reason = f"{name} must be a whole number between {least} and {most}."
            raise _invalid(reason, {"uri": f"{ROOT}vault?{query}"})
        numbers[name] = int(text)
    return answers.answer_text(vault.list(order="title", **numbers))


def _activity_resource(vault: Vault, query: str) -> str:
    from vaultmem.surfaces import lean_json

    given: dict[str, Any] = {name: values[-1] for name, values in parse_qs(query).items()}
    known = {name: given[name] for name in ("by", "since", "project") if name in given}
    limit = given.get("limit", "20")
    if not limit.isascii() or not limit.isdigit() or not 1 <= int(limit[:12]) <= PAGE:
        reason = f"limit must be a whole number between 1 and {PAGE}."
        raise _invalid(reason, {"uri": f"{ROOT}recent?{query}"})
    found = vault.activity(**known, limit=int(limit))
    return answers.answer_text(lean_json.lean_answer(found, {"limit": limit}))


def _recent_resource(vault: Vault) -> str:
    """The notes themselves, and what happened last."""
    from vaultmem.surfaces import lean_json

    happened = lean_json.lean_answer(vault.activity(limit=20), {})
    return answers.answer_text(
        {**answers.plain_answer(vault.recent(20)), "activity": happened["activity"]}
    )


# --- the fixed ones ----------------------------------------------------------------------


def _graph_resource(vault: Vault) -> str:
    from vaultmem.notes.note import one_line

    graph: dict[str, Any] = answers.plain_answer(
        vault.search_graph(include_memories=False, limit=ENTITIES)
    )
    stats = graph["graph_stats"]
    entities, edges = stats.get("total_entities", 0), stats.get("total_relationships", 0)
    lines = ["## Knowledge graph", "", f"{entities} entities, {edges} relationships", ""]
    for entity in graph["entities"]:
        known = f"{entity['type']}, {entity['memory_count']} memories"
        lines.append(f"- **{entity['name']}** ({known})")
        edges = entity["relationships"]
        lines += [
            f"  - {edge['type']} {'→' if edge['direction'] == 'outgoing' else '←'} {edge['target']}"
            for edge in edges[:EDGES]
        ]
        if len(edges) > EDGES:
            lines.append(f"  - … and {len(edges) - EDGES} more")
    return _cut_resource_text("\n".join([*map(one_line, lines), ""]))


_READERS: Final[Mapping[str, Callable[[Any], str]]] = {
    "status": lambda vault: answers.answer_text(replace(vault.status(), settings=None)),
    "session/summary": lambda vault: _cut_resource_text(
        answers.plain_answer(vault.session_summary().text)
    ),
    "project/knowledge-graph": _graph_resource,
    "user/preferences": lambda vault: (
        vault.context(sections=("preferences",), max_tokens=4000).context_block
        or "No preferences are known yet.\n"
    ),
    "recent": _recent_resource,
    "conflicts": lambda vault: answers.answer_text(vault.conflicts()),
}
