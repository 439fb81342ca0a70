"""What a vault offers about git. The work behind it is loaded when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vaultmem.desk import Desk
from vaultmem.reader import Reader

if TYPE_CHECKING:
    from vaultmem.git.conflicts import Conflicts, Exchange, Resolved
    from vaultmem.git.flow import Report
    from vaultmem.history import Commit


class Syncing(Desk):
    def sync(
        self,
        *,
        dry_run: bool = False,
        leave_conflicts: bool = True,
        quiet_seconds: float | None = None,
    ) -> Report:
        """Commit what is here, merge what others did, share both, and index what changed.

        Without `leave_conflicts` nothing is merged where a person must choose; so long may
        it take, in seconds, until nobody is typing.
        """
        return self._exchange.sync(
            dry_run=dry_run, leave_conflicts=leave_conflicts, quiet_seconds=quiet_seconds
        )

    def conflicts(self, *, diffs: bool = True) -> Conflicts:
        """Everything that waits for a person: unfinished merges and sync services' copies."""
        return self._exchange.conflicts(diffs=diffs)

    def resolve(self, note: str, side: str) -> Resolved:
        """Settle one conflict: `ours` is this machine's (or a copy's original), `theirs` the
        other, `both` keeps the lines of both."""
        return self._exchange.resolve(note, side)

    @property
    def _exchange(self) -> Exchange:
        from vaultmem.git.conflicts import Exchange

        return Exchange(self._parts, self.caller)

    def _commits(self, path: str) -> list[Commit]:
        from vaultmem.git import repo

        return repo.versions(self.store.root, path)


class SyncedVault(Syncing, Reader):
    """An open vault for the commands that sync; they load nothing else."""
