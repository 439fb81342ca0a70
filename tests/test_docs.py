"""The documents say what is true: links lead somewhere, commands run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vaultmem.markdown import outline

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in outline(page.read_text(encoding="utf-8")).links:
        if not link.embed or link.target:
            assert (page.parent / link.target).exists(), f"{page.name}: {link.target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_exist(page: Path) -> None:
    from vaultmem.surfaces.cli import COMMANDS

    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"```(?:sh|console)\n(.*?)```", text, re.DOTALL):
        for name in re.findall(r"vaultmem ([a-z][a-z-]*)", block):
            assert name in COMMANDS, f"{page.name}: vaultmem {name}"
