"""Making a vault from the template, or adding to a vault what it lacks.

First a plan, then the doing: nothing that is there is overwritten, and an existing
`.obsidian` folder is left wholly alone, because Obsidian rewrites it while it runs.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from vaultmem import config
from vaultmem.base import durable, small_files
from vaultmem.base.own_path import OwnPath
from vaultmem.errors import InvalidInput, OutsideVault, Unavailable, VaultmemError
from vaultmem.git import repo
from vaultmem.notes import file_names
from vaultmem.storage.own_folder import OWN_GITIGNORE
from vaultmem.storage.store import Store

EXAMPLES: Final = ("Memories/", "Entities/", "Sessions/")
_FOLDERS: Final = ("Memories", "Entities", "Sessions")
_GIT_FILES: Final = (".gitignore", ".gitattributes")
_PARTLY: Final = "Some files may have been added; run it again when that is put right."


@dataclass(frozen=True, slots=True)
class VaultPlan:
    root: Path
    add: tuple[str, ...]  # files to make, as vault paths
    folders: tuple[str, ...]  # folders to make
    keep: tuple[str, ...]  # files of the template that are there already
    advice: tuple[str, ...]  # what the person may want to do by hand
    new: bool  # no vault was here before

    @property
    def empty(self) -> bool:
        return not self.add and not self.folders


def template_folder() -> Path:
    """The template: beside the code in an installed package, at the top in a checkout."""
    here = Path(__file__).parents[1]
    for folder in (here / "vault-template", here.parent / "vault-template"):
        if folder.is_dir():
            return folder
    raise Unavailable("The vault template is missing from this installation; install it again.")


def plan_vault_files(root: Path, *, git: bool = False, examples: bool = False) -> VaultPlan:
    with durable.disk_errors_explained(f"Looking at {root}"):
        if os.path.lexists(root) and not root.is_dir():
            raise InvalidInput(f"{root} is a file; a vault is a folder.")
        return _planned_from_template(root, git=git, examples=examples)


def _planned_from_template(root: Path, *, git: bool, examples: bool) -> VaultPlan:
    new = not root.exists() or not any(root.iterdir())
    settings = config.load(root)
    settings.require_valid()
    there = _There(root)
    add: list[str] = []
    keep: list[str] = []
    for path in _template_files(examples):
        place = _place_of_template(path, settings)
        if place.startswith(".obsidian/") and ".obsidian" in there:
            continue
        if place in _GIT_FILES and not new and not git:
            continue
        kept = place in there and not _is_gitignore_of_index(_template_path(root, place))
        (keep if kept else add).append(place)
    folders = [settings[f"folders.{name.lower()}"] for name in _FOLDERS]
    missing = tuple(folder for folder in folders if folder not in there)
    advice = tuple(_template_advice(root, git=git))
    return VaultPlan(root, tuple(add), missing, tuple(keep), advice, new)


class _There:
    """Which names a folder has, case and accents folded; refuses what leads out of it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._names: dict[Path, dict[str, str]] = {}

    def __contains__(self, place: str) -> bool:
        at = self.root
        for segment in place.split("/"):
            if at.is_symlink() and at != self.root:
                raise OutsideVault(f"{at} is a link to another place; nothing is made there.")
            if not at.is_dir():
                if os.path.lexists(at):
                    raise InvalidInput(f"{at} is a file where the vault needs a folder.")
                return False
            name = self._listed_there(at).get(file_names.name_key(segment))
            if name is None:
                return False
            at /= name
        return True

    def _listed_there(self, folder: Path) -> dict[str, str]:
        if folder not in self._names:
            self._names[folder] = {file_names.name_key(name): name for name in os.listdir(folder)}
        return self._names[folder]


def _template_advice(root: Path, *, git: bool) -> Iterator[str]:
    with contextlib.suppress(OSError):
        if git and b"merge=vaultmem" not in small_files.read_small_file(root / ".gitattributes"):
            yield "Add this line to .gitattributes to merge notes by property: *.md merge=vaultmem"
    if (root / ".obsidian").exists():
        yield "Obsidian's own settings were left as they are."


def make_planned_vault(planned: VaultPlan) -> None:
    root, template = planned.root, template_folder()
    settings = config.load(root)
    places = {_place_of_template(path, settings): path for path in _template_files(True)}
    with durable.disk_errors_explained(f"Making the vault in {root}", _PARTLY):
        durable.make_folders(root)
        for folder in planned.folders:
            _template_path(root, folder).make()
        for place in planned.add:
            raw = (template / places[place]).read_bytes()
            if place == ".gitattributes" and not planned.new and _has_crlf_vault(root, settings):
                raw = raw.replace(b"text eol=lf merge=vaultmem", b"merge=vaultmem")
            file = _template_path(root, place)
            if _is_gitignore_of_index(file):
                file.write(raw)
            else:
                file.create(raw)


def _template_path(root: Path, place: str) -> OwnPath:
    return OwnPath(root, tuple(filter(None, place.split("/"))))


def _is_gitignore_of_index(file: OwnPath) -> bool:
    """The ignore file that indexing made, as it made it: it would keep our files out of git."""
    if file.parts != (config.STATE, ".gitignore"):
        return False
    with contextlib.suppress(OSError, VaultmemError):
        return file.read(len(OWN_GITIGNORE) + 1) == OWN_GITIGNORE
    return False


def _template_files(examples: bool) -> Iterator[str]:
    root = template_folder()
    for file in sorted(root.rglob("*")):
        path = file.relative_to(root).as_posix()
        if file.is_file() and (examples or not path.startswith(EXAMPLES)):
            yield path


def _place_of_template(path: str, settings: config.Settings) -> str:
    """Where a file of the template goes in a vault that names its folders differently."""
    first, slash, rest = path.partition("/")
    name = f"folders.{first.lower()}"
    return posixpath.join(settings[name], rest) if slash and name in settings.values else path


def _has_crlf_vault(root: Path, settings: config.Settings) -> bool:
    """Whether the vault has Windows line ends, which `eol=lf` would rewrite in every checkout."""
    store = Store(root, settings)
    for path in store.walk().files:
        if path.lower().endswith(".md"):
            try:
                if b"\r\n" in store.read(path).raw[: 1 << 16]:
                    return True
            except VaultmemError:
                continue
    return False


# --- git -------------------------------------------------------------------------------------


def start_vault_git(root: Path, added: tuple[str, ...]) -> str:
    """Make the vault a git repository and commit what was added; says what was done."""
    made = not (root / ".git").exists()
    ours = repo.init_repository(root) if made else repo.Repo(root)
    repo.register_merge_driver(root)
    ignored = _template_files_git_ignores(ours, added)
    wanted = [path for path in added if path not in ignored]
    if not wanted:
        return "Started a git repository." if made else "The vault is in git already."
    try:
        ours.act("add", "--", *wanted)
        ours.act("commit", "--quiet", "-m", "Add the vault's own files", "--", *wanted)
    except (Unavailable, InvalidInput) as error:
        return f"The files are not committed yet: {error}"
    return "Started a git repository and committed the files." if made else "Committed the files."


def _template_files_git_ignores(ours: repo.Repo, paths: tuple[str, ...]) -> set[str]:
    """What the vault's own rules keep out of git."""
    if not paths:
        return set()
    asked = ["check-ignore", "-z", "--stdin"]
    plain = {"GIT_LITERAL_PATHSPECS": "0"}  # this command knows no other
    listed = os.fsencode("\0".join(paths))
    return {*ours.git(*asked, input=listed, environment=plain, check=False).names}


def is_vault_drive_awaited(folder: Path) -> bool:
    """Whether a folder that is not there, or empty, is the place of a drive not mounted now."""
    from vaultmem.storage import drives

    return drives.is_drive_awaited(folder)


def require_vault_there(root: Path) -> None:
    from vaultmem.storage.root import VaultFolder

    VaultFolder(root).require()
