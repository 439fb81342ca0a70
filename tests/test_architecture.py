"""The shape of the code: one direction of imports, no cycles, small files."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "vaultmem"

DOCS = PACKAGE.parent / "docs"

# From the ground up, as the page says; a unit imports from itself or from those before it.
SENTENCES = dict(
    re.findall(
        r"^\| `(\w+)` \| (.+) \|$", (DOCS / "architecture.md").read_text("utf-8"), re.MULTILINE
    )
)
LAYERS = list(SENTENCES)
MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(file: Path) -> str:
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(file: Path) -> set[str]:
    return imports_in(ast.parse(file.read_text(encoding="utf-8")))


def imports_in(tree: ast.Module) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    return found


def run_time_imports_of(file: Path) -> set[str]:
    """Without those that only types are for."""
    text = file.read_text(encoding="utf-8")
    return imports_in(
        ast.parse(re.sub(r"^if TYPE_CHECKING:\n(?:(?: .*)?\n)+", "", text, flags=re.MULTILINE))
    )


def rank(name: str) -> int | None:
    parts = name.split(".")
    if parts[0] != "vaultmem" or len(parts) < 2 or parts[1] not in LAYERS:
        return None
    return LAYERS.index(parts[1])


@pytest.mark.parametrize("file", MODULES, ids=name_of)
def test_imports_go_one_way(file: Path) -> None:
    mine = rank(name_of(file))
    if mine is None:
        assert name_of(file) in ("vaultmem", "vaultmem.__main__"), f"give {file} a layer"
        return
    for imported in imports_of(file):
        theirs = rank(imported)
        assert theirs is None or theirs <= mine, f"{name_of(file)} imports {imported}"


def test_the_page_names_every_unit_with_its_own_sentence() -> None:
    there = {file.stem for file in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
    assert len(there) <= 7
    there |= {init.parent.name for init in PACKAGE.glob("*/__init__.py")}
    assert there == set(LAYERS)
    for unit, sentence in SENTENCES.items():
        file = PACKAGE / unit / "__init__.py"
        file = file if file.exists() else PACKAGE / f"{unit}.py"
        said = (ast.get_docstring(ast.parse(file.read_text("utf-8"))) or "").partition("\n\n")[0]
        assert " ".join(said.split()) == sentence, unit


def test_the_picture_shows_the_same_layers() -> None:
    drawn = re.findall(r'<text class="layer"[^>]*>(\w+)<', (DOCS / "architecture.svg").read_text())
    assert drawn == [unit for unit in reversed(LAYERS) if (PACKAGE / unit).is_dir()]


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
    # The front comes before the rest is loaded; telemetry only writes it.
    if not is_among(file, ["config", "front", "base.telemetry"]):
        assert "os.environ" not in text
        assert "getenv" not in text


# --- promises -------------------------------------------------------------------------------

# Who may write a file, and which: notes are written by `storage` alone.
WRITERS = {
    "base": "the tools for it",
    "storage": "notes, and this machine's own state",
    "front": "the folder and the log of an engine",
    "embedding": "models",
    "index.embedded": "the index",
    "clients.shell_path": "a link to ourselves among the person's programs",
    "clients.settings_file": "other programs' settings",
    "git.conflicts": "git's own index of a conflict",
    "git.driver": "the file that git gave it to merge",
    "git.merge": "the scratch files of a merge",
    "git.repo": "git's settings and attributes",
    "surfaces.cli.tour": "the demo's own vault",
    "surfaces.dialects.surreal.write_queue": "writes that wait, outside of the vault",
    "transfer.exporting": "an export, outside of the vault",
    "transfer.sources.databases": "a copy of somebody's database, elsewhere",
    "upkeep.package_install": "a list for the installer, which is gone after it",
    "upkeep.passing_vault": "a vault that is gone at the end",
    "upkeep.template": "the folders of a new vault",
}
WRITING = re.compile(
    r"\.write_(?:bytes|text)\(|\bopen\([^)\n]*[\"'][waxr]b?\+?[\"'](?<![\"']r[\"'])(?<![\"']rb[\"'])"
    r"|\bos\.(?:replace|rename|link|symlink|truncate|mkdir|makedirs)\("
    r"|\bshutil\.(?:move|copy\w*|rmtree)\("
    r"|\bdurable\.(?:create_durably|replace_durably|place_new_file|make_folders|temporary_file)\b"
)
ENGINES = {"tantivy", "usearch", "numkong"}


def is_among(file: Path, names: Iterable[str]) -> bool:
    name = name_of(file).removeprefix("vaultmem.")
    return any(name == each or name.startswith(f"{each}.") for each in names)


@pytest.mark.parametrize("file", MODULES, ids=name_of)
def test_only_storage_writes_notes(file: Path) -> None:
    if not is_among(file, WRITERS):
        assert not WRITING.search(file.read_text(encoding="utf-8"))


def test_no_permission_to_write_is_left_over() -> None:
    used = [file for file in MODULES if WRITING.search(file.read_text(encoding="utf-8"))]
    for name in WRITERS:
        assert any(is_among(file, [name]) for file in used), name


@pytest.mark.parametrize("file", MODULES, ids=name_of)
def test_only_the_index_knows_its_engines(file: Path) -> None:
    if not is_among(file, ["index"]):
        roots = {imported.partition(".")[0] for imported in imports_of(file)}
        assert not roots & ENGINES
        inner = {name_of(each) for each in MODULES if is_among(each, ["index"])}
        assert not imports_of(file) & (inner - {"vaultmem.index"})


@pytest.mark.parametrize("file", MODULES, ids=name_of)
def test_surfaces_call_operations_only(file: Path) -> None:
    if is_among(file, ["surfaces"]):
        lower = ("storage", "index", "indexing", "recall", "embedding", "parts")
        beneath = {f"vaultmem.{unit}" for unit in lower}
        found = {i for i in run_time_imports_of(file) if ".".join(i.split(".")[:2]) in beneath}
        assert not found
        assert "vault.parts" not in file.read_text(encoding="utf-8")


# --- classes --------------------------------------------------------------------------------


def classes() -> Iterator[tuple[Path, ast.ClassDef]]:
    for file in MODULES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                yield file, node


def test_no_class_has_a_tower_above_it() -> None:
    above = {
        node.name: [base.id for base in node.bases if isinstance(base, ast.Name)]
        for _, node in classes()
    }

    def height(name: str) -> int:
        return 1 + max((height(base) for base in above[name]), default=-1) if name in above else -1

    assert max(height(name) for name in above) <= 2


def test_no_class_has_many_methods() -> None:
    for file, node in classes():
        methods = [n for n in node.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
        assert len(methods) <= 33, f"{node.name} in {name_of(file)} has {len(methods)}"


def test_no_class_has_the_name_of_another() -> None:
    seen: dict[str, str] = {}
    for file, node in classes():
        assert node.name not in seen, f"{node.name}: {seen[node.name]} and {name_of(file)}"
        seen[node.name] = name_of(file)


def test_no_module_has_the_name_of_one_of_pythons() -> None:
    assert not {file.stem for file in MODULES} & set(sys.stdlib_module_names)


def test_no_package_has_too_many_modules() -> None:
    for init in PACKAGE.rglob("__init__.py"):
        many = 50 if init.parent.name == "commands" else 20
        assert len(list(init.parent.glob("*.py"))) <= many, init.parent


# --- dependencies ---------------------------------------------------------------------------


def test_every_package_that_is_imported_is_declared() -> None:
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [*project["project"]["dependencies"]]
    for more in project["project"]["optional-dependencies"].values():
        wanted += more
    declared = {re.split(r"[<>=!~ \[]", each)[0].lower().replace("_", "-") for each in wanted}
    providers = metadata.packages_distributions()
    for file in MODULES:
        for root in {imported.partition(".")[0] for imported in imports_of(file)}:
            if root != "vaultmem" and root not in sys.stdlib_module_names:
                named = {each.lower().replace("_", "-") for each in providers.get(root, [root])}
                assert named & declared, f"{name_of(file)} imports {root}, of {sorted(named)}"


# Python 3.11.0 to 3.11.4 (Debian 12 has 3.11.2) match such expressions wrongly: after a repeated
# group has been tried and failed once, what it had taken already is forgotten.
POSSESSIVE = re.compile(r"[\w)][*+?]\+|\}\+|\(\?>")
IN_EXPRESSIONS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)


def expressions_in(file: Path) -> Iterator[str]:
    """Every text that may be a regular expression, without its escapes and sets of characters."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            parts = [p.value if isinstance(p, ast.Constant) else "x" for p in node.values]
            yield IN_EXPRESSIONS.sub("x", "".join(map(str, parts)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield IN_EXPRESSIONS.sub("x", node.value)


@pytest.mark.parametrize("file", MODULES, ids=name_of)
def test_no_expression_is_possessive(file: Path) -> None:
    for text in expressions_in(file):
        assert not POSSESSIVE.search(text), text


@pytest.mark.parametrize("file", MODULES, ids=name_of)
def test_no_parameter_of_a_statement_has_a_number(file: Path) -> None:
    """`?1` with a list of values warns from Python 3.12 on and fails with 3.14."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            is_sql = re.search(r"\b(?:SELECT|INSERT|UPDATE|DELETE|WHERE)\b", node.value)
            assert not (is_sql and re.search(r"\?\d", node.value)), node.value


def test_possessive_expressions_are_seen(tmp_path: Path) -> None:
    file = tmp_path / "some.py"
    file.write_text("""r'[ab]*+c'; rf'(?:a|b){c}{{2,}}+'; r'(?>\\s+)'; r'a{2}+'; r'(a)?+'""")
    assert sum(POSSESSIVE.search(text) is not None for text in expressions_in(file)) >= 5
    file.write_text("""r'[*+]+'; '+++'; r'\\*+'; rf'[-*+]+{c}+'""")
    assert not any(POSSESSIVE.search(text) for text in expressions_in(file))


@pytest.mark.parametrize("command", [["--help"], ["init", "--help"], ["--version"]])
def test_a_command_imports_nothing_heavy(command: list[str]) -> None:
    code = (
        "import sys; from vaultmem.surfaces.cli import main; main(sys.argv[1:]);"
        "heavy = {'mcp', 'pydantic', 'fastembed', 'numpy', 'tantivy', 'onnxruntime'};"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
