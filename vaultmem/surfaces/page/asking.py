"""What the page is asked for, and what a view gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from vaultmem.surfaces.page.markup import Markup

if TYPE_CHECKING:
    from vaultmem.vault import Vault


@dataclass(frozen=True, slots=True)
class PageRequest:
    """`trusted`: it came with the token of the run, so a person sits there."""

    vault: Vault
    path: str = ""  # behind the screen's own
    query: Mapping[str, str] = field(default_factory=dict)
    trusted: bool = False

    def asked(self, name: str) -> str:
        return self.query.get(name, "").strip()

    def number(self, name: str, usual: int, most: int) -> int:
        text = self.asked(name)
        return min(int(text), most) if text.isdecimal() and len(text) < 8 else usual

    @property
    def is_bound(self) -> bool:
        """Whether there may be what this caller must not know of."""
        return bool(self.vault.caller.user or self.vault.caller.project)

    @property
    def read_only(self) -> bool:
        return self.vault.caller.read_only or bool(self.vault.settings["read_only"])


@dataclass(frozen=True, slots=True)
class Screen:
    """What stands between the page's head and its foot."""

    title: str
    main: Markup
    at: str = ""  # which of the screens it is, for the navigation
    live: bool = True  # whether it is fetched anew when something changed


def page_address(path: str, **query: Any) -> str:
    """An address of ours; what is empty is left out."""
    asked = {name.rstrip("_"): value for name, value in query.items() if value not in ("", None)}
    return path + (f"?{urlencode(asked)}" if asked else "")


def note_address(ref: str, **query: Any) -> str:
    return page_address("/note/" + quote(ref, safe="/"), **query)
