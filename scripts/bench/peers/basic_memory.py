from __future__ import annotations

import re
import shutil
import time
from pathlib import Path
from typing import Any

from measure import machine
from measure.client import Command, Reply
from measure.corpus import markdown

from peers import Found, Peer, Place, found, model_weights, python_environment, run

_PERMALINK = re.compile(r"^- permalink: (\S+)", re.MULTILINE)
_OWN_PERMALINK = re.compile(rb"^permalink: (.+)$", re.MULTILINE)


class Adapter(Peer):
    name = "basic-memory"
    note = "vectors with all-MiniLM-L6-v2 instead of its bge-small, which needs a hub"
    modes = ("keyword", "hybrid")
    follows_files = True

    def __init__(self) -> None:
        self._paths: dict[str, str] = {}

    def install(self, env: Path) -> str:
        package = "basic-memory==0.24.1"
        return python_environment(env, package, least=12, loosen=["fastmcp"], extensions=True)

    def prepare(self, place: Place) -> None:
        """The project is made of an empty folder: adding a full one would index it at once, text
        and vectors together."""
        model_weights.for_fastembed(place.home / "models")
        away = place.notes.rename(place.notes.with_name("away"))
        place.notes.mkdir()
        run(self._command(place, "project", "add", "notes", str(place.notes), "--default"), 900)
        shutil.rmtree(place.notes)
        away.rename(place.notes)

    def command(self, place: Place) -> Command:
        return self._command(place, "mcp")

    def _command(self, place: Place, *arguments: str) -> Command:
        settings = {
            "SEMANTIC_EMBEDDING_MODEL": model_weights.NAME,
            "SEMANTIC_EMBEDDING_CACHE_DIR": str(place.home / "models"),
            "AUTO_UPDATE": "false",
            "CLOUD_PROMO_OPT_OUT": "true",
        }
        named = {f"BASIC_MEMORY_{name}": value for name, value in settings.items()}
        program = str(place.env / "bin" / "basic-memory")
        return Command(
            [program, *arguments], machine.clean_environment(place.home, **named), place.home
        )

    def store(self, place: Place) -> Path:
        return place.home / ".basic-memory"

    def fill(self, place: Place, seconds: float) -> dict[str, float]:
        taken = {}
        for name, flag in (("text", "--search"), ("vectors", "--embeddings")):
            started = time.monotonic()
            run(self._command(place, "reindex", flag, "-p", "notes"), seconds)
            taken[name] = time.monotonic() - started
        return taken

    def learn(self, place: Place) -> None:
        """It names notes by the permalink that it wrote into each."""
        for file in markdown(place.notes):
            if named := _OWN_PERMALINK.search(file.read_bytes()[:2000]):
                path = file.relative_to(place.notes).as_posix()
                self._paths[named.group(1).decode().strip()] = path

    def search(self, server: Any, query: str, mode: str, limit: int = 10) -> Found:
        kind = {"keyword": "text"}.get(mode, mode)
        reply = server.call("search_notes", query=query, search_type=kind, page_size=limit)
        return found(reply, [self._paths.get(p, p) for p in _PERMALINK.findall(reply.text)])

    def write(self, server: Any, title: str, text: str) -> Reply:
        return server.call("write_note", title=title, content=text, directory="Bench")

    def update(self, server: Any, title: str, text: str) -> Reply:
        return server.call("edit_note", identifier=title, operation="append", content=text)
