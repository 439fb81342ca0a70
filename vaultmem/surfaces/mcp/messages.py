"""One line of a client to one message of the protocol, or to the error that its sender is to get."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from typing import Any, Final

import mcp_types as types
from mcp.shared.message import SessionMessage
from mcp_types import CLIENT_INFO_META_KEY, PROTOCOL_VERSION_META_KEY
from pydantic import ValidationError

from vaultmem.surfaces.mcp.lines import LINE_BYTES, json_on, whole_characters

log = logging.getLogger("vaultmem")

NAMELESS: Final = "unknown"  # a client that does not say who it is

_HEAD: Final = 1_000  # bytes in which a message that is too long may name its id
_ID: Final = re.compile(rb'"id"\s*:\s*(\d{1,15}|"[\w-]{1,100}")')


def parsed_message(line: bytes) -> SessionMessage | types.JSONRPCError:
    """The message on a line, or the error that its sender is to get."""
    if len(line) > LINE_BYTES:
        found = _ID.search(line[:_HEAD])
        reason = f"a message has at most {LINE_BYTES:,} bytes, and this one has more"
        return _refused_message(json.loads(found[1]) if found else None, reason)
    try:
        found = json_on(line)
    except (ValueError, RecursionError) as error:
        log.warning("a line that is not JSON was refused: %s", str(error)[:200])
        return _jsonrpc_error(
            None, types.PARSE_ERROR, f"Parse error: the line is not JSON ({error})."
        )
    if isinstance(found, list):
        return _refused_message(
            None, "batches are not part of the protocol; send one message per line"
        )
    if not isinstance(found, dict) or found.get("jsonrpc") != "2.0":
        return _refused_message(_jsonrpc_id(found), 'a message is an object with "jsonrpc": "2.0"')
    if "method" in found and "id" in found and _jsonrpc_id(found) is None:
        return _refused_message(None, "the id of a request is a text or a whole number")
    if found.get("method") == "initialize":
        _complete_initialize(found)
    try:
        message = types.jsonrpc_message_adapter.validate_python(
            whole_characters(found), by_name=False
        )
        return SessionMessage(message)
    except ValidationError as error:
        return _refused_message(
            _jsonrpc_id(found), f"{error.error_count()} fields are not as they must be"
        )
    except RecursionError:
        return _refused_message(_jsonrpc_id(found), "it is nested too deeply")


def _refused_message(id_: str | int | None, reason: str) -> types.JSONRPCError:
    log.warning("a message was refused: %s", reason)
    return _jsonrpc_error(id_, types.INVALID_REQUEST, f"Invalid request: {reason}.")


def _jsonrpc_error(id_: str | int | None, code: int, message: str) -> types.JSONRPCError:
    return types.JSONRPCError(
        jsonrpc="2.0", id=id_, error=types.ErrorData(code=code, message=message)
    )


def _jsonrpc_id(found: Any) -> str | int | None:
    id_ = found.get("id") if isinstance(found, dict) else None
    return id_ if isinstance(id_, (str, int)) and not isinstance(id_, bool) else None


def _complete_initialize(initialize: dict[str, Any]) -> None:
    """Small clients leave out what the library insists on."""
    params = initialize.setdefault("params", {})
    if isinstance(params, dict):
        params.setdefault("protocolVersion", "2024-11-05")
        params.setdefault("capabilities", {})
        params.setdefault("clientInfo", {"name": NAMELESS, "version": ""})


def names_protocol_version(params: Mapping[str, Any] | None) -> bool:
    """Whether a request says so itself, as in the era without a handshake."""
    meta = (params or {}).get("_meta")
    return isinstance(meta, Mapping) and PROTOCOL_VERSION_META_KEY in meta


def named_client(request: types.JSONRPCRequest) -> str:
    """What a client calls itself, where the request says so."""
    name = client_info(request.method, request.params).get("name")
    return name if isinstance(name, str) else ""


def client_info(method: str, params: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """From the wire itself, in either era: the library drops what it does not know."""
    params = params or {}
    meta = params.get("_meta")
    info = params.get("clientInfo") if method == "initialize" else None
    if isinstance(meta, Mapping):
        info = info or meta.get(CLIENT_INFO_META_KEY)
    return info if isinstance(info, Mapping) else {}
