"""What answers cost a model: tokens of the text and of the structured content, each alone.

    scripts/bench/run answer_sizes NOTES QUESTIONS [--checkout DIR] [--generated 2000]

NOTES is copied to a temporary folder, indexed there with the model, and asked every question of
QUESTIONS (JSON lines with `question`) through `recall_memories`. The other tools that look are
asked once each, there and on a generated vault. A text has as many tokens as a quarter of its
bytes, or as `base.token_count` says, whichever is more.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[3]
FLAGS = {"typing.quiet_seconds": 0.0}
LOOKS: dict[str, dict[str, Any]] = {
    "search_knowledge_graph": {},
    "list_memories": {},
    "get_timeline": {},
    "query_facts": {},
    "list_tags": {},
    "get_memory_status": {},
}


class Size(NamedTuple):
    text: int
    structured: int


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench/run answer_sizes", description=__doc__)
    parser.add_argument("notes", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--checkout", type=Path, default=ROOT, help="another state of vaultmem")
    parser.add_argument("--generated", type=int, default=2_000, help="notes of the second vault")
    given = parser.parse_args()
    sys.path[:0] = [str(given.checkout.resolve()), str(ROOT / "scripts" / "bench")]
    asked = [json.loads(line)["question"] for line in given.questions.read_text().splitlines()]
    print("| answer | text | structured |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "vault")
        shutil.copytree(given.notes, root)
        asyncio.run(_measure(root, asked))
        if given.generated:
            from measure.generated_vaults import make_vault

            large = Path(folder, "large")
            make_vault(large, given.generated)
            asyncio.run(_measure(large, [], {"model": "off"}))


async def _measure(root: Path, asked: list[str], flags: dict[str, Any] | None = None) -> None:
    from mcp import Client

    from vaultmem import Vault
    from vaultmem.surfaces.mcp.server import McpServer, Options

    (root / ".vaultmem").mkdir(exist_ok=True)
    with Vault.open(root, FLAGS | (flags or {})) as vault:
        vault.index_now()
        if not flags:
            vault.embed_all()
        notes = [row.path for row in vault.list(limit=1000, order="title").memories]
        longest = max(notes, key=lambda path: (root / path).stat().st_size)
    server = McpServer(lambda: Vault.open(root, FLAGS | (flags or {})), Options(watch=False))
    try:
        async with Client(server.server, mode="legacy") as client:
            if asked:
                sizes = [await _size(client, "recall_memories", query=each) for each in asked]
                _tell(f"recall_memories, {len(asked)} questions", sizes)
            on = f"{len(notes):,}{'+' if len(notes) == 1000 else ''} notes"
            if asked:
                each = [await _size(client, "search_knowledge_graph", entity=n) for n in notes]
                _tell(f"search_knowledge_graph, each of {on}", each)
            for name, arguments in LOOKS.items():
                _tell(f"{name}, {on}", [await _size(client, name, **arguments)])
            _tell(
                "get_memories, the longest note",
                [await _size(client, "get_memories", ids=[longest])],
            )
            _tell("get_memories, ten notes", [await _size(client, "get_memories", ids=notes[:10])])
    finally:
        server.stop()


async def _size(client: Any, tool: str, **arguments: Any) -> Size:
    from vaultmem.base.token_count import token_count

    result = await client.call_tool(tool, arguments)
    structured = json.dumps(result.structured_content, ensure_ascii=False, separators=(",", ":"))
    tokens = (
        max(token_count(t), len(t.encode()) // 4) for t in (result.content[0].text, structured)
    )
    return Size(*tokens)


def _tell(name: str, sizes: list[Size]) -> None:
    told = []
    for values in zip(*sizes, strict=True):
        if len(values) == 1:
            told.append(f"{values[0]:,}")
            continue
        middle, top = statistics.median(values), sorted(values)[int(len(values) * 0.95)]
        told.append(f"{middle:,.0f} / {top:,} / {max(values):,}")
    print(f"| {name} | {' | '.join(told)} |", flush=True)


if __name__ == "__main__":
    main()
