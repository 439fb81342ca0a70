"""Long-term memory for AI agents, kept as plain Markdown notes in an Obsidian-style vault."""

from __future__ import annotations

TYPE_CHECKING = False  # typing itself takes a while to load, and everything begins here
if TYPE_CHECKING:
    from typing import Any

    from vaultmem.service import Vault as Vault

__version__ = "0.1.0"
__all__ = ["Vault", "__version__"]


def __getattr__(name: str) -> Any:
    """`from vaultmem import Vault`, without loading it for whoever wants the version alone."""
    if name == "Vault":
        from vaultmem.service import Vault

        return Vault
    raise AttributeError(f"module 'vaultmem' has no attribute {name!r}")
