"""File names: which ones travel between machines, which clash, which are conflict copies."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container
from typing import Final

MOST_NAME_BYTES: Final = 120
CANVAS: Final = ".canvas"
PDF: Final = ".pdf"

_FORBIDDEN: Final = re.compile(r'[*"\\/<>:|?#^\[\]\x00-\x1f\x7f-\x9f]')
_DEVICE: Final = re.compile(
    r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?\Z", re.IGNORECASE
)
_DRIVE: Final = re.compile(r"[A-Za-z]:[\\/]")
_SPACES: Final = re.compile(r"[\s\u00a0\u202f]+")

_COPIES: Final = (
    re.compile(r"(?P<name>.+) \(Conflicted copy[^()]*\)\Z", re.IGNORECASE),  # Obsidian Sync
    re.compile(r"(?P<name>.+)\.sync-conflict-\d{8}-\d{6}-[A-Z0-9]+\Z"),  # Syncthing
    re.compile(r"(?P<name>.+) \([^()]*conflicted copy[^()]*\)\Z", re.IGNORECASE),  # Dropbox
)

_SURROGATES: Final = re.compile("[\ud800-\udfff]")  # bytes of a name that are not UTF-8
_PERHAPS_COPY: Final = re.compile(r"\bcopy\b| \(?\d+\)?\Z", re.IGNORECASE)


def is_readable_name(name: str) -> bool:
    """Whether a file is named like something that is read: a note, a canvas or a PDF."""
    return name.lower().endswith((".md", CANVAS, PDF))


def is_canvas(path: str) -> bool:
    return path.lower().endswith(CANVAS)


def is_pdf(path: str) -> bool:
    return path.lower().endswith(PDF)


def is_only_read(path: str) -> bool:
    """Whether it is read as a note is, and never written: a canvas, or a PDF."""
    return path.lower().endswith((CANVAS, PDF))


def name_key(name: str) -> str:
    """Two names with one key are one file on some machine: case and accents fold. What is not
    UTF-8 is escaped, since nothing could be asked for it."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", escaped_name(name)).casefold())


def is_unicode_name(name: str) -> bool:
    """Whether a name can be written down at all: in JSON, in an index, on a terminal."""
    return name.isascii() or _SURROGATES.search(name) is None


def escaped_name(name: str) -> str:
    """A file name with what is not UTF-8 as a shell's `$'…'` takes it: `caf\\xe9.md`."""

    def escaped(found: re.Match[str]) -> str:
        code = ord(found[0])
        return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"

    return name if name.isascii() else _SURROGATES.sub(escaped, name)


def looks_like_absolute_path(path: str) -> bool:
    """On some system: a vault goes from one to another."""
    drive = path[1:2] == ":" and _DRIVE.match(path) is not None
    return drive or path[:1] in ("/", "\\")


def safe_name(title: str) -> str:
    """A file name, without `.md`, that every system accepts and every link can carry."""
    name = _FORBIDDEN.sub(" ", unicodedata.normalize("NFC", title))
    name = _SPACES.sub(" ", name.encode(errors="ignore").decode()).strip(" .")
    name = cut_name(name, MOST_NAME_BYTES).rstrip(" .")
    if _DEVICE.match(name):
        name = f"{name} note" if "." not in name else f"Note {name}"
    return name or "Untitled"


def unique_name(title: str, taken: Container[str]) -> str:
    """A safe name whose key is not among the taken keys: `Title`, `Title 2`, `Title 3` …"""
    return numbered_name(safe_name(title), taken, MOST_NAME_BYTES)


def numbered_name(name: str, taken: Container[str], most: int = 0) -> str:
    """The name, or the first with a number behind it that is free; cut to `most` bytes, if said."""
    number, candidate = 1, name
    while name_key(candidate) in taken:
        number += 1
        suffix = f" {number}"
        short = cut_name(name, most - len(suffix)).rstrip(" .") if most else name
        candidate = short + suffix
    return candidate


def cut_name(text: str, limit: int) -> str:
    """At most `limit` bytes of UTF-8, at a word's end where one is near, never inside a character."""
    raw = text.encode()
    if len(raw) <= limit:
        return text
    short = raw[:limit].decode(errors="ignore")
    while short and unicodedata.combining(text[len(short)]):
        short = short[:-1]
    words = short.rpartition(" ")[0]
    return words if len(words) > len(short) * 2 // 3 else short


def is_new_name(name: str) -> bool:
    """Whether a program may give this name: composed, and short enough for conflict suffixes."""
    return name == unicodedata.normalize("NFC", name) and len(name.encode()) <= MOST_NAME_BYTES


def why_name_is_unsafe(name: str) -> str | None:
    """What is wrong with a name that vaultmem would not have given; None when nothing."""
    if not is_unicode_name(name):
        return "it is not valid UTF-8"
    if found := _FORBIDDEN.search(name):
        return f"it contains {found[0]!r}, which links or other systems do not allow"
    if name != name.strip(" ") or name.endswith("."):
        return "it starts or ends with a space, or ends with a dot"
    if name.startswith("."):
        return "it starts with a dot, which hides it"
    if _DEVICE.match(name):
        return "Windows keeps this name for a device"
    if len(name.encode(errors="replace")) > 250:
        return "it is too long for some systems"
    return None


def copy_rank_of_name(name: str) -> int:
    """How much a name looks like a copy's: 0 not at all, 1 perhaps, 2 surely."""
    if name_of_conflict_original(name):
        return 2
    return 1 if _PERHAPS_COPY.search(name) else 0


def name_of_conflict_original(name: str) -> str | None:
    """The name a sync tool's conflict copy was made from; None for an ordinary name."""
    found = (pattern.match(name) for pattern in _COPIES)
    return next((match["name"] for match in found if match), None)
