"""Writing a note: how often its bytes are read on the way."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from vaultmem.notes import note
from vaultmem.vault import Vault


def parses(do: Callable[[], object]) -> int:
    count = 0

    def seen(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal count
        count += event == "call" and frame.f_code is note.parse.__code__

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        do()
    finally:
        sys.setprofile(before)
    return count


def test_a_note_is_parsed_when_it_is_made_and_when_it_is_indexed(vault: Vault) -> None:
    vault.remember("The first one opens the index.")
    assert parses(lambda: vault.remember("The gateway rotates its tokens.", tags=["auth"])) <= 2


def test_what_was_stored_under_a_key_is_one_more_text(vault: Vault) -> None:
    vault.remember("The first one opens the index.")
    assert parses(lambda: vault.remember("It rotates hourly.", key="rotation")) <= 3
    # It is found, read again under the lock, compared with the last store, edited, stamped.
    assert parses(lambda: vault.remember("It rotates daily.", key="rotation")) <= 7


def test_each_splice_is_parsed_once(vault: Vault) -> None:
    made = vault.remember("The gateway rotates its tokens.")
    assert parses(lambda: vault.tag(made.memory_id, add=["auth"])) <= 5
