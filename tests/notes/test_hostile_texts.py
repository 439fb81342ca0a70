"""No text is slow: what a megabyte of anything costs grows with its length.

Each reader is tried in a process of its own, which is ended when it does not come back: a hang
is a failure, not a wait. The whole set, a megabyte long, is `scripts/bench/run hostile`.
"""

from __future__ import annotations

import gc
import multiprocessing
import sys
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection

import pytest

from tests import hostile

SMALL, LONG = 4_000, 64_000
NOISE = 4  # how much slower a busy machine may make one of two, between sixteen and its square
PATIENCE = 60  # seconds until a process counts as hanging
ALWAYS_FINE = 0.08  # seconds of processor time for the long text
NEVER_FINE = 2.0
READERS = list(hostile.readers())
# Each stands for a kind of mistake: an expression that starts anew at every mark, or steps back
# over a long run, a list that is walked for every item, a text that is copied for every line.
CORE = (
    *("'['", "'[[a|'", "'(' nested ')'", "'`' on lines", "'`' once, then blanks", "'## a\\n'"),
    *("'a' once, then blanks", "'\\n'", "'- a:: b (1 → 2; '", "'- **09:12:04** note: a ^a\\n'"),
    *("'<private>' nested '</private>'", "'<private'", "'a'", "'日'", "' ^a\\n'", "'a: b\\n'"),
)


class Worker:
    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.ours, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(theirs,), daemon=True)
        self.process.start()

    def seconds(self, reader: str, shape: str, size: int, patience: float = PATIENCE) -> float:
        self.ours.send((reader, shape, size))
        if not self.ours.poll(patience):
            self.process.kill()
            self.process.join()
            return float("inf")
        took = self.ours.recv()
        assert isinstance(took, float), took
        return took


def work(theirs: Connection) -> None:
    readers, texts = hostile.readers(), {**hostile.texts(), **dict(hostile.pairs())}
    gc.disable()  # its work grows with everything that is alive, not with the text alone
    gc.freeze()
    while True:
        reader, shape, size = theirs.recv()
        text = texts[shape](size)
        gc.collect()
        forget_what_was_read()  # it would take no time
        started = time.thread_time()
        try:
            readers[reader](text)
            theirs.send(time.thread_time() - started)
        except Exception as error:
            theirs.send(f"{reader} of {shape}: {error!r}"[:500])


def forget_what_was_read() -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith("vaultmem."):
            for value in vars(module).values():
                if callable(getattr(value, "cache_clear", None)):
                    value.cache_clear()


@pytest.fixture(scope="module")
def workers() -> Iterator[list[Worker]]:
    """The last one is at work; those before it were ended."""
    found = [Worker()]
    yield found
    for worker in found:
        worker.process.kill()


@pytest.mark.parametrize("reader", READERS)
def test_time_grows_with_the_length(reader: str, workers: list[Worker]) -> None:
    for shape in CORE:
        if not workers[-1].process.is_alive():
            workers.append(Worker())
        worker = workers[-1]
        took = worker.seconds(reader, shape, LONG)
        if took <= ALWAYS_FINE:
            continue
        assert took <= NEVER_FINE, f"{shape} of {LONG} characters takes {took:.1f} s"
        less = min(worker.seconds(reader, shape, SMALL) for _ in range(2))
        again = min(took, *(worker.seconds(reader, shape, LONG) for _ in range(3)))
        growth = again / max(less, 0.001)
        assert growth < NOISE * LONG / SMALL, f"{shape}: {less:.4f} s, 16 times as long {again:.3f}"


def test_every_shape_is_made_to_measure() -> None:
    for name, make in hostile.texts().items():
        assert len(make(1000)) <= 1100, name
    assert set(CORE) <= set(hostile.texts())
