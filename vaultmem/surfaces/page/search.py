"""Finding memories: what was found, why, what came near, and what an agent would get."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from vaultmem.base.token_count import token_count
from vaultmem.surfaces.page import pieces
from vaultmem.surfaces.page.asking import PageRequest, Screen, note_address, page_address
from vaultmem.surfaces.page.markup import Child, Markup, joined, tag

if TYPE_CHECKING:
    from vaultmem.operations.results import HitTrace, NearMiss, Recalled, RecalledMemory

_SHOWN: Final = 20
_BELOW: Final = 5  # near misses
_TYPES: Final = ("", "semantic", "episodic", "procedural")
_MARKED: Final = re.compile(r"\*\*([^*\n]{1,200})\*\*")
_FILTERS: Final = ("project", "type", "tag", "agent", "session", "as_of")
_LANES: Final = {"vector": "meaning", "keyword": "words", "graph": "named in it"}
_WHOLE: Final = "hybrid"


def search_screen(request: PageRequest) -> Screen:
    words = request.asked("q")
    return Screen(
        f"{words} · Search" if words else "Search",
        joined(
            (
                tag("h1", "Search", class_="hidden"),
                _filter_form(request),
                _found(request, words) if words else _start(),
            )
        ),
        "/search",
    )


def _start() -> Markup:
    return pieces.empty(
        "Ask for anything: words, a question, a name.",
        tag("p", "Words answer while you type; what means the same joins a moment later."),
    )


# --- filters ----------------------------------------------------------------------------------


def _filter_form(request: PageRequest) -> Markup:
    """What narrows the answer stands in the address, so that it can be kept and sent."""
    wanted = {name: request.asked(name) for name in _FILTERS}
    fields = [
        _field("project", "Project", wanted["project"]),
        _types(wanted["type"]),
        _field("tag", "Tag", wanted["tag"]),
        _field("agent", "Agent", wanted["agent"]),
        _field("session", "Session", wanted["session"]),
        _field("as_of", "As of", wanted["as_of"], type="date"),
        _tick("forgotten", "Forgotten too", request.asked("forgotten")),
        _tick("agents_view", "As an agent gets it", request.asked("agents_view")),
    ]
    form = tag(
        "form",
        tag("input", type="hidden", name="q", value=request.asked("q")),
        *fields,
        tag("button", "Apply", class_="quiet"),
        action="/search",
        class_="filters",
        aria_label="Filters",
    )
    used = [name for name in (*_FILTERS, "forgotten", "agents_view") if request.asked(name)]
    said = f"Filters: {', '.join(name.replace('_', ' ') for name in used)}" if used else "Filters"
    return tag("details", tag("summary", said), form, id="filters", open=bool(used))


def _field(name: str, label: str, value: str, **more: str) -> Markup:
    box = tag("input", name=name, value=value, autocomplete="off", **more)
    return tag("label", label, box)


def _types(chosen: str) -> Markup:
    options = (tag("option", name or "any", value=name, selected=name == chosen) for name in _TYPES)
    return tag("label", "Type", tag("select", *options, name="type"))


def _tick(name: str, label: str, value: str) -> Markup:
    box = tag("input", type="checkbox", name=name, value="1", checked=bool(value))
    return tag("label", box, label, class_="tick")


def _narrowed(request: PageRequest) -> dict[str, Any]:
    tags = [each for each in request.asked("tag").replace("#", "").split(",") if each.strip()]
    return {
        "project": request.asked("project") or None,
        "type": request.asked("type") or None,
        "tags": [each.strip() for each in tags],
        "before": request.asked("as_of") or None,
        "include_forgotten": bool(request.asked("forgotten")),
        "made_by": request.asked("agent") or None,
        "made_in": request.asked("session") or None,
    }


# --- the answer -------------------------------------------------------------------------------


def _found(request: PageRequest, words: str) -> Markup:
    narrowed = _narrowed(request)
    if request.asked("agents_view"):
        return _as_agents_get_it(request, words, narrowed)
    strategy = "keyword" if request.asked("how") == "words" else _WHOLE
    found = request.vault.recall(
        words, strategy=strategy, limit=_SHOWN, explain=True, counted=False, **narrowed
    )
    parts: list[Child] = [
        tag("p", *_summary(found), class_="soft small", role="status"),
        *(tag("p", warning, class_="warn small") for warning in found.warnings[:3]),
        tag("ol", *(_hit(each) for each in found.memories), class_="hits"),
    ]
    if not found.memories:
        parts.append(_nothing(found.nearest))
    elif strategy == _WHOLE:
        parts.append(_just_below(request, words, found, narrowed))
    if strategy == _WHOLE:
        parts.append(_how_it_came_about(request, words, found, narrowed))
    return joined(parts)


def _summary(found: Recalled) -> Iterator[Child]:
    yield pieces.counted(found.total_matched, "memory", "memories")
    how = (
        "by words, meaning is on its way"
        if found.strategy_used == "keyword"
        else "by words and meaning"
    )
    yield f" · {how} · {found.query_time_ms:g} ms"


def _hit(hit: RecalledMemory) -> Markup:
    where = [tag("code", hit.path, class_="small soft")]
    if hit.heading:
        where.append(tag("span", f" › {hit.heading}", class_="small soft"))
    marks = pieces.labels(
        hit.tags[:8],
        hit.project,
        hit.type,
        "forgotten" if hit.forgotten else None,
        f"replaced by {hit.superseded_by}" if hit.superseded_by else None,
    )
    ref = hit.path if hit.block else hit.id
    return tag(
        "li",
        tag("h2", tag("a", hit.title, href=note_address(ref), data_open=True)),
        tag("p", *marked_snippet(hit.snippet), class_="passage"),
        tag("p", pieces.moment(hit.created_at), " ", *where, " ", *marks),
        tag("details", tag("summary", f"Why · {hit.relevance_score:.2f}"), _why(hit)),
        class_="hit",
        data_line=f"{hit.id}",
        tabindex="-1",
    )


def marked_snippet(text: str) -> Iterator[Child]:
    at = 0
    for found in _MARKED.finditer(text):
        yield text[at : found.start()]
        yield tag("mark", found[1])
        at = found.end()
    yield text[at:]


# --- why --------------------------------------------------------------------------------------


def _why(hit: RecalledMemory) -> Markup:
    trace = hit.trace
    if trace is None:
        return joined([])
    rows: dict[str, Child] = {"Probably right": f"{hit.relevance_score:.0%}"}
    for lane in trace.lanes:
        name = _LANES.get(str(lane["name"]), str(lane["name"]))
        rows[f"By {name}"] = f"place {lane['rank']}, {lane['share']:.0%} of its score"
    if trace.words:
        rows["Words and their weight"] = _weighed(trace.words)
    if trace.similarity is not None:
        rows["Meaning"] = _likeness(trace)
    for name, by in (trace.moved or {}).items():
        rows[name.replace("_", " ").capitalize()] = f"× {by:.2f}"
    if hit.later:
        rows["Later"] = hit.later
    rows["In an answer"] = pieces.counted(trace.tokens, "token")
    rows["Used"] = pieces.counted(hit.access_count, "time")
    return tag("div", pieces.table_of(rows), class_="why")


def _weighed(words: Mapping[str, float]) -> list[Child]:
    found: list[Child] = []
    for word, share in sorted(words.items(), key=lambda pair: -pair[1]):
        found += [tag("mark", word), f" {share:.0%}  "]
    return found


def _likeness(trace: HitTrace) -> str:
    usual = trace.usual_similarity
    beside = "" if usual is None else f"; any passage has {usual:.2f} for this question"
    return f"{trace.similarity or 0:.2f}{beside}"


def _just_below(
    request: PageRequest, words: str, found: Recalled, narrowed: Mapping[str, Any]
) -> Markup:
    """What came near and is no answer."""
    shown = {hit.path for hit in found.memories}
    near = request.vault.recall(
        words, limit=len(shown) + _BELOW, floor=False, counted=False, **narrowed
    )
    misses = [hit for hit in near.memories if hit.path not in shown][:_BELOW]
    if not misses:
        return joined([])
    lines = (
        tag("li", pieces.note_link(hit.path, hit.title), f" {hit.relevance_score:.2f}")
        for hit in misses
    )
    return tag(
        "details", tag("summary", f"Just below: {len(misses)} near misses"), tag("ul", *lines)
    )


def _nothing(nearest: tuple[NearMiss, ...]) -> Markup:
    lines = [
        tag("li", pieces.note_link(each.path, each.title), f" {each.relevance_score:.2f}")
        for each in nearest
    ]
    near = [tag("p", "Nearest, but no answer:"), tag("ul", *lines)] if lines else []
    return pieces.empty("Nothing is known about this. An agent is told so.", *near)


def _how_it_came_about(
    request: PageRequest, words: str, found: Recalled, narrowed: Mapping[str, Any]
) -> Markup:
    trace = found.trace
    if trace is None:
        return joined([])
    rows: dict[str, Child] = {
        "Looked among": "; ".join(trace.filters),
        "Words of the question": _weighed(trace.words or {}),
        "Stand nowhere": ", ".join(trace.unknown),
        "Left to meaning": f"{trace.meaning_share:.0%}",
        "Something is known": f"{trace.known:.0%} probable",
        "In an answer": pieces.counted(trace.tokens, "token"),
    }
    if any(narrowed.values()):
        every = request.vault.recall(
            words, strategy="keyword", limit=1, counted=False, include_forgotten=True
        )
        mine = request.vault.recall(words, strategy="keyword", limit=1, counted=False, **narrowed)
        left = max(0, every.total_matched - mine.total_matched)
        rows["Filtered out"] = f"{left:,} of {every.total_matched:,} that have the words"
    return tag(
        "details",
        tag("summary", "How this answer came about"),
        tag("div", pieces.table_of(rows), class_="why"),
    )


# --- as an agent gets it ----------------------------------------------------------------------


def _as_agents_get_it(request: PageRequest, words: str, narrowed: Mapping[str, Any]) -> Markup:
    """To the letter, silence included."""
    from vaultmem.surfaces.answers import native_answer

    found = request.vault.recall(words, detail="normal", counted=False, **narrowed)
    text = native_answer(found, {"query": words})["content"][0]["text"]
    off = {name: request.asked(name) for name in (*_FILTERS, "forgotten")}
    return joined(
        (
            tag(
                "p",
                f"recall_memories answers with {pieces.counted(token_count(text), 'token')}. ",
                tag("a", "Show it for people", href=page_address("/search", q=words, **off)),
                class_="soft small",
                role="status",
            ),
            tag("pre", text, class_="answer", tabindex="0", aria_label="The answer"),
        )
    )
