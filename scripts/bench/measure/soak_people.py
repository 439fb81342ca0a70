"""The people of a soak: agents at their servers, a person in the editor, git now and then."""

from __future__ import annotations

import random
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from measure.client import Reply, Server
from measure.corpus import Question, markdown
from measure.git_pull import git
from measure.questions import fresh

SHARED = "Shared"  # the notes that git changes, and nobody else
SHARED_NOTES = 300
_SHARES = {"recall": 60, "store": 15, "update": 12, "forget": 4, "list": 5, "context": 4}


@dataclass
class Log:
    """What happened, by kind of work: when, and how long it took."""

    taken: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    failures: list[str] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)  # memories that must be there at the end
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, kind: str, seconds: float) -> None:
        with self.lock:
            self.taken[kind].append((time.monotonic(), seconds))


class Agent(threading.Thread):
    def __init__(
        self, server: Server, questions: tuple[Question, ...], log: Log, stop: threading.Event,
        seed: int, pause: float,
    ) -> None:  # fmt: skip
        super().__init__(daemon=True)
        self.server, self.questions, self.log, self.stop = server, questions, log, stop
        self.random = random.Random(seed)
        self.pause = pause
        self.mine: list[str] = []

    def run(self) -> None:
        while not self.stop.wait(self.pause):
            kind = self.random.choices(list(_SHARES), list(_SHARES.values()))[0]
            try:
                reply = getattr(self, f"do_{kind}")()
            except Exception as error:  # the edge: a server that dies is what we look for
                self.log.failures.append(f"{kind}: {type(error).__name__}: {error}")
                return
            if reply is not None:
                self.log.note(kind, reply.seconds)
                if reply.failed:
                    self.log.failures.append(f"{kind}: {reply.text[:200]}")

    def do_recall(self) -> Reply:
        strategy = self.random.choice(["hybrid", "hybrid", "keyword"])
        question = self.random.choice(self.questions)
        return self.server.call("recall_memories", query=question.text, strategy=strategy)

    def do_store(self) -> Reply:
        title, word, text = fresh("soaked")
        about = {"type": "semantic", "scope": "project", "project": "Soak", "title": title}
        reply = self.server.call("store_memory", content=text, **about)
        if not reply.failed:
            self.mine.append(reply.data["memory_id"])
            self.log.kept[self.mine[-1]] = word
        return reply

    def do_update(self) -> Reply | None:
        if not self.mine:
            return None
        memory = self.random.choice(self.mine)
        more = f"{self.log.kept[memory]} was looked at {time.monotonic():.3f}."
        return self.server.call("update_memory", memory_id=memory, content=more)

    def do_forget(self) -> Reply | None:
        if len(self.mine) < 5:
            return None
        memory = self.mine.pop(self.random.randrange(len(self.mine)))
        del self.log.kept[memory]
        return self.server.call("forget_memory", memory_id=memory)

    def do_list(self) -> Reply:
        return self.server.call("list_memories", limit=20)

    def do_context(self) -> Reply:
        task = self.random.choice(self.questions).text
        return self.server.call("get_memory_context", task_description=task)


class Person(threading.Thread):
    """Edits, renames, deletes and makes notes, as an editor does it: in place."""

    def __init__(self, root: Path, log: Log, stop: threading.Event, pause: float) -> None:
        super().__init__(daemon=True)
        self.root, self.log, self.stop, self.pause = root, log, stop, pause
        self.random = random.Random(5)
        self.files = [f for f in markdown(root) if SHARED not in f.parts and "Soak" not in f.parts]
        self.last: tuple[str, str] = ("", "")

    def run(self) -> None:
        while not self.stop.wait(self.pause):
            place = self.random.randrange(len(self.files))
            started = time.perf_counter()
            kind = self.random.choices(["edit", "rename", "delete"], [75, 13, 12])[0]
            getattr(self, f"do_{kind}")(place)
            self.log.note(kind, time.perf_counter() - started)

    def do_edit(self, place: int) -> None:
        file = self.files[place]
        word = f"typed{time.time_ns()}"
        text = file.read_text(encoding="utf-8").rstrip()
        lines = [line for line in text.splitlines() if not line.startswith("typed")]
        file.write_text("\n".join([*lines, "", word, ""]), encoding="utf-8")
        self.last = (file.relative_to(self.root).as_posix(), word)

    def do_rename(self, place: int) -> None:
        old = self.files[place]
        name = f"{old.stem.partition(' renamed')[0]} renamed {time.time_ns() % 10**6}.md"
        self.files[place] = old.rename(old.with_name(name))

    def do_delete(self, place: int) -> None:
        """And a new note for it, so that the vault stays as large as it is."""
        old = self.files[place]
        old.unlink()
        made = old.with_name(f"Made {time.time_ns()}.md")
        made.write_text(f"# {made.stem}\n\nSee [[{old.stem}]]. #made\n", encoding="utf-8")
        self.files[place] = made


class Git(threading.Thread):
    """Checks out another state of some hundred notes, and back."""

    def __init__(
        self, root: Path, home: Path, log: Log, stop: threading.Event, pause: float
    ) -> None:
        super().__init__(daemon=True)
        self.root, self.home, self.log, self.stop, self.pause = root, home, log, stop, pause

    def run(self) -> None:
        states = ("other", "main")
        number = 0
        while not self.stop.wait(self.pause):
            started = time.perf_counter()
            git(self.root, self.home, "checkout", "-q", states[number % 2], "--", SHARED)
            self.log.note("checkout", time.perf_counter() - started)
            number += 1


def share(root: Path, home: Path) -> None:
    """Some hundred notes under git, in two states."""
    folder = root / SHARED
    folder.mkdir()
    (root / ".gitignore").write_text(".vaultmem/\n", encoding="utf-8")
    _write(folder, "main")
    git(root, home, "init", "-q", "-b", "main")
    git(root, home, "add", ".gitignore", SHARED)
    git(root, home, "commit", "-q", "-m", "one state")
    git(root, home, "checkout", "-q", "-b", "other")
    _write(folder, "other")
    git(root, home, "commit", "-q", "-a", "-m", "another")
    git(root, home, "checkout", "-q", "main")


def _write(folder: Path, state: str) -> None:
    for number in range(SHARED_NOTES):
        text = f"# Shared {number}\n\nThis is the state {state} of [[Shared {number + 1}]].\n"
        (folder / f"Shared {number}.md").write_text(text, encoding="utf-8")
