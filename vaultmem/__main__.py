"""Where the program starts."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what is around it takes long to load
import os
import sys

import vaultmem.base.processes.parent_process  # noqa: F401 (it looks first of all who started us)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


def run() -> NoReturn:
    _signal.signal(_signal.SIGINT, _stop)  # nothing is open yet
    if sys.argv[1:2] == ["merge-driver"]:  # git calls it for every note: it starts without the rest
        from vaultmem.git.driver import run_merge_driver as merge_driver

        sys.exit(merge_driver(sys.argv[2:]))
    from vaultmem.front.way_in import try_engine

    done = try_engine(sys.argv[1:])
    if done is not None:
        _leave(done)
    from vaultmem.surfaces.cli import main

    _signal.signal(_signal.SIGINT, _signal.default_int_handler)
    code = main()
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # everything is done
    _leave(code)


def _leave(code: int) -> NoReturn:
    """A hook's alarm would end the process as a signal does: Python takes its handlers away
    before it has put everything else away."""
    if hasattr(_signal, "setitimer"):
        _signal.setitimer(_signal.ITIMER_REAL, 0)
    sys.exit(code)


def _stop(number: int, frame: Any) -> NoReturn:
    os.write(2, b"Stopped.\n")
    os._exit(3)


if __name__ == "__main__":
    run()
