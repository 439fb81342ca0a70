"""What was probably meant by a name that is not there: of a setting, of a file or folder in the
vault, of a vault."""

from __future__ import annotations

import contextlib
import difflib
import itertools
import os
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Final

MARKS: Final = (".vaultmem", ".obsidian")  # of a vault
LETTERS_APART: Final = 2  # at most, of a name and its misspelling
_ENTRIES: Final = 2_000  # that are looked at
_LEVELS: Final = 3  # of folders, in which the same name is looked for
_NEAR: Final = 0.6  # of 1, as difflib measures
_TOLD: Final = 3


def letters_apart(one: str, other: str) -> int:
    """Letters to add, leave out, change or swap with the next to make one of the other, up to
    one more than matters."""
    if abs(len(one) - len(other)) > LETTERS_APART:
        return LETTERS_APART + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        earlier, before, row = before, row, [i]
        for j, their in enumerate(other, 1):
            least = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != their))
            if i > 1 and j > 1 and letter == other[j - 2] and their == one[i - 2]:
                least = min(least, earlier[j - 2] + 1)
            row.append(least)
    return min(row[-1], LETTERS_APART + 1)


def place_meant(root: Path, path: str) -> str:
    """The file or folder below the root that a path was meant to name, if it names none: one of
    nearly that name in the same place, or of the very name further in."""
    if not path or os.path.lexists(root / path):
        return ""
    for written in (f"/{path}", os.path.expanduser(path)):
        if written.startswith(f"{root}/"):
            return written.removeprefix(f"{root}/")
    found: list[str] = []
    segments = path.split("/")
    for segment in segments:
        names = [entry.name for entry in _entries(root.joinpath(*found))]
        same = [name for name in names if _folded(name) == _folded(segment)]
        if near := same or [name for name in names if _is_near(segment, name)]:
            found.append(near[0])
            continue
        is_file = len(segments) == 1 and "." in segment
        return "" if is_file else _same_name_further_in(root, segments[-1])
    meant = "/".join(found)
    return "" if _folded(meant) == _folded(path) else meant


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _is_near(written: str, name: str) -> bool:
    """Not, where only digits differ: 2024 is no misspelt 2025."""
    one, other = _folded(written).strip(), _folded(name)
    apart = min(LETTERS_APART, len(one) // 2)
    if one and len(one) >= len(other) - apart and letters_apart(one, other) <= apart:
        return one == other or re.sub(r"\d+", "", one) != re.sub(r"\d+", "", other)
    return False


def _same_name_further_in(root: Path, name: str) -> str:
    folders, looked_at = [""], 0
    for _ in range(_LEVELS):
        inner: list[str] = []
        for folder in folders:
            for entry in _entries(root / folder):
                looked_at += 1
                if _folded(entry.name) == _folded(name):
                    return folder + entry.name
                if entry.is_dir(follow_symlinks=False):
                    inner.append(f"{folder}{entry.name}/")
            if looked_at > _ENTRIES:
                return ""
        folders = inner
    return ""


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            shown = [entry for _, entry in zip(range(_ENTRIES), entries, strict=False)]
    except OSError:
        return iter(())
    return iter(sorted((e for e in shown if not e.name.startswith(".")), key=lambda e: e.name))


# --- vaults beside a folder that was named ----------------------------------------------------


def vaults_beside(folder: Path) -> list[Path]:
    """Those of near names first; one that only Obsidian knows counts by a near name alone."""
    found: list[tuple[float, Path]] = []
    with contextlib.suppress(OSError), os.scandir(folder.parent) as entries:
        for entry in itertools.islice(entries, _ENTRIES):
            if entry.name.startswith(".") or entry.name == folder.name:
                continue
            ours, obsidians = (os.path.isdir(os.path.join(entry.path, mark)) for mark in MARKS)
            if ours or obsidians:
                pair = folder.name.casefold(), entry.name.casefold()
                likeness = difflib.SequenceMatcher(None, *pair).ratio()
                if ours or likeness >= _NEAR:
                    found.append((likeness, Path(entry.path)))
    return [place for _, place in sorted(found, key=lambda each: (-each[0], each[1]))]


def vaults_of_near_name(folder: Path) -> list[Path]:
    return [place for place in vaults_beside(folder) if is_near(folder, place)]


def folder_of_near_name(folder: Path) -> Path | None:
    """A folder beside one that is missing, whose name is nearly the same."""
    with contextlib.suppress(OSError), os.scandir(folder.parent) as entries:
        for entry in itertools.islice(entries, _ENTRIES):
            if entry.is_dir() and is_near(folder, Path(entry.path)):
                return Path(entry.path)
    return None


def is_near(folder: Path, other: Path) -> bool:
    pair = folder.name.casefold(), other.name.casefold()
    return difflib.SequenceMatcher(None, *pair).ratio() >= _NEAR


def what_was_meant(folder: Path) -> str:
    """A sentence for who named a folder that is not there; empty where nothing is beside it."""
    if near := vaults_of_near_name(folder):
        return f"Did you mean {near[0]}?"
    others = vaults_beside(folder)
    return f"Beside it: {', '.join(map(str, others[:_TOLD]))}." if others else ""
