"""Tags: what can be one, and when two are the same."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

TAG: Final = re.compile(
    r"#([^\u2000-\u200c\u200e-\u206f\u2e00-\u2e7f'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\\s\0]+)"
)


def is_tag(name: str) -> bool:
    """Obsidian's tag grammar, without the `#`."""
    return TAG.fullmatch("#" + name) is not None and not name.isdigit()


def bare_tag(tag: str) -> str:
    return tag.lstrip("#")


def tag_key(tag: str) -> str:
    """Two tags with one key are one: case and `#` do not count."""
    return bare_tag(tag).casefold()


def tag_of(words: str) -> str:
    """A tag as somebody gave it, perhaps with blanks in it; it may still be none."""
    return "-".join(bare_tag(words).split()).strip("/")


def as_tags(tags: Iterable[str]) -> list[str]:
    """Tags of systems in which any text is one, as tags that a note can have."""
    made: dict[str, None] = {}
    for given in tags:
        tag = "".join(c if is_tag(f"a{c}") or c == "/" else "-" for c in tag_of(str(given)))
        if tag:
            made[tag if is_tag(tag) else f"{tag}-"] = None
    return list(made)
