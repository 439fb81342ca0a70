"""A server over HTTP that is the engine of its vault as well: windows and commands find it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from vaultmem.base import lock
from vaultmem.errors import VaultmemError
from vaultmem.front.asker import environment
from vaultmem.front.engine_place import OFF, SWITCH, EnginePlace, NoPlace, engine_place
from vaultmem.surfaces.engine.process import Engine, elected
from vaultmem.surfaces.engine.shared_vault import WindowVault

if TYPE_CHECKING:
    from vaultmem.operations.caller import Caller
    from vaultmem.surfaces.mcp.followed_vault import Life, MakeLife, Opened
    from vaultmem.surfaces.serving import Serving


class HostingEngine:
    """It stays for as long as the server that hosts it."""

    def __init__(self, how: Serving, place: EnginePlace, dialect: str, held: lock.HeldLock) -> None:
        self._how = how
        self._engine = Engine(how.root, place, dialect, idle_seconds=float("inf"))
        self.shared = self._engine.vault()
        self._attending = threading.Thread(target=self._engine.attend, args=[held], daemon=True)
        self._attending.start()

    @property
    def life(self) -> MakeLife:
        """Of the server that hosts it."""

        def made(opened: Opened, changed: Callable[[], None]) -> Life:
            return _HostVault(self, self._caller, opened, changed)

        return made

    def _caller(self) -> Caller:
        return self._how.caller(self._how.settings)

    def stop(self) -> None:
        """What runs in windows may finish; it may have stopped attending long before."""
        self._engine.stop()
        self._attending.join()
        self.shared.close()


class _HostVault(WindowVault):
    """The vault is closed with the server: nobody has it any longer."""

    def __init__(self, host: HostingEngine, *how: object) -> None:
        super().__init__(host.shared, *how)  # type: ignore[arg-type]
        self._host = host

    def stop_following(self) -> None:
        super().stop_following()
        self._host.stop()


def hosting_engine(how: Serving) -> HostingEngine | None:
    """None where there is an engine already, or is to be none."""
    if how.given["no_watch"] or environment().get(SWITCH, "").lower() in OFF:
        return None
    dialect = how.dialect.name if how.dialect and how.dialect.settings else ""
    try:
        place = engine_place(str(how.root), dialect, environment())
        place.make_folder()
        held = elected(place)
    except (NoPlace, OSError, VaultmemError):
        return None
    return HostingEngine(how, place, dialect, held) if held else None
