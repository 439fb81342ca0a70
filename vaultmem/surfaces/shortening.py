"""Answers that nobody can take in are made shorter, and say what they left out.

Whatever a vault holds (a note of fifty megabytes, a hundred thousand tags), an answer has a
bound. A list is cut to its beginning with `…_total` beside it, a text with `…_characters`.
A memory whose `content` was cut carries no `version`: that stands for having read all of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from vaultmem.limits import SHOWN

_MOST_WORDS: Final = 100  # of a list of plain texts, such as tags
_TEXTS: Final = (50_000, 10_000, 2_000, 300)  # characters that stay of each, as need be
_WHOLE: Final = ("version", "expected_version")


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def shortened(value: dict[str, Any], most: int = SHOWN) -> tuple[dict[str, Any], str]:
    """An answer that is not too long, and the same as compact JSON."""
    text = compact(value)
    if len(text) <= most:
        return value, text
    told = {
        "shortened": f"The whole answer has {len(text):,} characters. What was left out is "
        "counted in …_total and …_characters: ask for less at a time, or narrow the question."
    }
    made = _within(value, most - len(told["shortened"]) - 100)
    return told | made, compact(told | made)


def _within(value: dict[str, Any], most: int) -> dict[str, Any]:
    made = value
    for characters in _TEXTS:
        made = _cut_object(value, _MOST_WORDS, characters)
        if len(compact(made)) <= most:
            return made
    items = max(_longest(made), 1)
    while items > 1:
        items //= 2
        made = _cut_object(value, items, _TEXTS[-1], everything=True)
        if len(compact(made)) <= most:
            break
    return made


def _cut(value: Any, items: int, characters: int, *, everything: bool = False) -> Any:
    if isinstance(value, list):
        return [_cut(each, items, characters, everything=everything) for each in value]
    if isinstance(value, dict):
        return _cut_object(value, items, characters, everything=everything)
    return value


def _cut_object(
    value: dict[str, Any], items: int, characters: int, *, everything: bool = False
) -> dict[str, Any]:
    """Its texts, and its lists: of plain texts, or where told of whatever they hold."""
    made: dict[str, Any] = {}
    for name, each in value.items():
        kept = each
        if isinstance(each, str) and len(each) > characters:
            kept, made[f"{name}_characters"] = f"{each[:characters]}…", len(each)
        elif isinstance(each, list) and len(each) > items and (everything or _is_plain(each)):
            kept, made[f"{name}_total"] = each[:items], len(each)
        made[name] = _cut(kept, items, characters, everything=everything)
    return _without_version(made) if _is_cut(made) else made


def _is_plain(items: list[Any]) -> bool:
    return not any(isinstance(each, (dict, list)) for each in items)


def _is_cut(made: dict[str, Any]) -> bool:
    return "content_characters" in made or "current_characters" in made


def _without_version(made: dict[str, Any]) -> dict[str, Any]:
    kept = {name: each for name, each in made.items() if name not in _WHOLE}
    return kept | ({"whole": False} if "whole" in made else {})


def _longest(value: Any) -> int:
    """How many items the longest list in it has."""
    inner: Callable[[Any], int] = _longest
    if isinstance(value, dict):
        return max(map(inner, value.values()), default=0)
    return max([len(value), *map(inner, value)]) if isinstance(value, list) else 0
