"""Replies that are the same for everybody who starts a server in the same way.

They were taken from the server itself, word for word, by `scripts/run write-replies`; a test holds
them to what it says. A window gives them while its engine is still being reached.
"""

from __future__ import annotations

import os

from vaultmem.front import plain_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "replies.json")
NATIVE = "native"
ERA = "io.modelcontextprotocol/protocolVersion"
_PLAIN = frozenset(
    (ERA, "io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/clientCapabilities")
)
_LONGEST_ID = 100
_OF_CLIENTS = ("name", "version", "title", "description", "websiteUrl")
_DEEPEST = 5  # what a client can do, and how


class Replies:
    """For one way of starting the server."""

    def __init__(
        self, dialect: str, toolsets: tuple[str, ...], read_only: bool | None, palace: str = ""
    ) -> None:
        with open(FILE, encoding="utf-8") as file:
            everything = plain_json.parsed(file.read())
        self._texts: list[str] = everything["texts"]
        surface = everything["surfaces"][dialect or NATIVE]
        self._by_version: dict[str, dict[str, Any]] = surface["versions"]
        self._is_of_palace = bool(palace)  # most of what is said depends on it
        self._lost: dict[str, list[str]] = surface["lost"]  # in place of a reply, in either era
        self.writing = frozenset(surface["writing"])  # tools that change something
        self.toolsets = frozenset(toolsets or surface["toolsets"])
        self.read_only = read_only  # None while that is not known

    def lost(self, key: str, tool: str, line: bytes) -> bytes:
        """In place of the reply to a call that may have written something."""
        told = self._lost.get(tool) or self._lost[""]
        return f'{{"jsonrpc":"2.0","id":{key},{told[ERA.encode() in line]}}}\n'.encode()

    def to(self, request: dict[str, Any], version: str) -> tuple[str, str] | None:
        """The reply's text behind its id, and the version it belongs to; None where the server
        itself has to be asked. `version` is the one that a handshake agreed upon, if one did."""
        method, params = request["method"], request.get("params", {})
        if set(request) - {"jsonrpc", "id", "method", "params"} or not isinstance(params, dict):
            return None
        if self._is_of_palace and method != "ping":
            return None
        if method == "initialize":
            version = params.get("protocolVersion", "") if _is_plain_greeting(params) else ""
        elif set(params) == {"_meta"} and _is_plain_meta(params["_meta"]):
            version = params["_meta"].get(ERA, version)
        elif params or (not version and method != "ping"):
            return None
        known = self._by_version.get(version) if isinstance(version, str) else None
        if method == "ping" and not version:
            known = next(iter(self._by_version.values()))
        found = known.get(method) if known else None
        if found is None or (method == "tools/list" and self.read_only is None):
            return None
        return self._text(found), version

    def _text(self, found: Any) -> str:
        if isinstance(found, int):
            return self._texts[found]
        tools = ",".join(
            self._texts[text]
            for toolset, writes, text in found["tools"]
            if toolset in self.toolsets and not (writes and self.read_only)
        )
        return str(self._texts[found["before"]] + tools + self._texts[found["behind"]])


def is_plain_id(id_: object) -> bool:
    """An id that is written in one way only."""
    if isinstance(id_, str):
        return len(id_) <= _LONGEST_ID and id_.replace("-", "").isalnum() and id_.isascii()
    return isinstance(id_, int) and not isinstance(id_, bool) and abs(id_) < 2**53


def _is_plain_greeting(params: dict[str, Any]) -> bool:
    client = params.get("clientInfo")
    return (
        set(params) == {"protocolVersion", "capabilities", "clientInfo"}
        and _are_plain_capabilities(params["capabilities"])
        and _is_plain_client(client)
    )


def _is_plain_client(client: object) -> bool:
    if not isinstance(client, dict) or not {"name", "version"} <= set(client):
        return False
    return all(
        isinstance(said, str) if name in _OF_CLIENTS else name == "icons" and _are_plain_icons(said)
        for name, said in client.items()
    )


def _are_plain_icons(icons: object) -> bool:
    return isinstance(icons, list) and all(
        isinstance(icon, dict)
        and {"src"} <= set(icon) <= {"src", "mimeType"}
        and all(isinstance(text, str) for text in icon.values())
        for icon in icons
    )


def _are_plain_capabilities(told: object) -> bool:
    """Nothing in them that a server refuses: all that it knows are objects, but for one."""
    if not isinstance(told, dict):
        return False
    roots = told.get("roots", {})
    if not isinstance(roots, dict) or not isinstance(roots.get("listChanged", True), bool):
        return False
    others = [roots[name] for name in roots if name != "listChanged"]
    return _is_of_objects({**told, "roots": {str(n): each for n, each in enumerate(others)}}, 0)


def _is_of_objects(told: object, depth: int) -> bool:
    return (
        isinstance(told, dict)
        and depth < _DEEPEST
        and all(_is_of_objects(each, depth + 1) for each in told.values())
    )


def _is_plain_meta(meta: object) -> bool:
    """As a client of the era without a handshake writes it, or a client of the other with none."""
    if not isinstance(meta, dict):
        return False
    if ERA not in meta:
        return not meta
    return (
        set(meta) == _PLAIN
        and _are_plain_capabilities(meta["io.modelcontextprotocol/clientCapabilities"])
        and _is_plain_client(meta["io.modelcontextprotocol/clientInfo"])
    )
