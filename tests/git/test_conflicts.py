"""What two sides could not agree on: found, shown, settled; by git and by sync services."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.git.cases import ID, NOTE, changed
from tests.git.conftest import Clones, Machine
from tests.git.test_sync import OTHER, converged, sync
from vaultmem.errors import InvalidInput, NoteMalformed, NotFound
from vaultmem.git.conflicts import resolve_markers
from vaultmem.notes.note import parse
from vaultmem.vault import Vault

OBSIDIAN = "N (Conflicted copy laptop 202611161030).md"
SYNCTHING = "N.sync-conflict-20261116-103000-ABCDEFG.md"
DROPBOX = "N (Me's conflicted copy 2026-11-16).md"


def clashing(clones: Clones) -> tuple[Machine, Machine]:
    """The same line changed on both machines, and other things that go together."""
    a, b = clones({"N.md": NOTE, "Same.md": "1\n"})
    a.edit("N.md", "24 hours", "12 hours")
    a.edit("N.md", "  - tokens\n", "  - tokens\n  - from-a\n")
    a.save("Memories/Twin.md", NOTE.replace(ID, ID[:-1] + "Y"))
    a.save("New.md", "from a\n")
    sync(a)
    b.edit("N.md", "24 hours", "48 hours")
    b.edit("N.md", "five", "ten")
    b.save("Memories/Twin.md", OTHER)
    return a, b


def test_a_clash_leaves_markers_in_the_body_alone(clones: Clones, run: Run) -> None:
    _, b = clashing(clones)
    ran = run("sync", "--vault", str(b.root))
    assert ran.code == 1
    assert "vaultmem resolve" in ran.err
    note = parse(b.text_bytes("N.md"))
    assert [problem.kind for problem in note.problems] == ["conflict-markers"]
    assert "from-a" in note.tags
    assert "ten minutes" in note.body
    assert b.text("New.md") == "from a\n"
    assert (b.root / "Memories/Twin 2.md").exists(), "the rest has its answers already"
    assert b.under_way()


def test_a_note_with_markers_refuses_agents(clones: Clones) -> None:
    _, b = clashing(clones)
    sync(b)
    with b.vault() as vault:
        with pytest.raises(NoteMalformed, match="unfinished git merge"):
            vault.update("N", add_tags=["x"])
        assert vault.remember("Other notes are open.").path


@pytest.mark.parametrize(
    ("side", "kept"),
    [("ours", ["48 hours"]), ("theirs", ["12 hours"]), ("both", ["12 hours", "48 hours"])],
)
def test_a_clash_is_resolved(clones: Clones, run: Run, side: str, kept: list[str]) -> None:
    a, b = clashing(clones)
    sync(b)
    shown = run("conflicts", "--json", "--vault", str(b.root))
    assert shown.code == 1
    assert [found["path"] for found in shown.json["conflicts"]] == ["N.md"]
    assert "-Refresh tokens rotate every 48 hours." in shown.json["conflicts"][0]["diff"]
    ran = run("resolve", "N", f"--{side}", "--vault", str(b.root))
    assert ran.code == 0, ran.err
    assert "vaultmem sync" in ran.err.lower()
    assert run("conflicts", "--vault", str(b.root)).code == 0
    text = converged(b, a)["N.md"].decode()
    assert [words for words in ("12 hours", "48 hours") if words in text] == kept
    assert "ten minutes" in text
    assert "  - from-a" in text


def test_a_person_resolves_in_the_editor(clones: Clones) -> None:
    a, b = clashing(clones)
    sync(b)
    assert sync(b).status == "conflicts", "until then it says so again"
    b.save("N.md", resolve_markers(b.text("N.md"), "both").replace("48 hours", "36 hours"))
    report = sync(b)
    assert report.status == "done"
    assert not b.under_way()
    assert "36 hours" in converged(a, b)["N.md"].decode()


def test_a_clash_is_not_begun_while_nobody_looks(clones: Clones) -> None:
    _, b = clashing(clones)
    report = sync(b, leave_conflicts=False)
    assert (report.status, report.conflicts) == ("conflicts", ["N.md"])
    assert b.is_clean()
    assert not b.under_way()
    assert "48 hours" in b.text("N.md")


def test_a_merge_of_the_persons_own(clones: Clones, run: Run) -> None:
    a, b = clones({"N.md": NOTE}, driver=True)
    for machine, hours in ((a, "12"), (b, "48")):
        machine.edit("N.md", "24 hours", f"{hours} hours")
        machine.commit()
    a.git("push", "-q")
    b.git("pull", "-q", "--rebase", check=False)
    ran = run("resolve", "N.md", "--ours", "--vault", str(b.root))
    assert ran.code == 0, ran.err
    assert "rebase --continue" in ran.err
    assert "48 hours" in b.text("N.md"), "ours is this machine's, also in a rebase"
    b.git("-c", "core.editor=true", "rebase", "--continue")


def test_two_notes_of_one_name_in_a_merge_of_the_persons_own(clones: Clones) -> None:
    a, b = clones({}, driver=True)
    a.save("Same.md", NOTE)
    a.commit()
    a.git("push", "-q")
    b.save("Same.md", OTHER)
    b.commit()
    b.git("pull", "-q", "--no-rebase", "--no-edit", check=False)
    with Vault.open(b.root) as vault:
        assert "Two different notes" in vault.conflicts().conflicts[0].message
        vault.resolve("Same.md", "both")
    assert (b.text("Same.md"), b.text("Same 2.md")) == (OTHER, NOTE)
    b.git("commit", "-q", "--no-edit")
    assert b.is_clean()


def test_deleted_and_changed_in_a_merge_of_the_persons_own(clones: Clones) -> None:
    a, b = clones({"N.md": NOTE}, driver=True)
    a.edit("N.md", "24", "12")
    a.commit()
    a.git("push", "-q")
    (b.root / "N.md").unlink()
    b.commit()
    b.git("pull", "-q", "--no-rebase", "--no-edit", check=False)
    with Vault.open(b.root) as vault:
        done = vault.resolve("N.md", "ours")
    assert done.left == 0
    assert not (b.root / "N.md").exists()
    b.git("commit", "-q", "--no-edit")


def test_markers_that_git_forgot(root: Path) -> None:
    """Committed by another program, say: ours is what stands above."""
    (root / ".vaultmem").mkdir()
    clash = "<<<<<<< HEAD\nours\n||||||| base\nold\n=======\ntheirs\n>>>>>>> other"
    for side, kept in (("ours", "ours"), ("theirs", "theirs"), ("both", "ours\ntheirs")):
        (root / "N.md").write_text(f"before\n{clash}\nafter\n")
        with Vault.open(root, {"typing.quiet_seconds": 0.0}) as vault:
            vault.resolve("N", side)
        assert (root / "N.md").read_text() == f"before\n{kept}\nafter\n"


# --- conflict copies ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", [OBSIDIAN, SYNCTHING, DROPBOX])
def test_copies_are_merged_with_their_common_ancestor(clones: Clones, run: Run, name: str) -> None:
    a, _ = clones({"Memories/N.md": NOTE})
    a.edit("Memories/N.md", "  - tokens\n", "")  # a deletion: only an ancestor tells
    a.commit("a tag less")
    a.edit("Memories/N.md", "24", "12")
    a.save(f"Memories/{name}", changed(NOTE, "five", "ten", "importance: 0.5", "importance: 0.9"))
    shown = run("conflicts", "--json", "--vault", str(a.root)).json["conflicts"]
    assert [(v["path"], v["original"], v["ancestor"]) for v in shown] == [
        (f"Memories/{name}", "Memories/N.md", True)
    ]
    assert "+The old token stays valid for ten minutes." in shown[0]["diff"]
    ran = run("resolve", f"Memories/{name}", "--both", "--json", "--vault", str(a.root))
    assert ran.code == 0, ran.err
    done = json.loads(ran.out)
    assert done["clean"]
    assert (a.root / done["trashed"]).exists()
    note = parse(a.text_bytes("Memories/N.md"))
    assert note.tags == ("auth",)
    assert note.get("importance") == 0.9
    assert "12 hours" in note.body
    assert "ten minutes" in note.body
    assert not (a.root / "Memories" / name).exists()


@pytest.mark.parametrize(("side", "kept"), [("ours", "24 hours"), ("theirs", "12 hours")])
def test_a_copy_or_its_original_is_kept(root: Path, side: str, kept: str) -> None:
    (root / ".vaultmem").mkdir()
    (root / "N.md").write_text(NOTE)
    (root / OBSIDIAN).write_text(changed(NOTE, "24", "12"))
    with Vault.open(root, {"typing.quiet_seconds": 0.0}) as vault:
        done = vault.resolve(OBSIDIAN, side)
        assert done.path == "N.md"
        assert not vault.conflicts().conflicts
    assert kept in (root / "N.md").read_text()


def test_a_copy_without_git_or_id_is_merged_by_what_both_have(root: Path) -> None:
    (root / ".vaultmem").mkdir()
    (root / "N.md").write_text("# List\n\n- milk\n- bread\n")
    (root / DROPBOX).write_text("# List\n\n- milk\n- eggs\n")
    with Vault.open(root, {"typing.quiet_seconds": 0.0}) as vault:
        assert vault.conflicts().conflicts[0].ancestor is False
        vault.resolve("N", "both")
    assert set((root / "N.md").read_text().splitlines()) == {
        "# List",
        "",
        "- milk",
        "- bread",
        "- eggs",
    }


def test_the_same_id_under_an_ordinary_name(root: Path) -> None:
    (root / ".vaultmem").mkdir()
    (root / "N.md").write_text(NOTE)
    (root / "N 2.md").write_text(NOTE + "- more\n")
    with Vault.open(root, {"typing.quiet_seconds": 0.0}) as vault:
        view = vault.conflicts().conflicts[0]
        assert (view.path, view.problem, view.original) == ("N 2.md", "duplicate-id", "N.md")
        vault.resolve("N 2", "both")
    assert (root / "N.md").read_text() == NOTE + "- more\n"


def test_what_is_no_conflict(root: Path, run: Run) -> None:
    (root / ".vaultmem").mkdir()
    (root / "N.md").write_text(NOTE)
    with Vault.open(root) as vault:
        with pytest.raises(NotFound):
            vault.resolve("N", "ours")
        with pytest.raises(InvalidInput):
            vault.resolve("N", "mine")
    assert run("conflicts", "--vault", str(root)).code == 0
    assert run("resolve", "N", "--vault", str(root)).code == 2
    assert run("resolve", "N", "--ours", "--vault", str(root)).code == 1


def test_a_pinned_caller_sees_only_their_conflicts(root: Path) -> None:
    from vaultmem.operations.caller import Caller

    (root / ".vaultmem").mkdir()
    for name, project in (("A", "Atlas"), ("B", "Borealis")):
        text = NOTE.replace("project: Atlas", f"project: {project}").replace(ID, ID[:-1] + name)
        (root / f"{name}.md").write_text(text)
        (root / f"{name} (Conflicted copy x 1).md").write_text(text + "more\n")
    with Vault.open(root, caller=Caller(project="Atlas")) as vault:
        assert [view.path for view in vault.conflicts().conflicts] == ["A (Conflicted copy x 1).md"]


def test_a_difference_shows_no_private_passages() -> None:
    from vaultmem.git.conflicts import _conflict_diff

    ours, theirs = b"a <private>old code</private>\nx\n", b"a <private>new code</private>\ny\n"
    shown = _conflict_diff("n.md", "n.md", ours, theirs, ("ours", "theirs"))
    assert "-x" in shown and "+y" in shown
    assert "code" not in shown
