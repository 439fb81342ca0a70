"""The conflicts of a vault, looked for aside: to find them all, every note is read.

In a vault that is looked through quickly they are always those of now. In a large one they are
those of the last look, and the next begins when something has changed since.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vaultmem.errors import VaultmemError

if TYPE_CHECKING:
    from vaultmem.git.conflicts import ConflictView
    from vaultmem.vault import Vault

_QUICK: Final = 0.1  # seconds
_REST: Final = 20  # times as long as a look took, until the next


@dataclass(slots=True)
class _Look:
    revision: int = -1
    seconds: float = 0.0
    ended: float = float("-inf")
    is_running: bool = False
    found: tuple[ConflictView, ...] = ()


class ConflictWatch:
    def __init__(self) -> None:
        self._looks: dict[tuple[str, str, str], _Look] = {}
        self._changing = threading.Lock()

    def known(self, vault: Vault) -> tuple[ConflictView, ...]:
        look, revision = self._look(vault), vault.revision
        if look.revision == revision:
            return look.found
        if look.ended > 0 and look.seconds < _QUICK:
            self._run(vault, look)
        elif self._may_begin(look):
            aside = threading.Thread(target=self._run, args=[vault, look], daemon=True)
            aside.start()
            aside.join(_QUICK)
        return look.found

    def news(self) -> str:
        """Another one when some look found something else."""
        return str(sum(len(look.found) for look in tuple(self._looks.values())))

    def _look(self, vault: Vault) -> _Look:
        key = (str(vault.root), vault.caller.user, vault.caller.project)
        with self._changing:
            return self._looks.setdefault(key, _Look())

    def _may_begin(self, look: _Look) -> bool:
        with self._changing:
            rested = time.monotonic() - look.ended > _REST * look.seconds
            if look.is_running or not rested:
                return False
            look.is_running = True
            return True

    def _run(self, vault: Vault, look: _Look) -> None:
        begun, revision = time.monotonic(), vault.revision
        try:
            look.found = vault.conflicts().conflicts
        except VaultmemError:
            look.found = ()
        except Exception:  # the edge of a thread: the vault may be closed meanwhile
            return
        finally:
            look.seconds, look.ended = time.monotonic() - begun, time.monotonic()
            look.revision, look.is_running = revision, False


CONFLICTS: Final = ConflictWatch()
