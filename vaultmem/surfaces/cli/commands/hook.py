"""An agent's life-cycle event on standard input, the answer on standard output.

It must never be in the agent's way: whatever happens, it ends with 0 and within two seconds.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from vaultmem.base import small_files
from vaultmem.errors import InvalidInput
from vaultmem.front.asker import is_asked_by_another
from vaultmem.surfaces.cli import options

if TYPE_CHECKING:
    from vaultmem.operations.agent_work.payload import Event

SECONDS: Final = 1.8  # the process may need a little before it comes here
_UNTIL: Final = 1.3  # seconds in which the model may be opened; then words have to do
_LARGEST: Final = 5_000_000  # bytes; a larger event is let go by
_CHUNK: Final = 1 << 20


class QuietHookCommand(click.Command):
    """Wrong options are no reason to stop an agent: an exit code of 2 would."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            _say_hook_trouble(error.format_message())
            ctx.exit(0)


@click.command(cls=QuietHookCommand)
@click.option("--event", metavar="NAME", help="The event, where the input does not name it.")
@options.vault
def hook_command(event: str | None, vault: str | None) -> None:
    """Answer an agent's life-cycle event, given as JSON on standard input.

    For the hooks of Claude Code and others; always exits with 0, within two seconds.
    """
    if sys.stdin is None or sys.stdin.isatty():
        _say_hook_trouble(
            "This command is for an agent's hooks: it reads an event on standard input."
        )
        return
    if is_asked_by_another():  # which keeps the time
        _answer_hook(event, vault)
        return
    watchdog = threading.Timer(SECONDS, os._exit, [0])
    watchdog.daemon = True
    watchdog.start()
    try:
        _answer_hook(event, vault)
    finally:
        watchdog.cancel()
    if any(thread.daemon and thread is not watchdog for thread in threading.enumerate()):
        os._exit(0)  # a model that is still being opened is not waited for


def _answer_hook(event: str | None, vault: str | None) -> None:
    began = time.monotonic()
    try:
        said = _hook_answer(_read_hook_payload(), event, vault, began + _UNTIL)
    except Exception as error:  # the edge: an agent goes on, whatever is wrong with its memory
        _say_hook_trouble(f"{type(error).__name__}: {error}")
        return
    if said:
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()


def _read_hook_payload() -> object:
    """The input, to its end: who writes it should not find the pipe closed."""
    data = bytearray()
    while chunk := sys.stdin.buffer.read(_CHUNK):
        if len(data) <= _LARGEST:
            data += chunk
    if len(data) > _LARGEST:
        _say_hook_trouble("The event is too large and was let go by.")
        return None
    try:
        return small_files.parse_json(bytes(data)) if data.strip() else None
    except ValueError as error:
        _say_hook_trouble(f"What came in is not JSON that can be used: {error}.")
        return None


def _hook_answer(
    payload: object, named: str | None, vault: str | None, until: float
) -> dict[str, Any]:
    from vaultmem import config
    from vaultmem.hooks import events

    if named and isinstance(payload, dict):
        payload = {"event": named, **payload}
    event = events.event_of(payload)
    if event is None:
        return {}
    try:
        root = config.find_vault(vault, Path(event.folder) if event.folder else None)
    except InvalidInput:  # no vault here, and nobody said there is one
        return {}
    settings = config.load(root)
    settings.require_valid()
    if not any(events.decide(event, settings)):
        return {}
    payload = _with_last_answer(payload, event)
    from vaultmem.hooks import answer
    from vaultmem.vault import Vault

    with Vault.open(root, caller=options.bound_caller(settings)) as opened:
        return answer.to_event(opened, payload, until)


def _with_last_answer(payload: object, event: Event) -> object:
    """Clients that do not give the answer name the file that has it. Only this command opens it:
    what comes over a network may name any file."""
    if event.name != "Stop" or event.answer or not isinstance(payload, dict):
        return payload
    from vaultmem.hooks import transcript

    said = transcript.last_answer(event.text("transcript_path", "transcriptPath"))
    return {**payload, "last_assistant_message": said} if said else payload


def _say_hook_trouble(text: str) -> None:
    click.echo(f"vaultmem hook: {' '.join(text.split())[:500]}", err=True)
