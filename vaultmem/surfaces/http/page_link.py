"""The link to the web page: its token, and where it is put down for who asks for it again."""

from __future__ import annotations

import contextlib
import http.client
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from vaultmem.front.asker import environment
from vaultmem.front.page_place import PagePlace, page_place

_SECONDS: Final = 2.0


def new_run_token() -> str:
    return secrets.token_urlsafe(24)


def page_link(address: str, token: str) -> str:
    """Behind the #, so that it reaches no log and no other site."""
    return f"{address}/#token={token}" if token else f"{address}/"


@contextlib.contextmanager
def link_put_down(root: Path, address: str, token: str) -> Iterator[None]:
    """For as long as the page is served."""
    place = page_place(str(root), environment()) if token else None
    if place is None:
        yield
        return
    with contextlib.suppress(OSError):
        place.keep(address, token)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            place.clear(token)


def running_page(root: Path) -> str | None:
    """The link to a server that serves this vault's page now, and takes its token."""
    place: PagePlace | None = page_place(str(root), environment())
    found = place.found() if place else None
    if found is None:
        return None
    address, token = found
    split = urlsplit(address)
    try:
        link = http.client.HTTPConnection(split.hostname or "", split.port, timeout=_SECONDS)
        with contextlib.closing(link):
            asked = {"Accept": "text/html", "Authorization": f"Bearer {token}"}
            link.request("GET", "/search", headers=asked)
            answer = link.getresponse()
            known = b'data-trusted="yes"' in answer.read(4_000)
    except (OSError, http.client.HTTPException):
        return None
    return page_link(address, token) if known else None
