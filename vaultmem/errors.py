"""Every failure a caller can act on, told apart by what the caller can do about it.

An agent reads `code`, `message` and `retry_possible`; a shell reads `exit_code`
(1: the answer is no, 2: wrong use or refused, 3: something failed).
"""

from __future__ import annotations


class VaultmemError(Exception):
    code = "memory_unavailable"
    exit_code = 3
    retry_possible = False

    @property
    def message(self) -> str:
        return str(self)


class NotFound(VaultmemError):
    code = "not_found"
    exit_code = 1


class AlreadyExists(VaultmemError):
    code = "already_exists"
    exit_code = 2


class Conflict(VaultmemError):
    """The note is not what the caller thought it was; `text` is what it is now."""

    code = "conflict"
    exit_code = 2
    retry_possible = True

    def __init__(self, message: str, *, text: str = "", version: str = "") -> None:
        super().__init__(message)
        self.text = text
        self.version = version


class InvalidInput(VaultmemError):
    code = "invalid_input"
    exit_code = 2


class ReadOnly(VaultmemError):
    code = "read_only"
    exit_code = 2


class OutsideVault(VaultmemError):
    code = "outside_vault"
    exit_code = 2


class NoteMalformed(VaultmemError):
    code = "note_malformed"
    exit_code = 2


class Busy(VaultmemError):
    code = "busy"
    retry_possible = True


class Unavailable(VaultmemError):
    code = "memory_unavailable"


class Away(Unavailable):
    """The vault's folder, or what it needs, is not there now and may come back."""

    retry_possible = True


class StorageFull(VaultmemError):
    code = "storage_full"
