from __future__ import annotations

import click


@click.command(context_settings={"ignore_unknown_options": True}, hidden=True)
@click.argument("files", nargs=-1, metavar="BASE OURS THEIRS [MARKER-SIZE] [PATH]")
def merge_driver_command(files: tuple[str, ...]) -> int:
    """Merge two versions of a note; git calls this (see vaultmem init --git)."""
    from vaultmem.git import driver

    return driver.run_merge_driver(files)
