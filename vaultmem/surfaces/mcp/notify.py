"""Telling clients that the vault changed: both protocol eras, any thread, in bursts.

Handshake-era clients are told on their session, 2026-era clients on the streams they opened
with `subscriptions/listen`. Changes are gathered for a moment, so a pull of thousands of
notes is one burst: the list changed once, and each subscribed resource at most once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import anyio
import anyio.to_thread
from mcp.server import ServerRequestContext
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
)
from mcp_types import SubscriptionFilter, SubscriptionsListenRequestParams

log = logging.getLogger("vaultmem")

GATHER_SECONDS: Final = 0.1
NOTE: Final = "memory://vault/"

Context = ServerRequestContext[Any, Any]
Look = Callable[[], str]  # the version of a note as its subscriber sees it; "" when not there


@dataclass
class Subscription:
    """Who wants to know of a resource, and what it looked like when they last heard."""

    uri: str
    look: Look
    seen: str

    @classmethod
    def to(cls, uri: str, look: Look) -> Subscription:
        return cls(uri, look, look() if uri.startswith(NOTE) else "")

    def moved(self) -> bool:
        """Notes are compared; whatever summarises the vault moves with every change."""
        if not self.uri.startswith(NOTE):
            return True
        before, self.seen = self.seen, self.look()
        return before != self.seen


class Notifier:
    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        self.listen = ListenHandler(self.bus)
        self._sessions: dict[int, Any] = {}  # by connection, as the next two
        self._legacy: dict[int, dict[str, Subscription]] = {}
        self._modern: dict[object, Subscription] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._gathering = False
        self._tasks: set[asyncio.Task[None]] = set()

    def bind(self) -> None:
        """Called in the loop that serves; changes before that concern nobody."""
        self._loop = asyncio.get_running_loop()

    def changed(self) -> None:
        """Something in the vault changed. From any thread; returns at once."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            try:
                loop.call_soon_threadsafe(self._gather)
            except RuntimeError:  # it closed just now
                log.debug("nobody is left to be told of a change")

    def _gather(self) -> None:
        if not self._gathering:
            self._gathering = True
            task = asyncio.get_running_loop().create_task(self._tell())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _tell(self) -> None:
        await asyncio.sleep(GATHER_SECONDS)
        self._gathering = False  # what changes from here on is another burst
        for key, session in list(self._sessions.items()):
            await session.send_resource_list_changed()
            for uri in await _moved(list(self._legacy.get(key, {}).values())):
                await session.send_resource_updated(uri)
        await self.bus.publish(ResourcesListChanged())
        for uri in dict.fromkeys(await _moved(list(self._modern.values()))):
            await self.bus.publish(ResourceUpdated(uri=uri))

    # --- the handshake era ---------------------------------------------------------------

    def remember(self, ctx: Context) -> int:
        """Keep a session until its connection ends."""
        # The session object belongs to one request; only the connection behind it lasts.
        connection = ctx.session._connection
        key = id(connection)
        if key not in self._sessions:
            self._sessions[key] = ctx.session
            connection.exit_stack.callback(self._leave, key)
        return key

    def _leave(self, key: int) -> None:
        self._sessions.pop(key, None)
        self._legacy.pop(key, None)

    async def subscribe(self, ctx: Context, uri: str, look: Look) -> None:
        key = self.remember(ctx)
        made = await anyio.to_thread.run_sync(Subscription.to, uri, look)
        self._legacy.setdefault(key, {})[uri] = made

    def unsubscribe(self, ctx: Context, uri: str) -> None:
        self._legacy.get(id(ctx.session._connection), {}).pop(uri, None)

    # --- the 2026 era --------------------------------------------------------------------

    async def serve_listen(
        self, ctx: Context, params: SubscriptionsListenRequestParams, looks: dict[str, Look]
    ) -> Any:
        """One stream, told of the resources in `looks` for as long as it is open."""
        wanted = params.notifications.model_dump(exclude_none=True)
        wanted["resource_subscriptions"] = list(looks)
        filtered = params.model_copy(update={"notifications": SubscriptionFilter(**wanted)})
        made = {object(): await _subscription(uri, look) for uri, look in looks.items()}
        self._modern.update(made)
        try:
            return await self.listen(ctx, filtered)
        finally:
            for key in made:
                self._modern.pop(key, None)


async def _subscription(uri: str, look: Look) -> Subscription:
    return await anyio.to_thread.run_sync(Subscription.to, uri, look)


async def _moved(subscriptions: list[Subscription]) -> list[str]:
    if not subscriptions:
        return []
    return await anyio.to_thread.run_sync(lambda: [s.uri for s in subscriptions if s.moved()])


class Lookout:
    """Notices what other processes brought into the index: they tell only their own clients.

    A revision counts once it has stood for a moment, because one change may come in batches.
    """

    def __init__(self, revision: Callable[[], int]) -> None:
        self._revision = revision
        self._told = self._last = revision()

    def told(self) -> None:
        """Our clients know of everything up to now."""
        self._told = self._revision()

    def has_news(self) -> bool:
        now = self._revision()
        stands, self._last = now == self._last, now
        if not stands or now == self._told:
            return False
        self._told = now
        return True
