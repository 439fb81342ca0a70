"""JSON by the parts of the standard library that are written in C: the module itself takes as
long to import as everything else that a window needs."""

from __future__ import annotations


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not a JSON value")


try:
    from _json import encode_basestring_ascii as _quoted
    from _json import make_scanner as _make_scanner
except ImportError:  # another Python
    from json.decoder import JSONDecoder
    from json.encoder import py_encode_basestring_ascii as _quoted

    _scan = JSONDecoder(strict=True, parse_constant=_refuse).scan_once  # type: ignore[attr-defined]
else:

    class _Plain:
        strict = True
        object_hook = None
        object_pairs_hook = None
        parse_float = float
        parse_int = int
        parse_constant = staticmethod(_refuse)
        memo: dict[str, str] = {}  # noqa: RUF012 (the scanner asks for the name)

    _scan = _make_scanner(_Plain())  # type: ignore[arg-type]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BLANK = " \t\r\n\0"


def parsed(text: str) -> Any:
    """Raises ValueError for what is not one JSON value."""
    text = text.strip(BLANK)
    try:
        value, end = _scan(text, 0)
    except (StopIteration, SystemError):  # the scanner's own error is in a module not loaded here
        raise ValueError("that is not JSON") from None
    except RecursionError:
        raise ValueError("that is nested too deeply") from None
    if end != len(text):
        raise ValueError("there is more behind it")
    return value


def value_at(text: str, place: int) -> tuple[Any, int]:
    """The value that begins there, and where it ends."""
    try:
        found: tuple[Any, int] = _scan(text, place)
    except (StopIteration, SystemError, RecursionError):
        raise ValueError("that is not JSON") from None
    return found


def written(value: Any) -> str:
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, dict):
        items = (f"{_quoted(str(name))}:{written(each)}" for name, each in value.items())
        return "{" + ",".join(items) + "}"
    return "[" + ",".join(map(written, value)) + "]"
