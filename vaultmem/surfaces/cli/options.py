"""Options that several commands share."""

from __future__ import annotations

import click

vault = click.option(
    "--vault", metavar="DIR", help="The vault; else $VAULTMEM_VAULT, else the nearest one above."
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
