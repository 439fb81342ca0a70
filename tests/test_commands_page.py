"""The page of commands is what the commands say of themselves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from vaultmem.surfaces.cli import COMMANDS

ROOT = Path(__file__).parent.parent


def test_the_page_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "tasks" / "docs_commands.py"), "--print"],
        capture_output=True,
        check=True,
    )
    written = (ROOT / "docs" / "commands.md").read_bytes()
    assert done.stdout == written, "Write it anew: scripts/run docs-commands"


def test_every_command_has_a_line_and_an_example_of_its_own() -> None:
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    for name in COMMANDS:
        section = text.partition(f"\n### {name}\n")[2].partition("\n### ")[0]
        example = section.rpartition("```sh\n")[2].partition("```")[0]
        assert f"vaultmem {name}" in example, name
        assert "--help" not in example, f"scripts/tasks/docs_commands.py: give {name} an example"
