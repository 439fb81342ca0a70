"""Every setting: its default, and what it may be, wherever it is written."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
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
MOST_ITEMS, MOST_CHARACTERS = 1_000, 1_000  # of a list, and of a text
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


def nearest_setting(name: str) -> str:
    import difflib

    close = difflib.get_close_matches(name, DEFAULTS, n=1)
    return f"; did you mean {close[0]!r}?" if close else "."


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
