"""The plan, without a disk."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vaultmem.base.file_stamps import FileStamp
from vaultmem.index import KnownNote
from vaultmem.indexing.changes import DepartedNotes, compare_stamps, does_vault_look_emptied

A, B = FileStamp(1, 1, 1), FileStamp(2, 1, 1)


def test_stamps_filter() -> None:
    look = compare_stamps(
        {"same": A, "new time": A, "gone": A}, {"same": A, "new time": B, "added": A}
    )
    assert look.suspects == {"new time": B, "added": A}
    assert look.missing == ("gone",)


def test_what_could_not_be_seen_is_not_missing() -> None:
    known = {"a/x": A, "a/b/y": A, "ab/z": A, "w": A}
    assert compare_stamps(known, {}, ["a"]).missing == ("ab/z", "w")
    assert compare_stamps(known, {}, ["a/"]).missing == ("ab/z", "w")
    assert compare_stamps(known, {}, [""]).missing == ()


def test_a_note_moves_by_id_then_by_bytes() -> None:
    missing = {
        "old1": KnownNote(A, "v1", "ID1"),
        "old2": KnownNote(A, "v2", ""),
        "old3": KnownNote(A, "v3", "ID3"),
    }
    departed, left = DepartedNotes(missing), dict.fromkeys(missing)
    arrived = (
        (("v1 edited", "ID1"), "old1"),
        (("v2", ""), "old2"),
        (("v2", ""), None),  # a copy
        (("v9", "ID9"), None),
    )
    for identity, old in arrived:
        assert departed.find(*identity, left) == old
        left.pop(old or "", None)


def test_two_notes_of_the_same_bytes_both_move() -> None:
    same = KnownNote(A, "v", "")
    departed, left = DepartedNotes({"a": same, "b": same}), {"a", "b"}
    for _ in range(2):
        left.remove(departed.find("v", "", left) or "")
    assert not left


stats = st.builds(FileStamp, st.integers(0, 2), st.integers(0, 2), st.just(1), st.integers(0, 1))
listings = st.dictionaries(st.sampled_from("abcdef"), stats)


@given(listings, listings)
def test_the_plan_turns_one_listing_into_the_other(
    known: dict[str, FileStamp], seen: dict[str, FileStamp]
) -> None:
    look = compare_stamps(known, seen)
    result = {p: s for p, s in known.items() if p not in look.missing} | look.suspects
    assert result == seen
    assert all(known.get(path) != stamp for path, stamp in look.suspects.items())


def test_an_empty_vault_is_suspicious() -> None:
    assert does_vault_look_emptied(5, 0)
    assert not does_vault_look_emptied(0, 0)
    assert not does_vault_look_emptied(5, 1)
