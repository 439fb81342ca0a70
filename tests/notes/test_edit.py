"""Splice edits: a change touches its own lines and nothing else."""

from __future__ import annotations

import datetime as dt
import difflib

import pytest
import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st

from vaultmem.errors import InvalidInput, NoteMalformed, NotFound, VaultmemError
from vaultmem.notes import edit as editing
from vaultmem.notes.edit import (
    AddItems,
    AppendToSection,
    NoteEdit,
    RemoveItems,
    RemoveProperty,
    ReplaceBody,
    ReplaceLine,
    ReplaceSection,
    SetProperty,
    edit_note,
    new_note_bytes,
)
from vaultmem.notes.note import parse

TRAPS = b"""---
# comment at the top
id: 01KE6P0000TKVA1DAT0R000001   # the id
Tags: [a, "b"] # flow
zip: 00123
time: 12:30
quoted: 'single'
list:
- x # first
# between
- y
empty:
when: 2026-01-01
nested:
  deep: {a: 1}
text: |
  one
  two

created: 2026-01-05T09:15:00
---
Hi

## Facts

- a:: b

## End
no newline at the end"""


def changed(raw: bytes, *changes: NoteEdit) -> tuple[list[str], list[str]]:
    """The lines an edit takes away and the lines it puts there."""
    after = edit_note(parse(raw, "n.md"), *changes)
    lines = difflib.ndiff(raw.decode().split("\n"), after.decode().split("\n"))
    found = [line for line in lines if line[0] in "+-"]
    return [x[2:] for x in found if x[0] == "-"], [x[2:] for x in found if x[0] == "+"]


CASES: list[tuple[NoteEdit, list[str], list[str]]] = [
    (SetProperty("zip", "00124"), ["zip: 00123"], ['zip: "00124"']),
    (SetProperty("zip", 123), [], []),
    (SetProperty("ID", "x"), ["id: 01KE6P0000TKVA1DAT0R000001   # the id"], ["id: x   # the id"]),
    (SetProperty("quoted", "single"), [], []),
    (SetProperty("empty", "yes"), ["empty:"], ['empty: "yes"']),
    (SetProperty("empty", None), [], []),
    (SetProperty("zip", None), ["zip: 00123"], ["zip:"]),
    (SetProperty("when", "2026-02-02"), ["when: 2026-01-01"], ["when: 2026-02-02"]),
    (SetProperty("when", "later"), ["when: 2026-01-01"], ["when: later"]),
    (SetProperty("new", "2026-02-02"), [], ['new: "2026-02-02"']),
    (SetProperty("new", dt.date(2026, 2, 2)), [], ["new: 2026-02-02"]),
    (SetProperty("new", "a\nb"), [], ["new: |-", "  a", "  b"]),
    (SetProperty("importance", 0.5), [], ["importance: 0.5"]),
    (SetProperty("text", "one\ntwo\n"), [], []),
    (SetProperty("text", "short"), ["text: |", "  one", "  two"], ["text: short"]),
    (SetProperty("nested", "flat"), ["nested:", "  deep: {a: 1}"], ["nested: flat"]),
    (SetProperty("list", "z"), ["list:", "- x # first", "# between", "- y"], ["list: z"]),
    (SetProperty("list", ["x", "q"]), ["- y"], ["- q"]),
    (SetProperty("tags", ["b"]), ['Tags: [a, "b"] # flow'], ['Tags: ["b"] # flow']),
    (SetProperty("tags", []), ['Tags: [a, "b"] # flow'], ["Tags: [] # flow"]),
    (SetProperty("zip", ["a"]), ["zip: 00123"], ["zip:", "  - a"]),
    (SetProperty("empty", ["a"]), [], ["  - a"]),
    (AddItems("tags", ("c", "A", "x, y")), ['Tags: [a, "b"] # flow'], ['Tags: [a, "b", c, "x, y"] # flow']),
    (AddItems("tags", ("#B",)), [], []),
    (AddItems("list", ("z", "12:30")), [], ["- z", '- "12:30"']),
    (AddItems("about", ("[[X]]",)), [], ["about:", '  - "[[X]]"']),
    (RemoveItems("list", ("x",)), ["- x # first"], []),
    (RemoveItems("list", ("nope",)), [], []),
    (RemoveItems("tags", ("A",)), ['Tags: [a, "b"] # flow'], ['Tags: ["b"] # flow']),
    (RemoveProperty("zip"), ["zip: 00123"], []),
    (RemoveProperty("list"), ["list:", "- x # first", "# between", "- y"], []),
    (RemoveProperty("empty"), ["empty:"], []),
    (RemoveProperty("missing"), [], []),
    (AppendToSection("Facts", "- c:: d"), [], ["- c:: d"]),
    (ReplaceSection("Facts", "new"), ["- a:: b"], ["new"]),
    (ReplaceSection("End", "new"), ["no newline at the end"], ["", "new"]),
]  # fmt: skip


@pytest.mark.parametrize(("change", "gone", "come"), CASES, ids=lambda v: str(v)[:50])
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"], ids=["", "bom"])
def test_only_the_changed_lines_differ(
    change: NoteEdit, gone: list[str], come: list[str], newline: str, bom: bytes
) -> None:
    raw = bom + TRAPS.replace(b"\n", newline.encode())
    end = newline[:-1]
    was, now = changed(raw, change)
    assert [x.removesuffix(end) for x in was] == gone
    assert [x.removesuffix(end) for x in now] == come
    assert all(x.endswith(end) for x in now if x != "new")
    if not isinstance(change, AppendToSection):
        again = edit_note(parse(raw, "n.md"), change)
        assert edit_note(parse(again, "n.md"), change) == again, (
            "a second identical edit writes nothing"
        )


def test_no_change_is_no_change() -> None:
    assert edit_note(parse(TRAPS)) == TRAPS


def test_a_known_property_takes_its_place_in_the_order() -> None:
    raw = b"---\nid: x\ntype: semantic\ncreated: 2026-01-01\nmine: 1\n---\n"
    after = edit_note(parse(raw), SetProperty("importance", 0.5), SetProperty("other", 1))
    assert [line.split(b":")[0] for line in after.splitlines()[1:-1]] == [
        *(b"id", b"type", b"importance", b"created", b"mine", b"other")
    ]


def test_a_note_without_properties_gets_a_block_and_keeps_its_text() -> None:
    assert edit_note(parse(b"text\r\n"), SetProperty("a", 1)) == b"---\r\na: 1\r\n---\r\ntext\r\n"
    assert edit_note(parse(b""), SetProperty("a", 1)) == b"---\na: 1\n---\n"
    assert edit_note(parse(b"---\n---\nx"), SetProperty("a", 1)) == b"---\na: 1\n---\nx"
    assert edit_note(parse(b"\n\nx"), AddItems("tags", ("t",))) == b"---\ntags:\n  - t\n---\n\n\nx"


def test_a_renamed_property_is_written_under_the_vaults_name() -> None:
    note = parse(b"---\nkind_of: a\n---\n", "x.md", {"type": "kind_of"})
    assert edit_note(note, SetProperty("type", "b")) == b"---\nkind_of: b\n---\n"


def test_a_string_of_tags_becomes_a_list_when_one_is_taken_out() -> None:
    raw = b"---\ntags: a, b\n---\n"
    assert edit_note(parse(raw), RemoveItems("tags", ("a",))) == b"---\ntags:\n  - b\n---\n"


@pytest.mark.parametrize(
    "raw",
    [
        b"---\na: [1\n---\n",
        b"---\na: 1\na: 2\n---\n",
        b"---\na: 1\n",
        b"---\n- list\n---\n",
        b'---\n{"json": 1}\n---\n',
        b"---\ntags: a\nTags: b\n---\n",
        b"a\n<<<<<<< x\nb\n=======\nc\n>>>>>>> y\n",
        b"\x00binary",
    ],
)
def test_f2_a_note_that_cannot_be_trusted_is_left_alone(raw: bytes) -> None:
    with pytest.raises(NoteMalformed) as caught:
        edit_note(parse(raw, "n.md"), SetProperty("tags", ["x"]))
    assert "n.md" in str(caught.value)


def test_the_body_of_a_malformed_note_can_still_be_replaced() -> None:
    assert edit_note(parse(b"---\na: [1\n---\nold"), ReplaceBody("new")) == b"---\na: [1\n---\nnew"


def test_an_anchor_that_is_used_elsewhere_is_not_broken() -> None:
    raw = b"---\na: &x [1]\nb: *x\n---\n"
    with pytest.raises(NoteMalformed):
        edit_note(parse(raw), SetProperty("a", "new"))
    assert edit_note(parse(raw), SetProperty("c", 1)) == b"---\na: &x [1]\nb: *x\nc: 1\n---\n"


def test_what_the_dialects_read_differently_does_not_stop_an_edit() -> None:
    raw = b"---\nflag: yes\ntags: [on, 12:30]\nbad: 2026-13-45\n---\n"
    after = edit_note(parse(raw), AddItems("tags", ("x",)), SetProperty("new", "no"))
    assert after == b'---\nflag: yes\ntags: [on, 12:30, x]\nbad: 2026-13-45\nnew: "no"\n---\n'


def test_text_that_would_become_properties_is_refused() -> None:
    with pytest.raises(InvalidInput):
        edit_note(parse(b"text"), ReplaceBody("---\nid: stolen\n---\n"))
    assert edit_note(parse(b"---\na: 1\n---\nx"), ReplaceBody("---\nb: 2\n---\n"))


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_text_that_is_no_text_is_refused(text: str) -> None:
    for change in (ReplaceBody(text), AppendToSection("A", text), ReplaceSection("A", text)):
        with pytest.raises(InvalidInput):
            edit_note(parse(b"## A\n"), change)
    with pytest.raises(InvalidInput):
        new_note_bytes({}, text)


def test_sections() -> None:
    raw = b"# T\n\ntext\n\n## Log\n\n- one\n  more\n\n## Log 2\n"
    assert b"- one\n  more\n- two\n\n## Log 2\n" in edit_note(
        parse(raw), AppendToSection("log", "- two")
    )
    assert edit_note(parse(raw), AppendToSection("New", "- x")).endswith(
        b"## Log 2\n\n## New\n\n- x\n"
    )
    assert edit_note(parse(b""), AppendToSection("New", "- x")) == b"## New\n\n- x\n"
    assert edit_note(parse(b"## A"), AppendToSection("A", "x")) == b"## A\n\nx\n"
    with pytest.raises(NotFound):
        edit_note(parse(raw), ReplaceSection("Nowhere", "x"))
    with pytest.raises(NoteMalformed):
        edit_note(parse(b"```\nnever closed\n"), AppendToSection("Facts", "- a:: b"))


def test_a_new_note() -> None:
    values = {
        "updated": dt.datetime(2026, 1, 5, 9, 40, tzinfo=dt.UTC),
        "id": "0123",
        "mine": "x",
        "about": ["[[A]]"],
        "tags": ["yes"],
    }
    assert new_note_bytes(values, "Body\n") == (
        b'---\nid: "0123"\ntags:\n  - "yes"\nabout:\n  - "[[A]]"\n'
        b"updated: 2026-01-05T09:40:00\nmine: x\n---\nBody\n"
    )


# --- any note, any edits ------------------------------------------------------------------

VALUES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.sampled_from(
        ["yes", "12:30", "00123", "1e3", "1_000", "2026-01-05", "[[X]]", "a: b", "#x", "- y", "~",
         "a\nb", "a\n", "it's", 'say "x"', "x #y", "{{date}}", "|", "true", "0x1f", "=", "<<"]
    ),
    st.integers(-1000, 1000),
    st.floats(0, 1),
    st.booleans(),
    st.none(),
)  # fmt: skip
SPELLINGS = st.sampled_from(
    ["plain", "'single'", '"double"', "yes", "00123", "12:30", "1e3", "[a, b]", "[ a ,'b' ]", "{x: 1}",
     "# only a comment", "~", "", "|\n  block\n  text", ">-\n  folded\n  text", "\n  - a\n  - b # c",
     "\n- a\n# c\n- 'b'", "\n  - a: 1\n    b: 2", "two\n  lines", "2026-01-05", "x # comment", "[]",
     '"a\\nb"', "[\n  a,\n  b\n ]", "\n    - far", "é 😀", "\n  deep:\n    er: [1]", "!!str 5"]
)  # fmt: skip
KEYS = ["a", "tags", "list", "id", "Mixed", "created", "on", "with space", "é"]
COMMENTS = st.sampled_from(["", "", "# comment\n", "\n", "  # indented\n"])


@st.composite
def notes(draw: st.DrawFn) -> bytes:
    keys = draw(st.lists(st.sampled_from(KEYS), unique=True, max_size=6))
    lines = [draw(COMMENTS) + f"{key}: {draw(SPELLINGS)}".rstrip(" ") + "\n" for key in keys]
    block = "".join(lines) + draw(COMMENTS)
    body = draw(
        st.sampled_from(["", "text", "text\n", "\n\n# H\n\n- x\n", "---\nb: 1\n---\n", "~~~\n"])
    )
    text = f"---\n{block}---\n{body}" if draw(st.booleans()) or keys else body
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return ("\ufeff" if draw(st.booleans()) else "").encode() + text.encode()


NAMES = st.sampled_from([*KEYS, "TAGS", "importance", "mixed", "new"])
LISTS = st.lists(VALUES, max_size=3)
CHANGES = st.one_of(
    st.builds(SetProperty, NAMES, VALUES | LISTS),
    st.builds(RemoveProperty, NAMES),
    st.builds(AddItems, NAMES, LISTS.map(tuple)),
    st.builds(RemoveItems, NAMES, LISTS.map(tuple)),
)


@given(notes(), st.lists(CHANGES, min_size=1, max_size=4))
@example(b"---\nlist: \n- a\n# c\n- 'b'\n---\n", [RemoveItems("list", ("b",))])
@example(b"---\ntags: [ a ,'b' ]\n---\n", [AddItems("tags", ("c",)), RemoveItems("tags", ("a",))])
def test_any_edit_of_any_note_is_a_splice(raw: bytes, changes: list[NoteEdit]) -> None:
    for change in changes:
        before = parse(raw, "n.md")
        assume(not before.problems)
        try:
            after_raw = edit_note(before, change)
        except VaultmemError:
            continue  # refused: nothing was written
        after = parse(after_raw, "n.md")
        key = before.key_of(change.name) or change.name  # type: ignore[union-attr]
        assert not after.problems
        assert after.body == before.body
        assert after_raw.startswith(b"\xef\xbb\xbf") == raw.startswith(b"\xef\xbb\xbf")
        others = {k: v for k, v in before.properties.items() if k != key}
        assert {k: v for k, v in after.properties.items() if k != key} == others
        assert _stand_in(_lines_of_others(raw, key), after_raw)
        assert _stand_in(_lines_of_others(after_raw, key), raw)
        _assert_done(change, after.get(change.name))  # type: ignore[union-attr]
        assert edit_note(after, change) == after_raw, "a second identical edit writes nothing"
        raw = after_raw


def _lines_of_others(raw: bytes, key: str) -> list[str]:
    """Every line of the note that does not belong to this property, comments and all."""
    note = parse(raw)
    if note.block is None:
        return note.text.lstrip("\ufeff").splitlines(True)
    block = editing.FrontmatterBlock(note)
    mine = range(0)
    for name, value in block.pairs:
        if name.value == key:
            first = block.line_start(name.start_mark.index)
            last = block.next_line(max(block.end_of(value), block.colon(name)))
            mine = range(first, last)
    kept = block.text[: mine.start] + block.text[mine.stop :] if mine else block.text
    return kept.splitlines(True) + note.body.splitlines(True)


def _stand_in(lines: list[str], raw: bytes) -> bool:
    """Whether all these lines are there, in this order. (A comment in a list may change owner.)"""
    rest = iter(_lines_of_others(raw, ""))
    return all(line in rest for line in lines)


def _assert_done(change: NoteEdit, value: object) -> None:
    if isinstance(change, SetProperty):
        assert editing.same_property_value(value, editing.property_value_read_back(change.value))
    elif isinstance(change, RemoveProperty):
        assert value is None
    elif isinstance(change, AddItems) and change.items:
        items = value if isinstance(value, list) else [value]
        keys = {editing.list_item_key(change.name, item) for item in items}
        assert keys >= {editing.list_item_key(change.name, item) for item in change.items}
    elif isinstance(change, RemoveItems) and isinstance(value, list):
        keys = {editing.list_item_key(change.name, item) for item in value}
        assert not keys & {editing.list_item_key(change.name, item) for item in change.items}


BODIES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


@given(st.dictionaries(st.sampled_from(KEYS), VALUES | LISTS, max_size=5), BODIES)
def test_any_new_note_reads_back_in_both_dialects(values: dict[str, object], body: str) -> None:
    raw = new_note_bytes(values, body)  # type: ignore[arg-type]
    note = parse(raw)
    assert editing.same_property_value(dict(note.properties), values)
    assert note.body == body
    block = yaml.safe_load(note.text[slice(*note.block)]) if note.block else {}
    assert editing.same_property_value(block or {}, values)


# --- what a hostile reader found ----------------------------------------------------------


def done(text: str, *changes: NoteEdit) -> str:
    return edit_note(parse(text.encode(), "n.md"), *changes).decode()


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        (
            "---\ntags:\n  - a # important\n  -\n  - 00123\n  - 1.10\n---\n",
            AddItems("tags", ("b",)),
            "---\ntags:\n  - a # important\n  -\n  - 00123\n  - 1.10\n  - b\n---\n",
        ),
        (
            "---\na:\n  - 00123 # keep me\n  - k: v\n    l: w\n  - - x\n---\n",
            RemoveItems("a", ({"k": "v", "l": "w"},)),  # type: ignore[arg-type]
            "---\na:\n  - 00123 # keep me\n  - - x\n---\n",
        ),
        (
            "---\na:\n  - k: 1\n  -\n    x: 2\n---\n",
            AddItems("a", ("z",)),
            "---\na:\n  - k: 1\n  -\n    x: 2\n  - z\n---\n",
        ),
        (
            "---\nv: [\n  1.10, # ten\n  0x1F,\n  yes\n]\n---\n",
            RemoveItems("v", ("yes",)),
            "---\nv: [\n  1.10, # ten\n  0x1F\n]\n---\n",
        ),
        ("---\nv: [1.10, a]\n---\n", SetProperty("v", ["a", 1.1]), "---\nv: [a, 1.10]\n---\n"),
        (
            "---\naliases: 007\n---\n",
            AddItems("aliases", ("Bond",)),
            "---\naliases:\n  - 007\n  - Bond\n---\n",
        ),
        ("## F\n\n- a:: b  \n\n## N\n", AppendToSection("F", "- c"), "## F\n\n- a:: b  \n- c\n\n## N\n"),
        ("## A\nx\n## B\ny\n", ReplaceSection("A", "x"), "## A\nx\n## B\ny\n"),
        (
            "## A\n\nx\n\n### Sub\n\ny\n\n## B\n",
            ReplaceSection("A", "new"),
            "## A\n\nnew\n\n## B\n",
        ),
        ("## #1 issue\n", AppendToSection("#1 issue", "x"), "## #1 issue\n\nx\n"),
        ("---\n2024: x\non: y\n---\n", SetProperty("2024", "z"), "---\n2024: z\non: y\n---\n"),
        ("---\non: y\n---\n", SetProperty("on", "z"), "---\non: z\n---\n"),
        ("---\na: .nan\n---\n", SetProperty("b", 1), "---\na: .nan\nb: 1\n---\n"),
        ("---\na: .nan\n---\nx", ReplaceBody("y"), "---\na: .nan\n---\ny"),
        ("---\na: foo\u00a0\n---\n", SetProperty("a", "bar"), "---\na: bar\n---\n"),
        ("---\na:  \n---\n", SetProperty("a", "x\ny"), "---\na: |-\n  x\n  y\n---\n"),
        ("---\na: foo  \n---\n", SetProperty("a", "x\ny"), "---\na: |-\n  x\n  y\n---\n"),
        ("---\n  a: x\n---\n", AddItems("a", ("p\nq",)), "---\n  a:\n    - x\n    - |-\n      p\n      q\n---\n"),
        ("---\nr: 2026-02-01\n---\n", SetProperty("r", "2026-02-30"), '---\nr: "2026-02-30"\n---\n'),
        ('---\ntags: ""\n---\n', AddItems("tags", ("b",)), "---\ntags:\n  - b\n---\n"),
        ("---\nTags: a, b\n---\n", AddItems("Tags", ("c",)), "---\nTags:\n  - a\n  - b\n  - c\n---\n"),
    ],
)  # fmt: skip
def test_the_users_own_spelling_survives(before: str, change: NoteEdit, after: str) -> None:
    assert done(before, change) == after
    if not isinstance(change, AppendToSection):
        assert done(after, change) == after


def test_a_date_is_added_once() -> None:
    change = AddItems("review", (dt.date(2026, 1, 1),))
    once = done("x", change)
    assert done(once, change) == once


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("## A\n\nold\n", ReplaceSection("A", "x\n\n## B\n\ny")),
        ("---\nfoo: bar\n\n# H\n\ntext\n", AppendToSection("H", "x\n---\n## H")),
        ("## Facts\n\n```\ncode\n", AppendToSection("Facts", "- c:: d")),
        ("---\na: 1\n? k\n---\n", AddItems("k", ("x",))),
        ("---\na: 1\n---\n", SetProperty("a", 10**5000)),
        ("a\nb\n", ReplaceLine(2, "a", "x")),
        ("a\nb\n", ReplaceLine(0, "a\nb", "x")),
        ("ab\n", ReplaceLine(1, "b", "x")),
        ("a\nb\n", ReplaceLine(2, "b", "x\ny")),
        ("a\n", ReplaceLine(0, "a", "half \ud800")),
        ("---\na: 1\n\n---\ntext\n---\n", ReplaceLine(0, "text", "x\ny")),
        ("x\na: 1\n---\n", ReplaceLine(0, "x", "---")),
        ("<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n", ReplaceLine(10, "x", "z")),
        ("x", AppendToSection("\ud800", "x")),
        ("x", AppendToSection("b\udc80", "x")),
        ("x", AppendToSection("two\nlines", "x")),
        ("x", AppendToSection("", "x")),
        ("---\n" + "k" * 1100 + ": 1\nb: 1\n---\n", SetProperty("b", 2)),
        ("---\nid: x\x85\n---\n", SetProperty("id", "y")),
        ("---\nid: x\u2028\n---\n", SetProperty("id", "y")),
        (
            "x",
            SetProperty("d", dt.datetime.max.replace(tzinfo=dt.timezone(-dt.timedelta(hours=5)))),
        ),
    ],
)
def test_what_cannot_be_done_safely_is_refused_with_a_sentence(text: str, change: NoteEdit) -> None:
    with pytest.raises(VaultmemError) as caught:
        done(text, change)
    assert len(str(caught.value)) > 20


def test_a_long_list_is_changed_in_reasonable_time() -> None:
    rows = "".join(f"  - i{i % 7}\n" for i in range(5000))
    raw = f"---\na:\n{rows}---\n".encode()
    started = dt.datetime.now(dt.UTC)
    edit_note(parse(raw), SetProperty("a", [f"i{i * 3 % 7}" for i in range(5000)]))
    assert (dt.datetime.now(dt.UTC) - started).total_seconds() < 10


def test_replacing_a_body_of_mixed_line_ends_is_done_once() -> None:
    raw = b"---\na: 1\n---\nx\r\ny\r\nz\r\nw\r\n"
    once = edit_note(parse(raw), ReplaceBody("q\n"))
    assert once == b"---\na: 1\n---\nq\n"
    assert edit_note(parse(once), ReplaceBody("q\n")) == once


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        ("a\nb\nc", ReplaceLine(2, "b", "B"), "a\nB\nc"),
        ("---\nk: 1\n---\na\r\nb  \r\n", ReplaceLine(3, "b  ", "B"), "---\nk: 1\n---\na\r\nB\r\n"),
        ("a\n\nb", ReplaceLine(2, "", "x"), "a\nx\nb"),
        ("b", ReplaceLine(0, "b", "b"), "b"),
    ],
)
def test_one_line_is_replaced_by_its_place(before: str, change: NoteEdit, after: str) -> None:
    assert done(before, change) == after
