"""Options that several commands share."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from vaultmem.reader import Reader
    from vaultmem.service import Vault

vault = click.option(
    "--vault", metavar="DIR", help="The vault; else $VAULTMEM_VAULT, else the nearest one above."
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


def open_vault(folder: str | None, *, strict: bool = True) -> Vault:
    from vaultmem.service import Vault

    return Vault.open(folder, strict=strict)


def open_reader(folder: str | None, *, strict: bool = True) -> Reader:
    """For commands that only look: nothing else is loaded, so they answer sooner."""
    from vaultmem.reader import Reader

    return Reader.open(folder, strict=strict)


@contextlib.contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar with the time left, on a terminal only."""
    if not sys.stderr.isatty():
        yield None
        return
    bar: click._termui_impl.ProgressBar[int] | None = None

    def show(done: int, total: int) -> None:
        nonlocal bar
        if bar is None:
            bar = click.progressbar(length=total, label=what, file=sys.stderr)
            bar.__enter__()
        bar.update(done - bar.pos)

    yield show
    if bar is not None:
        bar.render_finish()
