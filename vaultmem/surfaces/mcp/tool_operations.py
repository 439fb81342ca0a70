"""What the tools do: each turns its arguments into an operation of the vault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from vaultmem.errors import InvalidInput
from vaultmem.notes.note import one_line
from vaultmem.surfaces.mcp.schemas import Arguments

if TYPE_CHECKING:
    from vaultmem.vault import Vault

_PROJECTS, _DESCRIBED = 30, 200  # of a status, and characters of what is said of each
_VERSIONS: Final = "list"


def _tool_arguments(given: Arguments, *names: str) -> dict[str, Any]:
    return {name: given[name] for name in names if name in given}


def _tool_texts(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value or ())


def recall_tool(vault: Vault, given: Arguments) -> Any:
    time_range = given.get("time_range", {})
    names = ("strategy", "limit", "min_importance", "include_forgotten", "project")
    return vault.recall(
        given["query"],
        detail=given.get("detail", "normal"),
        scope=_tool_texts(given.get("scope")),
        type=_tool_texts(given.get("type")),
        tags=tuple(given.get("tags", ())),
        after=time_range.get("after"),
        before=time_range.get("before"),
        **_tool_arguments(given, *names, "max_tokens", "explain"),
    )


def update_tool(vault: Vault, given: Arguments) -> Any:
    tags, entities = given.get("tags", {}), given.get("related_entities", {})
    return vault.update(
        given["memory_id"],
        add_tags=tuple(tags.get("add") or ()),
        remove_tags=tuple(tags.get("remove") or ()),
        add_entities=tuple(entities.get("add") or ()),
        remove_entities=tuple(entities.get("remove") or ()),
        **_tool_arguments(given, "content", "old_text", "new_text", "append", "section"),
        **_tool_arguments(given, "task", "done"),
        **_tool_arguments(given, "importance", "metadata", "expected_version"),
    )


def get_tool(vault: Vault, given: Arguments) -> Any:
    from vaultmem.operations.pages import page_tokens

    if version := given.get("version"):
        if len(given["ids"]) != 1 or "offset" in given:
            raise InvalidInput("version goes with one id, and without offset.")
        (wanted,) = given["ids"]
        if version.strip().casefold() == _VERSIONS:
            return vault.history(wanted, git=True)
        return vault.past(wanted, version)
    return vault.get(**{"max_tokens": page_tokens(len(given["ids"])), **given})


def context_tool(vault: Vault, given: Arguments) -> Any:
    return vault.context(
        given.get("task_description"),
        files=tuple(given.get("files_in_context", ())),
        **_tool_arguments(given, "project", "max_tokens", "sections"),
    )


def status_tool(vault: Vault, given: Arguments) -> Any:
    """The settings are a person's business, and long."""
    every = vault.projects().projects
    most = sorted(every, key=lambda each: -each.memories)[:_PROJECTS]
    most = [replace(each, description=one_line(each.description)[:_DESCRIBED]) for each in most]
    more = len(every) if len(every) > len(most) else None
    return replace(vault.status(), settings=None, projects=tuple(most), projects_total=more)


def graph_tool(vault: Vault, given: Arguments) -> Any:
    wanted = {k: v for k, v in given.items() if k not in ("entity", "max_tokens")}
    return vault.search_graph(given.get("entity"), **wanted)


def list_tool(vault: Vault, given: Arguments) -> Any:
    """With `by` or `since` it is told what happened; notes do not have an order then."""
    if not given.keys() & {"by", "since"}:
        return vault.list(**given)
    known = ("by", "since", "project", "folder", "limit", "offset")
    if other := [name for name in given if name not in known]:
        raise InvalidInput(
            f"by and since tell what happened to memories, and go with project, folder, limit and "
            f"offset only; leave out {', '.join(other)}."
        )
    return vault.activity(**given)


def tool_for_operation(method: str, *first: str) -> Callable[[Vault, Arguments], Any]:
    """A tool whose arguments are the method's: the first by place, the others by name."""

    def run(vault: Vault, given: Arguments) -> Any:
        named = {name: value for name, value in given.items() if name not in first}
        return getattr(vault, method)(*(given[name] for name in first), **named)

    return run
