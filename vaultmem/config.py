"""Settings: defaults < .vaultmem/config.toml < environment < flags, each with its origin."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from vaultmem import setting_values
from vaultmem.base import near_names, small_files
from vaultmem.base.own_path import OwnPath
from vaultmem.base.own_program import command_to_type
from vaultmem.errors import InvalidInput, NotFound
from vaultmem.front.asker import environment, folder_of_asker
from vaultmem.limits import shown_wrong_value
from vaultmem.setting_values import CHOICES as CHOICES
from vaultmem.setting_values import DEFAULTS as DEFAULTS

STATE: Final = ".vaultmem"
REVIEW: Final = "vaultmem review.md"  # a list for people, and no memory
PROPOSED: Final = "vaultmem proposed"  # a folder of what may become memories
CONFIG: Final = f"{STATE}/config.toml"

# Our property names, in the order in which our own notes list them. A vault that uses
# one of them for something else can rename it in the settings.
PROPERTIES: Final = (
    *("id", "key", "type", "scope", "project", "session", "user", "room", "kind"),
    *("importance", "confidence", "tags", "aliases", "about", "source"),
    *("derived_from", "superseded_by", "review"),
    *("forgotten", "forgotten_at", "forgotten_reason", "created", "updated"),
)

# What belongs to an index that is open, or to callers who are there already.
FIXED_WHILE_OPEN: Final = ("user", "project", "state_dir", "model", "language")

_MOST_BYTES: Final = 100_000  # of the file
_LONGEST_NAME: Final = 100  # of a property
_MOST_UNKNOWN: Final = 20  # settings that are named; the rest is counted
_TOLD: Final = 3  # problems that an error names; the rest is counted
VARIABLES: Final = (
    "VAULTMEM_VAULT",
    "VAULTMEM_DEBUG",
    "VAULTMEM_ENGINE",
)  # ours that stand for no setting
_OTHER_VARIABLES: Final = {"sessions.keep": "MEMORY_MCP_SESSION_PERSIST"}  # of a dialect


class Setting(NamedTuple):
    value: Any
    origin: str  # "default", ".vaultmem/config.toml:12", "$VAULTMEM_USER", "--user"


class SettingsProblem(NamedTuple):
    message: str
    line: int = 0
    fatal: bool = True  # a setting that was meant is not in force: it may keep notes private
    variable: str = ""  # of the environment, where it is no line of the file

    @property
    def place(self) -> str:
        return "environment" if self.variable else CONFIG

    @property
    def advice(self) -> str:
        if self.variable:
            return f"Correct the variable, or remove it: unset {self.variable}"
        return "Correct the line or remove it; if a newer vaultmem knows it, update this one."


@dataclass(frozen=True)
class Settings:
    values: Mapping[str, Setting]
    properties: Mapping[str, str] = field(default_factory=dict)  # our names -> the vault's
    access: Mapping[str, str] = field(default_factory=dict)  # folders -> none, read or write
    problems: tuple[SettingsProblem, ...] = ()

    def __getitem__(self, name: str) -> Any:
        return self.values[name].value

    def excluding(self, *paths: str) -> Settings:
        """The same, with more paths that are no memories."""
        old = self.values["exclude"]
        more = Setting((*old.value, *paths), old.origin)
        return replace(self, values={**self.values, "exclude": more})

    def followed_by(self, later: Settings) -> Settings:
        """The later ones, but for what an open vault cannot change any more."""
        kept = {name: self.values[name] for name in FIXED_WHILE_OPEN}
        return replace(later, values={**later.values, **kept}, properties=self.properties)

    @property
    def is_misread(self) -> bool:
        """Whether something that was meant is not in force."""
        return any(problem.fatal for problem in self.problems)

    def require_valid(self) -> None:
        if not self.is_misread:
            return
        fatal = [problem for problem in self.problems if problem.fatal]
        told = [problem.message for problem in fatal[:_TOLD]]
        if more := len(fatal) - len(told):
            told.append(f"There are {more:,} more; {command_to_type('doctor')} lists them.")
        raise InvalidInput(" ".join((*told, *{problem.advice: 0 for problem in fatal[:_TOLD]})))

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is wrong and stands in nobody's way."""
        return tuple(problem.message for problem in self.problems if not problem.fatal)


def find_vault(given: str | None, start: Path | None = None) -> Path:
    """`--vault`, else $VAULTMEM_VAULT, else the nearest parent folder with `.vaultmem/`."""
    named = given or environment().get("VAULTMEM_VAULT")
    if named:
        root = Path(named).expanduser()
        root = root if root.is_absolute() else folder_of_asker() / root
        if not root.is_dir():
            meant = f"{near_names.what_was_meant(root.absolute())} ".lstrip()
            raise NotFound(
                f"There is no folder {named}. {meant}Make a vault there: {command_to_type('init')} {named}"
            )
        return root.resolve()
    here = (start or folder_of_asker()).resolve()
    for folder in (here, *here.parents):
        if (folder / STATE).is_dir():
            return folder
    raise InvalidInput(
        "No vault here: neither this folder nor one above it has a .vaultmem folder. "
        f"Name one with --vault DIR, or make one with: {command_to_type('init')} DIR"
    )


def named_vault() -> str:
    """The vault that the environment names."""
    return environment().get("VAULTMEM_VAULT", "")


def load(root: Path, flags: Mapping[str, Any] | None = None) -> Settings:
    values = {name: Setting(value, "default") for name, value in DEFAULTS.items()}
    problems: list[SettingsProblem] = []
    if folder := _template_folder_of_obsidian(root):
        values["folders.templates"] = Setting(folder, ".obsidian/templates.json")
    properties, access = _settings_from_file(root / CONFIG, values, problems)
    _settings_from_environment(values, problems)
    for name, value in (flags or {}).items():
        if value is not None:
            values[name] = Setting(value, "--" + name.rpartition(".")[2].replace("_", "-"))
    _report_places_not_there(root, values["exclude"], access, problems)
    state = values["state_dir"]
    if state.origin.startswith(CONFIG) and state.value and not _is_usual_state_folder(state.value):
        problems.append(SettingsProblem(f"{state.origin}: {_ELSEWHERE}"))
        values["state_dir"] = Setting("", "default")
    return Settings(values, properties, access, tuple(problems))


def _report_places_not_there(
    root: Path, exclude: Setting, access: Mapping[str, str], problems: list[SettingsProblem]
) -> None:
    """What is to be kept away under a name that nothing has, while something has nearly that."""
    named = [(exclude.origin, f"exclude names {p!r}", p) for p in exclude.value]
    named += [(CONFIG, f"[access] names {folder!r}", folder) for folder in access]
    for origin, what, path in named:
        if meant := near_names.place_meant(root, setting_values.plain_start_of_path(path)):
            variable = origin.removeprefix("$") if origin.startswith("$") else ""
            told = f"{origin}: {what}, which is not there; did you mean {meant!r}?"
            problems.append(SettingsProblem(told, fatal=False, variable=variable))


def state_dir(root: Path, settings: Settings) -> OwnPath:
    """Where the index and this machine's own state live."""
    configured = settings["state_dir"]
    if not configured:
        return OwnPath(root, (STATE,))
    return OwnPath(Path(configured).expanduser().absolute(), (_state_key(root),))


def state_dir_elsewhere(root: Path) -> OwnPath:
    """Where our files for a vault are that cannot be written."""
    return OwnPath(user_state_folder(), (_state_key(root),))


def user_state_folder() -> Path:
    """Where programs of this person keep what belongs to this machine."""
    known = places()
    if known.system != "linux":
        return known.local / "vaultmem"
    given = Path(environment().get("XDG_STATE_HOME", ""))
    return (given if given.is_absolute() else known.home / ".local" / "state") / "vaultmem"


def _state_key(root: Path) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", str(root)).strip("-")


_ELSEWHERE: Final = (
    "state_dir may be no other folder here than ~/.local/share/vaultmem (or this system's own for "
    "the state of programs): these settings travel with the vault, and one from elsewhere could "
    "have vaultmem write anywhere. Name another one in $VAULTMEM_STATE_DIR on this machine."
)


def _is_usual_state_folder(folder: str) -> bool:
    """Whether programs keep their state there. The person may name any folder, but not the
    vault's file, which anybody may have written."""
    home = Path.home()
    usual = [home / ".local" / "share", home / ".local" / "state", home / ".cache"]
    usual += [home / "Library" / "Application Support", home / "Library" / "Caches"]
    variables = ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "LOCALAPPDATA")
    usual += [Path(environment()[name]) for name in variables if environment().get(name)]
    try:
        given = Path(folder).expanduser()
    except RuntimeError:  # ~somebody
        return False
    return any(given == place / "vaultmem" for place in usual)


def _template_folder_of_obsidian(root: Path) -> str:
    """The folder of Obsidian's own templates plugin, so that a template is never a memory."""
    try:
        raw = small_files.read_small_file(root / ".obsidian" / "templates.json")
        data = small_files.parse_json(raw)
        folder = data.get("folder") if isinstance(data, dict) else None
    except (OSError, ValueError):
        return ""
    folder = folder.strip("/") if isinstance(folder, str) else ""
    return folder if setting_values.is_setting_folder(folder) else ""


def _settings_from_file(
    path: Path, values: dict[str, Setting], problems: list[SettingsProblem]
) -> tuple[dict[str, str], dict[str, str]]:
    text = ""
    try:
        text = small_files.read_small_file(path, _MOST_BYTES).decode("utf-8-sig")
        data = small_files.parse_toml(text)
    except FileNotFoundError:
        return {}, {}
    except ValueError as error:
        fault, line = setting_values.fault_of_settings_file(text, error)
        place = f"{CONFIG}:{line}" if line else CONFIG
        problems.append(SettingsProblem(f"{place} cannot be read: {fault}.", line))
        return {}, {}
    except OSError as error:
        problems.append(SettingsProblem(f"{CONFIG} cannot be read: {error.strerror}."))
        return {}, {}
    free = {name: data.pop(name, {}) for name in ("properties", "access")}
    lines, pairs = setting_values.setting_lines(text), setting_values.flat_settings(data)
    for name in [name for name, table in free.items() if not isinstance(table, dict)]:
        pairs.append((name, free[name]))
        free[name] = {}
    _report_unknown_in_config([each for each in pairs if each[0] not in DEFAULTS], lines, problems)
    for name, value in pairs:
        if name in DEFAULTS:
            place = _config_place(lines, name)
            try:
                typed = setting_values.setting_value(name, value, name)
                values[name] = Setting(typed, place)
            except ValueError as error:
                problems.append(_config_problem(lines, name, str(error)))
    renamed = _properties_renamed_in_config(lines, free["properties"], problems)
    return renamed, _access_in_config(lines, free["access"], problems)


def _report_unknown_in_config(
    pairs: list[tuple[str, Any]], lines: Mapping[str, int], problems: list[SettingsProblem]
) -> None:
    problems += (
        _config_problem(lines, name, setting_values.unknown_setting(name, value))
        for name, value in pairs[:_MOST_UNKNOWN]
    )
    if more := len(pairs[_MOST_UNKNOWN:]):
        problems.append(SettingsProblem(f"{CONFIG} has {more:,} more settings that there are not."))


def _properties_renamed_in_config(
    lines: Mapping[str, int], given: Mapping[str, Any], problems: list[SettingsProblem]
) -> dict[str, str]:
    result: dict[str, str] = {}
    for name in [name for name in given if name not in PROPERTIES][:_MOST_UNKNOWN]:
        nearest = setting_values.did_you_mean(name, PROPERTIES)
        message = f"{shown_wrong_value(name)} is not one of vaultmem's properties{nearest}"
        problems.append(_config_problem(lines, f"properties.{name}", message))
    for name in [name for name in PROPERTIES if name in given]:
        value, label = given[name], f"properties.{name}"
        if not isinstance(value, str) or not 0 < len(value.strip()) <= _LONGEST_NAME:
            message = f"{label} must be a property name, not {shown_wrong_value(value)}."
            problems.append(_config_problem(lines, label, message))
        else:
            result[name] = value
    return result


def _access_in_config(
    lines: Mapping[str, int], given: Mapping[str, Any], problems: list[SettingsProblem]
) -> dict[str, str]:
    result = {}
    for folder, level in list(given.items())[: setting_values.MOST_ITEMS]:
        if wrong := setting_values.access_setting(folder, level):
            problems.append(_config_problem(lines, f"access.{folder}", wrong))
        else:
            result[folder.strip("/")] = level
    if len(given) > setting_values.MOST_ITEMS:
        problems.append(SettingsProblem(f"{CONFIG}: access names too many folders."))
    return result


def _settings_from_environment(values: dict[str, Setting], problems: list[SettingsProblem]) -> None:
    for name in DEFAULTS:
        variable = setting_values.setting_variable(name)
        other = _OTHER_VARIABLES.get(name, "")
        if variable not in environment() and is_variable_true(other):
            variable = other
        if (text := environment().get(variable)) is None:
            continue
        try:
            given = setting_values.setting_from_text(name, text)
            typed = setting_values.setting_value(name, given, f"${variable}")
            values[name] = Setting(typed, f"${variable}")
        except ValueError as error:
            problems.append(SettingsProblem(str(error), variable=variable))
    known = {*map(setting_values.setting_variable, DEFAULTS), *VARIABLES}
    ours = (name for name in environment() if name.startswith(setting_values.VARIABLE_PREFIX))
    for variable in sorted(name for name in ours if name not in known)[:_MOST_UNKNOWN]:
        message, meant = setting_values.unknown_variable(variable, VARIABLES)
        problems.append(SettingsProblem(message, fatal=meant, variable=variable))


def is_variable_true(variable: str) -> bool:
    return environment().get(variable, "").strip().lower() in ("1", "true", "yes")


def _config_place(lines: Mapping[str, int], name: str) -> str:
    line = setting_values.setting_line(lines, name)
    return f"{CONFIG}:{line}" if line else CONFIG


def _config_problem(lines: Mapping[str, int], name: str, message: str) -> SettingsProblem:
    place, line = _config_place(lines, name), setting_values.setting_line(lines, name)
    return SettingsProblem(f"{place}: {message}", line)


class Surroundings(NamedTuple):
    """What an agent's program says about itself to the servers it starts."""

    session: str = ""
    project: str = ""


def surroundings() -> Surroundings:
    folder = environment().get("CLAUDE_PROJECT_DIR", "")
    name = re.split(r"[\\/]", folder.rstrip("\\/"))[-1]
    return Surroundings(environment().get("CLAUDE_CODE_SESSION_ID", ""), name)


def editor_command() -> str:
    """The command of the person's editor."""
    named = (environment().get(name, "").strip() for name in ("VISUAL", "EDITOR"))
    return next(filter(None, named), "notepad" if os.name == "nt" else "vi")


def git_environment(
    more: Mapping[str, str], usual: Mapping[str, str] | None = None
) -> dict[str, str]:
    """For running git: its messages in English, paths as they are, the folder's own repository,
    no editor, and programs only from folders that do not depend on where one stands.

    `usual` holds where the person has not set a variable.
    """
    kept = {name: value for name, value in environment().items() if name not in _GIT_PLACES}
    kept["PATH"] = os.pathsep.join(_program_folders_in_environment())
    fixed = {"LC_ALL": "C", "GIT_LITERAL_PATHSPECS": "1", "GIT_OPTIONAL_LOCKS": "0"}
    return dict(usual or {}) | kept | fixed | {"GIT_EDITOR": ":"} | dict(more)


def git_ssh_command(setting: str) -> str:
    """How the person has git call ssh, by a variable or their setting; empty where it is another
    program."""
    named = environment().get("GIT_SSH_COMMAND") or setting
    return named or ("" if environment().get("GIT_SSH") else "ssh")


_GIT_PLACES: Final = frozenset(  # set where git itself runs us, in a hook of some repository
    f"GIT_{name}"
    for name in (
        *("DIR", "WORK_TREE", "IMPLICIT_WORK_TREE", "INDEX_FILE", "PREFIX", "COMMON_DIR"),
        *("OBJECT_DIRECTORY", "ALTERNATE_OBJECT_DIRECTORIES", "QUARANTINE_PATH", "NAMESPACE"),
        *("SHALLOW_FILE", "GRAFT_FILE", "REPLACE_REF_BASE", "NO_REPLACE_OBJECTS", "CONFIG"),
        *("INTERNAL_SUPER_PREFIX", "EXTERNAL_DIFF", "DIFF_OPTS"),
        *("GLOB_PATHSPECS", "NOGLOB_PATHSPECS", "ICASE_PATHSPECS"),
    )
)


def git_program(away_from: Path) -> str:
    """Where git is, by its absolute path and not in the vault; empty where there is none.

    Windows would look in the folder one stands in first.
    """
    name = "git.exe" if os.name == "nt" else "git"
    for folder in _program_folders_in_environment():
        file = Path(folder, name)
        inside = away_from.resolve() in file.resolve().parents
        if not inside and file.is_file() and os.access(file, os.X_OK):
            return str(file)
    return ""


def _program_folders_in_environment() -> list[str]:
    listed = environment().get("PATH", os.defpath).split(os.pathsep)
    return [folder for folder in listed if os.path.isabs(folder)]


def program_folders() -> list[Path]:
    """Where a shell looks for programs."""
    return list(map(Path, _program_folders_in_environment()))


def shell_name() -> str:
    """The person's own shell: bash, zsh, fish, …"""
    return os.path.basename(environment().get("SHELL", ""))


def is_colour_refused() -> bool:
    """Whether the person wants no colours, or the terminal has none (https://no-color.org)."""
    return bool(environment().get("NO_COLOR")) or environment().get("TERM") == "dumb"


def is_debugging() -> bool:
    """Whether the person wants to see where something unforeseen happened."""
    return bool(environment().get("VAULTMEM_DEBUG"))


class Places(NamedTuple):
    """Where programs keep their settings, on each kind of system."""

    system: str  # as sys.platform names it
    home: Path
    settings: Path  # ~/.config, ~/Library/Application Support, %APPDATA%
    local: Path  # %LOCALAPPDATA%; elsewhere as `settings`
    moved: Mapping[str, Path]  # what a variable of the program itself says: CODEX_HOME, …


def places(system: str = sys.platform) -> Places:
    home = Path.home()

    def at(variable: str, usual: Path) -> Path:
        given = Path(environment().get(variable, ""))
        return given if given.is_absolute() else usual

    settings = at("XDG_CONFIG_HOME", home / ".config")
    local = settings
    if system == "darwin":
        settings = local = home / "Library" / "Application Support"
    elif system == "win32":
        settings = at("APPDATA", home / "AppData" / "Roaming")
        local = at("LOCALAPPDATA", home / "AppData" / "Local")
    programs = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME")
    named = {name: environment().get(name, "").strip() for name in programs}
    moved = {name: Path(path).expanduser().absolute() for name, path in named.items() if path}
    return Places(system, home, settings, local, moved)


def environment_of_stranger(home: Path) -> dict[str, str]:
    """The environment of someone else at this machine: none of this person's settings, in git
    neither, no agent around, and nobody who is typing."""
    ours = ("VAULTMEM_", "GIT_", "CLAUDE", "MEMORY_", "MCP_", "XDG_")
    kept = {name: value for name, value in environment().items() if not name.startswith(ours)}
    identity = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "Me"), ("EMAIL", "me@localhost"))
    }
    apart = {"HOME": str(home), "USERPROFILE": str(home), "GIT_CONFIG_GLOBAL": os.devnull}
    quiet = {"GIT_CONFIG_NOSYSTEM": "1", "VAULTMEM_TYPING_QUIET_SECONDS": "0"}
    return kept | identity | apart | quiet | {"VAULTMEM_MODEL": "off"}
