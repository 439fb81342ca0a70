"""The command line. Commands are imported only when they are called."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any, Final

import click

from vaultmem import __version__
from vaultmem.errors import VaultmemError

COMMANDS: Final = {
    "init": "Make a vault, or add to one what it lacks.",
    "show": "Show one note.",
    "doctor": "Find what is wrong with the vault, and what to do about it.",
}


class Commands(click.Group):
    """Knows every command's name and one line about it without importing it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"vaultmem.surfaces.cli.{name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise _with_suggestion(error, args[0]) from None


def _with_suggestion(error: click.UsageError, given: str) -> click.UsageError:
    import difflib

    close = difflib.get_close_matches(given, COMMANDS, n=1)
    if not close:
        return error
    message = f"There is no command {given!r}; did you mean {close[0]!r}?"
    return click.UsageError(message, error.ctx)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="vaultmem", message="%(prog)s %(version)s")
def cli() -> None:
    """Long-term memory for AI agents, kept as plain Markdown notes in your own vault."""


def run() -> None:
    sys.exit(main())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; every failure becomes a sentence on stderr and an exit code."""
    try:
        result = cli.main(arguments, prog_name="vaultmem", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.UsageError as error:
        error.show()
        return 2
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped.", err=True)
        return 3
    except VaultmemError as error:
        click.secho(error.message, err=True, fg="red")
        return error.exit_code
    except BrokenPipeError:
        sys.stderr.close()
        return 0
