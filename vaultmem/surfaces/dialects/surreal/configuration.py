"""The configuration of that system: its Markdown file with frontmatter, and its variables.

The environment comes before the file, and in the file the frontmatter before the YAML blocks
beneath it. Every key has an effect here, or a remark says that it has none.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from vaultmem import config
from vaultmem.base import small_files
from vaultmem.errors import InvalidInput
from vaultmem.front.asker import environment, folder_of_asker
from vaultmem.limits import shown_wrong_value

MODES: Final = ("embedded-memory", "embedded-file", "local-server", "remote")
LEVELS: Final = ("debug", "info", "warn", "error")
USUAL_FILE: Final = ".claude/surrealdb-memory.local.md"
QUERY_SECONDS: Final = 10.0

_LARGEST: Final = 1_000_000
_BLOCK: Final = re.compile(r"^```ya?ml[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_FRONT: Final = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*$", re.MULTILINE | re.DOTALL)
_VARIABLES: Final = {
    "deployment_mode": "MEMORY_DEPLOYMENT_MODE",
    "db_path": "MEMORY_DB_PATH",
    "remote_url": "MEMORY_REMOTE_URL",
    "log_level": "MEMORY_LOG_LEVEL",
    "query_timeout": "MEMORY_QUERY_TIMEOUT",
}
_WITHOUT_EFFECT: Final = {
    "namespace": "a vault is one memory; --user and --project divide it",
    "database": "a vault is one memory; --user and --project divide it",
    "embedding_dimensions": "the embedding model decides how many there are",
    "remote_user": "a vaultmem server knows its clients by remote_pass, its token, alone",
}


@dataclass(frozen=True)
class SurrealConfiguration:
    mode: str = ""  # empty where nothing says so: the vault that is named
    db_path: str = ""
    remote_url: str = ""
    token: str = ""
    embedding_model: str = ""
    most_of_session: int = 0  # memories; 0 for any number
    consolidates_at_end: bool = False
    log_level: str = "info"
    query_seconds: float = QUERY_SECONDS
    warnings: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()  # about what has no effect here


def surreal_configuration() -> SurrealConfiguration:
    path, named = _configuration_file()
    warnings: list[str] = []
    written = _written_configuration(path, named, warnings)
    told = dict(written)
    for key, variable in _VARIABLES.items():
        if value := environment().get(variable, "").strip():
            told[key] = value
    made = SurrealConfiguration(
        mode=_one_of(told, "deployment_mode", MODES),
        db_path=_text_told(told, "db_path"),
        remote_url=_text_told(told, "remote_url"),
        token=_text_told(told, "remote_token") or _text_told(told, "remote_pass"),
        embedding_model=_text_told(told, "embedding_model"),
        most_of_session=_number_told(told, "max_memories_per_session", 0, whole=True),
        consolidates_at_end=_flag_told(told, "consolidation_on_shutdown"),
        log_level=_one_of(told, "log_level", LEVELS) or "info",
        query_seconds=_number_told(told, "query_timeout", QUERY_SECONDS) or QUERY_SECONDS,
    )
    made = replace(made, mode=made.mode or _mode_of_places(made))
    remarks = [*_remarks_on_written(written, made)]
    return replace(made, warnings=tuple(warnings), remarks=tuple(remarks))


def _mode_of_places(made: SurrealConfiguration) -> str:
    """A place that is named says what is meant, where no mode is."""
    if made.db_path:
        return "embedded-file"
    return "remote" if made.remote_url else ""


def _configuration_file() -> tuple[Path, bool]:
    """Where it is, and whether somebody named it: the usual one need not be there."""
    named = environment().get("MEMORY_CONFIG_PATH", "").strip()
    home = config.places().home
    if not named:
        return home / USUAL_FILE, False
    return _path_for_surreal(named), True


def _path_for_surreal(named: str) -> Path:
    home = config.places().home
    for sign in ("~/", "$HOME/", "${HOME}/"):  # nobody else expands them in a client's settings
        if named.startswith(sign):
            return home / named.removeprefix(sign)
    return folder_of_asker() / named


def path_of_database(made: SurrealConfiguration) -> Path:
    return _path_for_surreal(made.db_path)


# --- the file ------------------------------------------------------------------------------------


def _written_configuration(path: Path, named: bool, warnings: list[str]) -> dict[str, Any]:
    try:
        raw = small_files.read_small_file(path, _LARGEST, follow=True)
        mode = path.stat().st_mode
    except FileNotFoundError:
        if named:
            warnings.append(f"There is no configuration file {path}; the usual settings are used.")
        return {}
    except (OSError, ValueError) as error:
        raise InvalidInput(f"The configuration file {path} cannot be read: {error}.") from None
    if stat.S_IMODE(mode) & 0o077:
        warnings.append(
            f"Others on this machine may read or change {path}, in which passwords may stand. "
            f"Keep it to yourself: chmod 600 {path}"
        )
    return _keys_of_configuration(raw.decode("utf-8-sig", errors="replace"), path)


def _keys_of_configuration(text: str, path: Path) -> dict[str, Any]:
    from vaultmem.notes.frontmatter import MalformedFrontmatter, read_frontmatter

    text = text.replace("\r\n", "\n")
    front = _FRONT.match(text)
    found: dict[str, Any] = {}
    try:
        for block in (*_BLOCK.findall(text), front[1] if front else ""):  # the last one wins
            values = read_frontmatter(block)
            found |= {key: value for key, value in values.items() if value is not None}
    except MalformedFrontmatter as error:
        raise InvalidInput(
            f"The YAML in the configuration file {path} cannot be read: {error}. "
            "Correct it, and start the server again."
        ) from None
    return found


def _remarks_on_written(written: Mapping[str, Any], made: SurrealConfiguration) -> Iterator[str]:
    known = {*_VARIABLES, *_WITHOUT_EFFECT, *_KEYS}
    for key in written:
        if key in _WITHOUT_EFFECT:
            yield f"{key} has no effect here: {_WITHOUT_EFFECT[key]}."
        elif key not in known:
            yield f"{shown_wrong_value(key)} is no key that is known; it has no effect."
    if made.mode == "remote":
        for key in ("embedding_model", "db_path"):
            if key in written:
                yield f"{key} has no effect in the mode remote: the other server has the vault."
    elif made.mode:
        if "remote_url" in written and not environment().get("MEMORY_DEPLOYMENT_MODE"):
            yield f"remote_url has no effect in the mode {made.mode}."
    for key, variable in _VARIABLES.items():
        if key in written and environment().get(variable, "").strip():
            yield f"{key} of the configuration file has no effect: ${variable} is set."


_KEYS: Final = (
    *("remote_pass", "remote_token", "embedding_model"),
    *("max_memories_per_session", "consolidation_on_shutdown"),
)


# --- values --------------------------------------------------------------------------------------


def _text_told(told: Mapping[str, Any], key: str) -> str:
    value = told.get(key, "")
    if isinstance(value, (dict, list)):
        raise InvalidInput(f"{_place_of(key)} must be a text, not {shown_wrong_value(value)}.")
    return str(value).strip()


def _place_of(key: str) -> str:
    variable = _VARIABLES.get(key, "")
    if variable and environment().get(variable, "").strip():
        return f"${variable}"
    return f"{key} in the configuration file"


def _one_of(told: Mapping[str, Any], key: str, allowed: tuple[str, ...]) -> str:
    value = _text_told(told, key).lower()
    value = {"warning": "warn"}.get(value, value)
    if value and value not in allowed:
        raise InvalidInput(
            f"{_place_of(key)} must be one of {', '.join(allowed)}, not {shown_wrong_value(value)}."
        )
    return value


def _number_told(told: Mapping[str, Any], key: str, usual: float, *, whole: bool = False) -> Any:
    text = _text_told(told, key)
    try:
        value = (int if whole else float)(text) if text else usual
    except ValueError:
        value = -1
    if not 0 <= value < 10**9:
        kind = "a whole number" if whole else "a number"
        raise InvalidInput(f"{_place_of(key)} must be {kind}, not {shown_wrong_value(text)}.")
    return value


def _flag_told(told: Mapping[str, Any], key: str) -> bool:
    value = _text_told(told, key).lower()
    if value not in ("", "true", "false", "yes", "no"):
        raise InvalidInput(
            f"{_place_of(key)} must be true or false, not {shown_wrong_value(value)}."
        )
    return value in ("true", "yes")


# --- addresses -----------------------------------------------------------------------------------


def remote_address(url: str) -> str:
    """`ws://host:8000` is written for a database; here the same server is asked over HTTP."""
    split = urlsplit(url.strip())
    scheme = {"ws": "http", "wss": "https"}.get(split.scheme, split.scheme)
    if scheme not in ("http", "https") or not split.hostname:
        raise InvalidInput(
            f"{shown_wrong_value(url)} is no address of a server; it looks like "
            "https://memory.example:8765 ."
        )
    if split.username or split.password:
        raise InvalidInput(
            "The address of the server holds a password, where others may see it. Put the "
            "token into the configuration file instead, as remote_pass."
        )
    path = split.path.rstrip("/")
    path = "/mcp" if path in ("", "/rpc") else path
    return f"{scheme}://{split.netloc}{path}"
