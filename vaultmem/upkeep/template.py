"""Making a vault from the template, or adding to a vault what a person asks for.

First a plan, then the doing: nothing that is there is overwritten, and an existing
`.obsidian` folder is left wholly alone, because Obsidian rewrites it while it runs. A vault
that has notes gets `.vaultmem/`, and of the rest only the pieces that were named.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from vaultmem import config
from vaultmem.base import durable, small_files
from vaultmem.base.own_path import OwnPath
from vaultmem.base.own_program import command_to_type, shell_line
from vaultmem.errors import InvalidInput, OutsideVault, Unavailable, VaultmemError
from vaultmem.git import repo
from vaultmem.notes import file_names
from vaultmem.storage.no_memories import shared_file
from vaultmem.storage.own_folder import OWN_GITIGNORE
from vaultmem.storage.store import Store
from vaultmem.storage.vault_settings.obsidian_settings import ObsidianSettings
from vaultmem.upkeep import vault_pieces
from vaultmem.upkeep.vault_pieces import VAULT_PIECES, VaultPiece

EXAMPLES: Final = ("Memories/", "Entities/", "Sessions/")
_FOLDERS: Final = ("Memories", "Entities", "Sessions")
_GIT_FILES: Final = (".gitignore", ".gitattributes")
# What may lie in a folder in which no vault is yet.
_BARE: Final = frozenset((config.STATE, ".git", *_GIT_FILES, ".DS_Store"))
_MOST_SETTINGS: Final = 100_000
_LATER: Final = "Nothing is lost meanwhile; the next {} commits it."
_PARTLY: Final = "Some files may have been added; run it again when that is put right."


@dataclass(frozen=True, slots=True)
class VaultPlan:
    root: Path
    add: tuple[str, ...]  # files to make, as vault paths
    folders: tuple[str, ...]  # folders to make
    keep: tuple[str, ...]  # files of the template that are there already
    advice: tuple[str, ...]  # what the person may want to do by hand
    new: bool  # no vault was here before
    offered: tuple[VaultPiece, ...] = ()  # what may be asked for, and was not
    pages: tuple[str, ...] = ()  # of ours, which are no memories
    excluded_now: tuple[str, ...] = ()  # of these, what the vault's settings are to learn of

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


def plan_vault_files(
    root: Path, *, git: bool = False, examples: bool = False, pieces: Sequence[str] = ()
) -> VaultPlan:
    wanted = vault_pieces.required_pieces(pieces)
    with durable.disk_errors_explained(f"Looking at {root}"):
        if os.path.lexists(root) and not root.is_dir():
            raise InvalidInput(f"{root} is a file; a vault is a folder.")
        return _PlanningFromTemplate(root, wanted, git=git, examples=examples).plan()


class _PlanningFromTemplate:
    def __init__(self, root: Path, wanted: frozenset[str], *, git: bool, examples: bool) -> None:
        self._root, self._wanted = root, wanted
        self._git, self._examples = git, examples
        names = set(os.listdir(root)) if root.exists() else set()
        self._new = not names
        self._whole = names <= _BARE  # nothing of a person's is here
        self._settings = config.load(root)
        self._settings.require_valid()
        self._there = _There(root)

    def plan(self) -> VaultPlan:
        add: list[str] = []
        keep: list[str] = []
        pages: list[str] = []
        for path in _template_files(self._examples):
            if not self._is_wanted_of_template(path):
                continue
            place = _place_of_template(path, self._settings)
            kept = self._is_kept_of_template(place)
            (keep if kept else add).append(place)
            if self._is_page_of_template(path, place) and not kept:
                pages.append(place)
        pages.sort(key=lambda page: page not in vault_pieces.PAGES[:1])  # as the template has them
        folders = [self._settings[f"folders.{name.lower()}"] for name in _FOLDERS]
        if not self._whole and "folders" not in self._wanted:
            folders = []
        missing = tuple(folder for folder in folders if folder not in self._there)
        offered = [] if self._whole else [p for p in VAULT_PIECES if self._is_offered(p)]
        known = f"{config.STATE}/config.toml" in keep
        return VaultPlan(
            self._root, tuple(add), missing, tuple(keep), tuple(self._advice()), self._new,
            tuple(offered), tuple(pages), tuple(self._unknown_pages(pages)) if known else (),
        )  # fmt: skip

    def _is_wanted_of_template(self, path: str) -> bool:
        if path.startswith(".obsidian/") and ".obsidian" in self._there:
            return False
        if path in _GIT_FILES:
            return self._git or self._new
        if self._whole or path.startswith((f"{config.STATE}/", *EXAMPLES)):
            return True
        return vault_pieces.is_in_pieces(path, self._wanted)

    def _is_kept_of_template(self, place: str) -> bool:
        if place not in self._there:
            return False
        return not _is_gitignore_of_index(_template_path(self._root, place))

    def _is_page_of_template(self, path: str, place: str) -> bool:
        """Whether it is a page about the vault, or a template that lies where notes may lie."""
        if path in vault_pieces.PAGES:
            return True
        if not path.startswith("Templates/") or not path.endswith(".md") or self._whole:
            return False
        declared = self._settings.values["folders.templates"].origin != "default"
        return not declared and not ObsidianSettings(self._root, self._settings).is_template(place)

    def _unknown_pages(self, pages: Sequence[str]) -> list[str]:
        return [page for page in pages if page not in self._settings["exclude"]]

    def _is_offered(self, piece: VaultPiece) -> bool:
        """What was not asked for, and would add something."""
        if piece.name in self._wanted:
            return False
        if piece.name == "folders":
            return any(self._settings[f"folders.{n.lower()}"] not in self._there for n in _FOLDERS)
        if piece.name == "obsidian":
            return ".obsidian" not in self._there
        ours = (f for f in _template_files(False) if vault_pieces.is_in_pieces(f, (piece.name,)))
        return any(_place_of_template(file, self._settings) not in self._there for file in ours)

    def _advice(self) -> Iterator[str]:
        root = self._root
        with contextlib.suppress(OSError):
            attributes = root / ".gitattributes"
            if self._git and b"merge=vaultmem" not in small_files.read_small_file(attributes):
                yield "Add this line to .gitattributes to merge notes by property: *.md merge=vaultmem"
        if (root / ".obsidian").exists():
            yield "Obsidian's own settings were left as they are."


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
            if place == config.CONFIG:
                raw = vault_pieces.first_settings(raw.decode(), planned.pages).encode()
            file = _template_path(root, place)
            if _is_gitignore_of_index(file):
                file.write(raw)
            else:
                file.create(raw)
        if planned.excluded_now:
            _exclude_pages_of_template(_template_path(root, config.CONFIG), planned.excluded_now)


def _exclude_pages_of_template(file: OwnPath, pages: Sequence[str]) -> None:
    """Add our new pages to what a vault's settings exclude, if that can be done with one line."""
    text = file.read(_MOST_SETTINGS).decode("utf-8", "surrogateescape")
    if (new := vault_pieces.settings_excluding(text, pages)) is not None and new != text:
        file.write(new.encode("utf-8", "surrogateescape"))


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
                if b"\r\n" in shared_file(store, path).raw[: 1 << 16]:
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
    started = "Started a git repository." if made else "The vault is in git already."
    if not wanted:
        return started
    try:
        ours.require_identity()  # first: what is only staged would count as the person's own
        ours.act("add", "--", *wanted)
        ours.act("commit", "--quiet", "-m", "Add the vault's own files", "--", *wanted)
    except repo.NoGitIdentity as error:
        sync = command_to_type(f"sync --vault {shell_line([str(root)])}")
        return f"{started} Nothing is committed yet: {error}\n{_LATER.format(sync)}"
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
