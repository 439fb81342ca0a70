"""What one machine keeps for itself does not arrive through git in another's place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.git.conftest import Clones
from tests.git.test_sync import sync
from vaultmem.errors import InvalidInput, Unavailable


@pytest.mark.parametrize(
    ("place", "kind", "both"),
    [
        (".vaultmem/local", "link", False),
        (".vaultmem/local", "file", True),
        (".vaultmem/local/history", "link", True),
        (".vaultmem/index", "link", False),
        (".vaultmem/x", "file", False),
        (".trash", "link", True),
    ],
)
def test_a_commit_that_would_replace_our_state_is_not_merged(
    clones: Clones, home: Path, place: str, kind: str, both: bool
) -> None:
    """Git would silently delete what is ignored here, the history of every note among it."""
    a, b = clones({"Note.md": "one\n"})
    with b.vault() as vault:
        vault.tag("Note", add=["seen"])
        vault.remove("Note")
    kept = {path: path.read_bytes() for path in b.root.glob(".vaultmem/local/history/*/*")}
    trashed = (b.root / ".trash" / "Note.md").read_bytes()
    sync(b)
    a.git("pull", "-q")
    (home / "outside").mkdir()
    (a.root / place).parent.mkdir(parents=True, exist_ok=True)
    if kind == "link":
        (a.root / place).symlink_to(home / "outside")
    else:
        (a.root / place).write_bytes(b"x")
    a.git("add", "-f", place)
    a.git("commit", "-q", "-m", "a gift")
    a.git("push", "-q")
    if both:
        b.save("Other.md", "two\n")
    with pytest.raises(InvalidInput, match="belongs to one machine alone") as refused:
        sync(b)
    assert place in str(refused.value)
    assert {path: path.read_bytes() for path in kept} == kept
    assert (b.root / ".trash" / "Note.md").read_bytes() == trashed
    a.git("rm", "-q", "--cached", "--", place)
    a.git("commit", "-q", "-m", "taken back")
    a.git("push", "-q")
    assert sync(b).status == "done"


def test_settings_and_a_tracked_trash_still_travel(clones: Clones) -> None:
    a, b = clones({"Note.md": "one\n"})
    a.save(".vaultmem/config.toml", "[typing]\nquiet_seconds = 0.0\nwait_seconds = 1.0\n")
    a.save(".trash/Old.md", "old\n")
    a.git("add", "-f", ".trash/Old.md")
    a.commit()
    a.git("push", "-q")
    assert sync(b).status == "done"
    assert "wait_seconds" in b.text(".vaultmem/config.toml")
    assert b.text(".trash/Old.md") == "old\n"


def test_a_pipe_in_the_place_of_our_ignore_file_is_not_waited_for(clones: Clones) -> None:
    a, _ = clones({"Note.md": "one\n"})
    (a.root / ".vaultmem" / ".gitignore").unlink()
    os.mkfifo(a.root / ".vaultmem" / ".gitignore")
    with pytest.raises(Unavailable, match="Move it away"):
        sync(a)
