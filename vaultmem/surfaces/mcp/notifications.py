"""Telling clients that the vault changed: both protocol eras, any thread, in bursts.

Handshake-era clients are told on their session, 2026-era clients on the streams they opened
with `subscriptions/listen`. Changes are gathered for a moment, so a pull of thousands of
notes is one burst: the list changed once, and each subscribed resource at most once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import anyio.to_thread
from mcp.server import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
)
from mcp_types import SubscriptionsListenRequestParams

from vaultmem.surfaces.mcp.compat import connection_of

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


@dataclass
class Listener:
    """One connection or stream: what it subscribed to, and how it is told."""

    send: Callable[[ServerEvent], Awaitable[None]]
    subscriptions: dict[str, Subscription] = field(default_factory=dict)

    def moved(self) -> list[str]:
        return [each.uri for each in list(self.subscriptions.values()) if each.moved()]


class Notifier:
    def __init__(self) -> None:
        self._listeners: dict[int, Listener] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._gathering = False
        self._tasks: set[asyncio.Task[None]] = set()

    def bind_loop(self) -> None:
        """Called in the loop that serves; changes before that concern nobody."""
        self._loop = asyncio.get_running_loop()

    def notify_changed(self) -> None:
        """Something in the vault changed. From any thread; returns at once."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            try:
                loop.call_soon_threadsafe(self._gather_notifications)
            except RuntimeError:  # it closed just now
                log.debug("nobody is left to be told of a change")

    def _gather_notifications(self) -> None:
        if not self._gathering:
            self._gathering = True
            task = asyncio.get_running_loop().create_task(self._notify_listeners())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _notify_listeners(self) -> None:
        await asyncio.sleep(GATHER_SECONDS)
        self._gathering = False  # what changes from here on is another burst
        await self.publish(ResourcesListChanged())
        for listener in list(self._listeners.values()):
            if listener.subscriptions:
                for uri in await anyio.to_thread.run_sync(listener.moved):
                    await listener.send(ResourceUpdated(uri=uri))

    async def publish(self, event: ServerEvent) -> None:
        for listener in list(self._listeners.values()):
            await listener.send(event)

    # --- the handshake era ---------------------------------------------------------------

    def remember_listener(self, ctx: Context) -> Listener:
        """The listener of this request's connection, kept until the connection ends."""
        # The session object belongs to one request; only the connection behind it lasts.
        connection = connection_of(ctx)
        if id(connection) not in self._listeners:
            self._listeners[id(connection)] = Listener(partial(_send_notification, ctx.session))
            connection.exit_stack.callback(self._listeners.pop, id(connection), None)
        return self._listeners[id(connection)]

    async def subscribe(self, ctx: Context, uri: str, look: Look) -> None:
        listener = self.remember_listener(ctx)
        listener.subscriptions[uri] = await _subscription(uri, look)

    # --- the 2026 era --------------------------------------------------------------------

    async def listen(
        self, ctx: Context, params: SubscriptionsListenRequestParams, looks: dict[str, Look]
    ) -> Any:
        """One stream, told of the resources in `looks` for as long as it is open.

        It has a bus of its own, because a bus tells all its streams: of a note that one
        caller may see another shall not even hear that it changed.
        """
        wanted = params.notifications.model_copy(update={"resource_subscriptions": list(looks)})
        bus = InMemorySubscriptionBus()
        made = {uri: await _subscription(uri, look) for uri, look in looks.items()}
        self._listeners[id(bus)] = Listener(bus.publish, made)
        try:
            return await ListenHandler(bus)(
                ctx, params.model_copy(update={"notifications": wanted})
            )
        finally:
            del self._listeners[id(bus)]


async def _send_notification(session: ServerSession, event: ServerEvent) -> None:
    if isinstance(event, ResourceUpdated):
        await session.send_resource_updated(event.uri)
    elif isinstance(event, ResourcesListChanged):
        await session.send_resource_list_changed()


async def _subscription(uri: str, look: Look) -> Subscription:
    return await anyio.to_thread.run_sync(Subscription.to, uri, look)
