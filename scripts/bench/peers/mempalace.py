from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from measure import machine
from measure.client import Command, Reply

from peers import Found, Peer, Place, everything, found, model_weights, python_environment, run


class Adapter(Peer):
    name = "MemPalace"
    note = "keeps its own copy of the text; always searches by meaning and words together"
    modes = ("hybrid",)

    def __init__(self) -> None:
        self._drawers: dict[str, str] = {}
        self._place: Place | None = None

    def install(self, env: Path) -> str:
        return python_environment(env, "mempalace==3.11.0")

    def prepare(self, place: Place) -> None:
        model_weights.for_chroma(place.home)
        run(self._command(place, "mempalace", "init", "--yes", "--no-llm", str(place.notes)), 600)

    def command(self, place: Place) -> Command:
        return self._command(place, "mempalace-mcp")

    def _command(self, place: Place, program: str, *arguments: str) -> Command:
        env = machine.clean_environment(place.home)
        return Command([str(place.env / "bin" / program), *arguments], env, place.home)

    def store(self, place: Place) -> Path:
        return place.home / ".config" / "mempalace"

    def fill(self, place: Place, seconds: float) -> dict[str, float]:
        started = time.monotonic()
        run(self._command(place, "mempalace", "mine", str(place.notes), "--direct"), seconds)
        return {"vectors": time.monotonic() - started}

    def learn(self, place: Place) -> None:
        self._place = place

    def search(self, server: Any, query: str, mode: str, limit: int = 10) -> Found:
        reply = server.call("mempalace_search", query=query[:250], limit=limit)
        paths = everything(reply.json(), lambda each: each.get("source_path"))
        return found(reply, [self._place.path_of(path) for path in paths])

    def write(self, server: Any, title: str, text: str) -> Reply:
        named = {"wing": "notes", "room": "bench", "source_file": f"{title}.md"}
        reply = server.call("mempalace_add_drawer", content=text, **named)
        self._drawers[title] = (reply.json() or {}).get("drawer_id", "")
        return reply

    def update(self, server: Any, title: str, text: str) -> Reply:
        drawer = self._drawers[title]
        return server.call("mempalace_update_drawer", drawer_id=drawer, content=text)
