"""Who is connected to the vault's engine, wherever the engine runs."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from vaultmem.front import engine_call, plain_json
from vaultmem.front.asker import environment
from vaultmem.front.engine_place import NoPlace, engine_place

_SECONDS: Final = 1.0


def connected_agents(root: Path) -> list[Mapping[str, Any]]:
    """Windows of agents, as the engine tells of them; none where no engine runs."""
    try:
        place = engine_place(str(root), "", environment())
        found = engine_call.connected(place)
        if found is None:
            return []
        with socket.socket(fileno=found.detach()) as link:
            link.settimeout(_SECONDS)
            link.sendall(engine_call.hello("status", place, environment()))
            told = plain_json.parsed(link.makefile("rb").readline().decode() or "{}")
    except (NoPlace, engine_call.NoEngine, OSError, ValueError):
        return []
    windows = told.get("windows", []) if isinstance(told, dict) else []
    return [window for window in windows if isinstance(window, dict)]
