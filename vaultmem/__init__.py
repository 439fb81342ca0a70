"""Long-term memory for AI agents, kept as plain Markdown notes in an Obsidian-style vault."""

from __future__ import annotations

from vaultmem.base.telemetry import switch_off_telemetry

switch_off_telemetry()  # before anything else can be imported

TYPE_CHECKING = False  # typing itself takes a while to load, and everything begins here
if TYPE_CHECKING:
    from typing import Any

    from vaultmem.vault import Vault as Vault

__version__ = "0.1.0"
__all__ = ["Vault", "__version__"]


def __getattr__(name: str) -> Any:
    """`from vaultmem import Vault`, without loading it for whoever wants the version alone."""
    if name == "Vault":
        import importlib  # an import statement would tie every module to this one, for mypy

        return importlib.import_module("vaultmem.vault").Vault
    raise AttributeError(f"module 'vaultmem' has no attribute {name!r}")
