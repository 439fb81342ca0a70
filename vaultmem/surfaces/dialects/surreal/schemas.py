"""The SurrealDB memory plugin's ten tools and four resources, word for word as its document registers them."""

from __future__ import annotations

from typing import Any, Final

from vaultmem.surfaces.dialects import tool_listing
from vaultmem.surfaces.mcp.schemas import (
    ENTITIES,
    FLAG,
    SCOPES,
    SHARE,
    TEXT,
    TEXTS,
    TYPES,
    one_of_schema,
    some_of_schema,
    text_schema,
    whole_schema,
)


def _surreal_texts_schema(description: str) -> dict[str, Any]:
    return {**TEXTS, "description": description}


TOOLS: Final = (
    tool_listing(
        "store_memory",
        "Store a new memory with content, classification, and metadata. "
        "Embeddings are generated automatically.",
        {
            "content": text_schema(
                "The memory content — an observation, fact, procedure, or interaction to remember"
            ),
            "type": one_of_schema(
                *TYPES,
                description="Memory type: episodic (events/interactions), "
                "semantic (facts/knowledge), procedural (how-to/patterns)",
            ),
            "scope": one_of_schema(
                *SCOPES,
                description="Memory scope: session (current conversation), "
                "project (current codebase), user (cross-project)",
            ),
            "importance": {
                **SHARE,
                "default": 0.5,
                "description": "Importance score from 0.0 to 1.0. Higher values are recalled "
                "more often and resisted during consolidation.",
            },
            "tags": _surreal_texts_schema("Freeform labels for categorization and filtering"),
            "source": {
                "type": "object",
                "properties": {
                    "tool": text_schema("MCP tool that produced this memory"),
                    "file": text_schema("File path relevant to this memory"),
                    "conversation_turn": {
                        "type": "integer",
                        "description": "Conversation turn number",
                    },
                },
                "additionalProperties": False,
            },
            "related_entities": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "name": TEXT,
                        "type": text_schema(
                            "Entity type: component, file, person, concept, library, service, etc."
                        ),
                        "relationship": text_schema(
                            "Relationship label: uses, depends_on, authored_by, implements, etc."
                        ),
                    },
                    "required": ["name", "type", "relationship"],
                },
                "description": "Entities to link in the knowledge graph",
            },
            "session_id": text_schema(
                "Session ID to associate with. Defaults to the current session."
            ),
        },
        *("content", "type", "scope"),
    ),
    tool_listing(
        "recall_memories",
        "Retrieve memories by semantic query with scope filtering, search strategy selection, "
        "and relevance ranking.",
        {
            "query": text_schema("Natural language query for semantic search"),
            "scope": some_of_schema(*SCOPES)
            | {"description": "Scope filter. Single value or array. Defaults to all scopes."},
            "type": some_of_schema(*TYPES)
            | {"description": "Type filter. Single value or array. Defaults to all types."},
            "strategy": one_of_schema(
                *("vector", "keyword", "hybrid", "graph"),
                default="hybrid",
                description="Search strategy: vector (embedding similarity), keyword (full-text), "
                "hybrid (both + RRF), graph (entity traversal)",
            ),
            "limit": whole_schema(1, 50, default=10, description="Maximum number of results"),
            "min_importance": {
                **SHARE,
                "default": 0,
                "description": "Minimum importance score to include",
            },
            "tags": _surreal_texts_schema("Filter to memories with ANY of these tags"),
            "time_range": {
                "type": "object",
                "properties": {
                    "after": {"type": "string", "format": "date-time"},
                    "before": {"type": "string", "format": "date-time"},
                },
                "description": "Temporal filter using ISO 8601 timestamps",
            },
            "include_forgotten": {
                **FLAG,
                "default": False,
                "description": "Include soft-deleted memories in results",
            },
        },
        "query",
    ),
    tool_listing(
        "search_knowledge_graph",
        "Traverse the knowledge graph to discover entity relationships and connected memories.",
        {
            "entity": text_schema("Entity name to look up. Omit for a graph overview."),
            "relationship_type": text_schema(
                "Filter edges by relationship type (e.g., uses, depends_on, authored_by)"
            ),
            "direction": one_of_schema("outgoing", "incoming", "both", default="both"),
            "depth": whole_schema(1, 3, default=1, description="Maximum traversal hops"),
            "include_memories": {
                **FLAG,
                "default": True,
                "description": "Include memories linked to discovered entities",
            },
            "limit": whole_schema(1, 100, default=20),
        },
    ),
    tool_listing(
        "forget_memory",
        "Soft-delete a memory. The memory is excluded from recall by default but remains in "
        "the database.",
        {
            "memory_id": text_schema("The memory record ID (e.g., memory:ulid)"),
            "reason": text_schema("Reason for forgetting (stored for audit trail)"),
        },
        "memory_id",
    ),
    tool_listing(
        "update_memory",
        "Update a memory's content, metadata, importance, tags, or entity relationships.",
        {
            "memory_id": text_schema("The memory record ID"),
            "content": text_schema("New content (triggers re-embedding)"),
            "importance": SHARE,
            "tags": {"type": "object", "properties": {"add": TEXTS, "remove": TEXTS}},
            "metadata": {
                "type": "object",
                "additionalProperties": True,
                "description": "Arbitrary key-value pairs to merge into existing metadata",
            },
            "related_entities": {
                "type": "object",
                "properties": {
                    "add": ENTITIES,
                    "remove": _surreal_texts_schema("Entity names to unlink"),
                },
            },
        },
        "memory_id",
    ),
    tool_listing(
        "reflect_and_consolidate",
        "Analyze session memories and produce consolidated insights — summarize episodic memories "
        "into semantic ones, extract recurring patterns into procedural memories.",
        {
            "session_id": text_schema("Session to consolidate. Defaults to current session."),
            "strategy": one_of_schema(
                *("summarize", "extract_patterns", "full"),
                default="full",
                description="Consolidation strategy: summarize (compress episodic→semantic), "
                "extract_patterns (find recurring themes), full (both)",
            ),
            "dry_run": {
                **FLAG,
                "default": False,
                "description": "If true, return what would be consolidated without writing to "
                "the database",
            },
        },
    ),
    tool_listing(
        "get_memory_status",
        "Return connection health, memory counts by scope and type, storage statistics, and "
        "current session info.",
        {},
    ),
    tool_listing(
        "get_memory_context",
        "Assemble a pre-formatted context block of relevant memories for the current task. "
        "Used by hooks for automatic context injection.",
        {
            "task_description": text_schema(
                "What Claude is currently working on (improves relevance ranking)"
            ),
            "files_in_context": _surreal_texts_schema(
                "File paths currently in Claude's context (for project memory filtering)"
            ),
            "max_tokens": whole_schema(
                100, 8000, default=2000, description="Token budget for the context block"
            ),
            "sections": {
                "type": "array",
                "items": one_of_schema(
                    "preferences", "project_context", "session_history", "relevant_procedures"
                ),
                "description": "Which sections to include. Defaults to all.",
            },
        },
    ),
    tool_listing(
        "promote_memory",
        "Promote a memory from a narrower scope to a broader one "
        "(session→project, session→user, project→user).",
        {
            "memory_id": text_schema("Memory to promote"),
            "target_scope": one_of_schema(
                *("project", "user"),
                description="Target scope (must be broader than the memory's current scope)",
            ),
            "reason": text_schema("Reason for promotion"),
        },
        *("memory_id", "target_scope"),
    ),
    tool_listing(
        "tag_memory",
        "Add or remove tags on a memory for organization and filtering.",
        {
            "memory_id": text_schema("Memory to tag"),
            "add": _surreal_texts_schema("Tags to add"),
            "remove": _surreal_texts_schema("Tags to remove"),
        },
        "memory_id",
    ),
)

RESOURCES: Final = tuple(
    {"uri": f"memory://{path}", "name": name, "description": line, "mimeType": kind}
    for path, name, line, kind in (
        (
            "status",
            "Memory System Status",
            "Connection health, memory counts, and storage statistics",
            "application/json",
        ),
        (
            "session/summary",
            "Current Session Summary",
            "Memories stored, recalled, and consolidated this session",
            "text/markdown",
        ),
        (
            "project/knowledge-graph",
            "Project Knowledge Graph",
            "Entity and relationship overview for the current project",
            "text/markdown",
        ),
        (
            "user/preferences",
            "User Preferences",
            "Learned user preferences and coding patterns",
            "text/markdown",
        ),
    )
)
