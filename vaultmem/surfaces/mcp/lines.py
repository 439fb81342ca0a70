"""Lines as a client writes them, before anybody knows what they say."""

from __future__ import annotations

import json
import re
from typing import Any, BinaryIO, Final

LINE_BYTES: Final = 16_000_000  # of one message: a memory of a million characters, all escaped
BLANK: Final = b" \t\r\n\0"

_STEP: Final = 1 << 20
_MARK: Final = b"\xef\xbb\xbf"  # of byte order
_HALF: Final = re.compile("[\ud800-\udfff]")


def next_line(lines: BinaryIO, longest: int = LINE_BYTES) -> bytes:
    """The next line; of one that is too long, a beginning that is too long as well."""
    line = lines.readline(longest + 1)
    if len(line) > longest and not line.endswith(b"\n"):
        while (rest := lines.readline(_STEP)) and not rest.endswith(b"\n"):
            pass
    return line


def json_on(line: bytes) -> Any:
    """Raises ValueError, or RecursionError, for what is not JSON."""
    text = line.strip(BLANK).removeprefix(_MARK).decode()
    return json.loads(text, parse_constant=_refuse_jsonrpc_constant)


def _refuse_jsonrpc_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON value")


def whole_characters(value: Any) -> Any:
    """Half of a surrogate pair becomes U+FFFD, as in every encoder of the web."""
    if isinstance(value, str):
        return value if value.isascii() else _HALF.sub("\ufffd", value)
    if isinstance(value, list):
        return [whole_characters(item) for item in value]
    if isinstance(value, dict):
        return {whole_characters(key): whole_characters(item) for key, item in value.items()}
    return value
