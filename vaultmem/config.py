"""Settings: defaults < .vaultmem/config.toml < environment < flags, each with its origin.

The only module that reads the environment.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from vaultmem.errors import InvalidInput, NotFound

STATE: Final = ".vaultmem"
REVIEW: Final = "vaultmem review.md"  # a list for people, and no memory
CONFIG: Final = f"{STATE}/config.toml"

# Our property names, in the order in which our own notes list them. A vault that uses
# one of them for something else can rename it in the settings.
PROPERTIES: Final = (
    *("id", "key", "type", "scope", "project", "session", "user", "room", "kind"),
    *("importance", "confidence", "tags", "aliases", "about", "source"),
    *("derived_from", "superseded_by", "review"),
    *("forgotten", "forgotten_at", "forgotten_reason", "created", "updated"),
)

# Every setting with its default; the default's type is the setting's type.
DEFAULTS: Final[Mapping[str, Any]] = {
    "user": "",
    "project": "",
    "read_only": False,
    "state_dir": "",
    "model": "",
    "language": "english",
    "exclude": (),
    "http.hosts": (),
    "folders.memories": "Memories",
    "folders.entities": "Entities",
    "folders.sessions": "Sessions",
    "folders.templates": "Templates",
    "typing.quiet_seconds": 3.0,
    "typing.wait_seconds": 5.0,
    "sessions.keep": False,
    "upkeep.review": False,
    "upkeep.stale_days": 180.0,
    "privacy.redact": True,
    "privacy.patterns": (),
    "hooks.inject": ("start", "prompt"),
    "hooks.keep": ("edit", "failure", "compact"),
    "hooks.subagents": False,
}
# What a text, or the texts of a list, may be.
CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "language": (
        *("", "arabic", "danish", "dutch", "english", "finnish", "french", "german", "greek"),
        *("hungarian", "italian", "norwegian", "portuguese", "romanian", "russian", "spanish"),
        *("swedish", "tamil", "turkish"),
    ),
    "hooks.inject": ("start", "prompt"),
    "hooks.keep": (
        *("edit", "failure", "command", "read", "search", "web", "tool"),
        *("prompt", "answer", "compact"),
    ),
}
_OTHER_VARIABLES: Final = {"sessions.keep": "MEMORY_MCP_SESSION_PERSIST"}  # of a dialect
_KINDS: Final = {str: "text", bool: "true or false", float: "a number", tuple: "a list of texts"}


@dataclass(frozen=True, slots=True)
class Setting:
    value: Any
    origin: str  # "default", ".vaultmem/config.toml:12", "$VAULTMEM_USER", "--user"


@dataclass(frozen=True, slots=True)
class SettingsProblem:
    message: str
    line: int = 0
    fatal: bool = True


@dataclass(frozen=True)
class Settings:
    values: Mapping[str, Setting]
    properties: Mapping[str, str] = field(default_factory=dict)  # our names -> the vault's
    problems: tuple[SettingsProblem, ...] = ()

    def __getitem__(self, name: str) -> Any:
        return self.values[name].value

    def excluding(self, path: str) -> Settings:
        """The same, with one more path that is no memory."""
        old = self.values["exclude"]
        more = Setting((*old.value, path), old.origin)
        return replace(self, values={**self.values, "exclude": more})

    def require_valid(self) -> None:
        fatal = [problem.message for problem in self.problems if problem.fatal]
        if fatal:
            raise InvalidInput(" ".join(fatal))


def find_vault(given: str | None, start: Path | None = None) -> Path:
    """`--vault`, else $VAULTMEM_VAULT, else the nearest parent folder with `.vaultmem/`."""
    named = given or os.environ.get("VAULTMEM_VAULT")
    if named:
        root = Path(named).expanduser()
        if not root.is_dir():
            raise NotFound(f"There is no folder {named}. Make a vault there: vaultmem init {named}")
        return root.resolve()
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / STATE).is_dir():
            return folder
    raise InvalidInput(
        "No vault here: neither this folder nor one above it has a .vaultmem folder. "
        "Name one with --vault DIR, or make one with: vaultmem init DIR"
    )


def load(root: Path, flags: Mapping[str, Any] | None = None) -> Settings:
    values = {name: Setting(value, "default") for name, value in DEFAULTS.items()}
    problems: list[SettingsProblem] = []
    if folder := _obsidian_templates(root):
        values["folders.templates"] = Setting(folder, ".obsidian/templates.json")
    properties = _from_file(root / CONFIG, values, problems)
    _from_environment(values, problems)
    for name, value in (flags or {}).items():
        if value is not None:
            values[name] = Setting(value, "--" + name.rpartition(".")[2].replace("_", "-"))
    return Settings(values, properties, tuple(problems))


def state_dir(root: Path, settings: Settings) -> Path:
    """Where the index and this machine's own state live."""
    configured = settings["state_dir"]
    if not configured:
        return root / STATE
    key = re.sub(r"[^A-Za-z0-9]+", "-", str(root)).strip("-")
    return Path(configured).expanduser() / key


def _obsidian_templates(root: Path) -> str:
    """The folder of Obsidian's own templates plugin, so that a template is never a memory."""
    try:
        data = json.loads((root / ".obsidian" / "templates.json").read_bytes())
        folder = data.get("folder") if isinstance(data, dict) else None
    except (OSError, ValueError):
        return ""
    folder = folder.strip("/") if isinstance(folder, str) else ""
    return folder if _is_folder(folder) else ""


def _is_folder(path: str) -> bool:
    """A plain path that stays inside the vault and is not hidden."""
    if "\0" in path or "\\" in path or ":" in path or path.startswith("/"):
        return False
    return all(part and not part.startswith(".") for part in path.strip("/").split("/"))


def _from_file(
    path: Path, values: dict[str, Setting], problems: list[SettingsProblem]
) -> dict[str, str]:
    try:
        text = path.read_text(encoding="utf-8-sig")
        data = tomllib.loads(text)
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        problems.append(SettingsProblem(f"{CONFIG} cannot be read: {error}."))
        return {}
    except OSError as error:
        problems.append(SettingsProblem(f"{CONFIG} cannot be read: {error.strerror}."))
        return {}
    renamed = data.pop("properties", {})
    for name, value in _flat(data):
        line = _line_of(text, name)
        if name not in DEFAULTS:
            message = f"{CONFIG}:{line}: there is no setting {name!r}{_nearest(name)}"
            problems.append(SettingsProblem(message, line, fatal=False))
        elif (typed := _typed(value, DEFAULTS[name])) is None:
            message = f"{CONFIG}:{line}: {name} must be {_kind(name)}, not {value!r}."
            problems.append(SettingsProblem(message, line))
        elif name.startswith("folders.") and not _is_folder(typed):
            message = f"{CONFIG}:{line}: {name} must be a folder inside the vault, not {value!r}."
            problems.append(SettingsProblem(message, line))
        elif wrong := _wrong_item(name, typed):
            problems.append(SettingsProblem(f"{CONFIG}:{line}: {name}: {wrong}.", line))
        else:
            values[name] = Setting(typed, f"{CONFIG}:{line}")
    return _renamed_properties(text, renamed, problems)


def _renamed_properties(text: str, renamed: Any, problems: list[SettingsProblem]) -> dict[str, str]:
    result: dict[str, str] = {}
    for name, value in renamed.items() if isinstance(renamed, dict) else ():
        line = _line_of(text, f"properties.{name}")
        if name not in PROPERTIES:
            message = f"{CONFIG}:{line}: {name!r} is not one of vaultmem's properties."
            problems.append(SettingsProblem(message, line, fatal=False))
        elif not isinstance(value, str) or not value.strip():
            message = f"{CONFIG}:{line}: properties.{name} must be a property name."
            problems.append(SettingsProblem(message, line))
        else:
            result[name] = value
    return result


def _from_environment(values: dict[str, Setting], problems: list[SettingsProblem]) -> None:
    for name, default in DEFAULTS.items():
        variable = "VAULTMEM_" + name.replace(".", "_").upper()
        other = _OTHER_VARIABLES.get(name, "")
        if variable not in os.environ and _from_text(os.environ.get(other, ""), default):
            variable = other
        text = os.environ.get(variable)
        if text is None:
            continue
        typed = _from_text(text, default)
        if typed is None or (name.startswith("folders.") and not _is_folder(typed)):
            message = f"${variable} must be {_kind(name)}, not {text!r}."
            problems.append(SettingsProblem(message))
        elif wrong := _wrong_item(name, typed):
            problems.append(SettingsProblem(f"${variable}: {wrong}."))
        else:
            values[name] = Setting(typed, f"${variable}")


def _typed(value: Any, default: Any) -> Any:
    if isinstance(default, tuple):
        texts = isinstance(value, list) and all(isinstance(item, str) for item in value)
        return tuple(value) if texts else None
    if isinstance(default, float):
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return float(value) if number and 0 <= value < 1e9 else None
    return value if type(value) is type(default) else None


def _from_text(text: str, default: Any) -> Any:
    if isinstance(default, bool):
        return {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}.get(
            text.strip().lower()
        )
    if isinstance(default, tuple):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if isinstance(default, float):
        try:
            return _typed(float(text), default)
        except ValueError:
            return None
    return text


def _wrong_item(name: str, value: Any) -> str:
    """What is wrong with a text, or with one of a list, where not every text will do."""
    items = (value,) if isinstance(value, str) else value
    for item in items if name in CHOICES or name == "privacy.patterns" else ():
        if name in CHOICES and item not in CHOICES[name]:
            choices = (choice or '""' for choice in CHOICES[name])
            return f"{item!r} is none of {', '.join(choices)}"
        if name not in CHOICES:
            from vaultmem import secrets

            if why := secrets.wrong_pattern(item):
                return f"the pattern {item!r} cannot be used, as {why}"
    return ""


def _kind(name: str) -> str:
    return _KINDS[type(DEFAULTS[name])]


def _flat(data: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    pairs = []
    for key, value in data.items():
        name = prefix + key
        pairs += _flat(value, name + ".") if isinstance(value, dict) else [(name, value)]
    return pairs


def _line_of(text: str, name: str) -> int:
    """The line on which a setting stands: tomllib does not say."""
    table = name.rpartition(".")[0]
    current = ""
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if header := re.match(r"\[([^\[\]]+)\]", stripped):
            current = header[1].strip().replace('"', "")
        written = re.match(r"""(["']?)([\w.-]+)\1\s*=""", stripped)
        if written and ".".join(filter(None, (current, written[2]))) == name:
            return number
        if written and current == "" and written[2] == table:
            return number
    return 0


def _nearest(name: str) -> str:
    import difflib

    close = difflib.get_close_matches(name, DEFAULTS, n=1)
    return f"; did you mean {close[0]!r}?" if close else "."


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an agent's program says about itself to the servers it starts."""

    session: str = ""
    project: str = ""


def surroundings() -> Surroundings:
    folder = os.environ.get("CLAUDE_PROJECT_DIR", "")
    name = re.split(r"[\\/]", folder.rstrip("\\/"))[-1]
    return Surroundings(os.environ.get("CLAUDE_CODE_SESSION_ID", ""), name)


@dataclass(frozen=True, slots=True)
class DialectVariables:
    """What the variables of other memory systems say, for the dialects that speak as they do."""

    user: str = ""  # $MCP_USER_ID
    session: str = ""  # $MEMORY_MCP_SESSION_ID
    keep_session: bool = False  # $MEMORY_MCP_SESSION_PERSIST
    resume_session: str = ""  # $MEMORY_SESSION_ID
    log_level: str = ""  # $MEMORY_LOG_LEVEL
    tracing: str = ""  # the level in $RUST_LOG, which may name it for a part: trusty_memory=trace
    without_meaning: tuple[str, ...] = ()  # what names another place to store: the vault is it


def dialect_variables() -> DialectVariables:
    tracing = re.search(r"(?:^|[=,])(trace|debug|info|warn|error)", os.environ.get("RUST_LOG", ""))
    places = ("CONFIG_PATH", "DEPLOYMENT_MODE", "DB_PATH", "REMOTE_URL")
    keep = _from_text(os.environ.get("MEMORY_MCP_SESSION_PERSIST", ""), False)
    return DialectVariables(
        user=os.environ.get("MCP_USER_ID", "").strip(),
        session=os.environ.get("MEMORY_MCP_SESSION_ID", "").strip(),
        keep_session=bool(keep),
        resume_session=os.environ.get("MEMORY_SESSION_ID", "").strip(),
        log_level=os.environ.get("MEMORY_LOG_LEVEL", "").strip().lower(),
        tracing=tracing[1].replace("trace", "debug") if tracing else "",
        without_meaning=tuple(f"MEMORY_{p}" for p in places if os.environ.get(f"MEMORY_{p}")),
    )


def editor() -> str:
    """The command of the person's editor."""
    named = (os.environ.get(name, "").strip() for name in ("VISUAL", "EDITOR"))
    return next(filter(None, named), "notepad" if os.name == "nt" else "vi")


def git_environment(more: Mapping[str, str]) -> dict[str, str]:
    """For running git: its messages in English, paths as they are, the folder's own repository."""
    kept = {name: value for name, value in os.environ.items() if name not in _GIT_PLACES}
    return (
        kept | {"LC_ALL": "C", "GIT_LITERAL_PATHSPECS": "1", "GIT_OPTIONAL_LOCKS": "0"} | dict(more)
    )


_GIT_PLACES: Final = frozenset(  # set where git itself runs us, in a hook of some repository
    f"GIT_{name}"
    for name in ("DIR", "WORK_TREE", "INDEX_FILE", "PREFIX", "OBJECT_DIRECTORY", "COMMON_DIR")
)


def no_colour() -> bool:
    """Whether the person wants no colours, or the terminal has none (https://no-color.org)."""
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"


def debugging() -> bool:
    """Whether the person wants to see where something unforeseen happened."""
    return bool(os.environ.get("VAULTMEM_DEBUG"))


@dataclass(frozen=True, slots=True)
class Places:
    """Where programs keep their settings, on each kind of system."""

    system: str  # as sys.platform names it
    home: Path
    settings: Path  # ~/.config, ~/Library/Application Support, %APPDATA%
    local: Path  # %LOCALAPPDATA%; elsewhere as `settings`
    moved: Mapping[str, Path]  # what a variable of the program itself says: CODEX_HOME, …


def places(system: str = sys.platform) -> Places:
    home = Path.home()

    def at(variable: str, usual: Path) -> Path:
        given = Path(os.environ.get(variable, ""))
        return given if given.is_absolute() else usual

    settings = at("XDG_CONFIG_HOME", home / ".config")
    local = settings
    if system == "darwin":
        settings = local = home / "Library" / "Application Support"
    elif system == "win32":
        settings = at("APPDATA", home / "AppData" / "Roaming")
        local = at("LOCALAPPDATA", home / "AppData" / "Local")
    programs = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME")
    named = {name: os.environ.get(name, "").strip() for name in programs}
    moved = {name: Path(path).expanduser().absolute() for name, path in named.items() if path}
    return Places(system, home, settings, local, moved)


def stranger(home: Path) -> dict[str, str]:
    """The environment of someone else at this machine: none of this person's settings, in git
    neither, no agent around, and nobody who is typing."""
    ours = ("VAULTMEM_", "GIT_", "CLAUDE", "MEMORY_", "MCP_", "XDG_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    identity = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "Me"), ("EMAIL", "me@localhost"))
    }
    apart = {"HOME": str(home), "USERPROFILE": str(home), "GIT_CONFIG_GLOBAL": os.devnull}
    quiet = {"GIT_CONFIG_NOSYSTEM": "1", "VAULTMEM_TYPING_QUIET_SECONDS": "0"}
    return kept | identity | apart | quiet | {"VAULTMEM_MODEL": "off"}
