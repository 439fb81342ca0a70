"""Session journals: what was logged comes back as it was given, whatever it was."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import nursery
from tests.conftest import Open, clean_environment, snapshot
from vaultmem import errors
from vaultmem.notes import journal
from vaultmem.notes.markdown import markdown_outline
from vaultmem.notes.note import parse
from vaultmem.notes.tags import is_tag, tag_key, tag_of
from vaultmem.surfaces import render
from vaultmem.vault import Vault

NOW = dt.datetime(2026, 1, 5, 9, 12, 4, tzinfo=dt.UTC)
BLOCK = "01ke6pv1n07q2k6jnjp8ttqx9a"


# --- the text of an entry ------------------------------------------------------------------


def test_ordinary_text_looks_like_the_example_of_the_format() -> None:
    text = (
        "Sign gateway tokens with RS256\nBecause the gateway must verify without the private key."
    )
    assert journal.journal_entry(NOW, "decision", text, ("auth",), BLOCK) == (
        f"- **09:12:04** decision: Sign gateway tokens with RS256 #auth ^{BLOCK}\n"
        "  Because the gateway must verify without the private key."
    )


@pytest.mark.parametrize(
    "text",
    [
        "one line",
        "Tokens: see [[AuthService]] and `x = 1`, issue #42, 100 % sure, cost $5",
        "two\n\nparagraphs\n- and\n- a list",
        "code:\n```py\nx = 1\n```\nand more",
        "note: it begins like a type",
        "an #inline tag in the middle",
        "ends in C#",
    ],
)
def test_ordinary_text_is_not_put_into_a_code_block(text: str) -> None:
    lines = journal.journal_entry(NOW, "note", text, (), BLOCK)
    first, *more = text.split("\n")
    assert lines.split("\n") == [
        f"- **09:12:04** note: {first} ^{BLOCK}",
        *(f"  {line}" if line else "" for line in more),
    ]


@pytest.mark.parametrize(
    ("text", "info"),
    [
        ("the first line ends in a #tag", "text"),
        ("a comment %% that another entry could close", "text"),
        ("blank lines at the end\n\n", "text"),
        ("^block", "text"),
        ("Windows\r\nlines", "text crlf"),
        ("a lone \r return", "json"),
        ("mixed\r\nand\nlines", "json"),
        ("it holds ````` itself %%", "text"),
    ],
)
def test_text_that_markdown_would_change_stands_in_a_code_block(text: str, info: str) -> None:
    lines = journal.journal_entry(NOW, "note", text, ("a",), BLOCK)
    head, fence, *_, closing = lines.split("\n")
    assert head == f"- **09:12:04** note: #a ^{BLOCK}"
    assert fence.strip(" `") == info
    assert "\r" not in lines
    assert closing.strip() == fence.strip().removesuffix(info)
    (found,) = markdown_outline(f"## Log\n\n{lines}\n").observations
    assert (found.content, found.tags) == (text, ("a",))


PIECES = [
    *("# h", "## Log", "- x", "- **09:12:04** note: y ^abc", "```", "~~~", "````", "---", "==="),
    *("%%", "a%%b", "<!--", "-->", "$$", "$$x$$", "^block", f"a ^{BLOCK}", "#tag", "x #tag"),
    *("word: y", " ", "  ", "\t", "", "é 🎉", "`", "`a", "``", "|a|b|", "> q", "> ```", "1. a"),
    *("[[X]]", "- [cat] t", "- depends_on [[X]]", "<<<<<<< HEAD", "=======", ">>>>>>> x", "\\"),
    *("\\#t", "<div>", "</private>", "    code", "C:\\new", "\u2028", "\x85", "text crlf"),
    *("```text", "```json", '"a"', "plain words here"),
]
anything = st.characters(exclude_characters="\0", exclude_categories=("Cs", "Cc"))
lines = st.one_of(
    st.sampled_from(PIECES),
    st.text(alphabet=anything, max_size=12),
    st.builds(lambda a, b: a + b, st.sampled_from(PIECES), st.sampled_from(PIECES)),
)
breaks = st.sampled_from(["\n", "\n", "\n\n", "\r\n", "\r", ""])
texts = st.lists(st.tuples(lines, breaks), min_size=1, max_size=6).map(
    lambda pairs: "".join(line + end for line, end in pairs)
)
tags = st.lists(
    st.one_of(
        st.sampled_from(["auth", "a/b", "x-y", "🎉", "é"]), st.text(alphabet=anything, max_size=5)
    ),
    max_size=3,
).map(
    lambda names: tuple(
        {tag_key(name): name for name in names if is_tag(name) and tag_of(name) == name}.values()
    )
)
kinds = st.from_regex(r"[\w-]{1,10}", fullmatch=True)


@given(
    st.lists(st.tuples(texts, tags, kinds), min_size=1, max_size=4), st.sampled_from(["\n", "\r\n"])
)
def test_entries_come_back_byte_for_byte(
    given: list[tuple[str, tuple[str, ...], str]], newline: str
) -> None:
    made = [(text, tags, kind, journal.new_entry_id(NOW)) for text, tags, kind in given]
    note = parse(
        "---\ntype: session\n---\n## Log\n\n## Summary\n\nend\n".replace("\n", newline).encode()
    )
    for text, names, kind, block in made:
        raw = journal.append_journal_entry(
            note, journal.journal_entry(NOW, kind, text, names, block)
        )
        note = parse(raw)
    found = [(o.content, o.tags, o.category, o.block) for o in journal.journal_entries(note)]
    assert found == made
    assert [heading.text for heading in note.headings] == ["Log", "Summary"]
    assert journal.journal_summary(note) == "end"
    assert note.raw.count(b"\r\n") == (note.raw.count(b"\n") if newline == "\r\n" else 0)


@settings(max_examples=25)
@given(texts.filter(str.strip), tags, kinds)
def test_a_vault_gives_back_what_was_logged(
    vault: Vault, text: str, tags: tuple[str, ...], kind: str
) -> None:
    logged = vault.log(text, type=kind, tags=tags, session_id="s1")
    found = vault.observation(logged.observation_id.upper())
    assert found is not None
    assert (found.content, found.type, found.tags) == (text, kind, tags)
    assert vault.timeline(session_id="s1").observations[-1] == found
    assert vault.get([logged.observation_id]).memories[0].content == text


def test_the_meaning_of_what_people_wrote_stays() -> None:
    """Only an agent's entry, known by its ULID, is taken out of a code block."""
    text = "## Log\n\n- **09:12** note: ^mine\n  ```text\n  x\n  ```\n"
    (found,) = markdown_outline(text).observations
    assert found.content == "\n```text\nx\n```"


# --- starting and logging --------------------------------------------------------------------


def test_a_session_has_one_journal(open_vault: Open, root: Path) -> None:
    vault = open_vault(session="7f3c2a9e", client="claude-code")
    started = vault.start_session(project="Atlas", title="Debugging: the refresh loop?")
    assert started.session_id == "7f3c2a9e"
    note = parse((root / started.path).read_bytes(), started.path)
    assert note.title[15:] == " Debugging the refresh loop"
    assert note.path == f"Sessions/{note.title[:4]}/{note.title}.md"
    assert note.created is not None
    assert f"{note.created:%Y-%m-%d %H%M}" == note.title[:15]
    assert {name: note.get(name) for name in ("type", "scope", "project", "session", "source")} == {
        "type": "session",
        "scope": "project",
        "project": "Atlas",
        "session": "7f3c2a9e",
        "source": "claude-code",
    }
    assert note.body == "## Log\n"
    logged = vault.log("Count the grace period from first use", type="decision", tags=["auth"])
    assert (logged.session_id, logged.path) == ("7f3c2a9e", started.path)
    assert vault.start_session() == started
    assert open_vault().log("from elsewhere", session_id="7F3C2A9E").path == started.path


def test_logging_adds_its_lines_and_touches_no_other(vault: Vault, root: Path) -> None:
    path = vault.log("first", session_id="s").path
    file = root / path
    edited = (
        file.read_text().replace("## Log", "Written  by hand.\n\n## Log") + "\n## Mine\n\ntext \n"
    )
    file.write_text(edited)
    vault.log("second", session_id="s")
    new = [line for line in file.read_text().split("\n") if line not in edited.split("\n")]
    assert len(new) == 1
    assert new[0].endswith(journal.journal_entries(parse(file.read_bytes()))[1].block)
    assert file.read_text().replace(new[0] + "\n", "") == edited


def test_without_a_session_one_is_begun(open_vault: Open) -> None:
    vault = open_vault()
    first, second = vault.log("one"), vault.log("two")
    assert first.session_id == second.session_id == first.session_id.lower()
    assert len(first.session_id) == 26
    begun = vault.start_session()
    assert begun.session_id != first.session_id
    assert vault.log("three").session_id == begun.session_id


def test_two_journals_of_one_minute_have_two_names(vault: Vault) -> None:
    assert vault.start_session(title="T").path != vault.start_session(title="T").path


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"content": " \n"}, "nothing to log"),
        ({"content": "<private>secret</private>"}, "nothing to log"),
        ({"content": "x", "type": "two words"}, "one word"),
        ({"content": "x", "tags": ["42"]}, "cannot be a tag"),
        ({"content": "x", "tags": ["a b!"]}, "cannot be a tag"),
        ({"content": "x\x1b[31m"}, "control character"),
    ],
)
def test_what_cannot_be_logged_is_said(
    vault: Vault, root: Path, arguments: dict[str, object], words: str
) -> None:
    with pytest.raises(errors.InvalidInput, match=words):
        vault.log(**arguments)  # type: ignore[arg-type]
    assert not (root / "Sessions").exists()


def test_private_text_never_reaches_a_file(vault: Vault, root: Path) -> None:
    logged = vault.log(
        "before <private>SECRET</private> <pri<private>x</private>vate>SECRET", session_id="s"
    )
    assert vault.observation(logged.observation_id).content == "before  "  # type: ignore[union-attr]
    vault.end_session(session_id="s", summary="so <private>SECRET</private> it ended")
    for name, (raw, _) in snapshot(root).items():
        assert b"SECRET" not in raw, name


def test_a_read_only_caller_logs_nothing(open_vault: Open, root: Path) -> None:
    reader = open_vault(read_only=True, session="s")
    for call in (lambda: reader.log("x"), reader.start_session, reader.end_session):
        with pytest.raises(errors.ReadOnly):
            call()
    assert not (root / "Sessions").exists()


def test_a_journal_that_a_person_renamed_goes_on(open_vault: Open, root: Path) -> None:
    vault = open_vault(session="s")
    path = vault.log("one").path
    (root / path).rename(root / "Sessions" / "My own name.md")
    assert vault.log("two").path == "Sessions/My own name.md"
    assert [o.content for o in vault.timeline(session_id="s").observations] == ["one", "two"]


def test_a_bound_project_is_not_left(open_vault: Open, root: Path) -> None:
    vault = open_vault(project="Atlas")
    with pytest.raises(errors.InvalidInput, match="Atlas"):
        vault.start_session(project="Other")
    path = vault.start_session(project="atlas").path
    assert parse((root / path).read_bytes()).get("project") == "Atlas"


WORKER = """
import sys
from vaultmem.operations.caller import Caller
from vaultmem.vault import Vault
with Vault.open(sys.argv[1], {"model": "off"}, caller=Caller(session="shared")) as vault:
    for number in range(12):
        vault.log(f"{sys.argv[2]} {number}\\nmore")
"""


def test_processes_that_log_to_one_session_lose_nothing(vault: Vault, root: Path) -> None:
    workers = [
        nursery.Popen(
            [sys.executable, "-c", WORKER, str(root), name],
            env=clean_environment(root),
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("a", "b", "c")
    ]
    outputs = [worker.communicate(timeout=120) for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0, 0], outputs
    assert len(list((root / "Sessions").rglob("*.md"))) == 1
    found = vault.timeline(session_id="shared", before=100, after=0).observations
    assert sorted(o.content for o in found) == sorted(
        f"{name} {number}\nmore" for name in "abc" for number in range(12)
    )
    assert [o.time for o in found] == sorted(o.time for o in found)


# --- ending ----------------------------------------------------------------------------------


def test_a_given_summary_ends_the_session(open_vault: Open, root: Path) -> None:
    vault = open_vault(session="s")
    path = vault.log("one").path
    before = (root / path).read_text()
    ended = vault.end_session(summary="It went well.\n\n- really")
    assert (ended.session_id, ended.summary, ended.path) == ("s", "It went well.\n\n- really", path)
    after = (root / path).read_text()
    assert after.endswith("\n\n## Summary\n\nIt went well.\n\n- really\n")
    assert [o.content for o in vault.timeline(session_id="s").observations] == ["one"]
    assert set(before.split("\n")) <= set(after.split("\n"))
    assert vault.end_session() == ended
    assert (root / path).read_text() == after
    vault.log("two")
    assert vault.end_session(summary="Better.").summary == "Better."
    note = parse((root / path).read_bytes())
    assert journal.journal_summary(note) == "Better."
    assert [o.content for o in journal.journal_entries(note)] == ["one", "two"]


def test_a_summary_is_made_of_the_log_decisions_first(open_vault: Open) -> None:
    vault = open_vault(session="s")
    for number in range(12):
        vault.log(f"Looked at file {number}. It was long.")
    vault.log("Tabs are logged out when tokens refresh", type="bug")
    vault.log("Count the grace period from first use\nBecause tabs share it.", type="decision")
    said = vault.end_session().summary.split("\n")
    assert said[:2] == [
        "- Decided: Count the grace period from first use",
        "- Learned: Tabs are logged out when tokens refresh",
    ]
    assert len(said) == 5
    assert said[2].startswith("- note: Looked at file")
    assert said[-1] == "- and 10 more in the log"


def test_a_made_summary_follows_the_log_and_an_edited_one_stays(
    open_vault: Open, root: Path
) -> None:
    vault = open_vault(session="s")
    path = vault.log("one thing").path
    assert vault.end_session().summary == "- note: one thing"
    vault.log("another thing")
    assert vault.end_session().summary == "- note: one thing\n- note: another thing"
    text = (root / path).read_text()
    (root / path).write_text(text.replace("- note: one thing\n- note: another", "By hand: another"))
    vault.log("third thing")
    assert vault.end_session().summary == "By hand: another thing"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("# Done\n\ntext\n\n## Next\n\nmore", "### Done\n\ntext\n\n#### Next\n\nmore"),
        ("Title\n=====\ntext", "### Title\ntext"),
        ("### Fine", "### Fine"),
        ("```\nnever closed", "```\nnever closed"),
        ("%% never closed", "%% never closed"),
    ],
)
def test_any_summary_finds_its_place(open_vault: Open, root: Path, given: str, kept: str) -> None:
    vault = open_vault(session="s")
    path = vault.log("one").path
    assert vault.end_session(summary=given).summary == kept
    note = parse((root / path).read_bytes())
    assert kept in journal.journal_summary(note)
    assert [h.text for h in note.headings if h.level <= 2] == ["Log", "Summary"]
    vault.log("two")
    assert [o.content for o in vault.timeline(session_id="s").observations] == ["one", "two"]


def test_session_memories_go_with_their_session(open_vault: Open, root: Path) -> None:
    vault = open_vault(session="s")
    passing = vault.remember("for now", scope="session")
    lasting = vault.remember("for good", scope="user")
    other = open_vault(session="t").remember("theirs", scope="session")
    ended = vault.end_session(summary="done")
    assert ended.memories_removed == 1
    assert vault.get([passing.memory_id]).missing == (passing.memory_id,)
    assert vault.get([lasting.memory_id]).memories
    assert open_vault(session="t").get([other.memory_id]).memories
    assert vault.end_session().memories_removed == 0


def test_ending_what_is_not_there_is_said(open_vault: Open, root: Path) -> None:
    with pytest.raises(errors.NotFound, match="no session 'nobody'"):
        open_vault().end_session(session_id="nobody", summary="text")
    with pytest.raises(errors.NotFound, match="start one"):
        open_vault().end_session()
    vault = open_vault(session="quiet")
    ended = vault.end_session()
    assert (ended.path, ended.memories_removed) == (None, 0)
    assert "no journal" in ended.summary
    assert render.plain_json(ended)["path"] is None
    assert not (root / "Sessions").exists()
    assert vault.end_session(summary="But this matters.").path is not None
    begun = open_vault().start_session()
    ended = open_vault().end_session(session_id=begun.session_id)
    assert (ended.path, ended.summary) == (begun.path, "Nothing was logged in this session.")


def test_a_session_that_ends_twice_at_once_has_one_summary(open_vault: Open, root: Path) -> None:
    vault = open_vault(session="s")
    path = vault.log("one").path
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: vault.end_session(summary=f"Said by {n}."), range(4)))
    text = (root / path).read_text()
    assert (text.count("## Summary"), text.count("Said by")) == (1, 1)


# --- looking back ------------------------------------------------------------------------------


def contents(vault: Vault, **wanted: object) -> list[str]:
    return [o.content for o in vault.timeline(**wanted).observations]  # type: ignore[arg-type]


def test_the_timeline(vault: Vault) -> None:
    ids = {}
    for number in range(8):
        session = "odd" if number % 2 else "even"
        ids[number] = vault.log(str(number), session_id=session).observation_id
    assert contents(vault) == list("01234567")
    assert contents(vault, before=3) == list("567")
    assert contents(vault, before=2, after=1) == list("567")
    assert contents(vault, after=2) == list("67")
    assert contents(vault, before=0, after=0) == []
    assert contents(vault, session_id="odd") == list("1357")
    assert contents(vault, session_id="odd", before=2) == list("57")
    assert contents(vault, session_id="odd", after=2) == list("13")
    assert contents(vault, observation_id=ids[4]) == list("0246")
    assert contents(vault, observation_id=ids[4].upper(), before=1, after=0) == list("24")
    assert contents(vault, observation_id=ids[4], session_id="even", before=0, after=9) == list(
        "46"
    )
    for wrong in (
        {"observation_id": "nothing"},
        {"observation_id": ids[4], "session_id": "odd"},
        {"session_id": "x"},
    ):
        with pytest.raises(errors.NotFound):
            vault.timeline(**wrong)
    with pytest.raises(errors.InvalidInput):
        vault.timeline(before=-1)


def test_observations_as_the_contract_has_them(vault: Vault) -> None:
    logged = vault.log("Sign with RS256", type="decision", tags=["auth"], session_id="s")
    (found,) = render.plain_json(vault.timeline())["observations"]
    assert found == {
        "id": logged.observation_id,
        "session_id": "s",
        "time": found["time"],
        "type": "decision",
        "content": "Sign with RS256",
        "path": logged.path,
        "block": logged.observation_id,
        "tags": ["auth"],
    }
    assert found["time"].endswith("Z")
    json.dumps(found)


def test_what_people_log_by_hand_is_there_too(vault: Vault, root: Path) -> None:
    file = root / "Sessions" / "2026" / "Mine.md"
    file.parent.mkdir(parents=True)
    file.write_text(
        "---\ntype: session\nsession: mine\ncreated: 2026-01-05T23:50:00\n---\n## Log\n\n"
        "- **23:55** first\n- **00:10** after midnight #late\n- **25:00** no such time\n"
    )
    found = vault.timeline(session_id="mine").observations
    assert [(o.content, o.tags, f"{o.time:%d %H:%M}") for o in found] == [
        ("no such time", (), "05 23:50"),
        ("first", (), "05 23:55"),
        ("after midnight", ("late",), "06 00:10"),
    ]
    assert contents(vault) == ["no such time", "first", "after midnight"]


def test_a_block_id_beyond_the_calendar_is_survived(vault: Vault, root: Path) -> None:
    (root / "Sessions").mkdir()
    (root / "Sessions" / "Odd.md").write_text(
        "## Log\n\n- **09:00:00** note: x ^7zzzzzzzzzzzzzzzzzzzzzzzzz\n"
    )
    assert contents(vault) == ["x"]


def test_the_journals_of_others_do_not_exist(open_vault: Open) -> None:
    mine = open_vault(user="me", project="Atlas", session="a")
    theirs = open_vault(user="you", project="Atlas", session="b")
    elsewhere = open_vault(user="me", project="Other", session="c")
    logged = [vault.log("said") for vault in (mine, theirs, elsewhere)]
    for other in logged[1:]:
        assert mine.observation(other.observation_id) is None
        with pytest.raises(errors.NotFound):
            mine.timeline(observation_id=other.observation_id)
        with pytest.raises(errors.NotFound):
            mine.timeline(session_id=other.session_id)
        with pytest.raises(errors.NotFound):
            mine.end_session(session_id=other.session_id)
        with pytest.raises(errors.NotFound):
            mine.session_summary(other.session_id)
    assert [o.id for o in mine.timeline().observations] == [logged[0].observation_id]
    assert len(open_vault().timeline().observations) == 3


def test_the_summary_of_a_session_in_numbers(open_vault: Open) -> None:
    vault = open_vault(session="s")
    for kind in ("episodic", "episodic", "procedural"):
        vault.remember(f"About {kind} tokens {vault.parts.index.size}", type=kind, tags=["auth"])
    vault.log("Found the refresh loop", tags=["auth", "loop"])
    vault.recall("tokens")
    told = vault.session_summary()
    assert (told.memories_stored, told.stored_by_type) == (3, {"episodic": 2, "procedural": 1})
    assert (told.observations, told.queries, told.memories_served) == (1, 1, 3)
    assert told.topics[:2] == ("auth", "loop")
    assert "**Memories stored:** 3 (2 episodic, 1 procedural)" in told.text
    assert "**Memories recalled:** 1 queries, 3 unique memories served" in told.text
    assert "**Key topics:** auth, loop" in told.text
    vault.end_session(summary="All found.")
    assert vault.session_summary("s").summary == "All found."
    assert open_vault().session_summary().memories_stored == 0
    with pytest.raises(errors.NotFound):
        vault.session_summary("unknown")
