"""What was measured, written into docs/benchmarks.md and docs/plots."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from measure import machine, window_ways

from report import aims, plots, tables
from report.results import Results
from report.tables import at

PAGE = machine.ROOT / "docs" / "benchmarks.md"
HEADINGS = {
    "peers": "Beside the peers",
    "growth": "How costs grow",
    "windows": "Windows and their engine, in the same run",
}
GENERATED = "generated"

Found = Mapping[str, Any]
# What is plotted: file, title, unit, factor, and the lines of each picture by name.
PICTURES: tuple[tuple[str, str, str, float, Mapping[str, str]], ...] = (
    ("index", "Filling the full text index", "s", 1, {"": "fill.seconds.text"}),
    ("recall", "Recall by words, p50", "ms", 1, {"": "served.recall.keyword.p50"}),
    ("hybrid", "Recall by words and meaning, p50", "ms", 1, {"": "served.recall.hybrid.p50"}),
    ("start", "Start to the first answer, warm", "s", 1, {"": "start.warm_first_answer"}),
    ("store", "Storing a memory, p50", "ms", 1, {"": "served.write.p50"}),
    ("memory", "Memory after all questions", "MB", 1, {"": "served.memory_asked.own"}),
    ("disk", "Index on disk", "MB", 1e-6, {"": "disk.index"}),
    (
        "ours",
        "vaultmem: other costs",
        "s",
        1,
        {
            "start, unchanged": "unchanged.seconds",
            "start, one change": "start.behind",
            "pull of 500": "pull.500.searchable_seconds",
            "pull of 5,000": "pull.5000.searchable_seconds",
            "a person's edit": "served.edit.p50/1000",
            "update": "served.update.p50/1000",
        },
    ),
)


def write(results: Results, page: Path = PAGE) -> None:
    everything = results.all()
    sections = {
        "peers": _beside(everything),
        "growth": _growth(everything, page.parent / "plots"),
    }
    if told := [each for name, each in everything.items() if name.startswith("windows/")]:
        sections["windows"] = "\n\n".join(map(_windows, told))
    text = page.read_text(encoding="utf-8") if page.exists() else "# Benchmarks\n"
    for name, body in sections.items():
        text = _put(text, name, body)
    page.write_text(text, encoding="utf-8")
    print(f"bench: wrote {page}")


def _put(text: str, name: str, body: str) -> str:
    """Between its two marks; a page without them gets the section at its end."""
    start, end = f"<!-- bench:{name} -->", f"<!-- /bench:{name} -->"
    block = f"{start}\n\n{body.strip()}\n\n{end}"
    if start in text:
        pattern = re.escape(start) + ".*?" + re.escape(end)
        return re.sub(pattern, lambda _: block, text, flags=re.DOTALL)
    return f"{text.rstrip()}\n\n## {HEADINGS[name]}\n\n{block}\n"


# --- what there is --------------------------------------------------------------------------


def _sets(everything: Mapping[str, Found]) -> list[str]:
    names = {name.split("/")[0] for name in everything if name.count("/") == 2}
    return sorted(names, key=lambda name: (name != GENERATED, name))


def _sizes(everything: Mapping[str, Found], which: str) -> list[int]:
    found = {name.split("/")[1] for name in everything if name.startswith(f"{which}/")}
    return sorted(int(size) for size in found if size.isdigit())


def _by_size(everything: Mapping[str, Found], which: str, name: str) -> dict[int, Found]:
    found = {size: everything.get(f"{which}/{size}/{name}") for size in _sizes(everything, which)}
    return {size: told for size, told in found.items() if told and "trouble" not in told}


# --- sections -------------------------------------------------------------------------------


def _beside(everything: Mapping[str, Found]) -> str:
    parts = [_machine(everything), _how()]
    for which in _sets(everything):
        for size in _sizes(everything, which):
            parts += _one_size(everything, which, size)
    return "\n\n".join(parts)


def _machine(everything: Mapping[str, Found]) -> str:
    told = everything.get("machine", {})
    versions = ", ".join(f"{name} {which}" for name, which in told.get("versions", {}).items())
    return (
        f"Machine: {told.get('processor')}, {told.get('cores')} cores, {told.get('memory_gb')} GB, "
        f"{told.get('system')}, Python {told.get('python')}, {versions}. Measured by `scripts/bench/run all`, "
        f"{_between(everything, 'date')}, commit {_between(everything, 'commit')}, load of the "
        f"machine {_between(everything, 'load')}."
    )


def _between(everything: Mapping[str, Found], name: str) -> str:
    values = sorted({told[name] for told in everything.values() if name in told})
    return f"{values[0]}" + (f" to {values[-1]}" if len(values) > 1 else "") if values else "?"


def _how() -> str:
    return (
        "Every system has its own environment, its own copy of the same notes, and is asked the "
        "same questions by the same client over its own MCP server on stdio: a third the words of "
        "a note's title, a third a phrase of six words as it stands in a note, a third a question "
        "about one paragraph. “Right note in 5 / 10” is the share of questions whose note is among "
        "the first five or ten. Cold means that the program's files and the index were put out of "
        "the system's file cache. Memory is what is resident in the process and its children "
        "without mapped files of the index. “Against the best” compares with the best of the "
        "systems that keep an index; above 1 × vaultmem is ahead. In “processes” every process has "
        "its own agent, nine questions to one write; p95 is that of the questions."
    )


def _windows(told: Found) -> str:
    if "rows" not in told:
        return f"Windows: {told.get('trouble', 'not measured')}"
    tables_ = [window_ways.table(rows) for rows in told["rows"].values()]
    about = (
        f"{told['notes']:,} notes; milliseconds, and MB of memory; medians. With the engine its own "
        "share is named apart, or counted with the windows'. Above, each process of vaultmem works "
        "by itself."
    )
    return "\n".join([about, "", *tables_])


def _one_size(everything: Mapping[str, Found], which: str, size: int) -> list[str]:
    start = f"{which}/{size}/"
    ours = everything.get(f"{start}vaultmem")
    skip = ("vaultmem", "vault", "limits")
    others = [
        told
        for name, told in everything.items()
        if name.startswith(start) and name.removeprefix(start) not in skip
    ]
    if not ours or "trouble" in ours or not others:
        return []
    vault = everything.get(f"{start}vault", {})
    kind = "generated notes" if which == GENERATED else f"notes of a real vault ({which})"
    median = f", median {vault['median']:,} bytes" if "median" in vault else ""
    parts = [
        f"### {size:,} {kind}{median}",
        tables.beside(ours, others),
        aims.against(ours, others),
    ]
    told = [f"- {told['name']}: {_remark(told)}" for told in (ours, *others) if _remark(told)]
    return [part for part in (*parts, "\n".join(told)) if part]


def _remark(told: Found) -> str:
    if "trouble" in told:
        return f"not measured, {told['trouble']}"
    steps = {name: at(step, "trouble") for name, step in told.items()}
    failed = [f"the part “{name}” failed: {why}" for name, why in steps.items() if why]
    said = told.get("cannot") or told.get("remark")
    return "; ".join([*([str(said)] if said else []), *failed])


def _growth(everything: Mapping[str, Found], folder: Path) -> str:
    parts = []
    for which in _sets(everything)[:1]:
        ours = _by_size(everything, which, "vaultmem")
        if not ours:
            continue
        alone = _by_size(everything, which, "limits")
        parts += [
            "Costs of vaultmem by the number of notes. In “grows as”, n^1 is linear in the number "
            "of notes and n^0 does not grow. " + _vectors(ours),
            tables.growth(ours),
            "What was to be reached:",
            aims.own(ours, everything.get("limits", {})),
            "How much of it is ours: the same work by its parts alone.",
            tables.limits(everything.get("limits", {}), alone, ours),
            _pictures(everything, which, folder),
        ]
    soaked = everything.get("soak", {})
    if "ends" in soaked:
        parts += [f"### Soak, {soaked['notes']:,} notes, four servers", tables.soak(soaked)]
    return "\n\n".join(parts)


def _vectors(ours: Mapping[int, Found]) -> str:
    made = [
        size
        for size, told in ours.items()
        if at(told, "vectors.real") != at(told, "vectors.passages")
    ]
    if not made:
        return "All vectors are real."
    named = " and ".join(f"{size:,}" for size in made)
    return (
        f"At {named} notes only those that questions are asked about have real vectors; the others "
        "are real ones mixed with their neighbours, because embedding all would take hours."
    )


def _pictures(everything: Mapping[str, Found], which: str, folder: Path) -> str:
    systems = ["vaultmem", *sorted(_names(everything, which) - {"vaultmem", "vault", "limits"})]
    shown = []
    for name, title, unit, factor, paths in PICTURES:
        lines = {}
        for system in systems if "" in paths else ["vaultmem"]:
            for label, path in paths.items():
                points = _points(_by_size(everything, which, system), path, factor)
                lines[label or system.replace("_", "-")] = points
        if plots.draw(folder / f"{name}.svg", title, unit, lines):
            shown.append(f"![{title}](plots/{name}.svg)")
    return "\n".join(shown)


def _names(everything: Mapping[str, Found], which: str) -> set[str]:
    return {name.split("/")[2] for name in everything if name.startswith(f"{which}/")}


def _points(by_size: Mapping[int, Found], path: str, factor: float) -> list[tuple[float, float]]:
    path, _, divisor = path.partition("/")
    value: Callable[[Found], float | None] = tables.plain(path, factor / float(divisor or 1))
    known = ((size, value(told)) for size, told in sorted(by_size.items()))
    return [(float(size), v) for size, v in known if v]
