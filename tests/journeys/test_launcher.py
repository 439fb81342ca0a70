"""A clean clone in a clean environment: the launcher installs itself, once, and then just starts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What git would give a newcomer: the tracked files and nothing else."""
    folder = tmp_path_factory.mktemp("a folder with spaces") / "vaultmem"
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for path in filter(None, tracked.stdout.split("\0")):
        if (ROOT / path).exists():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, folder / path)
    return folder


def clean(home: Path) -> dict[str, str]:
    """No Python settings of this process; only what finds programs and packages."""
    kept = ("PATH", "LANG", "PIP_", "SSL_", "REQUESTS_", "PYENV_")
    environment = {k: v for k, v in os.environ.items() if k.startswith(kept)}
    venv = os.environ.get("VIRTUAL_ENV", "\0")
    path = os.pathsep.join(p for p in environment["PATH"].split(os.pathsep) if venv not in p)
    return environment | {"HOME": str(home), "PATH": path}


def test_first_runs_at_once_install_once(clone: Path, tmp_path: Path) -> None:
    command = [str(clone / "scripts" / "vaultmem"), "--version"]
    first = [
        subprocess.Popen(
            command, cwd=tmp_path, env=clean(tmp_path), stdout=-1, stderr=-1, text=True
        )
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=600) for process in first]
    assert [process.returncode for process in first] == [0, 0], outputs
    assert {out for out, _ in outputs} == {outputs[0][0]}
    assert outputs[0][0].startswith("vaultmem "), "stdout carries the answer and nothing else"
    assert "installing itself" in outputs[0][1] + outputs[1][1]
    again = subprocess.run(
        command, cwd=tmp_path, env=clean(tmp_path), capture_output=True, text=True
    )
    assert (again.stdout, again.stderr) == (outputs[0][0], "")


def test_the_launcher_works_through_a_link_and_from_anywhere(clone: Path, tmp_path: Path) -> None:
    link = tmp_path / "vm"
    link.symlink_to(clone / "scripts" / "vaultmem")
    done = subprocess.run(
        [str(link), "init", "My Brain"],
        cwd=tmp_path,
        env=clean(tmp_path),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "My Brain" / "Home.md").exists()


def test_the_launcher_is_found_however_it_is_named(clone: Path, tmp_path: Path) -> None:
    """Through a link to its folder, and to a link to it; by its bare name; by the shell's path."""
    (tmp_path / "programs").symlink_to(clone / "scripts")
    (tmp_path / "first").symlink_to(clone / "scripts" / "vaultmem")
    (tmp_path / "second").symlink_to("first")
    environment = clean(tmp_path)
    found = environment | {"PATH": f"{clone / 'scripts'}:{environment['PATH']}"}
    for command, folder, how in (
        (["programs/vaultmem"], tmp_path, environment),
        (["./second"], tmp_path, environment),
        (["sh", "first"], tmp_path, environment),
        (["sh", "vaultmem"], clone / "scripts", environment),
        (["vaultmem"], tmp_path, found),
    ):
        done = subprocess.run(
            [*command, "--version"], cwd=folder, env=how, capture_output=True, text=True
        )
        assert done.stdout.startswith("vaultmem "), (command, done.stderr)


def test_a_client_talks_to_the_readmes_first_command(clone: Path, tmp_path: Path) -> None:
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}}
    opening["clientInfo"] = {"name": "newcomer", "version": "1"}
    stored = {"content": "The spare key hangs in the shed", "type": "semantic", "scope": "user"}
    asked = {"query": "where is the spare key", "strategy": "keyword"}
    calls = [
        ("initialize", opening),
        ("tools/call", {"name": "store_memory", "arguments": stored}),
        ("tools/call", {"name": "recall_memories", "arguments": asked}),
    ]
    serving = subprocess.Popen(
        [str(clone / "scripts" / "vaultmem"), "serve", "--vault", str(tmp_path / "Brain")],
        cwd=tmp_path, env=clean(tmp_path), stdin=-1, stdout=-1, stderr=-1, text=True,
    )  # fmt: skip
    assert serving.stdin is not None and serving.stdout is not None
    answers = []
    for number, (method, params) in enumerate(calls):
        told = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        serving.stdin.write(json.dumps(told) + "\n")
        serving.stdin.flush()
        while (answer := json.loads(serving.stdout.readline())).get("id") != number:
            pass
        answers.append(answer["result"])
    assert serving.communicate(timeout=60) and serving.returncode == 0
    (found,) = answers[2]["structuredContent"]["memories"]
    assert "The spare key hangs in the shed" in (tmp_path / "Brain" / found["path"]).read_text()


@pytest.mark.parametrize("found", ["", "(3, 10, 14)", "(3, 15, 0)"])
def test_a_python_too_old_or_too_new_is_told(tmp_path: Path, found: str) -> None:
    if found:  # an interpreter that says it is of this version
        stub = tmp_path / "python3"
        asked = f"import sys; sys.version_info = {found}; exec(sys.argv[1])"
        stub.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{asked}" "$2"\n')
        stub.chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", str(ROOT / "scripts" / "python"), "-c", "pass"],
        env={"PATH": str(tmp_path)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 3
    assert "needs Python 3.11, 3.12, 3.13 or 3.14" in done.stderr


def test_the_wheel_carries_the_template(tmp_path: Path) -> None:
    import zipfile

    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for file in (ROOT / "vault-template").rglob("*"):
        if file.is_file():
            path = file.relative_to(ROOT).as_posix()
            assert f"vaultmem/{path}" in names, path


def test_nothing_in_the_folder_one_stands_in_is_run(clone: Path, tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise SystemExit('a stranger')")
    (tmp_path / "vaultmem.py").write_text("raise SystemExit('a stranger')")
    done = subprocess.run(
        [str(clone / "scripts" / "vaultmem"), "--version"],
        cwd=tmp_path, env=clean(tmp_path), capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, "stranger" in done.stderr) == (0, False), done.stderr
