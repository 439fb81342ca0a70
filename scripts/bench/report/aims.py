"""What was to be reached, and whether it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from report.tables import Found, at, markdown_table, number, per_second

USUAL = 10_000  # notes
NOT_PYTHON = ("server-memory", "ripgrep")


@dataclass(frozen=True)
class Aim:
    title: str
    aim: str
    figure: Callable[[Found, Found], float | None]  # of ours and the limits of the same run
    reached: Callable[[float], bool]
    unit: str
    size: int = USUAL


def _ratio(over: str, under: str) -> Callable[[Found, Found], float | None]:
    """Ours over what the part costs alone."""

    def figure(ours: Found, limits: Found) -> float | None:
        mine, alone = at(ours, over), at(limits, under)
        return mine / alone if mine and alone else None

    return figure


def _of(path: str) -> Callable[[Found, Found], float | None]:
    return lambda ours, limits: at(ours, path)


def _below(most: float) -> Callable[[float], bool]:
    return lambda value: value < most


ALL_REAL = 1_000  # notes; in a larger vault most vectors are made from others

OWN = (
    Aim("start to first reply, warm", "under 1 s", _of("start.warm"), _below(1), " s"),
    Aim("… against an empty server", "at most 1.2 ×", _ratio("start.warm", "server.warm"), _below(1.2), " ×"),
    Aim("`vaultmem search`, whole process", "under 300 ms", _of("commands.search"), _below(300), " ms"),
    Aim("`vaultmem status`, whole process", "under 300 ms", _of("commands.status"), _below(300), " ms"),
    Aim("keyword p50", "under 5 ms", _of("served.recall.keyword.p50"), _below(5), " ms"),
    Aim("hybrid p50", "under 15 ms", _of("served.recall.hybrid.p50"), _below(15), " ms"),
    Aim("store p50", "under 60 ms", _of("served.write.p50"), _below(60), " ms"),
    Aim("a person's edit until found, p50", "under 500 ms", _of("served.edit.p50"), _below(500), " ms"),
    Aim("full text index", "over 1,000 notes/s", lambda ours, _: per_second("fill.seconds.text")(ours), lambda v: v > 1000, " notes/s"),
    Aim("embedding against fastembed `embed()`", "at least 1.5 ×", _ratio("vectors.rate", "model.passages_per_second"), lambda v: v >= 1.5, " ×", ALL_REAL),
    Aim("start on the unchanged vault", "under 1.5 s", _of("unchanged.seconds"), _below(1.5), " s"),
    Aim("memory idle", "under 120 MB", _of("served.memory_idle.own"), _below(120), " MB"),
    Aim("memory with model", "under 350 MB", _of("served.memory_asked.own"), _below(350), " MB"),
    Aim("hybrid p50", "under 40 ms", _of("served.recall.hybrid.p50"), _below(40), " ms", 100_000),
)  # fmt: skip


def own(ours: Mapping[int, Found], parts: Found) -> str:
    """Our own aims; where their size was not measured, a larger one or else the largest."""
    lines = [["", "aim", "measured", ""]]
    for each in OWN:
        size = min((s for s in ours if s >= each.size), default=max(ours))
        value = each.figure(ours[size], parts)
        if value is not None and (size >= each.size or each.size <= USUAL):
            done = "reached" if each.reached(value) else "**missed**"
            shown = number(value, each.unit)
            lines.append([f"{each.title}, {size:,} notes", each.aim, shown, done])
    return markdown_table(lines)


# --- against the peers ----------------------------------------------------------------------


def against(ours: Found, peers: Sequence[Found]) -> str:
    there = [peer for peer in peers if at(peer, "served.recall")]
    indexed = [peer for peer in there if peer.get("indexed")]
    lines = [["", "aim", "measured", ""]]
    for mode in ("keyword", "hybrid"):
        lines += _recall(ours, indexed, mode)
    lines += _faster("full text index", 3, ours, indexed, "fill.seconds.text")
    lines += _faster("store", 3, ours, indexed, "served.write.p50")
    lines += _faster("stored and found", 3, ours, indexed, "served.written.p50")
    lines += _half(ours, there)
    python = [peer for peer in there if peer["name"] not in NOT_PYTHON]
    lines += _faster("start to first reply, of those in Python", 1, ours, python, "start.warm")
    return markdown_table(lines) if len(lines) > 1 else ""


def _recall(ours: Found, peers: Sequence[Found], mode: str) -> list[list[str]]:
    """Five times as fast as the quickest, and with at least its share of right notes."""
    times = [(t, p) for p in peers if (t := at(p, f"served.recall.{mode}.p50"))]
    mine = at(ours, f"served.recall.{mode}")
    if not times or not mine:
        return []
    taken, best = min(times, key=lambda each: each[0])
    right, its = mine["at_5"], at(best, f"served.recall.{mode}.at_5")
    shown = f"{number(taken / mine['p50'])} × {best['name']}, right in 5: {right:.2f} and {its:.2f}"
    done = taken / mine["p50"] >= 5 and right >= its
    return [[f"{mode} p50", "5 × the quickest, with its recall", shown, _verdict(done)]]


def _faster(
    title: str, times: float, ours: Found, peers: Sequence[Found], path: str
) -> list[list[str]]:
    mine = at(ours, path)
    theirs = [(value, peer["name"]) for peer in peers if (value := at(peer, path))]
    if not mine or not theirs:
        return []
    value, name = min(theirs)
    aim = f"{times:g} × the best" if times > 1 else "the quickest"
    return [[title, aim, f"{number(value / mine)} × {name}", _verdict(value / mine >= times)]]


def _half(ours: Found, peers: Sequence[Found]) -> list[list[str]]:
    path = "served.memory_asked.own"
    mine = at(ours, path)
    theirs: Any = next((at(p, path) for p in peers if p["name"] == "basic-memory"), None)
    if not mine or not theirs:
        return []
    shown = f"{number(mine / theirs)} × ({number(mine)} of {number(theirs)} MB)"
    return [["memory", "half of basic-memory's", shown, _verdict(mine <= theirs / 2)]]


def _verdict(done: bool) -> str:
    return "reached" if done else "**missed**"
