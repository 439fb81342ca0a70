from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from vaultmem.errors import NotFound
from vaultmem.note import encode
from vaultmem.surfaces import render
from vaultmem.surfaces.cli import completing, look, options

if TYPE_CHECKING:
    from vaultmem.views import Version, Versions


@click.command()
@click.argument("ref", metavar="ID", shell_complete=completing.titles)
@click.argument("version", required=False)
@click.option("--diff", is_flag=True, help="What changed from then to now.")
@options.vault
@options.as_json
def command(ref: str, version: str | None, diff: bool, vault: str | None, as_json: bool) -> None:
    """List a note's versions, newest first, or show the text of one VERSION.

    A version is kept before every change that a command or an agent makes, and for every
    commit where the vault is in git; its first letters are enough to name it.
    `vaultmem restore ID VERSION` brings it back.
    """
    with options.open_vault(vault) as opened:
        versions = opened.history(ref, git=True)
        if version is None and not diff:
            click.echo(render.to_json(versions)) if as_json else _list(versions)
            return
        old = _find(versions, version)
        text = opened.version_text(versions.memory_id, old.version)
        if diff:
            text = _diff(text, opened.source(versions.memory_id).text, old, versions.path)
    if as_json:
        name = "diff" if diff else "text"
        click.echo(render.to_json({**render.plain(old), "path": versions.path, name: text}))
    elif diff:
        look.diff(text)
    elif look.for_a_person():
        click.echo(look.safe(text.removesuffix("\n")))
    else:
        sys.stdout.buffer.write(encode(text))


def _list(versions: Versions) -> None:
    if look.for_a_person():
        click.secho(look.one_line(versions.path), bold=True)
    rows = [
        (
            _short(version.version),
            look.when(version.taken_at),
            _said(version),
            look.size(version.size),
        )
        for version in versions.versions
    ]
    look.table(rows, ({"fg": "yellow"}, {}, {}, look.DIM), indent=2, give=(2,))


def _said(version: Version) -> str:
    said = f"{version.author}: {version.subject}" if version.commit else f"before: {version.action}"
    if version.current:
        return f"as it is now ({said})" if version.commit else "as it is now"
    return said


def _short(version: str) -> str:
    return version[:8] if look.for_a_person() else version


def _find(versions: Versions, wanted: str | None) -> Version:
    """The version that begins so; without a name the last one before now."""
    for version in versions.versions:
        if version.version.startswith(wanted.lower()) if wanted else not version.current:
            return version
    if wanted is None:
        raise NotFound(f"There is no earlier version of {versions.path}.")
    raise NotFound(
        f"There is no version {wanted!r} of {versions.path}. "
        f"Its versions: vaultmem history {versions.memory_id}"
    )


def _diff(old: str, new: str, version: Version, path: str) -> str:
    import difflib

    names = (f"{path} ({version.version[:8]})", f"{path} (now)")
    lines = difflib.unified_diff(_lines(old), _lines(new), *names, lineterm="")
    return "\n".join(lines)


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n")
