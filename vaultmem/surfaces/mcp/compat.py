"""Parts of the MCP library that it does not offer, and that nothing else can do.

`tests/surfaces/mcp/test_compat.py` says when one of them may go.
"""

from __future__ import annotations

from typing import Any

from mcp.server import ServerRequestContext
from mcp.server.connection import Connection


def connection_of(ctx: ServerRequestContext[Any, Any]) -> Connection:
    """What a request came over: it outlives the request, and may keep things of ours."""
    return ctx.session._connection
