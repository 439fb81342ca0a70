from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from vaultmem.clients import catalogue
from vaultmem.surfaces import render
from vaultmem.surfaces.cli import options, screen
from vaultmem.surfaces.cli.commands import install

if TYPE_CHECKING:
    from vaultmem.clients.install import ClientChange
    from vaultmem.clients.settings_file import Outcome


@click.command()
@click.argument("client", shell_complete=install.complete_clients)
@install.file
@install.dry_run
@options.as_json
def uninstall_command(client: str, file: Path | None, dry_run: bool, as_json: bool) -> None:
    """Disconnect a client: take out of its settings what `install` put there, and nothing else.

    No vault and no note is touched.
    """
    from vaultmem.clients import install as connecting

    done = connecting.uninstall_client(
        catalogue.client_named(client), file=file and file.absolute(), dry_run=dry_run
    )
    if as_json:
        click.echo(render.to_json(install.client_change_json(done, dry_run)))
        return
    if not done.changed:
        screen.say_line(
            f"vaultmem is not in the settings of {done.client.title}. Nothing was changed."
        )
        return
    install.show_client_change(done, dry_run, _say_client_uninstalled)
    if not dry_run:
        screen.say_line(f"Restart {done.client.title}, if it is running.")


def _say_client_uninstalled(done: ClientChange, outcome: Outcome) -> None:
    if outcome.changed:
        where = f"{outcome.step.what} in {screen.one_screen_line(str(outcome.path))}"
        gone = ", and the file: nothing else was in it" if outcome.after is None else ""
        click.echo(click.style("- ", fg="red") + f"{done.client.title}: {where}{gone}")
