from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from measure import machine
from measure.client import Command, Reply, Server

from peers import Found, Peer, Place, everything, found, model_weights, python_environment, run


class Adapter(Peer):
    name = "markdown-vault-mcp"
    note = "vectors by fastembed with all-MiniLM-L6-v2 instead of its bge-small, which needs a hub"
    modes = ("keyword", "hybrid")
    follows_files = True

    def install(self, env: Path) -> str:
        return python_environment(env, "markdown-vault-mcp[all]==5.1.0")

    def prepare(self, place: Place) -> None:
        model_weights.for_fastembed(place.home / "models")

    def command(self, place: Place) -> Command:
        return self._command(place, "serve", vectors=self.with_vectors)

    def _command(self, place: Place, *arguments: str, vectors: bool) -> Command:
        settings = {
            "SOURCE_DIR": str(place.notes),
            "INDEX_PATH": str(self.store(place) / "index.db"),
            "FILE_WATCHER": "true",
            "LOG_LEVEL": "WARNING",
            "EMBEDDING_PROVIDER": "fastembed" if vectors else "none",
            "FASTEMBED_MODEL": model_weights.NAME,
            "FASTEMBED_CACHE_DIR": str(place.home / "models"),
        }
        named = {f"MARKDOWN_VAULT_MCP_{name}": value for name, value in settings.items()}
        program = str(place.env / "bin" / "markdown-vault-mcp")
        return Command(
            [program, *arguments], machine.clean_environment(place.home, **named), place.home
        )

    def store(self, place: Place) -> Path:
        folder = place.home / "store"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def fill(self, place: Place, seconds: float) -> dict[str, float]:
        started = time.monotonic()
        run(self._command(place, "index", vectors=False), seconds)
        text = time.monotonic() - started
        if not self.with_vectors:
            return {"text": text}
        with Server(self.command(place), place.errors) as server:
            server.handshake()
            begun = time.monotonic()
            self._embed(server, seconds)
            return {"text": text, "vectors": time.monotonic() - begun}

    def leave_out_vectors(self) -> bool:
        self.with_vectors = False
        self.modes = ("keyword",)
        self.note = "without vectors at this size: embedding would take too long"
        return True

    def _embed(self, server: Server, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        server.call("build_embeddings", seconds)
        while time.monotonic() < deadline:
            told = server.call("embeddings_status").json() or {}
            if told.get("available") and told.get("chunk_count", 0) > 0:
                return
            time.sleep(1)
        raise TimeoutError(f"no vectors after {seconds / 60:.0f} minutes")

    def search(self, server: Any, query: str, mode: str, limit: int = 10) -> Found:
        reply = server.call("search", query=query, limit=limit, mode=mode)
        return found(reply, everything(reply.json(), lambda each: each.get("path")))

    def write(self, server: Any, title: str, text: str) -> Reply:
        return server.call("write", path=f"Bench/{title}.md", content=text)

    def update(self, server: Any, title: str, text: str) -> Reply:
        return server.call("append", path=f"Bench/{title}.md", content=text)
