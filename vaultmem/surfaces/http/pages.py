"""The web page over HTTP: its screens, what it does, its files, and its stream of news."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from vaultmem.errors import InvalidInput, NotFound, ReadOnly
from vaultmem.surfaces.http.guard import CALLER, KNOWN, TRUSTED
from vaultmem.surfaces.page import frame
from vaultmem.surfaces.page.asking import PageRequest
from vaultmem.surfaces.page.conflict_watch import CONFLICTS
from vaultmem.surfaces.page.screens import VIEWS, shown_screen

if TYPE_CHECKING:
    from vaultmem.vault import Vault

T = TypeVar("T")
Work = Callable[[Callable[["Vault"], T]], Awaitable[T]]

LOOK_SECONDS: Final = 0.1  # between two looks at the index
HEART_SECONDS: Final = 15.0  # a proxy, or a browser, may close what is silent
_KEPT: Final = {"cache-control": "max-age=31536000, immutable"}
_PAGE: Final = {"content-security-policy": frame.POLICY, "vary": "Accept, Authorization"}


def wants_page(request: Request) -> bool:
    """A browser names HTML, and names it before JSON; programs mostly name anything."""
    accepted = request.headers.get("accept", "")
    return "text/html" in accepted and "application/json" not in accepted.partition("text/html")[0]


class PageSite:
    """`work` does something with the vault in a thread, as far as the caller may."""

    def __init__(self, work: Callable[[Request, Callable[[Vault], Any]], Awaitable[Any]]) -> None:
        self._work = work
        self._is_ending = False

    @property
    def routes(self) -> list[Route]:
        mine = [address for address in VIEWS if address not in SHARED]
        places = ["/note/{path:path}" if address == "/note" else address for address in mine]
        shown = [Route(at, self.screen, methods=["GET"]) for at in places]
        return [
            *shown,
            Route("/do/{deed}", self.deed, methods=["POST"]),
            Route("/news", self.news, methods=["GET"]),
            Route(frame.ASSETS + "/{build}/{name}", self.asset, methods=["GET"]),
        ]

    async def screen(self, request: Request) -> Response:
        address = "/note" if request.url.path.startswith("/note/") else request.url.path
        show = partial(_shown, request, address)
        text, status = await self._work(request, show)
        return Response(text, status, headers=_PAGE, media_type="text/html")

    async def deed(self, request: Request) -> Response:
        if not request.scope[KNOWN]:  # with it, no other web page can have sent this
            raise ReadOnly(
                "Changes from this page need the token of the run: open the link that the server "
                "printed. Nothing was changed."
            )
        given = _given(request, await request.body())
        done = await self._work(request, partial(_done, request, given))
        return Response(json.dumps(done, ensure_ascii=False), media_type="application/json")

    async def asset(self, request: Request) -> Response:
        name = request.path_params["name"]
        found = frame.page_assets().get(name)
        if found is None:
            raise NotFound("There is no such file.")
        media = frame.MEDIA[name[name.rfind(".") :]]
        return Response(found, headers=_KEPT, media_type=media)

    async def news(self, request: Request) -> Response:
        last = request.headers.get("last-event-id", "")
        return StreamingResponse(
            self._revisions(request, last), headers=_PAGE, media_type="text/event-stream"
        )

    def end_news(self) -> None:
        self._is_ending = True

    async def _revisions(self, request: Request, last: str) -> AsyncIterator[str]:
        """One event whenever the index took something in; who comes back with the last one it
        heard is told at once what it missed."""
        told, silent = last, 0.0
        yield ": vaultmem\n\n"
        while not self._is_ending:
            now = await self._work(request, _news)
            if told and now != told:
                yield f"id: {now}\ndata: changed\n\n"
                silent = 0.0
            elif not told:
                yield f"id: {now}\ndata: begun\n\n"
            elif silent >= HEART_SECONDS:
                yield ": \n\n"
                silent = 0.0
            told = now
            await anyio.sleep(LOOK_SECONDS)
            silent += LOOK_SECONDS


SHARED: Final = ("/search", "/health")  # with the REST API


def _news(vault: Vault) -> str:
    """Another one whenever something is new for this caller."""
    bound = vault.caller.user or vault.caller.project
    return str(vault.revision) if bound else f"{vault.revision}.{CONFLICTS.news()}"


def _page_request(request: Request, vault: Vault) -> PageRequest:
    trusted = bool(request.scope[TRUSTED])
    person = replace(request.scope[CALLER], session="")  # a person sees those of all sessions
    path = request.path_params.get("path", "")
    return PageRequest(vault.for_caller(person), path, dict(request.query_params), trusted)


def _shown(request: Request, address: str, vault: Vault) -> tuple[str, int]:
    return shown_screen(address, _page_request(request, vault))


def _done(request: Request, given: Mapping[str, Any], vault: Vault) -> Any:
    from vaultmem.surfaces.page.deeds import performed

    asked = _page_request(request, vault)
    return performed(request.path_params["deed"], asked, given)


def _given(request: Request, body: bytes) -> Mapping[str, Any]:
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise InvalidInput("What is to be done comes as JSON.")
    try:
        given = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        raise InvalidInput("What is to be done is no JSON.") from None
    if not isinstance(given, dict):
        raise InvalidInput("What is to be done is a JSON object.")
    return given
