"""What is written into a client's settings, and how it is known again."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from vaultmem.base import own_program
from vaultmem.clients.catalogue import Client
from vaultmem.errors import InvalidInput

_SECONDS: Final = 10  # a hook ends by itself after two

# Claude Code's events, the tools of each that matter, and whether the agent waits for it.
EVENTS: Final = (
    ("SessionStart", "", True),
    ("UserPromptSubmit", "", True),
    ("PostToolUse", "Edit|Write|MultiEdit|NotebookEdit", False),
    ("PostToolUseFailure", "Bash", False),
    ("PostCompact", "", True),
    ("SessionEnd", "", True),
)


@dataclass(frozen=True, slots=True)
class EntryOptions:
    """A vault, and how narrowly a client is to use it."""

    vault: Path
    read_only: bool = False
    project: str = ""
    toolsets: str = ""

    @property
    def is_narrowed(self) -> bool:
        """Bound in a way that hooks do not know."""
        return self.read_only or bool(self.project)

    def server_arguments(self) -> list[str]:
        options = ["serve", "--vault", str(self.vault)]
        options += ["--read-only"] if self.read_only else []
        options += ["--project", self.project] if self.project else []
        return options + (["--toolsets", self.toolsets] if self.toolsets else [])


def server_entry(client: Client, wanted: EntryOptions) -> dict[str, Any]:
    command, *arguments = own_program.own_command_from_anywhere(*wanted.server_arguments())
    for word in [command, *arguments]:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise InvalidInput(
                f"The name {word!a} is not valid Unicode and cannot stand in a settings file; "
                "rename it."
            ) from None
    entry = {"command": command, "args": arguments}
    return {"type": "stdio", **entry} if client.typed else entry


def starts_vaultmem(entry: Any) -> bool:
    """Whether an entry of that name is one of ours, however it starts us: uvx, python -m …"""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("command"), str):
        return False
    arguments = entry.get("args", [])
    return "serve" in _entry_words_after_program([entry["command"], *_entry_texts(arguments)])


def vault_of_entry(entry: Mapping[str, Any]) -> str:
    words = _entry_texts(entry.get("args", []))
    return next((word for at, word in enumerate(words) if words[at - 1 : at] == ["--vault"]), "")


def _entry_texts(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _entry_words_after_program(words: Sequence[str]) -> list[str]:
    """What follows our own name on a command line."""
    names = [re.split(r"[\\/]", word)[-1].lower() for word in words]
    found = next((at for at, name in enumerate(names) if name in own_program.PROGRAM_FILES), None)
    return [] if found is None else list(words[found + 1 :])


# --- hooks ---------------------------------------------------------------------------------


def hook_entries(vault: Path) -> dict[str, dict[str, Any]]:
    """One group for each event, as Claude Code's settings have them."""
    command = shlex.join(own_program.own_command_from_anywhere("hook", "--vault", str(vault)))
    return {event: _hook_entry_group(command, tools, waits) for event, tools, waits in EVENTS}


def _hook_entry_group(command: str, tools: str, waits: bool) -> dict[str, Any]:
    handler: dict[str, Any] = {"type": "command", "command": command, "timeout": _SECONDS}
    handler |= {} if waits else {"async": True}
    return ({"matcher": tools} if tools else {}) | {"hooks": [handler]}


def is_our_hook(handler: Any) -> bool:
    """`… vaultmem hook` with our own options: a command line with more in it is someone else's."""
    if not isinstance(handler, Mapping) or not isinstance(handler.get("command"), str):
        return False
    try:
        words = [*shlex.split(handler["command"]), *_entry_texts(handler.get("args", []))]
    except ValueError:
        return False
    first, *rest = _entry_words_after_program(words) or [""]
    return first == "hook" and len(rest) % 2 == 0 and set(rest[::2]) <= {"--vault", "--event"}
