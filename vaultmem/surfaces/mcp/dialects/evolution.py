"""EvolutionDB's memory bridge: five tools, one user for each process."""

from __future__ import annotations

from typing import Any, Final

from vaultmem.surfaces.mcp.dialects import Dialect

SERVER: Final = {"name": "evolutiondb-memory", "version": "1.0.0"}
CAPABILITIES: Final[dict[str, Any]] = {"tools": {"listChanged": False}}


class Spoken(Dialect):
    name = "evolution"
    server_info = SERVER
    capabilities = CAPABILITIES
