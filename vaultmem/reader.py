"""An open vault for commands that only look: they load no code that writes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from vaultmem import config
from vaultmem.desk import Caller
from vaultmem.looking import Looking
from vaultmem.parts import Parts
from vaultmem.status import Health


class Reader(Looking, Health):
    _parts: Parts

    @classmethod
    def open(
        cls,
        vault: str | Path | None = None,
        flags: Mapping[str, Any] | None = None,
        *,
        caller: Caller | None = None,
        strict: bool = True,
    ) -> Self:
        """Open a vault that exists; `strict` refuses wrong settings instead of ignoring them."""
        root = config.find_vault(str(vault) if vault else None)
        settings = config.load(root, flags)
        if strict:
            settings.require_valid()
        pinned = Caller(user=settings["user"], project=settings["project"])
        return cls(Parts(root, settings), caller or pinned)

    def for_caller(self, caller: Caller) -> Self:
        """The same open vault for someone else."""
        return type(self)(self._parts, caller)

    @property
    def root(self) -> Path:
        return self.store.root

    def close(self) -> None:
        self._parts.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
