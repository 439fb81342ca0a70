from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from vaultmem.base.own_program import command_to_type
from vaultmem.clients import catalogue
from vaultmem.errors import InvalidInput
from vaultmem.surfaces import render
from vaultmem.surfaces.cli import options, screen
from vaultmem.surfaces.cli.commands import install

if TYPE_CHECKING:
    from vaultmem.clients.install import ClientChange
    from vaultmem.clients.settings_file import Outcome


@click.command()
@click.argument("client", required=False, shell_complete=install.complete_clients)
@install.instructions
@install.entry_name
@install.file
@install.dry_run
@options.as_json
def uninstall_command(
    client: str | None,
    told: tuple[Path, ...],
    name: str,
    file: Path | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Disconnect a client: take out of its settings what `install` put there, and nothing else.

    A copy that `install` left beside them goes as well, unless it holds something that the
    settings do not. No vault and no note is touched.
    """
    from vaultmem.clients import install as connecting

    files = install.files_of_instructions(told)
    if client is None and not files:
        raise InvalidInput(f"Which client? `{command_to_type('install')}` lists them.")
    if client is None:
        done = connecting.tell_agent(files, None, dry_run=dry_run)
    else:
        place = file and file.absolute()
        known = catalogue.client_named(client)
        done = connecting.uninstall_client(
            known, name=name, file=place, told=files, dry_run=dry_run
        )
    if as_json:
        click.echo(render.to_json(install.client_change_json(done, dry_run)))
        return
    if not done.changed:
        screen.say_line(
            f"vaultmem is not in the settings of {done.client.title}. Nothing was changed."
        )
    else:
        install.show_client_change(done, dry_run, _say_client_uninstalled)
    _say_backups(done, dry_run)
    if done.changed and not dry_run:
        screen.say_line(f"Restart {done.client.title}, if it is running.")


def _say_client_uninstalled(done: ClientChange, outcome: Outcome) -> None:
    if outcome.changed:
        where = f"{outcome.step.what} in {screen.one_screen_line(str(outcome.path))}"
        gone = ", and the file: nothing else was in it" if outcome.after is None else ""
        click.echo(click.style("- ", fg="red") + f"{done.client.title}: {where}{gone}")


def _say_backups(done: ClientChange, dry_run: bool) -> None:
    for backup in (each for outcome in done.outcomes for each in outcome.backups):
        named = screen.one_screen_line(str(backup.path))
        if backup.goes:
            removed = "would be removed" if dry_run else "was removed"
            screen.say_line(f"  The backup {named} {removed}: it is not needed any more.")
        else:
            kept = "would stay" if dry_run else "was kept"
            screen.say_line(f"  The backup {named} {kept}: {backup.needed}.")
