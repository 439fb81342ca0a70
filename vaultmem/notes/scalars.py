"""Single values of frontmatter, and what makes a block unusable."""

from __future__ import annotations

import datetime as dt
import math
import re
from typing import Any, Final, TypeAlias

Scalar: TypeAlias = str | int | float | bool | None
Value: TypeAlias = Any  # what YAML holds: a Scalar, a list or a dict of them
Writable: TypeAlias = Scalar | dt.date | list[Any]

MAX_BYTES: Final = 128 * 1024
MAX_VALUES: Final = 20_000


class MalformedFrontmatter(Exception):
    """Frontmatter that cannot be trusted; `line` counts from the top of the file."""

    def __init__(self, kind: str, message: str, line: int) -> None:
        super().__init__(message)
        self.kind = kind
        self.line = line


_TRUE: Final = frozenset(("true", "True", "TRUE"))
_FALSE: Final = frozenset(("false", "False", "FALSE"))
_NULL: Final = frozenset(("", "~", "null", "Null", "NULL"))
_NUMBER_START: Final = frozenset("+-.0123456789")
_INT: Final = re.compile(r"[-+]?[0-9]+\Z")
_BASED: Final = re.compile(r"0(?:o[0-7]+|x[0-9a-fA-F]+)\Z")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
SPECIAL: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z")
NOT_TEXT: Final = (_INT, _FLOAT, _BASED, SPECIAL)


def plain(text: str) -> Scalar:
    """What YAML 1.2 core reads in an unquoted scalar. Dates stay text."""
    if text in _NULL:
        return None
    if text[0] in _NUMBER_START:
        return _number(text)
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    return text


def _number(text: str) -> Scalar:
    if len(text) > 400:
        return text
    if _INT.match(text):
        return int(text)
    if _FLOAT.match(text):
        value = float(text)
        # 01234E567 is far more likely an identifier than infinity.
        return value if math.isfinite(value) else text
    if _BASED.match(text):
        return int(text, 0)
    if SPECIAL.match(text):
        return float(text.replace(".", ""))
    return text
