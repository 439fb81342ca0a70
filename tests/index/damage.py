"""Damage to the files of an index, chosen by a seed, and what servers and commands make of it.

One `Place` is a vault with a leading server, a second one and the command line beside them. A
trial does something bad to a file of the index, asks, and waits until all is well again. An
answer is right, or it says that something is missing; anything else is a fault.
"""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests import nursery
from tests.conftest import clean_environment
from tests.surfaces.mcp.harness import Process

WORDS = [
    "quince",
    "medlar",
    "damson",
    "sorrel",
    "lovage",
    "borage",
    "tansy",
    "yarrow",
    "comfrey",
    "bistort",
    "samphire",
]
HOW = ("delete", "truncate", "empty", "overwrite", "zero", "folder", "swap", "older")
MOMENTS = ("at rest", "running", "rebuilding")
ASKERS = ("leader", "second", "command")
HEALED_WITHIN = 90.0  # seconds; it takes one or two where nobody else needs the machine
_MODEL = "models"
_LOCKS = (".lock",)


@dataclass
class Trial:
    moment: str
    how: str
    file: str
    asked: Counter[str] = field(default_factory=Counter)  # right, warned
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0  # until everything was right again, without a warning

    def __str__(self) -> str:
        return f"{self.how} {self.file}, {self.moment}: {'; '.join(self.faults) or 'well'}"


class Server:
    """A server that is started anew when it dies, and counts that."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.errors: list[str] = []
        self.number = 1
        self._start()

    def _start(self) -> None:
        self.process = Process(self.place.home, "--vault", str(self.place.root), env=self.place.env)
        threading.Thread(target=self._drain, args=(self.process,), daemon=True).start()
        self.process.start()

    def _drain(self, process: Process) -> None:
        assert process.child.stderr is not None
        for line in process.child.stderr:
            self.errors.append(line.decode(errors="replace"))

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        self.number += 1
        return self.process.call(self.number, tool, **arguments)

    def is_dead(self) -> bool:
        try:
            self.process.child.wait(0.05)
        except subprocess.TimeoutExpired:
            return False
        return True

    def last_words(self) -> str:
        self.is_dead()
        return f"({self.process.child.returncode}) {''.join(self.errors[-30:])[-1500:]}"

    def again(self) -> None:
        with contextlib.suppress(OSError):
            self.process.__exit__()
        self._start()

    def end(self) -> None:
        if not self.is_dead():
            assert self.process.child.stdin is not None
            with contextlib.suppress(OSError):
                self.process.child.stdin.close()
            self.process.child.wait(60)
        with contextlib.suppress(OSError):
            self.process.__exit__()


class Place:
    def __init__(
        self, home: Path, *, model: bool = False, notes: int = 11, bound: float = HEALED_WITHIN
    ) -> None:
        self.home = home
        self.bound = bound
        self.root = home / "vault"
        self.env = {"PYTHONFAULTHANDLER": "1"} | ({} if model else {"VAULTMEM_MODEL": "off"})
        self.index = self.root / ".vaultmem" / "index"
        self.older = home / "older"
        self.said: dict[str, str] = {}  # word -> path of the note that has it
        self.servers: list[Server] = []
        self._write(notes)

    def _write(self, notes: int) -> None:
        (self.root / ".vaultmem").mkdir(parents=True)
        for number in range(notes):
            word = WORDS[number] if number < len(WORDS) else f"plant{number}"
            self._put(number, word)
        entities = self.root / "Entities"
        entities.mkdir()
        said = "- made_by:: Ana (since 2024-01-01)\n"
        (entities / "Atlas.md").write_text(f"---\ntype: entity\n---\n## Facts\n\n{said}")

    def _put(self, number: int, word: str) -> None:
        path = self.root / "Memories" / f"About {word}.md"
        path.parent.mkdir(exist_ok=True)
        id_ = f"01K0000000000000000000{number:04d}"
        about = f"id: {id_}\ntype: semantic\nscope: user\nkey: key-{word}\ntags: [herb]"
        path.write_text(f"---\n{about}\n---\nThe {word} grows here. [[Atlas]]\n")
        self.said[word] = f"Memories/About {word}.md"

    # --- who asks ------------------------------------------------------------------------

    def start(self) -> None:
        self.servers = [Server(self)]
        self.wait_until_well(Trial("", "", ""), [self.servers[0]])
        self.servers.append(Server(self))

    def stop(self) -> None:
        for server in self.servers:
            server.end()
        self.servers = []

    def command(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        return nursery.run(
            [sys.executable, "-m", "vaultmem", *arguments, "--vault", str(self.root)],
            env=clean_environment(self.home) | self.env,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=120,
        )

    def ask(self, who: str, chance: random.Random, trial: Trial) -> None:
        if who == "command" or not self.servers:
            self._ask_command(chance, trial)
            return
        server = self.servers[0 if who == "leader" else 1]
        name = chance.choice(list(_QUESTIONS))
        try:
            self._judge(trial, f"{who} {name}", _QUESTIONS[name](self, server, chance))
        except (AssertionError, OSError) as error:
            trial.faults.append(f"death of the {who} at {name}: {error} {server.last_words()}")
            server.again()

    def _ask_command(self, chance: random.Random, trial: Trial) -> None:
        word = chance.choice(list(self.said))
        done = self.command("search", word, "--json")
        told = done.stderr.decode()
        if done.returncode not in (0, 1) or "Traceback" in told:
            trial.faults.append(f"command ends with {done.returncode}: {told[-300:]}")
            return
        self._judge(trial, "command recall", _recalled(self, word, json.loads(done.stdout)))

    def _judge(self, trial: Trial, what: str, verdict: str) -> None:
        if verdict in ("right", "warned"):
            trial.asked[verdict] += 1
        else:
            fault = f"silent {what}: {verdict}"
            if fault.partition("{")[0] not in "".join(trial.faults):  # polling would repeat it
                trial.faults.append(fault)

    # --- waiting -------------------------------------------------------------------------

    def wait_until_well(self, trial: Trial, servers: list[Server] | None = None) -> None:
        """Until every note is found by every server, and nothing is missing any more."""
        started = time.monotonic()
        while True:
            try:
                wrong = self._wrong(self.servers if servers is None else servers, trial)
            except (AssertionError, OSError) as error:
                for server in self.servers:
                    if server.is_dead():
                        told = server.last_words()
                        trial.faults.append(f"death while healing: {error} {told}")
                        server.again()
                wrong = "a death"
            trial.seconds = time.monotonic() - started
            if not wrong:
                return
            if trial.seconds > self.bound:
                trial.faults.append(f"ill after {trial.seconds:.0f} s: {wrong}; {self._state()}")
                self._begin_anew()
                return
            time.sleep(0.1)

    def _state(self) -> str:
        told = (_said(server.call("get_memory_status"))["index"] for server in self.servers)
        return "; ".join(json.dumps(each) for each in told)

    def _begin_anew(self) -> None:
        """One trial's fault is not to be the next one's."""
        if len(self.servers) == 2:
            self.stop()
            shutil.rmtree(self.index, ignore_errors=True)
            self.servers = [Server(self), Server(self)]

    def _wrong(self, servers: list[Server], trial: Trial) -> str:
        for server in servers:
            for word in self.said:
                found = server.call("recall_memories", query=word, strategy="keyword")
                verdict = _recalled(self, word, found["structuredContent"])
                if verdict != "right":
                    if verdict != "warned":
                        self._judge(trial, "recall while healing", verdict)
                    return f"{word}: {verdict}"
        return ""

    # --- faults --------------------------------------------------------------------------

    def files(self) -> list[str]:
        every = (f for f in self.index.rglob("*") if f.is_file())
        named = (f.relative_to(self.index).as_posix() for f in every)
        return sorted(n for n in named if not n.startswith(_MODEL))

    def keep_older(self) -> None:
        shutil.rmtree(self.older, ignore_errors=True)
        if self.index.is_dir():
            ignored = shutil.ignore_patterns(_MODEL)
            shutil.copytree(self.index, self.older, ignore=ignored, dirs_exist_ok=True)

    def damage(self, chance: random.Random, how: str) -> str:
        """Do it to one file, or now and then to all of them; answers with which."""
        names = self.files()
        if not names:
            return "nothing"
        if how in ("delete", "older") and chance.random() < 0.3:
            self._all(how)
            return "everything"
        kind = chance.choice(sorted({_kind(name) for name in names}))
        name = chance.choice([name for name in names if _kind(name) == kind])
        other = chance.choice([n for n in names if n != name] or names)
        spoil(self.index / name, how, chance, self.index / other, self.older / name)
        return kind

    def _all(self, how: str) -> None:
        for name in self.files():
            (self.index / name).unlink(missing_ok=True)
        if how == "older":
            shutil.copytree(self.older, self.index, dirs_exist_ok=True)
        else:
            shutil.rmtree(self.index, ignore_errors=True)

    def trial(self, seed: int, moment: str, how: str) -> Trial:
        chance = random.Random(seed)
        if moment == "at rest":
            self.stop()
        trial = Trial(moment, how, "")
        with _alive(self, trial):
            trial.file = self.damage(chance, how)
            if moment == "rebuilding":
                time.sleep(chance.uniform(0, 1.5))
                trial.file += f", {self.damage(chance, chance.choice(HOW))}"
            if moment == "at rest":
                if chance.random() < 0.5:
                    self._ask_command(chance, trial)
                self.start_again(trial)
            for _ in range(4):
                self.ask(chance.choice(ASKERS), chance, trial)
            self.wait_until_well(trial)
            self._check_keys(trial)
        self.keep_older()
        return trial

    def start_again(self, trial: Trial) -> None:
        try:
            self.servers = [Server(self), Server(self)]
        except AssertionError as error:
            trial.faults.append(f"death at the start: {error}")

    def _check_keys(self, trial: Trial) -> None:
        """A key names one note, whatever the index knew when something was stored under it."""
        keys = Counter[str]()
        for file in (self.root / "Memories").rglob("*.md"):
            lines = file.read_text().splitlines()
            keys.update(line for line in lines if line.startswith("key:"))
        for key, count in keys.items():
            if count > 1:
                trial.faults.append(f"{key} stands in {count} notes")


def _kind(name: str) -> str:
    """So that the many files of the full text do not crowd out the few others."""
    return name.rpartition(".")[2] if name.startswith("fulltext") else name


@contextlib.contextmanager
def _alive(place: Place, trial: Trial) -> Iterator[None]:
    before = [len(server.errors) for server in place.servers]
    yield
    for server, since in zip(place.servers, before or [0, 0], strict=False):
        told = "".join(server.errors[since:])
        if "Traceback" in told and "watchdog/observers" not in told:  # that one is watched anew
            trial.faults.append(f"traceback: {told[-600:]}")


def spoil(file: Path, how: str, chance: random.Random, other: Path, older: Path) -> None:
    size = file.stat().st_size
    if how == "delete":
        file.unlink()
    elif how == "truncate":
        with file.open("r+b") as stream:
            stream.truncate(chance.randrange(max(1, size)))
    elif how == "empty":
        with file.open("r+b") as stream:
            stream.truncate(0)
    elif how in ("overwrite", "zero"):
        many = min(size, 200) if how == "overwrite" else size
        with file.open("r+b") as stream:
            stream.seek(chance.randrange(max(1, size - many + 1)))
            stream.write(chance.randbytes(many) if how == "overwrite" else bytes(many))
    elif how == "folder":
        file.unlink()
        file.mkdir()
    elif how == "swap":
        aside = file.with_name(file.name + ".aside")
        file.rename(aside)
        other.rename(file)
        aside.rename(other)
    elif older.is_file():
        shutil.copyfile(older, file)


# --- questions -------------------------------------------------------------------------------


def _said(result: dict[str, Any]) -> dict[str, Any]:
    content: dict[str, Any] = result["structuredContent"]
    return content


def _aloud(told: dict[str, Any]) -> bool:
    """Whether an answer says that something is missing, or that it should be tried again."""
    warnings = [str(w) for w in told.get("warnings", ())]
    return any(w.startswith(("partial_results", "index_behind", "query_timeout")) for w in warnings) or (
        bool(told.get("retry_possible") or told.get("degraded")) and bool(told.get("message"))
    )  # fmt: skip


def _verdict(told: dict[str, Any], is_right: bool) -> str:
    if _aloud(told):
        return "warned"
    return "right" if is_right else json.dumps(told)[:300]


def _recalled(place: Place, word: str, told: dict[str, Any]) -> str:
    paths = [memory["path"] for memory in told.get("memories", ())]
    return _verdict(told, place.said[word] in paths)


def _recall(place: Place, server: Server, chance: random.Random) -> str:
    word = chance.choice(list(place.said))
    found = server.call("recall_memories", query=f"where does {word} grow")
    return _recalled(place, word, _said(found))


def _list(place: Place, server: Server, chance: random.Random) -> str:
    told = _said(server.call("list_memories", limit=50))
    return _verdict(told, told.get("total") == len(place.said) + 1)


def _tags(place: Place, server: Server, chance: random.Random) -> str:
    told = _said(server.call("list_tags"))
    named = {each["tag"]: each["count"] for each in told.get("tags", ())}
    return _verdict(told, named.get("herb", 0) >= len(WORDS))


def _get(place: Place, server: Server, chance: random.Random) -> str:
    wanted = f"01K0000000000000000000{chance.randrange(len(WORDS)):04d}"
    told = _said(server.call("get_memories", ids=[wanted]))
    return _verdict(told, len(told.get("memories", ())) == 1)


def _facts(place: Place, server: Server, chance: random.Random) -> str:
    told = _said(server.call("query_facts", subject="Atlas"))
    return _verdict(told, bool(told.get("facts")))


def _graph(place: Place, server: Server, chance: random.Random) -> str:
    told = _said(server.call("search_knowledge_graph", entity="Atlas"))
    return _verdict(told, bool(told.get("memories")))


def _context(place: Place, server: Server, chance: random.Random) -> str:
    told = _said(server.call("get_memory_context", task_description="which herbs grow here"))
    return _verdict(told, any(word in json.dumps(told) for word in place.said))


def _store(place: Place, server: Server, chance: random.Random) -> str:
    word = f"wort{chance.randrange(10**9)}"
    told = _said(
        server.call("store_memory", content=f"The {word} grows.", type="semantic", scope="user")
    )
    if "error" not in told:
        place.said[word] = told["path"]
    return _verdict(told, "error" not in told)


def _keyed(place: Place, server: Server, chance: random.Random) -> str:
    """The note that has the key is written anew; a second one with it must not be made."""
    word = chance.choice(WORDS)
    told = _said(
        server.call(
            "store_memory",
            content=f"The {word} grows here.",
            type="semantic",
            scope="user",
            key=f"key-{word}",
        )
    )
    return _verdict(told, told.get("path") == place.said[word] or told.get("error") == "conflict")


_QUESTIONS: dict[str, Callable[[Place, Server, random.Random], str]] = {
    "recall": _recall,
    "recall again": _recall,
    "list": _list,
    "tags": _tags,
    "get": _get,
    "facts": _facts,
    "graph": _graph,
    "context": _context,
    "store": _store,
    "keyed store": _keyed,
}
