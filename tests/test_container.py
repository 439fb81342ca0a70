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


def test_the_rules_that_a_linter_has() -> None:
    """What hadolint looks for, as far as it concerns this file."""
    stages = [rest.split() for word, rest in instructions() if word == "FROM"]
    for image, *_ in stages:
        name, colon, tag = image.partition(":")
        assert colon and tag not in ("", "latest"), f"{name} names no version"
    for word, rest in instructions():
        if word in ("ENTRYPOINT", "CMD"):
            assert re.fullmatch(r'\[("[^"]+"(, )?)+\]', rest), f"{word} runs a shell: {rest}"
        if word == "WORKDIR":
            assert rest.startswith("/")
        assert word not in ("ADD", "MAINTAINER"), word
        if word == "RUN":
            assert "sudo" not in rest.split() and not re.search(r"\bcurl\b.*\|", rest)
            assert " pip install " not in f" {rest} " or "--no-cache-dir" in rest
            assert "apt-get install" not in rest or "--no-install-recommends" in rest
    assert [word for word, _ in last_stage()].count("ENTRYPOINT") == 1
