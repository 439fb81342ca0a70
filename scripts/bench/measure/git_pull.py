"""A git pull that brings many changes at once, with a server following the files."""

from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path
from typing import Any

from peers import Peer, Place

from measure import machine
from measure.corpus import markdown
from measure.questions import until_found

_LOOKED_FOR = 8  # of the changed notes, of every kind; all must be found


def measure(peer: Peer, place: Place, sizes: tuple[int, ...], most: float) -> dict[str, Any]:
    if not peer.follows_files:
        return {}
    other = place.home.parent / "other"
    _share(place, other)
    server = peer.open(place)
    try:
        peer.search(server, place.vault.questions[0].text, peer.modes[0])
        time.sleep(3)
        wanted = [size for size in sizes if size <= place.vault.count]
        return {str(size): _pulled(peer, server, place, other, size, most) for size in wanted}
    finally:
        if server is not None:
            server.end()


def git(folder: Path, home: Path, *arguments: str) -> None:
    env = machine.clean_environment(home)
    settings = ["-c", "gc.auto=0", "-c", "core.fsync=none", "-c", "pull.rebase=false"]
    command = ["git", *settings, *arguments]
    subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True)


def _share(place: Place, other: Path) -> None:
    """The vault becomes a repository, and someone else has a clone of it."""
    ignored = ".vaultmem/\n.markdown_vault_mcp/\n.basic-memory/\n"
    (place.notes / ".gitignore").write_text(ignored, encoding="utf-8")
    git(place.notes, place.home, "init", "-q", "-b", "main")
    git(place.notes, place.home, "add", "-A")
    git(place.notes, place.home, "commit", "-q", "-m", "notes")
    git(place.notes.parent, place.home, "clone", "-q", str(place.notes), str(other))


def _pulled(
    peer: Peer, server: Any, place: Place, other: Path, size: int, most: float
) -> dict[str, Any]:
    git(other, place.home, "pull", "-q", str(place.notes), "main")
    words = _change(other, size)
    git(other, place.home, "add", "-A")
    git(other, place.home, "commit", "-q", "-m", f"{size} changes")
    git(place.notes, place.home, "add", "-A")  # what a server may have written meanwhile
    git(place.notes, place.home, "commit", "-q", "--allow-empty", "-m", "here")
    started = time.perf_counter()
    git(place.notes, place.home, "pull", "-q", "--no-edit", str(other), "main")
    pulled = time.perf_counter() - started
    found: dict[str, Any] = {"git_seconds": round(pulled, 3)}
    for path, word in words:
        left = most - (time.perf_counter() - started)
        if until_found(peer, server, word, path, left) is None:
            return {**found, "never": most}
    found["searchable_seconds"] = round(time.perf_counter() - started - pulled, 3)
    return found


def _change(folder: Path, size: int) -> list[tuple[str, str]]:
    """Most notes are edited, one in fifty is new, one in fifty moved; answers with some of them."""
    chance = random.Random(size)
    files = chance.sample(markdown(folder), size)
    told: list[tuple[str, str]] = []
    for number, file in enumerate(files):
        word = f"pulled{size}x{number}x{time.time_ns() % 10**6}"
        named = file  # some systems go on calling a moved note by its old name
        text = file.read_text(encoding="utf-8").rstrip() + f"\n\n{word}\n"
        if number % 50 == 1:
            named = file = file.with_name(f"New {word}.md")
            text = f"A note about {word}\n"
        elif number % 50 == 2:
            file = file.rename(file.with_name(f"{file.stem} moved{number}.md"))
        file.write_text(text, encoding="utf-8")
        told.append((named.relative_to(folder).as_posix(), word))
    return told[:3] + chance.sample(told, min(_LOOKED_FOR, len(told)) - 3)
