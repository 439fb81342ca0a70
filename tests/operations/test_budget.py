"""What an answer costs, and what follows from having been shown a part."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem import Vault
from vaultmem.errors import InvalidInput
from vaultmem.operations.budget import shared_budget
from vaultmem.operations.pages import page_tokens

FLAGS = {"typing.quiet_seconds": 0.0, "model": "off"}
PARAGRAPH = "The heron stands at the weir. It waits for eels. Nobody else is there in winter. "


@pytest.fixture
def vault(root: Path) -> Iterator[Vault]:
    (root / ".vaultmem").mkdir()
    with Vault.open(root, FLAGS) as opened:
        yield opened


def herons(vault: Vault, count: int) -> None:
    for number in range(count):
        text = f"Heron {number} was seen. {PARAGRAPH * 8}"
        (vault.root / f"Heron {number}.md").write_text(text, encoding="utf-8")
    vault.index_now()


@given(st.lists(st.integers(1, 500), min_size=1, max_size=20), st.integers(0, 3_000))
def test_shares_never_exceed_the_budget_and_the_first_get_more(needs: list[int], room: int) -> None:
    shares = shared_budget(needs, room, 0, lambda place: (place + 1) ** -0.5)
    assert sum(shares) <= room
    assert all(share <= need for share, need in zip(shares, needs, strict=True))
    if sum(needs) <= room:
        assert shares == needs
    even = shared_budget([500] * 4, 1_000, 0, lambda place: (place + 1) ** -0.5)
    assert even == sorted(even, reverse=True) and even[0] > even[-1]


def test_python_gets_everything_and_a_budget_is_kept(vault: Vault) -> None:
    herons(vault, 9)
    everything = vault.recall("heron weir")
    assert len(everything.memories) == 9 and everything.more is None
    assert all("…" not in hit.content for hit in everything.memories)
    normal = vault.recall("heron weir", detail="normal")
    assert 3 <= len(normal.memories) < 9
    assert normal.more == normal.total_matched - len(normal.memories)
    sizes = [len(hit.content) for hit in normal.memories]
    assert sizes[0] > sizes[-1] and sizes[0] == max(sizes)
    brief = vault.recall("heron weir", detail="brief")
    assert sum(len(hit.content) for hit in brief.memories) < sum(sizes)
    most = vault.recall("heron weir", detail="normal", max_tokens=4_000)
    assert len(most.memories) == 9


def test_whoever_was_shown_a_part_may_not_replace_the_whole(vault: Vault) -> None:
    text = PARAGRAPH * 4
    (vault.root / "Heron.md").write_text(text, encoding="utf-8")
    vault.index_now()
    (hit,) = vault.recall("heron", detail="brief", max_tokens=100).memories
    assert not hit.whole and hit.content.endswith("…")
    with pytest.raises(Exception, match=r"not as you last saw it|have not read it"):
        vault.update("Heron.md", content="Gone.")


def test_what_was_shown_whole_may_be_replaced(vault: Vault) -> None:
    (vault.root / "Heron.md").write_text("The heron waits.\n", encoding="utf-8")
    vault.index_now()
    (hit,) = vault.recall("heron", detail="normal").memories
    assert hit.whole and hit.content == "The heron waits."
    assert vault.update("Heron.md", content="Gone.").updated_fields == ("content",)


def test_nothing_known_is_said(vault: Vault) -> None:
    herons(vault, 1)
    nothing = vault.recall("xylophone")
    assert nothing.memories == () and nothing.message == "Nothing known about this."
    assert nothing.nearest == () and vault.recall("heron").message is None


# --- pages --------------------------------------------------------------------------------


def long_note(vault: Vault) -> str:
    parts = [f"## Part {n}\n\n{PARAGRAPH * 12}" for n in range(12)]
    (vault.root / "Long.md").write_text("\n\n".join(parts), encoding="utf-8")
    vault.index_now()
    return "\n\n".join(parts)


def test_a_long_note_is_read_in_pages_and_has_its_version_at_the_end(vault: Vault) -> None:
    text, read, offset, versions = long_note(vault), "", 0, []
    while True:
        (page,) = vault.get(["Long"], offset=offset, max_tokens=1_500).memories
        assert page.characters == len(text) and (page.offset or 0) == len(read)
        read += page.content
        versions.append(page.version)
        if page.next_offset is None:
            break
        assert page.outline and page.outline.startswith("## Part")
        offset = page.next_offset
    assert read == text and len(versions) > 2
    assert not any(versions[:-1]) and versions[-1]
    done = vault.update("Long.md", content="Short.", expected_version=versions[-1])
    assert done.updated_fields == ("content",)


def test_the_last_page_alone_is_no_whole_reading(vault: Vault) -> None:
    text = long_note(vault)
    (last,) = vault.get(["Long"], offset=len(text) - 50, max_tokens=1_500).memories
    assert last.next_offset is None and not last.version
    with pytest.raises(InvalidInput):
        vault.update("Long.md", content="Short.")


def test_as_many_as_may_be_asked_for_fit_into_what_may_be_asked_for(vault: Vault) -> None:
    herons(vault, 30)
    names = [f"Heron {number}" for number in range(30)] * 3
    assert page_tokens(1) == 1_500 < page_tokens(20) < page_tokens(len(names))
    found = vault.get(names, max_tokens=page_tokens(len(names))).memories
    assert len(found) == 90 and all(len(each.content) > 100 for each in found)


def test_several_share_and_short_ones_are_whole(vault: Vault) -> None:
    long_note(vault)
    (vault.root / "Short.md").write_text("Short.\n", encoding="utf-8")
    vault.index_now()
    long, short = vault.get(["Long", "Short"], max_tokens=1_000).memories
    assert short.content == "Short." and short.version and short.next_offset is None
    assert long.next_offset and not long.version and len(long.content) > 2_000
    with pytest.raises(InvalidInput, match="one id"):
        vault.get(["Long", "Short"], offset=10)
    with pytest.raises(InvalidInput, match="nothing begins"):
        vault.get(["Short"], offset=10, max_tokens=100)


def test_a_note_without_any_place_to_end_a_page_is_read_too(vault: Vault) -> None:
    (vault.root / "Wall.md").write_text("汉" * 5_000, encoding="utf-8")
    vault.index_now()
    read = ""
    while len(read) < 5_000:
        (page,) = vault.get(["Wall"], offset=len(read), max_tokens=500).memories
        read += page.content
    assert read == "汉" * 5_000 and page.version
