"""Making a vault from the template, or adding to a vault what it lacks.

First a plan, then the doing: nothing that is there is overwritten, and an existing
`.obsidian` folder is left wholly alone, because Obsidian rewrites it while it runs.
"""

from __future__ import annotations

import posixpath
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from vaultmem import config, durable
from vaultmem.errors import InvalidInput, Unavailable

EXAMPLES: Final = ("Memories/", "Entities/", "Sessions/")
_FOLDERS: Final = ("Memories", "Entities", "Sessions")
_GIT_FILES: Final = (".gitignore", ".gitattributes")


@dataclass(frozen=True, slots=True)
class Plan:
    root: Path
    add: tuple[str, ...]  # files to make, as vault paths
    folders: tuple[str, ...]  # folders to make
    keep: tuple[str, ...]  # files of the template that are there already
    advice: tuple[str, ...]  # what the person may want to do by hand
    new: bool  # no vault was here before

    @property
    def empty(self) -> bool:
        return not self.add and not self.folders


def source() -> Path:
    """The template: beside the code in an installed package, at the top in a checkout."""
    here = Path(__file__).parent
    for folder in (here / "vault-template", here.parent / "vault-template"):
        if folder.is_dir():
            return folder
    raise Unavailable("The vault template is missing from this installation; install it again.")


def plan(root: Path, *, git: bool = False, examples: bool = False) -> Plan:
    if root.exists() and not root.is_dir():
        raise InvalidInput(f"{root} is a file; a vault is a folder.")
    new = not root.exists() or not any(root.iterdir())
    settings = config.load(root)
    add: list[str] = []
    keep: list[str] = []
    advice: list[str] = []
    for path in _template_files(examples):
        place = _place(path, settings)
        if place.startswith(".obsidian/") and (root / ".obsidian").exists():
            continue
        if place in _GIT_FILES and not new and not git:
            continue
        (keep if (root / place).exists() else add).append(place)
    if (root / ".gitattributes").exists() and git:
        advice += _attributes_advice(root)
    if (root / ".obsidian").exists():
        advice.append("Obsidian's own settings were left as they are.")
    folders = [settings[f"folders.{name.lower()}"] for name in _FOLDERS]
    missing = tuple(folder for folder in folders if not (root / folder).exists())
    return Plan(root, tuple(add), missing, tuple(keep), tuple(advice), new)


def apply(planned: Plan) -> None:
    root, template = planned.root, source()
    settings = config.load(root)
    places = {_place(path, settings): path for path in _template_files(True)}
    crlf = not planned.new and _has_crlf_notes(root)
    with durable.explained(f"Making the vault in {root}"):
        for folder in planned.folders:
            durable.make_folders(root / folder)
        for place in planned.add:
            raw = (template / places[place]).read_bytes()
            if place == ".gitattributes" and crlf:
                raw = _without_line_endings(raw)
            durable.create(root / place, raw)


def start_git(root: Path, added: tuple[str, ...]) -> str:
    """Make the vault a git repository and commit what was added; says what was done."""
    if shutil.which("git") is None:
        raise Unavailable("git is not installed; install it, then run init --git again.")
    made = not (root / ".git").exists()
    if made:
        _git(root, "init", "--quiet", "--initial-branch=main")
    if not added:
        return "Started a git repository." if made else "The vault is in git already."
    _git(root, "add", "--", *added)
    try:
        _git(root, "commit", "--quiet", "-m", "Add the vault's own files", "--", *added)
    except Unavailable as error:
        return f"Added the files to git, but did not commit them: {error}"
    return "Started a git repository and committed the files." if made else "Committed the files."


def _git(root: Path, *arguments: str) -> None:
    done = subprocess.run(
        ["git", *arguments], cwd=root, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise Unavailable(f"git {arguments[0]} said: {lines[0] if lines else done.returncode}")


def _template_files(examples: bool) -> Iterator[str]:
    root = source()
    for file in sorted(root.rglob("*")):
        path = file.relative_to(root).as_posix()
        if file.is_file() and (examples or not path.startswith(EXAMPLES)):
            yield path


def _place(path: str, settings: config.Settings) -> str:
    """Where a file of the template goes in a vault that names its folders differently."""
    first, slash, rest = path.partition("/")
    name = f"folders.{first.lower()}"
    return posixpath.join(settings[name], rest) if slash and name in settings.values else path


def _attributes_advice(root: Path) -> list[str]:
    text = (root / ".gitattributes").read_text(encoding="utf-8", errors="replace")
    if "merge=vaultmem" in text:
        return []
    return ["Add this line to .gitattributes to merge notes by property: *.md merge=vaultmem"]


def _has_crlf_notes(root: Path) -> bool:
    """Whether the vault has Windows line ends, which `eol=lf` would rewrite in every checkout."""
    notes = (file for file in root.rglob("*.md") if file.is_file() and not file.is_symlink())
    return any(b"\r\n" in file.open("rb").read(1 << 16) for file in notes)


def _without_line_endings(raw: bytes) -> bytes:
    return raw.replace(b"text eol=lf merge=vaultmem", b"merge=vaultmem")
