"""Hints say the command that works for this installation, and `path` makes the short one work."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT, Run, clean_environment
from vaultmem.surfaces.cli import COMMANDS, HIDDEN

PACKAGE = ROOT / "vaultmem"
LAUNCHER = ROOT / "scripts" / "vaultmem"
NAMED = "|".join(map(re.escape, sorted({*COMMANDS, *HIDDEN, "COMMAND"}, key=len, reverse=True)))
HINT = re.compile(rf"(?<![\w./-])vaultmem (?:{NAMED})\b(?![.\w-])")
NO_HINTS = {"vaultmem hook: "}  # who speaks, and no command


def said_in(source: str) -> Iterator[str]:
    """Every text in a module that may be shown: what describes the code is not."""
    tree = ast.parse(source)
    described = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in described:
                yield node.value


@pytest.mark.parametrize("file", sorted(PACKAGE.rglob("*.py")), ids=lambda file: file.stem)
def test_no_message_takes_for_granted_what_a_shell_finds(file: Path) -> None:
    hints = [text for text in said_in(file.read_text("utf-8")) if HINT.search(text)]
    assert set(hints) <= NO_HINTS, "write it with base.own_program.command_to_type"


def test_such_messages_are_seen() -> None:
    code = '"""vaultmem add"""\nx = f"The first: vaultmem add {y}"\nz = "vaultmem doctor --fix"\n'
    assert len([text for text in said_in(code) if HINT.search(text)]) == 2
    assert not HINT.search("vaultmem review.md") and not HINT.search("what vaultmem keeps")


def test_nothing_is_looked_for_before_it_is_said() -> None:
    """At import it would cost every command, and be remembered for another PATH."""
    code = (
        "import importlib, pkgutil, vaultmem;"
        "[importlib.import_module(m.name) for m in pkgutil.walk_packages(vaultmem.__path__,"
        " 'vaultmem.') if not m.name.endswith('__main__')];"
        "from vaultmem.base import own_program;"
        "assert own_program._program_to_type.cache_info().currsize == 0"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


# --- which command that is -----------------------------------------------------------------


def hint(path: Path | None) -> str:
    env = clean_environment(Path("/"))
    env["PATH"] = os.pathsep.join([*([str(path)] if path else []), "/usr/bin", "/bin"])
    code = "from vaultmem.base.own_program import command_to_type as c; print(c('add TEXT'))"
    command = [sys.executable, "-P", "-c", code]
    return subprocess.run(command, env=env, cwd="/", capture_output=True, text=True).stdout.strip()


def program(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / "vaultmem"
    file.write_text(text)
    file.chmod(0o755)
    return folder


def test_a_clone_by_its_place_or_by_its_link(tmp_path: Path) -> None:
    assert hint(None) == f"{LAUNCHER} add TEXT"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "vaultmem").symlink_to(LAUNCHER)
    assert hint(tmp_path / "bin") == "vaultmem add TEXT"


def test_another_program_of_the_name_is_not_taken_for_ours(tmp_path: Path) -> None:
    stranger = program(tmp_path / "bin", "#!/bin/sh\necho something else\n")
    assert hint(stranger) == f"{LAUNCHER} add TEXT"


def test_what_starts_the_same_python_is_ours(tmp_path: Path) -> None:
    """As pip, pipx and uv write it: the first line names the environment's Python."""
    installed = program(tmp_path / "bin", f"#!{sys.executable}\nimport vaultmem\n")
    assert hint(installed) == "vaultmem add TEXT"


def test_an_environment_without_a_launcher(tmp_path: Path) -> None:
    """As installed from a wheel: the program beside its Python, or the Python itself."""
    place = tmp_path / "an environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    packages = next(place.glob("lib/python*/site-packages"))
    shutil.copytree(PACKAGE, packages / "vaultmem", ignore=shutil.ignore_patterns("__pycache__"))
    python = place / "bin" / "python"
    env = clean_environment(tmp_path) | {"PATH": "/usr/bin:/bin"}
    env.pop("PYTHONPATH")
    code = "from vaultmem.base.own_program import command_to_type as c; print(c('status'))"
    asked = {"env": env, "cwd": tmp_path, "capture_output": True, "text": True, "check": True}
    done = subprocess.run([str(python), "-c", code], **asked)  # type: ignore[call-overload]
    assert done.stdout == f"'{python}' -P -m vaultmem status\n"
    program(place / "bin", f"#!{python}\n")
    done = subprocess.run([str(python), "-c", code], **asked)  # type: ignore[call-overload]
    assert done.stdout == f"'{place}/bin/vaultmem' status\n"


def test_serve_and_install_print_the_same(run: Run, tmp_path: Path) -> None:
    assert run("init", "Brain").code == 0
    listed = run("install")
    assert f"{LAUNCHER} install CLIENT" in listed.err
    assert f"{LAUNCHER} add" in run("recent", "--vault", "Brain").err
    link = tmp_path / ".local" / "bin"
    link.mkdir(parents=True)
    (link / "vaultmem").symlink_to(LAUNCHER)
    found = {"PATH": f"{link}{os.pathsep}{os.environ['PATH']}"}
    assert "with: vaultmem install CLIENT" in run("install", env=found).err


# --- the short one -------------------------------------------------------------------------


def test_path_links_and_takes_away(run: Run, tmp_path: Path) -> None:
    link = tmp_path / ".local" / "bin" / "vaultmem"
    made = run("path", "--json", env={"SHELL": "/bin/zsh"})
    assert (made.code, made.json["done"]) == (0, "made") and "~/.zshrc" in made.json["to_do"]
    assert link.resolve() == LAUNCHER
    env = clean_environment(tmp_path) | {"PATH": f"{link.parent}:{os.environ['PATH']}"}
    shell = ["sh", "-c", "vaultmem --version && vaultmem path"]
    done = subprocess.run(shell, env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "already" in done.stderr, done.stderr
    assert run("path", "--json").json["done"] == "there"
    assert run("path", "--remove").code == 0
    assert not os.path.lexists(link)
    assert run("path", "--remove", "--json").json["done"] == "absent"


@pytest.mark.parametrize(
    ("shell", "line"),
    [("bash", "~/.bash"), ("fish", "fish_add_path"), ("tcsh", "set path = "), ("sh", "~/.profile")],
)
def test_path_says_the_line_for_the_shell(run: Run, shell: str, line: str) -> None:
    for said in ("Made ", "starts this installation already."):
        told = run("path", env={"SHELL": f"/usr/bin/{shell}"})
        assert line in told.out and said in told.err
        assert "can find" not in told.err, "it cannot, until the line was typed"


def test_path_leaves_another_program_alone(run: Run, tmp_path: Path) -> None:
    (tmp_path / ".local").mkdir()
    stranger = program(tmp_path / ".local" / "bin", "#!/bin/sh\necho mine\n") / "vaultmem"
    for arguments in (["path"], ["path", "--remove"]):
        done = run(*arguments)
        assert done.code == 2 and "is not this installation" in done.err
        assert stranger.read_text() == "#!/bin/sh\necho mine\n"


def test_path_replaces_the_link_of_a_clone_that_is_gone(run: Run, tmp_path: Path) -> None:
    link = tmp_path / ".local" / "bin" / "vaultmem"
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "gone" / "scripts" / "vaultmem")
    assert run("path").code == 0
    assert link.resolve() == LAUNCHER


def test_path_tells_of_another_program_that_is_found_first(run: Run, tmp_path: Path) -> None:
    first = program(tmp_path / "first", "#!/bin/sh\necho mine\n")
    own = tmp_path / ".local" / "bin"
    done = run("path", env={"PATH": f"{first}:{own}:{os.environ['PATH']}"})
    assert done.code == 0 and f"{first}/vaultmem" in done.err


def test_an_installed_program_is_not_removed(run: Run, tmp_path: Path) -> None:
    (tmp_path / ".local").mkdir()
    file = program(tmp_path / ".local" / "bin", f"#!{sys.executable}\n") / "vaultmem"
    done = run("path", "--remove")
    assert done.code == 2 and "pip uninstall" in done.err and file.exists()
