"""HTML that is escaped by construction: whatever is not markup already becomes text.

    tag("a", "1 < 2", href="/note/x")    <a href="/note/x">1 &lt; 2</a>

No attribute can carry code: there are no handlers, no styles, and addresses have known schemes.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Final, TypeAlias

from vaultmem.notes.note import printable

_EMPTY: Final = frozenset(("input", "br", "hr", "meta", "link"))
_NO_TAGS: Final = frozenset(("style", "iframe", "object", "embed", "base", "foreignobject"))
_NAME: Final = re.compile(r"[a-z][a-zA-Z0-9-]*")
_ADDRESSES: Final = ("href", "src", "action", "formaction")
_SAFE_ADDRESS: Final = re.compile(
    r"(?:https?://|mailto:|obsidian://|[/?#](?![/\\]))", re.IGNORECASE
)
_CODE: Final = re.compile(r"on|style$|srcdoc$|xlink")


class Markup(str):
    """Text that is HTML; only this module and whoever joins such texts makes it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Markup({str.__repr__(self)})"


Child: TypeAlias = str | int | Iterable["Child"] | None
Attribute: TypeAlias = str | int | bool | None


def tag(name: str, /, *children: Child, **attributes: Attribute) -> Markup:
    """An element. `class_` and `for_` lose their line, other lines become dashes; an attribute
    that is None or False is left out."""
    if name in _NO_TAGS or not _NAME.fullmatch(name):
        raise ValueError(f"no element called {name}")
    written = "".join(_attribute(*pair) for pair in attributes.items())
    if name in _EMPTY:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{joined(children)}</{name}>")


def joined(children: Iterable[Child]) -> Markup:
    return Markup("".join(map(_escaped_child, children)))


def safe_address(address: str) -> str:
    """The address, or nothing where following it could run something or lead elsewhere unseen."""
    plain = printable(address).strip()
    if any(sign < " " for sign in plain) or not _SAFE_ADDRESS.match(plain):
        return ""
    return plain


def _escaped_child(child: Child) -> str:
    if isinstance(child, Markup):
        return child
    if isinstance(child, str):
        return html.escape(printable(child))
    if child is None or child is False:
        return ""
    if isinstance(child, int):
        return str(child)
    return joined(child)


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    if _CODE.match(name) or not _NAME.fullmatch(name):
        raise ValueError(f"no attribute called {name}")
    if value is True:
        return f" {name}"
    text = printable(str(value))
    if name in _ADDRESSES:
        text = safe_address(text)
    return f' {name}="{html.escape(text)}"'
