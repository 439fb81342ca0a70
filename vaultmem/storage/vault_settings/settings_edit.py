"""One setting written into `.vaultmem/config.toml`; every other byte of it stays as it was."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

from vaultmem import config
from vaultmem.base import durable, small_files
from vaultmem.base.own_path import OwnPath
from vaultmem.errors import InvalidInput

_MOST_BYTES: Final = 100_000
_TABLE: Final = re.compile(r"^[ \t]*\[", re.MULTILINE)
_BOM: Final = "\ufeff"


def write_setting(root: Path, name: str, value: str) -> bool:
    """Write a text as a setting that stands in no table; False: it is written so already."""
    file = OwnPath(root, (config.STATE, "config.toml"))
    with durable.disk_errors_explained(f"Writing {config.CONFIG}"):
        try:
            old = file.read(_MOST_BYTES + 1)
        except FileNotFoundError:
            old = b""
        new = _with_setting(old, name, value)
        if new == old:
            return False
        file.write(new)
        return True


def _with_setting(old: bytes, name: str, value: str) -> bytes:
    try:
        text = old.decode("utf-8")
        before = small_files.parse_toml(text.removeprefix(_BOM))
    except ValueError as error:
        raise InvalidInput(f"{config.CONFIG} cannot be read: {error}.") from error
    new = spliced_setting(text, name, value)
    if before.get(name) == value:
        return old
    try:
        after = small_files.parse_toml(new.removeprefix(_BOM))
    except ValueError:
        after = {}
    if after != {**before, name: value}:
        raise InvalidInput(
            f"{config.CONFIG} is written in a way that vaultmem does not edit. Put this line above "
            f"its first table: {name} = {json.dumps(value)}"
        )
    return new.encode("utf-8")


def spliced_setting(text: str, name: str, value: str) -> str:
    """In the place of its old value; else below the comment that shows its default; else at the
    end of what stands above the first table."""
    table = _TABLE.search(text)
    end = table.start() if table else len(text)
    line = f"{name} = {json.dumps(value, ensure_ascii=False)}"
    written = re.compile(
        rf"""^([ \t]*{re.escape(name)}[ \t]*=[ \t]*)("(?:[^"\\\n]|\\.)*"|'[^'\n]*')""", re.MULTILINE
    )
    if found := written.search(text, 0, end):
        return text[: found.start(2)] + json.dumps(value, ensure_ascii=False) + text[found.end(2) :]
    newline = "\r\n" if "\r\n" in text else "\n"
    shown = re.compile(rf"^#[ \t]*{re.escape(name)}[ \t]*=[^\r\n]*(\r?\n|\Z)", re.MULTILINE)
    if found := shown.search(text, 0, end):
        joint = "" if found[1] else newline
        return text[: found.end()] + joint + line + newline + text[found.end() :]
    top = text[:end]
    before = newline if top.strip(_BOM) and not top.endswith("\n") else ""
    behind = newline if table else ""
    return top + before + line + newline + behind + text[end:]
