"""Where the engine of a vault is to be found: at files in the user's own run-time folder.

Its name says which engine it is: of which vault, of which version, and with which settings. Two
programs that would answer differently never meet at the same one.
"""

from __future__ import annotations

import os
import stat
import sys

from vaultmem import __version__
from vaultmem.front.own_hash import short_hash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

WIRE = 2  # counts how what is said on the socket changes
OFF = ("0", "off", "no", "false")
SWITCH = "VAULTMEM_ENGINE"
LOOPBACK = "loopback"  # the way of systems without sockets in the file system, anywhere
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

_OURS = "VAULTMEM_"
# What belongs to each caller, and travels with what it asks.
_OF_CALLERS = frozenset(
    _OURS + name for name in ("VAULT", "USER", "PROJECT", "READ_ONLY", "DEBUG", "ENGINE")
)
_SHARED = (
    *("TZ", "HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "HF_HOME", "HF_HUB_OFFLINE"),
    *("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "PYTHONPATH"),
)
_ASKED = ("VAULTMEM_", "MEMORY_", "MCP_", "CLAUDE", "GIT_", "SSH_", "XDG_", "LC_")
_ASKED_BY_NAME = (
    *(*_SHARED, "RUST_LOG", "PATH", "EDITOR", "VISUAL", "SHELL", "LANG", "USER", "LOGNAME"),
    *("NO_COLOR", "TERM", "CODEX_HOME", "GEMINI_CLI_HOME", "TMPDIR"),
)
_LONGEST_SOCKET = 100  # bytes; systems allow 104 or 108


class NoPlace(Exception):
    """There is no folder for the socket that is the user's alone; the text says why."""


class EnginePlace:
    """The files of one engine; their folder may be cleared away at any time."""

    def __init__(self, vault: str, name: str, folder: str, is_loopback: bool) -> None:
        self.vault = vault
        self.name = name
        self.folder = folder
        self.is_loopback = is_loopback
        end = "port" if is_loopback else "sock"
        self.socket = os.path.join(folder, f"{name}.{end}")  # or what says where it is
        self.lock = os.path.join(folder, f"{name}.lock")  # held by the engine: this is the truth
        self.starting = os.path.join(folder, f"{name}.starting")  # held by who starts one
        self.log = os.path.join(folder, f"{name}.log")

    def make_folder(self) -> None:
        """For who starts an engine; to look for one leaves nothing behind."""
        try:
            if self.is_loopback:
                os.makedirs(os.path.dirname(self.folder), exist_ok=True)
            os.mkdir(self.folder, 0o700)
        except FileExistsError:
            pass
        except OSError as error:
            raise NoPlace(f"{self.folder} cannot be made: {error.strerror}") from None
        _require_private(self.folder)


def engine_place(vault: str, dialect: str, environment: Mapping[str, str]) -> EnginePlace:
    """`dialect` is named where it brings settings of its own; else empty."""
    folder = _runtime_folder(environment)
    is_loopback = uses_loopback(environment)
    name = _engine_name(vault, dialect, environment, LOOPBACK if is_loopback else "")
    place = EnginePlace(vault, name, folder, is_loopback)
    if not is_loopback and len(os.fsencode(place.socket)) > _LONGEST_SOCKET:
        raise NoPlace(f"the path of a socket in {folder} would be too long")
    return place


def uses_loopback(environment: Mapping[str, str]) -> bool:
    return sys.platform == "win32" or environment.get(SWITCH, "").lower() == LOOPBACK


def _engine_name(vault: str, dialect: str, environment: Mapping[str, str], way: str) -> str:
    settings = [f"{name}={environment.get(name, '')}" for name in _SHARED]
    settings += sorted(
        f"{name}={value}"
        for name, value in environment.items()
        if name.startswith(_OURS) and name not in _OF_CALLERS
    )
    told = [str(WIRE), way, __version__, PACKAGE, sys.executable, vault, dialect, *settings]
    return short_hash(os.fsencode("\0".join(told)))


def _runtime_folder(environment: Mapping[str, str]) -> str:
    if sys.platform == "win32":
        local = environment.get("LOCALAPPDATA", "")  # nobody else may look into it
        if not os.path.isabs(local):
            raise NoPlace("LOCALAPPDATA names no folder")
        return os.path.join(local, "vaultmem", "run")
    user = os.getuid()
    given = environment.get("XDG_RUNTIME_DIR", "")
    for base in (given, f"/run/user/{user}"):
        if os.path.isabs(base) and os.access(base, os.W_OK):
            return _require_private(os.path.join(base, "vaultmem"))
    temporary = environment.get("TMPDIR") or "/tmp"
    return _require_private(os.path.join(temporary, f"vaultmem-{user}"))


def _require_private(folder: str) -> str:
    """Where it is there, it is the user's alone: nobody else may put a socket there."""
    if sys.platform == "win32":
        return folder
    try:
        found = os.lstat(folder)
    except FileNotFoundError:
        return folder
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise NoPlace(f"{folder} belongs to somebody else")
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise NoPlace(f"{folder} is open to others; remove it, or have it changed to mode 0700")
    return folder


def asker_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """What of a caller's environment answers depend on; nothing else is handed over."""
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(_ASKED) or name in _ASKED_BY_NAME
    }


def engine_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """For an engine: nothing in it is one caller's."""
    callers = ("CLAUDE", "MEMORY_", "MCP_")
    return {
        name: value
        for name, value in environment.items()
        if name not in _OF_CALLERS and not name.startswith(callers)
    }


def named_or_near_vault(named: str, environment: Mapping[str, str], folder: str = "") -> str:
    """The real path of the vault that a command is for, if it is one already; else empty."""
    named = named or environment.get("VAULTMEM_VAULT", "")
    if named:
        vault = os.path.realpath(os.path.expanduser(named))
        return vault if os.path.isdir(os.path.join(vault, ".vaultmem")) else ""
    here = os.path.realpath(folder or os.getcwd())
    while not os.path.isdir(os.path.join(here, ".vaultmem")):
        above = os.path.dirname(here)
        if above == here:
            return ""
        here = above
    return here
