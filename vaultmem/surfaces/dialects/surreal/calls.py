"""A call of that system's tools, wherever it is carried out, and why it could not be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol

SERVER_NAME: Final = "surrealdb-memory"


class SurrealCall(NamedTuple):
    tool: str
    given: Mapping[str, Any]
    key: str = ""  # of a write: with the same key it is done once
    session: str = ""
    client: str = ""
    caller: Mapping[str, Any] | None = None  # who is bound to what, where the server knew


class Unreachable(Exception):
    """The store cannot be reached now; the text says why."""


class Refusal(Exception):
    """The store's own error, in its envelope."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        super().__init__(str(told.get("message", "")))
        self.told = told


class SurrealStore(Protocol):
    """Where calls are carried out: the vault here, or another server."""

    def perform(self, call: SurrealCall) -> dict[str, Any]: ...
    def probe(self) -> None: ...
