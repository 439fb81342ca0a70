"""Where the program starts."""

from __future__ import annotations

import os
import signal
import sys

import vaultmem.base.parent_process  # noqa: F401 (it looks first of all who started us)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


def run() -> NoReturn:
    signal.signal(signal.SIGINT, _stop)  # nothing is open yet
    if sys.argv[1:2] == ["merge-driver"]:  # git calls it for every note: it starts without the rest
        from vaultmem.git.driver import run_merge_driver as merge_driver

        sys.exit(merge_driver(sys.argv[2:]))
    from vaultmem.surfaces.cli import main

    signal.signal(signal.SIGINT, signal.default_int_handler)
    code = main()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # everything is done
    sys.exit(code)


def _stop(number: int, frame: Any) -> NoReturn:
    os.write(2, b"Stopped.\n")
    os._exit(3)


if __name__ == "__main__":
    run()
