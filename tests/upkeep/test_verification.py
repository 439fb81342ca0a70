"""`doctor --verify`: what was acknowledged is there, and the index is what a new one would be."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Run, snapshot
from vaultmem.operations.caller import Caller
from vaultmem.vault import Vault


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """Notes of a person and of an agent, changed, moved, trashed and restored."""
    root = tmp_path / "vault"
    (root / ".vaultmem").mkdir(parents=True)
    own = root / "Own.md"
    own.write_text("---\ntype: draft\n---\n")  # of a kind that no new index has
    flags = {"typing.quiet_seconds": 0.0, "model": "off"}
    with Vault.open(root, flags, caller=Caller(client="agent")) as opened:
        opened.index_now()
        made = {
            name: opened.remember(f"The {name} memory is about quinces.", title=name)
            for name in ("Kept", "Changed", "Moved", "Pruned", "Edited")
        }
        opened.update(made["Changed"].memory_id, content="The changed memory is about medlars.")
        opened.tag(made["Pruned"].memory_id, add=["old"])
        opened.prune("user", tags=["old"])
        opened.assert_fact("Orchard", "has", "quinces")
        opened.log("Quinces were picked.", session_id="s-1")
        (root / made["Moved"].path).rename(root / "Elsewhere.md")
        own.write_text("A person's note about the orchard. [[Edited]] #own\n")
        with (root / made["Edited"].path).open("a") as file:
            file.write("And a person's line.\n")
        opened.index_now()
    return root


def verify(run: Run, vault: Path, *more: str) -> list[dict[str, str]]:
    done = run("doctor", "--verify", "--json", *more, cwd=vault)
    found: list[dict[str, str]] = [each for each in done.json if each["problem"] != "index-behind"]
    assert done.code == (1 if found else 0), (done.out, done.err)
    return found


def in_catalog(vault: Path, sql: str) -> None:
    """As if by a fault of our own: what others do to the file is noticed, and it is made anew."""
    with (
        Vault.open(vault, {"model": "off"}) as opened,
        opened.parts.index.files.writing(5),
        opened.parts.index.catalog.transaction() as db,
    ):
        db.execute(sql)


def test_a_whole_vault_is_whole_and_stays_as_it_is(run: Run, vault: Path) -> None:
    before = snapshot(vault)
    assert verify(run, vault) == []
    after = snapshot(vault)
    assert {k for k in after if "/index/" not in k} == {k for k in before if "/index/" not in k}
    assert all(after[name] == before[name] for name in before if not name.startswith(".vaultmem"))
    said = run("doctor", "--verify", cwd=vault).err
    assert "Compared 7 notes, 7 writes, 3 older texts" in said, said


def test_a_memory_that_is_nowhere_is_told_until_a_person_says_so(run: Run, vault: Path) -> None:
    (vault / "Memories" / "Kept.md").unlink()
    (vault / "Memories" / "Changed.md").unlink()
    found = verify(run, vault)
    gone = {each["path"]: each["fix"] for each in found if each["problem"] == "write-gone"}
    assert set(gone) == {"Memories/Kept.md", "Memories/Changed.md"}
    assert "vaultmem restore" in gone["Memories/Changed.md"]  # an older text of it is kept
    assert "vaultmem restore" not in gone["Memories/Kept.md"]
    assert verify(run, vault, "--repair") == []
    assert verify(run, vault) == []


def test_the_trash_explains_and_so_does_emptying_it(run: Run, vault: Path) -> None:
    assert list((vault / ".trash").iterdir())
    assert verify(run, vault) == []
    for file in (vault / ".trash").iterdir():
        file.unlink()
    assert verify(run, vault) == []


def test_an_older_text_that_changed_is_told(run: Run, vault: Path) -> None:
    kept = next((vault / ".vaultmem" / "local" / "history").glob("*/*.md"))
    kept.write_bytes(kept.read_bytes().replace(b"quinces", b"quonces"))
    (found,) = verify(run, vault)
    assert found["problem"] == "history-damaged"
    assert kept.name in found["path"]
    assert verify(run, vault, "--repair") == [found]  # nobody can derive it


DAMAGES: dict[str, Callable[[Path], None]] = {
    "row": lambda vault: in_catalog(vault, "UPDATE note SET title = 'x' WHERE title = 'Kept'"),
    "tag": lambda vault: in_catalog(vault, "DELETE FROM tag"),
    "link": lambda vault: in_catalog(vault, "UPDATE link SET target = 'nowhere'"),
    "fact": lambda vault: in_catalog(vault, "UPDATE fact SET object = 'plums'"),
    "passage": lambda vault: in_catalog(vault, "UPDATE passage SET end = end - 1"),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_every_row_of_the_index_is_compared(run: Run, vault: Path, what: str) -> None:
    DAMAGES[what](vault)
    found = verify(run, vault)
    assert {each["problem"] for each in found} == {"index-differs"}, found
    assert verify(run, vault, "--repair") == []
    assert verify(run, vault) == []


def test_what_was_only_not_looked_at_yet_is_nothing_wrong(run: Run, vault: Path) -> None:
    in_catalog(vault, "DELETE FROM note WHERE title = 'Kept'")
    (vault / "New.md").write_text("Written a moment ago.\n")
    (vault / "Own.md").unlink()
    assert verify(run, vault) == []
    assert run("index", cwd=vault).code == 0
    assert verify(run, vault) == []


def test_words_of_the_full_text_are_compared(run: Run, vault: Path) -> None:
    """Another text under the same path: as if a writer had failed half-way."""
    with Vault.open(vault, {"model": "off"}) as opened:
        index = opened.parts.index
        words = index.files.text
        assert words is not None
        with index.files.writing(5), words.writing(1) as text:
            text.remove("Memories/Kept.md")
            text.commit()
    (found,) = verify(run, vault)
    assert (found["problem"], found["path"]) == ("index-differs", "Memories/Kept.md")
    assert verify(run, vault, "--repair") == []


def test_vectors_that_no_model_made_are_dropped_and_made_again(run: Run, vault: Path) -> None:
    assert run("index", "--vectors", cwd=vault).code == 0
    assert verify(run, vault) == []
    db = sqlite3.connect(vault / ".vaultmem" / "index" / "vectors.db")
    with db:
        db.execute("UPDATE vector SET vector = zeroblob(length(vector)) WHERE number = 2")
        db.execute("UPDATE vector SET vector = x'00ff' WHERE number = 3")
    db.close()
    (found,) = verify(run, vault)
    assert found["problem"] == "vector-damaged"
    assert found["message"].startswith("2 of the vectors")
    assert verify(run, vault, "--repair") == []
    assert run("index", "--vectors", cwd=vault).code == 0
    assert run("status", "--json", cwd=vault).json["index"]["pending"] == 0


def test_a_vault_without_an_index_gets_none_by_looking(run: Run, tmp_path: Path) -> None:
    (tmp_path / "Plain").mkdir()
    (tmp_path / "Plain" / "a.md").write_text("plain\n")
    assert run("doctor", "--verify", "--vault", str(tmp_path / "Plain")).code == 0
    assert not (tmp_path / "Plain" / ".vaultmem" / "index").exists()
