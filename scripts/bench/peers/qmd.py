from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from measure import machine
from measure.client import Command

from peers import Found, Peer, Place, bun, everything, found, node_environment, run

_COLLECTION = "notes"


class Adapter(Peer):
    name = "qmd"
    note = "by words alone: its vectors and its reranking need models from a hub; run with Bun, since its database has to be built for Node.js; its server writes nothing, and sees what changed when it is told to look"
    modes = ("keyword",)
    writes = False

    def install(self, env: Path) -> str:
        return node_environment(env, "@tobilu/qmd@2.8.3", with_bun=True)

    def command(self, place: Place) -> Command:
        return self._command(place, "mcp")

    def _command(self, place: Place, *arguments: str) -> Command:
        main = place.env / "node_modules" / "@tobilu" / "qmd" / "dist" / "cli" / "qmd.js"
        env = machine.clean_environment(place.home, LLAMA_LOG_LEVEL="error")
        return Command([bun(place.env), str(main), *arguments], env, place.home)

    def libraries(self, place: Place) -> list[Path]:
        return [place.env]

    def store(self, place: Place) -> Path:
        return place.home / ".cache" / "qmd"

    def fill(self, place: Place, seconds: float) -> dict[str, float]:
        started = time.monotonic()
        notes = ["collection", "add", str(place.notes), "--name", _COLLECTION]
        run(self._command(place, *notes), seconds)
        return {"text": time.monotonic() - started}

    def search(self, server: Any, query: str, mode: str, limit: int = 10) -> Found:
        asked = [{"type": "lex", "query": query}]
        reply = server.call("query", searches=asked, limit=limit, rerank=False)
        files = everything(reply.json(), lambda each: each.get("file"))
        return found(reply, [file.removeprefix(f"{_COLLECTION}/") for file in files])
