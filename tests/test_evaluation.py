"""What `scripts/run eval` says of a person's vault: each measure with its interval."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).parents[1] / "scripts"


def lines(file: Path, *rows: dict[str, Any]) -> None:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_context_and_silence_of_a_life_are_measured(tmp_path: Path) -> None:
    notes = tmp_path / "data" / "lives" / "notes"
    notes.mkdir(parents=True)
    (notes / "Beehive.md").write_text("The beehive behind the shed swarms in May.\n")
    (notes / "Tent.md").write_text("The tent has a torn seam at the left pole.\n")
    belongs = {"task": "Inspect the beehive before it swarms", "notes": ["Beehive.md"]}
    lines(notes.parent / "tasks.jsonl", {**belongs, "noise": ["Tent.md"]})
    lines(notes.parent / "nothing.jsonl", {"question": "ok"}, {"question": "thanks"})
    asked = {"question": "which seam of the tent is torn?", "notes": ["Tent.md"], "kind": "plain"}
    lines(notes.parent / "questions.jsonl", {**asked, "not": ["Beehive.md"]})
    measure = [sys.executable, SCRIPTS / "tasks" / "eval.py", tmp_path / "data"]
    options = ["--json", "--strategy", "keyword"]
    done = subprocess.run([*measure, *options], capture_output=True, text=True, check=True)
    rows = {row["name"]: row for row in json.loads(done.stdout)["results"]}
    assert all(row["low"] <= row["value"] <= row["high"] for row in rows.values())
    assert rows["hook: names a note that belongs"]["value"] == 1
    assert rows["hook: speaks of nothing"]["value"] == 0
    assert rows["hook: speaks of nothing"]["n"] == 2
    assert rows["hook: silent on a question"]["value"] == 0
    assert rows["hybrid: plain, first"]["value"] == 1
    assert rows["hybrid: outdated before right"]["value"] == 0
    assert rows["context: tokens"]["high"] <= 2000
