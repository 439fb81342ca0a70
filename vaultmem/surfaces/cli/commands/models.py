from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from vaultmem.base.own_program import command_to_type, shell_line
from vaultmem.notes.note import printable
from vaultmem.surfaces.cli import options, screen
from vaultmem.surfaces.cli.quiet import is_quiet

if TYPE_CHECKING:
    from vaultmem.embedding.models import ModelInfo
    from vaultmem.upkeep.maintenance import UsedModel

_COLOURS = {"ready": "green", "missing": "yellow", "damaged": "red"}


@click.group()
def models_command() -> None:
    """The models for searching by meaning: what there is, which is used, how to get another."""


@models_command.command("list")
@options.on_vault
def list_(call: options.VaultCall) -> None:
    """List the models, and those worth a download."""
    call.ask_vault(lambda vault: vault.models(), _print_models, "Looking")


@models_command.command()
@click.argument("name", metavar="english|multilingual|off|NAME")
@click.option("--wait", is_flag=True, help="Wait until every passage has a vector of it.")
@options.on_vault
def use(name: str, wait: bool, call: options.VaultCall) -> None:
    """Search this vault by another model; `multilingual` is installed first.

    The setting `model` is written into .vaultmem/config.toml. A running server follows, and makes
    the vectors in the background; words are searched all the while. Vectors of the model before
    stay, so going back costs nothing.
    """
    with call.open_vault() as opened:
        with options.progress(f"Preparing {name}"):
            used = opened.use_model(name)
        if wait and used.pending:
            with options.progress("Vectors") as shown:
                opened.index_now()
                opened.embed_all(shown)
            used.pending = 0
    call.print_result(used, lambda it: _say_model_used(it, call.vault))


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


def _say_model_used(used: UsedModel, vault: str | None) -> None:
    if is_quiet():
        return
    if used.state != "ready":
        screen.say_line("Searched by words alone from now on.")
        return
    got = "It is installed, and searches" if used.installed else "It searches"
    screen.say_line(
        f"{got} by meaning {'from now on' if used.changed else 'already'}: {used.model}"
    )
    if used.pending:
        waiting = screen.number_on_screen(used.pending, "passage")
        on = f" {shell_line(['--vault', vault])}" if vault else ""
        how = (
            "the running server makes them"
            if used.followed
            else command_to_type(f"index --vectors{on}")
        )
        screen.say_line(f"{waiting} to go until meaning knows all of it: {how}", dim=True)


def _say_model_added(info: ModelInfo) -> None:
    if not is_quiet():
        _print_models([info])
        use = command_to_type(f"models use {shell_line([printable(info.setting)])}")
        click.echo(f"Use it: {use}")


def _print_models(models: Sequence[ModelInfo]) -> None:
    if not screen.is_for_a_person():
        screen.print_table(
            [(_model_state(m), m.setting, m.name, _model_words(m), m.reason) for m in models]
        )
        return
    for info in models:
        style: dict[str, Any] = {"fg": _COLOURS.get(info.state)}
        click.secho(f"{info.state:8}", **style, nl=False)
        click.secho(screen.one_screen_line(info.setting), bold=True, nl=not info.in_use)
        if info.in_use:
            click.secho("  in use", fg="green")
        named = info.name if info.name != info.setting else None
        click.secho(
            screen.wrapped_paragraphs(screen.tag_labels((), named, _model_words(info)), 8), dim=True
        )
        if info.reason:
            click.echo(screen.wrapped_paragraphs(info.reason, 8))


def _model_state(info: ModelInfo) -> str:
    return "in use" if info.in_use else info.state


def _model_words(info: ModelInfo) -> str:
    size = f"{info.dimension} dimensions" if info.dimension else None
    return screen.tag_labels((), info.origin, size)
