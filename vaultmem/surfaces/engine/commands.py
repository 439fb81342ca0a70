"""A command that somebody typed, done by the engine: the same command, on the vault that is open.

What it prints goes back to the process that asked, which prints it. Whatever would need more of
that process than its words is left to it.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, NoReturn

from vaultmem.front.asker import working_for
from vaultmem.front.way_in import DONE_BY_ENGINES
from vaultmem.surfaces import cli
from vaultmem.surfaces.engine.callers import Hello, Refused, Visitor
from vaultmem.surfaces.engine.shared_vault import SharedVault
from vaultmem.vault import lending


class _Stage:
    """What one command says and hears."""

    def __init__(self, hello: Hello) -> None:
        more = hello.more
        piped = more.get("piped")
        self.out, self.err = io.StringIO(), io.StringIO()
        self.are_terminals = bool(more.get("out_is_terminal")), bool(more.get("err_is_terminal"))
        self.piped = io.BytesIO(piped.encode()) if isinstance(piped, str) else None
        self.refused = ""

    def refuse(self, reason: str) -> NoReturn:
        self.refused = reason
        raise Refused(reason)


_stage: ContextVar[_Stage | None] = ContextVar("stage", default=None)


class _SpokenOut(io.TextIOBase):
    """stdout or stderr: of the command that runs in this thread, else the engine's own."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, own: Any, number: int) -> None:
        self._own, self._number = own, number

    def _target(self) -> Any:
        stage = _stage.get()
        if stage is None:
            return self._own
        return (stage.out, stage.err)[self._number]

    def write(self, text: str) -> int:
        written: int = self._target().write(text)
        return written

    @property
    def buffer(self) -> Any:
        stage = _stage.get()
        if stage is not None:
            stage.refuse("it writes bytes")
        return self._own.buffer

    def flush(self) -> None:
        self._target().flush()

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        stage = _stage.get()
        return stage.are_terminals[self._number] if stage else False


class _HeardIn(io.TextIOBase):
    """stdin: what was handed over, and nothing else."""

    @property
    def buffer(self) -> io.BytesIO:
        stage = _stage.get()
        if stage is None:
            return io.BytesIO()
        if stage.piped is None:
            stage.refuse("it reads standard input")
        return stage.piped

    def isatty(self) -> bool:
        stage = _stage.get()
        if stage is not None and stage.piped is None:
            stage.refuse("it asks about standard input")
        return False

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> str:
        return self.buffer.read(size if size is not None else -1).decode("utf-8", "replace")

    def readline(self, size: int = -1) -> str:  # type: ignore[override]
        return self.buffer.readline(size).decode("utf-8", "replace")


def stand_between() -> None:
    """From now on whoever prints in this process may do so for a command."""
    sys.stdin, sys.stdout, sys.stderr = (
        _HeardIn(),
        _SpokenOut(sys.stdout, 0),
        _SpokenOut(sys.stderr, 1),
    )


def do_command(shared: SharedVault, visitor: Visitor, hello: Hello) -> None:
    if not hello.arguments or hello.arguments[0] not in DONE_BY_ENGINES:
        raise Refused("an engine does not do that command")
    visitor.tell({"taken": True})
    if not visitor.is_waiting():
        return
    stage = _Stage(hello)
    with working_for(hello.asker), _on_stage(stage), lending(_lender(shared, stage)):
        code = cli.main(hello.arguments)
    if stage.refused:
        raise Refused(stage.refused)
    shared.followed.start_following()
    visitor.tell({"out": stage.out.getvalue(), "err": stage.err.getvalue(), "code": code})


def _lender(shared: SharedVault, stage: _Stage) -> Any:
    def lend(*asked: Any) -> Any:
        try:
            return shared.lend(*asked)
        except Refused as refused:
            stage.refuse(str(refused))

    return lend


@contextlib.contextmanager
def _on_stage(stage: _Stage) -> Iterator[None]:
    token = _stage.set(stage)
    try:
        yield
    finally:
        _stage.reset(token)
