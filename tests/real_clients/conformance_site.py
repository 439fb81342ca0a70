"""The real server over HTTP, with the fixtures that the official conformance suite calls for.

    python -m tests.real_clients.conformance_site PORT VAULT

The suite asks for tools, resources and prompts of fixed names; they are put beside our own, so
that every answer travels the same road. It also asks for logging, sampling and elicitation,
which this server does not use: conformance-*.yml names those scenarios.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.subscriptions import PromptsListChanged, ToolsListChanged

from vaultmem.surfaces import http
from vaultmem.surfaces.http import app
from vaultmem.surfaces.mcp.server import McpServer, Options
from vaultmem.vault import Vault

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SOUND = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
Handler = Callable[[Any, Any], Awaitable[Any]]


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def embedded(uri: str, kind: str, words: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": words}}


IMAGE = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
TOOLS: dict[str, list[dict[str, Any]]] = {
    "test_simple_text": [text("This is a simple text response for testing.")],
    "test_image_content": [IMAGE],
    "test_audio_content": [{"type": "audio", "data": SOUND, "mimeType": "audio/wav"}],
    "test_embedded_resource": [
        embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ],
    "test_multiple_content_types": [
        text("Multiple content types test:"),
        IMAGE,
        embedded(
            "test://mixed-content-resource", "application/json", '{"test": "data", "value": 123}'
        ),
    ],
    "test_error_handling": [text("This tool intentionally returns an error for testing")],
    "test_tool_with_progress": [text("done")],
    "test_missing_capability": [text("Client declared sampling capability; proceeding.")],
    "test_trigger_tool_change": [text("tool list changed")],
    "test_trigger_prompt_change": [text("prompt list changed")],
    "test_logging_tool": [text("nothing is logged to the client")],
    "test_streaming_elicitation": [text("nobody is asked")],
}
RESOURCES: dict[str, dict[str, Any]] = {
    "test://static-text": {
        "mimeType": "text/plain",
        "text": "This is the content of the static text resource.",
    },
    "test://static-binary": {"mimeType": "image/png", "blob": PIXEL},
    "test://watched-resource": {"mimeType": "text/plain", "text": "Watched resource content"},
}
PROMPTS: dict[str, list[str]] = {
    "test_simple_prompt": [],
    "test_prompt_with_arguments": ["arg1", "arg2"],
    "test_prompt_with_embedded_resource": ["resourceUri"],
    "test_prompt_with_image": [],
}


def prompt(name: str, given: dict[str, str]) -> list[dict[str, Any]]:
    if name == "test_prompt_with_arguments":
        return [text(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")]
    if name == "test_prompt_with_embedded_resource":
        words = "Embedded resource content for testing."
        return [
            embedded(given["resourceUri"], "text/plain", words),
            text("Please process the embedded resource above."),
        ]
    if name == "test_prompt_with_image":
        return [IMAGE, text("Please analyze the image above.")]
    return [text("This is a simple prompt for testing.")]


def with_fixtures(served: McpServer) -> McpServer:
    server = served.server

    def beside(method: str, wrap: Callable[[Handler], Handler]) -> None:
        entry = server.get_request_handler(method)
        assert entry is not None
        server.add_request_handler(method, entry.params_type, wrap(entry.handler))

    def listing(key: str, more: list[dict[str, Any]]) -> Callable[[Handler], Handler]:
        def wrap(ours: Handler) -> Handler:
            async def listed(ctx: Any, params: Any) -> Any:
                found = await ours(ctx, params)
                return found | {key: [*found[key], *more]}

            return listed

        return wrap

    def calls(ours: Handler) -> Handler:
        async def call(ctx: Any, params: types.CallToolRequestParams) -> Any:
            if params.name not in TOOLS:
                return await ours(ctx, params)
            await _act(served, ctx, params.name)
            wrong = params.name == "test_error_handling"
            return {"resultType": "complete", "content": TOOLS[params.name], "isError": wrong}

        return call

    def reads(ours: Handler) -> Handler:
        async def read(ctx: Any, params: types.ReadResourceRequestParams) -> Any:
            uri = params.uri
            found = RESOURCES.get(uri)
            if uri.startswith("test://template/"):
                id_ = uri.split("/")[3]
                told = {"id": id_, "templateTest": True, "data": f"Data for ID: {id_}"}
                found = {"mimeType": "application/json", "text": json.dumps(told)}
            if found is None:
                return await ours(ctx, params)
            return {"resultType": "complete", "contents": [{"uri": uri, **found}]}

        return read

    def prompts(ours: Handler) -> Handler:
        async def get(ctx: Any, params: types.GetPromptRequestParams) -> Any:
            if params.name not in PROMPTS:
                return await ours(ctx, params)
            contents = prompt(params.name, params.arguments or {})
            messages = [{"role": "user", "content": content} for content in contents]
            return {"resultType": "complete", "messages": messages}

        return get

    def subscribes(ours: Handler) -> Handler:
        async def subscribe(ctx: Any, params: Any) -> Any:
            known = params.uri in RESOURCES
            return {"resultType": "complete"} if known else await ours(ctx, params)

        return subscribe

    schema = {"type": "object"}
    tools = [{"name": n, "description": "A fixture.", "inputSchema": schema} for n in TOOLS]
    beside("tools/list", listing("tools", tools))
    beside("tools/call", calls)
    beside("resources/list", listing("resources", [{"uri": u, "name": u} for u in RESOURCES]))
    beside("resources/read", reads)
    beside("resources/subscribe", subscribes)
    beside("resources/unsubscribe", subscribes)
    beside("prompts/list", listing("prompts", [_prompt_entry(name) for name in PROMPTS]))
    beside("prompts/get", prompts)
    return served


def _prompt_entry(name: str) -> dict[str, Any]:
    arguments = [{"name": each, "required": True} for each in PROMPTS[name]]
    return {"name": name, "description": "A fixture.", "arguments": arguments}


async def _act(served: McpServer, ctx: Any, name: str) -> None:
    if name == "test_tool_with_progress":
        for done in (0, 50, 100):
            await ctx.session.report_progress(done, 100, f"Completed step {done} of 100")
    elif name == "test_trigger_tool_change":
        await served.notifier.publish(ToolsListChanged())
    elif name == "test_trigger_prompt_change":
        await served.notifier.publish(PromptsListChanged())
    elif name == "test_missing_capability":
        able = ctx.session.client_capabilities
        if able is None or able.sampling is None:
            needed = {"requiredCapabilities": {"sampling": {}}}
            message = "This tool requires the client 'sampling' capability"
            raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, message, needed)


if __name__ == "__main__":
    port, vault = sys.argv[1:]
    app.run_http(
        lambda: with_fixtures(
            McpServer(lambda: Vault.open(vault), Options(), http.caller_of_request)
        ),
        http.open_http_socket("127.0.0.1", int(port)),
    )
