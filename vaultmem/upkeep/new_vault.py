"""Whether a vault may be made in a folder that was named, or used there, without asking.

A new name needs no question. One that is nearly that of a vault beside it is more likely
mistyped; a folder that had a vault, by what we keep elsewhere, has lost its drive; and a
program's repository or a whole home is no vault, though it could be indexed.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from pathlib import Path
from typing import Final

from vaultmem import config
from vaultmem.base import near_names
from vaultmem.errors import VaultmemError

# What a program's repository has at its top, and a vault has not.
_OF_PROGRAMS: Final = frozenset(
    [
        "pyproject.toml",
        "setup.py",
        "package.json",
        "cargo.toml",
        "go.mod",
        "pom.xml",
        "build.gradle",
        "makefile",
        "cmakelists.txt",
        "gemfile",
        "composer.json",
        "mix.exs",
    ]
)
_LOOKED_AT: Final = 2_000  # entries


def doubt_about_new_vault(root: Path) -> str:
    """Why a vault is not made in a folder that is missing or empty; nothing where it may be."""
    if was_vault(root):
        return (
            f"Notes of a vault in {root} are known here, so it was moved, or its drive is not "
            "mounted."
        )
    if around := _vault_around(root):
        return around
    missing = [folder for folder in root.parents if not folder.is_dir()]
    if missing and (near := near_names.folder_of_near_name(missing[-1])):
        return f"There is no folder {missing[-1]} either; did you mean {near}?"
    meant = [] if root.is_dir() else near_names.vaults_of_near_name(root)
    return f"Did you mean {meant[0]}?" if meant else ""


def was_vault(root: Path) -> bool:
    """Whether our own files elsewhere know a vault at this place, and nothing is there now."""
    if not is_missing_or_empty(root):
        return False
    places = [config.state_dir_elsewhere(root)]
    with contextlib.suppress(VaultmemError):
        places.append(config.state_dir(root, config.load(root)))
    return any(
        place.anchor != root and (place / "index" / "catalog.db").path.is_file() for place in places
    )


def doubt_about_wish(root: Path) -> str:
    """Why even a person who asks for a vault there is asked again."""
    from vaultmem.storage import drives

    if was_vault(root):
        return doubt_about_new_vault(root)
    if is_missing_or_empty(root) and drives.is_drive_awaited(root):
        return f"{root} seems to be the place of a drive that is not mounted."
    home = config.places().home.resolve()
    return why_no_vault(root) if root == home or root in home.parents else ""


def is_missing_or_empty(root: Path) -> bool:
    with contextlib.suppress(OSError):
        return not any(name != config.STATE for name in os.listdir(root))
    return not os.path.lexists(root)


def why_no_vault(root: Path) -> str:
    """Why a folder that is there is not taken for a vault; nothing for one, or for plain notes."""
    if any((root / mark).is_dir() for mark in near_names.MARKS):
        return ""
    home = config.places().home.resolve()
    if root == home or root in home.parents:
        return f"{root} is {'your home folder' if root == home else 'no folder of your own'}."
    try:
        names = {name.casefold() for name in itertools.islice(os.listdir(root), _LOOKED_AT)}
    except OSError:
        return ""
    if around := _vault_around(root):
        return around
    if marks := sorted(names & _OF_PROGRAMS):
        return f"{root} seems to hold a program ({marks[0]}), and no notes."
    if names and not _has_notes(root):
        return f"{root} holds other files, and no notes."
    return ""


def _vault_around(root: Path) -> str:
    """A part of a vault has the vault's settings, which say what is private there."""
    for folder in root.parents:
        if any((folder / mark).is_dir() for mark in near_names.MARKS):
            return f"{root} lies in the vault {folder}."
    return ""


def _has_notes(root: Path) -> bool:
    seen = 0
    for _, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        seen += len(files) + len(folders)
        if any(name.lower().endswith((".md", ".canvas")) for name in files):
            return True
        if seen > _LOOKED_AT:
            return True  # too large to say
    return not seen
