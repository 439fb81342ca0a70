"""The text that a person gives to a command: what follows it, or standard input."""

from __future__ import annotations

import re
import sys
from typing import Any, Final

import click

from vaultmem.errors import InvalidInput

STANDARD_INPUT: Final = "-"
_LONGEST: Final = 4_000_000  # bytes; the vault refuses less, and says so
# A list item, an arrow, a rule, a number below zero, several words: no name of an option.
_DASHED_TEXT: Final = re.compile(r"-(?:-?[^\w-]|--|\d|\w.*\s)", re.DOTALL)
_MARK: Final = "\0"  # which nothing that is given to a program can have in it


class TextCommand(click.Command):
    """A command that takes text, which may begin with a dash: `vaultmem append Shopping "- milk"`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        marked = [_MARK + arg if _DASHED_TEXT.match(arg) else arg for arg in args]
        try:
            left = super().parse_args(ctx, marked)
        except click.UsageError as error:
            said = error.format_message()
            if _MARK not in said:
                raise
            raise click.UsageError(said.replace(_MARK, ""), ctx) from None
        ctx.params = {name: _without_mark(value) for name, value in ctx.params.items()}
        return left


def _without_mark(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_without_mark, value))
    return value.removeprefix(_MARK) if isinstance(value, str) else value


def text_from(words: tuple[str, ...], what: str) -> str:
    """The words as one text; without any, or for `-`, standard input. `what` is to be done."""
    if words and words != (STANDARD_INPUT,):
        return " ".join(words)
    if not words and sys.stdin.isatty():
        raise InvalidInput(f"There is nothing to {what}: write it behind the command, or pipe it.")
    text = text_piped().rstrip()
    if not text:
        raise InvalidInput(f"There is nothing to {what}: standard input is empty.")
    return text


def text_piped() -> str:
    try:
        return sys.stdin.buffer.read(_LONGEST).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput("What came in is not UTF-8 text, so nothing was written.") from None
