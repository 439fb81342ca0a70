"""What is published: a wheel and a source archive that have everything, and nothing else."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

from tests import pages
from tests.conftest import ROOT, clean_environment
from vaultmem import __version__


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder)],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(dist: Path) -> zipfile.ZipFile:
    (file,) = dist.glob("*.whl")
    assert file.name == f"vaultmem_mcp-{__version__}-py3-none-any.whl"
    return zipfile.ZipFile(file)


def tracked(*folders: str) -> set[str]:
    done = subprocess.run(
        ["git", "ls-files", "-z", "--", *folders], cwd=ROOT, capture_output=True, text=True
    )
    files = filter(None, done.stdout.split("\0"))
    return {path for path in files if (ROOT / path).is_file()}


def test_the_wheel_has_the_code_the_template_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert names >= tracked("vaultmem")
    assert names >= {f"vaultmem/{path}" for path in tracked("vault-template")}
    assert "vaultmem/py.typed" in names
    assert any(name.endswith(".onnx") for name in names), "the graph of the model"
    assert "vaultmem/plugin/.claude-plugin/plugin.json" in names
    assert {name.split("/")[0] for name in names} == {"vaultmem"}
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]


def test_the_metadata_says_what_is_true(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    about = HeaderParser().parsestr(wheel.read(name).decode())
    assert about["Name"] == "vaultmem-mcp", "vaultmem is another's library"
    assert about["Version"] == __version__
    assert about["License-Expression"] == "MIT"
    assert about["Requires-Python"] == ">=3.11"
    classifiers = about.get_all("Classifier") or []
    for minor in (11, 12, 13, 14):
        assert f"Programming Language :: Python :: 3.{minor}" in classifiers
    entry = wheel.read(name.replace("METADATA", "entry_points.txt")).decode()
    assert "vaultmem = vaultmem.__main__:run" in entry


def test_the_source_archive_can_be_built_and_tested(dist: Path) -> None:
    (file,) = dist.glob("*.tar.gz")
    with tarfile.open(file) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names >= tracked("vaultmem", "vault-template", "tests", "scripts", "docs")
    assert names >= {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"}


def test_the_wheel_works_outside_the_checkout(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    """Unpacked somewhere else, as an installer does; its dependencies are those of the tests."""
    wheel.extractall(tmp_path / "site")
    environment = clean_environment(tmp_path) | {"PYTHONPATH": str(tmp_path / "site")}
    start = "import sys; from vaultmem.__main__ import run; sys.argv[0] = 'vaultmem'; run()"

    def vaultmem(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-P", "-c", start, *arguments], cwd=tmp_path, env=environment,
            capture_output=True, text=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = subprocess.run(
        [sys.executable, "-P", "-c", "import vaultmem; print(vaultmem.__file__)"],
        cwd=tmp_path, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert where.stdout.startswith(str(tmp_path)), "not the checkout's"
    assert vaultmem("--version") == f"vaultmem {__version__}\n"
    vaultmem("init", "Brain", "--examples")
    assert "Release checklist" in vaultmem("search", "checklist", "--vault", "Brain")
    assert "granite" in vaultmem("models", "list", "--vault", "Brain")
    vaultmem("serve", "--vault", "Brain")


def test_every_locked_package_is_on_the_page_of_licences() -> None:
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    lock = (ROOT / "scripts" / "locked" / "run.txt").read_text(encoding="utf-8")
    pinned = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;]+)", lock, re.MULTILINE)
    assert len(pinned) > 40
    for name, version in pinned:
        row = re.search(rf"^\| {re.escape(name)} \| ([^|]+) \| ([^|]+) \|", page, re.MULTILINE)
        assert row, f"{name}: write the page anew with scripts/run licences"
        assert version in row[1].split(" or "), (
            f"{name}: write the page anew with scripts/run licences"
        )
        assert re.fullmatch(r"[\w.-]+(?: (?:AND|OR) [\w.-]+)*", row[2]), row[2]


def test_no_page_names_the_other_library_to_install() -> None:
    wrong = re.compile(
        r"\b(?:pipx?|uv|uvx)\b[^\n`]*\s(?:install|--from|run)\s[^\n`]*\bvaultmem(?![-_\w/@.])"
    )
    assert wrong.search("pip install -U vaultmem") and not wrong.search("pipx install vaultmem-mcp")
    for page in pages.PAGES:
        assert not wrong.search(pages.text_of(page)), page.name
