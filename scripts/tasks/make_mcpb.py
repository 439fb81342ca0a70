"""Put the program into an .mcpb bundle: scripts/run make-mcpb [FILE]

The bundle holds the code, the vault template and the exact versions of what it needs, and
no package: the client's own uv fetches those for its system, and a Python if there is none.
The same tree gives the same bytes.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from vaultmem import __version__
from vaultmem.surfaces.mcp import tools

DESCRIPTION = "Long-term memory in your own Obsidian vault: every memory is a Markdown note."
PYTHON = ">=3.11,<3.14"  # for which all packages have wheels on all systems
EARLIEST = (1980, 1, 1, 0, 0, 0)  # of a zip

MAIN = '''"""Starts the server from the bundle; the vault is named by VAULTMEM_VAULT."""

import os
import runpy
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
vault = os.environ.get("VAULTMEM_VAULT", "")
os.environ["VAULTMEM_VAULT"] = vault.replace("${HOME}", str(Path.home()))
sys.argv[1:] = sys.argv[1:] or ["serve"]
runpy.run_module("vaultmem", run_name="__main__")
'''


def main() -> None:
    target = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist" / "vaultmem.mcpb")
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, data in sorted(contents()):
            bundle.writestr(_named(name), data)
    print(target)


def _named(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, EARLIEST)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    return info


def contents() -> Iterator[tuple[str, bytes]]:
    yield "manifest.json", (json.dumps(manifest(), indent=2) + "\n").encode()
    yield "pyproject.toml", project().encode()
    yield "server/main.py", MAIN.encode()
    yield "LICENSE", (ROOT / "LICENSE").read_bytes()
    yield "icon.png", (ROOT / "vaultmem/plugin/.claude-plugin/icon.png").read_bytes()
    for folder in ("vaultmem", "vault-template"):
        for file in (ROOT / folder).rglob("*"):
            path = file.relative_to(ROOT)
            if file.is_file() and "__pycache__" not in path.parts and "plugin" not in path.parts:
                yield path.as_posix(), file.read_bytes()


def manifest() -> dict[str, Any]:
    return {
        "manifest_version": "0.4",
        "name": "vaultmem",
        "display_name": "vaultmem",
        "version": __version__,
        "description": DESCRIPTION,
        "author": {"name": "vaultmem"},
        "license": "MIT",
        "icon": "icon.png",
        "keywords": ["memory", "obsidian", "markdown", "notes"],
        "server": {
            "type": "uv",
            "entry_point": "server/main.py",
            "mcp_config": {
                "command": "uv",
                "args": ["run", "--directory", "${__dirname}", "server/main.py", "serve"],
                "env": {
                    "VAULTMEM_VAULT": "${user_config.vault}",
                    "VAULTMEM_READ_ONLY": "${user_config.read_only}",
                },
            },
        },
        "user_config": {
            "vault": {
                "type": "directory",
                "title": "Vault",
                "description": "The folder with your notes. One that is not there is made.",
                "default": "${HOME}/Brain",
                "required": True,
            },
            "read_only": {
                "type": "boolean",
                "title": "Read only",
                "description": "The agent may read your notes, and never write.",
                "default": False,
            },
        },
        "tools": [
            {
                "name": tool.name,
                "description": tool.description.partition(". ")[0].rstrip(".") + ".",
            }
            for tool in tools.TABLE
        ],
        "compatibility": {"platforms": ["darwin", "win32", "linux"]},
    }


def project() -> str:
    """What uv installs: the locked versions, and nothing of our own to build."""
    locked = (ROOT / "scripts/locked/run.txt").read_text(encoding="utf-8")
    pins = re.findall(r"^([A-Za-z0-9].*?)(?: \\)?$", locked, re.MULTILINE)
    lines = "".join(f"  {json.dumps(pin)},\n" for pin in pins)
    return (
        f'[project]\nname = "vaultmem-bundle"\nversion = "{__version__}"\n'
        f'requires-python = "{PYTHON}"\ndependencies = [\n{lines}]\n\n[tool.uv]\npackage = false\n'
    )


if __name__ == "__main__":
    main()
