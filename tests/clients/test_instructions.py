"""One marked block in a file of instructions: put in, kept up to date, and taken out to the byte."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Run
from vaultmem.clients.instructions import with_block, without_block
from vaultmem.errors import InvalidInput

FILE, RULE = Path("AGENTS.md"), Path("memory.mdc")
PIECES = st.sampled_from(
    (b"# Rules", b"a", b"\n", b"\r\n", b"\xff\xfe", b"\xef\xbb\xbf", b" \t", b"<!-- x -->")
)
BYTES = st.lists(PIECES, max_size=12).map(b"".join)


@given(BYTES, BYTES)
def test_it_goes_in_and_out_and_touches_nothing_else(before: bytes, after: bytes) -> None:
    one = with_block(FILE, before, "first\nsecond")
    assert one.startswith(before) and with_block(FILE, one, "first\nsecond") == one
    assert without_block(FILE, one) == (before or None)
    other = with_block(FILE, one, "third")
    assert without_block(FILE, other) == (before or None)
    grown = one + after  # a person goes on behind it
    assert without_block(FILE, with_block(FILE, grown, "third")) == (before + after or None)


def test_lines_end_as_those_of_the_file() -> None:
    assert b"first\r\nsecond\r\n" in with_block(FILE, b"# Rules\r\nx\r\n", "first\nsecond")
    assert b"\r" not in with_block(FILE, b"# Rules\nx", "first\nsecond")


def test_a_rule_of_cursor_says_when_it_holds() -> None:
    made = with_block(RULE, b"", "first")
    assert made.startswith(b"---\ndescription: ") and b"alwaysApply: true" in made
    assert without_block(RULE, made) is None


@pytest.mark.parametrize(
    "broken", [b"<!-- vaultmem:begin x -->\nleft open\n", b"<!-- vaultmem:end -->\n"]
)
def test_marks_that_do_not_belong_together_are_refused(broken: bytes) -> None:
    for change in (lambda: with_block(FILE, broken, "x"), lambda: without_block(FILE, broken)):
        with pytest.raises(InvalidInput, match="Nothing was changed"):
            change()


def test_the_commands(run: Run, tmp_path: Path) -> None:
    vault, agents = tmp_path / "My Vault", tmp_path / "project" / "AGENTS.md"
    agents.parent.mkdir()
    agents.write_bytes(b"# Rules\r\n\r\nUse tabs.")
    before = agents.read_bytes()
    assert run("init", str(vault)).code == 0
    words = ("--instructions", str(agents), "--vault", str(vault))
    tried = run("install", *words, "--dry-run")
    assert tried.code == 0 and "recall_memories" in tried.out and agents.read_bytes() == before
    done = run("install", "codex", *words)
    assert done.code == 0 and f"instructions in {agents}" in done.out, done.err
    said = agents.read_bytes()
    assert said.startswith(before) and b'--vault "~/My Vault"' in said
    assert [each.name for each in agents.parent.iterdir()] == ["AGENTS.md"]
    assert "already there" in run("install", "codex", *words).out
    usual = tmp_path / ".codex" / "AGENTS.md"
    assert not usual.exists()
    assert run("install", "--instructions", str(usual), "--vault", str(vault)).code == 0
    old = usual.read_bytes().replace(b"recall_memories", b"an_old_name")
    usual.write_bytes(old)
    assert run("install", "codex", "--vault", str(vault)).code == 0
    assert b"recall_memories" in usual.read_bytes()
    gone = run("uninstall", "codex", "--instructions", str(agents))
    assert gone.code == 0 and agents.read_bytes() == before and not usual.exists()
    assert run("uninstall").code == 2
