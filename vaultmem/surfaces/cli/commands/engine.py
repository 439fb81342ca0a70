from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

import click

from vaultmem import config
from vaultmem.base.system_calls import allow_many_open_files, share_memory_of_threads
from vaultmem.errors import Unavailable
from vaultmem.front import engine_call, plain_json
from vaultmem.front.asker import environment
from vaultmem.front.engine_place import LOOPBACK, SWITCH, EnginePlace, NoPlace, engine_place
from vaultmem.surfaces.cli import options, screen

_SECONDS = 20.0  # until an engine that was asked to stop serves nobody
_LATE = {
    "status": "The engine does not answer; its windows go on without it.",
    "stop": "The engine was told to stop, and still has something to bring to its end.",
}


@click.group("engine")
def engine_command() -> None:
    """See or stop the one process that serves all windows of a vault."""


@engine_command.command("status")
@options.vault
@options.as_json
def engine_status(vault: str | None, as_json: bool) -> None:
    """Show whether an engine runs, and who is connected to it."""
    told = _asked_of_engine("status", _place(vault))
    problems = config.load(config.find_vault(vault)).problems
    screen.print_warnings(f"{each.message} {each.advice}" for each in problems)
    if as_json:
        click.echo(plain_json.written(told))
    elif told is None:
        click.echo("No engine runs for this vault; the next window starts one.")
    else:
        _show(told)


@engine_command.command("stop")
@options.vault
def engine_stop(vault: str | None) -> None:
    """Stop it; windows that are open start another one when they need it."""
    told = _asked_of_engine("stop", _place(vault))
    click.echo("No engine runs for this vault." if told is None else "Stopped.")


@engine_command.command("run", hidden=True)
@options.vault
@click.option("--name")
@click.option("--dialect", default="")
@click.option("--loopback", is_flag=True)
def engine_run(vault: str | None, name: str | None, dialect: str, loopback: bool) -> None:
    """Be the engine of a vault, as a window starts it."""
    from vaultmem.surfaces.engine.process import Engine

    root = config.find_vault(vault)
    asked = {**environment(), SWITCH: LOOPBACK} if loopback else environment()
    place = engine_place(str(root), dialect, asked)
    if name and name != place.name:
        raise Unavailable("The program has changed since this engine was asked for.")
    share_memory_of_threads()
    allow_many_open_files()
    settings = config.load(root)
    Engine(root, place, dialect, settings["engine.idle_minutes"] * 60).run()
    sys.stderr.flush()
    os._exit(0)  # a model still at work in a thread would turn a usual end into a crash


def _place(vault: str | None) -> EnginePlace:
    root = config.find_vault(vault)
    try:
        return engine_place(str(root), "", environment())
    except NoPlace as error:
        raise Unavailable(f"No engine can run here: {error}.") from None


def _asked_of_engine(kind: str, place: EnginePlace) -> dict[str, Any] | None:
    """None where none runs."""
    import socket

    try:
        found = engine_call.connected(place)
        if found is None:
            return None
        with socket.socket(fileno=found.detach()) as link:
            link.settimeout(_SECONDS)
            rest = engine_call.introduce(link, place, engine_call.hello(kind, place, environment()))
            answer, _ = engine_call.line_from(link, rest)
            with contextlib.suppress(ConnectionError):
                while link.recv(1000):
                    pass  # it hangs up when all is done
    except TimeoutError:
        raise Unavailable(_LATE[kind]) from None
    except (engine_call.NoEngine, OSError) as error:
        raise Unavailable(f"The engine does not answer: {error}.") from None
    told = plain_json.parsed(answer.decode())
    if not isinstance(told, dict) or "refused" in told:
        raise Unavailable(f"The engine does not answer: {told}.")
    return told


def _show(told: dict[str, Any]) -> None:
    windows = told["windows"]
    minutes = told["seconds"] // 60
    click.echo(f"An engine runs (process {told['process']}, for {minutes} min); connected:")
    for window in windows:
        about = [f"project {window['project']}"] if window["project"] else []
        about += [f"session {window['session']}"] if window["session"] else []
        click.echo(
            f"  {window['client'] or 'a client without a name'}  {', '.join(about)}".rstrip()
        )
    if not windows:
        click.echo("  nobody now")
