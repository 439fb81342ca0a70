"""Serves a dialect: the native server's life with another system's surface.

A dialect's clients were written for a plain loop that takes one request after the other, often
without waiting for answers. So requests of one connection are worked through in their order, and
one that comes before `initialize` is answered like any other.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread
import mcp_types as types
from mcp import MCPError
from mcp.server.lowlevel import Server

from vaultmem.errors import ReadOnly
from vaultmem.limits import bounded_client_name
from vaultmem.surfaces import arguments
from vaultmem.surfaces.dialects import (
    ClientConnection,
    Dialect,
    DialectCall,
    DialectError,
    DialectTool,
)
from vaultmem.surfaces.dialects.reach import within_reach
from vaultmem.surfaces.mcp import messages, server
from vaultmem.surfaces.mcp.compat import connection_of
from vaultmem.surfaces.mcp.server import CACHING, CallerOf, Context, McpServer, Options

if TYPE_CHECKING:
    from vaultmem.operations.caller import Caller
    from vaultmem.surfaces.mcp.followed_vault import MakeLife
    from vaultmem.vault import Vault

log = logging.getLogger("vaultmem")

_CONNECTED: Final = "vaultmem.connected"  # what is kept with a connection
_TURN: Final = "vaultmem.turn"
_NO_TOOL: Final = DialectTool({"name": ""}, lambda vault, given: None)
_ENDLESS: Final = "subscriptions/listen"


class DialectServer(McpServer):
    def __init__(
        self,
        provide: Callable[[], Vault],
        options: Options,
        dialect: Dialect,
        caller_of: CallerOf | None = None,
        life: MakeLife | None = None,
    ) -> None:
        self.dialect = dialect
        self._numbers = itertools.count(1)  # of connections
        super().__init__(provide, options, caller_of, dialect.life_without_vault() or life)

    # --- life ----------------------------------------------------------------------------

    def _vault_opened(self, vault: Vault) -> None:
        self.dialect.vault_opened(self._dialect_vault(vault, ClientConnection()))

    def own_vault(self) -> Vault:
        """As whoever started the server sees it."""
        return self._dialect_vault(self.vault(), ClientConnection())

    def stop(self) -> None:
        self._tell_dialect_of_end(lambda _: self.dialect.server_stopping(), None)
        if (vault := self.life.in_use) is not None:
            self._tell_dialect_of_end(
                self.dialect.server_ended, self._dialect_vault(vault, ClientConnection())
            )
        super().stop()
        self.dialect.server_stopped()

    def _tell_dialect_of_end(self, tell: Callable[[Any], None], vault: Vault | None) -> None:
        try:
            tell(vault)
        except Exception as error:  # the edge: nobody is left to be told
            log.warning("Not all could be put in order at the end: %s", error)

    # --- who asks ------------------------------------------------------------------------

    def _dialect_client(self, ctx: Context) -> ClientConnection:
        kept: ClientConnection | None = connection_of(ctx).state.get(_CONNECTED)
        return kept or _dialect_client_from_wire(ctx)

    def _served_vault_view(self, ctx: Context) -> Callable[[], Vault]:
        usual = super()._served_vault_view(ctx)

        def view() -> Vault:
            vault = usual()
            self.dialect.vault_served(vault, self._dialect_client(ctx))
            return vault

        return view

    def _caller_of_dialect_request(self, ctx: Context, caller: Caller) -> Caller:
        connected = self._dialect_client(ctx)
        source = caller.client or connected.client or self.dialect.name
        known = self.dialect.caller_of_connection(replace(caller, client=source), connected)
        return within_reach(known, self.vault().settings)

    def _dialect_vault(self, vault: Vault, connected: ClientConnection) -> Vault:
        caller = self.dialect.caller_of_connection(self.options.caller or vault.caller, connected)
        return vault.for_caller(within_reach(caller, vault.settings))

    def for_rest(self, caller: Caller) -> Vault:
        vault = self.vault()
        caller = self.dialect.caller_of_connection(caller, ClientConnection(over_http=True))
        return vault.for_caller(within_reach(caller, vault.settings))

    # --- every message -------------------------------------------------------------------

    async def _handle_dialect_message(self, ctx: Context, call_next: Any) -> Any:
        """Stands before everything that a client says."""
        if ctx.method == "initialize":
            return self._dialect_initialized(ctx, await call_next(ctx))
        if ctx.request_id is None or ctx.method == _ENDLESS:
            return await self._dialect_result(ctx, call_next)
        self._know_dialect_client(ctx)
        async with connection_of(ctx).state.setdefault(_TURN, anyio.Lock()):
            return await self._dialect_result(ctx, call_next)

    async def _dialect_result(self, ctx: Context, call_next: Any) -> Any:
        try:
            return await call_next(ctx)
        except DialectError as error:
            raise MCPError(error.code, error.message, error.data) from None
        except MCPError as error:
            if error.error.code != types.METHOD_NOT_FOUND:
                raise
            told = self.dialect.unknown_method(ctx.method)
            raise MCPError(types.METHOD_NOT_FOUND, told) from None

    def _dialect_initialized(self, ctx: Context, usual: Mapping[str, Any]) -> dict[str, Any]:
        self._know_dialect_client(ctx)
        said = {
            "protocolVersion": usual["protocolVersion"],
            "capabilities": self.dialect.capabilities,
            "serverInfo": self.dialect.server_info,
        }
        told = self.dialect.instructions
        return said | ({"instructions": told} if told else {})

    def _know_dialect_client(self, ctx: Context) -> None:
        """Know a connection of the handshake era from its first request to its end."""
        connection = connection_of(ctx)
        known = _CONNECTED in connection.state
        if messages.names_protocol_version(ctx.params) or (known and ctx.method != "initialize"):
            return
        number = connection.state[_CONNECTED].number if known else next(self._numbers)
        connection.state[_CONNECTED] = replace(_dialect_client_from_wire(ctx), number=number)
        if ctx.method != "initialize":
            connection.initialized.set()  # else the library refuses whoever does not greet
        if not known:
            connection.exit_stack.push_async_callback(
                partial(self._leave_dialect_client, ctx, super()._served_vault_view(ctx))
            )

    async def _leave_dialect_client(self, ctx: Context, view: Callable[[], Vault]) -> None:
        if self.life.in_use is not None:
            ended, connected = self.dialect.connection_ended, self._dialect_client(ctx)
            await anyio.to_thread.run_sync(
                lambda: self._tell_dialect_of_end(lambda vault: ended(vault, connected), view())
            )

    # --- tools ---------------------------------------------------------------------------

    def _offered_dialect_tools(self, ctx: Context) -> list[DialectTool]:
        read_only = self._is_read_only(ctx)
        return [tool for tool in self.dialect.tools if not (tool.writes and read_only)]

    async def _list_tools(self, ctx: Context, params: Any) -> Any:
        return {"tools": [dict(tool.listing) for tool in self._offered_dialect_tools(ctx)]}

    async def _call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> Any:
        dialect = self.dialect
        tool = next((tool for tool in dialect.tools if tool.name == params.name), None)
        try:
            if tool is None:
                return dialect.unknown_tool(params.name)
            return await self._call_dialect_tool(ctx, tool, params.arguments or {})
        except DialectError:
            raise
        except Exception as error:  # the edge, as in the native surface
            return dialect.failure_result(params.name, error)

    async def _call_dialect_tool(
        self, ctx: Context, tool: DialectTool, given: Mapping[str, Any]
    ) -> Any:
        if tool not in self._offered_dialect_tools(ctx):
            raise ReadOnly(f"This memory is read-only here, so {tool.name} is refused.")
        arguments.require_shallow_arguments(tool.name, given)
        checked = self.dialect.checked_call(tool, given)
        if tool.connects:
            self._connect_dialect_client_anew(ctx, checked)
        dialect = self.dialect
        return await self._work_beside_vault(
            ctx,
            lambda view: dialect.success_result(
                tool, dialect.run_call(self._dialect_call(ctx, tool, checked, view))
            ),
        )

    def _dialect_call(
        self, ctx: Context, tool: DialectTool, given: Mapping[str, Any], view: Callable[[], Vault]
    ) -> DialectCall:
        meta = (ctx.params or {}).get("_meta")
        return DialectCall(
            tool,
            given,
            view,
            meta if isinstance(meta, Mapping) else {},
            self._dialect_client(ctx),
            self._named_caller(ctx),
        )

    def _connect_dialect_client_anew(self, ctx: Context, given: Mapping[str, Any]) -> None:
        connected = self.dialect.connection_after(self._dialect_client(ctx), given)
        if connected.number:
            connection_of(ctx).state[_CONNECTED] = connected

    def _input_schema(self, name: str) -> dict[str, Any] | None:
        return next((dict(t.schema) for t in self.dialect.tools if t.name == name), None)

    # --- resources -----------------------------------------------------------------------

    async def _list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> Any:
        assert self.dialect.resources is not None
        listing, cursor = self.dialect.list_resources, params.cursor if params else None
        with server.errors_outside_tools():
            return await self._work_beside_vault(ctx, lambda view: dict(listing(view, cursor)))

    async def _list_templates(self, ctx: Context, params: Any) -> Any:
        assert self.dialect.resources is not None
        return {"resourceTemplates": [dict(each) for each in self.dialect.resources.templates]}

    async def _read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> Any:
        assert self.dialect.resources is not None
        uri = params.uri
        with server.errors_outside_tools():
            kind, text = await self._work_beside_vault(
                ctx, lambda view: self._dialect_resource(ctx, uri, view)
            )
        return {"contents": [{"uri": uri, "mimeType": kind, "text": text}]}

    def _dialect_resource(
        self, ctx: Context, uri: str, view: Callable[[], Vault]
    ) -> tuple[str, str]:
        return self.dialect.read_resource(uri, self._dialect_call(ctx, _NO_TOOL, {}, view))

    # --- the server ----------------------------------------------------------------------

    def _make_server(self) -> Server[Any]:
        info = self.dialect.server_info
        made = server.AnnouncingServer(
            str(info["name"]),
            version=str(info["version"]),
            instructions=self.dialect.instructions or None,
            lifespan=self._mcp_server_lifespan,
            cache_hints=CACHING,
            get_tool_input_schema=self._input_schema,
            on_list_tools=server.complete_result(self._list_tools),
            on_call_tool=server.complete_result(self._call_tool),
            **self._dialect_resource_handlers(),
        )
        made.middleware[:] = [self._handle_dialect_message]
        if self.dialect.resources is not None:
            made.add_notification_handler(
                "notifications/initialized", types.NotificationParams, self._initialized
            )
        return made

    def _dialect_resource_handlers(self) -> dict[str, Any]:
        if self.dialect.resources is None:
            return {}
        handlers: dict[str, Any] = {
            "on_list_resources": server.complete_result(self._list_resources),
            "on_list_resource_templates": server.complete_result(self._list_templates),
            "on_read_resource": server.complete_result(self._read_resource),
            "on_subscriptions_listen": self._listen,
        }
        if self.dialect.resources.subscribe:
            handlers["on_subscribe_resource"] = server.complete_result(self._subscribe)
            handlers["on_unsubscribe_resource"] = server.complete_result(self._unsubscribe)
        return handlers


def _dialect_client_from_wire(ctx: Context) -> ClientConnection:
    info = messages.client_info(ctx.method, ctx.params)
    extra = info.get("extra")
    session = extra.get("sessionId") if isinstance(extra, Mapping) else None
    name = info.get("name")
    return ClientConnection(
        client=bounded_client_name(name)
        if isinstance(name, str) and name != messages.NAMELESS
        else "",
        session=session if isinstance(session, str) else "",
        over_http=ctx.request is not None,
    )
