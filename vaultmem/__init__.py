"""Long-term memory for AI agents, kept as plain Markdown notes in an Obsidian-style vault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vaultmem.service import Vault as Vault

__version__ = "0.1.0"
__all__ = ["Vault", "__version__"]


def __getattr__(name: str) -> Any:
    """`from vaultmem import Vault`, without loading it for whoever wants the version alone."""
    if name == "Vault":
        from vaultmem.service import Vault

        return Vault
    raise AttributeError(f"module 'vaultmem' has no attribute {name!r}")
