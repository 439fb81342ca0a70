"""One MCP server over one vault, for stdio and HTTP alike.

Nothing heavy happens before the first reply: the vault is opened by the first call that
needs it, or by `start`, in a thread.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio
import anyio.to_thread
import mcp_types as types
from mcp import MCPError
from mcp.server import NotificationOptions, ServerRequestContext
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.lowlevel import Server

from vaultmem import __version__
from vaultmem.errors import VaultmemError
from vaultmem.surfaces import answers
from vaultmem.surfaces.mcp import hook_tool, prompts, resources, sampling, tool_calls, tools
from vaultmem.surfaces.mcp.followed_vault import FollowedVault, Life, MakeLife
from vaultmem.surfaces.mcp.notifications import Look, Notifier
from vaultmem.surfaces.mcp.schemas import Tool

if TYPE_CHECKING:
    from vaultmem.operations.caller import Caller
    from vaultmem.vault import Vault

log = logging.getLogger("vaultmem")
T = TypeVar("T")
Context = ServerRequestContext[Any, Any]
CallerOf = Callable[[Any], "Caller | None"]

AT_ONCE: Final = 16  # calls that work at the same time
MOST_SUBSCRIPTIONS: Final = 1_000  # of one connection: each is looked at after every change
_TOO_MANY: Final = f"A connection has at most {MOST_SUBSCRIPTIONS:,} subscriptions; end some first."

CACHING: Final[dict[CacheableMethod, CacheHint]] = {  # everything may change at any moment
    "tools/list": CacheHint(),
    "prompts/list": CacheHint(),
    "resources/list": CacheHint(),
    "resources/read": CacheHint(),
    "resources/templates/list": CacheHint(),
    "server/discover": CacheHint(),
}


@dataclass(frozen=True)
class Options:
    read_only: bool = False
    toolsets: tuple[str, ...] = tools.TOOLSETS
    caller: Caller | None = None  # who speaks when nobody says otherwise; else the vault's own
    watch: bool = True


class AnnouncingServer(Server[Any]):
    """Says in the handshake that the list of resources may change."""

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *more: Any, **named: Any
    ) -> Any:
        changing = notification_options or NotificationOptions(resources_changed=True)
        return super().create_initialization_options(changing, *more, **named)


def complete_result(handler: Callable[[Any, Any], Awaitable[dict[str, Any]]]) -> Any:
    """Handlers return plain dicts; the 2026 era wants to be told that they are complete."""

    async def answer(ctx: Context, params: Any) -> Any:
        return {"resultType": "complete", **await handler(ctx, params)}

    return answer


@contextlib.contextmanager
def errors_outside_tools() -> Iterator[None]:
    """There an error is a JSON-RPC error, with the same envelope as its data."""
    try:
        yield
    except MCPError:
        raise
    except Exception as error:  # the edge, as for tools
        told = answers.error_answer(error)
        wrong = told["error"] in ("not_found", "invalid_input", "outside_vault")
        code = types.INVALID_PARAMS if wrong else types.INTERNAL_ERROR
        raise MCPError(code, told["message"], told) from None


class McpServer:
    def __init__(
        self,
        provide: Callable[[], Vault],
        options: Options,
        caller_of: CallerOf | None = None,
        life: MakeLife | None = None,
    ) -> None:
        self.options = options
        self.notifier = Notifier()
        self._caller_of = caller_of or (lambda request: None)
        self._slots: anyio.CapacityLimiter | None = None
        self._asked_for: set[str] = set()  # prose, by key
        changed = self.notifier.notify_changed
        self.life: Life = (
            life(self._vault_opened, changed)
            if life
            else FollowedVault(provide, self._vault_opened, changed, watch=options.watch)
        )
        self.server = self._make_server()

    # --- the vault -----------------------------------------------------------------------

    def vault(self) -> Vault:
        return self.life.vault()

    def start(self) -> None:
        self.life.start_following()

    def stop(self) -> None:
        self.life.stop_following()

    def _vault_opened(self, vault: Vault) -> None:
        """Before anything is asked of it."""

    def for_rest(self, caller: Caller) -> Vault:
        return self.vault().for_caller(caller)

    # --- who asks ------------------------------------------------------------------------

    def _named_caller(self, ctx: Context) -> Caller | None:
        """Who the request or the options say it is, if they do."""
        return self._caller_of(ctx.request) or self.options.caller

    def _is_read_only(self, ctx: Context) -> bool:
        caller = self._named_caller(ctx)
        return self.options.read_only or (caller is not None and caller.read_only)

    def _served_vault_view(self, ctx: Context) -> Callable[[], Vault]:
        """The vault as this request's sender may see it; to be opened in a thread."""
        named, read_only = self._named_caller(ctx), self._is_read_only(ctx)
        client = ctx.session.client_params

        def view() -> Vault:
            return tool_calls.view_for_client(
                self.vault,
                lambda vault: self._caller_of_dialect_request(ctx, named or vault.caller),
                client.client_info.name if client else "",
                read_only=read_only,
            )

        return view

    def _caller_of_dialect_request(self, ctx: Context, caller: Caller) -> Caller:
        return caller

    async def _work_on_vault(
        self, ctx: Context, do: Callable[[Vault], T], *, awaited: bool = True
    ) -> T:
        """Where it is not `awaited` to its end, it goes on when the caller does."""
        return await self._work_beside_vault(ctx, lambda view: do(view()), awaited=awaited)

    async def _work_beside_vault(
        self, ctx: Context, do: Callable[[Callable[[], Vault]], T], *, awaited: bool = True
    ) -> T:
        """What opens the vault itself, if at all."""
        view = self._served_vault_view(ctx)
        if self._slots is None:
            self._slots = anyio.CapacityLimiter(AT_ONCE)
        return await anyio.to_thread.run_sync(
            lambda: do(view), limiter=self._slots, abandon_on_cancel=not awaited
        )

    # --- tools ---------------------------------------------------------------------------

    def _offered_native_tools(self, ctx: Context) -> tuple[Tool, ...]:
        return tools.served_tools(self.options.toolsets, read_only=self._is_read_only(ctx))

    async def _list_tools(self, ctx: Context, params: Any) -> Any:
        return {"tools": [tool.listing() for tool in self._offered_native_tools(ctx)]}

    async def _call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> Any:
        if params.name == hook_tool.NAME:
            return await self._answer_hook_event(ctx, params.arguments or {})
        tool = tools.BY_NAME.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, tool_calls.no_such_tool(params.name))
        try:
            given = tool_calls.checked_call(
                tool, params.arguments, self.options.toolsets, read_only=self._is_read_only(ctx)
            )
            if tool.name == tools.CONSOLIDATE and not given.get("dry_run"):
                return await self._call_consolidate_tool(ctx, params, given)
            result = await self._work_on_vault(
                ctx, lambda vault: tool_calls.answer_of(tool, vault, given)
            )
        except Exception as error:  # the edge: an agent gets a sentence, never a traceback
            return answers.failure_answer(error)
        return result

    async def _answer_hook_event(self, ctx: Context, given: dict[str, Any]) -> Any:
        """Whatever the toolsets are: those say what a model is offered."""
        text = ""
        with anyio.move_on_after(hook_tool.SECONDS):
            try:
                text = await self._work_on_vault(
                    ctx, lambda vault: hook_tool.said_to_event(vault, given), awaited=False
                )
            except Exception as error:  # the edge
                text = hook_tool.unanswered_event(error)
        return hook_tool.hook_result(text)

    async def _call_consolidate_tool(
        self, ctx: Context, params: types.CallToolRequestParams, given: dict[str, Any]
    ) -> Any:
        """With prose of the client's own model, where it offers one."""
        prose = sampling.brought_samples(params)
        warnings: tuple[str, ...] = ()
        if prose is None and sampling.is_sampling_offered(ctx):
            wanted = await self._work_on_vault(ctx, lambda vault: vault.prose_wanted(**given))
            wanted = tuple(each for each in wanted if each.key not in self._asked_for)
            self._asked_for |= {each.key for each in wanted}  # who declined is not asked again
            told = await sampling.ask_for_prose(ctx, wanted) if wanted else {}
            if isinstance(told, types.InputRequiredResult):
                return told.model_dump(by_alias=True, mode="json", exclude_none=True)
            warnings = (sampling.LATE,) if len(told) < len(wanted) else ()
            prose = dict(told)

        def run(vault: Vault) -> dict[str, Any]:
            done = vault.consolidate(**given, prose=prose)
            return answers.success_answer(replace(done, warnings=(*warnings, *done.warnings)))

        return await self._work_on_vault(ctx, run)

    # --- resources -----------------------------------------------------------------------

    async def _list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> Any:
        cursor = params.cursor if params else None
        return await self._answer_from_vault(
            ctx, lambda vault: resources.list_resources(vault, cursor)
        )

    async def _list_templates(self, ctx: Context, params: Any) -> Any:
        return {"resourceTemplates": list(resources.TEMPLATES)}

    async def _read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> Any:
        return await self._answer_from_vault(
            ctx, lambda vault: resources.read_resource(vault, params.uri)
        )

    async def _answer_from_vault(self, ctx: Context, do: Callable[[Vault], T]) -> T:
        with errors_outside_tools():
            return await self._work_on_vault(ctx, do)

    # --- subscriptions -------------------------------------------------------------------

    def _look_at_served_resource(self, ctx: Context, uri: str) -> Look:
        view = self._served_vault_view(ctx)

        def look() -> str:
            try:
                return resources.resource_version(view(), uri)
            except VaultmemError:
                return ""
            except Exception:  # the edge: nobody asked, so nobody is told
                log.debug("a subscription could not be looked at", exc_info=True)
                return ""

        return look

    async def _subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> Any:
        resources.require_known_resource(params.uri)
        if len(self.notifier.remember_listener(ctx).subscriptions) >= MOST_SUBSCRIPTIONS:
            raise MCPError(types.INVALID_PARAMS, _TOO_MANY)
        await self.notifier.subscribe(
            ctx, params.uri, self._look_at_served_resource(ctx, params.uri)
        )
        return {}

    async def _unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> Any:
        self.notifier.remember_listener(ctx).subscriptions.pop(params.uri, None)
        return {}

    async def _listen(self, ctx: Context, params: types.SubscriptionsListenRequestParams) -> Any:
        wanted = params.notifications.resource_subscriptions or ()
        if len(wanted) > MOST_SUBSCRIPTIONS:
            raise MCPError(types.INVALID_PARAMS, _TOO_MANY)
        looks = {
            uri: self._look_at_served_resource(ctx, uri)
            for uri in wanted
            if resources.is_known_resource(uri)
        }
        return await self.notifier.listen(ctx, params, looks)

    async def _initialized(self, ctx: Context, params: Any) -> None:
        self.notifier.remember_listener(ctx)

    # --- prompts and completions ---------------------------------------------------------

    async def _list_prompts(self, ctx: Context, params: Any) -> Any:
        return {"prompts": list(prompts.LISTING)}

    async def _get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> Any:
        given = params.arguments or {}
        if params.name != prompts.REVIEW:
            return prompts.get_prompt(params.name, given)
        return await self._answer_from_vault(
            ctx, lambda vault: prompts.get_prompt(params.name, given, vault.to_review())
        )

    async def _completion(self, ctx: Context, params: types.CompleteRequestParams) -> Any:
        argument = params.argument
        return await self._answer_from_vault(
            ctx, lambda vault: prompts.complete_argument(vault, argument.name, argument.value)
        )

    # --- the server ----------------------------------------------------------------------

    def _make_server(self) -> Server[Any]:
        server = AnnouncingServer(
            "vaultmem",
            title="vaultmem",
            version=__version__,
            instructions=prompts.INSTRUCTIONS,
            lifespan=self._mcp_server_lifespan,
            cache_hints=CACHING,
            get_tool_input_schema=self._input_schema,
            on_list_tools=complete_result(self._list_tools),
            on_call_tool=complete_result(self._call_tool),
            on_list_resources=complete_result(self._list_resources),
            on_list_resource_templates=complete_result(self._list_templates),
            on_read_resource=complete_result(self._read_resource),
            on_subscribe_resource=complete_result(self._subscribe),
            on_unsubscribe_resource=complete_result(self._unsubscribe),
            on_subscriptions_listen=self._listen,
            on_list_prompts=complete_result(self._list_prompts),
            on_get_prompt=complete_result(self._get_prompt),
            on_completion=complete_result(self._completion),
        )
        server.middleware.clear()  # the library's tracing
        server.add_notification_handler(
            "notifications/initialized", types.NotificationParams, self._initialized
        )
        return server

    @contextlib.asynccontextmanager
    async def _mcp_server_lifespan(self, server: Server[Any]) -> AsyncIterator[None]:
        self.notifier.bind_loop()
        yield

    def _input_schema(self, name: str) -> dict[str, Any] | None:
        return tools.BY_NAME[name].schema if name in tools.BY_NAME else None
