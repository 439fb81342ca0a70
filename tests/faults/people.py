"""Those who write files without asking anybody: a person, a sync program, another laptop."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tests import nursery
from tests.conftest import clean_environment
from tests.faults import plan
from tests.faults.agents import SETTINGS, Hang
from tests.faults.ledger import WORD, line, texts
from tests.faults.plan import Step
from tests.faults.scene import Scene

HALF: Final = '---\nhalf: "typed\n---\n'
PERSON, PROGRAM, LAPTOP = "a person", "a sync program", "the other laptop"


class Person:
    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    def act(self, step: Step) -> None:
        number = step.note % plan.OWN_NOTES
        if step.action in ("move", "delete"):
            if number >= plan.SHARED_NOTES:
                (self._move if step.action == "move" else self._delete)(number, step)
        else:
            self.save(self.scene.chosen(step), step.action)

    def save(self, path: str, how: str) -> None:
        """Read, add a line, save: as an editor that reloads what changed."""
        file = self.scene.root / path
        if file.exists():
            word, text = self.scene.ledger.word(), file.read_text(encoding="utf-8")
            text = text.replace(HALF, "")
            if how == "half type" and not text.startswith("---"):
                text = HALF + text
            SAVES.get(how, save_in_place)(file, _with_line(text, word, PERSON))
            self.scene.ledger.keep(word, PERSON)

    def _move(self, number: int, step: Step) -> None:
        scene, target = self.scene, f"Notes/{step.number}/Note {number}.md"
        (scene.root / target).parent.mkdir()
        (scene.root / scene.own[number]).rename(scene.root / target)
        scene.own[number] = target

    def _delete(self, number: int, step: Step) -> None:
        """To the trash, as Obsidian does it; and a new note for it."""
        scene = self.scene
        file = scene.root / scene.own[number]
        for word in WORD.findall(file.read_text(encoding="utf-8")):
            scene.ledger.retire(word, PERSON)
        (scene.root / ".trash").mkdir(exist_ok=True)
        file.rename(scene.root / ".trash" / f"{step.number}.md")
        scene.make_own(number)


class SyncProgram:
    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    def act(self, step: Step) -> None:
        scene = self.scene
        file = scene.root / scene.chosen(step)
        text, word = file.read_text(encoding="utf-8"), scene.ledger.word()
        mine = [w for w in WORD.findall(text) if scene.ledger.live.get(w) == PROGRAM]
        if step.action == "leave a copy":
            name = f"{file.stem}.sync-conflict-20260101-{step.number:06d}-ABCDEFG.md"
            file.with_name(name).write_text(_with_line(text, word, PROGRAM), encoding="utf-8")
        elif step.action == "change in place" and mine:
            change_in_place(file, mine[-1], word)
            if not any(mine[-1] in other for other in texts(scene.root).values()):
                scene.ledger.retire(mine[-1], PROGRAM)
        else:
            bring(file, _with_line(text, word, PROGRAM))
        scene.ledger.keep(word, PROGRAM)


class Laptop:
    """Another clone of the vault, and the remote between the two."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.root, hub = scene.folder / "laptop", scene.folder / "hub.git"
        self._environment = clean_environment(scene.home) | SETTINGS
        self._git(scene.folder, "init", "-q", "--bare", "-b", "main", str(hub))
        for command in (
            ("init", "-q", "-b", "main"),
            ("remote", "add", "origin", str(hub)),
            ("add", "-A"),
            ("commit", "-q", "-m", "The vault"),
            ("push", "-q", "-u", "origin", "main"),
        ):
            self._git(scene.root, *command)
        self._git(scene.folder, "clone", "-q", str(hub), str(self.root))

    def _git(self, where: Path, *arguments: str) -> None:
        done = subprocess.run(
            ["git", *arguments], cwd=where, env=self._environment, capture_output=True
        )
        assert done.returncode == 0, done.stderr.decode()

    def act(self, step: Step) -> None:
        if step.action == "other laptop":
            self._add(self.scene.own[step.note % plan.SHARED_NOTES])
        self.sync(self.scene.root)

    def _add(self, path: str) -> None:
        """Edit a note over there and send it; what could not be sent yet may yet come."""
        self.sync(self.root)
        file, word = self.root / path, self.scene.ledger.word()
        save_in_place(file, _with_line(file.read_text(encoding="utf-8"), word, LAPTOP))
        past = time.time() - 100
        os.utime(file, (past, past))
        if self.sync(self.root):
            self.scene.ledger.keep(word, LAPTOP)

    def sync(self, where: Path) -> bool:
        command = [sys.executable, "-m", "vaultmem", "sync", "--vault", str(where), "--json"]
        try:
            done = nursery.run(
                command, env=self._environment, cwd=self.scene.home, capture_output=True, timeout=60
            )
        except subprocess.TimeoutExpired:
            raise Hang("sync did not end within a minute") from None
        assert done.returncode in (0, 1), done.stderr.decode()
        assert b"Traceback" not in done.stderr, done.stderr.decode()
        return done.returncode == 0


# --- how files are saved ---------------------------------------------------------------------


def _with_line(text: str, word: str, who: str) -> str:
    return f"{text.rstrip()}\n\n{line(word, who)}\n"


def save_in_place(file: Path, text: str) -> None:
    """As Obsidian: the file is emptied and filled again."""
    raw = text.encode()
    with open(file, "wb", buffering=0) as handle:
        handle.write(raw[: len(raw) // 2])
        handle.write(raw[len(raw) // 2 :])


def save_by_rename(file: Path, text: str) -> None:
    beside = file.with_name(f".{file.name}.swp")
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, file)


def save_beside(file: Path, text: str) -> None:
    """As vim: the old file is put away, a new one written, the old one removed."""
    backup = file.with_name(file.name + "~")
    os.rename(file, backup)
    file.write_text(text, encoding="utf-8")
    backup.unlink()


SAVES: Final[Mapping[str, Callable[[Path, str], None]]] = {
    "save by rename": save_by_rename,
    "save beside": save_beside,
}


def bring(file: Path, text: str) -> None:
    """As Syncthing: beside, with the time of the other machine, then in place."""
    beside = file.with_name(f".syncthing.{file.name}.tmp")
    beside.write_text(text, encoding="utf-8")
    past = file.stat().st_mtime - 3600
    os.utime(beside, (past, past))
    os.replace(beside, file)


def change_in_place(file: Path, old: str, new: str) -> None:
    """As rsync --inplace --times: the same inode, size and time."""
    assert len(old) == len(new)
    before = file.stat()
    raw = file.read_bytes()
    with open(file, "r+b", buffering=0) as handle:
        handle.seek(raw.index(old.encode()))
        handle.write(new.encode())
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
