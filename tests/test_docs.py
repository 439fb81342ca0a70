"""The documents say what is true: links lead somewhere, commands run."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import clean_environment
from vaultmem.markdown import outline

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in outline(page.read_text(encoding="utf-8")).links:
        if not link.embed or link.target:
            assert (page.parent / link.target).exists(), f"{page.name}: {link.target}"


def test_every_command_of_the_readme_runs(tmp_path: Path) -> None:
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    commands = [line for block in blocks for line in block.splitlines() if line != "./scripts/test"]
    assert len(commands) >= 4
    (tmp_path / "MyVault").mkdir()
    for command in commands:
        done = subprocess.run(
            command, shell=True, cwd=ROOT, env=clean_environment(tmp_path), text=True,
            capture_output=True, stdin=subprocess.DEVNULL, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}: {done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_exist(page: Path) -> None:
    from vaultmem.surfaces.cli import COMMANDS

    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"```(?:sh|console)\n(.*?)```", text, re.DOTALL):
        for name in re.findall(r"vaultmem ([a-z][a-z-]*)", block):
            assert name in COMMANDS, f"{page.name}: vaultmem {name}"
