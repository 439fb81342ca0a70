"""The command line. Commands are imported only when they are called."""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import Any, Final

import click

from vaultmem import __version__
from vaultmem.errors import VaultmemError

# What a person wants, and the commands for it.
GROUPS: Final = {
    "Remember": {
        "add": "Remember something.",
        "edit": "Change a note in your editor.",
        "forget": "Forget a memory; it can come back.",
        "restore": "Bring back a forgotten memory, or an earlier version.",
    },
    "Look around": {
        "search": "Find memories.",
        "show": "Show one note.",
        "recent": "Show what was written or changed last.",
        "tags": "List the tags.",
        "history": "List a note's versions, or show one.",
        "timeline": "Show what agents observed, in order.",
        "graph": "Show entities and how they are connected.",
        "facts": "Show what is known about something, now or on an earlier day.",
        "context": "Print what an agent should know before a task.",
    },
    "Connect": {
        "serve": "Serve the vault to agents over MCP.",
        "hook": "Answer an agent's life-cycle event.",
    },
    "Look after": {
        "init": "Make a vault, or add to one what it lacks.",
        "index": "Bring the index up to date now.",
        "sync": "Share the vault through git: commit, merge, push.",
        "conflicts": "Show what two sides could not agree on.",
        "resolve": "Settle a conflict: keep ours, theirs or both.",
        "consolidate": "Draw what belongs together into fewer, clearer memories.",
        "status": "Show how the vault and its index are.",
        "doctor": "Find what is wrong with the vault, and what to do about it.",
        "models": "Embedding models: list, fetch, take from a folder.",
    },
}
COMMANDS: Final = {name: line for group in GROUPS.values() for name, line in group.items()}
HIDDEN: Final = ("merge-driver",)  # called by git, not by people
_COLUMN: Final = max(map(len, COMMANDS))


class Commands(click.Group):
    """Knows every command's name and one line about it without importing it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS and name not in HIDDEN:
            return None
        module = importlib.import_module(f"vaultmem.surfaces.cli.{name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:{_COLUMN}}", line) for name, line in commands.items()])

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


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="More about a command: vaultmem COMMAND --help",
)
@click.version_option(__version__, prog_name="vaultmem", message="%(prog)s %(version)s")
def cli() -> None:
    """Long-term memory for AI agents, kept as plain Markdown notes in your own vault."""


def run() -> None:
    sys.exit(main())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; every failure becomes a sentence on stderr and an exit code."""
    try:
        given = list(sys.argv[1:] if arguments is None else arguments)
        _speak_utf8()
        with cli.make_context("vaultmem", given, color=_colour()) as context:
            result = cli.invoke(context)
        sys.stdout.flush()
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
        _say_why(error)
        return error.exit_code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads on
        return 0
    except OSError as error:
        click.echo(f"The answer could not be written: {error.strerror}.", err=True)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 3


def _say_why(error: VaultmemError) -> None:
    from vaultmem.surfaces.cli import look

    look.say(look.safe(error.message), fg="red", color=_colour())


def _colour() -> bool | None:
    """Colours are for terminals, and for those who have not said no."""
    if not (sys.stdout.isatty() or sys.stderr.isatty()):
        return None
    from vaultmem import config

    return False if config.no_colour() else None


def _speak_utf8() -> None:
    """What a terminal or pipe cannot show becomes a question mark, never an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            encoding = stream.encoding if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="replace")
