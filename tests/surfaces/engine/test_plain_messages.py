"""Replies written without the MCP library are, to the byte, what the library would write."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_types import methods
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from vaultmem.front.replies import is_plain_id
from vaultmem.surfaces.engine import plain_messages
from vaultmem.surfaces.mcp import resources
from vaultmem.surfaces.mcp.line_pipe import _line_of

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)
RESULTS = st.fixed_dictionaries(
    {
        "content": st.lists(WORDS.map(lambda text: {"type": "text", "text": text}), max_size=2),
        "isError": st.booleans(),
    },
    optional={"structuredContent": st.dictionaries(WORDS, VALUES, max_size=4)},
)
IDS = (st.integers(-(2**52), 2**52) | st.from_regex(r"[\w-]{1,30}", fullmatch=True)).filter(
    is_plain_id
)


def as_library(id_: Any, method: str, version: str, result: dict[str, Any]) -> bytes:
    made = methods.serialize_server_result(method, version, {"resultType": "complete", **result})
    return _line_of(types.JSONRPCResponse(jsonrpc="2.0", id=id_, result=made))


@settings(max_examples=150)
@given(IDS, st.sampled_from(HANDSHAKE_PROTOCOL_VERSIONS), RESULTS)
def test_results_of_calls(id_: Any, version: str, result: dict[str, Any]) -> None:
    ours = plain_messages.reply_line(id_, plain_messages.tool_result(result))
    assert ours == as_library(id_, "tools/call", version, result)


@settings(max_examples=60)
@given(IDS, st.integers(-40_000, 0), WORDS, st.none() | st.dictionaries(WORDS, VALUES, max_size=3))
def test_errors(id_: Any, code: int, message: str, data: Any) -> None:
    more = {} if data is None else {"data": data}
    error = types.ErrorData(code=code, message=message, **more)
    theirs = _line_of(types.JSONRPCError(jsonrpc="2.0", id=id_, error=error))
    assert plain_messages.error_line(id_, code, message, data) == theirs


def test_lists_of_resources() -> None:
    entry = {
        "uri": "memory://vault/a.md",
        "name": "a.md",
        "title": "A",
        "description": "é",
        "mimeType": "text/markdown",
        "annotations": {"lastModified": "2026-11-19T00:00:00Z"},
    }
    lists: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("resources/list", "resources", {"resources": [entry], "nextCursor": "notes-100"}),
        (
            "resources/templates/list",
            "resourceTemplates",
            {"resourceTemplates": list(resources.TEMPLATES)},
        ),
    )
    for version in HANDSHAKE_PROTOCOL_VERSIONS:
        for method, name, made in lists:
            ours = plain_messages.reply_line(1, plain_messages.listing_result(made, name))
            assert ours == as_library(1, method, version, made)
