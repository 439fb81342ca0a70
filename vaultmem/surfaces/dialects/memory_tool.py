"""The API's memory tool (`memory_20250818`) as one tool: six commands on files under /memories."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from vaultmem import __version__
from vaultmem.errors import InvalidInput
from vaultmem.operations.memory_files.memory_files import explained_failure
from vaultmem.surfaces import answers
from vaultmem.surfaces.dialects import Dialect, DialectTool, Given, dialect_tool
from vaultmem.surfaces.mcp.schemas import one_of_schema, text_schema

if TYPE_CHECKING:
    from vaultmem.vault import Vault

# What each command needs, and what it may have besides.
_COMMANDS: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "view": (("path",), ("view_range",)),
    "create": (("path", "file_text"), ()),
    "str_replace": (("path", "old_str", "new_str"), ()),
    "insert": (("path", "insert_line", "insert_text"), ()),
    "delete": (("path",), ()),
    "rename": (("old_path", "new_path"), ()),
}
_LINE: Final = {"type": "integer"}


def _run_memory_command(vault: Vault, given: Given) -> str:
    command = given["command"]
    needed, optional = _COMMANDS[command]
    given = {"new_str": "", **given} if command == "str_replace" else given
    if missing := [name for name in needed if name not in given]:
        raise InvalidInput(f"The command {command} needs {' and '.join(missing)}.")
    run: Callable[..., str] = getattr(vault.memory_files, command)
    return run(**{name: given[name] for name in (*needed, *optional) if name in given})


TOOL: Final = dialect_tool(
    _run_memory_command,
    "memory",
    "Files under /memories that stay from one conversation to the next. View /memories before "
    "you begin, and keep in it what will matter later: progress, decisions, what you learned.",
    {
        "command": one_of_schema(*_COMMANDS, description="What to do."),
        "path": text_schema("A file or folder, such as /memories/plan.md. Not for rename."),
        "view_range": {
            "type": "array",
            "items": _LINE,
            "description": "For view: the first and the last line to show, -1 for the end.",
        },
        "file_text": text_schema("For create: what the new file holds."),
        "old_str": text_schema("For str_replace: text that stands in the file exactly once."),
        "new_str": text_schema("For str_replace: what comes in its place."),
        "insert_line": {**_LINE, "description": "For insert: the line behind which; 0 is the top."},
        "insert_text": text_schema("For insert: the lines."),
        "old_path": text_schema("For rename: the file or folder."),
        "new_path": text_schema("For rename: its new path, which nothing has."),
    },
    "command",
)


class MemoryToolDialect(Dialect):
    name = "memory-tool"
    server_info: Mapping[str, Any] = {"name": "memory-tool", "version": __version__}
    capabilities: Mapping[str, Any] = {"tools": {"listChanged": False}}
    tools = (TOOL,)

    def success_result(self, tool: DialectTool, value: Any) -> dict[str, Any]:
        return answers.text_result(str(value), is_error=False)

    def failure_result(self, tool: str, error: Exception) -> dict[str, Any]:
        return answers.text_result(explained_failure(error), is_error=True)
