"""What a tool call answers: structured content, and the same as text: compact JSON, or Markdown.

Some clients show the model only the one, some only the other.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from vaultmem.base.own_program import command_to_type
from vaultmem.errors import Conflict, VaultmemError
from vaultmem.limits import SHOWN

log = logging.getLogger("vaultmem")

_LONGEST_MESSAGE: Final = 2_000
_MOST_WORDS: Final = 100  # of a list of plain texts, such as tags
_TEXTS: Final = (50_000, 10_000, 2_000, 300)  # characters that stay of each, as need be
_WHOLE: Final = ("version", "expected_version")


def success_answer(value: Any) -> dict[str, Any]:
    return _answer_as_result(plain_answer(value), is_error=False)


def native_answer(value: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Lean, and what was recalled as Markdown beside the JSON."""
    from vaultmem.surfaces import lean_json

    made = lean_json.lean_answer(value, given)
    result = _answer_as_result(made, is_error=False)
    if type(value).__name__ == "Recalled":
        from vaultmem.surfaces.recall_text import recall_text

        result["content"][0]["text"] = recall_text(result["structuredContent"])[:SHOWN]
    return result


def failure_answer(error: Exception) -> dict[str, Any]:
    """Every exception becomes the contract's envelope; no traceback leaves the process."""
    return _answer_as_result(error_answer(error), is_error=True)


def error_answer(error: Exception) -> Any:
    if not isinstance(error, VaultmemError):
        log.error("an unexpected error: %s: %s", type(error).__name__, error)
        log.debug("where it happened", exc_info=error)
        message = (
            f"The memory could not do this: an unexpected {type(error).__name__}. "
            "Your notes are files and stay as they are. Try once more; if it fails again, "
            f"go on without memory and tell the user to run: {command_to_type('doctor')}"
        )
        return _error_in_answer("memory_unavailable", message, retry=True, degraded=True)
    degraded = error.code == "memory_unavailable"
    told = _error_in_answer(
        error.code, error.message, retry=error.retry_possible, degraded=degraded
    )
    if isinstance(error, Conflict):
        from vaultmem.notes.masking import without_private

        told |= {"current": without_private(error.text), "version": error.version}
    return plain_answer(told)


def text_result(text: str, *, is_error: bool) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def plain_answer(value: Any) -> Any:
    from vaultmem.surfaces import render  # it knows notes, and nothing before a call needs them

    return render.plain_json(value)


def _error_in_answer(code: str, message: str, *, retry: bool, degraded: bool) -> dict[str, Any]:
    message = message if len(message) <= _LONGEST_MESSAGE else f"{message[:_LONGEST_MESSAGE]}…"
    return {"error": code, "message": message, "retry_possible": retry, "degraded": degraded}


def answer_text(value: Any) -> str:
    """Any result as compact JSON of a bounded length; of a list, as many items as fit."""
    made = plain_answer(value)
    if isinstance(made, list):
        return compact_json(shortened_answer({"items": made})[0]["items"])
    return shortened_answer(made)[1]


def _answer_as_result(value: dict[str, Any], *, is_error: bool) -> dict[str, Any]:
    value, text = shortened_answer(value)
    return {**text_result(text, is_error=is_error), "structuredContent": value}


# --- shortened ------------------------------------------------------------------------------


def compact_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def shortened_answer(value: dict[str, Any], most: int = SHOWN) -> tuple[dict[str, Any], str]:
    """An answer that is not too long, and the same as compact JSON.

    Whatever a vault holds (a note of fifty megabytes, a hundred thousand tags), an answer has a
    bound. A list is cut to its beginning with `…_total` beside it, a text with `…_characters`.
    A memory whose `content` was cut carries no `version`: that stands for having read all of it.
    """
    text = compact_json(value)
    if len(text) <= most:
        return value, text
    told = {
        "shortened": f"The whole answer has {len(text):,} characters. What was left out is "
        "counted in …_total and …_characters: ask for less at a time, or narrow the question."
    }
    made = _answer_within(value, most - len(told["shortened"]) - 100)
    return told | made, compact_json(told | made)


def _answer_within(value: dict[str, Any], most: int) -> dict[str, Any]:
    made = value
    for characters in _TEXTS:
        made = _cut_answer_object(value, _MOST_WORDS, characters)
        if len(compact_json(made)) <= most:
            return made
    items = max(_longest_answer_list(made), 1)
    while items > 1:
        items //= 2
        made = _cut_answer_object(value, items, _TEXTS[-1], everything=True)
        if len(compact_json(made)) <= most:
            break
    return made


def _cut_answer_value(value: Any, items: int, characters: int, *, everything: bool = False) -> Any:
    if isinstance(value, list):
        return [_cut_answer_value(each, items, characters, everything=everything) for each in value]
    if isinstance(value, dict):
        return _cut_answer_object(value, items, characters, everything=everything)
    return value


def _cut_answer_object(
    value: dict[str, Any], items: int, characters: int, *, everything: bool = False
) -> dict[str, Any]:
    """Its texts, and its lists: of plain texts, or where told of whatever they hold."""
    made: dict[str, Any] = {}
    for name, each in value.items():
        kept = each
        if isinstance(each, str) and len(each) > characters:
            kept, made[f"{name}_characters"] = f"{each[:characters]}…", len(each)
        elif isinstance(each, list) and len(each) > items:
            if everything or not any(isinstance(item, (dict, list)) for item in each):
                kept, made[f"{name}_total"] = each[:items], len(each)
        made[name] = _cut_answer_value(kept, items, characters, everything=everything)
    if not made.keys() & {"content_characters", "current_characters"}:
        return made
    unversioned = {name: each for name, each in made.items() if name not in _WHOLE}
    return unversioned | ({"whole": False} if "whole" in made else {})


def _longest_answer_list(value: Any) -> int:
    """How many items the longest list in it has."""
    inner: Callable[[Any], int] = _longest_answer_list
    if isinstance(value, dict):
        return max(map(inner, value.values()), default=0)
    return max([len(value), *map(inner, value)]) if isinstance(value, list) else 0
