"""A canvas read as Markdown: cards, groups, arrows, and whatever else a file of that name holds."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.conftest import ROOT
from tests.hostile import MARKS
from vaultmem.notes import canvas as canvases
from vaultmem.notes.canvas import canvas_note, read_canvas
from vaultmem.notes.masking import text_without_comments
from vaultmem.notes.note import Note, note_version
from vaultmem.notes.passages import passages, passages_in_context


def note_of(raw: bytes) -> Note:
    return canvas_note(read_canvas(raw), "Boards/Plan.canvas", {})


def drawn(*nodes: dict[str, Any], edges: Any = ()) -> Note:
    return note_of(json.dumps({"nodes": nodes, "edges": list(edges)}).encode())


def card(text: str, x: float = 0, y: float = 0, **more: Any) -> dict[str, Any]:
    place = {"x": x, "y": y, "width": 100, "height": 60}
    return {"id": text[:8], "type": "text", "text": text, **place, **more}


def group(label: str, x: float, y: float, width: float, height: float) -> dict[str, Any]:
    place = {"x": x, "y": y, "width": width, "height": height}
    return {"id": f"group {label}", "type": "group", "label": label, **place}


def said(note: Note) -> list[tuple[str, str]]:
    return [(passage.heading, passage.text) for passage in passages(note)]


# --- what is drawn -----------------------------------------------------------------------------


def test_each_card_is_a_passage_in_the_order_in_which_one_reads() -> None:
    note = drawn(card("third", 0, 500), card("second", 300, 10), card("# First\n\nwith more"))
    assert said(note) == [("", "# First\n\nwith more"), ("", "second"), ("", "third")]
    assert note.body == "# First\n\nwith more\n\n***\n\nsecond\n\n***\n\nthird\n"
    assert note.title == "Plan.canvas" and not note.problems and not note.properties


def test_a_label_stands_above_the_cards_inside_its_rectangle() -> None:
    note = drawn(
        group("Launch", 0, 0, 1000, 1000),
        group("Risks", 500, 500, 400, 400),
        group("Empty", 3000, 0, 100, 100),
        card("ship it", 10, 10),
        card("servers may burn", 550, 550),
        card("beside it", 2000, 10),
    )
    assert said(note) == [
        ("", "beside it"),
        ("Launch", "ship it"),
        ("Launch › Risks", "servers may burn"),
        ("", "Empty"),
    ]
    headings = [(heading.level, heading.text) for heading in note.headings]
    assert headings == [(2, "Launch"), (3, "Risks"), (2, "Empty")]


def test_a_card_belongs_to_a_group_by_its_middle() -> None:
    frame = group("Launch", 0, 0, 1000, 1000)
    note = drawn(frame, card("mostly in", 940, 10), card("mostly out", 960, 10))
    assert said(note) == [("", "mostly out"), ("Launch", "mostly in")]


def test_a_long_card_is_cut_under_its_own_headings() -> None:
    text = "# Why\n\n" + "Because it is so. " * 60 + "\n\n# How\n\n" + "Like this. " * 60
    found = said(drawn(group("Launch", 0, 0, 500, 500), card(text, 10, 10), card("next", 10, 200)))
    assert {heading for heading, _ in found} == {"Launch › Why", "Launch › How", "Launch"}
    assert found[-1] == ("Launch", "next")


def test_an_arrow_is_said_with_what_it_joins() -> None:
    note = drawn(
        card("## Ship the *beta*\n\nsoon", id="a"),
        {"id": "b", "type": "file", "file": "Notes/Feedback.md"},
        group("Later", 900, 900, 10, 10),
        edges=[
            {"fromNode": "a", "toNode": "b", "label": "after two\nweeks"},
            {"fromNode": "b", "toNode": "a"},
            {"fromNode": "a", "toNode": "group Later", "fromEnd": "arrow", "label": "or"},
            {"fromNode": "gone", "toNode": "gone too", "label": "nothing at its ends"},
            {"fromNode": "gone", "toNode": "a"},
        ],
    )
    arrows = [text for _, text in said(note)][-3:]
    assert arrows == [
        "Ship the *beta* → Feedback: after two weeks",
        "Ship the *beta* ↔ Later: or",
        "… → …: nothing at its ends",
    ]
    assert "- Feedback → Ship the *beta*\n" in note.body  # for a reader, though no passage


def test_the_meaning_of_an_arrow_is_that_of_its_label() -> None:
    """Else what it joins would be found by the arrow, and not by the card."""
    edges = [{"fromNode": "a", "toNode": "a", "label": "why: it rains"}]
    note = drawn(card("Lanterns: hang them", id="a"), edges=edges)
    found = passages(note)
    assert found[-1].text == "Lanterns hang them → Lanterns hang them: why: it rains"
    assert passages_in_context(note, found)[-1] == "Plan.canvas\nwhy: it rains"


def test_files_links_and_tags_are_the_canvas_s_own() -> None:
    note = drawn(
        card("Ask [[Dana]] about #launch/beta"),
        {"type": "file", "file": "Notes/X.md", "subpath": "#Why", "x": 0, "y": 9},
        {"type": "file", "file": "Files/a  b.png"},
        {"type": "file", "file": "odd]] name|.md"},
        {"type": "link", "url": "https://example.org/a#b"},
        group("#risky", 900, 900, 10, 10),
    )
    links = [(link.target, link.anchor) for link in note.links]
    assert links == [("Dana", ""), ("Notes/X", "Why"), ("Files/a  b.png", "")]
    assert note.tags == ("launch/beta", "risky")
    files = "- [[Notes/X#Why]]\n- [[Files/a  b.png]]\n- odd]] name|.md\n- https://example.org/a#b"
    assert ("", files) in said(note)


def test_moving_a_card_without_effect_is_no_new_version() -> None:
    one, other = drawn(card("a", 0, 0), card("b", 0, 9)), drawn(card("a", 1, 2), card("b", 5, 70))
    assert note_version(one.raw) == note_version(other.raw)


def test_the_example_in_the_docs_reads_so() -> None:
    page = (ROOT / "docs" / "note-format.md").read_text()
    drawing = page.partition('```json\n{"nodes"')[2].partition("```")[0]
    shown = page.partition("as Markdown:\n\n```text\n")[2].partition("```")[0]
    assert read_canvas(f'{{"nodes"{drawing}'.encode()).raw.decode() == shown != ""


# --- what stays hidden, and what is no more than it looks --------------------------------------


def test_private_and_comments_stay_out_of_everything() -> None:
    hidden = "<private>key 12</private> and %%not yet%% and <!-- nor this -->"
    note = drawn(
        card(f"seen {hidden} too"),
        group(f"Group <private>{hidden}", 0, 0, 500, 500),
        card("open <private>to the end of the card", 0, 99),
        card("and the next is seen", 0, 200),
        edges=[{"fromNode": "seen <pr", "toNode": "seen <pr", "label": f"label {hidden}"}],
    )
    for word in ("key", "12", "not yet", "nor this", "to the end"):
        assert word not in note.text
    assert ("Group", "and the next is seen") in said(note)


@pytest.mark.parametrize(
    "open_",
    ["```py\n# x", "~~~~\n<private>", "%% never", "<!-- never", "<private key", "$$", "- a"],
)
def test_what_one_card_opens_the_next_does_not_close(open_: str) -> None:
    others = ["shown #one", "%% --> </private> ```", "shown #two", "$$ `", "shown #three"]
    note = drawn(card(open_), *(card(text, 0, 100 * n) for n, text in enumerate(others, 1)))
    assert note.tags == ("one", "two", "three")
    assert [text for _, text in said(note) if "shown" in text] == others[::2]


@pytest.mark.parametrize("text", ["---\nuser: ann\n---\nhello", "\ufeff---\nuser: ann\n---\nhello"])
def test_a_card_is_not_taken_for_properties(text: str) -> None:
    note = drawn(card(text))
    assert note.block is None and not note.properties and "hello" in note.body


def test_a_card_about_git_is_no_unfinished_merge() -> None:
    assert not drawn(card("<<<<<<< HEAD\na\n=======\nb\n>>>>>>> main")).problems


def test_a_drawing_has_no_facts_and_no_journal() -> None:
    lines = "## Facts\n\n- uses:: [[Keychain]]\n\n## Log\n\n- **09:12** note: a ^f-abcd\n- [idea] b"
    note = drawn(card(lines))
    assert (note.facts, note.observations) == ((), ())
    assert said(note) == [("", lines)]


# --- what else may be in such a file -----------------------------------------------------------


@pytest.mark.parametrize("raw", [b"", b" \n", b"{}", b"\xef\xbb\xbf{}", b'{"nodes":[],"edges":[]}'])
def test_an_empty_canvas_is_no_problem(raw: bytes) -> None:
    note = note_of(raw)
    assert (note.text, note.problems, said(note)) == ("", (), [])


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b'{"nodes": [\n{"id"', "Line 2: this canvas is not valid JSON, so it cannot be read."),
        (b"[1]", "This canvas cannot be read: it is no object with nodes and edges."),
        (b"\xff\xfe\0\1", "This canvas is not UTF-8 text, so it cannot be read."),
        (b"[" * 200_000, "This canvas cannot be read: it is nested too deeply."),
        (b"<<<<<<< HEAD\n{}\n=======\n", "This canvas has git's conflict markers in it"),
        (b'{"x": ' + b"9" * 5000 + b"}", "This canvas cannot be read"),
    ],
)
def test_what_cannot_be_read_is_said(raw: bytes, message: str) -> None:
    note = note_of(raw)
    assert [problem.kind for problem in note.problems] == ["malformed-canvas"]
    assert note.problems[0].message.startswith(message)
    assert said(note) == [] and note.problems[0].message in note.text


def test_what_is_odd_is_left_out_and_said() -> None:
    nodes: list[Any] = [
        None,
        7,
        {},
        {"type": "text", "text": 5},
        {"type": 1},
        card("good \0 \ud800"),
    ]
    nodes += [{"type": "portal", "text": "of a plugin"}, card("nowhere", "left", None)]  # type: ignore[arg-type]
    raw = json.dumps({"nodes": nodes, "edges": {"a": 1}}).encode()
    note = note_of(raw)
    assert [problem.kind for problem in note.problems] == ["malformed-canvas"]
    assert [text for _, text in said(note)] == ["good \ufffd \ufffd", "nowhere"]


def test_a_plugin_s_own_kind_of_node_is_no_problem() -> None:
    assert not drawn({"type": "portal", "id": "p"}, card("a")).problems


@pytest.mark.parametrize(
    "make",
    [
        lambda: {"nodes": [card("a" * 50) for _ in range(1_000_000 // 100)]},
        lambda: {"nodes": [group(f"g{n}", 0, 0, 9 * n, 9 * n) for n in range(20_000)]},
        lambda: {"nodes": [*[group("g", 0, 0, 1e6, 1e6)] * 2_500, *[card("a", 5, 5)] * 2_500]},
        lambda: {"nodes": [card("a")], "edges": [{"fromNode": "a", "toNode": "a"}] * 60_000},
        lambda: {"nodes": [card("word " * 700_000)]},
        lambda: {"nodes": [[]] * 1_300_000},
        lambda: {"nodes": [card("a")] * 200_000},
    ],
)
def test_a_canvas_of_millions_is_bounded(make: Any) -> None:
    raw = json.dumps(make(), separators=(",", ":")).encode()
    started = time.process_time()
    note = note_of(raw)
    cut = passages(note)
    assert time.process_time() - started < 20
    assert len(cut) <= canvases.MOST_NODES + canvases.MOST_ARROWS + 5_000
    known = {"large-canvas", "malformed-canvas"}
    assert {problem.kind for problem in note.problems} <= known
    if len(raw) > canvases.MOST_CANVAS_BYTES:
        assert not cut and note.problems


_PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
_LISTS = st.lists(_PLAIN | st.lists(_PLAIN, max_size=3), max_size=4)
_KEYS = st.sampled_from(["nodes", "edges", "id", "type", "text"])
_VALUES = _PLAIN | _LISTS | st.dictionaries(_KEYS, _PLAIN | _LISTS)
_NAMES = st.sampled_from(["a", "b", "c"])
_TEXTS = st.lists(st.sampled_from(MARKS) | st.text(max_size=5), max_size=8).map("".join)
_PLACES = st.integers() | st.floats() | st.none() | st.text(max_size=2)
_KINDS = st.sampled_from(["text", "file", "link", "group", "portal"])
_NODE = st.fixed_dictionaries(
    {"type": _KINDS | _VALUES},
    optional={
        **dict.fromkeys(("text", "file", "url", "label", "subpath"), _TEXTS | _VALUES),
        **dict.fromkeys(("x", "y", "width", "height"), st.integers(0, 50) | _PLACES),
        "id": _NAMES | _VALUES,
    },
)
_EDGE = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("fromNode", "toNode"), _NAMES | _VALUES),
        "label": _TEXTS | _VALUES,
        "fromEnd": st.sampled_from(["arrow", "none"]) | _VALUES,
    },
)
_CANVAS = st.fixed_dictionaries(
    {}, optional={"nodes": st.lists(_NODE | _VALUES), "edges": st.lists(_EDGE | _VALUES)}
)


@given(_CANVAS | _VALUES)
def test_any_json_is_read_and_every_card_stands_alone(data: Any) -> None:
    note = note_of(json.dumps(data).encode())
    seen = text_without_comments(note.body)
    for each in note.cards:
        assert seen[each.start : each.end] == note.body[each.start : each.end]
    assert not note.properties and "\0" not in note.text
    assert {problem.kind for problem in note.problems} <= {"malformed-canvas"}
    for passage in passages(note):
        assert any(c.start <= passage.start and passage.end <= c.end for c in note.cards)


@given(st.binary(max_size=200))
@example(b'{"nodes":[{"type":"text","text":"a\xff"}]}')
def test_any_bytes_are_read(raw: bytes) -> None:
    note = note_of(raw)
    assert note.problems or not note.text
    assert note.path == "Boards/Plan.canvas"
