"""What the settings keep away from agents, and templates: `sync` shares them like every note."""

from __future__ import annotations

import pytest

from tests.git.conftest import Clones
from tests.git.test_sync import converged, sync

KEPT = 'exclude = ["AGENTS.md"]\n[typing]\nquiet_seconds = 0.0\n[access]\nPrivate = "none"\n'
NO_MEMORIES = ("AGENTS.md", "Private/Diary.md", "Templates/Day.md")


def test_what_is_no_memory_is_shared_all_the_same(clones: Clones) -> None:
    kept = {".vaultmem/config.toml": KEPT, "Templates/Day.md": "{{date}}\n"}
    a, b = clones({"AGENTS.md": "Rules.\n", "Private/Diary.md": "Slept.\n", **kept})
    for path in NO_MEMORIES:
        a.save(path, a.text(path) + "More.\n")
    assert sync(a).left == []
    files = converged(a, b)
    assert all(files[path].endswith(b"More.\n") for path in NO_MEMORIES)


@pytest.mark.parametrize("path", NO_MEMORIES)
def test_markers_taken_out_of_what_is_no_memory_end_the_merge(clones: Clones, path: str) -> None:
    a, b = clones({path: "{{date}} one\n", ".vaultmem/config.toml": KEPT})
    for machine, word in ((a, "two"), (b, "three")):
        machine.edit(path, "one", word)
    assert sync(a).status == "done"
    assert sync(b).status == "conflicts"
    b.save(path, "{{date}} two and three\n")
    assert sync(b).status == "done"
    assert converged(a, b)[path] == b"{{date}} two and three\n"
