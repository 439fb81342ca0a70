"""Records of any shape: what can be used comes in, what cannot is named, and the run goes on."""

from __future__ import annotations

import itertools
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transfer import exports
from tests.transfer.test_sources import counts, notes
from vaultmem.errors import InvalidInput
from vaultmem.notes import journal
from vaultmem.notes.note import parse
from vaultmem.transfer import drafts
from vaultmem.transfer.sources import json_stream, opening
from vaultmem.transfer.sources import records as incoming
from vaultmem.transfer.sources.entities import GatheredEntities
from vaultmem.transfer.sources.records import EntityRecord, TalkRecord, TalkTurn, moment_value
from vaultmem.vault import Vault

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_records_of_any_shape(vault: Vault, root: Path, away: Path) -> None:
    ordinary = exports.mem0_record(1, "Ordinary")
    records: list[Any] = [
        ordinary,
        None,
        5,
        "text",
        [],
        {},
        {"memory": None},
        {"memory": "   "},
        {"memory": {"nested": True}},
        {"memory": "x" * 1_000_001, "id": "huge"},
        {"memory": "No id, no date"},
        {"memory": 12345},
        exports.mem0_record(2, "Dates as numbers", created_at=1_700_000_000_000),
        exports.mem0_record(3, "Dates as nonsense", created_at="yesterday", updated_at=[1]),
        exports.mem0_record(4, "Tags of all kinds", categories=["a b", 7, None, "#x", "", "🚀"]),
        exports.mem0_record(5, "Numbers", metadata={"importance": float("nan"), "n": 10**4000}),
        exports.mem0_record(6, "Wrong metadata", metadata="none", categories={"a": 1}),
        exports.mem0_record(7, "---\nid: fake\n---\nLooks like properties"),
        exports.mem0_record(8, "[[Link]] #tag %% comment ``` fence", metadata={"id": "other"}),
        exports.mem0_record(9, "Colours \x1b[31mred\x1b[0m and \x00 NUL \x07"),
        exports.mem0_record(10, "Half \ud83d a character"),
        exports.mem0_record(11, "Windows\r\nlines\r\n"),
        exports.mem0_record(12, 'A name: with? all* the/ "signs" <that> no|file [has] #^'),
        exports.mem0_record(13, "." * 300),
        {"id": ordinary["id"], "memory": "Another with the id of the first"},
        ordinary,
    ]
    (away / "m.json").write_text(json.dumps(records))
    done = vault.import_("mem0", away / "m.json")
    assert (done.added, done.left, done.here) == (16, 9, 1)
    contents = {
        m.content for m in vault.get([m.path for m in vault.list(limit=50).memories]).memories
    }
    assert {
        "Ordinary",
        "Another with the id of the first",
        "---\nid: fake\n---\nLooks like properties",
        "Colours red and  NUL ",
        "Half \ufffd a character",
        "Windows\r\nlines\r\n",
        "12345",
    } <= contents
    assert {found.problem for found in vault.examine()} == {"dead-link"}
    again = vault.import_("mem0", away / "m.json")
    assert (again.added, again.updated, again.kept, again.here) == (0, 0, 0, 17)
    assert len(notes(root)) == 16


def test_secrets_and_private_passages_never_arrive(vault: Vault, root: Path, away: Path) -> None:
    texts = [f"The token is {SECRET}.", "Kept <private>my diary</private> here", "<private>all"]
    chat = exports.chatgpt_chat(
        1,
        exports.node("a", None, "user", texts[0]),
        exports.node("b", "a", "assistant", texts[1]),
        title=f"About {SECRET}",
    )
    things = [exports.entity(f"Key {SECRET}", SECRET, texts)]
    records = [
        exports.mem0_record(n, t, metadata={"k": SECRET, "l": [SECRET]})
        for n, t in enumerate(texts)
    ]
    done = [
        vault.import_("mem0", exports.mem0(away / "m.json", records)),
        vault.import_("chatgpt", exports.chatgpt(away / "c.json", [chat])),
        vault.import_("server-memory", exports.lines(away / "memory.jsonl", things)),
    ]
    files = [file for file in root.rglob("*") if file.is_file()]
    for raw in (file.read_bytes() for file in files):
        assert SECRET.encode() not in raw
        assert b"my diary" not in raw
    assert (done[0].added, done[0].left) == (2, 1)
    assert all(any(w.startswith("secret_redacted") for w in each.warnings) for each in done)
    assert vault.import_("mem0", away / "m.json").here == 2


def test_broken_lines_are_named_and_the_rest_comes(vault: Vault, away: Path) -> None:
    path = exports.lines(
        away / "memory.jsonl",
        [
            exports.entity("A", "x", ["one", None, 5, {"content": "two"}]),
            "{broken",
            "",
            "[]",
            exports.entity("", "x", []),
            exports.entity(None, None, None),
            exports.entity("B", 7, "not a list"),
            exports.relation("A", None, "B"),
            exports.relation("A", "", ""),
            exports.relation("A", "→", "C"),
            {"type": "other"},
            exports.entity("a", "y", ["three"]),
        ],
    )
    done = vault.import_("server-memory", path)
    assert (done.added, done.left) == (2, 6)
    assert "memory.jsonl line 2" in [left.what for left in done.left_out]
    assert "'a' and 'A' are one name in a vault; they became one note." in done.warnings
    said = [o.content for o in vault.get(["A"]).memories[0].observations or ()]
    assert said == ["one", "5", "two", "three"]
    assert {f.object for f in vault.facts("A").facts} == {"B", "C"}


def test_names_that_no_file_can_have(vault: Vault, away: Path) -> None:
    names = [
        "src/auth.py",
        "C#",
        "a|b",
        "[x] done",
        "..",
        "con",
        "x" * 300,
        "tail.",
        "new\nline",
        "Memories/Deep/Name",
        "^id",
    ]
    things = [exports.entity(name, "x", [f"is {n}"]) for n, name in enumerate(names)]
    things += [exports.relation(a, "then", b) for a, b in itertools.pairwise(names)]
    path = exports.lines(away / "memory.jsonl", things)
    assert counts(vault.import_("server-memory", path)) == (len(names), 0, 0, 0)
    assert counts(vault.import_("server-memory", path)) == (0, 0, 0, 0)
    vault.close()
    (vault.parts.store.local() / "imports.db").remove()
    assert counts(vault.import_("server-memory", path)) == (0, 0, 0, 0)
    assert "dead-link" not in {found.problem for found in vault.examine()}


def test_awkward_observations_hide_nothing(vault: Vault, away: Path) -> None:
    awkward = [
        "```\nan open fence",
        "%% an open comment",
        "<!-- another",
        "## Facts",
        "first\n\n## Facts\n- fake:: fact",
        "[x] looks done",
        "ends with ^block-id",
        "<<<<<<< HEAD",
        "$$ math",
        "line\r\nend",
    ]
    things = [exports.entity("A", "", awkward), exports.relation("A", "knows", "B")]
    path = exports.lines(away / "memory.jsonl", things)
    assert counts(vault.import_("server-memory", path)) == (1, 0, 0, 0)
    assert [f.predicate for f in vault.facts("A").facts] == ["knows"]
    body = vault.get(["A"]).memories[0].content
    for text in awkward:
        for line in text.splitlines():
            assert line in body
    assert vault.examine() == []
    assert counts(vault.import_("server-memory", path)) == (0, 0, 0, 0)
    exports.lines(path, [exports.entity("A", "", [*awkward, "%% one more", "and\nanother"])])
    assert counts(vault.import_("server-memory", path)) == (0, 1, 0, 0)
    text = vault.get(["A"]).memories[0].content
    assert (text.count("one more"), text.count("an open comment")) == (1, 1)
    assert text.count("another") == body.count("another") + 1


def test_strange_trees_of_messages(vault: Vault, away: Path) -> None:
    circle = exports.chatgpt_chat(
        1, exports.node("a", "b", "user", "round"), exports.node("b", "a", "assistant", "and round")
    )
    lost = exports.chatgpt_chat(2, exports.node("a", "nowhere", "user", "cut off"), current="gone")
    branches = exports.chatgpt_chat(
        3,
        exports.node("a", None, "user", "question", at=exports.START),
        exports.node("b", "a", "assistant", "older", at=exports.START + 1),
        exports.node("c", "a", "assistant", "newer", at=exports.START + 2),
    )
    branches["current_node"] = None
    odd: list[Any] = [
        exports.chatgpt_chat(
            4, exports.node("a", None, "user", "no date", at=None), create_time=None
        ),
        exports.chatgpt_chat(5, exports.node("a", None, "alien", "?")),
        exports.chatgpt_chat(6, exports.node("a", None, "user", {"content_type": "text"})),
        exports.chatgpt_chat(
            7,
            exports.node(
                "a", None, "user", {"content_type": "text", "parts": [None, 5, {}, ["x"]]}
            ),
        ),
        {"title": None, "mapping": {"x": None, "y": 5, "z": {"message": {"author": None}}}},
        {"title": "No mapping"},
        None,
    ]
    odd[0]["update_time"] = None
    deep = [exports.node("0", None)]
    deep += [exports.node(str(n), str(n - 1), "user", f"message {n}") for n in range(1, 3000)]
    chats = [circle, lost, branches, *odd, exports.chatgpt_chat(8, *deep)]
    done = vault.import_("chatgpt", exports.chatgpt(away / "c.json", chats))
    assert (done.added, done.left) == (6, 2)
    said = {
        name: [
            o.content for o in vault.timeline(session_id=f"chatgpt-8f3a2b1c-{name}").observations
        ]
        for name in (1, 2, 3, 4, 7)
    }
    assert said == {
        1: ["round", "and round"],
        2: ["cut off"],
        3: ["question", "newer"],
        4: ["no date"],
        7: ["5"],
    }
    assert counts(vault.import_("chatgpt", away / "c.json"))[:3] == (0, 0, 0)


def test_a_very_long_conversation_goes_on_in_a_second_note(
    vault: Vault, root: Path, away: Path
) -> None:
    texts = [f"{n} " + "word " * 30_000 for n in range(6)]
    messages = [exports.node("0", None)]
    messages += [exports.node(str(n + 1), str(n), "user", t) for n, t in enumerate(texts)]
    huge = exports.node("9", "6", "user", "y" * 1_000_001)
    chat = exports.chatgpt_chat(1, *messages, huge)
    done = vault.import_("chatgpt", exports.chatgpt(away / "c.json", [chat]))
    assert (done.added, done.left) == (3, 1)
    assert done.left_out[0].why == "it has more than 1,000,000 bytes"
    seen = vault.timeline(session_id="chatgpt-8f3a2b1c-1").observations
    assert [o.content for o in seen] == texts
    assert vault.import_("chatgpt", away / "c.json").here == 3


def test_a_conversation_reads_in_order_however_its_notes_came_to_be(
    vault: Vault, root: Path, away: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are written side by side and all at one moment, so neither their times nor the order
    in which they were indexed say which comes first."""
    monkeypatch.setattr(drafts, "_LONGEST_LOG", 10)
    texts = [f"message {n}" for n in range(12)]
    messages = [exports.node("0", None)]
    messages += [exports.node(str(n + 1), str(n), "user", t) for n, t in enumerate(texts)]
    chat = exports.chatgpt_chat(1, *messages)
    assert vault.import_("chatgpt", exports.chatgpt(away / "c.json", [chat])).added == 12
    files = sorted(root.glob("Sessions/*/*.md"))
    for age in (files, files[::-1]):
        for number, file in enumerate(age):
            os.utime(file, (number, number))
        vault.index_now(rebuild=True)
        for asked in ({"session_id": "chatgpt-8f3a2b1c-1"}, {"before": 100}):
            assert [o.content for o in vault.timeline(**asked).observations] == texts
        vault.parts.fell_behind(str(file.relative_to(root)) for file in files)
        seen = vault.timeline(session_id="chatgpt-8f3a2b1c-1").observations
        assert [o.content for o in seen] == texts


def test_a_file_that_breaks_off_gives_what_it_has(vault: Vault, away: Path) -> None:
    whole = json.dumps([exports.chatgpt_ordinary(n) for n in range(1, 6)])
    (away / "c.json").write_text(whole[: len(whole) * 3 // 5])
    done = vault.import_("chatgpt", away / "c.json")
    assert (done.added, done.left) == (3, 1)
    assert "breaks off" in done.left_out[0].why
    (away / "c.json").write_text(whole)
    assert vault.import_("chatgpt", away / "c.json").added == 2


# --- zips -----------------------------------------------------------------------------------------


def test_a_bomb_is_not_opened(vault: Vault, away: Path) -> None:
    with (
        zipfile.ZipFile(away / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("conversations.json", "w", force_zip64=True) as file,
    ):
        for _ in range(120):
            file.write(b" " * 1_000_000)
    with pytest.raises(InvalidInput, match="which no export does"):
        vault.import_("chatgpt", away / "bomb.zip")


def test_damaged_zips_are_said_to_be_so(vault: Vault, away: Path) -> None:
    path = exports.claude(away / "claude.zip")
    raw = bytearray(path.read_bytes())
    raw[60:90] = b"\0" * 30
    path.write_bytes(raw)
    with pytest.raises(InvalidInput, match="zip"):
        vault.import_("claude", path)
    (away / "cut.zip").write_bytes(bytes(raw[: len(raw) // 2]))
    with pytest.raises(InvalidInput):
        vault.import_("claude", away / "cut.zip")


# --- parts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2024-07-01T12:00:00Z", "2024-07-01T12:00:00"),
        ("2024-07-01T12:00:00.123456-07:00", "2024-07-01T19:00:00"),
        ("2024-07-01 12:00:00", "2024-07-01T12:00:00"),
        ("2024-07-01", "2024-07-01T00:00:00"),
        (1719835200, "2024-07-01T12:00:00"),
        (1719835200.5, "2024-07-01T12:00:00"),
        (1719835200000, "2024-07-01T12:00:00"),
        (1719835200000000, "2024-07-01T12:00:00"),
        ("1719835200", "2024-07-01T12:00:00"),
        *((none, None) for none in ("", "soon", "9999-12-31", "1970-01-01T00:00:00Z")),
        *((none, None) for none in (0, -5, 1e300, float("nan"), float("inf"))),
        (None, None),
        (True, None),
        ([], None),
        ({}, None),
    ],
)
def test_dates(given: Any, expected: str | None) -> None:
    found = moment_value(given)
    assert (found.replace(microsecond=0, tzinfo=None).isoformat() if found else None) == expected


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(json_values)
def test_anything_can_be_asked_for_its_use(value: Any) -> None:
    assert isinstance(incoming.text_value(value), str)
    assert isinstance(incoming.word_values(value), tuple)
    assert isinstance(incoming.mapping_value(value), dict)
    assert isinstance(incoming.object_values(value), list)
    assert incoming.share_value(value) is None or 0 <= incoming.share_value(value) <= 1  # type: ignore[operator]
    incoming.moment_value(value)
    assert incoming.memory_type_value(value) in ("semantic", "episodic", "procedural")


pieces = st.sampled_from(
    ["- ", "```", "\n", "\n\n", "%%", "<!--", "-->", "#tag", " ^id", "## Log", "## Summary", "**09:12:04**",
     "$$", "`", "~~~", "- **10:00:00** note: x ^y", "    code", "\t", "> ", "[[L]]", "<<<<<<< ", "\r\n", "é🚀", "text "]
)  # fmt: skip
messages = st.lists(st.lists(pieces, min_size=1, max_size=8).map("".join), min_size=1, max_size=5)


@given(messages, st.lists(pieces, max_size=6).map("".join))
@settings(max_examples=100)
def test_every_message_comes_back_as_it_was(texts: list[str], summary: str) -> None:
    said = tuple(TalkTurn(f"m{n}", "user", text) for n, text in enumerate(texts))
    at = incoming.moment_value(exports.START)
    assert at is not None
    [draft] = drafts.journal_drafts(
        TalkRecord("t", "Title", said, summary), "chatgpt:t", "chatgpt-t", at
    )
    entries = journal.journal_entries(parse(draft.body.encode()))
    assert [entry.content for entry in entries] == texts
    assert len({entry.block for entry in entries}) == len(texts)
    assert ("\n## Summary\n\n" in draft.body) == bool(journal.with_smaller_headings(summary))


plain = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=6)
names = st.lists(pieces | plain, min_size=1, max_size=4).map("".join)


@given(names, names, names, st.lists(names, max_size=3))
@settings(max_examples=100)
def test_facts_of_any_words_are_readable_or_refused(
    name: str, predicate: str, target: str, said: list[str]
) -> None:
    things = GatheredEntities()
    if not things.add_relation(name, predicate, target):
        return
    for text in said:
        things.add_observation(name, text)
    [thing] = [each for each in things if each.facts]
    facts = tuple(fact for fact in thing.facts if drafts.reads_back(fact))
    at = incoming.moment_value(exports.START)
    assert at is not None
    made = drafts.entity_draft(EntityRecord(thing.name, "", thing.observations, facts), "x", at)
    read = parse(made.body.encode()).facts
    assert [(f.predicate, f.object, f.block) for f in read] == [
        (f.predicate, f.object, f.block) for f in facts
    ]


@given(json_values, st.integers(1, 50))
@settings(max_examples=80)
def test_a_list_is_read_in_pieces_of_any_size(tmp_path_factory: Any, value: Any, step: int) -> None:
    items = [value, {"text": "x" * 120}, value, [1, 2], "s", 12]
    file = tmp_path_factory.mktemp("json") / "a.json"
    file.write_text(json.dumps(items, indent=step % 3 or None))
    before = json_stream._STEP
    json_stream._STEP = step  # type: ignore[misc]
    try:
        part = opening.export_parts(file, ".*")[0]
        read = list(json_stream.json_values(part, opening.OpenedExport(file)))
    finally:
        json_stream._STEP = before  # type: ignore[misc]
    assert json.dumps(read) == json.dumps(items)
