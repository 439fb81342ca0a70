"""Write down the replies that windows give at once, as the server itself gives them."""

from __future__ import annotations

import json
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import anyio
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from vaultmem.errors import Away
from vaultmem.front import replies
from vaultmem.surfaces import answers, dialects, serving
from vaultmem.surfaces.cli.serve_options import given_to_serve
from vaultmem.surfaces.dialects import Dialect, DialectError
from vaultmem.surfaces.mcp import hook_tool, line_pipe, tools
from vaultmem.surfaces.mcp.lines import next_line
from vaultmem.vault import make_vault, plan_vault

_CLIENT: Final = {"name": "a client", "version": "1"}
_LOST: Final = (
    "The process that holds the vault ended before it answered, so it is not known whether this "
    "was done. Look first, and call again where it was not: the same text stored twice is one note."
)
_ERAS: Final[tuple[dict[str, Any], ...]] = ({}, {"resultType": "complete"})
HANDSHAKE_METHODS: Final = ("tools/list", "prompts/list", "ping")
MODERN_METHODS: Final = ("server/discover", "tools/list", "prompts/list", "ping")


def meta_of_version(version: str) -> dict[str, Any]:
    prefix = "io.modelcontextprotocol/"
    return {
        "_meta": {
            f"{prefix}protocolVersion": version,
            f"{prefix}clientInfo": _CLIENT,
            f"{prefix}clientCapabilities": {},
        }
    }


def spoken_requests(version: str) -> list[dict[str, Any]]:
    """What a client of this version asks at its start."""
    if version in MODERN_PROTOCOL_VERSIONS:
        params = meta_of_version(version)
        asked = [{"method": method, "params": params} for method in MODERN_METHODS]
    else:
        greeting = {"protocolVersion": version, "capabilities": {}, "clientInfo": _CLIENT}
        asked = [{"method": "initialize", "params": greeting}]
        asked += [{"method": method} for method in HANDSHAKE_METHODS]
    return [{"jsonrpc": "2.0", "id": number, **each} for number, each in enumerate(asked)]


def replies_of_server(
    root: Path, arguments: Sequence[str], requests: Sequence[Mapping[str, Any]]
) -> dict[str, str]:
    """What the server says to each, by method: the line behind its id."""
    given = given_to_serve(["--vault", str(root), *arguments])
    dialect = serving.served_dialect(given, over_http=False)
    how = serving.prepared_serving(root, given, dialect, at_once=True)
    return anyio.run(_spoken, how, requests)


async def _spoken(how: serving.Serving, requests: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    here, there = socket.socketpair()
    asking = here.makefile("rwb")
    lines = there.makefile("rb")
    server = how.server(over_http=False)
    pipe = line_pipe.LinePipe(iter(lambda: next_line(lines), b""), there.sendall)

    def ask() -> dict[str, str]:
        said = {}
        for request in requests:
            asking.write(json.dumps(request).encode() + b"\n")
            if request["method"] == "initialize":
                asking.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
            asking.flush()
            head = f'{{"jsonrpc":"2.0","id":{request["id"]},'
            said[request["method"]] = asking.readline().decode().rstrip("\n").removeprefix(head)
        here.shutdown(socket.SHUT_WR)
        return said

    said: dict[str, str] = {}
    async with anyio.create_task_group() as group:
        group.start_soon(pipe.serve, server.server)
        said |= await anyio.to_thread.run_sync(ask)
    server.stop()
    here.close()
    there.close()
    return said


class _Texts:
    def __init__(self) -> None:
        self.all: list[str] = []

    def number(self, text: str) -> int:
        if text not in self.all:
            self.all.append(text)
        return self.all.index(text)


def all_replies() -> dict[str, Any]:
    texts = _Texts()
    with tempfile.TemporaryDirectory() as folder:
        make_vault(plan_vault(f"{folder}/vault", git=False, examples=False), git=False)
        root = Path(folder).resolve() / "vault"
        surfaces = {name: _surface(root, name, texts) for name in dialects.ALL}
    return {"texts": texts.all, "surfaces": surfaces}


def _surface(root: Path, name: str, texts: _Texts) -> dict[str, Any]:
    dialect = None
    if name != dialects.NATIVE:
        dialect = dialects.load_dialect(name, dialects.ServerOptions())
    known = _known_tools(dialect)
    hooks = {} if dialect else {hook_tool.NAME: [_hook_cut_off(each) for each in _ERAS]}
    versions = {}
    for version in (*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS):
        said = replies_of_server(root, ["--dialect", name], spoken_requests(version))
        versions[version] = {
            method: _kept_reply(text, known, texts)
            for method, text in said.items()
            if text.startswith('"result":')
        }
    return {
        "toolsets": sorted({toolset for toolset, _ in known.values()}),
        "writing": sorted({tool for tool, (_, writes) in known.items() if writes} | set(hooks)),
        "lost": {"": [_cut_off(dialect, each) for each in _ERAS]} | hooks,
        "versions": versions,
    }


def _known_tools(dialect: Dialect | None) -> dict[str, tuple[str, bool]]:
    """The tools in their order: toolset, and whether each writes."""
    if dialect is not None:
        return {tool.name: (dialect.name, tool.writes) for tool in dialect.tools}
    read_only = tools.served_tools(tools.TOOLSETS, read_only=True)
    return {tool.name: (tool.toolset, tool not in read_only) for tool in tools.BY_NAME.values()}


def _kept_reply(text: str, known: Mapping[str, tuple[str, bool]], texts: _Texts) -> Any:
    """A result is kept as it is, a list of tools in its pieces."""
    result = text.removeprefix('"result":')[:-1]
    begin = result.find('"tools":[{') + len('"tools":[')
    if not result.startswith("{") or begin < len('"tools":['):
        return texts.number(result)
    pieces, end = [], begin
    for tool, length in _objects(result, begin):
        toolset, writes = known[tool["name"]]
        pieces.append([toolset, writes, texts.number(result[length[0] : length[1]])])
        end = length[1]
    before, behind = texts.number(result[:begin]), texts.number(result[end:])
    return {"before": before, "tools": pieces, "behind": behind}


def _objects(text: str, place: int) -> Iterator[tuple[dict[str, Any], tuple[int, int]]]:
    decoder = json.JSONDecoder()
    while text[place] == "{":
        found, end = decoder.raw_decode(text, place)
        yield found, (place, end)
        place = end + (text[end] == ",")


def _cut_off(dialect: Dialect | None, complete: Mapping[str, Any]) -> str:
    """In place of the reply of a server that is gone."""
    lost = Away(_LOST)  # another engine will be there
    if dialect is None:
        return f'"result":{_plain({**complete, **answers.failure_answer(lost)})}'
    try:
        tool = dialect.tools[0].name
        return f'"result":{_plain({**complete, **dialect.failure_result(tool, lost)})}'
    except DialectError as error:
        told = {"code": error.code, "message": error.message}
        return f'"error":{_plain(told | ({"data": error.data} if error.data is not None else {}))}'


def _hook_cut_off(complete: Mapping[str, Any]) -> str:
    """Memory is never in an agent's way: it says nothing to the event."""
    return f'"result":{_plain({**complete, **hook_tool.hook_result("")})}'


def _plain(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def written_replies() -> str:
    return json.dumps(all_replies(), ensure_ascii=False, indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    Path(replies.FILE).write_text(written_replies(), encoding="utf-8")
    sys.stdout.write(f"{replies.FILE}\n")
