"""What a dialect reaches: one memory for all of them, whoever wrote it and wherever it stands.

Some systems know texts under keys and nothing else. To these a note is one text, a fact of an
entity one sentence, and each observation of a journal a text of its own. `dialects.folders`
narrows all of it, and what is pinned, forgotten or kept away is hidden as everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final

from vaultmem.config import STATE
from vaultmem.errors import InvalidInput
from vaultmem.notes.note import note_version
from vaultmem.operations.exact.told_texts import ENTITY
from vaultmem.operations.references import is_id_of_ours

if TYPE_CHECKING:
    from vaultmem.config import Settings
    from vaultmem.operations.caller import Caller
    from vaultmem.operations.results import Memory
    from vaultmem.vault import Vault

_VOLATILE: Final = f"{STATE}/local"


def within_reach(caller: Caller, settings: Settings) -> Caller:
    """A dialect's caller sees all of the vault, or the folders that the settings name; those of
    entities and journals always belong to them."""
    named: Sequence[str] = settings["dialects.folders"]
    if not named:
        return caller
    ours = (settings["folders.entities"], settings["folders.sessions"], _VOLATILE)
    return replace(caller, folders=(*named, *ours))


def is_page_of_ours(version: str) -> bool:
    """A page of a new vault that tells what a vault is, as long as nobody has changed it."""
    return version in versions_of_pages()


@cache
def versions_of_pages() -> frozenset[str]:
    from vaultmem.upkeep.template import template_folder

    return frozenset(note_version(file.read_bytes()) for file in template_folder().glob("*.md"))


def text_told(memory: Memory) -> str:
    """An entity's note says what it is about by its title alone."""
    return f"{memory.title}\n\n{memory.content}" if memory.type == ENTITY else memory.content


def require_forgettable(vault: Vault, reference: str) -> None:
    for memory in vault.get([reference], counted=False).memories:
        require_a_memory(memory.path, memory.id, is_part=memory.block is not None)


def require_a_memory(note_path: str, id: str, *, is_part: bool = False) -> None:
    """What people wrote, and the parts of notes, are found through a dialect and stay."""
    if is_part:
        raise InvalidInput(
            f"This is a part of {note_path} and no memory of its own, so it is not deleted from "
            "here; it can be changed in that note."
        )
    if not is_id_of_ours(id):
        raise InvalidInput(
            f"{note_path} is a note that a person wrote, so it is not deleted from here; they can "
            "delete it themselves."
        )
