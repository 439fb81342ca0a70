from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from vaultmem.base.line_ends import with_unix_line_ends
from vaultmem.base.own_program import command_to_type
from vaultmem.errors import NotFound
from vaultmem.notes.note import note_bytes
from vaultmem.surfaces import render
from vaultmem.surfaces.cli import options, screen, tab_completion

if TYPE_CHECKING:
    from vaultmem.operations.results import Version, Versions


@click.command()
@click.argument("ref", metavar="ID", shell_complete=tab_completion.titles)
@click.argument("version", required=False)
@click.option("--diff", is_flag=True, help="What changed from then to now.")
@options.on_vault
def history_command(ref: str, version: str | None, diff: bool, call: options.VaultCall) -> None:
    """List a note's versions, newest first, or show the text of one VERSION.

    A version is kept before every change that a command or an agent makes, and for every
    commit where the vault is in git; its first letters are enough to name it.
    `vaultmem restore ID VERSION` brings it back.
    """
    with call.open_vault() as opened:
        versions = opened.history(ref, git=True)
        if version is None and not diff:
            call.print_result(versions, _print_history)
            return
        old = _version_in_history(versions, version)
        text = opened.version_text(versions.memory_id, old.version)
        if diff:
            now = opened.version_text(versions.memory_id, opened.source(versions.memory_id).version)
            text = _history_diff(text, now, old, versions.path)
    if call.as_json:
        name = "diff" if diff else "text"
        click.echo(render.to_json({**render.plain_json(old), "path": versions.path, name: text}))
    elif diff:
        screen.print_diff(text)
    elif screen.is_for_a_person():
        click.echo(screen.safe_for_screen(text.removesuffix("\n")))
    else:
        sys.stdout.buffer.write(note_bytes(text))


def _print_history(versions: Versions) -> None:
    if screen.is_for_a_person():
        click.secho(screen.one_screen_line(versions.path), bold=True)
    rows = [
        (
            version.version[:8] if screen.is_for_a_person() else version.version,
            screen.moment_for_people(version.taken_at),
            _history_entry(version),
            screen.size_for_people(version.size),
        )
        for version in versions.versions
    ]
    screen.print_table(rows, ({"fg": "yellow"}, {}, {}, screen.DIM), indent=2, give=(2,))


def _history_entry(version: Version) -> str:
    said = f"{version.author}: {version.subject}" if version.commit else f"before: {version.action}"
    if version.current:
        return f"as it is now ({said})" if version.commit else "as it is now"
    return said


def _version_in_history(versions: Versions, wanted: str | None) -> Version:
    """The version that begins so; without a name the last one before now."""
    for version in versions.versions:
        if version.version.startswith(wanted.lower()) if wanted else not version.current:
            return version
    if wanted is None:
        raise NotFound(f"There is no earlier version of {versions.path}.")
    raise NotFound(
        f"There is no version {wanted!r} of {versions.path}. "
        f"Its versions: {command_to_type('history')} {versions.memory_id}"
    )


def _history_diff(old: str, new: str, version: Version, path: str) -> str:
    from vaultmem.base.differences.line_difference import unified_difference

    path = screen.one_screen_line(path)
    names = (f"{path} ({version.version[:8]})", f"{path} (now)")
    return "\n".join(unified_difference(_history_lines(old), _history_lines(new), names))


def _history_lines(text: str) -> list[str]:
    return with_unix_line_ends(text).removesuffix("\n").split("\n")
