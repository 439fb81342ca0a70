"""Two callers, each bound to a user and a project, on one vault: whatever they call, with whatever
arguments, and whatever state the other's notes are in, no word of the other's comes out.

Every place in a note has a word of its own. A caller that named such a word itself may hear it
again; all others are looked for in every answer and every error.
"""

from __future__ import annotations

import contextlib
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError
from ulid_transform import ulid_now

from vaultmem import errors
from vaultmem.notes.note import parse
from vaultmem.operations.caller import Caller
from vaultmem.surfaces import answers, arguments
from vaultmem.surfaces.dialects.keyed_entries import KeyedEntries
from vaultmem.surfaces.http import routes
from vaultmem.surfaces.mcp import prompts, resources, tools
from vaultmem.vault import Vault

SEEDS, CALLS = 3, 250
CALLERS = {
    "a": Caller(user="alice", project="Apollo", session="s-a", client="one"),
    "b": Caller(user="bob", project="Zeus", session="s-b", client="other"),
}
CANARY = re.compile(r"zq[ab]\d+x")
NEUTRAL = ("kestrel", "gateway", "tea", "at noon", "decision")


class Aviary:
    """A vault with both callers' notes in it."""

    def __init__(self, root: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.root = root
        (root / ".vaultmem").mkdir(parents=True, exist_ok=True)
        flags = {"typing.quiet_seconds": 0.0, "model": "off"}
        self.vault = Vault.open(root, flags, caller=Caller())
        self.views = {name: self.vault.for_caller(caller) for name, caller in CALLERS.items()}
        self.count = 0
        self.known: dict[str, set[str]] = {"a": set(), "b": set()}  # words that they named
        self.refs: list[str] = [*NEUTRAL, "01KE6Q8Z4R9M2N4P6R7S8T9VWX", "Apollo", "Zeus", "s-a"]
        self.files: dict[Path, tuple[str, bytes]] = {}  # as they are when all is well

    def word(self, of: str) -> str:
        self.count += 1
        return f"zq{of}{self.count}x"

    # --- notes of every kind -------------------------------------------------------------

    def settle(self) -> None:
        for of, view in self.views.items():
            for _ in range(6):
                self.put(of)
            for scope in ("user", "project", "session"):
                text = f"A kestrel of {self.word(of)}. <private>{self.word(of)}</private>"
                made = view.remember(
                    text, scope=scope, tags=[self.word(of)], key=self.word(of), title=self.word(of)
                )
                self.refs += [made.memory_id, made.path, made.title, made.version]
            logged = view.log(f"A decision about the kestrel {self.word(of)}.", type="decision")
            self.refs += [logged.observation_id, logged.session_id, logged.path]
            view.end_session(summary=f"Said {self.word(of)}.", keep=True)
            view.assert_fact(self.word(of), "watches", f"the kestrel {self.word(of)}")
            self.lose(view, of)
        self.vault.index_now()

    def lose(self, view: Vault, of: str) -> None:
        """Notes that were forgotten, pruned, trashed or changed."""
        for what in ("forget", "prune", "remove", "update"):
            tag = self.word(of)
            made = view.remember(f"A kestrel, {self.word(of)}.", tags=[tag], title=self.word(of))
            self.refs += [made.memory_id, made.path, made.title, made.version]
            if what == "forget":
                view.forget(made.memory_id, reason=self.word(of))
            elif what == "prune":
                view.prune("user", tags=[tag])
            elif what == "remove":
                view.remove(made.memory_id)
            else:
                view.update(made.memory_id, append=f"More {self.word(of)}.")

    def put(self, of: str) -> None:
        caller = CALLERS[of]
        title = f"Plan {self.word(of)}"
        id_ = ulid_now()
        owner = self.chance.choice((f"user: {caller.user}", f"project: {caller.project}"))
        scope = "user" if owner.startswith("user") else "project"
        raw = (
            f"---\nid: {id_}\ntype: semantic\nscope: {scope}\n{owner}\n"
            f"aliases:\n  - {self.word(of)}\ntags:\n  - {self.word(of)}\nhint: {self.word(of)}\n"
            f'about:\n  - "[[{self.word(of)}]]"\n---\n# Head {self.word(of)}\n\n'
            f"A kestrel of {self.word(of)}, see [[{self.word(of)}]].\n\n"
            f"<private>{self.word(of)}</private>\n\n## Facts\n\n"
            f"- watches:: the kestrel {self.word(of)} (2026-01-28 → ; 0.9) ^f-{self.count}\n"
        ).encode()
        file = self.root / self.chance.choice(("", "Notes", "Entities")) / f"{title}.md"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(raw)
        self.files[file] = owner, raw
        self.refs += [id_, file.relative_to(self.root).as_posix(), title]

    def disturb(self) -> None:
        """One of the notes is being typed in, merged, cut or put right again."""
        file = self.chance.choice(sorted(self.files))
        owner, raw = self.files[file]
        name = owner.partition(":")[0]
        line = owner.encode()
        states = [
            raw,
            raw.replace(line, line + b"\n" + line),
            raw.replace(line, line + f"\n{name.title()}: nobody".encode()),
            raw.replace(line, f"{name}:".encode()),
            raw.replace(line, f'{name}: "half'.encode()),
            raw.replace(line, f"{name}: [{owner.split()[1]}, x]".encode()),
            raw.replace(line, line + b"\ngarbage"),
            raw.replace(b"---\n", b"--\n", 1),
            raw.replace(b"---\n", b"", 1),
            b"\n" + raw,
            raw.replace(b"---\n# Head", b"--\n# Head"),
            raw[: raw.index(b"# Head")].removesuffix(b"---\n") + raw[raw.index(b"# Head") :],
            raw.replace(line, b"<<<<<<< a\n" + line + b"\n=======\nx: y\n>>>>>>> b"),
            b"<<<<<<< a\n" + raw + b"=======\nx\n>>>>>>> b\n",
            raw.replace(name.encode(), name.encode() + b"\xff", 1),
            raw[: raw.index(b"hint")],
            raw.replace(b"\n", b"\r\n").replace(line, line + b"\r\n" + line),
        ]
        file.write_bytes(self.chance.choice(states))
        if self.chance.random() < 0.2:  # and a sync program leaves a copy
            copy = file.with_name(f"{file.stem} (Conflicted copy 2026).md")
            copy.write_bytes(self.chance.choice(states))

    # --- calls ---------------------------------------------------------------------------

    def ref(self, own: str) -> str:
        ref = self.chance.choice(self.refs)
        self.known[own] |= set(CANARY.findall(ref))
        return ref

    def argument(self, own: str, name: str, schema: dict[str, Any]) -> Any:
        chance = self.chance
        if "oneOf" in schema:
            return self.argument(own, name, chance.choice(schema["oneOf"]))
        if "enum" in schema:
            return chance.choice(schema["enum"])
        match schema.get("type"):
            case "array":
                return [
                    self.argument(own, name, schema["items"]) for _ in range(chance.randint(1, 3))
                ]
            case "integer":
                return chance.randint(schema.get("minimum", 0), schema.get("maximum", 50))
            case "number":
                return round(chance.random(), 2)
            case "boolean":
                return chance.random() < 0.5
            case "object":
                inner = schema.get("properties", {})
                return {
                    n: self.argument(own, n, s) for n, s in inner.items() if chance.random() < 0.7
                }
        if name in ("content", "new_text", "append", "summary", "title", "reason", "object"):
            return " ".join(chance.choice(NEUTRAL) for _ in range(3))
        if name in ("after", "before", "as_of", "valid_from", "valid_to", "older_than"):
            return chance.choice(("2020-01-01", "2030-01-01", "1d", "0d"))
        return self.ref(own)

    def tool(self, own: str, view: Vault) -> Any:
        tool = self.chance.choice(tools.TABLE)
        given = {
            name: self.argument(own, name, schema)
            for name, schema in tool.takes.items()
            if name in tool.needs or self.chance.random() < 0.3
        }
        return tool.run(view, arguments.checked_arguments(tool.name, tool.schema, given))

    def resource(self, own: str, view: Vault) -> Any:
        if self.chance.random() < 0.2:
            return resources.list_resources(view, self.chance.choice((None, "notes-0", "notes-5")))
        kinds = [f"memory://{path}" for path in resources.FIXED]
        kinds += [f"memory://vault/{self.ref(own)}", f"memory://session/{self.ref(own)}"]
        kinds += ["memory://vault?limit=500"]
        return resources.read_resource(view, self.chance.choice(kinds))

    def completion(self, own: str, view: Vault) -> Any:
        name = self.chance.choice(("ids", "tag", "project", "entity", "session_id"))
        return prompts.complete_argument(view, name, self.chance.choice(("", "P", "z", "zq", "M")))

    def route(self, own: str, view: Vault) -> Any:
        route = self.chance.choice([each for each in routes.ROUTES if each.run is not None])
        given = {
            name: self.argument(own, name, schema)
            for name, schema in route.takes.items()
            if name in route.needs or self.chance.random() < 0.3
        }
        assert route.run is not None
        return route.run(view, given)

    def operation(self, own: str, view: Vault) -> Any:
        ref = self.ref(own)
        return self.chance.choice(
            [
                lambda: view.history(ref, git=True),
                lambda: view.version_text(ref, self.ref(own)),
                lambda: view.restore(ref, self.ref(own)),
                lambda: view.source(ref),
                view.projects,
                view.tags,
                view.conflicts,
                lambda: view.beginning(self.chance.choice(("titles", "tags", "projects")), ""),
                lambda: view.entity_names("", 100),
                lambda: KeyedEntries(view).keyed_entries(scopes=("user", "project", "session")),
                KeyedEntries(view).entry_tags,
                lambda: KeyedEntries(view).entries_containing("kestrel", limit=50),
                lambda: KeyedEntries(view).entries_matching("kestrel", limit=50),
                lambda: view.recall("kestrel", strategy="keyword", limit=100, explain=True),
                lambda: view.context("kestrel", max_tokens=8000, related=20),
                lambda: view.consolidate(dry_run=True),
                lambda: view.session_summary(ref),
                lambda: view.timeline(before=500),
                view.status,
            ]
        )()

    def call(self, own: str) -> str:
        """One call of any kind, as it would be told."""
        view = self.views[own]
        kinds = (self.tool, self.tool, self.tool, self.resource, self.completion, self.route)
        try:
            value = self.chance.choice((*kinds, self.operation))(own, view)
        except (errors.VaultmemError, MCPError) as error:
            told = (
                answers.error_answer(error)
                if isinstance(error, errors.VaultmemError)
                else str(error)
            )
            return json.dumps(told, ensure_ascii=False)
        return json.dumps(answers.plain_answer(value), ensure_ascii=False, default=repr)

    def heard(self, own: str, told: str) -> set[str]:
        """Words of the other's that the caller did not name itself."""
        other = "b" if own == "a" else "a"
        return {w for w in CANARY.findall(told) if w[2] == other} - self.known[own]


@pytest.fixture
def aviary(root: Path, request: pytest.FixtureRequest) -> Iterator[Aviary]:
    made = Aviary(root, request.param)
    with contextlib.closing(made.vault):
        made.settle()
        yield made


@pytest.mark.parametrize("aviary", range(SEEDS), indirect=True)
def test_nothing_of_the_others_is_heard(aviary: Aviary) -> None:
    own_words = 0
    for number in range(CALLS):
        own = aviary.chance.choice("ab")
        if number % 4 == 0:
            aviary.disturb()
        if number % 3 == 0:
            aviary.vault.index_now()
        told = aviary.call(own)
        assert not aviary.heard(own, told), told[:2000]
        own_words += any(word[2] == own for word in CANARY.findall(told))
    assert own_words > CALLS // 10, "they hear too little to tell"


@pytest.mark.parametrize("aviary", [99], indirect=True)
def test_a_person_hears_of_all(aviary: Aviary) -> None:
    told = repr(aviary.vault.recall("kestrel", strategy="keyword", limit=500))
    assert {word[2] for word in CANARY.findall(told)} == {"a", "b"}
    assert parse(next(iter(aviary.files.values()))[1]).id
