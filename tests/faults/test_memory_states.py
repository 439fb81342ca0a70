"""Agents and a person work on one vault in any order; nothing is lost and nothing is wrong."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from tests.world import contents
from vaultmem import errors
from vaultmem.index import Index
from vaultmem.indexing.reconcile import Reconciler
from vaultmem.notes.edit import SetProperty, edit_note
from vaultmem.notes.note import parse
from vaultmem.operations.caller import Caller
from vaultmem.vault import Vault

WORDS = ("quokka", "lemur", "ibis", "narwhal", "tapir", "okapi")
words = st.sampled_from(WORDS)
users = st.sampled_from(("", "ana", "ben"))
projects = st.sampled_from(("", "Atlas", "Borealis"))
scopes = st.sampled_from(("session", "project", "user"))


class Agents(RuleBasedStateMachine):
    ids = Bundle("ids")
    pruned = Bundle("pruned")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="vaultmem-test-"))
        self.root = self.folder / "vault"
        (self.root / ".vaultmem").mkdir(parents=True)
        flags = {"typing.quiet_seconds": 0.0, "model": "off"}
        self.vault = Vault.open(self.root, flags, caller=Caller())
        self.memories: dict[str, dict[str, Any]] = {}  # what each memory must be
        self.before: dict[str, list[bytes]] = {}  # its earlier bytes, oldest first

    def teardown(self) -> None:
        self.vault.close()
        shutil.rmtree(self.folder)

    def _file(self, id_: str) -> Path:
        path = self.memories[id_]["path"]
        inside = path.removeprefix(".vaultmem/local/volatile/")
        state = self.root / ".vaultmem/local/volatile"
        return state / inside if inside != path else self.root / path

    def _change(self, id_: str, action: Any, **after: Any) -> None:
        old = self._file(id_).read_bytes()
        action()
        if self._file(id_).read_bytes() != old:
            self.before[id_].append(old)
        self.memories[id_].update(after)

    # --- what agents do ------------------------------------------------------------------

    @rule(target=ids, word=words, user=users, project=projects, scope=scopes, tag=words)
    def remember(self, word: str, user: str, project: str, scope: str, tag: str) -> Any:
        agent = self.vault.for_caller(Caller(user=user, session="s-1"))
        project = project if scope == "project" else ""
        text = f"A note about the {word}."
        old = {id_: self._file(id_).read_bytes() for id_ in self._there()}
        made = agent.remember(text, scope=scope, project=project, tags=[tag])
        if made.memory_id in old:  # the same text is one note
            memory = self.memories[made.memory_id]
            assert (made.created, memory["content"], memory["user"]) == (False, text, user)
            memory.update(tags=memory["tags"] | {tag}, forgotten=False)
            if self._file(made.memory_id).read_bytes() != old[made.memory_id]:
                self.before[made.memory_id].append(old[made.memory_id])
            return multiple()
        self.memories[made.memory_id] = {
            "path": made.path,
            "content": text,
            "user": user,
            "project": project,
            "scope": scope,
            "tags": {tag},
            "forgotten": False,
        }
        self.before[made.memory_id] = []
        return made.memory_id

    @rule(id_=ids, word=words)
    def update(self, id_: str, word: str) -> None:
        text = f"Now it is about the {word}."
        self._change(id_, lambda: self.vault.update(id_, content=text), content=text)

    @rule(id_=ids, tag=words)
    def tag(self, id_: str, tag: str) -> None:
        tags = self.memories[id_]["tags"] | {tag}
        self._change(id_, lambda: self.vault.tag(id_, add=[tag]), tags=tags)

    @rule(id_=ids)
    def forget(self, id_: str) -> None:
        self._change(id_, lambda: self.vault.forget(id_), forgotten=True)

    @rule(id_=ids)
    def undo(self, id_: str) -> None:
        current = self._file(id_).read_bytes()
        earlier = [raw for raw in self.before[id_] if raw != current]
        if not earlier or not self.before[id_] or self.before[id_][-1] == current:
            return
        self.vault.restore(id_)
        assert self._file(id_).read_bytes() == self.before[id_][-1]
        self.before[id_].append(current)
        self._learn(id_)

    @rule(id_=ids)
    def promote(self, id_: str) -> None:
        if self.memories[id_]["scope"] == "user":
            return
        old = self._file(id_).read_bytes()
        done = self.vault.promote(id_, "user")
        self.memories[id_].update(path=done.path, scope="user", project="")
        self.before[id_].append(old)

    @rule(target=pruned, id_=consumes(ids))
    def prune(self, id_: str) -> str:
        tag = f"only-{id_.lower()}"
        self._change(id_, lambda: self.vault.tag(id_, add=[tag]))
        self.memories[id_]["tags"] = {*self.memories[id_]["tags"], tag}
        self.memories[id_]["gone"] = self._file(id_).read_bytes()
        done = self.vault.prune(self.memories[id_]["scope"], tags=[tag])
        assert [note.id for note in done.pruned] == [id_]
        self.before[id_].append(self.memories[id_]["gone"])
        return id_

    @rule(target=ids, id_=consumes(pruned))
    def bring_back(self, id_: str) -> str:
        raw = self.memories[id_].pop("gone")
        self.memories[id_]["path"] = self.vault.restore(id_).path
        assert self._file(id_).read_bytes() == raw
        return id_

    # --- what a person does --------------------------------------------------------------

    @rule(id_=ids, word=words)
    def write_in_the_file(self, id_: str, word: str) -> None:
        file = self._file(id_)
        file.write_bytes(file.read_bytes() + f"And by hand: {word}.\n".encode())
        self.vault.index_now()
        self._learn(id_)

    @rule(id_=ids, name=words)
    def rename(self, id_: str, name: str) -> None:
        file = self._file(id_)
        target = self.root / f"{name} {id_[-6:]}.md"
        if not self.memories[id_]["path"].startswith(".vaultmem") and not target.exists():
            file.rename(target)
            self.vault.index_now()
            self.memories[id_]["path"] = target.relative_to(self.root).as_posix()
            self._learn(id_)

    @rule(id_=ids, flag=st.booleans())
    def tick_forgotten(self, id_: str, flag: bool) -> None:
        file = self._file(id_)
        file.write_bytes(edit_note(parse(file.read_bytes()), SetProperty("forgotten", flag)))
        self.vault.index_now()
        self._learn(id_)

    def _learn(self, id_: str) -> None:
        """What the file says now is what the memory must be."""
        note = parse(self._file(id_).read_bytes(), self.memories[id_]["path"])
        scope = note.string("scope")
        self.memories[id_].update(
            content=note.body.removesuffix("\n"),
            tags=set(note.tags),
            forgotten=note.flag("forgotten"),
            scope=scope,
            project=note.string("project"),
        )

    # --- what must always hold -----------------------------------------------------------

    def _there(self) -> dict[str, dict[str, Any]]:
        return {i: memory for i, memory in self.memories.items() if "gone" not in memory}

    @invariant()
    def every_memory_is_what_it_must_be(self) -> None:
        there = self._there()
        found = {memory.id: memory for memory in self.vault.get(list(there)).memories}
        assert found.keys() == there.keys()
        for id_, wanted in there.items():
            memory = found[id_]
            assert memory.content == wanted["content"]
            assert set(memory.tags) == wanted["tags"]
            assert (memory.path, memory.forgotten) == (wanted["path"], wanted["forgotten"])

    @invariant()
    def each_caller_finds_what_is_theirs(self) -> None:
        for user in ("ana", "ben"):
            for project in ("Atlas", ""):
                caller = Caller(user=user, project=project, session="s-1")
                agent = self.vault.for_caller(caller)
                for word in WORDS[:2]:
                    hits = agent.recall(word, strategy="keyword", limit=100)
                    wanted = {
                        id_
                        for id_, m in self._there().items()
                        if not m["forgotten"]
                        and m["user"] in ("", user)
                        and (not project or m["project"] in ("", project))
                        and (word in m["content"] or word in m["tags"] or word in m["path"])
                    }
                    assert {hit.id for hit in hits.memories} == wanted
                    assert hits.total_matched == len(wanted)

    @invariant()
    def earlier_texts_are_kept(self) -> None:
        for id_, texts in self.before.items():
            kept = {s.raw for s in self.vault.parts.history.snapshots(id_)}
            assert set(texts) <= kept

    @invariant()
    def the_index_equals_a_rebuild(self) -> None:
        fresh = Index(self.folder / "fresh")
        try:
            fresh.rebuild()
            Reconciler(self.vault.parts.store, fresh).everything(told=True)
            assert contents(self.vault.parts.index) == contents(fresh)
        finally:
            fresh.close()

    @invariant()
    def what_another_user_wrote_does_not_exist(self) -> None:
        stranger = self.vault.for_caller(Caller(user="stranger"))
        for id_, memory in self._there().items():
            if memory["user"]:
                try:
                    stranger.source(id_)
                except errors.NotFound:
                    continue
                raise AssertionError(f"{id_} was found")


TestAgents = Agents.TestCase
TestAgents.settings = settings(max_examples=12, stateful_step_count=12, deadline=None)
