"""Whether the program on disk is still the one that runs here."""

from __future__ import annotations

import os
import sys
import time
from typing import Final

LOOK_SECONDS: Final = 3.0  # between two looks at some hundred files
_NAME: Final = "vaultmem"


class ProgramFiles:
    """Each file is known from when its module was loaded: modules come in when they are needed."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}
        self._looked = float("-inf")
        self._are_others = False
        self.are_others()

    def are_others(self) -> bool:
        """Whether the program was upgraded, or is gone; once it was, it stays so."""
        if not self._are_others and time.monotonic() - self._looked > LOOK_SECONDS:
            self._looked = time.monotonic()
            self._are_others = any(map(self._is_another, _loaded_files()))
        return self._are_others

    def _is_another(self, file: str) -> bool:
        try:
            saved = os.stat(file).st_mtime_ns
        except OSError:
            return True
        return self._seen.setdefault(file, saved) != saved


def _loaded_files() -> list[str]:
    loaded = [each for name, each in list(sys.modules.items()) if name.partition(".")[0] == _NAME]
    return [file for each in loaded if (file := getattr(each, "__file__", None))]
