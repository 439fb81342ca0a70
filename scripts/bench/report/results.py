"""What was measured, part by part: each part is a JSON file as soon as it is done."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from measure import machine


class Results:
    def __init__(self, folder: Path, *, again: bool = False) -> None:
        self.folder = folder
        self.again = again
        folder.mkdir(parents=True, exist_ok=True)
        (folder.parent / ".gitignore").write_text("*\n")

    def part(self, name: str, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Measure a part unless an earlier run did; a part that fails says so and the run goes on."""
        known = self.read(name)
        if known is not None and "trouble" not in known and not self.again:
            return known
        print(f"bench: {name} …", file=sys.stderr, flush=True)
        started = time.monotonic()
        try:
            found = measure()
        except KeyboardInterrupt:
            raise
        except Exception as error:  # the edge: the other parts still count
            found = {"trouble": f"{type(error).__name__}: {error}"}
        found |= machine.moment() | {"took_seconds": round(time.monotonic() - started, 1)}
        self._write(name, found)
        if "trouble" in found:
            print(f"bench: {name}: {found['trouble']}", file=sys.stderr)
        return found

    def read(self, name: str) -> dict[str, Any] | None:
        file = self._file(name)
        return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None

    def all(self) -> dict[str, dict[str, Any]]:
        files = sorted(self.folder.rglob("*.json"))
        names = [file.relative_to(self.folder).with_suffix("").as_posix() for file in files]
        return {
            name: json.loads(f.read_text("utf-8")) for name, f in zip(names, files, strict=True)
        }

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def _write(self, name: str, found: dict[str, Any]) -> None:
        file = self._file(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        beside = file.with_suffix(".new")
        beside.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        beside.replace(file)


def spread(seconds: Sequence[float]) -> dict[str, float]:
    """Milliseconds: the middle, and what 95 of 100 stay under."""
    ordered = sorted(each * 1000 for each in seconds)
    if not ordered:
        return {}
    late = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    return {"p50": round(statistics.median(ordered), 2), "p95": round(late, 2), "n": len(ordered)}
