"""Canvases in a vault: found, shown and linked as notes are, and never written."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Open, snapshot
from vaultmem.errors import InvalidInput, NotFound, OutsideVault, ReadOnly
from vaultmem.index import Filters
from vaultmem.operations.graphs.graph import GraphAnswer
from vaultmem.vault import Vault

BOARD = "Boards/Plan.canvas"
NODES: list[dict[str, Any]] = [
    {"id": "g", "type": "group", "label": "Launch", "x": 0, "y": 0, "width": 900, "height": 900},
    {"id": "a", "type": "text", "text": "Ship the beta to ten bakeries #beta", "x": 9, "y": 9},
    {
        "id": "b",
        "type": "text",
        "text": "Ask [[Dana]] <private>of the fee</private>",
        "x": 9,
        "y": 99,
    },
    {"id": "c", "type": "file", "file": "Notes/Ovens.md", "x": 9, "y": 300},
]
EDGES = [{"fromNode": "a", "toNode": "b", "label": "two weeks later"}]


def put(vault: Vault, path: str, text: str | bytes) -> Path:
    file = vault.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    vault.index_now()
    return file


def draw(vault: Vault, path: str = BOARD, *texts: str) -> Path:
    size = {"width": 100, "height": 60}
    nodes = [{"id": t, "type": "text", "text": t, "x": 0, "y": n} for n, t in enumerate(texts)]
    drawn = {"nodes": [size | node for node in nodes or NODES], "edges": [] if texts else EDGES}
    return put(vault, path, json.dumps(drawn))


def hits(vault: Vault, question: str) -> list[tuple[str, str]]:
    return [(hit.path, hit.content) for hit in vault.recall(question).memories]


def joined(found: GraphAnswer) -> set[tuple[str, str]]:
    return {(one.name, edge.target) for one in found.entities for edge in one.relationships}


# --- found ---------------------------------------------------------------------------------


def test_the_card_that_matches_is_what_is_found(vault: Vault) -> None:
    draw(vault)
    assert hits(vault, "bakeries") == [(BOARD, "Ship the beta to ten bakeries #beta")]
    hit = vault.recall("bakeries").memories[0]
    assert (hit.title, hit.heading, hit.tags) == ("Plan.canvas", "Launch", ("beta",))
    label = "Ship the beta to ten bakeries #beta → Ask Dana: two weeks later"
    assert hits(vault, "two weeks later") == [(BOARD, label)]
    assert hits(vault, "fee") == []
    assert [(each.tag, each.count) for each in vault.tags().tags] == [("beta", 1)]


def test_a_canvas_is_read_as_markdown(vault: Vault) -> None:
    draw(vault)
    for name in (BOARD, "Plan.canvas", "plan.canvas", "[[Plan.canvas]]"):
        assert [memory.path for memory in vault.get([name]).memories] == [BOARD]
    content = vault.get([BOARD]).memories[0].content
    assert content.startswith(
        "## Launch\n\nShip the beta to ten bakeries #beta\n\n***\n\nAsk [[Dana]]"
    )
    assert "- [[Notes/Ovens]]\n" in content and "fee" not in content
    assert [memory.path for memory in vault.list().memories] == [BOARD]
    assert vault.source(BOARD).text == (vault.root / BOARD).read_text()


def test_a_note_beside_it_keeps_its_name(vault: Vault) -> None:
    draw(vault)
    put(vault, "Plan.md", "the note")
    put(vault, "Other.md", "see [[Plan]]")
    assert vault.get(["Plan"]).memories[0].path == "Plan.md"
    assert vault.search_graph("Plan").entities[0].path == "Plan.md"


def test_its_links_are_edges_and_links_to_it_too(vault: Vault) -> None:
    draw(vault)
    put(vault, "Notes/Ovens.md", "hot")
    put(vault, "Home.md", "see [[Plan.canvas]], [[gone.canvas]] and ![[Boards/Plan.canvas]]")
    assert {("Plan.canvas", "Dana"), ("Plan.canvas", "Ovens")} <= joined(
        vault.search_graph("Plan.canvas")
    )
    assert ("Ovens", "Plan.canvas") in joined(vault.search_graph("Ovens"))
    around = joined(vault.search_graph("Home"))
    assert ("Home", "Plan.canvas") in around and not any("gone" in end for _, end in around)


def test_what_is_drawn_anew_is_found_anew(vault: Vault) -> None:
    put(vault, "Note.md", "stays")
    draw(vault, BOARD, "the old oven")
    assert hits(vault, "oven") == [(BOARD, "the old oven")]
    file = draw(vault, BOARD, "the new fridge")
    assert hits(vault, "oven") == [] and hits(vault, "fridge") == [(BOARD, "the new fridge")]
    file.rename(file.with_name("Kitchen.canvas"))
    vault.index_now()
    assert hits(vault, "fridge") == [("Boards/Kitchen.canvas", "the new fridge")]
    file.with_name("Kitchen.canvas").unlink()
    vault.index_now()
    assert hits(vault, "fridge") == [] and vault.list().total == 1


@pytest.mark.parametrize(
    "path", [".obsidian/a.canvas", "Templates/a.canvas", "Old/a.canvas", ".trash/a.canvas"]
)
def test_what_is_no_note_s_place_is_no_canvas_s(open_vault: Open, path: str) -> None:
    vault = open_vault({"exclude": ["Old"], "folders.templates": "Templates"})
    draw(vault, path, "hidden words")
    assert hits(vault, "hidden words") == []
    assert vault.list().total == 0
    with pytest.raises((NotFound, OutsideVault)):
        vault.source(path)


def test_no_path_leads_out_of_the_vault(vault: Vault, tmp_path: Path) -> None:
    outside = tmp_path / "secret.canvas"
    outside.write_text(json.dumps({"nodes": NODES}))
    (vault.root / "link.canvas").symlink_to(outside)
    vault.index_now()
    assert hits(vault, "bakeries") == []
    for path in ("../secret.canvas", str(outside)):
        with pytest.raises((OutsideVault, NotFound)):
            vault.source(path)
    assert not vault.get(["link.canvas"]).memories


def test_it_is_everybody_s_but_for_a_project_s_folder(open_vault: Open) -> None:
    draw(open_vault(), BOARD, "common bread")
    draw(open_vault(), "Memories/Atlas/Own.canvas", "project bread")
    assert len(hits(open_vault(user="ann"), "bread")) == 2
    assert len(hits(open_vault(project="Atlas"), "bread")) == 2
    assert hits(open_vault(project="Borealis"), "bread") == [(BOARD, "common bread")]


# --- never written -------------------------------------------------------------------------

CHANGES: dict[str, Callable[[Vault], object]] = {
    "update": lambda vault: vault.update(BOARD, content="mine"),
    "replace": lambda vault: vault.update(BOARD, old_text="beta", new_text="gamma"),
    "append": lambda vault: vault.update(BOARD, append="more"),
    "importance": lambda vault: vault.update(BOARD, importance=0.9),
    "tag": lambda vault: vault.tag(BOARD, add=["x"]),
    "forget": lambda vault: vault.forget(BOARD),
    "promote": lambda vault: vault.promote(BOARD, "user"),
    "remove": lambda vault: vault.remove(BOARD),
    "restore": lambda vault: vault.restore(BOARD),
    "rewrite": lambda vault: vault.rewrite(BOARD, "mine", vault.source(BOARD).version),
    "to an editor": lambda vault: vault.source(BOARD, to_change=True),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_refused_and_nothing_is_written(vault: Vault, change: str) -> None:
    draw(vault)
    vault.get([BOARD])
    before = snapshot(vault.root)
    with pytest.raises(
        ReadOnly, match=r"Boards/Plan\.canvas is a canvas\. A canvas is drawn in Obs"
    ):
        CHANGES[change](vault)
    after = snapshot(vault.root)
    mine = [path for path in after if not path.startswith(".vaultmem/index")]
    assert {path: after[path] for path in mine} == {path: before.get(path) for path in mine}


def test_the_store_itself_makes_changes_and_removes_no_canvas(vault: Vault) -> None:
    file = draw(vault)
    before, store = file.read_bytes(), vault.view.store
    version = store.read(BOARD).version
    writes: list[Callable[[], object]] = [
        lambda: store.create("New.canvas", b"{}"),
        lambda: store.create("New.CANVAS", b"{}"),
        lambda: store.replace(BOARD, b"{}", expect=version),
        lambda: store.remove(BOARD),
    ]
    for write in writes:
        with pytest.raises(ReadOnly, match="canvas"):
            write()
    assert file.read_bytes() == before and not list(vault.root.glob("New*"))


def test_consolidation_draws_nothing_from_a_canvas(vault: Vault) -> None:
    for number in range(4):
        draw(vault, f"Memories/Atlas/Board {number}.canvas", "We decided to bake at six.")
    before = snapshot(vault.root / "Memories")
    vault.consolidate()
    assert snapshot(vault.root / "Memories") == before


def test_an_export_has_the_file_itself(vault: Vault, away: Path) -> None:
    file = draw(vault)
    put(vault, "Note.md", "text")
    done = vault.export("zip", str(away / "all.zip"))
    assert (done.notes, zipfile.ZipFile(away / "all.zip").read(BOARD)) == (1, file.read_bytes())
    vault.export("jsonl", str(away / "all.jsonl"))
    assert [json.loads(x)["path"] for x in (away / "all.jsonl").read_text().splitlines()] == [
        "Note.md"
    ]


# --- what is wrong with one ----------------------------------------------------------------


def test_a_broken_one_is_named_and_the_others_are_found(vault: Vault) -> None:
    draw(vault)
    put(vault, "Empty.canvas", b"")
    broken = put(vault, "Broken.canvas", b'{"nodes": [')
    found = {finding.path: finding for finding in vault.examine() if "canvas" in finding.problem}
    assert list(found) == ["Broken.canvas"]
    assert "not valid JSON" in found["Broken.canvas"].message
    assert hits(vault, "bakeries")
    shown = vault.get(["Broken.canvas"]).memories[0]
    assert [problem.kind for problem in shown.problems or ()] == ["malformed-canvas"]
    broken.write_bytes(b"{}")
    vault.index_now()
    assert not [finding for finding in vault.examine() if finding.path == "Broken.canvas"]


def test_one_that_breaks_and_heals_is_known_as_it_is(vault: Vault) -> None:
    put(vault, BOARD, b"{}")
    put(vault, BOARD, b"{")
    assert [path for path, _ in vault.view.index.lookup.problems(Filters())] == [BOARD]
    draw(vault, BOARD, "healed words")
    assert vault.view.index.lookup.problems(Filters()) == []
    assert hits(vault, "healed words") == [(BOARD, "healed words")]


def test_a_huge_one_is_named_and_not_read(vault: Vault) -> None:
    put(vault, "Huge.canvas", b'{"nodes":[' + b"{}," * 3_500_000 + b"{}]}")
    found = [finding for finding in vault.examine() if finding.path == "Huge.canvas"]
    assert [finding.problem for finding in found] == ["large-canvas"]


def test_a_conflict_copy_is_named(vault: Vault) -> None:
    draw(vault)
    draw(vault, "Boards/Plan (Conflicted copy laptop 202601051200).canvas", "another")
    found = [finding for finding in vault.examine() if finding.problem == "conflict-copy"]
    assert [(each.path, each.fix) for each in found] == [
        (
            "Boards/Plan (Conflicted copy laptop 202601051200).canvas",
            "Look at both in Obsidian, and delete one.",
        )
    ]
    with pytest.raises((InvalidInput, NotFound)):
        vault.resolve("Boards/Plan (Conflicted copy laptop 202601051200).canvas", "theirs")
