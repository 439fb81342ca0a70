from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem.surfaces import render


@dataclass(frozen=True, slots=True)
class Fact:
    subject: str
    valid_to: dt.datetime | None  # no default: the key is always there
    project: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    facts: tuple[Fact, ...]
    path: Path
    extra: MappingProxyType[str, Any]
    score: float | None = None


def test_a_result_becomes_its_fields() -> None:
    moment = dt.datetime(2026, 1, 5, 9, 40, 0, 999_999, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    answer = Answer(
        facts=(Fact("A", None), Fact("B", moment, project="Atlas")),
        path=Path("Memories") / "x.md",
        extra=MappingProxyType({"none": None, "tags": {"b", "a"}}),
    )
    assert render.plain_json(answer) == {
        "facts": [
            {"subject": "A", "valid_to": None},
            {"subject": "B", "valid_to": "2026-01-05T07:40:00Z", "project": "Atlas"},
        ],
        "path": "Memories/x.md",
        "extra": {"none": None, "tags": ["a", "b"]},
    }


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (float("nan"), None),
        (float("-inf"), None),
        (0.5, 0.5),
        (True, True),
        (7, 7),
        ("caf\udce9", "caf\ufffd"),
        ({"caf\udce9": "\ud800"}, {"caf\ufffd": "\ufffd"}),
        (dt.datetime(850, 1, 1), "0850-01-01T00:00:00Z"),
        (dt.date(2026, 1, 31), "2026-01-31"),
        ((1, [2, (3,)]), [1, [2, [3]]]),
    ],
)
def test_values(value: Any, expected: Any) -> None:
    assert render.plain_json(value) == expected


def test_not_a_number_is_left_out_where_nothing_is() -> None:
    answer = Answer((), Path("x"), MappingProxyType({}), score=float("nan"))
    assert "score" not in render.plain_json(answer)


def test_an_endless_number_can_be_printed() -> None:
    text = render.to_json({"big": 16**9000})
    assert json.loads(text)["big"].startswith("0x1000")


_leaf = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()))
    | st.datetimes()
    | st.builds(Fact, st.text(), st.none() | st.datetimes(), st.none() | st.text())
)


@given(st.recursive(_leaf, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_whatever_it_is_the_json_is_valid(value: Any) -> None:
    text = render.to_json(value)
    text.encode()
    assert json.loads(text, parse_constant=pytest.fail) == render.plain_json(value)
