from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from vaultmem.surfaces.cli import options, screen

if TYPE_CHECKING:
    from vaultmem.vault import Vault


@click.command()
@click.option("--approve", metavar="ITEM", help="Do what a contradiction on the list proposes.")
@click.option("--dismiss", metavar="ITEM", help="Tick an item: it stays as it is.")
@click.option("--accept", metavar="ITEM", help="Make a memory of what an agent proposed.")
@click.option("--reject", metavar="ITEM", help="Do not, nor when it is proposed again.")
@options.on_vault
def review_command(
    approve: str | None,
    dismiss: str | None,
    accept: str | None,
    reject: str | None,
    call: options.VaultCall,
) -> None:
    """Show memories for you to judge: proposed, contradicting, double and outdated ones.

    With --approve the older of two contradicting memories says that the newer replaced it; it can
    be restored. With --dismiss an item is not proposed again.
    """
    if accept or reject:
        call.ask_vault(
            lambda vault: vault.accept(accept) if accept else vault.reject(str(reject)),
            lambda done: screen.say_line(f"{done.path} is {done.decision}."),
        )
    elif approve:
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
        call.ask_vault(_found, _print_review_items)


def _found(vault: Vault) -> dict[str, Any]:
    return {"items": vault.review_items(), "proposed": vault.proposed()}


def _print_review_items(found: Any) -> None:
    if found["proposed"]:
        rows = [(p.id, " ".join(f"{p.title}: {p.content}".split())) for p in found["proposed"]]
        screen.say_line("Proposed by agents; --accept ITEM or --reject ITEM:")
        screen.print_table(rows, (screen.DIM, {}))
    if found["items"]:
        screen.print_table([(each.item, each.text) for each in found["items"]], (screen.DIM, {}))
    elif not found["proposed"]:
        screen.say_line("Nothing to review.")
