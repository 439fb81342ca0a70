"""A megabyte of hostile text does not hold up anybody else."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests import hostile
from tests.surfaces.mcp.harness import Process, new_vault

MOST = 990_000  # bytes; what a memory may have is a million
PATIENCE = 10.0  # seconds a ping may take: milliseconds alone, more on a machine with much to do


@pytest.mark.parametrize("shape", ["'['", "'## a\\n'"])
def test_a_ping_is_answered_while_a_megabyte_is_stored(tmp_path: Path, shape: str) -> None:
    content = "x " + hostile.texts()[shape](MOST)
    with Process(tmp_path, "--vault", str(new_vault(tmp_path / "vault"))) as server:
        server.start()
        params = {"name": "store_memory", "arguments": {"content": content, "type": "semantic"}}
        params["arguments"]["scope"] = "user"
        server.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        stored, number, pinged, slowest = None, 1, 0, 0.0
        while stored is None:
            number, asked = number + 1, time.monotonic()
            server.send({"jsonrpc": "2.0", "id": number, "method": "ping"})
            while (reply := server.receive())["id"] != number:
                stored = reply["result"]
            slowest, pinged = max(slowest, time.monotonic() - asked), pinged + 1
            time.sleep(0.01)
        assert not stored.get("isError"), stored
        assert slowest < PATIENCE and pinged > 1
