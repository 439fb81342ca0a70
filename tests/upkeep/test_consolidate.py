"""Reflection: fewer and lasting memories, drawn from what happened, and nothing lost or doubled."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import nursery
from tests.conftest import Open, clean_environment, snapshot
from vaultmem import errors
from vaultmem.base import words
from vaultmem.embedding.embedder import load_embedder
from vaultmem.notes import journal, sentences
from vaultmem.notes.note import parse
from vaultmem.surfaces import render
from vaultmem.upkeep.consolidation import clusters, drafts
from vaultmem.vault import Vault

AUTH = (
    "TokenValidator counts the grace period of refresh tokens from issue, not from first use.",
    "Decided to count the refresh token grace period from first use.",
    "Refresh tokens rotate every 24 hours and the old one stays valid for a grace period.",
)
GRPC = (
    "Migrated the billing service to gRPC.",
    "The orders service now talks gRPC to the billing service instead of REST.",
    "All calls between services should use gRPC with deadlines.",
)
ERRORS = (
    "User asked to wrap errors with context instead of swallowing them.",
    "User again prefers explicit errors over a bare except.",
    "Replaced a bare except with specific errors in the importer, as the user likes.",
)
OTHER = ("The weekly meeting moves to Thursday.", "Installed Python 3.12 on the build machine.")


def tell(vault: Vault, *texts: str, project: str = "Atlas", **more: object) -> list[str]:
    """Log and store in turn, as agents do; answers with the ids."""
    ids = []
    for number, text in enumerate(texts):
        if number % 2:
            ids.append(vault.log(text, tags=more.get("tags", ())).observation_id)  # type: ignore[arg-type]
        else:
            made = vault.remember(text, type="episodic", scope="project", project=project, **more)  # type: ignore[arg-type]
            ids.append(made.memory_id)
    return ids


def links(note: object) -> list[str]:
    return list(note.strings("derived_from"))  # type: ignore[attr-defined]


@pytest.fixture(params=["off", ""], ids=["words", "model"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if not request.param and load_embedder("", tmp_path / "models") is None:
        pytest.fail("the default model is missing")
    return str(request.param)


def test_what_is_alike_becomes_one_memory(open_vault: Open, root: Path, model: str) -> None:
    vault = open_vault({"model": model}, session="s", client="claude-code", default_project="Atlas")
    auth = tell(vault, *AUTH, tags=["auth"], importance=0.7)
    grpc = tell(vault, *GRPC)
    tell(vault, *OTHER)
    before = snapshot(root / "Memories") | snapshot(root / "Sessions")
    done = vault.consolidate()
    assert done.session_stats.memories_analyzed == 8
    assert done.session_stats.consolidated_into == 2
    groups = {frozenset(made.derived_from): made for made in done.consolidated_memories}
    assert set(groups) == {frozenset(auth), frozenset(grpc)}
    made = groups[frozenset(auth)]
    note = parse((root / made.path).read_bytes(), made.path)
    assert made.path.startswith("Memories/Atlas/")
    assert (note.id, note.get("type"), note.get("scope")) == (made.id, "semantic", "project")
    assert (note.get("project"), note.get("session")) == ("Atlas", "s")
    assert (note.get("tags"), note.get("importance")) == (["auth"], 0.7)
    assert note.body == made.content + "\n"
    for line in made.content.replace("- ", "").split("\n"):
        assert not line or any(line in text for text in AUTH), line
    assert any(link.endswith(f"#^{auth[1]}]]") for link in links(note))
    after = snapshot(root)
    for name, stamp in before.items():  # no source was touched
        assert stamp in after.values(), name
    found = vault.recall("refresh token grace period", type="semantic").memories
    assert found[0].id == made.id
    assert {memory.id for memory in found} <= {each.id for each in done.consolidated_memories}


def test_five_hundred_observations_are_drawn_together_at_once(vault: Vault, root: Path) -> None:
    path = vault.log("The first of many.", session_id="s").path
    now = dt.datetime.now(dt.UTC)
    lines = [
        journal.journal_entry(
            now, "note", f"Topic{n % 20} was part{n % 7} again.", (), journal.new_entry_id(now)
        )
        for n in range(499)
    ]
    file = root / path
    file.write_text(file.read_text() + "\n".join(lines) + "\n")
    vault.index_now()
    done = vault.consolidate(session_id="s").session_stats
    assert (done.memories_analyzed, done.consolidated_into) == (500, 20)
    assert vault.consolidate(session_id="s").consolidated_memories == ()


def test_a_second_run_makes_nothing_twice(open_vault: Open, root: Path) -> None:
    vault = open_vault(session="s", default_project="Atlas")
    tell(vault, *AUTH, *GRPC)
    assert vault.consolidate().session_stats.consolidated_into == 2
    before = snapshot(root / "Memories")
    assert vault.consolidate().consolidated_memories == ()
    assert open_vault().consolidate().consolidated_memories == ()
    assert snapshot(root / "Memories") == before


def test_a_rejected_memory_does_not_come_again(open_vault: Open) -> None:
    vault = open_vault(session="s", default_project="Atlas")
    tell(vault, *AUTH)
    (made,) = vault.consolidate().consolidated_memories
    vault.forget(made.id or "", reason="no use")
    assert vault.consolidate().consolidated_memories == ()


def test_what_is_new_is_drawn_together_without_what_was(open_vault: Open) -> None:
    vault = open_vault(session="s", default_project="Atlas")
    first = tell(vault, *AUTH)
    vault.consolidate()
    second = tell(vault, *GRPC)
    (made,) = vault.consolidate().consolidated_memories
    assert set(made.derived_from) == set(second)
    assert not set(first) & set(second)


def test_a_dry_run_writes_nothing_and_shows_the_notes(open_vault: Open, root: Path) -> None:
    vault = open_vault(session="s", default_project="Atlas")
    tell(vault, *AUTH, tags=["auth"])
    before = snapshot(root / "Memories") | snapshot(root / "Sessions")
    planned = vault.consolidate(dry_run=True)
    assert snapshot(root / "Memories") | snapshot(root / "Sessions") == before
    assert planned.diff is not None
    (plan,) = planned.consolidated_memories
    assert f"+++ {plan.path}\n" in planned.diff
    assert "+type: semantic\n" in planned.diff
    assert "id" not in render.plain_json(planned)["consolidated_memories"][0]
    done = vault.consolidate()
    (made,) = done.consolidated_memories
    assert (made.path, made.content, made.derived_from) == (
        plan.path,
        plan.content,
        plan.derived_from,
    )
    assert done.session_stats == planned.session_stats
    written = (root / made.path).read_text().split("\n")
    shown = [line[1:] for line in planned.diff.split("\n")[3:] if line]
    assert [line for line in written if not line.startswith(("id:", "created:"))] == [*shown, ""]
    reader = open_vault(session="s", read_only=True)
    assert reader.consolidate(dry_run=True).consolidated_memories == ()
    with pytest.raises(errors.ReadOnly):
        reader.consolidate()


def test_the_result_as_the_contract_has_it(open_vault: Open) -> None:
    vault = open_vault(session="s", default_project="Atlas")
    tell(vault, *AUTH)
    plain = render.plain_json(vault.consolidate())
    (made,) = plain["consolidated_memories"]
    assert {"id", "content", "type", "derived_from", "scope", "path"} <= set(made)
    assert plain["session_stats"] == {
        "memories_analyzed": 3,
        "consolidated_into": 1,
        "patterns_found": 0,
    }
    assert plain["patterns_detected"] == []


def test_only_the_named_session_is_drawn_together(open_vault: Open) -> None:
    one, two = (open_vault(session=name, default_project="Atlas") for name in ("one", "two"))
    mine, theirs = tell(one, *AUTH), tell(two, *GRPC)
    done = one.consolidate()
    assert [set(made.derived_from) for made in done.consolidated_memories] == [set(mine)]
    done = open_vault().consolidate(session_id="TWO")
    assert [set(made.derived_from) for made in done.consolidated_memories] == [set(theirs)]
    with pytest.raises(errors.NotFound, match="no session 'three'"):
        one.consolidate(session_id="three")
    with pytest.raises(errors.InvalidInput, match="strategy"):
        one.consolidate(strategy="magic")


def test_without_a_session_all_that_is_new(open_vault: Open) -> None:
    ids = [
        tell(open_vault(session=name, default_project="Atlas"), text)[0]
        for name, text in zip("abc", AUTH, strict=True)
    ]
    (made,) = open_vault().consolidate(strategy="summarize").consolidated_memories
    assert (set(made.derived_from), made.type) == (set(ids), "semantic")


def test_projects_and_users_are_never_mixed(open_vault: Open) -> None:
    for project in ("Atlas", "Other"):
        vault = open_vault(session="s")
        for text in AUTH:
            vault.remember(text, type="episodic", scope="project", project=project)
    for text in AUTH:
        open_vault(session="s", user="you").remember(text, type="episodic", scope="user")
    for text in AUTH:
        open_vault(session="s").remember(text, type="episodic", scope="user")
    done = open_vault().consolidate().consolidated_memories
    assert sorted((made.scope, made.project or "", len(made.derived_from)) for made in done) == [
        ("project", "Atlas", 3),
        ("project", "Other", 3),
        ("user", "", 3),
        ("user", "", 3),
    ]
    pinned = open_vault(user="me", project="Atlas")
    assert pinned.consolidate(dry_run=True).session_stats.memories_analyzed == 6


def test_passing_memories_can_become_lasting_ones(open_vault: Open, root: Path) -> None:
    vault = open_vault(session="s", default_project="Atlas")
    for text in AUTH:
        vault.remember(text, type="episodic", scope="session")
    (made,) = vault.consolidate().consolidated_memories
    assert (made.scope, made.path.startswith("Memories/")) == ("user", True)
    vault.end_session()
    assert (root / made.path).exists()


HABIT = (
    "Ran the tests with -n 2 before committing, as always.",
    "Runs the tests with -n 2 before committing.",
    "Again: run the tests with -n 2 before each commit.",
)


def test_patterns_are_sentences_that_recur_in_several_sessions(open_vault: Open) -> None:
    ids = []
    for name, text in zip("abc", HABIT, strict=True):
        vault = open_vault(session=name, default_project="Atlas")
        ids.append(vault.log(text, tags=["tests"]).observation_id)
        vault.log(f"Only in {name}", tags=[f"only-{name}"])
    done = vault.consolidate(strategy="extract_patterns", dry_run=True)
    (found,) = done.patterns_detected
    assert (found.pattern, found.frequency, found.sessions) == (HABIT[1], 3, 3)
    assert (found.suggested_scope, found.seen_in) == ("project", ("a", "b", "c"))
    assert list(found.derived_from) == ids
    (plan,) = done.consolidated_memories
    assert (plan.type, plan.content, list(plan.derived_from)) == ("procedural", HABIT[1], ids)
    assert plan.title == "Runs the tests with -n 2 before committing"
    assert vault.consolidate(strategy="summarize", dry_run=True).patterns_detected == ()
    (made,) = vault.consolidate().consolidated_memories  # full: both
    assert made.type == "procedural"
    assert vault.consolidate().consolidated_memories == ()


def test_twice_is_no_pattern_and_neither_is_a_word_or_a_tag(open_vault: Open) -> None:
    for name, text in zip("ab", HABIT, strict=False):
        open_vault(session=name).log(text)
    for name, text in zip(
        "abc", ("opens at nine", "was painted green", "has no door"), strict=True
    ):
        open_vault(session=name).log(f"The gateway {text}.", tags=["gateway"])
    done = open_vault().consolidate(strategy="extract_patterns", dry_run=True)
    assert (done.patterns_detected, done.consolidated_memories) == ((), ())


def test_a_pattern_may_be_said_in_other_words(open_vault: Open) -> None:
    for name, text in zip("abc", ERRORS, strict=True):
        vault = open_vault({"model": ""}, session=name, default_project="Atlas")
        vault.log(text)
    (found,) = vault.consolidate(strategy="extract_patterns", dry_run=True).patterns_detected
    assert found.pattern in ERRORS
    assert found.sessions == 3


def test_nothing_private_or_hidden_is_quoted(open_vault: Open, root: Path) -> None:
    for number, text in enumerate(AUTH):
        (root / f"Event {number}.md").write_text(
            f"---\ntype: episodic\n---\n{text} <private>SECRET tokens</private> %%HIDDEN tokens%% tokens\n"
        )
    vault = open_vault()
    (made,) = vault.consolidate().consolidated_memories
    assert "SECRET" not in made.content
    assert "HIDDEN" not in made.content
    text = (root / made.path).read_text()
    assert "SECRET" not in text


def test_awkward_sources_are_linked_or_left(open_vault: Open, root: Path) -> None:
    for folder in ("A", "B"):
        (root / folder).mkdir()
        (root / folder / "Same.md").write_text(
            f"---\ntype: episodic\n---\n{AUTH[0]} In {folder}.\n"
        )
    (root / "Odd #name.md").write_text(f"---\ntype: episodic\n---\n{AUTH[1]}\n")
    vault = open_vault()
    (made,) = vault.consolidate().consolidated_memories
    note = parse((root / made.path).read_bytes(), made.path)
    assert links(note) == ["[[A/Same]]", "[[B/Same]]"]
    assert vault.consolidate().consolidated_memories == ()


def test_a_persons_own_notes_are_neither_sources_nor_patterns(open_vault: Open, root: Path) -> None:
    for number, text in enumerate(AUTH):
        created = f"created: 2026-01-0{number + 1}"
        (root / f"Mine {number}.md").write_text(f"---\n{created}\ntags: [own]\n---\n{text}\n")
    before = snapshot(root)
    done = open_vault().consolidate()
    assert (done.consolidated_memories, done.patterns_detected) == ((), ())
    assert {name: stamp for name, stamp in snapshot(root).items() if name in before} == before


@pytest.mark.parametrize(
    "text",
    [
        "---\nkey: value\n---",
        "```\ncode\n```",
        "%% comment %%",
        "# Heading",
        "- [ ] todo tokens ^abc",
        "| a | b |",
    ],
)
def test_any_text_can_be_a_source(open_vault: Open, root: Path, text: str) -> None:
    vault = open_vault(session="s")
    for number in range(2):
        vault.remember(
            f"{text}\nThe tokens of the gateway number {number}",
            type="episodic",
            title=f"T{number}",
        )
        vault.log(f"{text}\nThe tokens of the gateway")
    for made in vault.consolidate().consolidated_memories:
        note = parse((root / made.path).read_bytes(), made.path)
        assert note.problems == ()
        assert note.get("type") == "semantic"


WORKER = """
import sys
from vaultmem.vault import Vault
with Vault.open(sys.argv[1], {"model": "off"}) as vault:
    print(vault.consolidate().session_stats.consolidated_into)
"""


def test_two_processes_draw_together_once(open_vault: Open, root: Path) -> None:
    vault = open_vault(session="s", default_project="Atlas")
    tell(vault, *AUTH, *GRPC)
    workers = [
        nursery.Popen(
            [sys.executable, "-c", WORKER, str(root)],
            env=clean_environment(root),
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    counts = sorted(int(worker.communicate(timeout=120)[0]) for worker in workers)
    assert counts == [0, 2]


# --- themes ----------------------------------------------------------------------------------


def test_groups_are_made_by_average_and_not_by_chains() -> None:
    likeness = np.full((4, 4), 0.1, np.float32)
    for i, j in ((0, 1), (1, 2), (2, 3)):  # each step is small, the ends are far apart
        likeness[i, j] = likeness[j, i] = 0.6
    assert clusters.clusters(likeness, 0.5) == [[0, 1], [2, 3]]
    assert clusters.clusters(likeness, 0.7) == [[0], [1], [2], [3]]
    assert clusters.clusters(np.zeros((0, 0), np.float32), 0.5) == []


@given(st.integers(1, 12), st.floats(-0.5, 1.0), st.integers(0, 1000))
def test_every_text_is_in_one_group(size: int, threshold: float, seed: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(size, 3)).astype(np.float32)
    groups = clusters.clusters(clusters.likeness_of_vectors(vectors), threshold)
    assert sorted(i for group in groups for i in group) == list(range(size))


def test_unrelated_texts_stay_apart() -> None:
    assert max(map(len, clusters.clusters(clusters.likeness_of_words(OTHER), 0.1))) == 1


@given(st.text(max_size=200))
def test_sentences_are_cut_from_the_text(text: str) -> None:
    for sentence in sentences.sentences(text):
        for word in sentence.split():
            assert word in text


def test_main_sentences_say_it_once() -> None:
    said = sentences.main_sentences([*AUTH, AUTH[0], "# " + AUTH[0]], 5, 900)
    assert sorted(said) == sorted(set(said))
    assert set(said) <= set(AUTH)
    assert sentences.main_sentences(AUTH, 1, 900) == sentences.main_sentences(AUTH, 5, 900)[:1]
    assert sum(map(len, sentences.main_sentences(AUTH, 5, 100))) <= 100
    assert sentences.main_sentences(["", "```\ncode only\n```"], 5, 900) == []


def test_words_of_scripts_without_blanks() -> None:
    assert words.topic_words("网关令牌 tokens and the Gateways") == [
        "网关",
        "关令",
        "令牌",
        "token",
        "gateway",
    ]


def test_a_draft_is_no_wider_than_its_sources() -> None:
    def source(scope: str, project: str = "") -> drafts.SourceMemory:
        return drafts.SourceMemory("1", AUTH[0], "episodic", scope, project, "", "s")

    for sources, scope in (
        ((source("user"), source("user")), "user"),
        ((source("user"), source("project")), "project"),
        ((source("session", "Atlas"), source("session", "Atlas")), "project"),
        ((source("session"), source("session")), "user"),
    ):
        made = drafts.draft(sources)
        assert made is not None
        assert made.scope == scope


def test_a_summary_of_nothing_is_nothing() -> None:
    assert journal.summary_of_entries([]) == ""
