"""Where vaultmem keeps its own files: the index, and what this machine alone needs to know.

In the vault's hidden folder, or in one that the person named. It is made on first use, but never
in the place of a vault or of a drive that is not there.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import Final

from vaultmem.base import durable
from vaultmem.base.own_path import OwnPath
from vaultmem.config import STATE, state_dir_elsewhere
from vaultmem.errors import Away, ReadOnly, VaultmemError
from vaultmem.storage.root import VaultFolder

# Ignores itself too: git shows nothing of a vault that is merely indexed. `init` puts the
# template's in its place, which is to be committed.
OWN_GITIGNORE: Final = b"*\n!config.toml\n"
_NOT_THERE: Final = (
    "The folder {} for vaultmem's own files is not there, and cannot be made: perhaps its drive is "
    "not mounted. Nothing was changed; all goes on by itself once it is back."
)
_READ_ONLY: Final = (
    "{} is on a drive that is mounted read-only, so nothing was changed. It can be read and "
    "searched, and written again once the drive can be."
)
_KEPT_IN: Final = "The index is kept in {} meanwhile."
_NOT_COPIED: Final = shutil.ignore_patterns("models", "*-shm", "*.lock", ".tmp*")


class OwnFolder:
    def __init__(self, home: VaultFolder, place: OwnPath) -> None:
        in_vault = place.anchor == home.path
        self.kept = place._replace(require=home.require_is) if in_vault else place
        self._home = home
        self._device: int | None = None  # of a folder outside of the vault
        self._spare: OwnPath | None = None
        self._temporary: Path | None = None  # where nothing else can be written
        if home.path.is_dir() and not _is_own_folder_writable(place):
            self._use_spare_own_folder(home.path)

    @property
    def place(self) -> OwnPath:
        """Where the files are: in the person's own state folder while theirs cannot be written."""
        return self.kept if self._spare is None else self._spare

    def _use_spare_own_folder(self, vault: Path) -> None:
        """One that stays for the next time; a temporary one where there is no room for it."""
        elsewhere = state_dir_elsewhere(vault)
        try:
            if durable.make_folders(elsewhere.anchor):
                elsewhere.anchor.chmod(0o700)  # who may not read the vault may not read this
            _fill_spare_own_folder(self.kept, elsewhere)
            self._spare = elsewhere
        except (OSError, VaultmemError):
            import tempfile

            self._temporary = Path(tempfile.mkdtemp(prefix="vaultmem-"))
            self._spare = OwnPath(self._temporary, ("own",))
            with contextlib.suppress(OSError, VaultmemError):
                _fill_spare_own_folder(self.kept, self._spare)

    def require_writable(self) -> None:
        """A vault that can be read alone is searched with an index of its own, and not changed."""
        if self._spare is None or _is_own_folder_writable(self.kept):
            self._spare = None  # what was opened there stays open until the end
            return
        if _is_own_folder_on_read_only_drive(self._home.path):
            raise Away(_READ_ONLY.format(self._home.path))
        raise ReadOnly(f"There is no permission to write to {self.kept}; nothing was changed.")

    def unwritable(self) -> str:
        """Why nothing can be written, if so."""
        try:
            self.require_writable()
        except VaultmemError as error:
            return str(error) if self._spare is None else f"{error} {_KEPT_IN.format(self._spare)}"
        return ""

    def close(self) -> None:
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def trouble(self) -> str:
        """Why neither can be used now, the vault or what is kept for it elsewhere."""
        if reason := self._home.trouble():
            return reason
        named = self.kept.anchor
        unused = self._spare is not None or self._device is None
        if unused or named == self._home.path or named.is_dir():
            return ""
        return "" if self._may_own_folder_be_made(named) else _NOT_THERE.format(named)

    def local(self) -> OwnPath:
        """What is this machine's alone; kept out of git."""
        self._home.require()
        folder = self.place / "local"
        with durable.disk_errors_explained(f"Making {folder}"):
            if self._spare is None and self.place.anchor != self._home.path:
                self._make_own_folder_elsewhere(self.place.anchor)
            if not folder.is_folder():
                folder.make()
                self._let_git_ignore_own_folder()
        return folder

    def _make_own_folder_elsewhere(self, named: Path) -> None:
        """The folder that the person named; not where the drive was that it lay on."""
        if not named.is_dir():
            if not self._may_own_folder_be_made(named):
                raise Away(_NOT_THERE.format(named))
            durable.make_folders(named)
        self._device = named.stat().st_dev

    def _may_own_folder_be_made(self, named: Path) -> bool:
        standing = next(folder for folder in named.parents if os.path.lexists(folder))
        return standing.is_dir() and self._device in (None, standing.stat().st_dev)

    def _let_git_ignore_own_folder(self) -> None:
        if self._spare is not None:
            return
        own = OwnPath(self._home.path, (STATE,), self._home.require_is)
        with contextlib.suppress(FileExistsError):
            if own.is_folder():
                (own / ".gitignore").create(OWN_GITIGNORE)


def _is_own_folder_writable(place: OwnPath) -> bool:
    """Whether all that is there of our own can be written, and the rest be made."""
    folders = [place.path / "index", place.path / "local"]
    standing = [f for f in folders if f.is_dir()] or [
        next(f for f in (place.path, *place.path.parents) if f.is_dir())
    ]
    return all(os.access(folder, os.W_OK) for folder in standing)


def _is_own_folder_on_read_only_drive(folder: Path) -> bool:
    try:
        return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
    except (AttributeError, OSError):  # Windows does not say
        return False


def _fill_spare_own_folder(place: OwnPath, spare: OwnPath) -> None:
    """The first time with a copy of the index, if there is one: it is brought up to date then."""
    local = spare / "local"
    local.make()
    probe = local / "writable"
    probe.write(b"")
    probe.remove()
    index = spare / "index"
    if not index.is_folder() and (place / "index").is_folder():
        shutil.copytree(place.path / "index", index.path, symlinks=True, ignore=_NOT_COPIED)
