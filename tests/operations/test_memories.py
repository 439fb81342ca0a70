"""The memory operations on a real vault: what they write, what they answer, what they refuse."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Open, snapshot
from vaultmem import errors
from vaultmem.notes.note import parse
from vaultmem.surfaces import render
from vaultmem.vault import Vault


def test_a_memory_is_a_note_that_a_person_can_read(vault: Vault, root: Path) -> None:
    made = vault.remember(
        "Refresh tokens rotate every 24 hours.",
        scope="project",
        project="Atlas",
        tags=["auth", "#auth/tokens"],
        importance=0.8,
        source={"tool": "Edit", "file": "auth.py", "conversation_turn": 12},
        related_entities=[
            {"name": "Keychain", "type": "service", "relationship": "depends on"},
            {"name": "AuthService", "type": "component", "relationship": "about"},
        ],
    )
    assert made.path == "Memories/Atlas/Refresh tokens rotate every 24 hours.md"
    text = (root / made.path).read_text()
    assert text == (
        f"---\nid: {made.memory_id}\ntype: semantic\nscope: project\nproject: Atlas\n"
        "importance: 0.8\ntags:\n  - auth\n  - auth/tokens\nabout:\n"
        '  - "[[AuthService]]"\nsource: tool=Edit; file=auth.py; turn=12\n'
        f"created: {parse(text.encode()).string('created')}\n"
        'depends_on:\n  - "[[Keychain]]"\n---\nRefresh tokens rotate every 24 hours.\n'
    )
    assert (made.graph_edges_created, made.searchable) == (2, "text")
    assert parse((root / "Entities/Keychain.md").read_bytes()).string("kind") == "service"
    (found,) = vault.get([made.memory_id]).memories
    assert found.content == "Refresh tokens rotate every 24 hours."
    assert found.source == {"tool": "Edit", "file": "auth.py", "conversation_turn": 12}
    assert found.about == ("AuthService",)


@settings(max_examples=40)
@given(content=st.text(min_size=1, max_size=200))
def test_what_was_given_comes_back(tmp_path_factory: pytest.TempPathFactory, content: str) -> None:
    root = tmp_path_factory.mktemp("vault")
    (root / ".vaultmem").mkdir()
    with Vault.open(root, {"model": "off"}) as vault:
        try:
            made = vault.remember(content)
        except errors.InvalidInput:
            assert not list(root.rglob("*.md"))
            return
        assert vault.get([made.memory_id]).memories[0].content == content
        assert vault.get([made.path]).memories[0].id == made.memory_id


@pytest.mark.parametrize(
    "content",
    [
        "---\nid: forged\n---\nfrontmatter inside",
        "---\n",
        "# Heading\n\n- a list\r\n- with CRLF",
        "ends with blank lines\n\n\n",
        "  leading blanks",
        "[[A link]] #tag %%comment%% `code`",
        "一つの記憶。二つ目の文。",
    ],
)
def test_awkward_texts_come_back_byte_for_byte(vault: Vault, content: str) -> None:
    made = vault.remember(content)
    (found,) = vault.get([made.memory_id]).memories
    assert found.content == content
    assert found.id == made.memory_id != "forged"


def test_t3_private_text_reaches_neither_file_nor_index(vault: Vault, root: Path) -> None:
    made = vault.remember("The key is <private>hunter2</private> and public.", title="Keys")
    assert "hunter2" not in (root / made.path).read_text()
    assert not vault.recall("hunter2", strategy="keyword").memories
    with pytest.raises(errors.InvalidInput, match="nothing to remember"):
        vault.remember("<PRIVATE>all of it</PRIVATE>")
    vault.update(made.memory_id, metadata={"hint": "a <private>secret</private> hint"})
    everything = b"".join(raw for raw, _ in snapshot(root).values())
    assert b"secret" not in everything and b"hunter2" not in everything


def test_private_passages_of_a_person_are_not_shown_and_not_deleted(
    vault: Vault, root: Path
) -> None:
    (root / "Diary.md").write_text("Public.\n<private>mine</private>\n")
    (found,) = vault.get(["Diary"]).memories
    assert "mine" not in found.content and "Public" in found.content
    with pytest.raises(errors.InvalidInput, match="private passages"):
        vault.update("Diary", content="new")
    assert "mine" in (root / "Diary.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"content": ""}, "nothing to remember"),
        ({"content": "x" * 1_000_001}, "not a file"),
        ({"content": "colour \x1b[31m"}, "control character U\\+001B"),
        ({"content": "half \ud800"}, "half a character"),
        ({"content": "x", "type": "wrong"}, "type must be one of episodic"),
        ({"content": "x", "scope": "world"}, "scope must be one of session"),
        ({"content": "x", "importance": 1.5}, "importance must be a number from 0 to 1"),
        ({"content": "x", "importance": True}, "importance must be a number"),
        ({"content": "x", "tags": ["123"]}, "cannot be a tag"),
        ({"content": "x", "title": "a/b"}, "looks like a path"),
        ({"content": "x", "title": "..\\up"}, "looks like a path"),
        ({"content": "x", "scope": "session"}, "needs a session"),
        ({"content": "x", "key": "k" * 600}, "key has 600 characters, and 500"),
        ({"content": "x", "related_entities": [{"name": " "}]}, "An entity needs a name"),
    ],
)
def test_bad_input_is_refused_and_nothing_written(
    vault: Vault, root: Path, arguments: dict[str, object], said: str
) -> None:
    with pytest.raises(errors.InvalidInput, match=said):
        vault.remember(**arguments)  # type: ignore[arg-type]
    assert not list(root.rglob("*.md"))


def test_n1_names_clash_nowhere_in_the_vault(vault: Vault, root: Path) -> None:
    (root / "Deep" / "er").mkdir(parents=True)
    (root / "Deep/er/token RULES.md").write_text("mine\n")
    first = vault.remember("a", title="Token rules")
    second = vault.remember("b", title="token: rules?")
    third = vault.remember("c", title="TOKEN RULES", scope="project", project="Atlas")
    assert [m.title for m in (first, second, third)] == [
        "Token rules 2",
        "token rules 3",
        "TOKEN RULES 4",
    ]
    assert vault.get(["token: rules?"]).memories[0].content == "b"


def test_a_key_updates_its_memory(open_vault: Open, root: Path) -> None:
    vault = open_vault()
    first = vault.remember("one", key="lang", tags=["a"])
    again = vault.remember("two", key="lang", tags=["b"], importance=0.9)
    assert (again.memory_id, again.path, again.created) == (first.memory_id, first.path, False)
    (found,) = vault.get(["lang"]).memories
    assert (found.content, found.tags, found.importance) == ("two", ("a", "b"), 0.9)
    other = vault.remember("three", key="lang", scope="project", project="Atlas")
    assert other.memory_id != first.memory_id
    mine = open_vault(user="me").remember("four", key="lang")
    assert mine.memory_id not in (first.memory_id, other.memory_id)
    assert vault.restore(first.memory_id).action == "update"
    assert vault.get([first.memory_id]).memories[0].content == "one"


def test_one_new_key_from_many_threads_is_one_note(open_vault: Open, root: Path) -> None:
    vaults = [open_vault() for _ in range(4)]
    vaults[0].recall("warm", strategy="keyword")
    threads = [
        threading.Thread(target=vault.remember, args=(f"text {i}",), kwargs={"key": "same"})
        for i, vault in enumerate(vaults)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list((root / "Memories").rglob("*.md"))) == 1


def test_similar_memories_are_named_and_never_merged(vault: Vault) -> None:
    first = vault.remember("Deploys go out every Tuesday at noon after the standup.")
    second = vault.remember("Deploys go out every Tuesday at noon, after the standup!")
    assert [s.id for s in second.similar] == [first.memory_id]
    assert second.memory_id != first.memory_id
    assert not vault.remember("The cat sleeps on the keyboard.").similar


def test_a_new_memory_is_found_by_meaning_at_once_and_is_not_similar_to_itself(
    open_vault: Open,
) -> None:
    vault = open_vault({"model": ""})
    assert vault.load_model()
    for text in ("Herons hunt at dawn.", "The linker needs gold.", "Invoices go out on Monday."):
        made = vault.remember(text)
        assert (made.searchable, made.similar) == ("now", ())
        found = vault.recall(text, strategy="vector").memories
        assert found[0].id == made.memory_id
    again = vault.remember("Herons go hunting at dawn.")
    assert [each.path for each in again.similar] == ["Memories/Herons hunt at dawn.md"]
    assert vault.remember("A long one. " * 800).searchable == "text"


# --- changing --------------------------------------------------------------------------------


def test_an_update_changes_what_was_given_and_nothing_else(vault: Vault, root: Path) -> None:
    note = root / "Mine.md"
    note.write_bytes(b"---\nzip: 00123 # keep\nTags: [a, b]\n---\nBody\n")
    done = vault.update("Mine", importance=0.7, add_tags=["c"], metadata={"status": "done"})
    assert done.updated_fields == ("importance", "tags", "metadata")
    assert b"zip: 00123 # keep\n" in note.read_bytes()
    assert b"updated" not in note.read_bytes()  # a person's note is not dated
    again = vault.update("Mine", importance=0.7)
    assert (again.updated_fields, again.version) == ((), done.version)
    vault.update("Mine", metadata={"status": None}, remove_tags=["a"])
    assert parse(note.read_bytes()).tags == ("b", "c")
    assert b"status" not in note.read_bytes()


def test_entities_are_linked_and_unlinked(vault: Vault, root: Path) -> None:
    made = vault.remember("About the gateway.")
    ref = {"name": "Gateway", "type": "service", "relationship": "uses"}
    vault.update(made.memory_id, add_entities=[ref])
    assert '  - "[[Gateway]]"' in (root / made.path).read_text()
    vault.update(made.memory_id, remove_entities=["gateway"])
    assert "Gateway" not in (root / made.path).read_text()


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"id": "x"}, "vaultmem's own"),
        ({"Forgotten": True}, "vaultmem's own"),
        ({"nested": {"a": 1}}, "cannot hold an object"),
        ({"lists": [[1]]}, "cannot hold an object"),
    ],
)
def test_metadata_cannot_break_a_note(
    vault: Vault, root: Path, metadata: dict[str, object], said: str
) -> None:
    made = vault.remember("text")
    before = (root / made.path).read_bytes()
    with pytest.raises(errors.InvalidInput, match=said):
        vault.update(made.memory_id, metadata=metadata)
    with pytest.raises(errors.InvalidInput, match="Nothing to change"):
        vault.update(made.memory_id)
    assert (root / made.path).read_bytes() == before


def test_a_stale_version_is_a_conflict_with_the_current_text(vault: Vault, root: Path) -> None:
    made = vault.remember("first text")
    file = root / made.path
    file.write_text(file.read_text() + "\nA person added this.\n")
    for change in (
        lambda: vault.update(made.memory_id, content="agent", expected_version=made.version),
        lambda: vault.tag(made.memory_id, add=["x"], expected_version=made.version),
        lambda: vault.forget(made.memory_id, expected_version=made.version),
        lambda: vault.promote(made.memory_id, "user", expected_version=made.version),
    ):
        if "promote" in change.__code__.co_names:
            made2 = vault.remember("p", scope="project")
            file2 = root / made2.path
            file2.write_text(file2.read_text() + "more\n")
            with pytest.raises(errors.Conflict):
                vault.promote(made2.memory_id, "user", expected_version=made2.version)
            continue
        with pytest.raises(errors.Conflict) as caught:
            change()
        assert "A person added this." in caught.value.text
        assert caught.value.version == vault.get([made.memory_id]).memories[0].version
    assert "A person added this." in file.read_text()


def test_forgetting_is_soft_and_taken_back(vault: Vault, root: Path) -> None:
    made = vault.remember("The gateway listens on port 9471.")
    gone = vault.forget(made.memory_id, reason="moved")
    assert (gone.status, gone.reason) == ("forgotten", "moved")
    assert not vault.recall("gateway port", strategy="keyword").memories
    hits = vault.recall("gateway port", strategy="keyword", include_forgotten=True).memories
    assert [(hit.id, hit.forgotten) for hit in hits] == [(made.memory_id, True)]
    before = (root / made.path).read_bytes()
    assert vault.forget(made.memory_id, reason="again").reason == "moved"
    assert (root / made.path).read_bytes() == before
    assert vault.restore(made.memory_id).action == "forget"
    assert vault.recall("gateway port", strategy="keyword").memories


def test_a_person_can_untick_forgotten(vault: Vault, root: Path) -> None:
    (root / "Old.md").write_text("---\nforgotten: true\n---\nold thing\n")
    assert not vault.recall("old thing", strategy="keyword").memories
    assert vault.restore("Old").action == "forget"
    assert (root / "Old.md").read_text() == "---\n---\nold thing\n"


def test_every_version_can_be_brought_back(vault: Vault, root: Path) -> None:
    made = vault.remember("version one")
    file = root / made.path
    texts = [file.read_bytes()]
    for i in range(4):
        vault.update(made.memory_id, content=f"version {i + 2}")
        texts.append(file.read_bytes())
    listed = vault.history(made.memory_id).versions
    assert [v.current for v in listed] == [True, False, False, False, False]
    for text, version in zip(texts[-2::-1], listed[1:], strict=True):
        assert vault.version_text(made.memory_id, version.version).encode() == text
    vault.restore(made.memory_id, listed[-1].version)
    assert file.read_bytes() == texts[0]
    vault.restore(made.memory_id)  # undo the undo
    assert file.read_bytes() == texts[-1]
    with pytest.raises(errors.NotFound, match="no version 'ffff'"):
        vault.restore(made.memory_id, "ffff")


def test_history_follows_a_renamed_note(vault: Vault, root: Path) -> None:
    made = vault.remember("first")
    vault.update(made.memory_id, content="second")
    os.rename(root / made.path, root / "Elsewhere.md")
    vault.recall("x", strategy="keyword")
    vault.parts._looked = 0.0
    assert vault.restore(made.memory_id).path == "Elsewhere.md"
    assert (root / "Elsewhere.md").read_text().endswith("first\n")


def test_session_memories_are_volatile_until_promoted(open_vault: Open, root: Path) -> None:
    vault = open_vault(session="s-1")
    made = vault.remember("The build is red because of the linker.", scope="session")
    assert made.path.startswith(".vaultmem/local/volatile/s-1/")
    assert [m.id for m in vault.recall("linker", strategy="keyword").memories] == [made.memory_id]
    assert not open_vault(session="s-2").recall("linker", strategy="keyword").memories
    with pytest.raises(errors.NotFound):
        open_vault(session="s-2").source(made.memory_id)
    done = vault.promote(made.memory_id, "project", reason="recurs")
    assert (done.previous_scope, done.new_scope, done.memory_id) == (
        "session",
        "project",
        made.memory_id,
    )
    assert done.path == "Memories/The build is red because of the linker.md"
    note = parse((root / done.path).read_bytes())
    assert (note.string("scope"), note.string("session")) == ("project", "")
    assert not list((root / ".vaultmem/local/volatile").rglob("*.md"))
    others = open_vault(session="s-2").recall("linker", strategy="keyword").memories
    assert [m.id for m in others] == [made.memory_id]
    with pytest.raises(errors.InvalidInput, match="has scope project already"):
        vault.promote(made.memory_id, "project")


def test_promotion_to_the_project_is_to_its_own(open_vault: Open, root: Path) -> None:
    vault = open_vault(session="s-1", default_project="Borealis")
    made = vault.remember("The build is red.", scope="session", project="Atlas")
    done = vault.promote(made.memory_id, "project")
    assert done.path == "Memories/Atlas/The build is red.md"
    assert parse((root / done.path).read_bytes()).string("project") == "Atlas"


def test_promotion_to_the_user_leaves_the_project(open_vault: Open, root: Path) -> None:
    vault = open_vault(project="Atlas")
    made = vault.remember("Prefer small commits.", scope="project")
    beside = open_vault(project="Borealis")
    assert not beside.recall("commits", strategy="keyword").memories
    vault.promote(made.memory_id, "user")
    assert [m.id for m in beside.recall("commits", strategy="keyword").memories] == [made.memory_id]
    assert (root / made.path).exists()  # agents never move a note


# --- namespaces ------------------------------------------------------------------------------


def test_no_argument_crosses_a_namespace(open_vault: Open, root: Path) -> None:
    theirs = open_vault(user="ana", project="Atlas")
    secret = theirs.remember("The launch code is quokka.", scope="project", key="code", tags=["q"])
    shared = open_vault().remember("Everyone knows about the quokka enclosure.")
    mine = open_vault(user="ben", project="Borealis", session="s")
    for strategy in ("keyword", "hybrid"):
        found = mine.recall("quokka", strategy=strategy, project="Atlas").memories
        assert not found
        assert [m.id for m in mine.recall("quokka", strategy=strategy).memories] == [
            shared.memory_id
        ]
    for ref in (secret.memory_id, secret.path, secret.title, "code"):
        assert mine.get([ref]).missing == (ref,)
        for call in (
            lambda ref=ref: mine.source(ref),
            lambda ref=ref: mine.update(ref, content="mine now"),
            lambda ref=ref: mine.tag(ref, add=["x"]),
            lambda ref=ref: mine.forget(ref),
            lambda ref=ref: mine.restore(ref),
            lambda ref=ref: mine.history(ref),
            lambda ref=ref: mine.promote(ref, "user"),
        ):
            with pytest.raises(errors.NotFound) as caught:
                call()
            assert "launch code" not in str(caught.value).replace(ref, "")
    listed = [m.id for m in mine.list().memories]
    assert listed == [shared.memory_id]
    assert mine.list(project="Atlas").total == 0
    assert "q" not in [t.tag for t in mine.tags().tags]
    assert mine.prune("project", project="Atlas", dry_run=True).pruned_count == 0
    assert "quokka" not in mine.context("quokka launch code").context_block.replace(
        "quokka enclosure", ""
    )
    assert mine.status().counts.total == 1
    with pytest.raises(errors.InvalidInput, match="bound to the project"):
        mine.remember("x", scope="project", project="Atlas")
    assert "quokka" in (root / secret.path).read_text()


def test_a_pruned_note_of_another_namespace_cannot_be_restored(open_vault: Open) -> None:
    theirs = open_vault(user="ana")
    made = theirs.remember("secret", key="k")
    theirs.prune("user", key="k")
    with pytest.raises(errors.NotFound):
        open_vault(user="ben").restore(made.memory_id)
    assert theirs.restore(made.memory_id).path == made.path


def test_read_only_is_refused_underneath(open_vault: Open, root: Path) -> None:
    made = open_vault().remember("text", tags=["t"])
    before = snapshot(root / "Memories")
    for vault in (open_vault(read_only=True), open_vault({"read_only": True})):
        for call in (
            lambda v=vault: v.remember("x"),
            lambda v=vault: v.update(made.memory_id, content="x"),
            lambda v=vault: v.tag(made.memory_id, add=["x"]),
            lambda v=vault: v.forget(made.memory_id),
            lambda v=vault: v.promote(made.memory_id, "user"),
            lambda v=vault: v.restore(made.memory_id),
            lambda v=vault: v.prune("user", tags=["t"]),
            lambda v=vault: v.rewrite(made.memory_id, "x", made.version),
            lambda v=vault: v.assert_fact("A", "is", "B"),
            lambda v=vault: v.start_session(),
            lambda v=vault: v.log("x", session_id="s"),
            lambda v=vault: v.end_session(session_id="s"),
            lambda v=vault: v.consolidate(session_id="s"),
        ):
            with pytest.raises(errors.ReadOnly):
                call()
        assert vault.recall("text", strategy="keyword").memories
    assert snapshot(root / "Memories") == before


# --- clearing up -----------------------------------------------------------------------------


def test_pruning_touches_only_what_agents_wrote(vault: Vault, root: Path) -> None:
    (root / "Human.md").write_text("---\ntags: [old]\n---\nmine\n")
    kept = vault.remember("keep", tags=["old", "keep"])
    gone = vault.remember("go", tags=["old", "stale"])
    for refused in ({}, {"dry_run": True}):
        with pytest.raises(errors.InvalidInput, match="is refused; narrow it"):
            vault.prune("user", **refused)
    plan = vault.prune("user", tags=["old", "stale"], dry_run=True)
    assert ([p.id for p in plan.pruned], (root / gone.path).exists()) == ([gone.memory_id], True)
    done = vault.prune("user", tags=["old", "stale"])
    assert done.pruned_count == 1 and not (root / gone.path).exists()
    assert (root / ".trash").is_dir() and (root / kept.path).exists()
    assert not vault.recall("go", strategy="keyword").memories
    back = vault.restore(gone.memory_id)
    assert (back.path, back.action) == (gone.path, "prune")
    assert not list((root / ".trash").iterdir())
    assert vault.prune("user", older_than="1d").pruned_count == 0
    assert vault.prune("user", older_than="2999-01-01").pruned_count == 2
    assert (root / "Human.md").exists()
    with pytest.raises(errors.InvalidInput, match="older_than must be"):
        vault.prune("user", older_than="yesterday")


def test_lists_are_paged_ordered_and_counted(vault: Vault) -> None:
    for i in range(5):
        vault.remember(f"note number {i}", title=f"N{i}", importance=i / 5, tags=["n"])
    first = vault.list(order="title", limit=2)
    assert ([m.title for m in first.memories], first.total, first.next_offset) == (
        ["N0", "N1"],
        5,
        2,
    )
    last = vault.list(order="title", limit=2, offset=4)
    assert ([m.title for m in last.memories], last.next_offset) == (["N4"], None)
    assert [m.title for m in vault.list(order="importance", limit=1).memories] == ["N4"]
    assert vault.list(tag="n").total == 5 and vault.list(tag="m").total == 0
    assert [(t.tag, t.count) for t in vault.tags().tags] == [("n", 5)]
    with pytest.raises(errors.InvalidInput, match="order must be one of"):
        vault.list(order="random")


# --- answers ---------------------------------------------------------------------------------


def test_a_recall_says_what_it_found_and_how(vault: Vault) -> None:
    vault.remember("Access tokens live for ten minutes.", tags=["auth"], importance=0.9)
    answer = render.plain_json(vault.recall("how long do tokens live", strategy="keyword"))
    (hit,) = answer["memories"]
    assert {"id", "title", "path", "content", "type", "scope", "importance", "tags"} <= hit.keys()
    assert {"created_at", "relevance_score", "access_count", "why"} <= hit.keys()
    assert hit["created_at"].endswith("Z") and hit["access_count"] == 0
    assert answer["strategy_used"] == "keyword" and answer["total_matched"] == 1
    assert answer["index"]["revision"] >= 1
    again = vault.recall("tokens", strategy="keyword").memories[0]
    assert again.access_count == 1


def test_a_hybrid_question_without_a_model_says_so(vault: Vault) -> None:
    vault.remember("Access tokens live for ten minutes.")
    answer = vault.recall("tokens")
    assert answer.strategy_used == "keyword" and len(answer.memories) == 1
    assert any(w.startswith("embedding_failed") for w in answer.warnings)


def test_an_unknown_reference_names_what_is_near(vault: Vault) -> None:
    vault.remember("text", title="Release checklist")
    with pytest.raises(errors.NotFound, match="Near it are: Release checklist"):
        vault.source("Release checklst")
    with pytest.raises(errors.InvalidInput, match="Name a memory"):
        vault.source("  ")
    for outside in ("../up.md", "/etc/passwd.md"):
        with pytest.raises(errors.OutsideVault):
            vault.source(outside)


def test_an_ambiguous_title_is_never_guessed(vault: Vault, root: Path) -> None:
    for folder in ("A", "B"):
        (root / folder).mkdir()
        (root / folder / "Same.md").write_text("x")
    with pytest.raises(errors.InvalidInput, match=r"A/Same\.md, B/Same\.md"):
        vault.source("Same")
    assert vault.source("B/Same").path == "B/Same.md"


# --- degrading -------------------------------------------------------------------------------


def test_without_an_index_the_files_are_looked_through(open_vault: Open, root: Path) -> None:
    made = open_vault().remember("Access tokens live for ten minutes.", tags=["auth"])
    open_vault().remember("A cake recipe.", tags=["food"])
    hidden = open_vault(user="ana").remember("Her tokens.")
    index = root / ".vaultmem/index"
    for file in sorted(index.rglob("*"), reverse=True):
        file.unlink() if file.is_file() else file.rmdir()
    index.rmdir()
    index.write_text("a file where the folder should be")
    vault = open_vault(user="ben")
    answer = vault.recall("tokens", tags=["auth"])
    assert [m.id for m in answer.memories] == [made.memory_id]
    assert answer.strategy_used == "scan"
    assert any(w.startswith("partial_results") for w in answer.warnings)
    assert vault.get([made.memory_id]).memories[0].content.startswith("Access")
    assert vault.get([hidden.memory_id]).missing
    late = vault.remember("Stored while the index is broken.")
    assert late.searchable == "soon" and late.warnings
    assert (root / late.path).exists()
    index.unlink()
    assert [m.id for m in open_vault().recall("broken").memories] == [late.memory_id]


def test_an_observation_is_recalled_as_a_memory_of_its_own(open_vault: Open) -> None:
    vault = open_vault(session="s-9")
    noted = vault.log("Sign gateway tokens with RS256\nso that it needs no secret", type="decision")
    (hit,) = vault.recall("RS256 gateway", strategy="keyword").memories
    assert (hit.id, hit.block, hit.type) == (noted.observation_id, noted.observation_id, "episodic")
    assert hit.content == "Sign gateway tokens with RS256\nso that it needs no secret"
    (got,) = vault.get([hit.id]).memories
    assert (got.content, got.type, got.kind) == (hit.content, "episodic", "decision")


def test_an_explained_answer_names_its_filters(vault: Vault) -> None:
    vault.remember("Tokens rotate daily", tags=["auth"], type="procedural")
    found = vault.recall(
        "tokens", type="procedural", tags=["auth"], after="2020-01-01", explain=True
    )
    assert found.trace is not None and found.trace.filters == (
        "type is procedural",
        "tag is auth",
        "made from 2020-01-01 00:00 UTC",
        "not forgotten",
    )
    trace = found.memories[0].trace
    assert trace is not None and trace.lanes and trace.moved is None
    assert 0 < trace.tokens == found.trace.tokens
    assert vault.recall("tokens").trace is None and vault.recall("tokens").memories[0].trace is None
