"""Messages of the usual form, read and written without the MCP library: to the byte as it would
write the replies. Whatever is not of that form is the library's."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from vaultmem.front.replies import ERA, is_plain_id
from vaultmem.surfaces.mcp.lines import LINE_BYTES, json_on, whole_characters

LIST_CHANGED: Final = b'{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}\n'

_KEYS: Final = frozenset({"jsonrpc", "id", "method", "params"})
_CALL_KEYS: Final = frozenset({"name", "arguments", "_meta"})
_CANCEL_KEYS: Final = frozenset({"requestId", "reason"})
_RESERVED: Final = ERA.partition("/")[0]
_HALVES: Final = re.compile(rb"\\u[dD]")  # of characters beyond the first 65,536
_SHORT_FLOAT: Final = re.compile(r"\de[-+]\d")  # which the two ways write differently
_CURSOR: Final = re.compile(r"notes-\d{1,9}")


class ToolCall(NamedTuple):
    name: str
    given: dict[str, Any]


def plain_message(line: bytes) -> dict[str, Any] | None:
    """A request or a notification; None where the library has to say what the line is."""
    if len(line) > LINE_BYTES:
        return None
    try:
        message = json_on(line)
        if _HALVES.search(line):
            message = whole_characters(message)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or not message.keys() <= _KEYS:
        return None
    if message.get("jsonrpc") != "2.0" or not isinstance(message.get("method"), str):
        return None
    if "id" in message and not is_plain_id(message["id"]):
        return None
    return message if _has_plain_params(message) else None


def _has_plain_params(message: Mapping[str, Any]) -> bool:
    params = message.get("params", {})
    if not isinstance(params, dict):
        return False
    meta = params.get("_meta", {})
    return isinstance(meta, dict) and not any(each.startswith(_RESERVED) for each in meta)


def tool_call(message: Mapping[str, Any]) -> ToolCall | None:
    params = message.get("params", {})
    name, given = params.get("name"), params.get("arguments", {})
    token = params.get("_meta", {}).get("progressToken", 0)
    usual = params.keys() <= _CALL_KEYS and isinstance(token, (str, int))
    if not usual or isinstance(token, bool):
        return None
    return ToolCall(name, given) if isinstance(name, str) and isinstance(given, dict) else None


def listing_cursor(message: Mapping[str, Any]) -> tuple[str | None] | None:
    """Where the list is to go on; None where the library has to say what was asked for."""
    params = message.get("params", {})
    if not params:
        return (None,)
    cursor = params.get("cursor")
    if params.keys() != {"cursor"} or not isinstance(cursor, str) or not _CURSOR.fullmatch(cursor):
        return None
    return (cursor,)


def cancelled_id(message: Mapping[str, Any]) -> str | int | None:
    params = message.get("params", {})
    id_ = params.get("requestId")
    usual = params.keys() <= _CANCEL_KEYS and isinstance(params.get("reason", ""), str)
    is_id = isinstance(id_, (str, int)) and not isinstance(id_, bool)
    return id_ if usual and is_id else None


# --- replies --------------------------------------------------------------------------------


def reply_line(id_: object, result: Mapping[str, Any]) -> bytes:
    return _written({"jsonrpc": "2.0", "id": id_, "result": result})


def known_reply_line(id_: object, result: str) -> bytes:
    return f'{{"jsonrpc":"2.0","id":{json.dumps(id_)},"result":{result}}}\n'.encode()


def error_line(id_: object, code: int, message: str, data: Any = None) -> bytes:
    told = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return _written({"jsonrpc": "2.0", "id": id_, "error": told})


def tool_result(made: Mapping[str, Any]) -> dict[str, Any]:
    """In the library's order."""
    content = [{"text": each["text"], "type": "text"} for each in made["content"]]
    more = {"structuredContent": made["structuredContent"]} if "structuredContent" in made else {}
    return {"content": content, "isError": made["isError"], **more}


def listing_result(made: Mapping[str, Any], name: str) -> dict[str, Any]:
    first = {"nextCursor": made["nextCursor"]} if "nextCursor" in made else {}
    return first | {name: [dict(sorted(each.items())) for each in made[name]]}


def _written(message: Mapping[str, Any]) -> bytes:
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if _SHORT_FLOAT.search(text):
        from pydantic_core import to_json

        return to_json(message) + b"\n"
    return text.encode() + b"\n"
