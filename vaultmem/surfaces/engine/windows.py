"""The windows of an engine, each with its own caller on the shared vault."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from vaultmem import config
from vaultmem.errors import VaultmemError
from vaultmem.front.asker import working_for
from vaultmem.surfaces import serving
from vaultmem.surfaces.cli.serve_options import given_to_serve
from vaultmem.surfaces.engine.callers import Hello, Refused, Visitor, speak_for
from vaultmem.surfaces.engine.lean_window import LeanWindow
from vaultmem.surfaces.engine.rest_of_window import RestOfWindow
from vaultmem.surfaces.engine.shared_vault import SharedVault, WindowVault

if TYPE_CHECKING:
    from vaultmem.surfaces.engine.library_windows import LibraryWindow, WindowLoop

log = logging.getLogger("vaultmem")

GRACE_SECONDS: Final = 10.0  # for what runs when the end comes
_SWITCH_SECONDS: Final = (
    0.001  # until a thread that wants the interpreter gets it; else five times that
)


class Windows:
    def __init__(self, shared: SharedVault) -> None:
        sys.setswitchinterval(_SWITCH_SECONDS)
        self._shared = shared
        self._changing = threading.Condition()
        self._lean: set[LeanWindow] = set()
        self._loop: WindowLoop | None = None

    def serve(self, visitor: Visitor, hello: Hello) -> None:
        """Blocks until the window is gone."""
        with working_for(hello.asker):
            how = _asked_serving(self._shared, visitor, hello.arguments, hello.session)
            visitor.session = how.given["session"]
            visitor.project = how.settings["project"]
            read_only = bool(how.settings["read_only"])
        visitor.tell({"session": visitor.session, "read_only": read_only})
        if how.dialect is None:
            self._serve_lean(visitor, hello, how)
        else:
            life = self._shared.window(_caller_of(how))
            self._begun(visitor, hello, how, life, visitor.lines(), ()).wait()

    def stop(self) -> None:
        """What runs in the windows may finish."""
        with self._changing:
            for window in self._lean:
                window.end()
        if self._loop is not None:
            self._loop.stop()
        with self._changing:
            self._changing.wait_for(lambda: not self._lean, GRACE_SECONDS * 1.5)

    def _serve_lean(self, visitor: Visitor, hello: Hello, how: serving.Serving) -> None:
        rest: list[RestOfWindow] = []

        def begin_library(said: list[bytes], answered: list[Any]) -> RestOfWindow:
            life = self._shared.life_beside(window.life)
            rest.append(
                RestOfWindow(
                    said,
                    lambda lines: self._begun(visitor, hello, how, life, lines, answered).wait(),
                    visitor.hang_up,
                )
            )
            return rest[0]

        def life(changed: Callable[[], None]) -> WindowVault:
            return WindowVault(self._shared, _caller_of(how), lambda vault: None, changed)

        window = LeanWindow(visitor, how, life, self._shared, begin_library)
        with self._changing:
            self._lean.add(window)
        try:
            with working_for(hello.asker):
                end = speak_for(visitor)
                window.serve(GRACE_SECONDS)
                for each in rest:
                    each.end()
                end()
        finally:
            _end_life(window.life)
            with self._changing:
                self._lean.discard(window)
                self._changing.notify_all()

    def _begun(
        self,
        visitor: Visitor,
        hello: Hello,
        how: serving.Serving,
        life: Any,
        lines: Iterator[bytes],
        answered: Sequence[Any],
    ) -> LibraryWindow:
        from vaultmem.surfaces.engine.library_windows import LibraryWindow, WindowLoop

        with self._changing:
            if self._loop is None:
                self._loop = WindowLoop()
        window = LibraryWindow(visitor, hello.asker, how, life, lines, answered)
        self._loop.begin(window)
        return window


def _caller_of(how: serving.Serving) -> Callable[[], Any]:
    def caller() -> Any:
        settings = serving.served_settings(how.root, how.given)
        serving.require_servable_settings(settings)  # its pins may stand in what is not read
        return how.caller(settings)

    return caller


def _end_life(life: WindowVault) -> None:
    try:
        life.stop_following()
    except Exception:  # the edge of a window
        log.warning("a window could not put all in order", exc_info=True)


def _asked_serving(
    shared: SharedVault, visitor: Visitor, arguments: Sequence[str], session: str
) -> serving.Serving:
    """What the window's command line says, read as `serve` itself reads it."""
    end = speak_for(visitor)
    try:
        given = given_to_serve(arguments)
        level = serving.server_log_level(given.pop("log_level"), given["dialect"])
        visitor.log_level = logging.getLevelName(level)
        log.setLevel(min(log.level or logging.WARNING, visitor.log_level))
        dialect = serving.served_dialect(given, over_http=False)
        root = config.find_vault(given.pop("vault"))
        if given.pop("address") or given.pop("create") or given["no_watch"] or root != shared.root:
            raise Refused("the command line is not for this engine")
        given["session"] = given["session"] or session
        return serving.prepared_serving(root, given, dialect, at_once=False)
    except (click.UsageError, VaultmemError) as error:
        raise Refused(f"the command line is not for an engine: {error}") from None
    finally:
        end()
