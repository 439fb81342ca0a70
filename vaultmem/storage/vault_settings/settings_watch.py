"""The vault's settings while a server runs: what they keep away must be kept away at once."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from vaultmem.config import CONFIG, Setting, Settings
from vaultmem.errors import InvalidInput, Unavailable

_SETTLED: Final = 2.0  # seconds that a file must rest before it opens what was closed
_Stamp = tuple[int, int, int, int]


class SettingsWatch:
    """An editor empties a file before it fills it, and a synchronisation takes it away for a
    moment. So what opens more than before is believed only once it has stood there a while."""

    def __init__(self, root: Path, load: Callable[[], Settings]) -> None:
        self._file = root / CONFIG
        self._load = load
        self._known = self._stamp()
        self._waiting: tuple[_Stamp | None, float] = (None, 0.0)
        self._wrong = ""

    def changed(self, now: Settings) -> Settings | None:
        """Other settings than those in force, if there are any. What is wrong with them is said
        until it is put right: something may be meant to be private."""
        stamp = self._stamp()
        if stamp == self._known:
            if self._wrong:
                raise Unavailable(self._wrong)
            return None
        found = self._load()
        if _opens_more(now, found) and not self._has_rested(stamp):
            closed = _closed_by_either(now, found)
            return None if closed == now else closed
        self._known, self._wrong = stamp, ""
        try:
            found.require_valid()
        except InvalidInput as error:
            self._wrong = str(error)
            raise Unavailable(self._wrong) from None
        return found

    def _has_rested(self, stamp: _Stamp | None) -> bool:
        if self._waiting[0] != stamp or not self._waiting[1]:
            self._waiting = stamp, time.monotonic()
        return time.monotonic() - self._waiting[1] >= _SETTLED

    def _stamp(self) -> _Stamp | None:
        try:
            found = os.stat(self._file)
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size


def _opens_more(before: Settings, after: Settings) -> bool:
    if after.is_misread:
        return False
    closed = {folder: level for folder, level in before.access.items() if level != "write"}
    return not (
        set(before["exclude"]) <= set(after["exclude"])
        and all(after.access.get(folder) in (level, "none") for folder, level in closed.items())
        and before["folders.templates"] == after["folders.templates"]
        and before["privacy.redact"] <= after["privacy.redact"]
        and set(before["privacy.patterns"]) <= set(after["privacy.patterns"])
        and before["read_only"] <= after["read_only"]
    )


def _closed_by_either(before: Settings, after: Settings) -> Settings:
    """The settings in force, and at once what the others keep away besides."""
    closed = {
        name: Setting(
            tuple(dict.fromkeys((*before[name], *after[name]))), after.values[name].origin
        )
        for name in ("exclude", "privacy.patterns")
        if not set(after[name]) <= set(before[name])
    }
    for name in ("privacy.redact", "read_only"):
        if after[name] and not before[name]:
            closed[name] = after.values[name]
    access = dict(before.access)
    for folder, level in after.access.items():
        if _LEVELS.index(level) < _LEVELS.index(access.get(folder, _LEVELS[-1])):
            access[folder] = level
    return replace(before, values={**before.values, **closed}, access=access)


_LEVELS: Final = ("none", "read", "write")  # from the most closed on
