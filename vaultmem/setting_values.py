"""Every setting: its default, and what it may be, wherever it is written."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from typing import Any, Final

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
RANGES: Final[Mapping[str, tuple[float, float]]] = {
    "typing.quiet_seconds": (0, 3_600),
    "typing.wait_seconds": (0, 60),
    "upkeep.stale_days": (0, 36_500),
}
TABLES: Final = (*{name.partition(".")[0]: 0 for name in DEFAULTS if "." in name}, "properties")
SETTING_NAMES: Final = (*DEFAULTS, *TABLES)
VARIABLE_PREFIX: Final = "VAULTMEM_"
LETTERS_APART: Final = 2  # at most, of a name and its misspelling
MOST_ITEMS, MOST_CHARACTERS = 1_000, 1_000  # of a list, and of a text
_LONGEST_NAME: Final = 100  # letters of a wrong one that are looked at
_LIKE, _OTHER_TABLE = 0.6, 0.1  # how alike a name must be, and what another table takes off
_SHORTEST: Final = 4  # letters of a variable that may be the end of another
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


def setting_variable(name: str) -> str:
    return VARIABLE_PREFIX + name.replace(".", "_").upper()


def unknown_setting(name: str) -> str:
    """What is wrong with a name in the file that is no setting, and what was probably meant."""
    table, _, own = name.rpartition(".")
    if name in TABLES:
        return f"{name} is a table: write [{name}] on a line of its own, and its settings below."
    if table in DEFAULTS:
        return f"{table} is a setting and no table: write {table} = … on one line."
    homes = [known.rpartition(".")[0] for known in DEFAULTS if known.rpartition(".")[2] == own]
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
    of a known one, or is a setting without its table, is taken for a mistake.
    """
    ours = [*map(setting_variable, DEFAULTS), *others]
    own = variable.removeprefix(VARIABLE_PREFIX)
    near = min(ours, key=lambda known: letters_apart(variable, known))
    if letters_apart(variable, near) <= min(LETTERS_APART, len(own) // 2):
        return f"${variable} is no variable of vaultmem; did you mean ${near}?", True
    whole = [v for v in ours if v.endswith(f"_{own}") and len(own) >= _SHORTEST]
    if own and whole:
        return f"${variable} is no variable of vaultmem; did you mean ${' or $'.join(whole)}?", True
    return f"${variable} is no variable of this version of vaultmem, and does nothing.", False


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
