"""Measure recall, context and silence on sets, through the product: scripts/run eval DATA [--set S]"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import hashlib
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

from evaluation import life, sets, vaults
from evaluation.asking import Haystack
from evaluation.measures import Figure, Scored, mean

STRATEGIES = ("keyword", "vector", "hybrid", "graph")
QUICK_QUESTIONS = 60
QUICK_SETS = ("devbench", "locomo-session", "locomo-turn")
# Of beam100k only these can be found from the question alone.
RETRIEVABLE = (
    "information_extraction",
    "knowledge_update",
    "contradiction_resolution",
    "temporal_reasoning",
    "multi_session_reasoning",
)


def main() -> None:
    asked = _arguments()
    with _workplace(asked.work) as work:
        every = [*sets.names_in(asked.data), *life.names_in(asked.data)]
        names = asked.set or (QUICK_SETS if asked.quick else every)
        lives = set(life.names_in(asked.data))
        results = [
            line
            for name in names
            for line in (_lived if name in lives else _measured)(name, asked, work)
        ]
    if asked.json:
        print(json.dumps({"commit": _commit(), "results": results}, indent=1))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/run eval", description=__doc__)
    parser.add_argument("data", type=Path, help="a folder with one folder for each set")
    parser.add_argument("--set", action="append", help="only this set (again for more)")
    parser.add_argument("--strategy", action="append", choices=STRATEGIES)
    parser.add_argument("--pooled", action="store_true", help="all haystacks in one vault")
    parser.add_argument("--quick", action="store_true", help="a sample, in under two minutes")
    parser.add_argument("--original-key", action="store_true", help="the authors' own key")
    parser.add_argument("--half", type=int, choices=(0, 1), help="every other question, by hash")
    parser.add_argument("--work", type=Path, help="keep vaults and vectors here for the next run")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def _measured(name: str, asked: argparse.Namespace, work: Path) -> Iterator[dict[str, object]]:
    key = "qrels_original.tsv" if asked.original_key else "qrels.tsv"
    has_key = (asked.data / name / key).exists()
    data = sets.read(asked.data / name, key if has_key else "qrels.tsv")
    strategies = asked.strategy or STRATEGIES[:3]
    found: dict[tuple[str, str], list[Scored]] = defaultdict(list)
    spent = 0.0
    for haystack, questions in _haystacks(data, asked, work):
        vectors = any(strategy != "keyword" for strategy in strategies)
        spent += haystack.index(work / "kept.db", vectors=vectors)
        for strategy in strategies:
            if questions:
                haystack.ask(
                    questions[0], strategy
                )  # what is loaded once is not the question's time
            for question in questions:
                row = haystack.ask(question, strategy)
                for category in _categories(name, question.category):
                    found[strategy, category].append(row)
        haystack.close()
    title = f"{name}{' pooled' if asked.pooled else ''}"
    if not asked.json:
        _print_table(title, name, found, spent)
    for (strategy, category), rows in found.items():
        one = {k: round(v, 4) for k, v in asdict(mean(rows)).items()}
        yield {"set": title, "category": category, "strategy": strategy, "n": len(rows), **one}


def _lived(name: str, asked: argparse.Namespace, work: Path) -> Iterator[dict[str, object]]:
    """Context and silence on a person's vault."""
    data = life.read(asked.data / name)
    vectors = asked.strategy != ["keyword"]
    vault = life.LifeVault(data, work / name / "vault", work / "kept.db", vectors=vectors)
    found = list(life.figures(data, vault))
    vault.close()
    if not asked.json:
        _print_figures(name, found)
    for figure in found:
        rounded = {k: round(v, 4) if k != "name" else v for k, v in asdict(figure).items()}
        yield {"set": name, **rounded}


def _haystacks(
    data: sets.Set, asked: argparse.Namespace, work: Path
) -> Iterator[tuple[Haystack, list[sets.Question]]]:
    groups = vaults.haystacks(data, asked.pooled)
    for name in list(groups)[:1] if asked.quick else groups:
        asking = [q for q in data.questions if asked.pooled or q.haystack == name]
        if asked.half is not None:
            asking = [q for q in asking if half_of(q.id) == asked.half]
        if asked.quick:
            asking = asking[:QUICK_QUESTIONS]
        root = work / data.name / vaults.safe_name(name)
        root.mkdir(parents=True, exist_ok=True)
        yield Haystack(groups[name], data.is_of_turns, root), asking


def half_of(id_: str) -> int:
    """Parameters are sought with one half of the questions and confirmed with the other."""
    return hashlib.blake2b(id_.encode(), digest_size=1).digest()[0] & 1


def _categories(name: str, category: str) -> Iterable[str]:
    yield "all"
    yield category
    if name == "beam100k" and category in RETRIEVABLE:
        yield "retrievable"


def _print_table(
    title: str, name: str, found: dict[tuple[str, str], list[Scored]], spent: float
) -> None:
    print(f"\n{title}: {dt.date.today()}, {_commit()}, indexed in {spent:.1f} s")
    print("| strategy | category | questions | R@5 | R@10 | hit@5 | nDCG@10 | MRR | p50 ms |")
    print("|---|---|---|---|---|---|---|---|---|")
    if floor := sets.FLOORS.get(name):
        print(f"| BM25 floor | all | | {floor[0]:.3f} | {floor[1]:.3f} | | | {floor[2]:.3f} | |")
    for (strategy, category), rows in sorted(found.items(), key=lambda pair: pair[0][::-1]):
        m = mean(rows)
        print(
            f"| {strategy} | {category} | {len(rows)} | {m.r5:.3f} | {m.r10:.3f} | {m.hit5:.3f} "
            f"| {m.ndcg10:.3f} | {m.mrr:.3f} | {m.milliseconds:.1f} |",
            flush=True,
        )


def _print_figures(title: str, found: Iterable[Figure]) -> None:
    print(f"\n{title}: {dt.date.today()}, {_commit()}")
    print("| measure | n | value | from | to |")
    print("|---|---|---|---|---|")
    for each in found:
        form = ".0f" if each.high > 1 else ".3f"
        numbers = " | ".join(f"{value:{form}}" for value in (each.value, each.low, each.high))
        print(f"| {each.name} | {each.n} | {numbers} |", flush=True)


@contextlib.contextmanager
def _workplace(wanted: Path | None) -> Iterator[Path]:
    """The folder asked for, or one that goes away afterwards."""
    if wanted is not None:
        wanted.mkdir(parents=True, exist_ok=True)
        yield wanted
        return
    with tempfile.TemporaryDirectory(prefix="vaultmem-eval-") as made:
        yield Path(made)


def _commit() -> str:
    here = Path(__file__).parents[2]
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=here, capture_output=True, text=True
    )
    return done.stdout.strip() or "no commit"


if __name__ == "__main__":
    main()
