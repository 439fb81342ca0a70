from __future__ import annotations

from typing import Any

import click

from vaultmem.surfaces.cli import options, screen


@click.command()
@click.option("--approve", metavar="ITEM", help="Do what a contradiction on the list proposes.")
@click.option("--dismiss", metavar="ITEM", help="Tick an item: it stays as it is.")
@options.on_vault
def review_command(approve: str | None, dismiss: str | None, call: options.VaultCall) -> None:
    """Show memories for you to judge: contradicting, double and outdated ones.

    With --approve the older of two contradicting memories says that the newer replaced it; it can
    be restored. With --dismiss an item is not proposed again.
    """
    if approve:
        call.ask_vault(
            lambda vault: vault.approve(approve),
            lambda done: screen.say_line(f"{done.path} is replaced by {done.superseded_by}."),
        )
    elif dismiss:
        call.ask_vault(
            lambda vault: {"item": vault.dismiss(dismiss)},
            lambda done: screen.say_line(f"{done['item']} stays as it is."),
        )
    else:
        call.ask_vault(lambda vault: {"items": vault.review_items()}, _print_review_items)


def _print_review_items(found: Any) -> None:
    if found["items"]:
        screen.print_table([(each.item, each.text) for each in found["items"]], (screen.DIM, {}))
    else:
        screen.say_line("Nothing to review.")
