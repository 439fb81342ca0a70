"""Sentences for what went wrong: a word mistyped, a command refused, something unforeseen."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import click

from vaultmem import config
from vaultmem.base.own_program import command_to_type
from vaultmem.errors import VaultmemError
from vaultmem.notes.note import one_line
from vaultmem.surfaces.cli import screen

_UNWRITTEN: Final = (errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EBADF)
_NO_COMMAND: Final = re.compile(r"No such command '(.+)'")
_NOT_A_CHOICE: Final = re.compile(r"'(.+?)' is not one of ")
_NEAR: Final = re.compile(r"Near it are: (.+)\.\Z")
_IN_A_TERMINAL: Final = {  # what a tool's argument is called there
    "leave section out": "leave --section out",
    "old_text": "OLD",
    "new_text": "NEW",
}
_ANY: Final = "Recall or list memories to see which there are."
_READ: Final = "Read the note with get_memories."


def answer_error(error: Exception, colour: bool | None) -> int:
    """Say what is wrong; returns the exit code for it."""
    if isinstance(error, click.UsageError):
        wrong_use(error)
        return 2
    if isinstance(error, click.ClickException):
        error.show()
        return 2
    if isinstance(error, VaultmemError):
        screen.say_complaint(_error_sentence(one_line(error.message)), color=colour)
        return error.exit_code
    if not _is_error_inside_vault():
        screen.say_complaint("The folder you are in is gone; change to another one and try again.")
        return 3
    if isinstance(error, OSError):
        return _answer_system_error(error)
    say_unforeseen_error(error, in_full=config.is_debugging())
    return 3


def _error_sentence(text: str) -> str:
    """What agents are told, as one says it to a person at a terminal."""
    if _ANY in text:
        text = text.replace(_ANY, f"See what there is: {command_to_type('recent')}")
    if _READ in text:
        text = text.replace(_READ, f"See the note: {command_to_type('show')} NOTE")
    for told, meant in _IN_A_TERMINAL.items():
        text = text.replace(told, meant)
    if text.startswith("No vault here") and Path(".obsidian").is_dir():
        return f"This Obsidian vault does not know vaultmem yet. Add what it needs: {command_to_type('init')}"
    return _NEAR.sub(r"Did you mean: \1?", text)


def nearest_name(given: str, names: Iterable[str]) -> str:
    """The one name that was probably meant."""
    import difflib

    return next(iter(difflib.get_close_matches(given, list(names), n=1)), "")


def wrong_use(error: click.UsageError) -> None:
    """How the command is used, what is wrong, and what was probably meant."""
    if meant := _command_meant_by_error(error):
        full = isinstance(error, click.BadParameter)  # names the option too
        said = (error.format_message() if full else error.message).rstrip(".")
        error = click.UsageError(f"{said}; did you mean {meant!r}?", error.ctx)
    error.show()


def _command_meant_by_error(error: click.UsageError) -> str:
    context = error.ctx
    if context is None:
        return ""
    if isinstance(error, click.NoSuchOption):
        known = (name for each in context.command.get_params(context) for name in each.opts)
        return nearest_name(error.option_name, (name for name in known if name.startswith("--")))
    if isinstance(error, click.BadParameter) and error.param:
        choices = getattr(error.param.type, "choices", ())
        given = _NOT_A_CHOICE.match(error.message)
    else:
        group = context.command
        choices = group.list_commands(context) if isinstance(group, click.Group) else ()
        given = _NO_COMMAND.match(error.message)
    return nearest_name(given[1], map(str, choices)) if given else ""


def _is_error_inside_vault() -> bool:
    try:
        return bool(os.getcwd())
    except OSError:
        return False


def _answer_system_error(error: OSError) -> int:
    if error.filename is None and error.errno in _UNWRITTEN:
        if not isinstance(error, BrokenPipeError):
            screen.say_complaint(f"The answer could not be written: {error.strerror}.")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads on
        return 0 if isinstance(error, BrokenPipeError) else 3
    where = f"{error.filename}: " if error.filename is not None else ""
    screen.say_complaint(
        screen.safe_for_screen(f"The system refused: {where}{error.strerror or error}.")
    )
    return 3


def say_unforeseen_error(error: Exception, *, in_full: bool) -> None:
    """A mistake of ours: no stack of calls for someone who wanted a note, unless they ask."""
    if in_full:
        import traceback

        traceback.print_exception(error)
    said = " ".join(screen.safe_for_screen(str(error)).split())[:300]
    screen.say_complaint(
        f"Something unexpected happened: {type(error).__name__}{': ' if said else ''}{said}\n"
        "This is a fault of vaultmem, not yours."
        + ("" if in_full else " See where it is: set VAULTMEM_DEBUG=1 and run it again.")
    )
