"""Having a shell find this installation by its name: a link in the person's own programs.

Only what is ours is ever replaced or removed, and no shell's settings are touched: where the
folder is not searched, the line that has it searched is told.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from vaultmem import config
from vaultmem.base import durable, own_program
from vaultmem.base.own_program import PROGRAM
from vaultmem.errors import AlreadyExists, InvalidInput

_PROFILES: Final = {"zsh": "~/.zshrc", "bash": "~/.bashrc"}
_MAKING: Final = "Making the link"
DISTRIBUTION: Final = "vaultmem-mcp"


@dataclass(frozen=True, slots=True)
class ShellPath:
    """What was done, and what is still to be typed for a shell to find us."""

    program: str  # what a shell is to find
    done: str  # made, there, removed, absent; or told, where only the person can
    to_do: str = ""  # a line to type, once
    shadowed_by: str = ""  # another program of our name, which is found first


def add_to_shell_path() -> ShellPath:
    found = shutil.which(PROGRAM)
    if found and own_program.is_own_program(Path(found)):
        return ShellPath(found, "there")
    if os.name == "nt":
        return _told_on_windows()
    link, before = _link_in_programs(), "there"
    _require_no_other_program(link)
    if not own_program.is_own_program(link):
        _make_link(link)
        before = "made"
    is_searched = link.parent in config.program_folders()
    shadow = found if found and is_searched and shutil.which(PROGRAM) == found else ""
    return ShellPath(str(link), before, "" if is_searched else _line_for_profile(), shadow or "")


def remove_from_shell_path() -> ShellPath:
    link = _link_in_programs()
    if not os.path.lexists(link):
        return ShellPath(str(link), "absent")
    _require_no_other_program(link)
    if not link.is_symlink() and link.read_bytes() != _starter():
        raise InvalidInput(
            f"{link} is the program itself and no link to it. Nothing was changed; what installed "
            f"it can remove it: pip uninstall {DISTRIBUTION}"
        )
    if command := _uninstaller():
        raise InvalidInput(
            f"{link} was made by what installed vaultmem. Nothing was changed; this removes both: "
            f"{command}"
        )
    with durable.disk_errors_explained(f"Removing {link}"):
        link.unlink()
    return ShellPath(str(link), "removed")


def _uninstaller() -> str:
    """What takes away an installation that has put its own link there."""
    made = {"uv-receipt.toml": "uv tool uninstall", "pipx_metadata.json": "pipx uninstall"}
    for receipt, command in made.items():
        if Path(sys.prefix, receipt).is_file():
            return f"{command} {DISTRIBUTION}"
    return ""


def _link_in_programs() -> Path:
    return config.places().home / ".local" / "bin" / PROGRAM


def _require_no_other_program(link: Path) -> None:
    """A link that leads nowhere is nobody's program any more."""
    is_stale = link.is_symlink() and not link.exists()
    if os.path.lexists(link) and not is_stale and not own_program.is_own_program(link):
        raise AlreadyExists(
            f"{link} is there already and is not this installation: another one, or another "
            "program of this name. Nothing was changed; move it away first, if it is not needed."
        )


def _make_link(link: Path) -> None:
    program, *arguments = own_program.own_command_from_anywhere()
    with durable.disk_errors_explained(_MAKING):
        durable.make_folders(link.parent)
        if link.is_symlink():
            link.unlink()
        if arguments:
            durable.create_durably(link, _starter())
            link.chmod(0o755)
        else:
            link.symlink_to(program)


def _starter() -> bytes:
    """Where the installation has no program to link to."""
    return f'#!/bin/sh\nexec {shlex.join(own_program.own_command_from_anywhere())} "$@"\n'.encode()


def _line_for_profile() -> str:
    shell = config.shell_name()
    if shell == "fish":
        return "fish_add_path ~/.local/bin"
    if shell in ("tcsh", "csh"):
        return f"echo 'set path = (~/.local/bin $path)' >> ~/.{shell}rc"
    profile = _PROFILES.get(shell, "~/.profile")
    if shell == "bash" and config.places().system == "darwin":
        profile = "~/.bash_profile"  # a Mac's terminals are login shells
    return f"""echo 'export PATH="$HOME/.local/bin:$PATH"' >> {profile}"""


def _told_on_windows() -> ShellPath:
    """`setx` would cut a long PATH, and mix the system's into the person's."""
    program, *arguments = own_program.own_command_from_anywhere()
    if arguments:
        raise InvalidInput(
            "This installation has no program that Windows could find by its name. "
            "Install it with: uv tool install vaultmem-mcp, or pipx install vaultmem-mcp"
        )
    folder = str(Path(program).parent).replace("'", "''")
    line = (
        "[Environment]::SetEnvironmentVariable('Path', "
        f"[Environment]::GetEnvironmentVariable('Path', 'User') + ';{folder}', 'User')"
    )
    return ShellPath(program, "told", line)
