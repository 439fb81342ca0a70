"""Tables of what was measured: beside the peers, and by the number of notes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Found = Mapping[str, Any]
NOTHING = "–"


def at(found: Any, path: str) -> Any:
    """A value deep in a result, by the names on the way; None when it is not there."""
    for name in path.split("."):
        if not isinstance(found, Mapping) or name not in found:
            return None
        found = found[name]
    return found


@dataclass(frozen=True)
class Row:
    title: str
    shown: Callable[[Found], str]
    value: Callable[[Found], float | None] = lambda found: None  # for ratios and growth
    more_is_better: bool = False


# --- how values look ------------------------------------------------------------------------


def number(value: float | None, unit: str = "") -> str:
    if value is None:
        return NOTHING
    if value >= 100:
        text = f"{value:,.0f}"
    elif value >= 10:
        text = f"{value:.1f}".removesuffix(".0")
    elif value >= 0.1 or not value:
        text = f"{value:.2f}".removesuffix("0").removesuffix(".0")
    else:
        text = f"{value:.2g}"
    return f"{text}{unit}"


def pair(path: str, unit: str = " ms") -> Callable[[Found], str]:
    """The middle and what 95 of 100 stay under."""

    def show(found: Found) -> str:
        told = at(found, path)
        if not told:
            return NOTHING
        if "never" in told:
            return f"not in {told['never']:.0f} s"
        if "p50" not in told:
            return NOTHING
        return f"{number(told['p50'])} / {number(told['p95'])}{unit}"

    return show


def several(paths: Sequence[str], unit: str = "", factor: float = 1.0) -> Callable[[Found], str]:
    def show(found: Found) -> str:
        values = [at(found, path) for path in paths]
        if all(value is None for value in values):
            return NOTHING
        shown = (number(None if v is None else v * factor) for v in values)
        return " / ".join(shown) + unit

    return show


def plain(path: str, factor: float = 1.0) -> Callable[[Found], float | None]:
    def value(found: Found) -> float | None:
        told = at(found, path)
        return told * factor if isinstance(told, int | float) and told else None

    return value


def per_second(path: str) -> Callable[[Found], float | None]:
    """Notes a second, from the seconds that all took."""

    def value(found: Found) -> float | None:
        seconds = at(found, path)
        return found["notes"] / seconds if seconds else None

    return value


def single(value: Callable[[Found], float | None], unit: str = "") -> Callable[[Found], str]:
    return lambda found: number(value(found), unit if value(found) is not None else "")


def recall(mode: str) -> Callable[[Found], str]:
    def show(found: Found) -> str:
        told = at(found, f"served.recall.{mode}")
        return f"{told['at_5']:.2f} / {told['at_10']:.2f}" if told else NOTHING

    return show


def processes(count: int, where: str = "together") -> Callable[[Found], str]:
    def show(found: Found) -> str:
        told = at(found, f"{where}.{count}")
        if not told:
            trouble = at(found, f"{where}.trouble")
            return f"failed: {trouble[:60]}" if trouble else NOTHING
        bad = told["failed"] + told["lost"]
        wrong = f"; **{told['failed']} failed, {told['lost']} lost**" if bad else ""
        late = number(at(told, "recall.p95"))
        return f"{number(told['per_second'])}/s, p95 {late} ms{wrong}"

    return show


def pulled(size: int) -> Callable[[Found], str]:
    def show(found: Found) -> str:
        told = at(found, f"pull.{size}")
        if not told:
            return NOTHING
        if "never" in told:
            return f"not in {told['never']:.0f} s"
        return f"{number(told['searchable_seconds'])} s"

    return show


def disk(found: Found) -> str:
    told = at(found, "disk")
    if not told or not told.get("index"):
        return NOTHING
    return f"{number(told['index'] / 1e6)} MB ({number(told['index'] / told['notes'])} ×)"


# --- beside the peers -----------------------------------------------------------------------

BESIDE = (
    Row("version", lambda found: str(found.get("version", ""))),
    Row(
        "start to first reply, cold / warm",
        several(["start.cold", "start.warm"], " s"),
        plain("start.warm"),
    ),
    Row(
        "start to first answer, cold / warm",
        several(["start.cold_first_answer", "start.warm_first_answer"], " s"),
        plain("start.warm_first_answer"),
    ),
    Row(
        "full text index",
        single(per_second("fill.seconds.text"), " notes/s"),
        per_second("fill.seconds.text"),
        True,
    ),
    Row(
        "vectors",
        single(per_second("fill.seconds.vectors"), " notes/s"),
        per_second("fill.seconds.vectors"),
        True,
    ),
    Row(
        "keyword p50 / p95",
        pair("served.recall.keyword"),
        plain("served.recall.keyword.p50"),
    ),
    Row("keyword, right note in 5 / 10", recall("keyword")),
    Row("meaning p50 / p95", pair("served.recall.semantic")),
    Row("meaning, right note in 5 / 10", recall("semantic")),
    Row("hybrid p50 / p95", pair("served.recall.hybrid"), plain("served.recall.hybrid.p50")),
    Row("hybrid, right note in 5 / 10", recall("hybrid")),
    Row("store p50 / p95", pair("served.write"), plain("served.write.p50")),
    Row("stored and found p50 / p95", pair("served.written"), plain("served.written.p50")),
    Row(
        "a person's edit until found p50 / p95",
        pair("served.edit"),
        plain("served.edit.p50"),
    ),
    Row(
        "pull of 500 changes until found", pulled(500), plain("pull.500.searchable_seconds")
    ),
    Row(
        "memory idle / after all questions",
        several(["served.memory_idle.own", "served.memory_asked.own"], " MB"),
        plain("served.memory_asked.own"),
    ),
    Row("index on disk (× the notes)", disk, plain("disk.index")),
    Row("list of tools", single(plain("served.tools_bytes", 0.001), " kB"), plain("served.tools_bytes")),
    Row("4 processes on one vault", processes(4)),
)  # fmt: skip


def beside(ours: Found, peers: Sequence[Found]) -> str:
    """Measures as rows, systems as columns, and how we stand against the best of the others."""
    present = [found for found in peers if "cannot" not in found and "trouble" not in found]
    names = [str(found["name"]) for found in (ours, *present)]
    head = ["", names[0], "against the best", *names[1:]]
    lines = [head]
    for row in BESIDE:
        shown = [row.shown(found) for found in (ours, *present)]
        if any(cell not in (NOTHING, "", f"{NOTHING} / {NOTHING}") for cell in shown):
            lines.append([row.title, shown[0], _against(row, ours, present), *shown[1:]])
    return markdown_table(lines)


def _against(row: Row, ours: Found, peers: Iterable[Found]) -> str:
    mine = row.value(ours)
    theirs = [value for peer in peers if (value := row.value(peer)) and peer.get("indexed", True)]
    if not mine or not theirs:
        return ""
    ratio = mine / max(theirs) if row.more_is_better else min(theirs) / mine
    return f"{number(ratio)} ×"


def markdown_table(lines: Sequence[Sequence[str]]) -> str:
    rows = [f"| {' | '.join(cells)} |" for cells in lines]
    return "\n".join([rows[0], "|" + "---|" * len(lines[0]), *rows[1:]])


# --- by the number of notes -----------------------------------------------------------------


GROWTH = (
    Row("notes on disk", single(plain("bytes", 1e-6), " MB")),
    Row("full text index", single(plain("fill.seconds.text"), " s"), plain("fill.seconds.text")),
    Row("embedding, passages a second", single(plain("vectors.rate"))),
    Row("passages", single(plain("vectors.passages")), plain("vectors.passages")),
    Row("graph of the nearest", single(plain("vectors.graph_seconds"), " s")),
    Row("start on the unchanged vault", single(plain("unchanged.seconds"), " s"), plain("unchanged.seconds")),
    Row("start to first reply, cold / warm", several(["start.cold", "start.warm"], " s"), plain("start.warm")),
    Row("start to first answer by words, cold / warm", several(["start.cold_first_answer", "start.warm_first_answer"], " s"), plain("start.warm_first_answer")),
    Row("start to first hybrid answer", single(plain("start.first_hybrid_answer"), " s"), plain("start.first_hybrid_answer")),
    Row("keyword p50 / p95", pair("served.recall.keyword"), plain("served.recall.keyword.p50")),
    Row("vector p50 / p95", pair("served.recall.vector"), plain("served.recall.vector.p50")),
    Row("hybrid p50 / p95", pair("served.recall.hybrid"), plain("served.recall.hybrid.p50")),
    Row("store p50 / p95", pair("served.write"), plain("served.write.p50")),
    Row("update p50 / p95", pair("served.update"), plain("served.update.p50")),
    Row("a person's edit until found", pair("served.edit"), plain("served.edit.p50")),
    Row("pull of 500 changes until found", pulled(500), plain("pull.500.searchable_seconds")),
    Row("pull of 5,000 changes until found", pulled(5000), plain("pull.5000.searchable_seconds")),
    Row("memory idle", single(plain("served.memory_idle.own"), " MB"), plain("served.memory_idle.own")),
    Row("memory with model, after all questions", single(plain("served.memory_asked.own"), " MB"), plain("served.memory_asked.own")),
    Row("index on disk", disk, plain("disk.index")),
    *(Row(f"{n} process{'es' * (n > 1)}, keyword", processes(n)) for n in (1, 16)),
    *(Row(f"{n} process{'es' * (n > 1)}, hybrid", processes(n, "together_hybrid")) for n in (1, 16)),
    Row("`vaultmem search` / `status` / `index`, whole process", several(["commands.search", "commands.status", "commands.index"], " ms"), plain("commands.search")),
)  # fmt: skip


def growth(by_size: Mapping[int, Found]) -> str:
    sizes = sorted(by_size)
    lines = [["", *(f"{size:,} notes" for size in sizes), "grows as"]]
    for row in GROWTH:
        shown = [row.shown(by_size[size]) for size in sizes]
        if any(cell.strip(f"{NOTHING} /") for cell in shown):
            lines.append([row.title, *shown, power(row, by_size)])
    return markdown_table(lines)


def power(row: Row, by_size: Mapping[int, Found]) -> str:
    """n to the power of: 1 is linear, below is better."""
    known = [(size, value) for size in sorted(by_size) if (value := row.value(by_size[size]))]
    if len(known) < 2:
        return ""
    (few, first), (many, last) = known[0], known[-1]
    return f"n^{math.log(last / first) / math.log(many / few):.2f}".replace("n^-0.00", "n^0.00")


def soak(found: Found) -> str:
    """A run of many hands: what was held as it went on."""
    held = [["", "memory", "open files", "threads", "files of the index", "index"]]
    for name, part in found["ends"].items():
        counts = [f"{part[each]:.0f}" for each in ("handles", "threads", "files")]
        held.append(
            [f"{name} third", f"{part['memory']:.0f} MB", *counts, f"{part['index_mb']:.0f} MB"]
        )
    return f"{markdown_table(held)}\n\n{_verdict(found)}"


def _verdict(found: Found) -> str:
    work = ", ".join(f"{told['n']:,} {kind}" for kind, told in found["work"].items())
    wrong = "".join(f"\n- {each}" for each in found["wrong"])
    end = "Something grew or is wrong:" if wrong else "Nothing grew; the index equals a rebuild."
    return f"{work}; {len(found['failures'])} failures. {end}{wrong}"


# --- limits ---------------------------------------------------------------------------------


def _all_real(ours: Mapping[int, Found]) -> Found:
    """The largest vault whose passages were all embedded."""
    sizes = [
        s for s, told in ours.items() if at(told, "vectors.real") == at(told, "vectors.passages")
    ]
    return ours[max(sizes)] if sizes else {}


def limits(parts: Found, by_size: Mapping[int, Found], ours: Mapping[int, Found]) -> str:
    """What a part costs alone, and what it costs with all of ours around it."""
    most = max(by_size, default=0)
    mine, alone = ours.get(most, {}), by_size.get(most, {})
    bare = at(alone, "tantivy.seconds")
    rows = [
        ("start to first reply, warm", "an empty server on the same library", at(parts, "server.warm"), at(mine, "start.warm"), " s"),
        ("the same, cold", "the same", at(parts, "server.cold"), at(mine, "start.cold"), " s"),
        ("memory, idle", "the same", at(parts, "server.memory"), at(mine, "served.memory_idle.own"), " MB"),
        ("a call, p50", "the same (a keyword recall beside it)", at(parts, "server.call.p50"), at(mine, "served.recall.keyword.p50"), " ms"),
        (f"full text of {most:,} notes", "Tantivy, a document for each note", bare, at(mine, "fill.seconds.text"), " s"),
        (f"a question of words at {most:,} notes, p50", "Tantivy, ten hits", at(alone, "tantivy.query.p50"), at(mine, "served.recall.keyword.p50"), " ms"),
        ("a question by meaning, p50", "fastembed, the question alone", at(parts, "model.question.p50"), at(mine, "served.recall.vector.p50"), " ms"),
        ("embedding, passages a second", "fastembed `embed()`", at(parts, "model.passages_per_second"), at(_all_real(ours), "vectors.rate"), ""),
        ("store, p50", "a durable file (two fsyncs)", at(parts, "file.p50"), at(mine, "served.write.p50"), " ms"),
        ("", "SQLite, insert and commit, synchronous FULL", at(parts, "sqlite.FULL.p50"), at(mine, "served.write.p50"), " ms"),
        ("", "the same, NORMAL", at(parts, "sqlite.NORMAL.p50"), at(mine, "served.write.p50"), " ms"),
        (f"reading {most:,} notes", "the files, nothing else", at(alone, "read_seconds"), at(mine, "unchanged.seconds"), " s"),
        (f"writing {most:,} notes", "`cp`, every file synced", at(alone, "copy_seconds"), None, " s"),
    ]  # fmt: skip
    lines = [["", "alone", "", "vaultmem", "ratio"]]
    for title, what, bottom, top, unit in rows:
        if bottom is not None:
            ratio = number(top / bottom) if top and bottom else ""
            shown = number(top, unit if top is not None else "")
            lines.append([title, what, number(bottom, unit), shown, ratio])
    return markdown_table(lines)
