"""Notes of one thing a hundred thousand times: the time they take grows with their size alone."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from vaultmem.vault import Vault

SHAPES: dict[str, Callable[[int], str]] = {
    "tags": lambda n: "".join(f"#tag{i}\n" for i in range(n // 8)),
    "aliases": lambda n: "---\naliases:\n" + "  - other\n" * 9_000 + "---\n" + "Some words. " * (n // 12),
    "heading": lambda n: "# " + "word " * (n // 20) + "\n\n" + "Some words of a text.\n\n" * (n // 30),
    "links": lambda n: "".join(f"- [[Link {i}]]\n" for i in range(n // 15)),
    "facts": lambda n: "## Facts\n\n" + "".join(f"- k{i}:: v ^f{i}\n" for i in range(n // 16)),
    "log": lambda n: "## Log\n\n" + "".join(f"- **09:12:04** note: x ^i{i}\n" for i in range(n // 30)),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_a_note_takes_time_by_its_size(root: Path, shape: str) -> None:
    (root / ".vaultmem").mkdir()
    (root / "Shape.md").write_text(SHAPES[shape](300_000))
    with Vault.open(root, {"model": "off"}) as vault:
        started = time.process_time()
        vault.index_now()
        vault.get(["Shape.md"])
        vault.recall("words of a text", strategy="keyword")
        assert time.process_time() - started < 6  # 37,500 tags took a minute
