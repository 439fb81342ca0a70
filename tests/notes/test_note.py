"""Bytes to Note: rules F1, F2, F4, G1 and what a note knows of itself."""

from __future__ import annotations

import datetime as dt
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem.notes.note import Note, moment, parse, printable


def kinds(note: Note) -> list[str]:
    return [problem.kind for problem in note.problems]


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        (b"---\na: 1\n---\nx", {"a": 1}),
        (b"\xef\xbb\xbf---\na: 1\n---\nx", {"a": 1}),
        (b"---\r\na: 1\r\n---\r\nx", {"a": 1}),
        (b"---\na: 1\n---", {"a": 1}),
        (b"---  \na: 1\n---  \nx", {"a": 1}),
        (b"---\n---\nx", {}),
        (b"---\n# only a comment\n---\nx", {}),
        (b"\n---\na: 1\n---\nx", {}),
        (b" ---\na: 1\n---\nx", {}),
        (b"---\na: 1\n", {}),
        (b"----\na: 1\n----\n", {}),
        (b"---a: 1\n---\n", {}),
        (b'---\n{"a": 1}\n---\nx', {"a": 1}),
        (b"", {}),
    ],
)
def test_f1_where_frontmatter_stands(raw: bytes, found: dict[str, object]) -> None:
    note = parse(raw)
    assert note.properties == found
    assert note.raw == raw


def test_f1_a_rule_in_the_body_is_no_fence() -> None:
    note = parse(b"---\na: 1\n---\ntext\n\n---\nb: 2\n---\n")
    assert note.properties == {"a": 1}
    assert note.body == "text\n\n---\nb: 2\n---\n"


def test_f1_unclosed_properties_are_text_and_flagged() -> None:
    note = parse(b"---\ntitle: half typed\n")
    assert note.body == "---\ntitle: half typed\n"
    assert kinds(note) == ["unclosed-frontmatter"]
    assert kinds(parse(b"---\n\nA rule, then text.\n")) == []


def test_f2_a_malformed_block_is_flagged_and_the_body_read() -> None:
    note = parse(b"---\na: [1\n---\nbody #tag\n")
    assert note.properties == {}
    assert note.tags == ("tag",)
    assert kinds(note) == ["malformed-frontmatter"]
    assert kinds(parse(b"---\na: 1\na: 2\n---\n")) == ["duplicate-key"]


@pytest.mark.parametrize(
    ("block", "tags"),
    [
        ("tags: a", ("a",)),
        ("tags: [a, b]", ("a", "b")),
        ('tags: "#a"', ("a",)),
        ("tags: a, b", ("a", "b")),
        ("tags:\n  - a\n  - '#b/c'\n  -\n  - 2024", ("a", "b/c", "2024")),
        ("tag: x\ntags: y", ("y", "x")),
        ("Tags: [A, a]", ("A",)),
        ("tags:", ()),
        ("tags: {a: 1}", ()),
    ],
)
def test_f4_tags_are_read_leniently(block: str, tags: tuple[str, ...]) -> None:
    assert parse(f"---\n{block}\n---\n".encode()).tags == tags


def test_f4_names_compare_without_case() -> None:
    note = parse(b"---\nImportance: 0.5\nALIASES: one\n---\n")
    assert note.number("importance") == 0.5
    assert note.aliases == ("one",)


def test_renamed_properties_are_read_under_our_names() -> None:
    note = parse(b"---\ntype: book\nmemory_type: semantic\n---\n", "x.md", {"type": "memory_type"})
    assert note.string("type") == "semantic"


def test_typed_access_never_raises() -> None:
    note = parse(
        b"---\nid: 12\nimportance: high\nforgotten: yes\nabout: {a: 1}\ncreated: soon\n---\n"
    )
    assert note.id == "12"
    assert note.number("importance") is None
    assert note.flag("forgotten") is False
    assert note.strings("about") == ()
    assert note.created is None
    huge = parse(f"---\na: {'9' * 350}\nb: 0x{'f' * 5000}\n---\n".encode())
    assert huge.number("a") is None
    assert huge.string("a") == "9" * 350
    assert huge.string("b")


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2026-01-05", dt.datetime(2026, 1, 5, tzinfo=dt.UTC)),
        ("2026-01-05T09:40", dt.datetime(2026, 1, 5, 9, 40, tzinfo=dt.UTC)),
        ("2026-01-05 09:40:01", dt.datetime(2026, 1, 5, 9, 40, 1, tzinfo=dt.UTC)),
        ("2026-01-05T09:40:00Z", dt.datetime(2026, 1, 5, 9, 40, tzinfo=dt.UTC)),
        ("2026-01-05T11:40:00+02:00", dt.datetime(2026, 1, 5, 9, 40, tzinfo=dt.UTC)),
        ("2026-13-45", None),
        ("0001-01-01T00:00:00+05:00", None),
        ("9999-12-31T23:00:00-05:00", None),
        ("", None),
    ],
)
def test_moments_are_utc(text: str, utc: dt.datetime | None) -> None:
    assert moment(text) == utc


MARKERS = b"a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> other\nd\n"


def test_g1_conflict_markers_are_flagged() -> None:
    note = parse(MARKERS)
    assert kinds(note) == ["conflict-markers"]
    assert note.problems[0].line == 2
    assert kinds(parse(b"```\n" + MARKERS + b"```\n")) == []
    assert kinds(parse(b"see <<<<<<< HEAD\n")) == []
    assert kinds(parse(b"<<<<<<< a\n=======\n" * 3)) == []
    assert kinds(parse(MARKERS.replace(b"\n", b"\r\n"))) == ["conflict-markers"]
    in_properties = b"---\n<<<<<<< HEAD\na: 1\n=======\na: 2\n>>>>>>> x\n---\n"
    assert "conflict-markers" in kinds(parse(in_properties))


def test_bytes_that_are_not_utf8_survive() -> None:
    raw = b"---\na: 1\n---\ncaf\xe9 #tag\n"
    note = parse(raw)
    assert note.raw == raw
    assert kinds(note) == ["not-utf8"]
    assert note.tags == ("tag",)
    assert "\ufffd" in printable(note.body)
    printable(note.body).encode()


def test_a_binary_file_is_flagged_and_not_searched() -> None:
    note = parse(b"\x00\x01#tag")
    assert kinds(note) == ["binary"]
    assert note.tags == ()


def test_title_and_links() -> None:
    raw = b'---\nabout:\n  - "[[A|x]]"\nsource: "[t](B%20c.md)"\n---\n[[D#e]] ![[F.png]]\n'
    note = parse(raw, "Memories/My note.md")
    assert note.title == "My note"
    assert [(link.target, link.place) for link in note.links] == [
        ("A", "about"),
        ("B c.md", "source"),
        ("D", ""),
        ("F.png", ""),
    ]


@given(st.binary(max_size=300))
def test_any_bytes_parse_and_stay_the_same(raw: bytes) -> None:
    note = parse(b"---\n" + raw, "x.md")
    assert note.raw == b"---\n" + raw
    assert note.tags is not None
    assert note.links is not None


PIECES = st.sampled_from(
    ["---\n", "a: 1\n", "`", "```\n", "~~~\n", "%%", "<!--", "-->", "<private>", "[[", "]]", "#t ",
     "- [x] ", "- a:: b ", "## Facts\n", "## Log\n", "- **09:00** ", "^id\n", "(", "→", ")", "\r\n",
     "\n\n", "    ", "|", "](", "=====\n", "- ", "x ", "$$", "\\", "> ", "\n  ", "\t", "**", "- [ab] ",
     "</PRIVATE>", "in [[N]] ", "1. ", "<<<<<<< a\n", "=======\n", ">>>>>>> b\n"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=60).map("".join))
def test_any_markup_parses_and_stays_the_same(text: str) -> None:
    note = parse(text.encode())
    assert note.text == text
    found = (*note.headings, *note.facts, *note.observations)
    assert all(0 <= thing.start <= thing.end <= len(note.body) for thing in found)
    assert all(note.body[: thing.start][-1:] in ("", "\n") for thing in found)
    assert "\\x00" not in repr(
        (note.headings, note.body_tags, note.body_links, note.blocks, note.facts)
    )


UNITS = [
    "`", "``` ` ", "[", "[[", "%%", "<!--", "#a", "- ", "\n- a [[", "a:: ", "\n    x\n", "(", "](",
    "`` ` ", "<private>", "- **09:00** a\n  b\n\n", "\n>", "* x [[a]] (", "^a ", "~~~\n", "\n=\n",
    "`a` ", "``` x ", "- [a] b (c) ", "\n- a:: b (", "[a](b) ", "\n    - x", "# a\n",
    "<<<<<<< a\n=======\n", "<<<<<<< a\n", "[[a#b]] #t1 ", "[a](b", "[a](((", "$$a\n\n", "$$ ", "\\`",
    "\\[[a]]", "> ```a\n\n", "- x\n  ```\n\ny\n", "  ```\n  ```\n", "  # x\n", "`<private>` ", "a\n---\n",
    "a ` b\n- ", "> a ` b\n", "- **09:12** x #a\n\n\n",
]  # fmt: skip

# A line's start, what is repeated, and its end.
LINES = [
    ("## Facts\n- a:: x", " ", "y"),
    ("## Facts\n- a:: x", " (→;", "y"),
    ("## Facts\n- a:: x", " (→;", ")"),
    ("## Facts\n- a:: x (→", "(", ")"),
    ("## Log\n- **09:12** x", " ", "y"),
    ("## Log\n- **09:12** x", " #a", " y"),
    ("## Log\n- **09:12** x", " #a", ""),
    ("## Log\n- **09:12** x\n", "  \n\n", "y"),
    ("- [abc] x", " ", "y"),
    ("- [abc] x ", "(", ")"),
    ("- a [[b]]", " ", "y"),
    ("- a [[", "b", ""),
    (" " * 40_000, "```a", ""),
    ("# ", " ", "\rx"),
    ("- x\n", "  ```\n  ```\n", ""),
    ("", "\\", "[[a]]"),
    ("---\na: 1\n", "--- x\n", ""),
]


@pytest.mark.parametrize(
    ("start", "unit", "end"), [*(("## Log\n", unit, "") for unit in UNITS), *LINES]
)
def test_f5_no_markup_takes_more_than_linear_time(start: str, unit: str, end: str) -> None:
    def seconds(size: int) -> float:
        raw = (start + unit * (size // len(unit)) + end).encode()
        started = time.process_time()
        parse(raw)
        return time.process_time() - started

    small, large = min(seconds(20_000) for _ in range(3)), seconds(1_000_000)
    assert large < max(0.02, small) * 50 * 4, (small, large)


def test_f5_backticks_of_every_length_take_linear_time() -> None:
    raw = ("x " + " ".join("`" * i for i in range(1, 2_000))).encode()
    started = time.process_time()
    parse(raw)
    assert time.process_time() - started < 1


def test_the_same_bytes_are_read_once_whatever_the_note_is_called() -> None:
    raw = b"---\ntype: semantic\n---\n# One\n\nSee [[Other]] #tag\n"
    one, other = parse(raw), parse(bytes(bytearray(raw)), "Folder/Name.md", {"type": "kind"})
    assert one.headings is other.headings and one.properties is other.properties
    assert (other.path, other.names, one.path) == ("Folder/Name.md", {"type": "kind"}, "")
    assert parse(raw + b"more").headings is not one.headings
