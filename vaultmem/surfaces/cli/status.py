from __future__ import annotations

import click

from vaultmem.service import Status, Vault
from vaultmem.surfaces import render
from vaultmem.surfaces.cli import options


@click.command()
@options.vault
@options.as_json
def command(vault: str | None, as_json: bool) -> None:
    """Show how the vault and its index are."""
    service = Vault.open(vault, strict=False)
    status = service.status()
    if as_json:
        click.echo(render.to_json(render.status(status)))
    else:
        _print(status)


def _print(status: Status) -> None:
    index = status.index
    click.secho(str(status.vault), bold=True)
    click.echo(
        f"Notes      {index.notes} indexed, {index.passages} passages (revision {index.revision})"
    )
    click.echo(
        f"Model      {status.model.name or 'none'}: {status.model.state}"
        + _reason(status.model.reason)
    )
    if status.model.state == "ready":
        left = index.passages - index.embedded
        click.echo(
            f"Vectors    {index.embedded} of {index.passages}" + (f", {left} to go" if left else "")
        )
    if index.fulltext != "ready":
        click.secho(f"Full text  {index.fulltext}", fg="yellow")
    click.echo(f"Following  {status.following}")
    for path, reason in index.skipped[:10]:
        click.secho(f"! {path}: {reason}", fg="yellow")
    if len(index.skipped) > 10:
        click.echo(f"… and {len(index.skipped) - 10} more; vaultmem doctor lists them")
    for problem in status.settings.problems:
        click.secho(problem.message, fg="yellow")


def _reason(reason: str) -> str:
    return f" ({reason})" if reason else ""
