"""What is written into a client's settings, and how it is known again."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from vaultmem.base import own_program
from vaultmem.clients.catalogue import Client
from vaultmem.errors import InvalidInput

_SECONDS: Final = 10  # a hook ends by itself after two
_SECONDS_OF_SERVER: Final = 5  # it answers within two, once it is connected
HOOK_TOOL: Final = "hook_event"  # the server's tool that hooks call, where a client can do that


class HookedEvent(NamedTuple):
    """One of Claude Code's events."""

    name: str
    tools: str = ""  # those that matter
    waits: bool = True  # the agent waits for the command
    fields: tuple[str, ...] = ()  # what the server is told; none where no server can be asked


_OF_ALL: Final = ("hook_event_name", "session_id", "cwd", "agent_id")
EVENTS: Final = (
    HookedEvent("SessionStart"),
    HookedEvent("UserPromptSubmit", fields=(*_OF_ALL, "prompt")),
    HookedEvent(
        "PostToolUse",
        "Edit|Write|MultiEdit|NotebookEdit|Bash|TodoWrite|TaskCreate|TaskUpdate",
        waits=False,
        fields=(*_OF_ALL, "tool_name", "tool_input", "tool_response"),
    ),
    HookedEvent(
        "PostToolUseFailure",
        "Bash",
        waits=False,
        fields=(*_OF_ALL, "tool_name", "tool_input", "error", "is_interrupt"),
    ),
    HookedEvent(
        "Stop", waits=False, fields=(*_OF_ALL, "stop_hook_active", "last_assistant_message")
    ),
    HookedEvent("PostCompact"),
    HookedEvent("SessionEnd"),
)


@dataclass(frozen=True, slots=True)
class EntryOptions:
    """A vault, and how narrowly a client is to use it."""

    vault: Path
    read_only: bool = False
    project: str = ""
    toolsets: str = ""
    name: str = own_program.PROGRAM  # of the entry; a second vault has another

    @property
    def is_narrowed(self) -> bool:
        """Bound in a way that hooks do not know."""
        return self.read_only or bool(self.project)

    @property
    def is_second(self) -> bool:
        """Beside the entry of another vault, which has the hooks."""
        return self.name != own_program.PROGRAM

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


def hook_entries(vault: Path, *, by_server: bool = False) -> dict[str, dict[str, Any]]:
    """One group for each event, as Claude Code's settings have them: `by_server` asks the server
    that is connected anyway, wherever one can be asked."""
    command = shlex.join(own_program.own_command_from_anywhere("hook", "--vault", str(vault)))
    return {
        event.name: _hook_entry_group(
            event,
            server_hook(event, own_program.PROGRAM)
            if by_server and event.fields
            else _command_hook(event, command),
        )
        for event in EVENTS
    }


def _hook_entry_group(event: HookedEvent, handler: dict[str, Any]) -> dict[str, Any]:
    return ({"matcher": event.tools} if event.tools else {}) | {"hooks": [handler]}


def _command_hook(event: HookedEvent, command: str) -> dict[str, Any]:
    handler: dict[str, Any] = {"type": "command", "command": command, "timeout": _SECONDS}
    return handler | ({} if event.waits else {"async": True})


def server_hook(event: HookedEvent, server: str) -> dict[str, Any]:
    return {
        "type": "mcp_tool",
        "server": server,
        "tool": HOOK_TOOL,
        "input": {field: f"${{{field}}}" for field in event.fields},
        "timeout": _SECONDS_OF_SERVER,
    }


def is_our_hook(handler: Any) -> bool:
    """Our server's tool for hooks, or `… vaultmem hook` with our own options: a command line with
    more in it is someone else's."""
    if not isinstance(handler, Mapping):
        return False
    if handler.get("type") == "mcp_tool":
        return handler.get("tool") == HOOK_TOOL and handler.get("server") == own_program.PROGRAM
    if not isinstance(handler.get("command"), str):
        return False
    try:
        words = [*shlex.split(handler["command"]), *_entry_texts(handler.get("args", []))]
    except ValueError:
        return False
    first, *rest = _entry_words_after_program(words) or [""]
    return first == "hook" and len(rest) % 2 == 0 and set(rest[::2]) <= {"--vault", "--event"}
