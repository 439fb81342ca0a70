"""Every screen of the page, by its address."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Final

from vaultmem.errors import NotFound, Unavailable, VaultmemError
from vaultmem.surfaces import answers
from vaultmem.surfaces.page import pieces
from vaultmem.surfaces.page.asking import PageRequest, Screen
from vaultmem.surfaces.page.frame import page_document
from vaultmem.surfaces.page.markup import joined, tag

# Address, and where its view is; loaded when it is first looked at.
VIEWS: Final[Mapping[str, str]] = {
    "/": "today.today_screen",
    "/search": "search.search_screen",
    "/note": "note_pages.reading.note_screen",
    "/review": "review.review_screen",
    "/map": "map.map_screen",
    "/sessions": "sessions.sessions_screen",
    "/context": "context.context_screen",
    "/health": "health.health_screen",
}


def shown_screen(address: str, request: PageRequest) -> tuple[str, int]:
    """The document, and whether what it shows was there."""
    status = 200
    try:
        screen = _view(address)(request)
    except VaultmemError as error:
        status = 404 if isinstance(error, NotFound) else 400
        screen = _sorry(address, error)
    except Exception as error:  # the edge: a person gets a sentence, never a traceback
        status = 500
        screen = _sorry(address, Unavailable(str(answers.error_answer(error)["message"])))
    return page_document(screen, request), status


def _view(address: str) -> Callable[[PageRequest], Screen]:
    module, _, name = VIEWS[address].rpartition(".")
    found = importlib.import_module(f"vaultmem.surfaces.page.{module}")
    view: Callable[[PageRequest], Screen] = getattr(found, name)
    return view


def _sorry(address: str, error: VaultmemError) -> Screen:
    title = "Not found" if isinstance(error, NotFound) else "This cannot be shown"
    words = (tag("h1", title), pieces.empty(error.message, tag("a", "Search", href="/search")))
    return Screen(title, joined(words), address if address != "/note" else "", live=False)
