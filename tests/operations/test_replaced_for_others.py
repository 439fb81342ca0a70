"""What a caller may not see says nothing about their own notes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Open

OURS = "---\nuser: ana\ntags: [preference]\n---\nIndent code with two blanks, always.\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Prefs/Mine", "---\nuser: ben\n---\nReplaces [[Indentation 2025]]. Tabs.\n"),
        ("Prefs/Indentation 2026", "---\nuser: ben\n---\nIndent code with tabs.\n"),
        ("Prefs/Indentation 2026", "---\nforgotten: true\n---\nIndent code with tabs.\n"),
    ],
)
def test_what_is_hidden_replaces_nothing(
    open_vault: Open, root: Path, name: str, text: str
) -> None:
    (root / "Prefs").mkdir(parents=True, exist_ok=True)
    (root / "Prefs/Indentation 2025.md").write_text(OURS)
    vault = open_vault(user="ana")
    vault.index_now()
    plain = [hit.superseded_by for hit in vault.recall("indent code", strategy="keyword").memories]
    (root / f"{name}.md").write_text(text)
    vault.index_now()
    assert "two blanks" in vault.context().context_block
    assert "two blanks" in vault.context("Indent the code", files=["a.py"]).context_block
    found = vault.parts.recall.ask("indent code", strategy="keyword", filters=vault.view.filters())
    assert plain == [None] and [hit.why for hit in found.hits] == ["keyword #1"]


def test_what_one_may_see_does_replace(open_vault: Open, root: Path) -> None:
    (root / "Prefs").mkdir(parents=True, exist_ok=True)
    (root / "Prefs/Indentation 2025.md").write_text(OURS)
    (root / "Prefs/Indentation 2026.md").write_text(OURS.replace("two blanks", "tabs"))
    vault = open_vault(user="ana")
    vault.index_now()
    block = vault.context().context_block
    assert "tabs" in block and "two blanks" not in block
