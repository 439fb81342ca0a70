"""Results as native answers: JSON without what goes without saying, within a budget of tokens.

The views stay complete, for Python and for the dialects; what is left out here is a default, says
the same as another field, or is counted under `more`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from vaultmem.operations.budget import (
    fields_cost,
    hit_fields,
    kind_fields,
    named_fields,
    passage_cost,
    shared_budget,
    told,
)
from vaultmem.surfaces.lean_graph import items_within, lean_graph
from vaultmem.surfaces.render import first_warnings, plain_json, short_text

if TYPE_CHECKING:
    from vaultmem.operations.facts import Facts
    from vaultmem.operations.happened.activity import Activity, Happening
    from vaultmem.operations.results import FetchedMemories, Listed, Memory, Recalled, Summary, Tags
    from vaultmem.operations.sessions import Timeline
    from vaultmem.upkeep.status import Status

Arguments = Mapping[str, Any]
Json = dict[str, Any]

_LIST: Final = 1_000  # tokens of what is merely listed
_TIMELINE, _LEAST = 1_500, 30  # tokens in all, and of what each says
_LISTED: Final = 1_500
_EXCERPT: Final = 80  # characters
_TAGS, _MOST_TAGS = 10, 100  # in a list, and of a memory that is read
_SKIPPED: Final = 20
_PROPERTIES: Final = 300  # tokens
_MEMORY: Final = (  # what get_memories says in any case
    *("id", "path", "title", "content", "type", "scope", "tags"),
    *("created_at", "updated_at"),
)
_REPEATED: Final = ("access_count", "facts", "observations")  # the text says it, or nobody asked


def lean_answer(value: Any, given: Arguments) -> Json:
    """What a native tool answers; the arguments may say how much of it."""
    lean = _LEAN.get(type(value).__name__)
    made: Json = plain_json(lean(value, given) if lean else value)
    return made


# --- recall -----------------------------------------------------------------------------------


def _lean_recalled(found: Recalled, given: Arguments) -> Any:
    if given.get("detail") == "full":
        return found
    near = [
        {**named_fields(n.path, n.path, n.title), "relevance_score": round(n.relevance_score, 2)}
        for n in found.nearest
        if len(n.path) <= 300
    ]
    stale = found.index.pending or found.index.skipped
    return {
        "memories": [{**hit_fields(hit), **told(trace=hit.trace)} for hit in found.memories],
        "total_matched": found.total_matched,
        "strategy_used": found.strategy_used,
        **told(message=found.message, more=found.more, nearest=near or None),
        **told(index=found.index if stale else None),
        **told(warnings=first_warnings(found.warnings), trace=found.trace),
    }


# --- reading and listing ----------------------------------------------------------------------


def _lean_memories(found: FetchedMemories, given: Arguments) -> Any:
    made = [_lean_memory(memory) for memory in found.memories]
    parts = [m["path"] for m in made if "next_offset" in m]
    advice = "More of it: get_memories with one id and offset (its next_offset), or max_tokens."
    return {"memories": made, "missing": found.missing, **({"message": advice} if parts else {})}


def _lean_memory(memory: Memory) -> Json:
    whole: Json = plain_json(memory)
    told = kind_fields(memory.type, memory.scope, memory.project, memory.importance)
    kept = {name: whole[name] for name in _MEMORY} | told
    for name, value in whole.items():
        if name not in (*kept, *_REPEATED, "importance") and value not in (None, "", False, [], {}):
            kept[name] = value
    if len(memory.tags) > _MOST_TAGS:
        kept |= {"tags": memory.tags[:_MOST_TAGS], "tags_total": len(memory.tags)}
    if fields_cost(kept.get("properties", {})) > _PROPERTIES:
        kept["properties"] = _lean_properties(kept["properties"])
    return kept


def _lean_properties(properties: Json) -> Json:
    made: Json = {}
    for name, value in properties.items():
        text = value if not isinstance(value, str) or len(value) <= 100 else f"{value[:100]}…"
        if fields_cost({**made, name: text}) <= _PROPERTIES:
            made[name] = text
    return made


def _lean_listed(found: Listed, given: Arguments) -> Any:
    """As many as were asked for; where nobody said how many, as fit."""
    made = [_lean_summary(each, given.get("order", "")) for each in found.memories]
    shown = made if "limit" in given else items_within(made, _LISTED)
    left = len(shown) < len(made)
    return {
        "memories": shown,
        "total": found.total,
        "next_offset": given.get("offset", 0) + len(shown) if left else found.next_offset,
        **told(warnings=first_warnings(found.warnings)),
    }


def _lean_activity(found: Activity, given: Arguments) -> Any:
    """The change in a line of its own; what each has in common with all is left out."""
    made = [_lean_happening(each) for each in found.activity]
    shown = made if "limit" in given else items_within(made, _LISTED)
    left = len(shown) < len(made)
    return {
        "activity": shown,
        "total": found.total,
        "since": found.since,
        "next_offset": given.get("offset", 0) + len(shown) if left else found.next_offset,
        **told(message=found.message),
    }


def _lean_happening(each: Happening) -> Json:
    kept: Json = plain_json(each)
    named = named_fields(each.id or each.path, each.path, each.title)
    for name in ("path", "title", "id", "version", "undo"):
        kept.pop(name, None)
    changes = kept.pop("changes", None)
    if "client" in kept:
        del kept["by"]  # it is an agent's name
    words = [
        " ".join(
            f"{sign}{side[name]}"
            for name, sign in (("removed", "-"), ("added", "+"))
            if name in side
        )
        for side in changes or ()
    ]
    return {**named, **kept, **told(changes=words or None)}


def _lean_summary(each: Summary, order: str) -> Json:
    moment = "created_at" if order == "created" else "updated_at"
    return {
        **named_fields(each.id, each.path, each.title),
        **kind_fields(each.type, each.scope, each.project, each.importance),
        **told(tags=each.tags[:_TAGS], forgotten=each.forgotten or None),
        moment: getattr(each, moment),
        **told(excerpt=short_text(each.excerpt, _EXCERPT)),
    }


def _lean_timeline(found: Timeline, given: Arguments) -> Any:
    made = [
        {
            **told(id=each.id, session_id=each.session_id, time=each.time, type=each.type),
            "content": each.content,
            **told(tags=each.tags),
        }
        for each in found.observations
    ]
    needs = [passage_cost(each["content"]) for each in made]
    fixed = sum(fields_cost({**each, "content": ""}) for each in made)
    shares = shared_budget(needs, _TIMELINE - fixed, _LEAST)
    for each, need, share in zip(made, needs, shares, strict=True):
        if need > share:
            each["content"] = short_text(each["content"], 3 * share)
            each["whole"] = False
    return {"observations": made, **told(warnings=first_warnings(found.warnings))}


def _lean_facts(found: Facts, given: Arguments) -> Any:
    made = [
        {
            **told(subject=fact.subject, predicate=fact.predicate, object=fact.object),
            "valid_from": fact.valid_from,
            "valid_to": fact.valid_to,
            **told(confidence=fact.confidence, provenance=fact.provenance),
            **told(path=fact.path, block=fact.block),
        }
        for fact in found.facts
    ]
    shown = items_within(made, _LIST)
    total = found.total or len(made)
    cut = {"truncated": True, "total": total} if len(shown) < total else {}
    return {"facts": shown, **cut, **told(warnings=first_warnings(found.warnings))}


def _lean_tags(found: Tags, given: Arguments) -> Any:
    made = [{"tag": each.tag, "count": each.count} for each in found.tags]
    shown = made if given.get("limit") else items_within(made, _LIST)
    more = (found.total or len(made)) - len(shown) or None
    return {"tags": shown, **told(more=more, warnings=first_warnings(found.warnings))}


def _lean_status(found: Status, given: Arguments) -> Any:
    made: Json = plain_json(found)
    skipped = made["index"]["skipped"]
    if len(skipped) > _SKIPPED:
        made["index"] |= {"skipped": skipped[:_SKIPPED], "skipped_total": len(skipped)}
    kept = ("read_only", "pending", "skipped", "forgotten")
    for part in ("connection", "storage", "index"):
        made[part] = {k: v for k, v in made[part].items() if k in kept or v not in (None, "")}
    if not made["settings_problems"]:
        del made["settings_problems"]
    return made


_LEAN: Final[Mapping[str, Callable[[Any, Arguments], Any]]] = {
    "Recalled": _lean_recalled,
    "FetchedMemories": _lean_memories,
    "Listed": _lean_listed,
    "Activity": _lean_activity,
    "Timeline": _lean_timeline,
    "Facts": _lean_facts,
    "Tags": _lean_tags,
    "Status": _lean_status,
    "GraphAnswer": lean_graph,
}
