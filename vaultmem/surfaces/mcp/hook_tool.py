"""The tool that a client's hooks call in place of a process: an event in, and out of it what
`vaultmem hook` would print.

It needs no place in the list of tools: hooks call it by its name, and a model has no use for it.
Like the command it is never in the agent's way: no error, and no wait of more than two seconds.
"""

from __future__ import annotations

import contextvars
import json
import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from vaultmem.surfaces import arguments
from vaultmem.surfaces.mcp.schemas import Arguments, Tool

if TYPE_CHECKING:
    from vaultmem.vault import Vault

log = logging.getLogger("vaultmem")

NAME: Final = "hook_event"
TOOLSET: Final = "hooks"  # lists it, for programs in between that pass on only what is listed
SECONDS: Final = 1.8  # then the client is answered; what was begun goes on
_MODEL_SECONDS: Final = 1.3  # in which the model may be opened; then words have to do


def said_to_event(vault: Vault, given: Arguments) -> str:
    """What memory says to it, as the client's hooks print it; empty where it says nothing."""
    from vaultmem.hooks import answer, filled_event

    arguments.require_shallow_arguments(NAME, given)
    event = filled_event.event_as_sent(given)
    said = answer.to_event(vault, event, time.monotonic() + _MODEL_SECONDS)
    if event.get("prompt"):
        vault.open_meaning()  # for the prompts that follow
    return json.dumps(said) if said else ""


def said_in_time(vault: Callable[[], Vault], given: Arguments) -> str:
    """What took too long goes on, and is not said."""
    said: queue.SimpleQueue[str] = queue.SimpleQueue()

    def answer() -> None:
        try:
            said.put(said_to_event(vault(), given))
        except Exception as error:  # the edge
            said.put(unanswered_event(error))

    run = contextvars.copy_context().run
    threading.Thread(target=run, args=[answer], daemon=True).start()
    try:
        return said.get(timeout=SECONDS)
    except queue.Empty:
        return ""


def hook_result(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}] if text else [], "isError": False}


def unanswered_event(error: Exception) -> str:
    """The edge: an agent goes on, whatever is wrong with its memory."""
    log.warning("a hook's event was let go by: %s: %s", type(error).__name__, str(error)[:500])
    return ""


HOOK_EVENT: Final = Tool(
    NAME, TOOLSET, "For the client's hooks; not for you.", {}, {}, said_to_event, writes=True
)
