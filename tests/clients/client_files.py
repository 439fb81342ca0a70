"""Settings files of clients, as the tests of `install` and `uninstall` need them."""

from __future__ import annotations

import json
import subprocess
import tomllib
from pathlib import Path
from typing import Any

from tests.conftest import ROOT
from vaultmem import config
from vaultmem.clients import json_edit
from vaultmem.clients.catalogue import CLIENTS, Client
from vaultmem.surfaces.cli import main

LAUNCHER = str(ROOT / "scripts" / "vaultmem")


def do(*words: str) -> int:
    return main([*words, *(() if words[0] == "uninstall" else ("--vault", "Brain"))])


def file_of(name: str) -> Path:
    return CLIENTS[name].file(config.places())


def entry(client: Client, vault: Path) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "stdio"} if client.typed else {}
    return made | {"command": LAUNCHER, "args": ["serve", "--vault", str(vault)]}


def data_of(name: str, raw: bytes | None = None) -> dict[str, Any]:
    text = (file_of(name).read_bytes() if raw is None else raw).decode("utf-8-sig")
    data: dict[str, Any] = (
        tomllib.loads(text) if CLIENTS[name].toml else json_edit.parse_jsonc(text).plain
    )
    return data


def put(name: str, text: str | bytes) -> Path:
    file = file_of(name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def in_use(name: str, *, comments: bool) -> str:
    """Settings as a person has them."""
    if CLIENTS[name].toml:
        text = 'model = "x"\n\n[mcp_servers.other]\ncommand = "npx"\nargs = ["-y", "other"]\n'
        return text.replace("\n\n", " # the model\n\n# servers\n") if comments else text
    under = CLIENTS[name].under
    text = f'{{\n    "theme": "dark",\n    "{under}": {{\n        "other": {{ "command": "npx" }}\n    }},\n    "z": [1, 2]\n}}\n'
    if not comments:
        return text
    text = text.replace('"dark",', '"dark", // my eyes').replace(
        "{\n        ", "{ /* mine */\n        "
    )
    return "// settings\n" + text.replace("1, 2]\n", "1, 2],\n")


def handshake(words: list[str], environment: dict[str, str]) -> dict[str, Any]:
    client = {"protocolVersion": "2025-11-25", "capabilities": {}}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
    hello = {**asked, "params": {**client, "clientInfo": {"name": "t", "version": "1"}}}
    done = subprocess.run(
        words, input=json.dumps(hello) + "\n", env=environment, capture_output=True, text=True,
        timeout=60, cwd="/",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[0])["result"]
    return answer
