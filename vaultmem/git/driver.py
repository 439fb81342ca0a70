"""The merge driver that git calls for every note two sides changed.

It starts often and must start fast: no index, no settings but the names of properties, and
not even the command line's library. Whatever goes wrong, git's own merge is the answer.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

USAGE = "Use: merge-driver BASE OURS THEIRS [MARKER-SIZE] [PATH]; git calls it so."


def run_merge_driver(arguments: Sequence[str]) -> int:
    """%O %A %B %L %P, as git gives them; the result replaces %A. 1 when a clash is left."""
    if len(arguments) < 3:
        print(USAGE, file=sys.stderr)
        return 2
    base, ours, theirs = map(Path, arguments[:3])
    marker = int(arguments[3]) if len(arguments) > 3 and arguments[3].isdigit() else 7
    path = arguments[4] if len(arguments) > 4 else ours.name
    try:
        versions = base.read_bytes() or None, ours.read_bytes(), theirs.read_bytes()
        return _merge_versions_as_driver(versions, ours, marker, path)
    except OSError as error:
        _say_as_merge_driver(path, f"the merge could not be written: {error.strerror}")
        return 129  # git takes this for a failure, and leaves both sides alone


def _merge_versions_as_driver(
    versions: tuple[bytes | None, bytes, bytes], target: Path, marker: int, path: str
) -> int:
    from vaultmem.git import merge

    try:
        if path.lower().endswith(".md"):
            done = merge.merge_notes(
                *versions, names=_property_names_for_driver(path), marker=marker
            )
        else:
            done = merge.merge_by_git(*versions, marker=marker)
    except Exception as error:  # an edge: git waits for an answer
        _say_as_merge_driver(path, f"merged as plain text ({type(error).__name__}: {error})")
        done = merge.merge_by_git(*versions, marker=marker)
    for line in done.lost:
        _say_as_merge_driver(path, line)
    if not done.blended:
        from vaultmem.base.own_program import command_to_type

        _say_as_merge_driver(
            path, f"two different notes have this name; {command_to_type('sync')} keeps both"
        )
    elif done.raw != versions[1]:
        target.write_bytes(done.raw)
    return 0 if done.clean else 1


def _say_as_merge_driver(path: str, text: str) -> None:
    print(f"vaultmem: {path}: {text}".encode("ascii", "backslashreplace").decode(), file=sys.stderr)


def _property_names_for_driver(path: str) -> Mapping[str, str]:
    """The vault's own names of our properties; git runs a driver at the top of the work tree."""
    from vaultmem.base import small_files

    for folder in Path(path).parents:
        settings = folder / ".vaultmem" / "config.toml"
        if settings.is_file():
            try:
                if b"[properties]" not in small_files.read_small_file(settings):
                    return {}
            except OSError:
                return {}
            from vaultmem import config

            return config.load(folder).properties
    return {}
