"""A state machine over a real vault: after any history, the index equals a rebuild."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from tests.world import World
from vaultmem.errors import VaultmemError
from vaultmem.notes.edit import AddItems, edit_note

NAMES = st.sampled_from(["a", "b", "c", "d e", "sub/f", "sub/deep/g", "é"])
TEXTS = st.sampled_from(
    ["", "plain words", "---\ntags: [x, y]\n---\nwith #z [[a]]", "---\nbroken: [\n---\nbody",
     "# H\n\ntext\n\n## Facts\n\n- is:: [[b]] (2026 → ) ^f-1", "记忆系统",
     "---\nid: 01SAME\n---\ntwin", "---\nid: 01same\n---\nother twin words", "---\nid: 01B\n---\nbeta",
     "## Log\n\n- **09:00:00** note: seen ^01k"]
)  # fmt: skip


class Vault(RuleBasedStateMachine):
    paths: Bundle[str] = Bundle("paths")

    def __init__(self) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp())
        (self.base / "vault").mkdir()
        self.world = World(self.base / "vault", self.base / "sidecar")
        self.step = 0

    def teardown(self) -> None:
        self.world.close()
        shutil.rmtree(self.base)

    def file(self, path: str) -> Path:
        return self.world.root / f"{path}.md"

    @rule(target=paths, name=NAMES, text=TEXTS)
    def write(self, name: str, text: str) -> str:
        file = self.file(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        self.step += 1
        os.utime(file, (self.step, self.step))  # saves are seconds apart, even in a fast test
        return name

    @rule(target=paths, old=consumes(paths), new=NAMES)
    def rename(self, old: str, new: str) -> str:
        if self.file(old).exists() and not self.file(new).exists():
            self.file(new).parent.mkdir(parents=True, exist_ok=True)
            self.file(old).rename(self.file(new))
        return new

    @rule(source=paths, onto=paths)
    def copy_over(self, source: str, onto: str) -> None:
        old, new = self.file(source), self.file(onto)
        if old.exists() and new.exists() and source != onto:
            shutil.copyfile(old, new)
            self.step += 1
            os.utime(new, (self.step, self.step))

    @rule(path=paths, word=st.sampled_from(["aaaa", "bbbb"]))
    def write_in_place(self, path: str, word: str) -> None:
        """As rsync does with --inplace and --times: inode, size and time stay."""
        if self.file(path).exists() and self.file(path).stat().st_size > 4:
            before = self.file(path).stat()
            with self.file(path).open("r+b") as file:
                file.seek(-4, os.SEEK_END)
                file.write(word.encode())
            os.utime(self.file(path), ns=(before.st_atime_ns, before.st_mtime_ns))

    @rule(path=consumes(paths))
    def delete(self, path: str) -> None:
        self.file(path).unlink(missing_ok=True)

    @rule()
    def move_folder(self) -> None:
        if (self.world.root / "sub").exists() and not (self.world.root / "other").exists():
            (self.world.root / "sub").rename(self.world.root / "other")

    @rule(path=paths)
    def touch(self, path: str) -> None:
        if self.file(path).exists():
            self.step += 1
            os.utime(self.file(path), (self.step, self.step))

    @rule(path=paths)
    def agent_writes(self, path: str) -> None:
        if not self.file(path).exists():
            return
        try:
            self.world.store.update(
                f"{path}.md", lambda n: edit_note(n, AddItems("tags", ("agent",)))
            )
        except VaultmemError:
            return
        self.world.sync.these([f"{path}.md"])

    @rule(path=paths)
    def hint(self, path: str) -> None:
        self.world.sync.these([f"{path}.md"])

    @rule()
    def reconcile(self) -> None:
        self.world.sync.everything(told=True)
        assert not self.world.sync.everything(told=True).touched, "a second look finds nothing"

    @rule()
    def crash_and_restart(self) -> None:
        self.world.close()
        self.world.open()

    @rule()
    def rebuild_text(self) -> None:
        self.world.index.rebuild_text()

    @invariant()
    def reads_never_fail(self) -> None:
        self.world.find("words twin 记忆")

    @rule()
    def index_equals_a_rebuild(self) -> None:
        self.world.sync.everything(told=True)
        self.check()

    @rule()
    def hints_are_enough(self) -> None:
        """What the watcher would name is as good as a look at everything."""
        files = {p.relative_to(self.world.root).as_posix() for p in self.world.root.rglob("*.md")}
        known = self.world.index.inventory
        self.world.sync.these(sorted({*files, *known.known(), *known.skips()}))
        self.check()

    def check(self) -> None:
        assert self.world.contents() == self.world.rebuilt()
        twins = self.world.twins()
        indexed = set(self.world.index.inventory.known())
        assert indexed | set(twins) == set(self.world.store.walk().notes)
        assert twins.keys() <= {path for path, _ in self.world.index.status().skipped}


TestVault = Vault.TestCase
TestVault.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
