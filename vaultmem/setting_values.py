"""Every setting: its default, and what it may be, wherever it is written."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from vaultmem.base.near_names import LETTERS_APART, letters_apart
from vaultmem.limits import shown_wrong_value

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
    "folders.memory_files": "Memory files",
    "obsidian.exclude": True,
    "obsidian.folder": "",
    "typing.quiet_seconds": 3.0,
    "typing.wait_seconds": 5.0,
    "sessions.keep": False,
    "review.new": False,
    "review.projects": (),
    "review.clients": (),
    "upkeep.review": False,
    "upkeep.stale_days": 180.0,
    "upkeep.dreams": (),
    "privacy.redact": True,
    "privacy.patterns": (),
    "hooks.inject": ("start", "prompt"),
    "hooks.keep": ("request", "finding", "edit", "failure", "outcome", "open", "ending", "compact"),
    "hooks.subagents": False,
    "engine.idle_minutes": 10.0,
    "dialects.embedding_length": 1_536.0,
    "dialects.folders": (),
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
        *("prompt", "answer", "compact", "request", "finding", "outcome", "open", "ending"),
    ),
    "upkeep.dreams": ("merge", "index", "decay"),
}
RANGES: Final[Mapping[str, tuple[float, float]]] = {
    "typing.quiet_seconds": (0, 3_600),
    "typing.wait_seconds": (0, 60),
    "upkeep.stale_days": (0, 36_500),
    "engine.idle_minutes": (0, 10_080),
    "dialects.embedding_length": (1, 65_536),
}
ACCESS: Final = ("none", "read", "write")  # what vaultmem may do in a folder, from little to all
_FREE_TABLES: Final = ("properties", "access")  # whose names are the person's own
TABLES: Final = (*{name.partition(".")[0]: 0 for name in DEFAULTS if "." in name}, *_FREE_TABLES)
SETTING_NAMES: Final = (*DEFAULTS, *TABLES)
VARIABLE_PREFIX: Final = "VAULTMEM_"
MOST_ITEMS, MOST_CHARACTERS = 1_000, 1_000  # of a list, and of a text
_ONLY_IN_THE_FILE: Final = "the tables access and properties stand in .vaultmem/config.toml alone"
_LONGEST_NAME: Final = 100  # letters of a wrong one that are looked at
_LIKE, _OTHER_TABLE = 0.6, 0.1  # how alike a name must be, and what another table takes off
_SHORTEST: Final = 4  # letters of a variable that may be the end of another
_HIDDEN_FOLDER: Final = re.compile(r"\.[^./\\:\0][^/\\:\0]*")
_WORDS: Final = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
_KINDS: Final = {str: "text", bool: "true or false", tuple: "a list of texts"}


def setting_value(name: str, value: Any, label: str) -> Any:
    """A setting as the program uses it; a ValueError says what it must be."""
    typed = _typed_setting_value(name, value)
    if typed is None:
        raise ValueError(
            f"{label} must be {_kind_of_setting_value(name)}, not {shown_wrong_value(value)}."
        )
    if name.startswith("folders.") and not is_setting_folder(typed):
        raise ValueError(
            f"{label} must be a folder inside the vault, not {shown_wrong_value(value)}."
        )
    items = (typed,) if isinstance(typed, str) else typed if isinstance(typed, tuple) else ()
    if wrong := _fault_in_setting_value(name, items):
        raise ValueError(f"{label}: {wrong}.")
    return typed


def setting_from_text(name: str, text: str) -> Any:
    """What a text stands for in the environment; the text itself where it stands for nothing."""
    default = DEFAULTS[name]
    if isinstance(default, bool):
        return _WORDS.get(text.strip().lower(), text)
    if isinstance(default, tuple):
        return [part.strip() for part in text.split(",") if part.strip()]
    if isinstance(default, float):
        with contextlib.suppress(ValueError):
            return float(text)
    return text


def is_setting_folder(path: str) -> bool:
    """A plain path that stays inside the vault and is not hidden."""
    if "\0" in path or "\\" in path or ":" in path or path.startswith("/"):
        return False
    return all(part and not part.startswith(".") for part in path.strip("/").split("/"))


def plain_path(pattern: str) -> str:
    """A path of the vault as it is meant, however it was written."""
    return pattern.replace("\\", "/").removeprefix("./").strip("/")


def plain_start_of_path(pattern: str) -> str:
    """The folders before the first that `*` or `?` stand for."""
    segments = plain_path(pattern).split("/")
    return "/".join(itertools.takewhile(lambda each: not {"*", "?"} & {*each}, segments))


def access_setting(folder: str, level: Any) -> str:
    """What is wrong with what a folder is said to be open to, if anything."""
    if not is_setting_folder(folder) or not folder.strip("/"):
        return f"access names folders of the vault, not {shown_wrong_value(folder)}."
    if len(folder) > MOST_CHARACTERS:
        return f"a folder of access has at most {MOST_CHARACTERS:,} characters."
    if level not in ACCESS:
        if folder in ACCESS and isinstance(level, list):
            return f'access names the folder first: write "Folder" = "{folder}", a line for each.'
        choices = " or ".join(f'"{choice}"' for choice in ACCESS)
        return f"access to {shown_wrong_value(folder)} must be {choices}, not {shown_wrong_value(level)}."
    return ""


def setting_variable(name: str) -> str:
    return VARIABLE_PREFIX + name.replace(".", "_").upper()


def unknown_setting(name: str, value: Any = None) -> str:
    """What is wrong with a name in the file that is no setting, and what was probably meant."""
    table, _, own = name.rpartition(".")
    if name in TABLES:
        return f"{name} is a table: write [{name}] on a line of its own, and its settings below."
    if table in DEFAULTS:
        return f"{table} is a setting and no table: write {table} = … on one line."
    top = name.partition(".")[0]
    meant = [t for t in _FREE_TABLES if top != t and letters_apart(top, t) <= LETTERS_APART]
    if meant and top not in TABLES:
        return f"there is no table [{top}]; did you mean [{meant[0]}]?"
    named_so = [known for known in DEFAULTS if known.rpartition(".")[2] == own]
    fitting = [known for known in named_so if _typed_setting_value(known, value) is not None]
    homes = [known.rpartition(".")[0] for known in fitting or named_so]
    if homes and table in ("", *TABLES):
        here = f"in [{table}]" if table else "above the first table"
        there = " or ".join(f"in [{home}]" if home else "above the first table" for home in homes)
        return f"{own} stands {here}, and belongs {there}: move the line there."
    return f"there is no setting {shown_wrong_value(name)}{did_you_mean(name, SETTING_NAMES)}"


def did_you_mean(name: str, known: Collection[str]) -> str:
    """The end of a sentence; a setting may have been put into a table that there is not."""
    import difflib

    def likeness(of: str) -> float:
        whole = difflib.SequenceMatcher(None, written, of)
        ends = difflib.SequenceMatcher(None, written.rpartition(".")[2], of.rpartition(".")[2])
        return max(whole.ratio(), ends.ratio() - _OTHER_TABLE)

    written = name[:_LONGEST_NAME].casefold().replace("-", "_")
    best = max(known, key=likeness)
    return f"; did you mean {best!r}?" if likeness(best) >= _LIKE else "."


def unknown_variable(variable: str, others: Collection[str]) -> tuple[str, bool]:
    """What is wrong with a variable that is none of ours, and whether it is one misspelt.

    Another version may know variables that this one does not, so only what is within two letters
    of a known one, or is a setting without its table or in another one, is taken for a mistake.
    """
    ours = [*map(setting_variable, DEFAULTS), *others]
    own = variable.removeprefix(VARIABLE_PREFIX)
    table, _, rest = own.partition("_")
    if table.lower() in _FREE_TABLES:
        return f"${variable} is no variable of vaultmem: {_ONLY_IN_THE_FILE}.", True
    near = min(ours, key=lambda known: letters_apart(variable, known))
    if letters_apart(variable, near) <= min(LETTERS_APART, len(own) // 2):
        return f"${variable} is no variable of vaultmem; did you mean ${near}?", True
    whole = [v for v in ours if v.endswith(f"_{own}") and len(own) >= _SHORTEST]
    if table.lower() in TABLES:
        whole += [setting_variable(s) for s in DEFAULTS if s.rpartition(".")[2].upper() == rest]
    if own and whole:
        return f"${variable} is no variable of vaultmem; did you mean ${' or $'.join(whole)}?", True
    return f"${variable} is no variable of this version of vaultmem, and does nothing.", False


def _typed_setting_value(name: str, value: Any) -> Any:
    default = DEFAULTS[name]
    if isinstance(default, tuple):
        texts = isinstance(value, list) and all(isinstance(item, str) for item in value)
        return tuple(value) if texts else None
    if isinstance(default, float):
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        low, high = RANGES[name]
        return float(value) if number and low <= value <= high else None
    return value if type(value) is type(default) else None


def _kind_of_setting_value(name: str) -> str:
    if name in RANGES:
        low, high = RANGES[name]
        return f"a number from {low:,} to {high:,}"
    return _KINDS[type(DEFAULTS[name])]


def _fault_in_setting_value(name: str, items: tuple[str, ...]) -> str:
    """What is wrong with a text, or with one of a list."""
    if len(items) > MOST_ITEMS:
        return f"it has {len(items):,} items, and {MOST_ITEMS:,} are the most"
    for item in items:
        if len(item) > MOST_CHARACTERS:
            return f"it has {len(item):,} characters, and {MOST_CHARACTERS:,} are the most"
        if name == "obsidian.folder" and item and not _HIDDEN_FOLDER.fullmatch(item):
            return f"{shown_wrong_value(item)} is no hidden folder of the vault, as .obsidian is"
        if name == "exclude" and item.startswith("!"):
            return (
                f"there are no exceptions as in {shown_wrong_value(item)}; name what to leave out"
            )
        if "\0" in item:
            return "the character NUL cannot be in a setting"
        if name in CHOICES and item not in CHOICES[name]:
            choices = (choice or '""' for choice in CHOICES[name])
            return f"{shown_wrong_value(item)} is none of {', '.join(choices)}"
        if name == "privacy.patterns":
            from vaultmem.base import redaction

            if why := redaction.wrong_secret_pattern(item):
                return f"the pattern {shown_wrong_value(item)} cannot be used, as {why}"
    return ""


# --- as they stand in the file ---------------------------------------------------------------


def flat_settings(data: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    pairs = []
    for key, value in data.items():
        name = prefix + key
        if value == {} and name in TABLES:
            continue
        nested = isinstance(value, dict) and value
        pairs += flat_settings(value, name + ".") if nested else [(name, value)]
    return pairs


def fault_of_settings_file(text: str, error: ValueError) -> tuple[str, int]:
    """What is wrong with a file that is no TOML, and where. The commonest fault is a setting that
    was added above and is there below; the parser tells of it as of a value overwritten."""
    lines = text.splitlines()
    said = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)\Z", str(error))
    number = int(said[1] or len(lines)) if said else 0
    line = lines[number - 1] if 0 < number <= len(lines) else ""
    twice = re.match(r"Cannot (?:overwrite|declare)", str(error))
    named = re.match(r"""\s*(\[[^\]]*\]|[\w."'-]+)""", line)
    if twice and named:
        first = setting_lines(text).get(re.sub(r"[\[\]\"'\s]", "", named[1]), 0)
        where = f"on line {first}" if 0 < first < number else "above"
        return f"{named[1]} stands here once more; it is there {where} already", number
    return f"{str(error)[: said.start()] if said else error}", number


def setting_lines(text: str) -> dict[str, int]:
    """The line on which each setting stands, and each table: tomllib does not say."""
    found: dict[str, int] = {}
    current = ""
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if header := re.match(r"\[{1,2}([^\[\]]+)\]", stripped):
            current = header[1].strip().replace('"', "")
            found.setdefault(current, number)
        if written := re.match(r"""(["']?)([\w.-]+)\1\s*=""", stripped):
            found.setdefault(".".join(filter(None, (current, written[2]))), number)
    return found


def setting_line(lines: Mapping[str, int], name: str) -> int:
    return lines.get(name) or lines.get(name.rpartition(".")[0], 0)
