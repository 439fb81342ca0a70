from __future__ import annotations

from typing import Any

import click

from vaultmem.note import printable
from vaultmem.surfaces import render
from vaultmem.surfaces.cli import options

_COLOURS = {"ready": "green", "missing": "yellow", "damaged": "red"}


@click.group()
def command() -> None:
    """The models for searching by meaning: what there is, and how to get another.

    Choose one with the setting `model`, by its name; "off" turns search by meaning off.
    """


@command.command("list")
@options.vault
@options.as_json
def list_(vault: str | None, as_json: bool) -> None:
    """List the models, and those worth a download."""
    with options.open_vault(vault) as opened:
        found = opened.models()
    if as_json:
        click.echo(render.to_json(found))
    else:
        for info in found:
            _print(info)


@command.command()
@click.argument("name")
@options.vault
@options.as_json
def pull(name: str, vault: str | None, as_json: bool) -> None:
    """Download a model of fastembed's catalogue. The only command that goes to a model hub."""
    with options.open_vault(vault) as opened:
        _added(opened.pull_model(name), as_json)


@command.command("import")
@click.argument("folder", metavar="DIR")
@options.vault
@options.as_json
def import_(folder: str, vault: str | None, as_json: bool) -> None:
    """Take in a model from a folder with model.onnx and tokenizer.json."""
    with options.open_vault(vault) as opened:
        _added(opened.import_model(folder), as_json)


def _added(info: Any, as_json: bool) -> None:
    if as_json:
        click.echo(render.to_json(info))
        return
    _print(info)
    click.echo(
        f'Use it with this line in .vaultmem/config.toml: model = "{printable(info.setting)}"'
    )


def _print(info: Any) -> None:
    size = f"{info.dimension} dimensions" if info.dimension else ""
    words = " · ".join(word for word in (info.origin, size) if word)
    click.secho(f"{info.state:8}", fg=_COLOURS.get(info.state), nl=False)
    click.echo(f"{printable(info.setting)}", nl=False)
    click.secho(f"  {printable(info.name)} · {words}", dim=True)
    if info.reason:
        click.echo(f"        {printable(info.reason)}")
