from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from vaultmem.errors import InvalidInput
from vaultmem.surfaces.cli import options, screen
from vaultmem.transfer import TARGETS

if TYPE_CHECKING:
    from vaultmem.transfer.exporting import Exported


@click.command()
@click.argument("target", metavar="TO", type=click.Choice(list(TARGETS)))
@click.argument("path", metavar="PATH", type=click.Path(allow_dash=True))
@click.option("--project", metavar="NAME", help="Only this project's notes.")
@click.option("--type", metavar="TYPE", help="Only notes of this type.")
@click.option("--scope", metavar="SCOPE", help="Only user or only project notes.")
@click.option("--tag", metavar="TAG", help="Only notes with this tag.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@options.on_vault
def export_command(
    target: str, path: str, force: bool, call: options.VaultCall, **wanted: Any
) -> None:
    """Write your notes to one file.

    TO is jsonl, a line of JSON for each note (PATH - for standard output), zip, the files
    themselves: unpacked, they are a vault, or okf, a bundle in the Open Knowledge Format.

    \b
    vaultmem export zip ~/Backup/memory.zip
    vaultmem export jsonl - --project Atlas | jq .title
    """
    with call.open_vault() as opened:
        if path == "-":
            if target != "jsonl" or call.as_json:
                raise InvalidInput("Only jsonl can go to standard output, and without --json.")
            for line in opened.export_lines(**wanted):
                sys.stdout.write(line + "\n")
            return
        with options.progress("Exporting") as shown:
            done = opened.export(target, path, **wanted, force=force, progress=shown)
    call.print_result(done, _print_export)


def _print_export(done: Exported) -> None:
    files = f" and {screen.number_on_screen(done.files, 'file')}" if done.files else ""
    notes, size = screen.number_on_screen(done.notes, "note"), screen.size_for_people(done.size)
    click.echo(f"{notes}{files} in {done.path} ({size})")
    for left in done.left_out[:10]:
        screen.say_line(screen.one_screen_line(f"! {left.what}: {left.why}"), fg="yellow")
    screen.print_warnings(done.warnings)
