from __future__ import annotations

import json
import re
import socket
import time
import urllib.request
from pathlib import Path
from typing import Any

from measure import machine
from measure.client import Command, Server
from measure.corpus import markdown

from peers import Found, Peer, Place, bun, found, packed_npm_package

_PROJECT = "notes"
_ROW = re.compile(r"^\| #(\d+) \|", re.MULTILINE)
# Its server asks a worker, which an installation keeps running; here one comes and goes with it.
_BOTH = '"$0" "$1" --daemon </dev/null >/dev/null 2>&1 & worker=$!; "$0" "$2"; kill $worker; wait'
_UP_SECONDS = 60.0


class Adapter(Peer):
    name = "claude-mem"
    note = "from its package as it is, since npm finds not all that it depends on; without Chroma, which it fetches, so by words alone, and only where they stand side by side; notes came in one by one through its worker, for its tools store nothing; its own way in is an agent's session, summed up by a model"
    modes = ("keyword",)
    writes = False

    def __init__(self) -> None:
        self._port = 0
        self._paths: dict[str, str] = {}

    def install(self, env: Path) -> str:
        return packed_npm_package(env, "claude-mem@13.25.3")

    def command(self, place: Place) -> Command:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        scripts = place.env / "package" / "plugin" / "scripts"
        programs = [str(scripts / f"{name}.cjs") for name in ("worker-service", "mcp-server")]
        env = machine.clean_environment(
            place.home,
            CLAUDE_MEM_WORKER_PORT=str(self._port),
            CLAUDE_MEM_CHROMA_ENABLED="false",
            DO_NOT_TRACK="1",
        )
        return Command(["sh", "-c", _BOTH, bun(place.env), *programs], env, place.home)

    def libraries(self, place: Place) -> list[Path]:
        return [place.env]

    def store(self, place: Place) -> Path:
        return place.home / ".claude-mem"

    def open(self, place: Place) -> Any:
        server = super().open(place)
        self._await_worker()
        return server

    def fill(self, place: Place, seconds: float) -> dict[str, float]:
        with Server(self.command(place), place.errors) as server:
            server.handshake()
            self._await_worker()
            started = time.monotonic()
            for file in markdown(place.notes):
                if time.monotonic() - started > seconds:
                    raise TimeoutError(f"not done after {seconds / 60:.0f} minutes")
                self._save(place, file)
            taken = time.monotonic() - started
        self._kept(place).write_text(json.dumps(self._paths))
        return {"text": taken}

    def _save(self, place: Place, file: Path) -> None:
        path = file.relative_to(place.notes).as_posix()
        text = file.read_text(encoding="utf-8", errors="replace")
        told = self._asked("memory/save", {"title": path, "text": text, "project": _PROJECT})
        self._paths[str(told["id"])] = path

    def learn(self, place: Place) -> None:
        self._paths = json.loads(self._kept(place).read_text())

    def _kept(self, place: Place) -> Path:
        return place.home / "paths.json"

    def search(self, server: Any, query: str, mode: str, limit: int = 10) -> Found:
        reply = server.call("search", query=query, limit=limit, project=_PROJECT)
        known = (self._paths.get(number, "") for number in _ROW.findall(reply.text))
        return found(reply, [path for path in known if path])

    def _asked(self, what: str, told: dict[str, str] | None = None) -> Any:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._port}/api/{what}",
            json.dumps(told).encode() if told else None,
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())

    def _await_worker(self) -> None:
        until = time.monotonic() + _UP_SECONDS
        while True:
            try:
                self._asked("readiness")
                return
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)
