from __future__ import annotations

import itertools
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, clean_environment
from vaultmem.git.repo import merge_driver_command
from vaultmem.operations.caller import Caller

IGNORED = ".vaultmem/*\n!.vaultmem/config.toml\n!.vaultmem/.gitignore\n.trash/\n.vm-*.tmp\n"


_SECONDS = itertools.count()


class Machine:
    """One clone of the vault, with git, an editor and an agent at hand."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root = root
        self.home = home

    def git(self, *arguments: str, check: bool = True) -> str:
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            env=clean_environment(self.home),
            capture_output=True,
            stdin=subprocess.DEVNULL,
        )
        assert not check or done.returncode == 0, (arguments, done.stdout, done.stderr)
        return (done.stdout if check else done.stdout + done.stderr).decode().strip()

    def trust(self, folder: Path | None = None) -> None:
        """Say in the person's own settings that this repository may run its programs."""
        self.git("config", "--global", "--add", "vaultmem.trusted", str(folder or self.root))

    def save(self, path: str, text: str | bytes) -> Path:
        """As an editor does, and a while ago: nobody is typing any more."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        past = time.time() - 100_000 + next(_SECONDS)  # git looks at whole seconds
        os.utime(file, (past, past))
        return file

    def text(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8")

    def text_bytes(self, path: str) -> bytes:
        return (self.root / path).read_bytes()

    def edit(self, path: str, old: str, new: str) -> None:
        text = self.text(path)
        assert old in text, f"{old!r} is not in {text}"
        self.save(path, text.replace(old, new, 1))

    def commit(self, message: str = "by hand") -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    def files(self) -> dict[str, bytes]:
        listed = self.git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        names = [name for name in listed.split("\0") if name and (self.root / name).exists()]
        return {name: (self.root / name).read_bytes() for name in names}

    def vault(self, **caller: Any) -> Any:
        from vaultmem.vault import Vault

        flags = {"typing.quiet_seconds": 0.0, "model": "off"}
        return Vault.open(self.root, flags, caller=Caller(**caller))

    def is_clean(self) -> bool:
        return not self.git("status", "--porcelain")

    def under_way(self) -> bool:
        return (self.root / ".git" / "MERGE_HEAD").exists()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clean home: git's settings of whoever runs the tests stay out."""
    for name in [name for name in os.environ if name.startswith(("GIT_", "VAULTMEM_"))]:
        monkeypatch.delenv(name)
    for name, value in clean_environment(tmp_path).items():
        if name.startswith(("GIT_", "HOME", "PYTHONPATH")):
            monkeypatch.setenv(name, value)
    return tmp_path


Clones = Callable[..., list[Machine]]


@pytest.fixture
def clones(home: Path) -> Iterator[Clones]:
    """Several clones of one hub, all at the same first commit."""

    def make(
        files: dict[str, str] | None = None, count: int = 2, *, driver: bool = False
    ) -> list[Machine]:
        hub = home / "hub.git"
        run = {"cwd": home, "env": clean_environment(home), "check": True, "capture_output": True}
        subprocess.run(["git", "init", "-q", "--bare", "--initial-branch=main", str(hub)], **run)
        found = []
        for name in "abc"[:count]:
            subprocess.run(["git", "clone", "-q", str(hub), name], **run)
            machine = Machine(home / name, home)
            machine.git("config", "core.autocrlf", "false")
            if driver:
                machine.git("config", "merge.vaultmem.driver", merge_driver_command())
            if not found:
                machine.git("switch", "-q", "-c", "main")
                machine.save(".gitignore", IGNORED)
                machine.save(".gitattributes", "*.md merge=vaultmem\n")
                machine.save(".vaultmem/.gitignore", "*\n!.gitignore\n!config.toml\n")
                machine.save(".vaultmem/config.toml", "[typing]\nquiet_seconds = 0.0\n")
                for path, text in (files or {}).items():
                    machine.save(path, text)
                machine.commit("first")
                machine.git("push", "-q", "-u", "origin", "main")
            else:
                (machine.root / ".vaultmem").mkdir(exist_ok=True)
            found.append(machine)
        return found

    yield make


__all__ = ["ROOT", "Clones", "Machine"]
