"""Commands in this process: for tests that run hundreds of them."""

from __future__ import annotations

import io
import os
import sys
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from unittest import mock

from tests.conftest import Ran
from vaultmem.front.asker import Asker, working_for
from vaultmem.surfaces.cli import main, screen


def command(*arguments: str, given: bytes = b"", person: bool = False) -> Ran:
    """What a process would answer; `person` lays it out as on a terminal."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    stdin = io.TextIOWrapper(io.BytesIO(given))
    with ExitStack() as stack:
        stack.enter_context(redirect_stdout(out))
        stack.enter_context(redirect_stderr(err))
        stack.enter_context(mock.patch.object(sys, "stdin", stdin))
        if person:
            stack.enter_context(screen.laid_out_for_people())
        if arguments[:1] == ("hook",):  # by itself it would end this process when it is slow
            stack.enter_context(working_for(Asker(os.environ, os.getcwd())))
        code = main(arguments)
    return Ran(code, _said(out), _said(err))


def _said(stream: io.TextIOWrapper) -> str:
    stream.flush()
    raw = stream.buffer.getvalue()  # type: ignore[attr-defined]
    return bytes(raw).decode("utf-8")
