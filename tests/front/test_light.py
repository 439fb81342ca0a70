"""A window loads a handful of small modules: everything else would be there once for each."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
OF_A_WINDOW = (
    "client_streams, conversation, engine_call, engine_place, engine_start, plain_json, replies, "
    "unix_way, way_in, window"
)
# Each of them takes as long as a third of a window, or brings others that do.
HEAVY = (
    *("collections", "contextlib", "dataclasses", "enum", "functools", "json", "pathlib", "re"),
    *("runpy", "signal", "socket", "threading", "typing"),
)
LOADED = (
    "import sys\n"
    "sys.path.insert(0, sys.argv[1])\n"
    "import vaultmem.__main__, fcntl, _socket\n"
    f"from vaultmem.front import command, {OF_A_WINDOW}\n"
    "print(*sys.modules)\n"
)


def test_a_window_loads_a_handful_of_modules() -> None:
    plain = [sys.executable, "-I", "-S", "-c"]  # without what an environment loads by itself
    done = subprocess.run([*plain, LOADED, str(ROOT)], capture_output=True, text=True, check=True)
    assert not set(HEAVY) & set(done.stdout.split())
