"""The connection to the store: while it is lost, writes wait on local disk and reads answer from
what is at hand.

A write that could not be carried out, or that comes while others wait, joins the queue and is
acknowledged as queued. A thread tries to reach the store at once, after 1, 2, 4 and 8 seconds and
then every 30, and carries the queue out in its order. Every write has a key from its first attempt
on, so that one of which the answer was lost is not done twice.
"""

from __future__ import annotations

import hashlib
import itertools
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from vaultmem import config
from vaultmem.errors import InvalidInput, StorageFull, VaultmemError
from vaultmem.operations.input import Input
from vaultmem.surfaces import answers
from vaultmem.surfaces.dialects import DialectError
from vaultmem.surfaces.dialects.surreal.at_hand import AtHand
from vaultmem.surfaces.dialects.surreal.calls import (
    Refusal,
    SurrealCall,
    SurrealStore,
    Unreachable,
)
from vaultmem.surfaces.dialects.surreal.write_queue import WriteQueue

log = logging.getLogger("vaultmem")

MOST_QUEUED: Final = 10_000
MOST_BYTES_QUEUED: Final = 200_000_000
FIRST_RETRIES: Final = (0.0, 1.0, 2.0, 4.0, 8.0)
RETRY_SECONDS: Final = 30.0
_OTHERS_TURN_SECONDS: Final = 0.5
_END_SECONDS: Final = 5.0  # for what is still queued when the server ends


def retry_delays() -> Iterator[float]:
    """Seconds before each attempt to reach the store again."""
    return itertools.chain(FIRST_RETRIES, itertools.repeat(RETRY_SECONDS))


def queue_of_place(place: str) -> WriteQueue:
    """On this machine's own disk: the vault's may be what is away."""
    name = hashlib.blake2b(place.encode(errors="replace"), digest_size=10).hexdigest()
    folder = config.user_state_folder() / "surreal-queue" / name
    return WriteQueue(folder, MOST_QUEUED, MOST_BYTES_QUEUED)


class StoreConnection:
    def __init__(self, store: SurrealStore, place: str, *, near: bool) -> None:
        self._store = store
        self._near = near  # to ask whether it is there again costs nothing
        self.place = place
        self.queue = queue_of_place(place)
        self.at_hand = AtHand(self.queue)
        self._changing = threading.Lock()
        self._lost = ""  # why it cannot be reached
        self.settings: config.Settings | None = None  # of the vault, once it was open
        self._reconnecting: threading.Thread | None = None
        self._stopping = threading.Event()
        self._waking = threading.Event()  # ends a wait for the next attempt

    @property
    def reason(self) -> str:
        """Why the store cannot be reached; empty where it can."""
        return self._lost

    def begin(self) -> None:
        """What an earlier server left in the queue is carried out as well."""
        if len(self.queue):
            log.info("%s writes wait in the queue for %s.", len(self.queue), self.place)
            self._reconnect()

    # --- calls -------------------------------------------------------------------------------

    def write(self, call: SurrealCall, do: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if self._lost or len(self.queue):  # those that wait come first
            return self._queued(call)
        try:
            done = do()
        except Unreachable as lost:
            self._lose(lost)
            return self._queued(call)
        self.at_hand.note_written(call, done)
        return done

    def read(self, call: SurrealCall, do: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if not self._lost or self._near:
            try:
                found = do()
            except Unreachable as lost:
                self._lose(lost)
            else:
                self._waking.set()
                self.at_hand.note_answer(call, found)
                return self._with_waiting(call, found)
        return self.degraded(call)

    def degraded(self, call: SurrealCall) -> dict[str, Any]:
        """What is at hand, and that it is no more than that."""
        return self.at_hand.answer(call) | self._degraded_envelope(
            "It answers from what is at hand."
        )

    def timed_out(self, call: SurrealCall) -> dict[str, Any]:
        told = {"code": "query_timeout", "message": "The query took too long; this is partial."}
        return self.at_hand.answer(call) | {"warning": "query_timeout", "warnings": [told]}

    def _with_waiting(self, call: SurrealCall, found: dict[str, Any]) -> dict[str, Any]:
        if not (waiting := len(self.queue)):
            return found
        told = {"code": "queued_writes", "message": f"{waiting} writes wait in the queue."}
        self._reconnect()
        more = self.at_hand.waiting_answer(call, found)
        return found | more | {"warnings": [*found.get("warnings", ()), told]}

    def _queued(self, call: SurrealCall) -> dict[str, Any]:
        call = call._replace(given=self._cleaned(call.given))
        if call.tool == "store_memory" and not call.given["content"].strip():
            raise InvalidInput("There is nothing to remember: the content is empty.")
        try:
            waiting = self.queue.append(call._asdict())
        except StorageFull as error:
            raise StorageFull(
                f"The memory cannot be reached, and its queue is full. {error}"
            ) from None
        self.at_hand.note_queued(call)
        self._reconnect()
        told = dict(_acknowledged(call))
        said = "It is kept on disk and carried out when the memory can be reached."
        return told | self._degraded_envelope(said) | {"queued_writes": waiting}

    def _cleaned(self, value: Any) -> Any:
        """What is private or secret is on no disk, in the queue neither; and what could not be
        written is refused at once."""
        if self.settings is None:
            self.settings = config.load(self.queue.folder)  # there is no vault to say otherwise
        if isinstance(value, str):
            return Input(self.settings).clean_text(value)
        if isinstance(value, Mapping):
            return {name: self._cleaned(each) for name, each in value.items()}
        return [self._cleaned(each) for each in value] if isinstance(value, list) else value

    def _degraded_envelope(self, said: str) -> dict[str, Any]:
        why = self._lost or "Earlier writes are still being carried out."
        message = f"{why} {said}"
        told = {"code": "memory_unavailable", "message": message}
        return {"degraded": True, "message": message, "warnings": [told]}

    # --- lost and found ----------------------------------------------------------------------

    def _lose(self, why: Unreachable) -> None:
        if not self._lost:
            log.warning("The memory cannot be reached: %s", why)
        self._lost = str(why)
        self._reconnect()

    def _reconnect(self) -> None:
        with self._changing:
            if self._reconnecting is None and not self._stopping.is_set():
                self._reconnecting = threading.Thread(
                    target=self._try_to_reconnect, name="surreal-reconnect", daemon=True
                )
                self._reconnecting.start()

    def _try_to_reconnect(self) -> None:
        for delay in retry_delays():
            self._waking.wait(delay)
            self._waking.clear()
            if self._stopping.is_set():
                break
            if self._is_reached() and self._is_over():
                return

    def _is_over(self) -> bool:
        """Whether nothing is left to do; what was queued in the last moment is."""
        with self._changing:
            if not len(self.queue):
                self._reconnecting = None
                return True
        return False

    def _is_reached(self) -> bool:
        try:
            self._store.probe()
            done = self._flush()
        except Unreachable as lost:
            self._lost = str(lost)
            return False
        except Exception as error:  # the edge of a thread
            log.warning("The queue could not be carried out: %s", error)
            return False
        if self._lost or done:
            log.info("The memory is reached again; %s queued writes were carried out.", done)
        self._lost = ""
        return True

    def _flush(self) -> int:
        """Carry out what waits, in its order; another process may be doing it."""
        done = 0
        while len(self.queue):
            if (held := self.queue.try_to_work()) is None:
                if self._stopping.wait(_OTHERS_TURN_SECONDS):
                    break
                continue
            try:
                for file, entry in self.queue.entries():
                    if self._stopping.is_set():
                        return done
                    if refused := self._carried_out(entry):
                        self._set_aside(file, entry, refused)
                    else:
                        self.queue.remove(file)
                        done += 1
            finally:
                held.release()
        return done

    def _carried_out(self, entry: Mapping[str, Any]) -> str:
        """Why it was refused; empty where it was done."""
        try:
            call = SurrealCall(**entry)
            answer = self._store.perform(call)
        except (DialectError, Refusal, VaultmemError, TypeError, KeyError) as error:
            return str(error) or type(error).__name__
        self.at_hand.note_carried_out(call, answer)
        return ""

    def _set_aside(self, file: Path, entry: Mapping[str, Any], why: str) -> None:
        aside = self.queue.set_aside(file, {**entry, "refused": why})
        log.error("A queued write was refused and is kept in %s: %s", aside, why)

    # --- the end -----------------------------------------------------------------------------

    def end(self) -> None:
        """What is queued is carried out where the store can be reached; else it stays."""
        with self._changing:
            working = self._reconnecting
        if working is not None and not self._lost:
            working.join(_END_SECONDS)
        self._stopping.set()
        self._waking.set()
        if working is not None:
            working.join(_END_SECONDS)
        if left := len(self.queue):
            log.warning("%s writes stay in the queue %s.", left, self.queue.folder)

    def told_status(self) -> dict[str, Any]:
        """What get_memory_status says of it beside the rest."""
        waiting, refused = len(self.queue), self.queue.count_set_aside()
        told: dict[str, Any] = {"queued_writes": waiting} if waiting else {}
        return told | ({"refused_writes": refused} if refused else {})


def _acknowledged(call: SurrealCall) -> Iterator[tuple[str, Any]]:
    """In the shape of the tool's own answer, as far as it is known before it is carried out."""
    given = answers.plain_answer(dict(call.given))
    if call.tool == "store_memory":
        yield "memory_id", f"memory:{call.key}"  # by which it is found after the flush as well
        yield from {"embedding_generated": False, "graph_edges_created": 0}.items()
        yield from ((name, given.get(name)) for name in ("scope", "type"))
    elif "memory_id" in given:
        yield "memory_id", given["memory_id"]
    yield "status", "queued"
