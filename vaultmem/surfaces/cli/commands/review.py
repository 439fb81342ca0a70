from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vaultmem.surfaces import render
from vaultmem.surfaces.cli import options, screen

if TYPE_CHECKING:
    from vaultmem.vault import Vault


@click.command()
@click.option("--approve", metavar="ITEM", help="Do what a contradiction on the list proposes.")
@click.option("--dismiss", metavar="ITEM", help="Tick an item: it stays as it is.")
@options.vault
@options.as_json
def review_command(
    approve: str | None, dismiss: str | None, vault: str | None, as_json: bool
) -> None:
    """Show what is yours to judge: contradicting, double and outdated memories.

    With --approve the older of two contradicting memories says that the newer replaced it; it can
    be restored. With --dismiss an item is not proposed again.
    """
    with options.open_vault(vault) as opened:
        if approve:
            done = opened.approve(approve)
            if as_json:
                click.echo(render.to_json(done))
            else:
                screen.say_line(f"{done.path} is replaced by {done.superseded_by}.")
        elif dismiss:
            item = opened.dismiss(dismiss)
            if as_json:
                click.echo(render.to_json({"item": item}))
            else:
                screen.say_line(f"{item} stays as it is.")
        else:
            _print_items(opened, as_json)


def _print_items(opened: Vault, as_json: bool) -> None:
    found = opened.review_items()
    if as_json:
        click.echo(render.to_json({"items": found}))
    elif found:
        screen.print_table([(each.item, each.text) for each in found], (screen.DIM, {}))
    else:
        screen.say_line("Nothing to review.")
