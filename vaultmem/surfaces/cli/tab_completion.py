"""What a shell offers when Tab is pressed: names from the index as it is, at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import click

Complete = Callable[[click.Context, click.Parameter, str], list[str]]

VARIABLE: Final = "_VAULTMEM_COMPLETE"  # how a shell asks
MOST: Final = 100  # more is a list that nobody reads


def _complete_names(what: str) -> Complete:
    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        try:
            from vaultmem.notes.note import one_line
            from vaultmem.vault import Vault

            vault = ctx.params.get("vault") or ctx.find_root().params.get("vault")
            with Vault.open(vault, strict=False) as opened:
                return [one_line(name) for name in opened.beginning(what, incomplete)[:MOST]]
        except Exception:  # the edge: a person is typing, and wants to read no message
            return []

    return complete


titles: Final = _complete_names("titles")
tags: Final = _complete_names("tags")
projects: Final = _complete_names("projects")
entities: Final = _complete_names("entities")


def complete_one_of(*values: str) -> Complete:
    """Values that are known but not the only ones: a vault may have kinds of its own."""
    return lambda ctx, param, incomplete: [v for v in values if v.startswith(incomplete)]


types: Final = complete_one_of("semantic", "episodic", "procedural", "entity", "session")
scopes: Final = complete_one_of("user", "project", "session")
