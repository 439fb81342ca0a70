"""Digests of the latest texts of some kind, shared by all processes on this machine.

They tell what vaultmem or an agent wrote from what a person did. Losing them costs a few seconds
of waiting, or one more look at a note.
"""

from __future__ import annotations

from vaultmem.base.own_path import OwnPath
from vaultmem.errors import VaultmemError


class DigestLog:
    def __init__(self, place: OwnPath, most: int) -> None:
        self._place = place
        self._most = most

    def add_digest(self, digest: str) -> None:
        """Behind the others, and only now and then all anew, which takes thirty times as long."""
        raw = bytes.fromhex(digest)
        if self._place.append(raw) > 2 * len(raw) * self._most:
            self._place.write(self._read_digests()[-len(raw) * self._most :])

    def __contains__(self, digest: str) -> bool:
        raw = bytes.fromhex(digest)
        known = self._read_digests()
        return any(known[i - len(raw) : i] == raw for i in range(len(known), 0, -len(raw)))

    def _read_digests(self) -> bytes:
        try:
            return self._place.read()
        except (OSError, VaultmemError):
            return b""
