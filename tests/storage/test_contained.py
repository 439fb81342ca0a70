"""A vault from elsewhere stays inside itself: whatever of our own state is a link, a pipe or
something else than it should be, nothing outside changes, nothing hangs, and every answer is
the usual one or a sentence.

The paths are those of a vault in which everything was done once, so a new file of ours is tried
as soon as there is one. Every path is tried with one of the kinds, a folder with a link that leads
out too; `CONTAINED=all` tries all with all.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from vaultmem.errors import VaultmemError
from vaultmem.git import repo
from vaultmem.hooks import answer
from vaultmem.operations.caller import Caller
from vaultmem.surfaces.dialects.keyed_entries import KeyedEntries
from vaultmem.vault import Vault

SESSION = "6f1c2e34-9a01-4b5e-8c77-1d2e3f405162"
FLAGS = {"typing.quiet_seconds": 0.0, "model": "off", "dialects.embedding_length": 2.0}
LONG_AGO = 1_000_000_000
NOTE = "---\nid: 01KE6Q8Z4R9M2N4P6R7S8T9VWX\nscope: session\n---\nA diary of somebody.\n"


def event(name: str, **more: object) -> dict[str, object]:
    return {"session_id": SESSION, "cwd": "/", "hook_event_name": name, **more}


def failure(vault: Vault) -> object:
    return answer.to_event(
        vault,
        event("PostToolUseFailure", tool_name="Bash", tool_input={"command": "make"}, error="No"),
    )


def imported(vault: Vault) -> object:
    record = (
        '{"type":"entity","name":"Keychain","entityType":"tool","observations":["It is old"]}\n'
    )
    file = vault.root.parent / "import.jsonl"
    file.write_text(record)
    return vault.import_("server-memory", file)


def follow(vault: Vault) -> object:
    """A server's own thread for a moment: it leads, looks, and clears up after sessions."""
    follower = vault.follower(lambda report: None, watch=False)
    follower.start()
    for _ in range(20):
        if follower.leading:
            break
        threading.Event().wait(0.01)
    return follower.stop()


STEPS: dict[str, Callable[[Vault], object]] = {
    "store": lambda v: v.remember("Refresh tokens rotate every day.", title="Tokens"),
    "store by key": lambda v: KeyedEntries(v).put_entry(
        "deploy", "The gate opens at nine.", vector=[0.1, 0.2]
    ),
    "store for the session": lambda v: v.remember("A passing thought.", scope="session"),
    "recall": lambda v: v.recall("refresh tokens"),
    "update": lambda v: v.tag("Kept", add=["seen"]),
    "forget": lambda v: v.forget("Kept"),
    "history": lambda v: v.history("Kept"),
    "restore": lambda v: v.restore("Kept"),
    "remove": lambda v: v.remove("Kept too"),
    "bring back": lambda v: v.restore("Kept too"),
    "hook start": lambda v: answer.to_event(v, event("SessionStart", source="startup")),
    "hook prompt": lambda v: answer.to_event(
        v, event("UserPromptSubmit", prompt="refresh tokens?")
    ),
    "hook failure": failure,
    "log": lambda v: v.log("Signed with RS256."),
    "facts": lambda v: v.assert_fact("Gateway", "depends_on", "Keychain"),
    "consolidate": lambda v: v.consolidate(dry_run=False),
    "import": imported,
    "matching": lambda v: KeyedEntries(v).entries_matching("gate", vector=[0.1, 0.2]),
    "context": lambda v: v.context("tokens"),
    "status": lambda v: v.status(),
    "examine": lambda v: v.examine(),
    "models": lambda v: v.models(),
    "follow": follow,
    "index": lambda v: v.index_now(),
    "rebuild": lambda v: v.index_now(rebuild=True),
    "sync": lambda v: v.sync(),
    "hook end": lambda v: answer.to_event(v, event("SessionEnd", reason="clear")),
    "end": lambda v: v.end_session(),
}


AGAIN = ("store", "recall", "update", "hook start", "follow", "end")  # after a restart


def exercise(root: Path, steps: dict[str, Callable[[Vault], object]] = STEPS) -> list[str]:
    """Everything once; answers with what was refused. Anything but a sentence is a fault."""
    refused: list[str] = []

    def tried(name: str, step: Callable[[], object]) -> None:
        try:
            step()
        except VaultmemError as error:
            assert len(str(error)) > 20, f"{name}: {error!r}"
            refused.append(f"{name}: {error}")

    def run() -> None:
        with Vault.open(root, FLAGS, caller=Caller(session=SESSION)) as vault:
            for name, step in steps.items():
                tried(name, partial(step, vault))

    tried("open", run)
    return refused


@pytest.fixture(scope="module")
def scratch() -> Iterator[Path]:
    """In memory where that can be had: hundreds of vaults are made and flushed here."""
    shared = "/dev/shm"
    with tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else None) as folder:
        yield Path(folder).resolve()


@pytest.fixture(scope="module")
def lived_in(scratch: Path) -> Path:
    """A vault in which everything was done once, in git, with a model."""
    root = scratch / "lived" / "vault"
    (root / ".vaultmem").mkdir(parents=True)
    for name in ("Kept", "Kept too", "Private/Mine"):
        (root / f"{name}.md").parent.mkdir(exist_ok=True)
        (root / f"{name}.md").write_text(f"What {name} says.\n")
    git = ["git", "-C", str(root)]
    subprocess.run([*git, "init", "--quiet", "--initial-branch=main"], check=True)
    for name, value in (("user.name", "T"), ("user.email", "t@localhost")):
        subprocess.run([*git, "config", name, value], check=True)
    repo.register_merge_driver(root)
    assert exercise(root) == []
    with Vault.open(root, {**FLAGS, "model": ""}, caller=Caller(session=SESSION)) as vault:
        vault.load_model()
        vault.remember("A passing thought.", scope="session")
        vault.log("And one more line.")
        answer.to_event(vault, event("SessionStart", source="startup"))
        failure(vault)
        vault.index_now()
        local = vault.parts.store.local()
        for name in ("git-merge", "edits"):  # of an unfinished merge, of an editor
            (local / name / "Kept.md" if name == "edits" else local / name).create(b"0" * 40)
        assert vault.parts.store.volatile(SESSION)
        shutil.copytree(root, root.parent / "copy")  # while the session is alive
    return root.parent / "copy"


def own_paths(root: Path) -> list[str]:
    """Each path of our own state, but only one of those that differ by a number."""
    found: dict[str, str] = {}
    for path in sorted((root / ".vaultmem").rglob("*")):
        relative = path.relative_to(root).as_posix()
        role = re.sub(r"/[0-9a-f]{32}\..*|\d{8}T\d+ .*|path-[0-9a-f]+", "/#", relative)
        role = re.sub(r"[0-9A-HJKMNP-TV-Z]{26}|\d+", "#", role)
        found.setdefault(role, relative)
    return [".vaultmem", *found.values(), ".vaultmem/.gitignore", ".trash"]


KINDS = ("out", "dangling", "in", "other kind", "pipe")


@dataclass(frozen=True)
class Outside:
    folder: Path
    before: dict[str, object]

    @classmethod
    def of(cls, folder: Path) -> Outside:
        return cls(folder, cls.look(folder))

    @staticmethod
    def look(folder: Path) -> dict[str, object]:
        """Names, bytes, kinds, modes and times of everything."""
        found: dict[str, object] = {}
        for path in (folder, *sorted(folder.rglob("*"))):
            stat = path.lstat()
            raw = path.read_bytes() if path.is_file() else b""
            found[str(path)] = (raw, stat.st_mode, stat.st_mtime_ns, stat.st_nlink)
        return found

    def touched(self) -> list[str]:
        now = self.look(self.folder)
        return [path for path in {**self.before, **now} if now.get(path) != self.before.get(path)]


def make_old(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        os.utime(path, (LONG_AGO, LONG_AGO), follow_symlinks=False)
    os.utime(folder, (LONG_AGO, LONG_AGO))


def lookalike(real: Path, outside: Path) -> Path:
    """What a link leads to: the very same files, and some of the person's, all of them old."""
    target = outside / "target"
    if not os.path.lexists(real):
        real.mkdir() if real.name == ".trash" else real.write_bytes(b"*\n")
    if real.is_dir():
        shutil.copytree(real, target)
        for name in ("a.json", "diary.md", "catalog.db", "fulltext-1/meta.json", ".alive-1"):
            (target / name).parent.mkdir(exist_ok=True)
            if not (target / name).exists():
                (target / name).write_text(NOTE)
    else:
        shutil.copy(real, target)
    make_old(outside)
    return target


def plant(root: Path, path: str, kind: str, outside: Path) -> None:
    place = root / path
    target = lookalike(place, outside)
    is_folder = place.is_dir()
    shutil.rmtree(place) if is_folder else place.unlink()
    if kind == "out":
        place.symlink_to(target)
    elif kind == "dangling":
        place.symlink_to(outside / "not there")
    elif kind == "in":
        place.symlink_to(root / "Private" / ("" if is_folder else "Mine.md"))
    elif kind == "pipe":
        os.mkfifo(place)
    elif is_folder:
        place.write_bytes(b"a file\n")
    else:
        place.mkdir()
        (place / "kept.md").write_text(NOTE)


def cases(root: Path) -> list[tuple[str, str]]:
    found = []
    for number, path in enumerate(own_paths(root)):
        some = {KINDS[number % len(KINDS)], *(KINDS[:1] if (root / path).is_dir() else ())}
        kinds = KINDS if os.environ.get("CONTAINED") == "all" else sorted(some)
        found += [(path, kind) for kind in kinds]
    return found


def copy_small(source: str, target: str) -> None:
    """A model's weights are never written to, and large."""
    large = os.path.getsize(source) > 1_000_000
    os.link(source, target) if large else shutil.copy2(source, target)


def faults(lived_in: Path, folder: Path, path: str, kind: str) -> str:
    """What goes wrong with this planted there; nothing, if nothing does."""
    root, outside = folder / "vault", folder / "outside"
    shutil.copytree(lived_in, root, copy_function=copy_small)
    outside.mkdir()
    plant(root, path, kind, outside)
    person, private = Outside.of(outside), Outside.of(root / "Private")
    failed: list[BaseException] = []

    def run() -> None:
        try:
            exercise(root)
            exercise(root, {name: STEPS[name] for name in AGAIN})
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(120)
    if thread.is_alive():
        return "it hangs"
    if failed:
        return "".join(traceback.format_exception(failed[0]))
    return "".join(f"touched: {each}" for each in (*person.touched(), *private.touched()))


SHARES = 4


@pytest.mark.parametrize("share", range(SHARES))
def test_nothing_outside_is_touched(lived_in: Path, scratch: Path, share: int) -> None:
    found = []
    for path, kind in cases(lived_in)[share::SHARES]:
        folder = scratch / "case"
        folder.mkdir()
        if fault := faults(lived_in, folder, path, kind):
            found.append(f"{path} as {kind}: {fault}")
        shutil.rmtree(folder)
    assert not found, "\n\n".join(found)
