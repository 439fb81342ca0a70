from __future__ import annotations

import sys
from typing import TYPE_CHECKING

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
@click.option("--type", "type_", metavar="TYPE", help="Only notes of this type.")
@click.option("--scope", metavar="SCOPE", help="Only user or only project notes.")
@click.option("--tag", metavar="TAG", help="Only notes with this tag.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@options.vault
@options.as_json
def export_command(
    target: str,
    path: str,
    project: str | None,
    type_: str | None,
    scope: str | None,
    tag: str | None,
    force: bool,
    vault: str | None,
    as_json: bool,
) -> None:
    """Write your notes to one file.

    TO is jsonl, a line of JSON for each note (PATH - for standard output), or zip, the files
    themselves: unpacked, they are a vault.

    \b
    vaultmem export zip ~/Backup/memory.zip
    vaultmem export jsonl - --project Atlas | jq .title
    """
    with options.open_vault(vault) as opened:
        if path == "-":
            if target != "jsonl" or as_json:
                raise InvalidInput("Only jsonl can go to standard output, and without --json.")
            for line in opened.export_lines(project=project, type=type_, scope=scope, tag=tag):
                sys.stdout.write(line + "\n")
            return
        with options.progress("Exporting") as shown:
            done = opened.export(
                target,
                path,
                project=project,
                type=type_,
                scope=scope,
                tag=tag,
                force=force,
                progress=shown,
            )
    screen.print_result(done, as_json, _print_export)


def _print_export(done: Exported) -> None:
    files = f" and {screen.counted_words(done.files, 'file')}" if done.files else ""
    click.echo(
        f"{screen.counted_words(done.notes, 'note')}{files} in {done.path} ({screen.size_for_people(done.size)})"
    )
    for left in done.left_out[:10]:
        screen.say_line(screen.one_screen_line(f"! {left.what}: {left.why}"), fg="yellow")
    screen.print_warnings(done.warnings)
