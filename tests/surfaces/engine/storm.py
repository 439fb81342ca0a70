"""Windows that come and go, and engines that are killed, hung and stopped, in any order: what was
acknowledged is there once, and each request is answered once."""

from __future__ import annotations

import contextlib
import json
import random
import signal
from collections import Counter
from pathlib import Path

from tests.surfaces.engine.machine import GREETING, Machine, Window
from tests.surfaces.mcp.harness import INITIALIZED

MOST_WINDOWS = 5
_LISTENS = "00010000"


class Storm:
    """One person's windows, and what was promised to them."""

    def __init__(self, machine: Machine, seed: int) -> None:
        self.machine, self.random, self.seed = machine, random.Random(seed), seed
        self.windows: list[Window] = []
        self.asked: dict[Window, dict[int, str]] = {}  # the word that a request would write
        self.replies: dict[Window, Counter[int]] = {}
        self.promised: list[str] = []  # words that must stand in the vault once
        self.refused: list[str] = []
        self.notes: list[str] = []  # ids of memories
        self.number = 0
        self.done: Counter[str] = Counter()

    def steps(self) -> dict[str, int]:
        return {
            "open": 8, "close": 3, "kill_window": 2, "store": 30, "recall": 15, "update": 8,
            "command": 4, "write_by_hand": 4, "kill_engine": 6, "hang_engine": 2, "stop_engine": 2,
        }  # fmt: skip

    def step(self) -> None:
        weights = self.steps()
        name = self.random.choices(list(weights), list(weights.values()))[0]
        self.done[name] += 1
        getattr(self, name)()
        self.hear()
        assert self.listening() <= 1

    def word(self) -> str:
        self.number += 1
        return f"word{self.seed}n{self.number}x"

    # --- windows ---------------------------------------------------------------------------

    def window(self) -> Window:
        if not self.windows:
            self.open()
        return self.random.choice(self.windows)

    def open(self) -> None:
        if len(self.windows) >= MOST_WINDOWS:
            return
        window = self.machine.window()
        self.asked[window], self.replies[window] = {0: ""}, Counter()
        self.windows.append(window)
        window.send(GREETING)
        window.send(INITIALIZED)

    def _call(self, tool: str, word: str, **arguments: object) -> None:
        window = self.window()
        id_ = len(self.asked[window])
        self.asked[window][id_] = word
        window.send({"jsonrpc": "2.0", "id": id_, "method": "tools/call",
                     "params": {"name": tool, "arguments": arguments}})  # fmt: skip

    def store(self) -> None:
        word = self.word()
        self._call("store_memory", word, content=f"The bird {word} nests in tree {word[4:]}.",
                   type="semantic", scope="user")  # fmt: skip

    def recall(self) -> None:
        self._call("recall_memories", "", query="bird nests", strategy="keyword")

    def update(self) -> None:
        if self.notes:
            word = self.word()
            self._call("update_memory", word, memory_id=self.random.choice(self.notes),
                       append=f"Seen with {word}.")  # fmt: skip

    def close(self) -> None:
        if self.windows:
            window = self.windows.pop(self.random.randrange(len(self.windows)))
            assert window.end() == 0, window.errors()
            self.hear_all(window)
            self.replies[window].subtract(list(self.asked[window]))
            wrong = {id_: times for id_, times in self.replies[window].items() if times}
            assert not wrong, (wrong, self.asked[window])

    def kill_window(self) -> None:
        if self.windows:
            window = self.windows.pop(self.random.randrange(len(self.windows)))
            window.child.kill()
            self.hear_all(window)
            assert all(times == 1 for times in self.replies[window].values())

    # --- what they hear --------------------------------------------------------------------

    def hear(self) -> None:
        for window in self.windows:
            while not window._replies.empty():
                self._take(window, window._replies.get())

    def hear_all(self, window: Window) -> None:
        while (reply := window._replies.get(timeout=60)) is not None:
            self._take(window, reply)
        assert not window.stray

    def _take(self, window: Window, reply: dict[str, object] | None) -> None:
        assert reply is not None, window.errors()
        if "method" in reply:
            return
        id_ = reply["id"]
        assert isinstance(id_, int) and "result" in reply, reply
        self.replies[window][id_] += 1
        assert self.replies[window][id_] == 1, reply
        result = reply["result"]
        assert isinstance(result, dict)
        if not result.get("isError"):
            self._trust(self.asked[window][id_], result)
        elif self.asked[window][id_]:
            self.refused.append(result["content"][0]["text"])

    def _trust(self, word: str, result: dict[str, object]) -> None:
        if not word:
            return
        self.promised.append(word)
        told = json.loads(result["content"][0]["text"])  # type: ignore[index]
        if isinstance(told.get("id"), str):
            self.notes.append(told["id"])

    # --- the rest of the world -------------------------------------------------------------

    def command(self) -> None:
        word = self.word()
        added = self.machine.run("add", f"The bird {word} sings.")
        if added.returncode == 0:
            self.promised.append(word)

    def write_by_hand(self) -> None:
        word = self.word()
        folder = self.machine.vault / "Memories"
        folder.mkdir(exist_ok=True)
        (folder / f"By hand {word[4:]}.md").write_text(f"Somebody saw {word}.\n")
        self.promised.append(word)

    def kill_engine(self) -> None:
        self.machine.kill_engines()

    def hang_engine(self) -> None:
        self.machine.kill_engines(signal.SIGSTOP)
        for _ in range(self.random.randrange(4)):
            self.random.choice((self.store, self.recall, self.open))()
        if self.random.random() < 0.7:
            self.machine.kill_engines(signal.SIGCONT)
        else:
            self.machine.kill_engines()

    def stop_engine(self) -> None:
        self.machine.run("engine", "stop")

    # --- what must hold --------------------------------------------------------------------

    def listening(self) -> int:
        """Processes that can be reached at the engine's name."""
        if self.machine.way:
            return len(self.machine.doors())
        with contextlib.suppress(OSError):
            lines = Path("/proc/net/unix").read_text().splitlines()
            return sum(_LISTENS in each and str(self.machine.runtime) in each for each in lines)
        return 0

    def end(self) -> None:
        while self.windows:
            self.close()
        texts = "\n".join(
            file.read_text("utf-8").partition("\n---\n")[2] or file.read_text("utf-8")
            for file in (self.machine.vault / "Memories").glob("*.md")
        )
        there = Counter(text for text in texts.replace(".", " ").split() if text.startswith("word"))
        missing = [word for word in self.promised if not there[word]]
        assert not missing, missing
        twice = [word for word, times in there.items() if times > 1]
        assert not twice, twice
