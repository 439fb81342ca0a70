"""What a tool call answers: structured content, and the same as compact JSON text.

Some clients show the model only the one, some only the other.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from vaultmem.errors import Conflict, VaultmemError
from vaultmem.surfaces import shortening

log = logging.getLogger("vaultmem")

_LONGEST_MESSAGE: Final = 2_000


def success(value: Any) -> dict[str, Any]:
    return _result(plain(value), is_error=False)


def failure(error: Exception) -> dict[str, Any]:
    """Every exception becomes the contract's envelope; no traceback leaves the process."""
    return _result(envelope(error), is_error=True)


def envelope(error: Exception) -> Any:
    if not isinstance(error, VaultmemError):
        log.error("an unexpected error: %s: %s", type(error).__name__, error)
        log.debug("where it happened", exc_info=error)
        message = (
            f"The memory could not do this: an unexpected {type(error).__name__}. "
            "Your notes are files and stay as they are. Try once more; if it fails again, "
            "go on without memory and tell the user to run: vaultmem doctor"
        )
        return _envelope("memory_unavailable", message, retry=True, degraded=True)
    degraded = error.code == "memory_unavailable"
    told = _envelope(error.code, error.message, retry=error.retry_possible, degraded=degraded)
    if isinstance(error, Conflict):
        from vaultmem.notes.masking import without_private

        told |= {"current": without_private(error.text), "version": error.version}
    return plain(told)


def plain(value: Any) -> Any:
    from vaultmem.surfaces import render  # it knows notes, and nothing before a call needs them

    return render.plain(value)


def _envelope(code: str, message: str, *, retry: bool, degraded: bool) -> dict[str, Any]:
    message = message if len(message) <= _LONGEST_MESSAGE else f"{message[:_LONGEST_MESSAGE]}…"
    return {"error": code, "message": message, "retry_possible": retry, "degraded": degraded}


def text(value: Any) -> str:
    """Any result as compact JSON of a bounded length; of a list, as many items as fit."""
    made = plain(value)
    if isinstance(made, list):
        return compact(shortening.shortened({"items": made})[0]["items"])
    return shortening.shortened(made)[1]


def _result(value: dict[str, Any], *, is_error: bool) -> dict[str, Any]:
    value, text = shortening.shortened(value)
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": value,
        "isError": is_error,
    }


compact = shortening.compact
