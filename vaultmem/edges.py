"""When two ends, or two names of a relation, are the same. Light to load, for whoever reads."""

from __future__ import annotations

import datetime as dt
import re
from functools import lru_cache
from typing import Final

from vaultmem import markdown
from vaultmem.names import name_key
from vaultmem.note import moment

_LINK: Final = re.compile(r"\[\[[^\[\]\n]+\]\]")
_PLAIN_LINK: Final = re.compile(r"\[\[[^\[\]\n|#\\]+\]\]")


def link_target(text: str) -> str:
    """The name in a text that is nothing but one `[[link]]`; empty for any other text."""
    if not _LINK.fullmatch(text):
        return ""
    if _PLAIN_LINK.fullmatch(text):
        return text[2:-2].strip()
    found = markdown.property_links(text, "")
    return found[0].target if found else ""


@lru_cache(maxsize=5000)
def object_link(text: str) -> tuple[str, str]:
    """The name in a fact's object that is one link, and the key to compare it by."""
    name = link_target(text)
    return name, link_key(name)


def unwrapped(text: str) -> str:
    return link_target(text) or text


def as_link(name: str) -> str:
    """`[[name]]`, or nothing where a link could not carry the name."""
    link = f"[[{name}]]"
    return link if link_target(link) == name else ""


def link_key(name: str) -> str:
    return name_key(name.strip()).removesuffix(".md")


@lru_cache(maxsize=1000)
def relation_key(relation: str) -> str:
    """`Depends on`, `depends-on` and `depends_on` are one relation."""
    return re.sub(r"[\s-]+", "_", relation.strip()).casefold()


def has_ended(valid_to: str, now: dt.datetime) -> bool:
    """Whether a fact's TO lies behind us; one that is no date was closed at an unknown time."""
    if not valid_to:
        return False
    until = moment(valid_to)
    return until is None or until <= now
