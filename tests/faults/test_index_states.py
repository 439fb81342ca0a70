"""A state machine over a real vault: after any history, the index equals a rebuild."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from tests.index.conftest import World
from vaultmem.edit import AddItems, edit
from vaultmem.errors import VaultmemError

NAMES = st.sampled_from(["a", "b", "c", "d e", "sub/f", "sub/deep/g", "é"])
TEXTS = st.sampled_from(
    ["", "plain words", "---\ntags: [x, y]\n---\nwith #z [[a]]", "---\nbroken: [\n---\nbody",
     "# H\n\ntext\n\n## Facts\n\n- is:: [[b]] (2026 → ) ^f-1", "记忆系统", "---\nid: 01SAME\n---\ntwin",
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
            self.world.store.update(f"{path}.md", lambda n: edit(n, AddItems("tags", ("agent",))))
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
        mine, fresh = self.world.contents(), self.world.rebuilt()
        if not _has_twins(self.world):
            assert mine == fresh


def _has_twins(world: World) -> bool:
    """Which of two notes with one id is the original depends on which was there first."""
    return any("same id" in reason for _, reason in world.index.status().skipped)


TestVault = Vault.TestCase
TestVault.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
