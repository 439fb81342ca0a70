"""index, search, status, models and doctor as a person meets them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import TEMPLATE, Run


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = tmp_path / "Brain"
    shutil.copytree(TEMPLATE, root)
    return root


def test_index_says_what_changed(run: Run, vault: Path) -> None:
    assert run("index", cwd=vault).out.startswith("+ 11 added  (")
    (vault / "Home2.md").write_text("---\na: [1\n---\nx")
    (vault / "Memories" / "Release checklist.md").rename(vault / "Memories" / "Checklist.md")
    (vault / "Memories" / "The Friday release.md").unlink()
    done = run("index", cwd=vault)
    assert done.out.splitlines()[0].startswith("+ 1 added  > 1 moved  - 1 removed  ! 1 problems  (")
    assert "! Home2.md: Line" in done.out
    assert run("index", cwd=vault).out.startswith("Nothing changed.  (")
    report = run("index", "--rebuild", "--json", cwd=vault).json
    assert len(report["added"]) == 11
    assert report["revision"] == 1


def test_search_without_any_preparation(run: Run, vault: Path) -> None:
    done = run("search", "grace", "period", cwd=vault)
    assert done.code == 0, done.err
    assert "Refresh tokens rotate every 24 hours" in done.out
    assert "found, keyword" in done.err
    (vault / "new.md").write_text("A zebra crossed.")
    found = run("search", "zebras", "--json", cwd=vault).json
    assert [memory["path"] for memory in found["memories"]] == ["new.md"]
    assert found["total_matched"] == 1
    assert found["memories"][0]["content"] == "A zebra crossed."
    everything = run("search", "zebras", "--json", "--detail", "full", cwd=vault).json
    assert everything["memories"][0]["snippet"] == "A **zebra** crossed."
    assert run("search", "xylophone", cwd=vault).code == 1


def test_search_by_meaning(run: Run, vault: Path) -> None:
    assert run("index", "--vectors", cwd=vault).code == 0
    asked = ("search", "how do we ship a new version", "--strategy", "vector", "--json")
    found = run(*asked, "--explain", cwd=vault).json
    assert found["memories"][0]["title"] == "Release checklist"
    assert found["memories"][0]["trace"]["lanes"][0]["name"] == "vector"
    assert found["strategy_used"] == "vector"
    status = run("status", "--json", cwd=vault).json
    assert status["index"]["pending"] == 0
    assert status["index"]["model"] == "granite-embedding-30m-english"


def test_who_embeds_much_makes_the_model_ready_for_all(run: Run, vault: Path) -> None:
    for number in range(70):
        (vault / f"n{number}.md").write_text(f"Shelf {number} holds a jar.")
    asked = ("search", "where is the jar", "--strategy", "hybrid", "--json")
    assert run("index", "--vectors", cwd=vault).code == 0
    first = run(*asked, cwd=vault).json
    (made,) = (vault / ".vaultmem" / "index" / "models").glob("*/prepared/*/made.json")
    assert made.parent.joinpath("weights").stat().st_size > 1_000_000
    shutil.rmtree(made.parent.parent)
    again = run(*asked, cwd=vault).json
    assert [hit["path"] for hit in again["memories"]] == [hit["path"] for hit in first["memories"]]


def test_search_filters_and_bad_dates(run: Run, vault: Path) -> None:
    found = run("search", "auth", "--type", "entity", "--json", cwd=vault).json
    assert {memory["type"] for memory in found["memories"]} == {"entity"}
    done = run("search", "auth", "--type", "entity", "--explain", cwd=vault)
    assert "keyword: place 1" in done.out
    assert "type is entity; not forgotten" in done.err
    done = run("search", "x", "--after", "soon", cwd=vault)
    assert (done.code, "like 2026-01-31" in done.err) == (2, True)
    done = run("search", "x", "--after", "2026-02-01", "--before", "2026-01-01", cwd=vault)
    assert (done.code, "runs backwards" in done.err) == (2, True)
    assert run("search", "x", "--limit", "0", cwd=vault).code == 2


def test_status_for_a_person_and_a_program(run: Run, vault: Path) -> None:
    run("index", cwd=vault)
    done = run("status", cwd=vault)
    assert "Notes      11 indexed" in done.out
    assert "nobody follows the files" in done.out
    found = run("status", "--json", cwd=vault, env={"VAULTMEM_MODEL": "off"}).json
    assert found["index"]["model_state"] == "off"
    assert found["settings"]["model"] == {"value": "off", "origin": "$VAULTMEM_MODEL"}


def test_doctor_compares_index_and_files(run: Run, vault: Path) -> None:
    run("index", cwd=vault)
    assert run("doctor", cwd=vault).code == 0
    (vault / "new.md").write_text("x")
    assert run("doctor", cwd=vault).code == 0, "to be behind is nothing wrong"
    (vault / "Memories" / "The Friday release.md").unlink()
    problems = {(f["path"], f["problem"]) for f in run("doctor", "--json", cwd=vault).json}
    assert ("new.md", "index-behind") in problems
    assert ("Memories/The Friday release.md", "index-behind") in problems
    after = run("doctor", "--fix", "--json", cwd=vault).json
    assert "index-behind" not in {f["problem"] for f in after}


def test_an_emptied_vault_is_told(run: Run, vault: Path) -> None:
    run("index", cwd=vault)
    for folder in ("Memories", "Entities", "Sessions"):
        shutil.rmtree(vault / folder)
    done = run("index", cwd=vault)
    assert done.code == 1
    assert "index --rebuild" in done.err
    assert run("index", "--rebuild", cwd=vault).code == 0


def test_models(run: Run, vault: Path) -> None:
    listed = run("models", "list", "--json", cwd=vault).json
    assert {m["setting"] for m in listed} >= {"granite", "minilm", "multilingual"}
    done = run("models", "pull", "no/such-model", cwd=vault)
    assert done.code == 1
    assert "knows no model" in done.err
    (vault / "empty").mkdir()
    assert run("models", "import", "empty", cwd=vault).code == 2


def test_one_passage_without_a_vector_is_told_with_what_makes_it(run: Run) -> None:
    model = {"VAULTMEM_MODEL": ""}
    run("init", "Brain")
    run("add", "The bus stop is closed", "--vault", "Brain", env=model)
    asked = ["search", "bus", "--strategy", "hybrid", "--vault", "Brain"]
    done = run(*asked, env=model)
    assert "1 passage has no vector yet." in done.err and "index --vectors" in done.err
    assert run("index", "--vectors", "--vault", "Brain", env=model).code == 0
    assert "vector" not in run(*asked, env=model).err
