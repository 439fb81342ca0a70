"""One call of a native tool: whether it is served here, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from vaultmem.errors import NotFound, ReadOnly
from vaultmem.limits import bounded_client_name, shown_wrong_value
from vaultmem.notes.masking import without_private
from vaultmem.surfaces import answers, arguments
from vaultmem.surfaces.mcp import tools
from vaultmem.surfaces.mcp.schemas import Tool

if TYPE_CHECKING:
    from vaultmem.operations.caller import Caller
    from vaultmem.vault import Vault


def no_such_tool(name: str) -> str:
    return f"There is no tool {shown_wrong_value(name)}{tools.nearest_tool(name)}"


def checked_call(
    tool: Tool, given: Mapping[str, Any] | None, toolsets: tuple[str, ...], *, read_only: bool
) -> dict[str, Any]:
    """Its arguments; raises what the agent is to be told."""
    _require_served_tool(tool, toolsets, read_only)
    return arguments.checked_arguments(tool.name, tool.schema, given)


def _require_served_tool(tool: Tool, toolsets: tuple[str, ...], read_only: bool) -> None:
    if tool in tools.served_tools(toolsets, read_only=read_only):
        return
    if tool.toolset in toolsets:
        raise ReadOnly(f"This memory is read-only here, so {tool.name} is refused.")
    raise NotFound(
        f"{tool.name} belongs to the toolset {tool.toolset}, which this server was told "
        f"not to serve; it serves {', '.join(toolsets)}."
    )


def answer_of(tool: Tool, vault: Vault, given: Mapping[str, Any]) -> dict[str, Any]:
    return answers.native_answer(tool.run(vault, given), given)


def view_for_client(
    vault: Callable[[], Vault], caller: Callable[[Vault], Caller], client: str, *, read_only: bool
) -> Vault:
    """The vault as the sender of a request may see it."""
    whole = vault()
    who = caller(whole)
    name = who.client or bounded_client_name(without_private(client))
    return whole.for_caller(replace(who, client=name, read_only=read_only or who.read_only))
