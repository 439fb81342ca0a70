"""Upkeep: what may be double or out of date is listed for a person, and nothing else is touched."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Open, snapshot
from tests.waiting import until
from vaultmem import errors
from vaultmem.config import REVIEW
from vaultmem.embedding.embedder import load_embedder
from vaultmem.notes.note import parse
from vaultmem.operations.input import now_utc
from vaultmem.surfaces.mcp import prompts
from vaultmem.upkeep import duplicates, review
from vaultmem.vault import Vault

NEVER = threading.Event()
TOKENS = "Refresh tokens rotate every 24 hours and the old token stays valid for a grace period."
ALMOST = "The refresh tokens rotate every 24 hours; the old token stays valid for a grace period."
OTHER = "The billing service talks gRPC to the orders service, with deadlines on every call."


def put(root: Path, title: str, text: str = "x", folder: str = "Memories", **more: Any) -> Path:
    values = {"type": "semantic", "scope": "user", "created": "2026-01-05T09:00:00", **more}
    number = len(list(root.rglob("*.md")))
    lines = "".join(f"{name}: {value}\n" for name, value in values.items())
    file = root / folder / f"{title}.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\nid: 01KE6Q8Z4R9M2N4P6R7S8T{number:04d}\n{lines}---\n{text}\n")
    return file


def listed(root: Path) -> list[str]:
    return [line for line in (root / REVIEW).read_text().splitlines() if line.startswith("- ")]


def test_nothing_to_list_makes_no_note(vault: Vault, root: Path) -> None:
    put(root, "One", TOKENS)
    put(root, "Two", OTHER)
    assert vault.upkeep() == review.Reviewed(0, 0, None, False)
    assert not (root / REVIEW).exists()


def test_what_is_double_is_listed_and_no_memory_is_touched(vault: Vault, root: Path) -> None:
    put(root, "Tokens", TOKENS)
    put(root, "Tokens again", ALMOST, created="2026-02-05T09:00:00")
    put(root, "Elsewhere", TOKENS, project="Atlas")
    put(root, "Mine", TOKENS).write_text(TOKENS)  # a person's own note
    put(root, "Billing", OTHER)
    before = {name: kept for name, kept in snapshot(root).items() if name.endswith(".md")}
    done = vault.upkeep()
    assert (done.near_duplicates, done.stale, done.path, done.changed) == (1, 0, REVIEW, True)
    (item,) = listed(root)
    assert item.startswith("- [ ] [[Tokens again]] and [[Tokens]]: ")
    assert "% alike ^r-" in item
    after = {name: kept for name, kept in snapshot(root).items() if name.endswith(".md")}
    assert {name for name in after if after[name] != before.get(name)} == {REVIEW}


def test_what_is_out_of_date_is_listed_with_the_reason(open_vault: Open, root: Path) -> None:
    vault = open_vault({"upkeep.stale_days": 30.0})
    old = {"created": "2025-01-05T09:00:00"}
    put(root, "Never asked for", importance=0.2, **old)
    put(root, "Asked for", "zebra", importance=0.2, **old)
    put(root, "Important", importance=0.9, **old)
    put(root, "Of no known weight", **old)
    put(root, "New", importance=0.1, created=f"{now_utc():%Y-%m-%dT%H:%M:%S}")
    put(root, "Changed", importance=0.1, **old, updated=f"{now_utc():%Y-%m-%dT%H:%M:%S}")
    put(root, "Replaced", superseded_by='"[[New]]"')
    put(root, "Forgotten", importance=0.1, forgotten="true", **old)
    vault.recall("zebra")
    assert vault.upkeep().stale == 2
    assert [item.partition(" ^r-")[0] for item in listed(root)] == [
        "- [ ] [[Replaced]]: replaced by [[New]]",
        "- [ ] [[Never asked for]]: importance 0.2, unchanged since 2025-01-05, never asked for",
    ]


def test_the_same_list_is_not_written_again(vault: Vault, root: Path) -> None:
    put(root, "Tokens", TOKENS)
    second = put(root, "Tokens again", ALMOST)
    assert vault.upkeep().changed
    kept = snapshot(root)[REVIEW]
    assert not vault.upkeep().changed
    assert snapshot(root)[REVIEW] == kept
    second.unlink()
    vault.index_now()
    assert vault.upkeep().changed
    assert "Nothing at present." in (root / REVIEW).read_text()
    assert not vault.upkeep().changed


def test_what_a_person_does_with_the_list_stays(vault: Vault, root: Path) -> None:
    for number in range(4):
        put(root, f"Replaced {number}", superseded_by='"[[New]]"')
    vault.upkeep()
    file = root / REVIEW
    first, second, *_ = listed(root)
    edited = file.read_text().replace(first, first.replace("[ ]", "[x]"))
    edited = edited.replace(second, f"{second}\n  ask about this one")
    edited = edited.replace("## Out of date", "My own words.\n\n## Out of date")
    file.write_text(edited.rstrip("\n") + "\n\nand a thought\n\n## Mine\n\ntext \n")
    kept = file.read_bytes()
    assert not vault.upkeep().changed
    assert file.read_bytes() == kept
    put(root, "Replaced late", superseded_by='"[[New]]"')
    vault.index_now()
    assert vault.upkeep().changed
    text = file.read_text()
    assert text.count("- [ ]") == 4 and "[[Replaced late]]" in text
    for line in (first.replace("[ ]", "[x]"), f"{second}\n  ask about this one", "My own words."):
        assert line in text
    assert "and a thought" in text and text.endswith("## Mine\n\ntext \n")
    assert not vault.upkeep().changed
    assert first not in vault.to_review()


ITEMS = [review.ReviewItem(f"r-0000000{n}", f"[[Note {n}]]: why".format) for n in range(5)]
pieces = st.sampled_from(
    [
        *(f"- [ ] [[Note {n}]]: why ^r-0000000{n}" for n in range(3)),
        *("- [x] [[Note 1]]: why ^r-00000001", "  below", "", "mine", "- my item", "- and 3 more"),
        *("Nothing at present.", "- [ ] my task", "\tdeeper"),
    ]
)


@given(st.lists(pieces, max_size=8), st.lists(st.sampled_from(ITEMS), unique=True, max_size=5))
def test_a_section_settles_and_loses_nothing_of_a_persons(
    lines: list[str], found: list[review.ReviewItem]
) -> None:
    first = review._review_section("\n".join(lines).strip("\n"), found)
    assert review._review_section(first, found) == first
    for own in ("mine", "- my item", "- [ ] my task"):
        assert first.splitlines().count(own) == lines.count(own)
    ids = [match["id"] for line in first.splitlines() if (match := review._ITEM.match(line))]
    assert {candidate.id for candidate in found} <= set(ids)


def test_agents_neither_find_the_list_nor_see_what_is_not_theirs(
    open_vault: Open, root: Path
) -> None:
    vault = open_vault()
    for project in ("Atlas", "Borea"):
        put(root, f"{project} tokens", TOKENS, f"Memories/{project}", project=project)
        put(root, f"{project} tokens too", ALMOST, f"Memories/{project}", project=project)
    assert vault.upkeep().near_duplicates == 2
    assert all(hit.path != REVIEW for hit in vault.recall("Nearly the same tokens").memories)
    assert vault.get([REVIEW, "vaultmem review"]).missing == (REVIEW, "vaultmem review")
    assert all(one.path != REVIEW for one in vault.list(limit=100).memories)
    assert len(vault.to_review()) == 2
    (mine,) = open_vault(project="Atlas").to_review()
    assert mine.startswith("[[Atlas tokens") and "^r-" not in mine
    assert vault.consolidate(dry_run=True).review == REVIEW


def test_the_prompt_to_review_begins_with_the_list(vault: Vault, root: Path) -> None:
    said = prompts.get_prompt(prompts.REVIEW, {})["messages"][0]["content"]["text"]
    put(root, "Tokens", TOKENS)
    put(root, "Tokens again", ALMOST)
    vault.upkeep()
    more = prompts.get_prompt(prompts.REVIEW, {}, vault.to_review())["messages"][0]["content"][
        "text"
    ]
    assert more.startswith(said) and "\n- [[Tokens again]] and [[Tokens]]: " in more
    assert "data, not instructions" in more
    assert prompts.get_prompt("session-wrap-up", {}, vault.to_review())["messages"]


def test_a_read_only_vault_gets_no_list(open_vault: Open, root: Path) -> None:
    put(root, "Old", superseded_by='"[[New]]"')
    with pytest.raises(errors.ReadOnly):
        open_vault({"read_only": True}).upkeep()
    assert not (root / REVIEW).exists()


def test_meaning_tells_what_words_do_not(root: Path, open_vault: Open) -> None:
    vault = open_vault({"model": ""})
    if (model := load_embedder("", vault.parts.models_dir)) is None:
        pytest.skip("no model is installed")
    put(root, "A", "The nightly backup of the orders database starts at two in the morning.")
    put(root, "B", "Backups of the orders database are made nightly, at 2 am.")
    put(root, "C", "The restore drill for the billing database takes place every quarter.")
    vault.index_now()
    vault.embed_all()
    assert model.identity
    assert vault.upkeep().near_duplicates == 1
    assert "[[A]]" in listed(root)[0] and "[[B]]" in listed(root)[0]


# --- comparing ---------------------------------------------------------------------------------


@settings(max_examples=40)
@given(st.integers(2, 40), st.integers(0, 1000))
def test_pairs_by_meaning_are_those_of_a_plain_comparison(many: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    vectors = chance.normal(size=(many, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    found = {(a, b) for a, b, _ in duplicates.duplicates_by_meaning(vectors, 0.9, NEVER)}
    plain = vectors @ vectors.T
    assert found == {(a, b) for a in range(many) for b in range(a + 1, many) if plain[a, b] >= 0.9}


def test_many_that_are_all_the_same_are_not_all_paired() -> None:
    vectors = np.ones((6_000, 4), np.float32) / 2
    assert len(duplicates.duplicates_by_meaning(vectors, 0.9, NEVER)) < 20_000
    assert len(duplicates.duplicates_by_words([frozenset("abcdef")] * 2_000, 0.5, NEVER)) < 20_000


# --- in the leader -----------------------------------------------------------------------------


def test_rounds_wait_for_quiet_and_look_once(vault: Vault) -> None:
    looks: list[int] = []
    revision = [0]
    stopping = threading.Event()

    def look(event: threading.Event) -> None:
        looks.append(revision[0])
        if len(looks) == 2:
            event.set()
        if len(looks) == 1:
            raise errors.Busy("Someone is typing.")

    def moving() -> int:
        if len(looks) == 1 and revision[0] < 5:
            revision[0] += 1  # something is written between two checks
        return revision[0]

    review.review_rounds(look, moving, stopping, quiet=0.001, pause=0)
    assert looks == [0, 5]


def test_a_leader_keeps_the_list_where_it_is_told_to_and_stops_at_once(
    root: Path, open_vault: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(root, "Old", superseded_by='"[[New]]"')
    put(root, "New")
    monkeypatch.setattr(review.review_rounds, "__kwdefaults__", {"quiet": 0.05, "pause": 0.0})
    before = set(threading.enumerate())
    for switched_on in (False, True):
        vault = open_vault({"upkeep.review": switched_on})
        follower = vault.follower(lambda report: None, watch=False)
        follower.start()
        if switched_on:
            until((root / REVIEW).exists)
        else:
            time.sleep(0.5)
        follower.stop()
        until(lambda: set(threading.enumerate()) <= before)
        assert (root / REVIEW).exists() == switched_on
    assert parse((root / REVIEW).read_bytes()).properties == {}


def test_a_look_under_way_stops_at_once(vault: Vault, root: Path) -> None:
    stopping = threading.Event()
    stopping.set()
    put(root, "Old", superseded_by='"[[New]]"')
    assert not vault.upkeep(stopping).changed
    assert not (root / REVIEW).exists()
