"""What `serve` can be told, for the command and for the engine that serves in its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import click

from vaultmem.surfaces import dialects
from vaultmem.surfaces.cli import new_vault, options, tab_completion

T = TypeVar("T", bound=Callable[..., Any])

_OPTIONS: Final[Sequence[Callable[..., Any]]] = (
    click.option(
        "--http", "address", metavar="HOST:PORT", help="Serve HTTP: MCP at /mcp, and REST."
    ),
    click.option(
        "--read-only", is_flag=True, help="Offer no writing tools, and refuse every write."
    ),
    click.option(
        "--toolsets",
        metavar="A,B",
        help="Only these groups of tools: core, graph, session, curate.",
    ),
    click.option(
        "--dialect",
        default=dialects.NATIVE,
        show_default=True,
        metavar="NAME",
        shell_complete=tab_completion.complete_one_of(*dialects.ALL),
        help=f"Speak as another system does: {', '.join(dialects.NAMES)}.",
    ),
    click.option("--user", help="Only this user's notes, and notes without a user."),
    click.option(
        "--project",
        shell_complete=tab_completion.projects,
        help="Only this project's notes, and notes without a project.",
    ),
    click.option("--session", help="The session's id; else the client's, else a new one."),
    click.option("--palace", help="The project that calls of the dialect trusty mean by default."),
    click.option("--token-file", metavar="FILE", help="The tokens that HTTP clients must show."),
    click.option("--no-watch", is_flag=True, help="Do not follow edits made outside."),
    click.option(
        "--log-level",
        type=click.Choice(["debug", "info", "warning", "error"]),
        help="What is said on stderr; by default warnings and errors.",
    ),
    new_vault.create_option,
    options.vault_to_make,
)


def serve_options(command: T) -> T:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command()
@serve_options
def _nothing(**given: Any) -> None:
    """Only its options are of interest."""


def given_to_serve(arguments: Sequence[str]) -> dict[str, Any]:
    """Raises click.UsageError for what `serve` would refuse."""
    with _nothing.make_context("serve", list(arguments)) as context:
        return dict(context.params)
