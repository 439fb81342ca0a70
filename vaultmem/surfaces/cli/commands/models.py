from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from vaultmem.notes.note import printable
from vaultmem.surfaces.cli import options, screen
from vaultmem.surfaces.cli.quiet import is_quiet

if TYPE_CHECKING:
    from vaultmem.embedding.models import ModelInfo

_COLOURS = {"ready": "green", "missing": "yellow", "damaged": "red"}


@click.group()
def models_command() -> None:
    """The models for searching by meaning: what there is, and how to get another.

    Choose one with the setting `model`, by its name; "off" turns search by meaning off.
    """


@models_command.command("list")
@options.on_vault
def list_(call: options.VaultCall) -> None:
    """List the models, and those worth a download."""
    call.ask_vault(lambda vault: vault.models(), _print_models, "Looking")


@models_command.command()
@click.argument("name")
@options.on_vault
def pull(name: str, call: options.VaultCall) -> None:
    """Download a model of fastembed's catalogue. The only command that goes to a model hub."""
    if is_quiet() or not sys.stderr.isatty():
        from huggingface_hub.utils.tqdm import disable_progress_bars

        disable_progress_bars()
    call.ask_vault(lambda vault: vault.pull_model(name), _say_model_added)


@models_command.command("import")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False))
@options.on_vault
def import_(folder: str, call: options.VaultCall) -> None:
    """Take in a model from a folder with model.onnx and tokenizer.json."""
    doing = "Copying and trying it"
    call.ask_vault(lambda vault: vault.import_model(folder), _say_model_added, doing)


def _say_model_added(info: ModelInfo) -> None:
    if not is_quiet():
        _print_models([info])
        line = f'model = "{printable(info.setting)}"'
        click.echo(f"Use it with this line in .vaultmem/config.toml: {line}")


def _print_models(models: Sequence[ModelInfo]) -> None:
    if not screen.is_for_a_person():
        screen.print_table(
            [(m.state, m.setting, m.name, _model_words(m), m.reason) for m in models]
        )
        return
    for info in models:
        style: dict[str, Any] = {"fg": _COLOURS.get(info.state)}
        click.secho(f"{info.state:8}", **style, nl=False)
        click.secho(screen.one_screen_line(info.setting), bold=True)
        named = info.name if info.name != info.setting else None
        click.secho(
            screen.wrapped_paragraphs(screen.tag_labels((), named, _model_words(info)), 8), dim=True
        )
        if info.reason:
            click.echo(screen.wrapped_paragraphs(info.reason, 8))


def _model_words(info: ModelInfo) -> str:
    size = f"{info.dimension} dimensions" if info.dimension else None
    return screen.tag_labels((), info.origin, size)
