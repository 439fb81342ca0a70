"""A server on the same library with one tool that does nothing: what every server pays."""

from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}


async def list_tools(ctx: Any, params: Any) -> Any:
    return {"tools": [{"name": "nothing", "inputSchema": SCHEMA}]}


async def call_tool(ctx: Any, params: Any) -> Any:
    return {"content": [{"type": "text", "text": params.arguments["text"]}]}


async def main() -> None:
    server: Server[Any] = Server("empty", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


anyio.run(main)
