"""What can be answered while the store is away: memories that were shown or stored through this
server, what waits in the queue, and the answers that were given last."""

from __future__ import annotations

import datetime as dt
import json
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from vaultmem.base.words import PLAIN_WORD
from vaultmem.surfaces.dialects.surreal.calls import SurrealCall
from vaultmem.surfaces.dialects.surreal.write_queue import WriteQueue
from vaultmem.surfaces.mcp.schemas import SCOPES

_MOST: Final = 1_000  # memories
_MOST_ANSWERS: Final = 100
_EMPTY_STATS: Final = {"entities_traversed": 0, "relationships_found": 0, "depth_reached": 0}


class AtHand:
    def __init__(self, queue: WriteQueue) -> None:
        self._queue = queue
        self._known: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._answers: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._changing = threading.Lock()

    # --- what is noted -----------------------------------------------------------------------

    def note_answer(self, call: SurrealCall, answer: Mapping[str, Any]) -> None:
        with self._changing:
            for memory in answer.get("memories", ()):
                if isinstance(memory, dict) and "id" in memory and "content" in memory:
                    self._keep(memory["id"], memory, call)
            self._answers[_question(call)] = dict(answer)
            self._answers.move_to_end(_question(call))
            while len(self._answers) > _MOST_ANSWERS:
                self._answers.popitem(last=False)

    def note_written(self, call: SurrealCall, done: Mapping[str, Any]) -> None:
        with self._changing:
            self._apply(call, str(done.get("memory_id", "")))

    def note_queued(self, call: SurrealCall) -> None:
        id_ = f"memory:{call.key}" if call.tool == "store_memory" else ""
        with self._changing:
            self._apply(call, id_)

    def note_carried_out(self, call: SurrealCall, answer: Mapping[str, Any]) -> None:
        """It has its real id now."""
        with self._changing:
            known = self._known.pop(f"memory:{call.key}", None)
            if known and (id_ := str(answer.get("memory_id", ""))):
                self._known[id_] = known | {"id": id_}

    def _apply(self, call: SurrealCall, id_: str) -> None:
        given = call.given
        if call.tool == "store_memory":
            self._keep(id_, _memory_of_store(call, id_), call)
            return
        known = self._known.get(str(given.get("memory_id", "")))
        if known is None:
            return
        if call.tool == "forget_memory":
            known["_forgotten"] = True
        elif call.tool == "promote_memory":
            known["scope"] = given["target_scope"]
        elif call.tool == "update_memory":
            named = {n: given[n] for n in ("content", "importance") if given.get(n) is not None}
            known |= named
        changes = given.get("tags", {}) if call.tool == "update_memory" else given
        if call.tool in ("update_memory", "tag_memory"):
            gone = set(changes.get("remove") or ())
            tags = [*known.get("tags", ()), *(changes.get("add") or ())]
            known["tags"] = [tag for tag in dict.fromkeys(tags) if tag not in gone]

    def _keep(self, id_: str, memory: Mapping[str, Any], call: SurrealCall) -> None:
        self._known[id_] = {**memory, **_owner(call)}
        self._known.move_to_end(id_)
        while len(self._known) > _MOST:
            self._known.popitem(last=False)

    # --- what is answered --------------------------------------------------------------------

    def answer(self, call: SurrealCall) -> dict[str, Any]:
        if call.tool == "recall_memories":
            return self._recalled(call)
        with self._changing:
            before = self._answers.get(_question(call))
        if before is not None:
            return dict(before)
        if call.tool == "search_knowledge_graph":
            return {"entities": [], "memories": [], "graph_stats": dict(_EMPTY_STATS)}
        if call.tool == "get_memory_context":
            return self._context(call)
        return {}

    def waiting_answer(self, call: SurrealCall, found: Mapping[str, Any]) -> dict[str, Any]:
        """What the store does not have yet, behind what it has."""
        if call.tool != "recall_memories":
            return {}
        waiting = {each["id"] for each in self._waiting()}
        more = [m for m in self._recalled(call)["memories"] if m["id"] in waiting]
        memories = [*found.get("memories", ()), *more][: call.given.get("limit", 10)]
        return {"memories": memories, "total_matched": found.get("total_matched", 0) + len(more)}

    def _recalled(self, call: SurrealCall) -> dict[str, Any]:
        given = call.given
        found = [
            (share, memory)
            for memory in self._passing(call)
            if (share := _share_of_words(given.get("query", ""), memory["content"]))
        ]
        found.sort(key=lambda pair: -pair[0])
        shown = [
            {n: v for n, v in memory.items() if n[0] != "_"} | {"relevance_score": round(share, 3)}
            for share, memory in found[: given.get("limit", 10)]
        ]
        return {
            "memories": shown,
            "total_matched": len(found),
            "strategy_used": "keyword",
            "query_time_ms": 0,
        }

    def _passing(self, call: SurrealCall) -> Iterator[dict[str, Any]]:
        with self._changing:
            known = [dict(memory) for memory in self._known.values()]
        ids = {memory["id"] for memory in known}
        known += [each for each in self._waiting() if each["id"] not in ids]
        known = [memory for memory in known if _is_shown_to(memory, call)]
        given, within = call.given, call.given.get("time_range", {})
        scopes, types = _several(given.get("scope")), _several(given.get("type"))
        tags = {tag.casefold() for tag in given.get("tags") or ()}
        for memory in known:
            forgotten = memory.get("_forgotten") and not given.get("include_forgotten")
            passes = (
                (not scopes or memory.get("scope") in scopes)
                and (not types or memory.get("type") in types)
                and (memory.get("importance") or 0.5) >= (given.get("min_importance") or 0)
                and (not tags or tags & {tag.casefold() for tag in memory.get("tags", ())})
                and _is_within(memory.get("created_at", ""), within)
            )
            if passes and not forgotten:
                yield memory

    def _waiting(self) -> Iterator[dict[str, Any]]:
        """Stored by servers before this one, and not carried out yet."""
        for _, entry in self._queue.entries():
            if entry.get("tool") == "store_memory":
                call = SurrealCall(**entry)
                memory = _memory_of_store(call, f"memory:{call.key}")
                yield memory | _owner(call)

    def _context(self, call: SurrealCall) -> dict[str, Any]:
        from vaultmem.base.token_count import token_count

        with self._changing:
            known = [m for m in self._known.values() if not m.get("_forgotten")]
        lines, used, cut = ["## Memory Context", ""], 0, False
        for memory in sorted(known, key=lambda m: -(m.get("importance") or 0.5)):
            if not _is_shown_to(memory, call):
                continue
            line = f"- {' '.join(str(memory['content']).split())}"
            if token_count("\n".join([*lines, line])) > call.given.get("max_tokens", 2000):
                cut = True
                break
            lines.append(line)
            used += 1
        block = "\n".join(lines)
        tokens = token_count(block)
        return {
            "context_block": block,
            "memories_used": used,
            "tokens_used": tokens,
            "truncated": cut,
        }


def _owner(call: SurrealCall) -> dict[str, Any]:
    return {"_session": call.session, "_caller": dict(call.caller or {})}


def _is_shown_to(memory: Mapping[str, Any], call: SurrealCall) -> bool:
    """What one caller was shown is not at hand for another; a session's is that session's."""
    mine = memory.get("_caller") == dict(call.caller or {})
    return mine and (memory.get("scope") != "session" or memory.get("_session") == call.session)


def _question(call: SurrealCall) -> str:
    return json.dumps([call.tool, call.given, _owner(call)], sort_keys=True, default=str)


def _memory_of_store(call: SurrealCall, id_: str) -> dict[str, Any]:
    given, now = call.given, dt.datetime.now(dt.UTC)
    return {
        "id": id_,
        "content": given["content"],
        "type": given.get("type", "semantic"),
        "scope": given.get("scope", SCOPES[-1]),
        "importance": given.get("importance", 0.5),
        "tags": list(given.get("tags") or ()),
        "created_at": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "access_count": 0,
        "source": dict(given.get("source") or {}),
    }


def _share_of_words(query: str, content: str) -> float:
    wanted = {word.casefold() for word in PLAIN_WORD.findall(query) if len(word) > 2}
    has = {word.casefold() for word in PLAIN_WORD.findall(content)}
    return len(wanted & has) / len(wanted) if wanted else 0.0


def _several(given: str | Iterable[str] | None) -> set[str]:
    return {given} if isinstance(given, str) else set(given or ())


def _is_within(moment: str, within: Mapping[str, Any]) -> bool:
    if not within:
        return True
    try:
        when = dt.datetime.fromisoformat(moment)
        bounds = [
            (dt.datetime.fromisoformat(within[name]), name) for name in within if within[name]
        ]
        return all(when >= bound if name == "after" else when <= bound for bound, name in bounds)
    except (ValueError, TypeError):
        return False
