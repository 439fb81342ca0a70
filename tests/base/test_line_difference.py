from __future__ import annotations

import difflib
import random
import time

from hypothesis import given
from hypothesis import strategies as st

from vaultmem.base.differences import line_difference

LINES = st.lists(st.sampled_from("aab cdé"), max_size=30)


@given(LINES, LINES)
def test_opcodes_make_one_of_the_other(a: list[str], b: list[str]) -> None:
    made, at = [], (0, 0)
    for op, i, j, k, m in line_difference.line_opcodes(a, b):
        assert (i, k) == at
        assert (a[i:j] == b[k:m]) == (op == "equal")
        assert op != "insert" or i == j
        assert op != "delete" or k == m
        made += b[k:m]
        at = j, m
    assert made == b and at == (len(a), len(b))


@given(LINES, LINES)
def test_a_unified_diff_is_the_standard_librarys_for_the_same_opcodes(
    a: list[str], b: list[str]
) -> None:
    ours = list(line_difference.unified_difference(a, b, ("one", "other")))
    assert bool(ours) == (a != b)
    if line_difference.line_opcodes(a, b) == difflib.SequenceMatcher(None, a, b).get_opcodes():
        assert ours == list(difflib.unified_diff(a, b, "one", "other", lineterm=""))


def test_small_edits_of_a_long_text_are_found_as_such() -> None:
    a = [f"line {n}" if n % 3 else "" for n in range(5000)]
    b = [*a[:1000], "new", *a[1001:4000], *a[4010:]]
    changed = [code for code in line_difference.line_opcodes(a, b) if code[0] != "equal"]
    assert changed == [("replace", 1000, 1001, 1000, 1001), ("delete", 4000, 4010, 4000, 4000)]


def test_two_long_texts_of_few_different_lines_are_compared_in_no_time() -> None:
    chance = random.Random(1)
    shapes = ["a" * 100_000, "ab" * 50_000, "".join(chance.choices("abcdefgh", k=100_000))]
    for one in shapes:
        for other in shapes:
            started = time.process_time()
            line_difference.line_opcodes(list(one), list(other[::-1] + "x"))
            assert time.process_time() - started < 3


def test_close_names_are_those_of_the_standard_library() -> None:
    names = ["Refresh tokens", "Token refresh", "Keychain", "refresh token rotation", "Atlas"]
    for wanted in ("Refresh token", "keychian", "Altas", "nothing of the kind"):
        assert line_difference.close_names(wanted, names, 3, 0.6) == difflib.get_close_matches(
            wanted, names, 3, 0.6
        )


def test_many_long_names_of_the_same_letters_take_no_time() -> None:
    started = time.process_time()
    assert line_difference.close_names("a" * 104, [f"{'a' * 100}{n}" for n in range(2999)], 3, 0.6)
    assert time.process_time() - started < 2
