"""What a person told Obsidian to leave out is left out here too."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Open, make_store, snapshot
from tests.waiting import until
from vaultmem.errors import InvalidInput, NotFound
from vaultmem.storage.store import Store
from vaultmem.storage.vault_settings import obsidian_settings
from vaultmem.upkeep import doctor


def put(root: Path, path: str, text: Any = "text\n") -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text if isinstance(text, str) else json.dumps(text))


def notes(store: Store) -> list[str]:
    return sorted(store.walk().notes)


def messages(store: Store) -> list[str]:
    return [f"{f.path}: {f.message}" for f in doctor.examine_vault(store)]


# --- excluded files ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        (["Archive/"], ["Archives.md", "Diary/2026.md", "a.draft.md", "café/Ü.md"]),
        (["archive"], ["Diary/2026.md", "a.draft.md", "café/Ü.md"]),
        (["Archive/old.md"], ["Archive/new.md", "Archives.md", "Diary/2026.md", "a.draft.md", "café/Ü.md"]),
        (["CAFE\u0301/"], ["Archive/new.md", "Archive/old.md", "Archives.md", "Diary/2026.md", "a.draft.md"]),
        ([r"/\.draft\.md$/"], ["Archive/new.md", "Archive/old.md", "Archives.md", "Diary/2026.md", "café/Ü.md"]),
        (["/diary|^archive\\//", "caf"], ["Archives.md", "a.draft.md"]),
        (["", "  "], ["Archive/new.md", "Archive/old.md", "Archives.md", "Diary/2026.md", "a.draft.md", "café/Ü.md"]),
    ],
)  # fmt: skip
def test_excluded_files_are_no_memories(root: Path, filters: list[str], left: list[str]) -> None:
    for path in ("Archive/old.md", "Archive/new.md", "Archives.md", "Diary/2026.md", "café/Ü.md"):
        put(root, path)
    put(root, "a.draft.md")
    put(root, ".obsidian/app.json", {"userIgnoreFilters": filters})
    assert notes(make_store(root)) == left
    if len(left) < 6:
        assert len(notes(make_store(root, obsidian__exclude=False))) == 6


def test_agents_find_none_of_them_and_are_told_why(open_vault: Open, root: Path) -> None:
    put(root, "Archive/old.md", "The zanzibar treaty was signed.\n")
    put(root, "b.md", "See [[old]].\n")
    put(root, ".obsidian/app.json", {"userIgnoreFilters": ["Archive/"]})
    vault = open_vault()
    assert vault.recall("zanzibar treaty").memories == ()
    with pytest.raises(NotFound, match="Obsidian"):
        vault.update("Archive/old.md", append="more")
    assert not vault.get(["Archive/old.md"]).memories
    with pytest.raises(InvalidInput, match="Obsidian"):
        vault.parts.store.create("Archive/new.md", b"x")


def test_our_own_folders_stay_when_obsidian_hides_them_as_a_whole(root: Path) -> None:
    for path in ("Memories/a.md", "Memories/Secret/b.md", "Sessions/s.md", "Old/c.md"):
        put(root, path)
    filters = ["Memories/", "/sessions/", "Memories/Secret/", "Old/"]
    put(root, ".obsidian/app.json", {"userIgnoreFilters": filters})
    assert notes(make_store(root)) == ["Memories/a.md", "Sessions/s.md"]


def test_a_pattern_without_an_end_holds_nobody_up(root: Path) -> None:
    for number in range(300):
        put(root, f"{'a' * 60}{number:03}.md")
    filters = [
        r"/^(?:a|aa)+\d{9}/",
        r"/^(a*)*(\w|aa)*\s\d/",
        "/[/",
        "/(a{9000}){9000}/",
        "/" + "x" * 5000 + "/",
    ]
    put(root, ".obsidian/app.json", {"userIgnoreFilters": [*filters, "/299/"]})
    store, begun = make_store(root), time.monotonic()
    assert len(notes(store)) == 299
    assert time.monotonic() - begun < 5
    told = [m for m in messages(store) if m.startswith(".obsidian/app.json: ")]
    assert len(told) >= 3 and any("take too long" in m for m in told), told


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "\xff", '{"userIgnoreFilters": 5}', '{"userIgnoreFilters": [["a"]]}', "[" * 9000],
)
def test_broken_settings_are_told_and_hinder_nothing(root: Path, text: str) -> None:
    put(root, "a.md")
    put(root, "Archive/b.md")
    put(root, ".obsidian/app.json", text)
    store = make_store(root)
    assert notes(store) == ["Archive/b.md", "a.md"]
    (told,) = messages(store)
    assert told.startswith(".obsidian/app.json: "), told


def test_what_was_read_last_holds_while_the_file_is_broken(root: Path) -> None:
    put(root, "a.md")
    put(root, "Archive/b.md")
    put(root, ".obsidian/app.json", {"userIgnoreFilters": ["Archive/"]})
    store = make_store(root)
    assert notes(store) == ["a.md"]
    put(root, ".obsidian/app.json", "<<<<<<< HEAD")
    assert notes(store) == ["a.md"]
    (root / ".obsidian" / "app.json").unlink()
    assert notes(store) == ["Archive/b.md", "a.md"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_in_the_place_of_settings_is_not_waited_for(root: Path) -> None:
    put(root, "a.md")
    (root / ".obsidian").mkdir()
    os.mkfifo(root / ".obsidian" / "app.json")
    assert notes(make_store(root)) == ["a.md"]


def test_another_folder_of_settings(root: Path) -> None:
    put(root, "a.md")
    put(root, "Archive/b.md")
    put(root, ".obsidian-work/app.json", {"userIgnoreFilters": ["Archive/"]})
    assert notes(make_store(root)) == ["a.md"], "there is no other"
    put(root, ".obsidian/app.json", {})
    assert notes(make_store(root)) == ["Archive/b.md", "a.md"]
    assert notes(make_store(root, obsidian__folder=".obsidian-work")) == ["a.md"]


def test_a_server_follows_what_is_excluded(open_vault: Open, root: Path) -> None:
    put(root, "a.md", "wordone\n")
    put(root, "Archive/b.md", "wordtwo\n")
    put(root, ".obsidian/app.json", {"alwaysUpdateLinks": True})
    vault, other = open_vault(), open_vault()
    follower = vault.follower(lambda report: None)
    follower.start()
    try:
        until(lambda: follower.watcher and follower.watcher.mode == "native")
        until(lambda: len(vault.recall("wordtwo", strategy="keyword").memories) == 1)
        before = snapshot(root / "Archive")
        put(root, ".obsidian/app.json", {"userIgnoreFilters": ["Archive/"]})
        until(lambda: vault.status().index.notes == 1)
        for each in (vault, other):
            assert each.recall("wordtwo", strategy="keyword").memories == ()
        put(root, ".obsidian/app.json", {"userIgnoreFilters": []})
        until(lambda: len(other.recall("wordtwo", strategy="keyword").memories) == 1)
        assert snapshot(root / "Archive") == before
    finally:
        follower.stop()


def test_an_index_that_is_behind_shows_nothing_that_is_excluded_by_now(
    open_vault: Open, root: Path
) -> None:
    put(root, "b.md", "wordtwo\n")
    first = open_vault()
    assert first.recall("wordtwo", strategy="keyword").memories
    first.close()
    put(root, ".obsidian/app.json", {"userIgnoreFilters": ["b.md"]})
    vault = open_vault()
    vault.parts.store.paths.look_anew()
    with pytest.raises(NotFound):
        vault.parts.store.note("b.md")
    assert vault.recall("wordtwo", strategy="keyword").memories == ()
    assert vault.status().index.notes == 0, "all notes are excluded, and the vault is not empty"


# --- templates -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "settings"),
    [
        ("templates.json", {"folder": "Meta/Forms"}),
        ("plugins/templater-obsidian/data.json", {"templates_folder": "meta/forms/"}),
        ("daily-notes.json", {"template": "Meta/Forms/Day"}),
        ("plugins/periodic-notes/data.json", {"weekly": {"template": "Meta/Forms/Day.md"}}),
    ],
)
def test_templates_lie_where_obsidian_or_a_plugin_has_them(
    root: Path, file: str, settings: dict[str, Any]
) -> None:
    put(root, "Meta/Forms/Day.md")
    put(root, "Meta/Forms.md")
    put(root, f".obsidian/{file}", settings)
    assert notes(make_store(root)) == ["Meta/Forms.md"]


@pytest.mark.parametrize("folder", ["/", "", "../x", ".hidden", 5, None, ["a"], "a\0b"])
def test_no_folder_of_templates_takes_in_the_whole_vault(root: Path, folder: Any) -> None:
    put(root, "a.md")
    put(root, ".obsidian/templates.json", {"folder": folder})
    put(root, ".obsidian/plugins/templater-obsidian/data.json", {"templates_folder": folder})
    store = make_store(root)
    assert notes(store) == ["a.md"] and messages(store) == []


def test_a_folder_that_only_has_the_name_keeps_a_person_s_own_notes(root: Path) -> None:
    put(root, "Templates/Letters I like.md", "# Letters\n\nThe one to the bank was good.\n")
    put(root, "Templates/Meeting.md", "# {{title}}\n\n{{date:YYYY-MM-DD}}\n")
    put(root, "Templates/Person.md", "<% tp.file.title %>\n")
    store = make_store(root)
    assert notes(store) == ["Templates/Letters I like.md"]
    with pytest.raises(InvalidInput, match="templates folder"):
        store.create("Templates/New.md", b"x")
    put(root, "Templates/Meeting.md", "Plain now.\n")
    assert notes(store) == ["Templates/Letters I like.md", "Templates/Meeting.md"]
    put(root, ".obsidian/templates.json", {"folder": "Templates"})
    assert notes(store) == []


def test_every_pattern_of_ours_is_bounded() -> None:
    begun = time.monotonic()
    for raw in (b"{{date" * 90_000, b"<%" * 200_000, b"{{ " * 200_000, b"<%" + b"x" * 400_000):
        obsidian_settings.is_template_text(raw)
    assert time.monotonic() - begun < 2
