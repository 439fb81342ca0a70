"""The one open vault of an engine, and what each window and command gets of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vaultmem import config
from vaultmem.front.asker import working_for
from vaultmem.surfaces import dialects, serving
from vaultmem.surfaces.engine.callers import Refused
from vaultmem.surfaces.engine.turns import Turns
from vaultmem.surfaces.mcp.followed_vault import (
    GAP_TELLINGS,
    FollowedVault,
    Life,
    MakeLife,
    Opened,
)
from vaultmem.upkeep import template
from vaultmem.vault import Vault, lending

if TYPE_CHECKING:
    from vaultmem.operations.caller import Caller


GATHER_SECONDS: Final = 0.1  # in which changes are one change for whoever is told


class LentVault(Vault):
    """The engine's vault for one caller, who cannot close it."""

    def close(self) -> None:
        """It goes on for the others."""


class SharedVault:
    def __init__(self, root: Path, dialect: str) -> None:
        self.root = root
        self._dialect = dialect  # one with settings of its own, or none
        self._windows: list[Callable[[], None]] = []
        self._changing = threading.Lock()
        self.turns = Turns()
        self.writing_turns = Turns(1)  # who writes waits for disks, and questions need not
        self._to_tell: list[Callable[[], None]] = []
        self.followed = FollowedVault(
            self._open,
            lambda vault: None,
            self._tell_windows,
            watch=True,
            is_busy=lambda: not (self.turns.is_quiet and self.writing_turns.is_quiet),
        )

    def _open(self) -> Vault:
        template.require_vault_there(self.root)
        settings = config.load(self.root)
        serving.require_servable_settings(settings)
        usual: Mapping[str, Any] = {}
        if self._dialect:
            usual = dialects.load_dialect(self._dialect, dialects.ServerOptions()).settings
        flags = {n: v for n, v in usual.items() if settings.values[n].origin == "default"}
        return Vault.open(self.root, flags)

    def for_caller(self, caller: Caller) -> LentVault:
        with working_for(None), lending(None):
            return LentVault(self.followed.vault().parts, caller)

    def lend(self, root: Path, settings: config.Settings, caller: Caller) -> LentVault:
        """To a command that would have opened a vault by itself."""
        if root != self.root:
            raise Refused(f"{root} is not this engine's vault")
        read_only = caller.read_only or settings["read_only"]
        return self.for_caller(replace(caller, read_only=read_only))

    def close(self) -> None:
        self.followed.stop_following()

    # --- windows -------------------------------------------------------------------------

    def window(self, caller: Callable[[], Caller]) -> Callable[[Opened, Callable[[], None]], Life]:
        """What the server of one window has for a vault."""
        return lambda opened, changed: WindowVault(self, caller, opened, changed)

    def life_beside(self, window: WindowVault) -> MakeLife:
        """The same for a second server of that window."""
        return lambda opened, changed: _LifeBeside(self, window, changed)

    def tell_soon(self, tell: Callable[[], None]) -> None:
        """What changes within a moment is one change."""
        with self._changing:
            self._to_tell.append(tell)
            if len(self._to_tell) > 1:
                return
        later = threading.Timer(GATHER_SECONDS, self._tell_gathered)
        later.daemon = True
        later.start()

    def _tell_gathered(self) -> None:
        with self._changing:
            told, self._to_tell = dict.fromkeys(self._to_tell), []
        for tell in told:
            tell()

    def begin_telling(self, tell: Callable[[], None]) -> None:
        """Call it after each change."""
        with self._changing:
            self._windows.append(tell)

    def end_telling(self, tell: Callable[[], None]) -> None:
        with self._changing:
            self._windows.remove(tell)

    def _tell_windows(self) -> None:
        with self._changing:
            told = tuple(self._windows)
        for tell in told:
            tell()


class WindowVault:
    """The shared vault as one window has it: opened for its caller, its session held."""

    def __init__(
        self,
        shared: SharedVault,
        caller: Callable[[], Caller],
        opened: Opened,
        changed: Callable[[], None],
    ) -> None:
        self._shared, self._caller = shared, caller
        self._opened, self._changed = opened, changed
        self._vault: LentVault | None = None
        self._opening = threading.Lock()
        shared.begin_telling(changed)
        self._is_over = False
        self._holds_session = False

    def vault(self) -> Vault:
        with self._opening:
            known = self._vault
            made = self._shared.for_caller(known.caller if known else self._caller())
            if known is None:
                self._opened(made)
                made.tell_gaps(GAP_TELLINGS)
            self._vault = made
            self._hold_session(made)
            return made

    def _hold_session(self, vault: Vault) -> None:
        if not self._holds_session and not self._is_over:
            vault.serve_session()
            self._holds_session = True

    @property
    def in_use(self) -> Vault | None:
        return None if self._is_over else self._vault

    def start_following(self) -> None:
        """The engine follows the files from its first window on."""
        self._shared.followed.start_following()

    def stop_following(self) -> None:
        with self._opening:
            if self._is_over:
                return
            self._is_over = True
            self._shared.end_telling(self._changed)
            if self._vault is not None and self._holds_session:
                self._vault.leave_session()


class _LifeBeside:
    """Ends without ending the window."""

    def __init__(
        self, shared: SharedVault, window: WindowVault, changed: Callable[[], None]
    ) -> None:
        self._shared, self._window, self._changed = shared, window, changed
        self._is_over = False
        shared.begin_telling(changed)

    def vault(self) -> Vault:
        return self._window.vault()

    @property
    def in_use(self) -> Vault | None:
        return self._window.in_use

    def start_following(self) -> None:
        self._window.start_following()

    def stop_following(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._shared.end_telling(self._changed)
