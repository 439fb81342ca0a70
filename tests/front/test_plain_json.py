from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem.front import plain_json

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)  # fmt: skip


@given(values)
def test_what_is_written_is_read_by_both(value: Any) -> None:
    text = plain_json.written(value)
    assert json.loads(text) == value
    assert plain_json.parsed(text) == value
    assert plain_json.parsed(f" {json.dumps(value, indent=1)}\r\n") == value


def refuse(name: str) -> None:
    raise ValueError(name)


@given(st.text(max_size=40))
def test_what_is_refused_by_one_is_refused_by_the_other(text: str) -> None:
    try:
        expected = json.loads(text.strip(plain_json.BLANK), parse_constant=refuse)
    except ValueError:
        with pytest.raises(ValueError, match=r"."):
            plain_json.parsed(text)
    else:
        assert repr(plain_json.parsed(text)) == repr(expected)


@pytest.mark.parametrize("text", ["", "NaN", "[" * 100_000, '{"a":1}{', "nul", "[1,]", '{"a" 1}'])
def test_rubbish_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        plain_json.parsed(text)
