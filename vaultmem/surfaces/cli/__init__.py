"""The command line. Commands are imported only when they are called."""

from __future__ import annotations

import importlib
import io
import keyword
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from vaultmem import __version__
from vaultmem.base.own_program import command_to_type
from vaultmem.front.asker import columns_of_asker
from vaultmem.surfaces.cli import quiet, tab_completion

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# What a person wants, and the commands for it.
GROUPS: Final = {
    "Begin": {
        "demo": "See in half a minute what vaultmem does.",
        "init": "Make a vault, or add to one what it lacks.",
    },
    "Remember": {
        "add": "Remember something.",
        "today": "Show or add to the daily note of today.",
        "append": "Add text to a note, or to one of its sections.",
        "replace": "Put other words in place of some in a note.",
        "task": "List, add or check the tasks of a note.",
        "edit": "Change a note in your editor.",
        "rename": "Rename a note, and all links to it.",
        "forget": "Forget a memory; it can come back.",
        "restore": "Bring back a forgotten memory, or an earlier version.",
    },
    "Look around": {
        "search": "Find memories.",
        "show": "Show one note.",
        "recent": "Show what was written or changed last.",
        "tags": "List the tags.",
        "projects": "List the projects, and what each is.",
        "history": "List a note's versions, or show one.",
        "timeline": "Show what agents observed, in order.",
        "graph": "Show entities and how they are connected.",
        "facts": "Show what is known about something, now or on an earlier day.",
        "context": "Print what an agent should know before a task.",
        "look": "Open the web page: see, correct and undo what agents remember.",
    },
    "Connect": {
        "install": "Connect a client: Claude, Cursor, VS Code, Codex and others.",
        "uninstall": "Disconnect a client.",
        "serve": "Serve the vault to agents over MCP.",
        "path": "Have your shell find vaultmem by its name.",
        "hook": "Answer an agent's life-cycle event.",
    },
    "Look after": {
        "index": "Bring the index up to date now.",
        "sync": "Share the vault through git: commit, merge, push.",
        "conflicts": "Show notes that two machines changed differently.",
        "resolve": "Settle a conflict: keep ours, theirs or both.",
        "consolidate": "Put what belongs together into fewer, clearer memories.",
        "review": "Show memories for you to judge.",
        "status": "Show how the vault and its index are.",
        "engine": "See or stop the process that serves all windows.",
        "doctor": "Find what is wrong with the vault, and what to do about it.",
        "models": "Embedding models: list, fetch, take from a folder.",
        "completion": "Teach your shell to complete commands, titles and tags.",
    },
    "Move": {
        "import": "Make notes of what another system keeps.",
        "export": "Write your notes to one file: JSON lines, or a zip.",
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
        module = importlib.import_module(
            f"vaultmem.surfaces.cli.commands.{_module_of_command(name)}"
        )
        command: click.Command = getattr(module, _module_of_command(name).strip("_") + "_command")
        _offer_quiet(command)
        return command

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:{_COLUMN}}", line) for name, line in commands.items()])
        click.Command.format_options(self, ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        formatter.write(f"More about a command: {command_to_type('COMMAND --help')}\n")

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        names = ((n, line) for n, line in COMMANDS.items() if n.startswith(incomplete))
        items = [CompletionItem(name, help=line) for name, line in names]
        return items + click.Command.shell_complete(self, ctx, incomplete)

    def complete_for_a_shell(self) -> None:
        """Answer a shell that asks what may come next, and end; where none asks, go on."""
        self._main_shell_completion({}, "vaultmem", tab_completion.VARIABLE)


def _module_of_command(name: str) -> str:
    """A command's module has its name, or one behind it where Python has taken the word."""
    return name.replace("-", "_") + ("_" if keyword.iskeyword(name) else "")


def _offer_quiet(command: click.Command) -> None:
    """Every command can be asked to be quiet, the commands of a group as well."""
    if isinstance(command, click.Group):
        for each in command.commands.values():
            _offer_quiet(each)
    elif not command.hidden and not any("-q" in each.opts for each in command.params):
        quiet.quiet_option(command)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("--vault", metavar="DIR", type=click.Path(file_okay=False), help="The vault.")
@quiet.quiet_option
@click.version_option(__version__, prog_name="vaultmem", message="%(prog)s %(version)s")
def cli(vault: str | None) -> None:
    """Long-term memory for AI agents, kept as plain Markdown notes in your own vault."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; every failure becomes a sentence on stderr and an exit code."""
    try:
        _make_cli_speak_utf8()
        cli.complete_for_a_shell()
        given = list(sys.argv[1:] if arguments is None else arguments)
        columns = columns_of_asker()
        wide = max(36, columns - 2) if columns < 52 else None  # with so few click gives up
        colour = _click_colour()
        with cli.make_context("vaultmem", given, color=colour, terminal_width=wide) as context:
            result = cli.invoke(context)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as done:
        return done.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped.", err=True)
        return 3
    except Exception as error:  # the edge: no stack of calls reaches a person
        from vaultmem.surfaces.cli import error_messages

        return error_messages.answer_error(error, _click_colour())


def _click_colour() -> bool | None:
    """Colours are for terminals, and for those who have not said no."""
    if not (sys.stdout.isatty() or sys.stderr.isatty()):
        return None
    from vaultmem import config

    return False if config.is_colour_refused() else None


def _make_cli_speak_utf8() -> None:
    """What a terminal or pipe cannot show becomes a question mark, never an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            encoding = stream.encoding if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="replace")
