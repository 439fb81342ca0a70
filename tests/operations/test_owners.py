"""A caller who is bound to a user or project, and notes that are another's or nobody's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Open
from tests.notes.test_attributes import UNCLEAR
from vaultmem import errors
from vaultmem.base import lock
from vaultmem.index import Filters
from vaultmem.recall import file_scan
from vaultmem.vault import Vault

ID = "01KE6Q8Z4R9M2N4P6R7S8T9VWX"
PINS = ({"user": "alice"}, {"user": "bob"}, {"project": "Apollo"}, {"project": "Zeus"})


def put(root: Path, path: str, text: str | bytes) -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def of(owner: str, text: str, **more: str) -> str:
    values = {"type": "semantic", "scope": "user", "user": owner, **more}
    lines = "".join(f"{name}: {value}\n" for name, value in values.items() if value)
    return f"---\n{lines}---\n{text}\n"


def found(vault: Vault, query: str) -> set[str]:
    return {hit.path for hit in vault.recall(query, strategy="keyword", limit=100).memories}


# --- where it cannot be read whose a note is --------------------------------------------------


def test_a_note_with_unreadable_properties_is_not_there_for_one_who_is_bound(
    open_vault: Open, root: Path
) -> None:
    for name, raw in UNCLEAR.items():
        put(root, f"{name}.md", raw.replace(b"Text.", b"A kestrel."))
    put(root, "Shared.md", "A kestrel for all. #bird\n")
    everyone = open_vault(session="s-1")
    seen = found(everyone, "kestrel")
    assert {f"{name}.md" for name, raw in UNCLEAR.items() if b"Text." in raw} - seen <= {
        "utf-16.md"
    }
    for pins in PINS:
        bound = open_vault(**pins)
        assert found(bound, "kestrel") == {"Shared.md"}
        scanned = file_scan.ask(
            bound.parts.store, "kestrel", bound.view.filters(), limit=100, offset=0
        )
        assert {hit.row.path for hit in scanned.hits} == {"Shared.md"}
        assert {memory.path for memory in bound.list(limit=100).memories} == {"Shared.md"}
        names = [f"{name}.md" for name in UNCLEAR]
        assert bound.get(names).memories == () and set(bound.get(names).missing) == set(names)
        assert not bound.projects().projects
        told = bound.status()
        assert (told.counts.total, told.index.notes, told.index.skipped) == (1, 1, ())
        assert bound.recall("kestrel", strategy="keyword").index.skipped == 0
        for name in UNCLEAR:
            with pytest.raises(errors.NotFound):
                bound.forget(name)
    assert everyone.status().index.notes == len(UNCLEAR) + 1


def test_a_note_that_becomes_anothers_is_not_shown_before_the_index_knows(
    open_vault: Open, root: Path
) -> None:
    file = put(root, "Plan.md", of("", "A kestrel."))
    mine = open_vault(user="alice")
    version = mine.get(["Plan"]).memories[0].version
    assert found(mine, "kestrel") == {"Plan.md"}
    following = root / ".vaultmem" / "local" / lock.LEADER_LOCK
    with lock.locked(following, timeout=5, what="following"):  # and has not looked yet
        file.write_text(of("bob", "A kestrel and a gyrfalcon."), encoding="utf-8")
        assert found(mine, "kestrel") == set()
        assert "gyrfalcon" not in repr(mine.list()) + repr(mine.search_graph())
        with pytest.raises(errors.NotFound) as refused:
            mine.update("Plan.md", importance=0.1, expected_version=version)
        assert "gyrfalcon" not in str(refused.value)
        file.write_text("---\nuser: bob\nuser: \n---\nA kestrel and a merlin.\n", encoding="utf-8")
        assert found(mine, "kestrel") == set() and "merlin" not in repr(mine.list())


# --- what was ---------------------------------------------------------------------------------


def test_nobody_restores_what_has_become_anothers(open_vault: Open, root: Path) -> None:
    file = put(root, "Memories/Plan.md", of("alice", "First.", id=ID))
    mine, theirs = open_vault(user="alice"), open_vault(user="bob")
    mine.tag(ID, add=["mine"])
    file.write_text(of("bob", "It is a gyrfalcon.", id=ID), encoding="utf-8")
    theirs.tag(ID, add=["theirs"])
    before = sorted(path.name for path in root.rglob("*.md") if ".vaultmem" not in path.parts)
    for ref in (ID, "Memories/Plan.md", "Plan"):
        for ask in (mine.restore, mine.history, mine.forget):
            with pytest.raises(errors.NotFound):
                ask(ref)
    after = sorted(path.name for path in root.rglob("*.md") if ".vaultmem" not in path.parts)
    assert after == before
    versions = theirs.history(ID).versions
    assert len(versions) == 2, "not the text from before it was theirs"
    old = open_vault().history(ID).versions[-1].version
    for take in (theirs.restore, theirs.version_text):
        with pytest.raises(errors.NotFound):
            take(ID, old)
    assert "gyrfalcon" in theirs.version_text(ID, versions[1].version)


def test_what_was_pruned_is_its_owners_alone(open_vault: Open, root: Path) -> None:
    mine, theirs = open_vault(user="alice"), open_vault(user="bob")
    made = theirs.remember("A gyrfalcon.", tags=["old"], title="Falcon")
    theirs.prune("user", tags=["old"])
    for ref in (made.memory_id, made.path, "Falcon"):
        with pytest.raises(errors.NotFound):
            mine.restore(ref)
        with pytest.raises(errors.NotFound):
            mine.history(ref)
    assert theirs.restore(made.memory_id).memory_id == made.memory_id


def test_a_broken_note_in_the_trash_is_nobodys(open_vault: Open, root: Path) -> None:
    put(root, "Memories/Plan.md", f"---\nid: {ID}\nuser: bob\nuser: alice\n---\nA gyrfalcon.\n")
    everyone = open_vault()
    everyone.remove("Memories/Plan.md")
    for pins in PINS:
        with pytest.raises(errors.NotFound):
            open_vault(**pins).restore("Plan")
    assert everyone.restore("Plan").path == "Memories/Plan.md"


# --- how much there is ------------------------------------------------------------------------


def test_the_status_tells_of_what_one_sees(open_vault: Open, root: Path) -> None:
    put(root, "Mine.md", of("alice", "A kestrel."))
    put(root, "Theirs.md", of("bob", "A gyrfalcon.\n\n" + "It hunts. " * 300))
    put(root, "Marks.md", of("bob", "<<<<<<< a\nx\n=======\ny\n>>>>>>> b"))
    put(root, "Own marks.md", of("alice", "<<<<<<< a\nx\n=======\ny\n>>>>>>> b"))
    put(root, "Twin.md", of("bob", "One.", id=ID))
    put(root, "Twin (Conflicted copy).md", of("bob", "Two.", id=ID))
    mine = open_vault(user="alice", session="s-1")
    mine.index_now()
    told = mine.status()
    assert told.index.notes == told.counts.total == 2
    assert told.index.passages < open_vault().status().index.passages
    assert [skipped.path for skipped in told.index.skipped] == ["Own marks.md"]
    size = sum((root / name).stat().st_size for name in ("Mine.md", "Own marks.md"))
    assert told.storage.database_size_bytes == size
    assert mine.recall("kestrel", strategy="keyword").index.skipped == 1
    everything = open_vault(session="s-1").status()
    assert everything.index.notes == 5 and len(everything.index.skipped) == 3


def test_filters_agree_on_whose_a_note_is(open_vault: Open, root: Path) -> None:
    """Full text, catalog and a look at the files."""
    for i, raw in enumerate(UNCLEAR.values()):
        put(root, f"Memories/Zeus/{i}.md", raw.replace(b"Text.", b"A kestrel."))
    put(root, "Mine.md", of("alice", "A kestrel."))
    vault = open_vault()
    vault.index_now()
    for filters in (Filters(), Filters(user="alice"), Filters(home="Zeus"), Filters(session="x")):
        hits = vault.parts.index.search_text("kestrel", filters, 100)
        by_text = {
            row.path for row in vault.parts.index.lookup.rows(n for n, _ in hits.notes).values()
        }
        by_row = {row.path for row in vault.parts.index.lookup.select(filters)[0]}
        listed = {path for path in by_row if b"kestrel" in (root / path).read_bytes()}
        scanned = file_scan.ask(vault.parts.store, "kestrel", filters, limit=100, offset=0)
        assert by_text == listed == {hit.row.path for hit in scanned.hits}
