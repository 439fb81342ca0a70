from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from vaultmem.base.own_program import PROGRAM, command_to_type
from vaultmem.clients import catalogue
from vaultmem.errors import InvalidInput
from vaultmem.limits import shown_wrong_value
from vaultmem.surfaces import render
from vaultmem.surfaces.cli import new_vault, options, screen, tab_completion

if TYPE_CHECKING:
    from vaultmem.clients.install import ClientChange, ClientState
    from vaultmem.clients.settings_file import Outcome

_ENTRY_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,40}")
_STATES = {
    "connected": "connected",
    "here": "not connected",
    "absent": "not found here",
    "unreadable": "cannot be read",
}


def _checked_entry_name(context: click.Context, option: click.Parameter, given: str) -> str:
    if not _ENTRY_NAME.fullmatch(given):
        raise InvalidInput(
            f"{shown_wrong_value(given)} cannot be the name of an entry: letters, digits, - and _ "
            "make one, 40 at most."
        )
    return given


complete_clients = tab_completion.complete_one_of(*catalogue.CLIENTS)
file = click.option(
    "--config",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Another settings file of that client: of a project, a profile, a preview version.",
)
entry_name = click.option(
    "--name",
    default=PROGRAM,
    callback=_checked_entry_name,
    help="The entry's name, where a client has several vaults: `--name work`.",
)
instructions = click.option(
    "--instructions",
    "told",
    metavar="FILE",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file that the agent reads at its start (AGENTS.md, CLAUDE.md, .cursor/rules/memory.mdc): "
    "one marked block in it says how to use the memory.",
)
dry_run = click.option(
    "--dry-run", is_flag=True, help="Show what would change, and change nothing."
)


@click.command()
@click.argument("client", required=False, shell_complete=complete_clients)
@options.vault_by_name
@click.option("--read-only", is_flag=True, help="The agent may read, never write.")
@click.option(
    "--project",
    default="",
    shell_complete=tab_completion.projects,
    help="Only this project's notes, and notes without a project.",
)
@click.option(
    "--toolsets",
    default="",
    metavar="A,B",
    help="Only these groups of tools: core, graph, session, curate.",
)
@click.option(
    "--hooks/--no-hooks",
    default=None,
    help="Claude Code: put memories before the agent, and keep a journal. On by default.",
)
@instructions
@entry_name
@file
@new_vault.create_option
@dry_run
@options.as_json
def install_command(
    client: str | None,
    vault: str | None,
    read_only: bool,
    project: str,
    toolsets: str,
    hooks: bool | None,
    told: tuple[Path, ...],
    name: str,
    file: Path | None,
    create: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Connect a client to the vault; without a client, list them.

    Clients: claude-code, claude-desktop, cursor, vscode, codex, gemini, windsurf, zed. The
    client's settings get an entry for this vault and keep everything else as it is, to the
    byte; the file as it was is kept beside it. `vaultmem uninstall CLIENT` takes it out again.
    """
    from vaultmem.clients import install
    from vaultmem.clients.our_entry import EntryOptions

    if client is None and not told:
        _list_clients_to_install(install.clients_overview(), as_json)
        return
    chosen = catalogue.client_named(client) if client else None
    root, missing = new_vault.vault_or_new(vault, create=create)
    files = files_of_instructions(told)
    if chosen is None:
        done = install.tell_agent(files, root, dry_run=dry_run)
    else:
        narrowed = (read_only, project.strip(), _toolsets_to_install(toolsets))
        wanted = EntryOptions(root, *narrowed, name)
        place = file and file.absolute()
        done = install.install_client(
            chosen, wanted, file=place, hooks=hooks, told=files, dry_run=dry_run
        )
    if missing and not dry_run:
        new_vault.make_new_vault(root)
    screen.print_warnings(_faults_in_settings_to_install(root))
    if as_json:
        click.echo(render.to_json(client_change_json(done, dry_run)))
        return
    show_client_change(done, dry_run, _say_client_installed)
    if done.changed and not dry_run:
        screen.say_line(done.client.then)
        _say_shorter_command()


def files_of_instructions(told: Sequence[Path]) -> list[Path]:
    return [path.expanduser().absolute() for path in told]


def _faults_in_settings_to_install(root: Path) -> list[str]:
    """The entry is right all the same, but its server would refuse every call."""
    from vaultmem import config

    return [f"{each.message} {each.advice}" for each in config.load(root).problems]


def _say_shorter_command() -> None:
    if (typed := command_to_type()) != PROGRAM:
        screen.say_line(f"To type {PROGRAM} alone from now on: {typed} path", **screen.DIM)


def _toolsets_to_install(given: str) -> str:
    from vaultmem.surfaces.mcp import tools

    return ",".join(tools.parse_toolsets(given)) if given.strip() else ""


def _list_clients_to_install(states: list[ClientState], as_json: bool) -> None:
    if as_json:
        click.echo(render.to_json({"clients": states}))
        return
    rows = [(s.client, _STATES[s.state], _vaults_of_client(s) or s.file) for s in states]
    screen.print_table(rows, (screen.BOLD, {}, screen.DIM), give=(2,))
    for state in states:
        if state.problem:
            screen.say_line(screen.safe_for_screen(state.problem), fg="yellow")
    screen.say_line(f"Connect one with: {command_to_type('install')} CLIENT --vault DIR")


def _vaults_of_client(state: ClientState) -> str:
    own = [f"vault {state.vault}"] if state.vault else []
    return ", ".join(own + [f"{name}: {vault}" for name, vault in state.more.items()])


# --- what was done -------------------------------------------------------------------------


def show_client_change(
    done: ClientChange, dry_run: bool, say: Callable[[ClientChange, Outcome], None]
) -> None:
    """The difference in a dry run; else what was done to each file."""
    for outcome in done.outcomes:
        if dry_run:
            screen.print_diff(outcome.diff)
        else:
            say(done, outcome)
        if outcome.backup:
            screen.say_line(
                f"  The file as it was: {screen.one_screen_line(str(outcome.backup))}", **screen.DIM
            )
    screen.print_warnings(done.notes)
    if dry_run:
        changes = "This would be changed; nothing was." if done.changed else "Nothing would change."
        screen.say_line(changes)


def _say_client_installed(done: ClientChange, outcome: Outcome) -> None:
    where = f"{outcome.step.what} in {screen.one_screen_line(str(outcome.path))}"
    if outcome.changed:
        click.echo(click.style("+ ", fg="green") + f"{done.client.title}: {where}")
    else:
        click.echo(f"= {done.client.title}: {where}, already there")


def client_change_json(done: ClientChange, dry_run: bool) -> dict[str, object]:
    return {
        "client": done.client.name,
        "dry_run": dry_run,
        "changed": done.changed,
        "files": [
            {
                "what": outcome.step.what,
                "path": str(outcome.path),
                "changed": outcome.changed,
                "backup": str(outcome.backup) if outcome.backup else None,
                "diff": outcome.diff,
                "backups": [
                    {"path": str(each.path), "removed": each.goes, "kept_because": each.needed}
                    for each in outcome.backups
                ],
            }
            for outcome in done.outcomes
        ],
        "notes": list(done.notes),
        "next": done.client.then,
    }
