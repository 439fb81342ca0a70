"""What was recalled as compact Markdown: a line that says where each passage is from, then the
passage, quoted. Words are not marked: what is quoted can be given back as `old_text`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any

from vaultmem.base.local_time import local_time
from vaultmem.notes.note import one_line

Json = Mapping[str, Any]


def recall_text(answer: Json) -> str:
    """The lean answer for a reader who sees no JSON."""
    lines = list(_recall_text_lines(answer))
    return "\n".join(lines)


def _recall_text_lines(answer: Json) -> Iterator[str]:
    if message := answer.get("message"):
        yield message
    for number, hit in enumerate(answer["memories"], 1):
        yield f"{number}. {one_line(' · '.join(_recalled_provenance(hit)))}"
        yield from (f"> {line}".rstrip() for line in hit["content"].splitlines())
        if trace := hit.get("trace"):
            yield f"({trace_words(trace)})"
    if near := answer.get("nearest"):
        yield "Nearest, but no answer:"
        yield from (
            one_line(f"- {_recalled_name(n)} · `{n['path']}` · {n['relevance_score']}")
            for n in near
        )
    if more := answer.get("more"):
        yield f"{more} more matched; a larger max_tokens or limit shows more."
    if trace := answer.get("trace"):
        yield f"({answer_words(trace)})"
    yield from (f"Warning: {warning}" for warning in answer.get("warnings", ()))


def answer_words(trace: Json) -> str:
    """How an answer came about, in a line; the same for every surface."""
    words = ", ".join(f"{word} {share:.2f}" for word, share in (trace.get("words") or {}).items())
    unknown = ", ".join(trace.get("unknown") or ())
    said = [
        f"asked for: {'; '.join(trace['filters'])}",
        f"words: {words}" if words else "",
        f"nowhere: {unknown}" if unknown else "",
        f"left to meaning: {trace['meaning_share']:.2f}",
        f"something is known: {trace['known']:.2f}",
        f"{trace['tokens']:,} tokens",
    ]
    return "; ".join(filter(None, said))


def _recalled_name(hit: Json) -> str:
    stem: str = hit["path"].rpartition("/")[2].removesuffix(".md")
    return hit.get("title") or stem


def local_day(moment: str) -> str:
    """The day, here, of a moment as answers print it."""
    return local_time(dt.datetime.fromisoformat(moment)).date().isoformat()


def _recalled_provenance(hit: Json) -> Iterator[str]:
    heading = f" › {hit['heading']}" if "heading" in hit else ""
    yield f"**{_recalled_name(hit)}**{heading}"
    yield f"`{hit['path']}`"
    if "id" in hit:
        yield f"id {hit['id']}"
    yield local_day(hit["created_at"])
    yield f"{hit['relevance_score']}"
    yield "whole" if hit["whole"] else "part"
    yield from (f"{n} {hit[n]}" for n in ("type", "scope", "project", "importance") if n in hit)
    if hit.get("tags"):
        yield " ".join(f"#{tag}" for tag in hit["tags"])
    if hit.get("forgotten"):
        yield "forgotten"
    if hit.get("superseded_by"):
        yield f"replaced by {hit['superseded_by']}"
    if hit.get("later"):
        yield f"later: {hit['later']}"


def trace_words(trace: Json) -> str:
    """How a hit got its place, in a line; the same for every surface."""
    lanes = (
        f"{lane['name']}: place {lane['rank']}, score {lane['score']:.3f}"
        for lane in trace["lanes"]
    )
    words = (f"{word} {weight:.2f}" for word, weight in (trace.get("words") or {}).items())
    moved = (f"{name}: {by:.2f}" for name, by in (trace.get("moved") or {}).items())
    said = [*lanes, *([f"words: {', '.join(words)}"] if trace.get("words") else [])]
    if trace.get("similarity") is not None:
        usual = trace.get("usual_similarity")
        beside = "" if usual is None else f", usually {usual:.2f}"
        said.append(f"meaning: {trace['similarity']:.2f}{beside}")
    return "; ".join([*said, *moved, f"{trace['tokens']} tokens"])
