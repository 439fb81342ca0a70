"""A server over HTTP is the engine for windows and commands too."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.surfaces.engine.machine import PROGRAM, Machine, machine_in
from tests.waiting import until


@contextmanager
def http_server(machine: Machine, *flags: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [*PROGRAM, "serve", "--http", "127.0.0.1:0", "--vault", str(machine.vault), *flags]
    with subprocess.Popen(
        command, env=machine.env, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stderr is not None
        said = ""
        while not (found := re.search(r"MCP at (http://\S+)/mcp", said)):
            said += server.stderr.readline()
        try:
            yield server, found[1]
        finally:
            server.kill()
            server.communicate()


def search(url: str, words: str) -> list[str]:
    with urllib.request.urlopen(f"{url}/search?q={words}", timeout=60) as answer:
        return [hit["title"] for hit in json.loads(answer.read())["memories"]]


def test_windows_and_commands_find_it(tmp_path: Path) -> None:
    with machine_in(tmp_path) as machine, http_server(machine) as (server, url):
        window = machine.window("--project", "Atlas")
        window.greet()
        assert not window.store("The dunlin probes the sand.")["isError"]
        told = machine.engine()
        assert told and told["process"] == server.pid and not machine.engines()
        assert "dunlin" in machine.run("search", "dunlin", "sand").stdout
        assert search(url, "dunlin")
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
        assert window.titles("dunlin sand")  # of another engine
        assert len(machine.engines()) == 1
        assert window.end() == 0


def test_it_goes_on_when_it_is_no_engine_any_more(tmp_path: Path) -> None:
    with machine_in(tmp_path) as machine, http_server(machine) as (server, url):
        window = machine.window()
        window.greet()
        window.store("The turnstone turns stones.")
        assert machine.run("engine", "stop").stdout == "Stopped.\n"
        assert window.titles("turnstone")  # of an engine of its own
        assert len(machine.engines()) == 1
        assert search(url, "turnstone") and server.poll() is None
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0


def test_where_an_engine_runs_it_serves_beside_it(tmp_path: Path) -> None:
    with machine_in(tmp_path) as machine:
        window = machine.window()
        window.greet()
        window.store("The whimbrel whistles.")
        with http_server(machine, "--read-only") as (server, url):
            until(lambda: search(url, "whimbrel"))
            told = machine.engine()
            assert told and told["process"] != server.pid
        assert window.titles("whimbrel")


def test_its_own_rights_are_not_those_of_windows(tmp_path: Path) -> None:
    flags = ("--read-only", "--user", "anna")
    with machine_in(tmp_path) as machine, http_server(machine, *flags) as (server, url):
        window = machine.window("--user", "boris")
        window.greet()
        assert not window.store("The sanderling runs.")["isError"]
        assert (machine.engine() or {})["process"] == server.pid
        assert window.titles("sanderling")
        assert not search(url, "sanderling")
        window.end()
