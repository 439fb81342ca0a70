"""The versions that vaultmem itself wrote lately, shared by all its processes on this machine.

They tell a person's save from our own. Losing them costs a few seconds of waiting.
"""

from __future__ import annotations

from typing import Final

from vaultmem.base.own_path import OwnPath
from vaultmem.errors import VaultmemError

SLOTS: Final = 256


class OwnWrites:
    def __init__(self, place: OwnPath) -> None:
        self._place = place

    def add(self, digest: str) -> None:
        """Behind the others, and only now and then all anew, which takes thirty times as long."""
        raw = bytes.fromhex(digest)
        if self._place.append(raw) > 2 * len(raw) * SLOTS:
            self._place.write(self._read()[-len(raw) * SLOTS :])

    def __contains__(self, digest: str) -> bool:
        raw = bytes.fromhex(digest)
        known = self._read()
        return any(known[i - len(raw) : i] == raw for i in range(len(known), 0, -len(raw)))

    def _read(self) -> bytes:
        try:
            return self._place.read()
        except (OSError, VaultmemError):
            return b""
