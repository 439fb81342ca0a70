"""A person and two agents write in the same notes, at random; what was not named stays.

Every sentence has a word of its own, so that each that goes missing is noticed: `p17` is a
person's, `s17` stands in a private passage, `a17` is an agent's.
"""

from __future__ import annotations

import contextlib
import random
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vaultmem import errors
from vaultmem.notes.masking import without_private
from vaultmem.notes.note import note_body, note_version, parse
from vaultmem.operations.caller import Caller
from vaultmem.surfaces.dialects.keyed_entries import KeyedEntries
from vaultmem.vault import Vault

SEEDS, STEPS = 12, 40
HEADS = ("Plan", "Facts", "Notes", "Log", "Summary")


class World:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.folder = Path(tempfile.mkdtemp(prefix="vaultmem-test-"))
        self.root = self.folder / "vault"
        (self.root / ".vaultmem").mkdir(parents=True)
        flags = {"typing.quiet_seconds": 0.0, "model": "off"}
        self.vault = Vault.open(self.root, flags, caller=Caller())
        self.agents = [
            self.vault.for_caller(Caller(client=name, session="s-1")) for name in ("one", "other")
        ]
        self.known: set[tuple[int, str, str]] = set()  # agent, path, text: seen or written whole
        self.told: set[tuple[int, str, str]] = set()  # agent, path, version: with all or a part
        self.said = 0
        self.calls: Counter[str] = Counter()

    def close(self) -> None:
        self.vault.close()
        shutil.rmtree(self.folder)

    # --- words ---------------------------------------------------------------------------

    def word(self, of: str) -> str:
        self.said += 1
        return f"{of}{self.said}"

    def sentence(self, of: str) -> str:
        return f"The {self.chance.choice(('tea', 'cake', 'gateway'))} of {self.word(of)} is here."

    def paragraph(self, of: str) -> str:
        chance = self.chance.random()
        if chance < 0.15:
            return f"```text\n{self.sentence(of)}\n```"
        if chance < 0.3:
            return f"- {self.sentence(of)}\n- {self.sentence(of)}"
        if chance < 0.4:
            return f"> {self.sentence(of)}"
        if of == "p" and chance < 0.55:
            return f"<private>\n{self.sentence('s')}\n</private>"
        if of == "p" and chance < 0.6:
            return f"{self.sentence(of)} %% {self.sentence(of)} %%"
        return " ".join(self.sentence(of) for _ in range(self.chance.choice((1, 1, 3, 12))))

    def text(self, of: str, most: int = 6) -> str:
        parts = []
        for _ in range(self.chance.randint(1, most)):
            if self.chance.random() < 0.4:
                parts.append(f"{'#' * self.chance.randint(1, 3)} {self.chance.choice(HEADS)}")
            parts.append(self.paragraph(of))
        return "\n\n".join(parts)

    # --- files ---------------------------------------------------------------------------

    def notes(self) -> dict[str, bytes]:
        return {
            path: self.vault.parts.store.read(path).raw
            for path in self.vault.parts.store.walk().notes
        }

    def some(self) -> str:
        return self.chance.choice(sorted(self.notes()))

    # --- what a person does --------------------------------------------------------------

    def make(self) -> None:
        head = self.chance.choice(("", "---\nmood: calm # really\nzip: 00123\n---\n"))
        raw = f"{head}{self.text('p')}\n"
        if self.chance.random() < 0.3:
            raw = raw.replace("\n", "\r\n")
        file = self.root / f"{self.word('Note ')}.md"
        file.write_bytes(raw.encode())

    def edit(self) -> None:
        path = self.some()
        raw = self.vault.parts.store.read(path).raw
        head, body = raw[: len(raw) - len(note_body(raw).encode())].decode(), note_body(raw)
        lines = body.split("\n")
        at = self.chance.randrange(len(lines) + 1)
        lines[at:at] = ["", self.paragraph("p"), ""]
        (self.vault.parts.store.paths.locate(path)).write_bytes((head + "\n".join(lines)).encode())

    # --- what agents do ------------------------------------------------------------------

    def look(self, who: int, path: str) -> None:
        agent = self.agents[who]
        what = self.chance.randrange(4)
        if what == 0:
            (memory,) = agent.get([path]).memories
            self.knows(who, path)
            self.told.add((who, path, memory.version))
        elif what == 1:
            for hit in agent.recall("tea cake gateway", strategy="keyword", limit=50).memories:
                if hit.whole and hit.block is None:
                    self.knows(who, hit.path)
                    assert _plain(hit.content) == self.text_of(hit.path)
        elif what == 2:
            listed = agent.list(limit=100).memories
            self.told |= {(who, memory.path, memory.version) for memory in listed}
        else:
            self.told.add((who, path, agent.tag(path, add=["looked"]).version))

    def text_of(self, path: str) -> str:
        return _plain(note_body(self.vault.parts.store.read(path).raw))

    def knows(self, who: int, path: str) -> None:
        self.known.add((who, path, self.text_of(path)))

    def versions(self, who: int, path: str) -> list[str]:
        """What an agent may give as expected_version: whatever it was ever given."""
        return [*sorted(v for w, p, v in self.told if (w, p) == (who, path)), "0" * 20]

    def change(self, who: int, path: str) -> dict[str, Any]:
        """Arguments of any kind, good or bad."""
        body = note_body(self.vault.parts.store.read(path).raw)
        given: dict[str, Any] = {}
        way = self.chance.choice(("quote", "quote", "append", "content", "content", "none", "all"))
        if way in ("quote", "all"):
            given |= self.quotation(body)
        if way in ("append", "all"):
            given["append"] = self.paragraph("a")
            if self.chance.random() < 0.5:
                given["section"] = self.chance.choice(HEADS)
        if way in ("content", "all"):
            given["content"] = self.text("a", 2)
        if self.chance.random() < 0.3:
            given["importance"] = round(self.chance.random(), 2)
        if self.chance.random() < 0.3:
            given["add_tags"] = [self.chance.choice(("red", "blue"))]
        if self.chance.random() < 0.4:
            given["expected_version"] = self.chance.choice(self.versions(who, path))
        return given

    def quotation(self, body: str) -> dict[str, Any]:
        start = self.chance.randrange(len(body) + 1)
        end = start + self.chance.choice((1, 8, 30, 200))
        old = body[start:end] if self.chance.random() < 0.8 else self.sentence("a")
        new = self.chance.choice(("", self.sentence("a"), "```", "<private>", "%%", old + " x"))
        return {"old_text": old.replace("\r\n", "\n"), "new_text": new}

    def update(self, who: int) -> None:
        path = self.some()
        given = self.change(who, path)
        before = self.notes()
        try:
            self.agents[who].update(path, **given)
        except errors.Conflict as conflict:
            self.shown_by(conflict, who, path)
            self.nothing_changed(before)
            return
        except (errors.InvalidInput, errors.NoteMalformed) as error:
            assert not re.search(r"\bs\d", str(error)), error
            self.nothing_changed(before)
            return
        self.only_that_changed(who, path, given, before)

    def shown_by(self, conflict: errors.Conflict, who: int, path: str) -> None:
        assert _plain(note_body(conflict.text.encode())) == self.text_of(path)
        self.knows(who, path)
        self.told.add((who, path, conflict.version))

    def store(self, who: int) -> None:
        key = self.chance.choice(("day", "night"))
        given: dict[str, Any] = {"key": key, "tags": [self.chance.choice(("red", "blue"))]}
        before = self.notes()
        held = [p for p, raw in before.items() if parse(raw).string("key") == key]
        if held and self.chance.random() < 0.3:
            given["expected_version"] = self.chance.choice(self.versions(who, held[0]))
        by_key = self.chance.random() < 0.3
        try:
            if by_key:
                KeyedEntries(self.agents[who]).put_entry(key, self.text("a", 3), tags=given["tags"])
            else:
                self.agents[who].remember(self.text("a", 3), **given)
        except errors.Conflict as conflict:
            self.shown_by(conflict, who, held[0])
            self.nothing_changed(before)
            return
        except (errors.InvalidInput, errors.NoteMalformed):
            self.nothing_changed(before)
            return
        for path in held:
            text = _plain(note_body(before[path]))
            named = given.get("expected_version") and not by_key
            if not (named and (who, path, text) in self.known):
                self.nothing_is_lost(before[path], path)
            self.private_stays(before[path], path)
            if named:
                self.knows(who, path)
        self.nothing_changed({p: raw for p, raw in before.items() if p not in held})

    def other(self, who: int) -> None:
        """Calls that change one property or add one line."""
        agent, path = self.agents[who], self.some()
        session = "s-1"
        calls: list[Callable[[], Any]] = [
            lambda: agent.forget(path, reason="old"),
            lambda: agent.tag(path, add=["red"], remove=["blue"]),
            lambda: agent.promote(path, "user"),
            lambda: agent.log(self.sentence("a")),
            lambda: agent.end_session(session_id=session, summary=self.sentence("a"), keep=True),
            lambda: agent.assert_fact(parse(b"", path).title, "is", self.word("a")),
            agent.consolidate,
        ]
        before = self.notes()
        with contextlib.suppress(errors.VaultmemError):
            self.chance.choice(calls)()
        for old, raw in before.items():
            self.nothing_is_lost(raw, old)
            self.private_stays(raw, old)

    def back(self, who: int) -> None:
        path = self.some()
        before = self.notes()
        try:
            done = self.agents[who].restore(path)
        except errors.VaultmemError:
            self.nothing_changed(before)
            return
        self.nothing_changed({p: raw for p, raw in before.items() if p != path})
        if done.replaced:  # what stood there is kept
            kept = {v.version for v in self.vault.history(path).versions}
            assert note_version(before[path]) == done.replaced and done.replaced in kept

    # --- what must hold ------------------------------------------------------------------

    def nothing_changed(self, before: dict[str, bytes]) -> None:
        now = self.notes()
        assert {path: now.get(path) for path in before} == before

    def nothing_is_lost(self, raw: bytes, path: str) -> None:
        now = self.vault.parts.store.read(path).raw.decode()
        for word in re.findall(r"\b[ps]\d+\b", raw.decode()):
            assert re.search(rf"\b{word}\b", now), (word, path)

    def private_stays(self, raw: bytes, path: str) -> None:
        note = parse(self.vault.parts.store.read(path).raw)
        hidden = set(re.findall(r"\bs\d+\b", raw.decode()))
        assert hidden <= set(re.findall(r"\bs\d+\b", note.text)), path
        shown = self.vault.get([path]).memories[0].content
        assert not re.search(r"\bs\d+\b", shown), path

    def only_that_changed(
        self, who: int, path: str, given: dict[str, Any], before: dict[str, bytes]
    ) -> None:
        raw, now = before[path], self.vault.parts.store.read(path).raw
        self.nothing_changed({p: raw for p, raw in before.items() if p != path})
        self.private_stays(raw, path)
        old, new = note_body(raw), note_body(now)
        for line in ("mood: calm # really", "zip: 00123"):
            assert line.encode() not in raw or line.encode() in now
        if "content" in given:
            self.calls["content"] += 1
            if (who, path, _plain(old)) not in self.known:
                self.nothing_is_lost(raw, path)
            self.knows(who, path)
        elif "old_text" in given:
            self.calls["quote"] += 1
            assert new in _replaced(old, given["old_text"], given["new_text"])
        elif "append" in given:
            self.calls["append"] += 1
            at = len(_common(old, new))
            added = len(new) - len(old)
            assert any(new[:i] + new[i + added :] == old for i in range(at + 1)), path
        else:
            assert old == new
        if (who, path, _plain(old)) in self.known:  # and it made the change itself
            self.knows(who, path)
        self.calls["made"] += 1


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


def _common(one: str, other: str) -> str:
    end = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    return one[: min(len(one), len(other)) if end is None else end]


def _replaced(body: str, old: str, new: str) -> set[str]:
    """The bodies that could come of it: one place, with the note's line ends."""
    pattern = re.compile(r"\r?\n".join(map(re.escape, old.split("\n"))))
    found, at, new = set(), 0, without_private(new).replace("\r\n", "\n")
    while place := pattern.search(body, at):
        for put in (new, new.replace("\n", "\r\n")):
            found.add(body[: place.start()] + put + body[place.end() :])
        at = place.start() + 1
    return found


@pytest.mark.parametrize("seed", range(SEEDS))
def test_nothing_that_was_not_named_goes(seed: int) -> None:
    world = World(seed)
    try:
        for _ in range(4):
            world.make()
        acts = [world.update] * 6 + [world.store] * 3 + [world.other] * 2 + [world.back]
        for _ in range(STEPS):
            who = world.chance.randrange(2)
            if world.chance.random() < 0.25:
                world.edit()
            elif world.chance.random() < 0.4:
                world.look(who, world.some())
            else:
                world.chance.choice(acts)(who)
    finally:
        world.close()
