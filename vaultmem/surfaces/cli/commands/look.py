from __future__ import annotations

import sys
import threading
import webbrowser
from typing import Any

import click

from vaultmem import config
from vaultmem.front.asker import environment
from vaultmem.surfaces.cli import options, screen


@click.command()
@click.option("--no-browser", is_flag=True, help="Print the link, and open no browser.")
@click.option("--http", "address", metavar="HOST:PORT", help="Where; by default any free port.")
@click.option("--read-only", is_flag=True, help="Show everything, change nothing.")
@options.vault
def look_command(no_browser: bool, address: str | None, read_only: bool, vault: str | None) -> None:
    """Open the web page of the vault: what agents remember, to be seen, corrected and undone.

    The page is served on this machine until you press Ctrl-C. One that is served already is
    opened again.
    """
    from vaultmem.surfaces.http import page_link

    root = config.find_vault(vault)
    if not (address or read_only) and (link := page_link.running_page(root)):
        _show(link, no_browser=no_browser)
        return
    from vaultmem.surfaces import serving
    from vaultmem.surfaces.cli.commands import serve
    from vaultmem.surfaces.cli.serve_options import given_to_serve

    asked = ["--vault", str(root), *(["--read-only"] if read_only else [])]
    given: dict[str, Any] = given_to_serve(asked)
    prepared = serving.prepared_serving(root, given, None, at_once=True)
    serve.Served(prepared, address or "127.0.0.1:0").serve_page(
        lambda link: _show(link, no_browser=no_browser)
    )


def _show(link: str, *, no_browser: bool) -> None:
    click.echo(link)
    sys.stdout.flush()
    if not no_browser and _has_screen():
        threading.Thread(target=_open_browser, args=[link], daemon=True).start()


def _open_browser(link: str) -> None:
    try:
        opened = webbrowser.open(link)
    except webbrowser.Error:
        opened = False
    if not opened:
        screen.say_line("No browser could be opened; open the link yourself.")


def _has_screen() -> bool:
    """A browser in the terminal would only be in the way."""
    if sys.platform in ("darwin", "win32"):
        return True
    return any(environment().get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
