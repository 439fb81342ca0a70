"""What can go wrong with an index, and what to say of it."""

from __future__ import annotations

import sqlite3
from typing import Final

from vaultmem.errors import Busy, StorageFull, Unavailable, VaultmemError

TROUBLE: Final = (VaultmemError, sqlite3.Error, OSError)  # what using an index can raise


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """A broken file, as opposed to a busy or full one."""
    return not isinstance(error, sqlite3.OperationalError) or "malformed" in str(error)


def explained(error: Exception) -> VaultmemError:
    text = str(error)
    if "full" in text or "No space" in text:
        return StorageFull(
            "The index cannot grow: the disk is full. The notes themselves are safe."
        )
    if "locked" in text:
        return Busy("The index is being written by another process; try again in a moment.")
    return Unavailable(f"The index could not be updated: {text}. The notes themselves are safe.")
