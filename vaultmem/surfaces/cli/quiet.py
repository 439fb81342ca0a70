"""Being quiet: the answer, and nothing beside it unless something is wrong."""

from __future__ import annotations

from typing import Final

import click

_KEY: Final = "vaultmem.quiet"  # among what a click context remembers


def is_quiet() -> bool:
    context = click.get_current_context(silent=True)
    return bool(context and context.meta.get(_KEY))


def _set_quiet(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta[_KEY] = True


quiet_option = click.option(
    "--quiet",
    "-q",
    is_flag=True,
    expose_value=False,
    callback=_set_quiet,
    help="Say nothing beside the answer, unless something is wrong.",
)
