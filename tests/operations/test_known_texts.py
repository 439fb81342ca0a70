"""The same text stored twice is one note."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Open, clean_environment, snapshot
from vaultmem import Vault
from vaultmem.index.filters import filters_as_sql
from vaultmem.notes.note import parse, words_digest

TEXT = "Deploys happen on Fridays, and never before a holiday."


def memories(root: Path) -> list[Path]:
    return sorted((root / "Memories").rglob("*.md"))


@pytest.mark.parametrize("again", [TEXT, f"  {TEXT}\n\n", TEXT.replace(", and", ",\nand")])
def test_the_same_text_is_one_note_and_nothing_is_written(
    vault: Vault, root: Path, again: str
) -> None:
    first = vault.remember(TEXT)
    before = snapshot(root)
    second = vault.remember(again)
    assert (second.memory_id, second.path) == (first.memory_id, first.path)
    assert (first.status, second.status, second.created) == ("created", "known", False)
    assert second.version == first.version and not second.similar
    assert snapshot(root) == before


def test_nearly_the_same_is_another_and_is_named(vault: Vault, root: Path) -> None:
    first = vault.remember(TEXT)
    second = vault.remember(TEXT.replace(".", "!"))
    assert second.status == "created"
    assert [each.id for each in second.similar] == [first.memory_id]
    code = "Run:\n\n```make\nall:\n\tcc x.c\n```"
    vault.remember(code)
    assert vault.remember(code.replace("\t", "  ")).status == "created", "in code blanks count"


def test_what_comes_with_the_second_is_added(vault: Vault, root: Path) -> None:
    first = vault.remember(TEXT, tags=["ops"], importance=0.3)
    file = root / first.path
    file.write_bytes(file.read_bytes().replace(b"importance: 0.3", b"importance: 0.3 # mine"))
    second = vault.remember(
        TEXT, tags=["ops", "atlas"], importance=0.9, title="Deploy days",
        related_entities=[{"name": "Atlas", "type": "component", "relationship": "about"}],
    )  # fmt: skip
    note = parse(file.read_bytes())
    assert second.status == "known" and second.memory_id == first.memory_id
    assert (note.tags, note.number("importance")) == (("ops", "atlas"), 0.9)
    assert b"# mine" in file.read_bytes() and note.strings("about") == ("[[Atlas]]",)
    assert note.aliases == ("Deploy days",), "agents do not rename"
    assert vault.get(["Deploy days"]).memories[0].id == first.memory_id


def test_another_type_is_named_and_left(vault: Vault) -> None:
    vault.remember(TEXT, type="procedural")
    (warning,) = vault.remember(TEXT, type="semantic").warnings
    assert "procedural" in warning
    assert vault.list().memories[0].type == "procedural"


def test_two_titles_that_were_given_are_two_memories(vault: Vault, root: Path) -> None:
    steps = "1. Test\n2. Tag\n3. Ship"
    made = [vault.remember(steps, title=title) for title in ("Atlas release", "Beacon release")]
    assert [each.status for each in made] == ["created", "created"]
    assert vault.remember(steps, title="atlas release").memory_id == made[0].memory_id


def test_other_namespaces_do_not_count(open_vault: Open, root: Path) -> None:
    vault = open_vault()
    ids = {
        vault.remember(TEXT).memory_id,
        vault.remember(TEXT, scope="project", project="Atlas").memory_id,
        vault.remember(TEXT, scope="project", project="Beacon").memory_id,
        vault.remember(TEXT, scope="session", session_id="one").memory_id,
        vault.remember(TEXT, scope="session", session_id="two").memory_id,
        vault.remember(TEXT, room="kitchen").memory_id,
        vault.remember(TEXT, key="mine").memory_id,
        vault.remember(TEXT, key="yours").memory_id,
        open_vault(user="ana").remember(TEXT).memory_id,
    }
    assert len(ids) == 9
    assert vault.remember(TEXT, scope="session", session_id="two").memory_id in ids
    assert open_vault(user="ana").remember(TEXT).memory_id in ids
    assert vault.remember(TEXT, scope="project", project="atlas").memory_id in ids


def test_what_was_forgotten_comes_back(vault: Vault) -> None:
    first = vault.remember(TEXT)
    vault.forget(first.memory_id, reason="wrong")
    assert not vault.recall("deploys fridays", strategy="keyword").memories
    again = vault.remember(TEXT)
    assert (again.status, again.memory_id) == ("revived", first.memory_id)
    (found,) = vault.recall("deploys fridays", strategy="keyword").memories
    assert found.id == first.memory_id
    assert [v.action for v in vault.history(first.memory_id).versions][1:] == ["update", "forget"]


def test_what_was_replaced_and_is_said_again_is_news(vault: Vault, root: Path) -> None:
    first = vault.remember(TEXT)
    vault.remember("Deploys happen on Tuesdays.")
    file = root / first.path
    link = b'superseded_by: "[[Deploys happen on Tuesdays]]"\ncreated:'
    file.write_bytes(file.read_bytes().replace(b"created:", link))
    again = vault.remember(TEXT)
    assert again.status == "created" and again.memory_id != first.memory_id


def test_a_text_that_was_changed_is_not_the_same(vault: Vault, root: Path) -> None:
    first = vault.remember(TEXT)
    vault.update(first.memory_id, old_text="Fridays", new_text="Tuesdays")
    assert vault.remember(TEXT).status == "created"
    assert vault.remember(TEXT.replace("Fridays", "Tuesdays")).memory_id == first.memory_id


def test_into_a_persons_note_nothing_is_written(vault: Vault, root: Path) -> None:
    (root / "Deploys.md").write_text(TEXT)
    done = vault.remember(TEXT, tags=["ops"])
    assert (done.status, done.memory_id) == ("known", "Deploys.md")
    assert "Deploys.md" in done.warnings[0]
    assert (root / "Deploys.md").read_text() == TEXT and not memories(root)


def test_without_an_index_the_memory_is_stored(vault: Vault, root: Path) -> None:
    vault.remember(TEXT)
    (root / ".vaultmem/index/catalog.db").write_bytes(b"broken")
    assert vault.remember(TEXT).path.startswith("Memories/")


_STORE = """
import sys
from vaultmem import Vault
with Vault.open(sys.argv[1]) as vault:
    print("ready", flush=True)
    sys.stdin.readline()
    print(*(vault.remember(f"Fact {n} is this.").memory_id for n in range(8)))
"""


def test_processes_that_store_the_same_at_once_make_one_note(root: Path, tmp_path: Path) -> None:
    Vault.open(root).close()
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _STORE, str(root)], env=clean_environment(tmp_path),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    for process in processes:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    ids = [process.communicate(timeout=120)[0].split() for process in processes]
    assert ids[0] == ids[1] and len(set(ids[0])) == 8
    assert len(memories(root)) == 8


def test_a_known_text_is_looked_up_and_not_looked_for(vault: Vault) -> None:
    """Storing does not get slower as the vault grows."""
    vault.remember(TEXT)
    condition, values = filters_as_sql(vault.view.filters(scope="user", include_forgotten=True))
    sql = f"EXPLAIN QUERY PLAN SELECT note FROM note WHERE words = ? AND {condition} ORDER BY note"
    with sqlite3.connect(vault.root / ".vaultmem/index/catalog.db") as db:
        db.create_function("casefold", 1, str.casefold, deterministic=True)
        steps = [row[3] for row in db.execute(sql, [words_digest(TEXT), *values])]
    assert any("note_words" in step for step in steps) and not any("SCAN note" in s for s in steps)
