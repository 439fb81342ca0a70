"""What befalls the whole vault for a while: a full disk, a read-only one, a vault that is away.

With a small file system of its own where mounting is allowed, so that native code meets the
faults too; elsewhere those two are left out, and the servers' own disks still fail by order.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

SIZE: Final = "64m"
LEAST: Final = 24_000  # bytes that a full disk still has


class Weather:
    def __init__(self, folder: Path) -> None:
        self._disk = folder / "disk"
        self._disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(self._disk)]
        self.mounted = (
            os.name == "posix" and subprocess.run(mount, capture_output=True).returncode == 0
        )
        self.root = self._disk / "vault"
        self._away = self._disk / "away"
        self._ballast = self._disk / "ballast"
        self._now, self._until = "", 0

    @property
    def fair(self) -> bool:
        return not self._now

    @property
    def away(self) -> bool:
        return self._now.startswith("take away")

    @property
    def can_start(self) -> bool:
        """Whether a server that is started now should be of use."""
        return self.fair or self._now == "make read-only"

    def change(self, what: str, until: int) -> None:
        if not self._now and (self.mounted or what.startswith("take away")):
            self._now, self._until = what, until
            if what == "fill the disk":
                self._fill()
            elif what == "make read-only":
                self._remount("ro")
            else:
                self.root.rename(self._away)
                if what.endswith("empty"):
                    self.root.mkdir()

    def pass_by(self, step: int) -> None:
        if self._now and step >= self._until:
            self.clear()

    def clear(self) -> None:
        what, self._now = self._now, ""
        if what == "fill the disk":
            self._ballast.unlink()
        elif what == "make read-only":
            self._remount("rw")
        elif what:
            if what.endswith("empty"):
                assert not (ghosts := list(self.root.iterdir())), f"written into nowhere: {ghosts}"
                self.root.rmdir()
            assert not self.root.exists(), "a vault that was away was made anew"
            self._away.rename(self.root)

    def _fill(self) -> None:
        try:
            with open(self._ballast, "wb", buffering=0) as file:
                while True:
                    file.write(bytes(65536))
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
        os.truncate(self._ballast, max(0, self._ballast.stat().st_size - LEAST))

    def _remount(self, how: str) -> None:
        done = subprocess.run(["mount", "-o", f"remount,{how}", str(self._disk)])
        if how == "ro" and done.returncode:
            self._now = ""  # something was being written just now

    def damage(self, what: str) -> None:
        """Of the index, which is nobody's memory."""
        index = self.root / ".vaultmem" / "index"
        if what == "delete the index":
            shutil.rmtree(index, ignore_errors=True)
        elif what == "cut the catalog" and (index / "catalog.db").exists():
            os.truncate(index / "catalog.db", 0)
        elif largest := _largest(index):
            if what == "cut the text":
                os.truncate(largest, largest.stat().st_size // 2)
            else:
                with open(largest, "r+b", buffering=0) as file:
                    file.write(b"\xa5" * 200)

    def end(self) -> None:
        if self.mounted:
            subprocess.run(["umount", "-l", str(self._disk)], check=True)


def _largest(index: Path) -> Path | None:
    found = [
        file for file in index.glob("fulltext-*/*") if file.suffix in (".fast", ".term", ".pos")
    ]
    return max(found, key=lambda file: (file.stat().st_size, file.name), default=None)
