"""The shape of the code: one direction of imports, no cycles, small files."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "vaultmem"

# From the ground up; a module imports only from its own layer's left or from layers before it.
LAYERS = [
    ["errors", "config", "durable", "lock", "changes", "secrets", "tokens"],
    [
        "names",
        "links",
        "scalars",
        "properties",
        "yaml12",
        "printing",
        "hidden",
        "markdown",
        "note",
        "splice",
        "edges",
        "edit",
        "factlines",
    ],
    ["passages", "attributes"],
    ["store", "watch", "database"],
    ["index"],
    ["snippets", "fusion", "named", "recall", "scan"],
    ["sync", "follow", "finding", "history", "usage", "volatile", "given", "views"],
    ["desk", "journal", "themes", "insights", "alike", "parts", "upkeep"],
    ["looking", "facts", "graph", "session", "remember", "curate", "memory", "keyed", "context"],
    ["consolidate", "status", "reader", "git", "template", "doctor", "moving"],
    ["service"],
    ["hooks", "reminders"],
    ["surfaces"],
]
MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(file: Path) -> str:
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    return found


def rank(name: str) -> int | None:
    parts = name.split(".")
    if parts[0] != "vaultmem" or len(parts) < 2:
        return None
    ranks = {module: i for i, layer in enumerate(LAYERS) for module in layer}
    return ranks.get(parts[1])


@pytest.mark.parametrize("file", MODULES, ids=name_of)
def test_imports_go_one_way(file: Path) -> None:
    mine = rank(name_of(file))
    if mine is None:
        assert name_of(file) in ("vaultmem", "vaultmem.__main__"), f"give {file} a layer"
        return
    for imported in imports_of(file):
        theirs = rank(imported)
        assert theirs is None or theirs <= mine, f"{name_of(file)} imports {imported}"


def test_there_are_no_import_cycles() -> None:
    names = {name_of(file) for file in MODULES}
    graph = {
        name_of(file): {i for i in imports_of(file) if i in names and i != name_of(file)}
        for file in MODULES
    }
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join((*trail, name))
        if name not in done:
            for other in graph[name]:
                if not name.startswith(other + "."):  # a module knows its own package
                    visit(other, (*trail, name))
            done.add(name)

    for name in graph:
        visit(name, ())


@pytest.mark.parametrize("file", MODULES, ids=name_of)
def test_files_stay_small(file: Path) -> None:
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 500


@pytest.mark.parametrize("file", MODULES, ids=name_of)
def test_only_config_reads_the_environment(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    if name_of(file) != "vaultmem.config":
        assert "os.environ" not in text
        assert "getenv" not in text


@pytest.mark.parametrize("file", MODULES, ids=name_of)
def test_surfaces_never_touch_the_store(file: Path) -> None:
    if name_of(file).startswith("vaultmem.surfaces"):
        assert not imports_of(file) & {"vaultmem.store", "vaultmem.index"}


@pytest.mark.parametrize("command", [["--help"], ["init", "--help"], ["--version"]])
def test_a_command_imports_nothing_heavy(command: list[str]) -> None:
    code = (
        "import sys; from vaultmem.surfaces.cli import main; main(sys.argv[1:]);"
        "heavy = {'mcp', 'pydantic', 'fastembed', 'numpy', 'tantivy', 'onnxruntime'};"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
