"""Private parts of the MCP library that we use: each test fails once its part may go."""

from __future__ import annotations

from mcp.server.session import ServerSession


def test_a_request_does_not_tell_its_connection_itself() -> None:
    """Once it does, `compat.connection_of` is this attribute."""
    assert not hasattr(ServerSession, "connection")
