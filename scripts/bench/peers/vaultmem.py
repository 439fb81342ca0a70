"""vaultmem itself, through the same door as the others."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from measure import machine
from measure.client import Command, Reply

from peers import Found, Peer, Place, everything, found, run

ALL_REAL = 1_000  # notes, up to which every passage gets its own vector


class Adapter(Peer):
    name = "vaultmem"
    modes = ("keyword", "vector", "hybrid")
    follows_files = True

    def __init__(self) -> None:
        self._ids: dict[str, tuple[str, str]] = {}
        self.vectors: dict[str, Any] = {}
        self.all_real = ALL_REAL

    def install(self, env: Path) -> str:
        from vaultmem import __version__

        return __version__

    def command(self, place: Place) -> Command:
        return self.run_as(place, "-m", "vaultmem", "serve", "--vault", str(place.notes))

    def run_as(self, place: Place, *arguments: str) -> Command:
        place.home.mkdir(parents=True, exist_ok=True)
        # A process by itself, as the others are: what it takes is all its own. What the windows
        # of one engine take is measured by `windows`.
        env = machine.clean_environment(place.home, VAULTMEM_ENGINE="off")
        return Command([sys.executable, *arguments], env, place.home)

    def libraries(self, place: Place) -> list[Path]:
        return [*machine.libraries(Path(sys.executable)), machine.ROOT / "vaultmem"]

    def store(self, place: Place) -> Path:
        return place.notes / ".vaultmem"

    def fill(self, place: Place, seconds: float) -> dict[str, float]:
        """Text, and in a small vault the vectors too; elsewhere that would take hours."""
        index = ("-m", "vaultmem", "index", "--vault", str(place.notes))
        started = time.monotonic()
        run(self.run_as(place, *index), seconds)
        taken = {"text": time.monotonic() - started}
        if place.vault.count <= self.all_real:
            started = time.monotonic()
            run(self.run_as(place, *index, "--vectors"), seconds)
            taken["vectors"] = time.monotonic() - started
        return taken

    def complete(self, place: Place, taken: dict[str, float]) -> None:
        asked = json.dumps([question.note for question in place.vault.questions])
        script = Path(__file__).parents[1] / "measure" / "vectors.py"
        kept = place.env.parent / "sentences.npy"
        command = self.run_as(place, str(script), str(place.notes), asked, str(kept))
        self.vectors = json.loads(run(command, 24 * 3600))
        if "vectors" in taken:
            self.vectors["rate"] = round(self.vectors["passages"] / taken["vectors"], 2)
        else:
            taken["vectors"] = self.vectors["passages"] / self.vectors["rate"]

    def search(self, server: Any, query: str, mode: str, limit: int = 10, **filters: Any) -> Found:
        room = min(8_000, 150 * limit)  # all of them are judged, not only those that fit
        asked = {"query": query, "strategy": mode, "limit": limit, "max_tokens": room, **filters}
        reply = server.call("recall_memories", **asked)
        return found(reply, everything(reply.data, lambda each: each.get("path")))

    def write(self, server: Any, title: str, text: str) -> Reply:
        kind = {"type": "semantic", "scope": "project", "project": "Bench"}
        reply = server.call("store_memory", content=text, title=title, **kind)
        told = reply.data or {}
        self._ids[title] = told.get("memory_id", ""), told.get("version", "")
        return reply

    def update(self, server: Any, title: str, text: str) -> Reply:
        id_, version = self._ids[title]
        return server.call("update_memory", memory_id=id_, content=text, expected_version=version)
