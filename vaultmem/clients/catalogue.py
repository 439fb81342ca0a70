"""The clients that vaultmem knows: where each keeps its settings, and in what shape."""

from __future__ import annotations

import difflib
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from vaultmem.base.own_program import command_to_type
from vaultmem.config import Places
from vaultmem.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Client:
    name: str
    title: str
    file: Callable[[Places], Path]
    under: str  # the name under which it lists its servers
    program: str  # by which it may be found on this machine
    then: str  # what a person does next
    typed: bool = False  # an entry says that it speaks stdio
    toml: bool = False
    strict: bool = False  # it takes no comments and no trailing commas


def claude_code_settings(places: Places) -> Path:
    """Where Claude Code keeps its hooks."""
    return places.moved.get("CLAUDE_CONFIG_DIR", places.home / ".claude") / "settings.json"


def _claude_desktop_file(places: Places) -> Path:
    """On Windows an app from a package sees a private copy of %APPDATA%, and reads only that."""
    folder = places.settings
    if places.system == "win32":
        packages = sorted((places.local / "Packages").glob("Claude_*"))
        folder = packages[0] / "LocalCache" / "Roaming" if packages else folder
    return folder / "Claude" / "claude_desktop_config.json"


def _zed_file(places: Places) -> Path:
    if places.system == "win32":
        return places.settings / "Zed" / "settings.json"
    folder = places.home / ".config" if places.system == "darwin" else places.settings
    return folder / "zed" / "settings.json"


CLIENTS: Final = {
    client.name: client
    for client in (
        Client(
            "claude-code",
            "Claude Code",
            lambda places: places.moved.get("CLAUDE_CONFIG_DIR", places.home) / ".claude.json",
            "mcpServers",
            "claude",
            "Start Claude Code anew. `claude mcp list` shows whether it is connected.",
            typed=True,
            strict=True,
        ),
        Client(
            "claude-desktop",
            "Claude Desktop",
            _claude_desktop_file,
            "mcpServers",
            "claude-desktop",
            "Quit Claude Desktop and start it anew. It is listed under Settings, Developer.",
            strict=True,
        ),
        Client(
            "cursor",
            "Cursor",
            lambda places: places.home / ".cursor" / "mcp.json",
            "mcpServers",
            "cursor",
            "Restart Cursor. It is listed with the MCP servers in Cursor's settings.",
        ),
        Client(
            "vscode",
            "VS Code",
            lambda places: places.settings / "Code" / "User" / "mcp.json",
            "servers",
            "code",
            "In VS Code run `MCP: List Servers` from the Command Palette and start it.",
            typed=True,
        ),
        Client(
            "codex",
            "Codex",
            lambda places: places.moved.get("CODEX_HOME", places.home / ".codex") / "config.toml",
            "mcp_servers",
            "codex",
            "Start Codex anew. `/mcp` lists it.",
            toml=True,
        ),
        Client(
            "gemini",
            "Gemini CLI",
            lambda places: (
                places.moved.get("GEMINI_CLI_HOME", places.home) / ".gemini" / "settings.json"
            ),
            "mcpServers",
            "gemini",
            "Start Gemini CLI anew, in a folder that you trust. `/mcp` lists it.",
        ),
        Client(
            "windsurf",
            "Windsurf",
            lambda places: places.home / ".codeium" / "windsurf" / "mcp_config.json",
            "mcpServers",
            "windsurf",
            "Refresh the MCP servers in Cascade, or restart Windsurf.",
        ),
        Client(
            "zed",
            "Zed",
            _zed_file,
            "context_servers",
            "zed",
            "Zed connects at once. It is listed under Settings, AI, MCP Servers.",
        ),
    )
}


# One that has no settings of ours, and reads a file of instructions.
ANY_AGENT: Final = Client(
    "agent",
    "The agent",
    lambda places: places.home,
    "",
    "",
    "Start the agent anew: it reads its instructions then.",
)


def client_named(name: str) -> Client:
    """The client of that name, however it is written; a near name is suggested, never taken."""
    wanted = name.strip().lower().replace(" ", "-").replace("_", "-")
    if wanted in CLIENTS:
        return CLIENTS[wanted]
    near = [known for known in CLIENTS if wanted and (wanted in known or known in wanted)]
    near = near or difflib.get_close_matches(wanted, CLIENTS, n=2)
    meant = f"; did you mean {' or '.join(near)}?" if near else "."
    raise InvalidInput(
        f"There is no client {name!r}{meant} Known are {', '.join(CLIENTS)}. "
        f"What any other client needs is shown by: {command_to_type('serve')}, in a terminal"
    )


def is_client_here(client: Client, places: Places) -> bool:
    """Whether the client seems to be on this machine."""
    file = client.file(places)
    if client.name == "claude-code" and claude_code_settings(places).parent.is_dir():
        return True
    folder = file if file.parent == places.home else file.parent
    return folder.exists() or shutil.which(client.program) is not None
