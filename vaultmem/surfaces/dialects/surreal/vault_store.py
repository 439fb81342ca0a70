"""The vault of this server as the store of that system's calls."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from vaultmem.base import lock
from vaultmem.errors import InvalidInput, ReadOnly, StorageFull, Unavailable, VaultmemError
from vaultmem.surfaces import answers
from vaultmem.surfaces.dialects.surreal.answered_calls import AnsweredCalls
from vaultmem.surfaces.dialects.surreal.calls import SurrealCall, Unreachable

if TYPE_CHECKING:
    from vaultmem.vault import Vault

Run = Callable[["Vault", Mapping[str, Any]], dict[str, Any]]
_FILE: Final = "answered-calls"
_WAIT_SECONDS: Final = 60.0


class VaultStore:
    def __init__(self, run: Mapping[str, Run], most_of_session: int) -> None:
        self.provide: Callable[[], Vault] = _nothing_open  # for whoever started the server
        self._run, self._most = run, most_of_session
        self._turn = threading.Lock()

    def perform(self, call: SurrealCall) -> dict[str, Any]:
        """For one that was queued: as whoever asked for it then."""
        return self.perform_for(call, lambda: self._vault_of(call))

    def probe(self) -> None:
        with _unreachable_explained():
            self.provide().view.store.home.require()

    def perform_for(self, call: SurrealCall, open_vault: Callable[[], Vault]) -> dict[str, Any]:
        with _unreachable_explained():
            vault = open_vault()
            if not call.key:
                return self._carried_out(vault, call)
            folder = vault.view.store.local()
            with (
                self._turn,
                lock.locked(folder / f"{_FILE}.lock", timeout=_WAIT_SECONDS, what="writing"),
            ):
                return self._done_once(vault, call)

    def _vault_of(self, call: SurrealCall) -> Vault:
        vault = self.provide()
        caller = replace(vault.caller, **(call.caller or {}))
        return vault.for_caller(
            replace(
                caller,
                session=call.session or caller.session,
                client=call.client or caller.client,
                read_only=vault.caller.read_only,
            )
        )

    def _done_once(self, vault: Vault, call: SurrealCall) -> dict[str, Any]:
        with closing(AnsweredCalls(vault.view.store.local() / f"{_FILE}.db")) as known:
            earlier = known.earlier(call.key)
            if earlier and earlier.answer is not None:
                return earlier.answer
            known.begin(call.key)
            try:
                done = self._carried_out(vault, call)
            except InvalidInput:
                if earlier is None or call.tool != "promote_memory":
                    known.withdraw(call.key)
                    raise
                done = _promoted_before(call.given)  # and killed before it could say so
            except VaultmemError as error:
                if not is_unreachable(error):
                    known.withdraw(call.key)
                raise
            answer: dict[str, Any] = answers.plain_answer(done)
            known.end(call.key, answer)
            return answer

    def _carried_out(self, vault: Vault, call: SurrealCall) -> dict[str, Any]:
        given = dict(call.given)
        if "memory_id" in given:
            given["memory_id"] = _real_memory_id(vault, given["memory_id"])
        if call.tool == "store_memory":
            self._require_room_in_session(vault, given)
        return self._run[call.tool](vault, given)

    def _require_room_in_session(self, vault: Vault, given: Mapping[str, Any]) -> None:
        """max_memories_per_session, where it is set."""
        if not self._most:
            return
        session = given.get("session_id", "").removeprefix("session:") or vault.caller.session
        if not session or session != vault.caller.session:
            return
        stored = vault.session_summary().memories_stored
        if stored >= self._most:
            raise SessionFull(
                f"This session has stored {stored} memories, and max_memories_per_session of the "
                f"configuration file is {self._most}. Consolidate, or raise it there.",
                stored,
                self._most,
            )


def _nothing_open() -> Vault:
    raise Unavailable("The server has not opened its vault yet.")


class SessionFull(StorageFull):
    def __init__(self, message: str, stored: int, most: int) -> None:
        super().__init__(message)
        self.stored, self.most = stored, most


def _real_memory_id(vault: Vault, named: str) -> str:
    """Of a memory that was known by its place in the queue when it was named."""
    file = vault.view.store.local() / f"{_FILE}.db"
    if not file.path.exists():
        return named
    with closing(AnsweredCalls(file)) as known:
        return known.memory_of(named.removeprefix("memory:")) or named


def _promoted_before(given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "memory_id": given["memory_id"],
        "previous_scope": None,
        "new_scope": given["target_scope"],
        "reason": given.get("reason"),
    }


def is_unreachable(error: BaseException) -> bool:
    """Whether the store is away or cannot be written now, and not the call is wrong."""
    refused_by_disk = isinstance(error, ReadOnly) and isinstance(error.__cause__, OSError)
    return isinstance(error, Unavailable) or refused_by_disk


@contextlib.contextmanager
def _unreachable_explained() -> Iterator[None]:
    try:
        yield
    except VaultmemError as error:
        if is_unreachable(error):
            raise Unreachable(error.message) from error
        raise
