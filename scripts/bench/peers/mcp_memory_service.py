from __future__ import annotations

import json
import re
import sqlite3
import time
from pathlib import Path
from typing import Any

from measure import machine
from measure.client import Command, Reply, Server

from peers import Found, Peer, Place, found, model_weights, python_environment

_HASH = re.compile(r"\bhash: ([0-9a-f]{16,})", re.IGNORECASE)


class Adapter(Peer):
    name = "mcp-memory-service"
    note = "keeps its own copy of the text, taken in by its own ingestion; its refusal of similar texts is off, else a part of the notes would be missing"
    modes = ("semantic", "hybrid")
    word_mode = "exact"

    def __init__(self) -> None:
        self._paths: dict[str, str] = {}

    def install(self, env: Path) -> str:
        package = "mcp-memory-service[sqlite]==12.4.0"
        return python_environment(env, package, loosen=["certifi"], extensions=True)

    def prepare(self, place: Place) -> None:
        model_weights.for_memory_service(place.home)

    def command(self, place: Place) -> Command:
        settings = {
            "MCP_MEMORY_STORAGE_BACKEND": "sqlite_vec",
            "MCP_MEMORY_SQLITE_PATH": str(self._database(place)),
            "MCP_MEMORY_BASE_DIR": str(place.home),
            "MCP_SEMANTIC_DEDUP_ENABLED": "false",
        }
        env = machine.clean_environment(place.home, **settings)
        return Command([str(place.env / "bin" / "memory"), "server"], env, place.home)

    def store(self, place: Place) -> Path:
        return place.home / "store"

    def _database(self, place: Place) -> Path:
        self.store(place).mkdir(parents=True, exist_ok=True)
        return self.store(place) / "memory.db"

    def fill(self, place: Place, seconds: float) -> dict[str, float]:
        with Server(self.command(place), place.errors) as server:
            server.handshake()
            started = time.monotonic()
            folder = {"directory_path": str(place.notes), "max_files": 10_000_000}
            try:
                reply = server.call("memory_ingest", seconds, file_extensions=["md"], **folder)
            except Exception as error:
                raise TimeoutError(f"not done after {seconds / 60:.0f} minutes") from error
            if reply.failed:
                raise RuntimeError(reply.text[:200])
            return {"vectors": time.monotonic() - started}

    def learn(self, place: Place) -> None:
        """Its answers name memories by a hash alone; which note each came from is in its store."""
        with sqlite3.connect(self._database(place)) as db:
            for key, told in db.execute("SELECT content_hash, metadata FROM memories"):
                source = json.loads(told or "{}").get("source_file", "")
                self._paths[key] = place.path_of(source)

    def search(self, server: Any, query: str, mode: str, limit: int = 10) -> Found:
        reply = server.call("memory_search", query=query, mode=mode, limit=limit)
        return found(reply, [self._paths.get(key, key) for key in _HASH.findall(reply.text)])

    def write(self, server: Any, title: str, text: str) -> Reply:
        reply = server.call("memory_store", content=text, metadata={"tags": "bench"})
        for key in _HASH.findall(reply.text):
            self._paths[key] = title
        return reply
