"""A command that the vault's engine does: asked over its socket, printed here.

Only an engine that is there already is asked; a command never waits for one to start.
"""

from __future__ import annotations

import os
import sys
import time

from vaultmem.front import engine_call, plain_json
from vaultmem.front.engine_call import NoEngine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from vaultmem.front.engine_place import EnginePlace

TAKEN_SECONDS = 1.0  # until an engine must have said that it does it
DONE_SECONDS = 120.0


class Unknown(Exception):
    """The engine took the command and did not say how it ended."""


class EngineCommand:
    def __init__(self, place: EnginePlace, environment: Mapping[str, str]) -> None:
        self._place, self._environment = place, environment

    def answer(self, arguments: list[str], seconds: float, piped: str | None) -> dict[str, Any]:
        """What it prints and ends with; raises NoEngine where it was not begun."""
        until = time.monotonic() + seconds
        link = engine_call.connected(self._place)
        if link is None:
            raise NoEngine("there is none")
        try:
            link.settimeout(min(TAKEN_SECONDS, seconds))
            rest = engine_call.introduce(link, self._place, self._hello(arguments, piped))
            taken, rest = engine_call.line_from(link, rest)
            if plain_json.parsed(taken.decode()).get("taken") is not True:
                raise NoEngine("it refused")
        except (OSError, ValueError) as error:
            raise NoEngine(str(error)) from None
        try:
            link.settimeout(max(0.05, until - time.monotonic()))
            link.sendall(b"go\n")  # else one that hung does later what we have done ourselves
            line, _ = engine_call.line_from(link, rest)
            answer: dict[str, Any] = plain_json.parsed(line.decode())
        except (OSError, ValueError) as error:
            raise Unknown(str(error)) from None
        finally:
            link.close()
        if "refused" in answer:
            raise NoEngine(str(answer["refused"]))
        return answer

    def _hello(self, arguments: list[str], piped: str | None) -> bytes:
        return engine_call.hello(
            "command",
            self._place,
            self._environment,
            arguments=arguments,
            piped=piped,
            columns=_columns(),
            out_is_terminal=os.isatty(1),
            err_is_terminal=os.isatty(2),
        )


def printed(answer: dict[str, Any]) -> int:
    """Say what the command says; its exit code."""
    try:
        for stream, name in ((sys.stdout, "out"), (sys.stderr, "err")):
            if answer[name]:
                encoding = (stream.encoding if stream.isatty() else "") or "utf-8"
                stream.buffer.write(answer[name].encode(encoding, "replace"))
                stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # nobody reads on
        return 0
    return int(answer["code"])


def _columns() -> int:
    given = os.environ.get("COLUMNS", "")
    if given.isdigit() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(1).columns or 80
    except (OSError, ValueError):
        return 80
