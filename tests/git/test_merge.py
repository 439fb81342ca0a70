"""The pure merge: three texts in, one out."""

from __future__ import annotations

import pytest
import yaml

from tests.git.cases import CASES, ID, NOTE, Case, changed
from vaultmem.git.merge import Merged, merge_notes
from vaultmem.notes.note import parse


def frontmatter_is_valid(raw: bytes) -> bool:
    """Strictly: our own reader, and YAML 1.1, find the same properties and no markers."""
    note = parse(raw)
    if note.block is None:
        return not any(problem.kind != "conflict-markers" for problem in note.problems)
    block = note.text[slice(*note.block)]
    kinds = {problem.kind for problem in note.problems} - {"conflict-markers"}
    return not kinds and "<<<<" not in block and set(yaml.safe_load(block)) == set(note.properties)


def both_ways(case: Case) -> Merged:
    base, ours, theirs = (text.encode() for text in (case.base, case.ours, case.theirs))
    done, back = merge_notes(base, ours, theirs), merge_notes(base, theirs, ours)
    assert done == back, "the result depends on who merges"
    return done


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case(case: Case) -> None:
    done = both_ways(case)
    note = parse(done.raw)
    assert frontmatter_is_valid(done.raw), note.text
    assert case.check(note), note.text
    assert done.clean != case.clash, note.text


OTHER = "01KE6Q8Z4R9M2N4P6R7S8T9ZZZ"


def test_two_memories_of_one_name_are_never_blended() -> None:
    other = NOTE.replace(ID, OTHER).encode()
    for base in (None, NOTE.encode()):
        for mine, theirs in ((NOTE + "more\n", other), (other, NOTE + "more\n")):
            ours, yours = (t.encode() if isinstance(t, str) else t for t in (mine, theirs))
            done = merge_notes(base, ours, yours)
            assert (done.raw, done.clean, done.blended) == (ours, False, False)


def test_a_persons_note_and_a_memory_of_one_name_are_two_notes() -> None:
    assert not merge_notes(None, NOTE.encode(), b"Milk\n").blended


def test_daily_notes_made_on_both_machines_become_one() -> None:
    done = merge_notes(None, b"# Monday\n\n- milk\n", b"# Monday\n\n- bread\n")
    assert done.clean
    assert done.raw in (b"# Monday\n\n- milk\n- bread\n", b"# Monday\n\n- bread\n- milk\n")


def test_the_losing_value_is_reported() -> None:
    case = next(case for case in CASES if case.name.startswith("8"))
    assert both_ways(case).lost == ("importance: kept 0.7, not 0.9",)


def test_without_times_the_larger_value_counts_whoever_merges() -> None:
    ours, theirs = (f"---\nmood: {mood}\n---\n{mood} text\n".encode() for mood in ("calm", "merry"))
    for one, other in ((ours, theirs), (theirs, ours)):
        done = merge_notes(b"---\nmood: none\n---\nno text\n", one, other)
        assert parse(done.raw).get("mood") == "merry"
        assert done.lost == ("mood: kept merry, not calm",)


def test_unreadable_properties_are_merged_as_git_would() -> None:
    base = b"---\na: [1\n---\none\n\ntwo\n\nthree\n"
    done = merge_notes(base, base.replace(b"one", b"ONE"), base.replace(b"three", b"THREE"))
    assert (done.raw, done.clean) == (b"---\na: [1\n---\nONE\n\ntwo\n\nTHREE\n", True)


def test_binary_input_is_a_conflict_and_stays_ours() -> None:
    assert merge_notes(b"\0a", b"\0b", b"\0c") == Merged(b"\0b", False)


@pytest.mark.parametrize(
    ("favour", "kept"),
    [("ours", ["12 hours"]), ("theirs", ["48 hours"]), ("both", ["12 hours", "48 hours"])],
)
def test_a_side_can_be_favoured_where_they_clash(favour: str, kept: list[str]) -> None:
    ours = changed(NOTE, "24 hours", "12 hours", "  - tokens\n", "")
    theirs = changed(NOTE, "24 hours", "48 hours", "five", "ten")
    for swap in (False, True):
        side = {"ours": "theirs", "theirs": "ours"}.get(favour, favour) if swap else favour
        one, other = (theirs, ours) if swap else (ours, theirs)
        done = merge_notes(NOTE.encode(), one.encode(), other.encode(), favour=side)
        text = done.raw.decode()
        assert done.clean
        assert [t for t in ("12 hours", "48 hours") if t in text] == kept
        assert "ten minutes" in text
        assert "  - tokens" not in text


def test_a_side_that_changed_nothing_adds_nothing() -> None:
    assert merge_notes(NOTE.encode(), NOTE.encode(), b"other\n").raw == b"other\n"
    assert merge_notes(NOTE.encode(), b"other\n", NOTE.encode()).raw == b"other\n"


def test_what_neither_side_touched_keeps_every_byte() -> None:
    odd = "---\nzip: 00123\ntime: 12:30\nok: yes # sure\nlist: [a,  'b']\n'q': \"x\"\nn: 1\nm: 2\n---\n\n\nbody  \n\n\nend"
    done = merge_notes(
        odd.encode(), odd.replace("n: 1", "n: 3").encode(), odd.replace("m: 2", "m: 4").encode()
    )
    assert done.raw.decode() == odd.replace("n: 1", "n: 3").replace("m: 2", "m: 4")


def test_windows_line_ends_stay() -> None:
    crlf = NOTE.replace("\n", "\r\n")
    ours = changed(crlf, "24", "12", "  - tokens\r\n", "  - tokens\r\n  - ours\r\n")
    theirs = changed(crlf, "five", "ten", "  - tokens\r\n", "  - tokens\r\n  - theirs\r\n")
    done = merge_notes(crlf.encode(), ours.encode(), theirs.encode())
    assert done.clean
    assert done.raw.count(b"\n") == done.raw.count(b"\r\n")
    assert set(parse(done.raw).strings("tags")) == {"auth", "tokens", "ours", "theirs"}


def test_properties_on_one_line_stay_valid() -> None:
    base = b'---\n{"a": 1, "b": 2}\n---\none\n\ntwo\n'
    ours = base.replace(b'"a": 1', b'"a": 3')
    only = merge_notes(base, ours, base.replace(b"two", b"TWO"))
    assert (only.raw, only.clean) == (b'---\n{"a": 3, "b": 2}\n---\none\n\nTWO\n', True)
    both = merge_notes(base, ours, base.replace(b'"b": 2', b'"b": 4'))
    assert not both.clean
    assert both.lost
    assert frontmatter_is_valid(both.raw)
