"""The image: what it is built from is there, nobody in it is root, the vault is a volume."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).parent.parent


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text("utf-8"), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [(line.split()[0], line.partition(" ")[2]) for line in lines if line.strip()]


def last_stage() -> list[tuple[str, str]]:
    lines = instructions()
    start = max(at for at, (word, _) in enumerate(lines) if word == "FROM")
    return lines[start:]


def test_nobody_is_root_and_the_vault_is_a_volume() -> None:
    stage = last_stage()
    words = [word for word, _ in stage]
    said = dict(stage)
    assert said["USER"].isdigit() and int(said["USER"]) > 0, "a number, which Kubernetes can check"
    assert words.index("USER") < words.index("ENTRYPOINT")
    assert said["VOLUME"] == "/vault" and "VAULTMEM_VAULT=/vault" in said["ENV"]
    assert said["EXPOSE"] == "8765"
    assert (said["ENTRYPOINT"], said["CMD"]) == ('["vaultmem"]', '["serve"]')


def test_what_is_copied_is_there_and_not_ignored() -> None:
    ignore = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    kept = {line[1:] for line in ignore if line.startswith("!")}
    assert "*" in ignore
    copied: set[str] = set()
    for word, rest in instructions():
        if word == "COPY" and "--from" not in rest:
            copied |= set(shlex.split(rest)[:-1])
    assert copied == kept
    assert all((ROOT / path).exists() for path in copied)


def test_packages_are_those_that_are_locked() -> None:
    (locked,) = [rest for word, rest in instructions() if word == "RUN" and " -r " in rest]
    assert "--require-hashes" in locked and "scripts/locked/run.txt" in locked
