"""The benchmark's page: made from what was measured, and only between its own marks."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

BENCH = Path(__file__).parents[1] / "scripts" / "bench"


def system(name: str, notes: int, speed: float) -> dict[str, Any]:
    asked = {"p50": 3.0 / speed, "p95": 6.0 / speed, "n": 102, "characters": 900}
    return {
        "name": name,
        "notes": notes,
        "bytes": notes * 2500,
        "indexed": True,
        "version": "1.0",
        "fill": {"seconds": {"text": notes / 1000 / speed, "vectors": 60}, "memory": 90.0},
        "disk": {"index": notes * 900, "notes": notes * 2500},
        "start": {"cold": 0.9, "warm": 0.4 / speed, "warm_first_answer": 0.5},
        "served": {
            "recall": {"keyword": {**asked, "at_5": 0.9, "at_10": 0.95, "failed": 0}},
            "write": {"p50": 20.0 / speed, "p95": 40.0, "n": 30},
        },
        "together": {"4": {"per_second": 80, "recall": asked, "failed": 2, "lost": 1}},
    }


def report(work: Path, page: Path) -> None:
    command = [sys.executable, str(BENCH / "measure" / "all.py"), "--report", "--work", str(work)]
    subprocess.run([*command, "--page", str(page)], check=True, capture_output=True, timeout=60)


def test_the_page_is_made_from_what_was_measured(tmp_path: Path) -> None:
    results = tmp_path / "work" / "results"
    for size in (1000, 10_000):
        (results / "generated" / str(size)).mkdir(parents=True)
        for name, speed in (("vaultmem", 8.0), ("slowpoke", 1.0)):
            file = results / "generated" / str(size) / f"{name}.json"
            file.write_text(json.dumps(system(name, size, speed)))
        reason = {"name": "absent", "cannot": "needs a network"}
        (results / "generated" / str(size) / "absent.json").write_text(json.dumps(reason))
    page = tmp_path / "docs" / "benchmarks.md"
    page.parent.mkdir()
    page.write_text("# Benchmarks\n\nWords of a person.\n", encoding="utf-8")

    report(tmp_path / "work", page)
    once = page.read_text(encoding="utf-8")
    assert "| keyword p50 / p95 | 0.38 / 0.75 ms | 8 × | 3 / 6 ms |" in once
    assert "8 × slowpoke, right in 5: 0.90 and 0.90 | reached |" in once
    assert "**2 failed, 1 lost**" in once
    assert "- absent: needs a network" in once
    assert "| full text index | 0.12 s | 1.25 s | n^1.00 |" in once

    page.write_text(once + "\nMore words of a person.\n", encoding="utf-8")
    report(tmp_path / "work", page)
    assert page.read_text(encoding="utf-8") == once + "\nMore words of a person.\n"
    picture = ElementTree.parse(page.parent / "plots" / "recall.svg")
    labels = [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {"vaultmem", "slowpoke", "10k"} <= set(labels)


def test_questions_are_about_the_notes_they_name(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; sys.path[:0] = sys.argv[1:3]\n"
        "import json; from measure import corpus; from dataclasses import asdict\n"
        "vault = corpus.lay_out(Path(sys.argv[3]), 30, None)\n"
        "print(json.dumps([asdict(q) for q in vault.questions]))"
    )
    places = [str(BENCH), str(BENCH.parents[1]), str(tmp_path)]
    done = subprocess.run([sys.executable, "-c", code, *places], check=True, capture_output=True)
    questions = json.loads(done.stdout)
    assert {question["kind"] for question in questions} == {"title", "phrase", "question"}
    for question in questions:
        text = (tmp_path / "vaults" / "30" / "notes" / question["note"]).read_text("utf-8").lower()
        words = question["text"].lower().split()
        hidden = [word for word in words if word in text]
        assert len(hidden) >= 4, question
