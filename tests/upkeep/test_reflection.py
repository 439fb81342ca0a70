"""Sixty memories of ten sessions, as agents leave them: what agrees is drawn together, what does not
is shown, and nothing is lost or proposed twice."""

from __future__ import annotations

import datetime as dt
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Open, snapshot
from vaultmem import errors
from vaultmem.config import REVIEW
from vaultmem.notes import sentences
from vaultmem.notes.note import parse
from vaultmem.upkeep.consolidation import drafts
from vaultmem.upkeep.consolidation.comparison import comparisons_by_home
from vaultmem.vault import Vault

# e an event, s and p lasting memories, v one of the session alone, l an observation.
SESSIONS = (
    "e Refresh tokens rotate every 24 hours; the old token stays valid for five minutes.",
    "l Ran the tests with -n 2 before committing, as always on this machine.",
    "e The staging database runs PostgreSQL 14 on port 5432.",
    "s Deploys go out on Tuesdays at 10:00 after the stand-up.",
    "l The gateway verifies tokens with RS256.",
    "v The user prefers short commit messages in the imperative.",
    "",
    "l Runs the tests with -n 2 before committing.",
    "s The refresh tokens are rotated every 24 hours, the old token remains valid for 5 minutes.",
    "s Use npm for the web client.",
    "e The importer times out when the CSV has more than 50,000 rows.",
    "s Anna is the on-call lead for payments.",
    "",
    "l Again: run the tests with -n 2 before each commit.",
    "s The API rate limit is 100 requests per minute.",
    "s Dark mode is enabled by default.",
    "l Updated the changelog before the release.",
    "v The user prefers commit messages in the imperative.",
    "",
    "e The staging database runs PostgreSQL 16 on port 5432.",
    "s Use pnpm for the web client.",
    "s Deploys go out on Thursdays at 10:00 after the stand-up.",
    "e Marta wants error messages that say what to do next.",
    "l Updated the changelog before the release of 2.4.",
    "",
    "s The API rate limit is 250 requests per minute.",
    "e Error messages should say what to do next, Marta said in review.",
    "s Dark mode is no longer enabled by default.",
    "l Before the release the changelog was updated.",
    "",
    "s Bruno is the on-call lead for payments.",
    "s The web client is built with Vite.",
    "s The web client gets built with Vite.",
    "e The gateway returned 502 for ten minutes because the certificate had expired.",
    "",
    "e Certificate of the gateway expired again; the renewal job had no permission to write.",
    "l Renewed the gateway certificate by hand.",
    "s Backups of the orders database are made nightly at 02:00.",
    "",
    "e The renewal job of the gateway certificate now runs as root.",
    "s Logs are kept for 30 days.",
    "l Investigated slow queries on the orders table; an index on customer_id was missing.",
    "",
    "e Added the index on customer_id of the orders table; slow queries are gone.",
    "s Logs are kept for 30 days in Loki.",
    "",
    "s The mobile app supports Android 9 and newer.",
    "s Lunch on Fridays is at the Italian place.",
)
CONTRADICTIONS = {
    ("PostgreSQL 16", "PostgreSQL 14"),
    ("Thursdays", "Tuesdays"),
    ("pnpm", "npm"),
    ("Bruno", "Anna"),
    ("250 requests", "100 requests"),
    ("no longer enabled", "enabled"),
}
TYPES = {"e": "episodic", "s": "semantic", "p": "procedural"}


def fill(open_vault: Open, lines: tuple[str, ...] = SESSIONS, **flags: str) -> Vault:
    number = 0
    vault = open_vault(flags, session="s0", default_project="Atlas")
    for line in lines:
        how, _, text = line.partition(" ")
        if not how:
            number += 1
            vault = open_vault(flags, session=f"s{number}", default_project="Atlas")
        elif how == "l":
            vault.log(text)
        elif how == "v":
            vault.remember(text, type="episodic", scope="session")
        else:
            vault.remember(text, type=TYPES[how], scope="project", project="Atlas")
    return open_vault(flags)


def told(vault: Vault) -> set[tuple[str, str]]:
    found = vault.consolidate(dry_run=True).contradictions
    return {(each.newer.says, each.older.says) for each in found}


def notes(root: Path) -> dict[str, bytes]:
    return {name: kept[0] for name, kept in snapshot(root).items() if name.endswith(".md")}


@pytest.mark.parametrize("model", ["off", ""], ids=["words", "model"])
def test_a_plan_that_a_person_can_agree_with(open_vault: Open, root: Path, model: str) -> None:
    vault = fill(open_vault, model=model)
    plan = vault.consolidate(dry_run=True)
    assert {(c.newer.says, c.older.says) for c in plan.contradictions} == CONTRADICTIONS
    for each in plan.contradictions:
        assert each.newer.statement != each.older.statement
        assert each.proposal == f'superseded_by: "{each.newer.link}" in {each.older.path}'
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", each.older.date)
    contested = {i for c in plan.contradictions for i in (c.newer.id, c.older.id)}
    for memory in plan.consolidated_memories:
        assert not contested & {*memory.derived_from, memory.id}, memory.title
    titles = {memory.title for memory in plan.consolidated_memories}
    assert {
        "Runs the tests with -n 2 before committing",
        "Updated the changelog before the release",
        "Logs are kept for 30 days in Loki",
    } <= titles
    assert any("ertificate" in title for title in titles), titles
    assert all(len(title) <= 80 and not title.startswith("About") for title in titles)
    patterns = {p.pattern: p.sessions for p in plan.patterns_detected}
    assert patterns["Runs the tests with -n 2 before committing."] == 3
    assert patterns["Updated the changelog before the release."] == 3
    assert any("imperative" in memory.content for memory in plan.consolidated_memories)


def test_what_is_applied_is_what_was_shown_and_nothing_comes_twice(
    open_vault: Open, root: Path
) -> None:
    vault = fill(open_vault)
    before = notes(root)
    plan = vault.consolidate(dry_run=True)
    assert notes(root) == before
    done = vault.consolidate()
    assert [(m.path, m.content, m.derived_from) for m in done.consolidated_memories] == [
        (m.path, m.content, m.derived_from) for m in plan.consolidated_memories
    ]
    assert done.contradictions == plan.contradictions
    after = notes(root)
    again = vault.consolidate()
    assert again.consolidated_memories == ()
    assert again.diff is None and vault.consolidate(dry_run=True).diff == ""
    assert notes(root) == after
    assert open_vault(session="s1").consolidate().consolidated_memories == ()


def test_every_sentence_stands_in_a_source_and_every_source_keeps_its_text(
    open_vault: Open, root: Path
) -> None:
    vault = fill(open_vault)
    before = notes(root)
    texts = {parse(raw, path).id: parse(raw, path).body for path, raw in before.items()}
    done = vault.consolidate()
    for memory in done.consolidated_memories:
        note = parse((root / memory.path).read_bytes(), memory.path)
        assert memory.replaces or len(note.strings("derived_from")) == len(memory.derived_from)
        for sentence in sentences.sentences(note.body):
            assert any(sentence in " ".join(raw.decode().split()) for raw in before.values())
    after = notes(root)
    for path, raw in before.items():
        note = parse(after[path], path)
        assert note.body == texts[note.id]
        added = set(after[path].decode().splitlines()) - set(raw.decode().splitlines())
        assert all(re.match(r"superseded_by: |updated: ", line) for line in added)


def test_what_was_joined_can_be_taken_back_for_good(open_vault: Open, root: Path) -> None:
    vault = fill(
        open_vault, ("s Logs are kept for 30 days.", "s Logs are kept for 30 days in Loki.")
    )
    (joined,) = vault.consolidate().consolidated_memories
    (old,) = joined.replaces
    path = root / vault.get([old]).memories[0].path
    assert f'superseded_by: "[[{joined.title}]]"' in path.read_text()
    assert vault.get([old]).memories[0].superseded_by == joined.title
    vault.restore(old, vault.history(old).versions[-1].version)
    assert "superseded_by" not in path.read_text()
    assert vault.consolidate().consolidated_memories == ()
    assert "superseded_by" not in path.read_text()


# --- contradictions, and who settles them ------------------------------------------------------


TWO = (
    "s The API rate limit is 100 requests per minute.",
    "",
    "s The API rate limit is 250 requests per minute.",
)


def test_a_person_approves(open_vault: Open, root: Path) -> None:
    vault = fill(open_vault, TWO)
    (found,) = vault.consolidate().contradictions
    assert found.item in (root / REVIEW).read_text()
    (item,) = vault.review_items()
    assert (item.item, "“250 requests”" in item.text) == (found.item, True)
    done = vault.approve(found.item)
    assert done.path == found.older.path
    assert f'superseded_by: "{found.newer.link}"' in (root / done.path).read_text()
    assert vault.review_items() == ()
    again = vault.consolidate()
    assert (again.contradictions, again.consolidated_memories) == ((), ())
    with pytest.raises(errors.NotFound, match="nothing to approve"):
        vault.approve(found.item)
    vault.restore(found.older.id, vault.history(found.older.id).versions[-1].version)
    assert "superseded_by" not in (root / done.path).read_text()


@pytest.mark.parametrize("by_hand", [True, False])
def test_what_was_dismissed_does_not_come_back(open_vault: Open, root: Path, by_hand: bool) -> None:
    vault = fill(open_vault, TWO)
    (found,) = vault.consolidate().contradictions
    if by_hand:
        file = root / REVIEW
        file.write_text(file.read_text().replace("- [ ]", "- [x]"))
    else:
        assert vault.dismiss(found.item) == found.item
    kept = (root / REVIEW).read_bytes()
    assert vault.consolidate().contradictions == ()
    assert vault.review_items() == ()
    assert not vault.upkeep().changed
    assert (root / REVIEW).read_bytes() == kept
    with pytest.raises(errors.NotFound, match="no item"):
        vault.dismiss("r-00000000")


def test_the_newest_of_several_is_told_against_each(open_vault: Open) -> None:
    vault = fill(
        open_vault,
        tuple(f"s The project uses Python 3.{minor} everywhere." for minor in (10, 11, 12)),
    )
    assert told(vault) == {("Python 3.12", "Python 3.10"), ("Python 3.12", "Python 3.11")}


def test_a_later_memory_contradicts_what_was_drawn_together(open_vault: Open) -> None:
    vault = fill(
        open_vault,
        (
            "e Marta says the staging database runs PostgreSQL 14.",
            "e The staging database of Marta runs PostgreSQL 14, she says.",
        ),
    )
    (made,) = vault.consolidate().consolidated_memories
    fill(open_vault, ("e Marta says the staging database runs PostgreSQL 16.",))
    older = {each.older.id for each in vault.consolidate(dry_run=True).contradictions}
    assert made.id in older


def test_a_long_note_is_not_replaced_for_one_number(open_vault: Open) -> None:
    more = "It is written in Go. It has a page for errors. Marta looks after it. Logs go to Loki."
    vault = fill(
        open_vault,
        (f"s The API rate limit is 100 requests per minute. {more}", TWO[2]),
    )
    (found,) = vault.consolidate().contradictions
    assert found.proposal is None
    with pytest.raises(errors.InvalidInput, match="correct the sentence"):
        vault.approve(found.item)


def test_projects_do_not_contradict_each_other(open_vault: Open) -> None:
    vault = open_vault()
    for project, port in (("Atlas", 80), ("Borea", 443)):
        vault.remember(f"The gateway listens on port {port}.", scope="project", project=project)
    assert told(vault) == set()


def test_the_list_keeps_what_others_found(open_vault: Open, root: Path) -> None:
    fill(open_vault, TWO).consolidate()
    for text in ("The museum is open on Mondays.", "The museum is open on Tuesdays."):
        open_vault(session="z").remember(text, scope="user")
    assert len(open_vault(session="z").consolidate().contradictions) == 1
    assert len(open_vault().review_items()) == 2
    assert len(open_vault(project="Other").review_items()) == 1  # not what is another project's
    with pytest.raises(errors.NotFound):
        open_vault(project="Other").dismiss(
            next(i.item for i in open_vault().review_items() if "API" in i.text)
        )


# --- sessions ----------------------------------------------------------------------------------


def test_memories_of_sessions_that_ended_are_seen(open_vault: Open) -> None:
    for name in "ab":
        vault = open_vault(session=name)
        vault.remember("The user prefers short commit messages.", type="episodic", scope="session")
        vault.close()
    later = open_vault(session="c")
    later.log("The user prefers short commit messages, she said.")
    (found,) = later.consolidate(dry_run=True).patterns_detected
    assert set(found.seen_in) == {"a", "b", "c"}


def test_a_session_that_brought_nothing_looks_at_the_others(open_vault: Open) -> None:
    fill(open_vault, SESSIONS[:12])
    fresh = open_vault(session="fresh")
    assert fresh.consolidate(dry_run=True).consolidated_memories


# --- in general --------------------------------------------------------------------------------


WORDS = ("gateway", "token", "index", "order", "backup", "client")
lines = st.builds(
    lambda *words: f"The {' '.join(filter(None, words))}.",
    st.sampled_from(WORDS),
    st.sampled_from(WORDS),
    st.sampled_from(("is", "is not", "uses", "no longer has", "rotates every")),
    st.sampled_from(("2", "3", "enabled", "disabled", "Anna", "")),
    st.sampled_from(("hours", "at night", "for Marta", "")),
)


@settings(max_examples=15)
@given(st.lists(st.tuples(lines, st.sampled_from("elsv")), min_size=2, max_size=12))
def test_any_memories_settle_after_one_run(
    open_vault: Open, tmp_path_factory: pytest.TempPathFactory, given: list[tuple[str, str]]
) -> None:
    root = tmp_path_factory.mktemp("any")
    (root / ".vaultmem").mkdir()
    for number, (text, how) in enumerate(given):
        vault = open_vault(at=root, session=f"s{number % 4}")
        if how == "l":
            vault.log(text)
        else:
            scope = "session" if how == "v" else "user"
            vault.remember(text, type=TYPES.get(how, "episodic"), scope=scope)
    vault = open_vault(at=root)
    before = notes(root)
    done = vault.consolidate()
    after = notes(root)
    assert set(before) <= set(after)
    used = [i for m in done.consolidated_memories for i in m.derived_from]
    assert len(used) == len(set(used))
    contested = {i for c in done.contradictions for i in (c.newer.id, c.older.id)}
    assert not contested & set(used)
    for memory in done.consolidated_memories:
        assert len(memory.title.encode()) <= 120 and memory.title == memory.title.strip()
        for line in memory.content.splitlines():
            quoted = line.removeprefix("- ")
            assert any(quoted in raw.decode() for raw in before.values()), quoted
    again = vault.consolidate()
    assert (again.consolidated_memories, again.contradictions) == ((), done.contradictions)
    assert notes(root) == after


@given(st.lists(lines, min_size=1, max_size=6))
def test_titles_are_words_of_the_sources_that_end_at_a_word(texts: list[str]) -> None:
    sources = [
        drafts.SourceMemory(str(n), text, "episodic", "user", "", "", "s")
        for n, text in enumerate(texts)
    ]
    made = drafts.draft(sources)
    if made is not None:
        said = " ".join(texts).casefold().replace(".", " ").split()
        assert made.title and set(made.title.casefold().split()) <= set(said)


def test_ten_thousand_memories_are_compared_in_no_time() -> None:
    many = [
        drafts.SourceMemory(
            f"{n:05}",
            f"The {WORDS[n % 6]} number{n % 1500} of team{n % 1500} keeps {n % 4000 // 1500} copies.",
            "semantic",
            "project",
            f"P{n % 10}",
            "",
            f"s{n // 30}",
            moment=drafts.EPOCH + dt.timedelta(minutes=n),
        )
        for n in range(10_000)
    ]
    started = time.process_time()
    found = sum(len(compared.conflicts) for compared in comparisons_by_home(many))
    assert time.process_time() - started < 6  # some 0.5 on a machine that has nothing else to do
    assert found
