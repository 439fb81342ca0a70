"""What an answer may cost, and how its hits share that: the first get more, none of them too
little to say something.

A hit is said without what goes without saying: no default, nothing twice. The budget is kept
here and not where answers are written, because whoever was shown a part has not seen the whole.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from vaultmem.base.token_count import most_tokens
from vaultmem.operations.results import DEFAULT_IMPORTANCE, RecalledMemory
from vaultmem.recall.snippets import cut_passage

USUAL_TYPE: Final = "semantic"
ENVELOPE: Final = 35  # tokens around the hits
_BUDGETS: Final = {"brief": (250, 25), "normal": (600, 60)}  # in all, or for each that is wanted
_LEAST: Final = {"brief": 15, "normal": 22}  # of a passage that is shown, where it has as many
_MOST_FIXED: Final = 200  # of everything but the passage and the path
_GIVEN_UP: Final = ("source", "tags", "heading", "title", "project")  # first to last


def recall_budget(detail: str, limit: int, max_tokens: int | None) -> int | None:
    """None: whatever it takes."""
    if max_tokens or detail not in _BUDGETS:
        return max_tokens
    least, each = _BUDGETS[detail]
    return max(least, each * limit)


# --- what is worth saying ---------------------------------------------------------------------


def told(**fields: Any) -> dict[str, Any]:
    """Those that have something to say."""
    return {k: v for k, v in fields.items() if v is not None and v != () and v != "" and v != {}}


def named_fields(id: str, path: str, title: str) -> dict[str, Any]:
    """What it is called."""
    return told(id=id, path=path, title=title)


def kind_fields(type: str, scope: str, project: str | None, importance: float) -> dict[str, Any]:
    """A memory is semantic and its user's, or its project's where it has one, unless it says so."""
    usual = "project" if project else "user"
    return told(
        type=type if type != USUAL_TYPE else None,
        scope=scope if scope != usual else None,
        project=project,
        importance=importance if importance != DEFAULT_IMPORTANCE else None,
    )


def hit_fields(hit: RecalledMemory) -> dict[str, Any]:
    fields = {
        **named_fields(hit.id, hit.path, hit.title),
        **told(heading=hit.heading, block=hit.block),
        **kind_fields(hit.type, hit.scope, hit.project, hit.importance),
        **told(tags=hit.tags, source=hit.source, forgotten=hit.forgotten),
        **told(superseded_by=hit.superseded_by, later=hit.later),
        "created_at": hit.created_at,
        "relevance_score": round(hit.relevance_score, 2),
        "whole": hit.whole,
    }
    for name in _GIVEN_UP:
        if fields_cost({**fields, "path": ""}) <= _MOST_FIXED:
            break
        fields.pop(name, None)
    return {**fields, "content": hit.content}


def fields_cost(fields: Mapping[str, Any]) -> int:
    return most_tokens(json.dumps(fields, ensure_ascii=False, separators=(",", ":"), default=str))


def passage_cost(text: str) -> int:
    """As JSON, or quoted line by line, whichever costs more."""
    lines = text.count("\n") + 1
    quoted = json.dumps(text, ensure_ascii=False)
    return max(most_tokens(quoted), most_tokens(text) + lines)


# --- sharing ----------------------------------------------------------------------------------


def hits_within(
    hits: Sequence[RecalledMemory], words: Sequence[str], tokens: int, detail: str = "full"
) -> tuple[RecalledMemory, ...]:
    """As many hits as fit, their passages cut around the words; at least one."""
    least = _LEAST.get(detail, _LEAST["normal"])
    fixed: list[int] = []
    needs: list[int] = []
    left = tokens - ENVELOPE
    for hit in hits:
        own, need = fields_cost({**hit_fields(hit), "content": ""}), passage_cost(hit.content)
        if needs and own + min(need, least) > left:
            break
        left -= own + min(need, least)
        fixed.append(own)
        needs.append(need)
    room = tokens - ENVELOPE - sum(fixed)
    shares = shared_budget(needs, room, least, lambda place: (place + 1) ** -0.5)
    return _cut_hits(hits[: len(needs)], words, shares, room)


def _cut_hits(
    hits: Sequence[RecalledMemory], words: Sequence[str], shares: Sequence[int], room: int
) -> tuple[RecalledMemory, ...]:
    """Each within its share; what whole sentences leave of that goes to the first that can say
    more with it."""
    cut = [_cut_hit(hit, words, share) for hit, share in zip(hits, shares, strict=True)]
    spent = [passage_cost(hit.content) for hit in cut]
    for place, hit in enumerate(hits):
        if hit.content != cut[place].content:
            cut[place] = _cut_hit(hit, words, room - sum(spent) + spent[place])
            spent[place] = passage_cost(cut[place].content)
    return tuple(cut)


def _cut_hit(hit: RecalledMemory, words: Sequence[str], share: int) -> RecalledMemory:
    content = cut_passage(hit.content, words, share, passage_cost)
    return hit if content == hit.content else replace(hit, content=content, whole=False)


def shared_budget(
    needs: Sequence[int],
    tokens: int,
    least: int = 0,
    weight: Callable[[int], float] = lambda place: 1.0,
) -> list[int]:
    """What each may have: what it needs, where others leave it that; by their weights what is
    left, and none less than says something."""
    shares = [min(need, least) for need in needs]
    left = max(0, tokens - sum(shares))
    hungry = [place for place, need in enumerate(needs) if need > shares[place]]
    while hungry and left > 0:
        total = sum(map(weight, hungry))
        full = [p for p in hungry if needs[p] - shares[p] <= left * weight(p) / total]
        for place in full or hungry:
            more = needs[place] - shares[place] if full else int(left * weight(place) / total)
            shares[place] += more
        if not full:
            break
        left = max(0, tokens - sum(shares))
        hungry = [place for place in hungry if place not in full]
    return shares
