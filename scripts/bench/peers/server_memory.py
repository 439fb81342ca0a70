from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

from measure import machine
from measure.client import Command, Reply, Server
from measure.corpus import markdown

from peers import CannotRun, Found, Peer, Place, everything, found, node_environment

_AT_ONCE = 200


class Adapter(Peer):
    name = "server-memory"
    note = "keeps one JSON file, read whole at every call; finds a question only where it stands word for word; the first 200 notes came in by its own tool, the others as lines of that file"
    modes = ("keyword",)
    indexed = False

    def install(self, env: Path) -> str:
        return node_environment(env, "@modelcontextprotocol/server-memory@2026.8.31")

    def command(self, place: Place) -> Command:
        main = place.env / "node_modules" / "@modelcontextprotocol" / "server-memory" / "dist"
        env = machine.clean_environment(place.home, MEMORY_FILE_PATH=str(self._file(place)))
        return Command([_node(), str(main / "index.js")], env, place.home)

    def libraries(self, place: Place) -> list[Path]:
        return [place.env, Path(_node()).resolve()]

    def store(self, place: Place) -> Path:
        return place.home / "store"

    def _file(self, place: Place) -> Path:
        self.store(place).mkdir(parents=True, exist_ok=True)
        return self.store(place) / "memory.jsonl"

    def fill(self, place: Place, seconds: float) -> dict[str, float]:
        """An entity for each note, a paragraph an observation; some hundred by its own tool to
        see how fast that is, the rest in the file that it would write."""
        entities = [_entity(place, file) for file in markdown(place.notes)]
        with Server(self.command(place), place.errors) as server:
            server.handshake()
            started = time.monotonic()
            server.call("create_entities", seconds, entities=entities[:_AT_ONCE])
            taken = time.monotonic() - started
        with self._file(place).open("a", encoding="utf-8") as file:
            for entity in entities[_AT_ONCE:]:
                file.write("\n" + json.dumps({"type": "entity", **entity}))
        return {"text": taken * max(1.0, len(entities) / _AT_ONCE)}

    def search(self, server: Any, query: str, mode: str, limit: int = 10) -> Found:
        reply = server.call("search_nodes", query=query)
        return found(reply, everything(reply.json(), lambda each: each.get("name"))[:limit])

    def write(self, server: Any, title: str, text: str) -> Reply:
        entity = {"name": title, "entityType": "note", "observations": [text]}
        return server.call("create_entities", entities=[entity])

    def update(self, server: Any, title: str, text: str) -> Reply:
        more = [{"entityName": title, "contents": [text]}]
        return server.call("add_observations", observations=more)


def _entity(place: Place, file: Path) -> dict[str, Any]:
    text = file.read_text(encoding="utf-8", errors="replace")
    name = file.relative_to(place.notes).as_posix()
    return {"name": name, "entityType": "note", "observations": text.split("\n\n")}


def _node() -> str:
    found_ = shutil.which("node")
    if found_ is None:
        raise CannotRun("needs Node.js, which is not on this machine")
    return found_
