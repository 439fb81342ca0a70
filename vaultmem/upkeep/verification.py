"""Whether a vault is whole: what was acknowledged is there, and the index says what a new one would.

Looking changes nothing. What a write left behind is known from this machine's own history, so
a vault that came by git alone has less to be compared with.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vaultmem.base.own_program import command_to_type
from vaultmem.errors import VaultmemError
from vaultmem.index import index_differences
from vaultmem.notes.note import Note, note_version, parse
from vaultmem.storage.local_state import history
from vaultmem.storage.local_state.history import History, WriteRecord
from vaultmem.storage.paths import VOLATILE
from vaultmem.storage.store import TRASH, Store
from vaultmem.upkeep.doctor import Finding

if TYPE_CHECKING:
    from vaultmem.index import Index
    from vaultmem.indexing.reconcile import ReconcileProgress

REPAIRABLE: Final = ("write-gone", "index-differs", "vector-damaged")
_REPAIR: Final = "doctor --verify --repair"


@dataclass(frozen=True)
class Verified:
    """What was compared, and what did not fit."""

    notes: int = 0
    writes: int = 0
    snapshots: int = 0
    passages: int = 0
    findings: tuple[Finding, ...] = ()


class Verification:
    def __init__(self, store: Store, past: History) -> None:
        self.store = store
        self.history = past
        self._notes = dict(_notes_to_verify(store))
        self._paths = {note.id.upper(): path for path, note in self._notes.items() if note.id}

    def verify_vault(
        self, index: Callable[[], Index] | None, progress: ReconcileProgress | None = None
    ) -> Verified:
        """`index` is None where there is none: looking makes no index."""
        # The last write to each note, by its id, or by its path where it has none.
        writes = {write.id.upper() or write.path: write for write in self.history.writes()}
        keys = self.history.notes()
        snapshots = [snapshot for key in keys for snapshot in self.history.snapshots(key)]
        found = [*self._verify_writes(writes), *self._verify_histories(keys, writes)]
        found += _verify_snapshots(snapshots)
        passages = 0
        if index is not None:
            opened = index()
            found += self._verify_index(opened, progress)
            passages = opened.status().passages
        return Verified(len(self._notes), len(writes), len(snapshots), passages, tuple(found))

    # --- what was acknowledged -----------------------------------------------------------

    def _verify_writes(self, writes: dict[str, WriteRecord]) -> Iterator[Finding]:
        for write in writes.values():
            if write.version and not self._is_verified_write(write):
                kept = bool(self.history.snapshots(write.id.upper()))
                yield _unverified_note_finding(write.path, write.id, kept=kept)

    def _is_verified_write(self, write: WriteRecord) -> bool:
        """As it was written, changed since, moved, or in the trash."""
        if write.path in self._notes or write.id.upper() in self._paths:
            return True
        return self._verified_in_trash(write.id, write.version)

    def _verified_in_trash(self, id_: str, made: str = "") -> bool:
        return id_.upper() in self._trashed_notes_to_verify or made in self._trashed_notes_to_verify

    @cached_property
    def _trashed_notes_to_verify(self) -> frozenset[str]:
        """The ids and versions of the notes in the trash."""
        found: set[str] = set()
        for file in _trash_files_to_verify(self.store.root / TRASH):
            with contextlib.suppress(OSError, VaultmemError):
                if file.is_file() and not file.is_symlink():
                    note = parse(file.read_bytes(), file.name, self.store.settings.properties)
                    found |= {note.id.upper(), note_version(note.raw)}
        return frozenset(found - {""})

    def _verify_histories(
        self, keys: list[str], writes: dict[str, WriteRecord]
    ) -> Iterator[Finding]:
        """Notes of which older texts are kept, but which are nowhere now."""
        known = {history.history_key(note) for note in self._notes.values()} | writes.keys()
        for key in keys:
            place = self.history.last_place_in_history(key)
            if key in known or place is None or place.trashed or place.path in self._notes:
                continue
            if not place.path.startswith(VOLATILE) and not self._verified_in_trash(key):
                yield _unverified_note_finding(place.path, key, kept=True)

    # --- the index -------------------------------------------------------------------------

    def _verify_index(self, index: Index, progress: ReconcileProgress | None) -> Iterator[Finding]:
        texts = {path: note.body for path, note in self._notes.items()}
        with _index_made_to_verify(self.store, index, progress) as anew:
            for path, wrong in index_differences(index, anew, texts):
                yield Finding(path, "index-differs", f"The note {wrong}.", command_to_type(_REPAIR))
        if broken := index.vectors.damaged():
            message = f"{broken:,} of the vectors are damaged; what they stand for is hard to find."
            yield Finding(
                ".vaultmem/index/vectors.db", "vector-damaged", message, command_to_type(_REPAIR)
            )


def repair_findings(past: History, index: Index, findings: Sequence[Finding]) -> list[Finding]:
    """Put right what can be derived: the index. What a person says they deleted is no longer
    expected. Returns what was put right; the index is to be filled by the caller."""
    kinds = {found.problem for found in findings}
    if "vector-damaged" in kinds:
        index.vectors.drop_damaged()
    if "index-differs" in kinds:
        index.rebuild()
    past.expect_no_more([found.path for found in findings if found.problem == "write-gone"])
    return [found for found in findings if found.problem in REPAIRABLE]


def _notes_to_verify(store: Store) -> Iterator[tuple[str, Note]]:
    for path in store.walk().notes:
        with contextlib.suppress(VaultmemError):
            yield path, store.note(path)


def _trash_files_to_verify(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _unverified_note_finding(path: str, id_: str, kept: bool) -> Finding:
    message = "An agent's note was acknowledged, and is neither in the vault nor in its trash."
    back = (
        f"{command_to_type('restore')} {id_} brings back an older text of it. "
        if kept and id_
        else ""
    )
    fix = f"{back}If you deleted it yourself, take it off the list: {command_to_type(_REPAIR)}"
    return Finding(path, "write-gone", message, fix)


def _verify_snapshots(snapshots: list[history.Snapshot]) -> Iterator[Finding]:
    for snapshot in snapshots:
        try:
            whole = note_version(snapshot.raw) == snapshot.version
        except OSError:
            whole = False
        if not whole:
            path = f".vaultmem/local/history/{snapshot.file.parent.name}/{snapshot.file.name}"
            message = "An older text of a note is not what was kept."
            yield Finding(path, "history-damaged", message, "Bring it back from a backup.")


@contextlib.contextmanager
def _index_made_to_verify(
    store: Store, index: Index, progress: ReconcileProgress | None
) -> Iterator[Index]:
    """An index made from nothing, for as long as it is needed."""
    from vaultmem.index import Index
    from vaultmem.indexing.reconcile import Reconciler

    with tempfile.TemporaryDirectory(prefix="vaultmem-verify-") as folder:
        anew = Index(Path(folder), index.language)
        try:
            first = index.inventory.known()  # of two notes with one id: that is no fault
            Reconciler(store, anew).everything(told=True, progress=progress, first=first)
            yield anew
        finally:
            anew.close()
