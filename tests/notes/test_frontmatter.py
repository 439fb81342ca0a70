"""Reading and printing frontmatter values: rules F2, F3, F5."""

from __future__ import annotations

import datetime as dt
import json
import time

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from tests.conftest import FIXTURES
from vaultmem.errors import InvalidInput
from vaultmem.notes import frontmatter
from vaultmem.notes.frontmatter import MalformedFrontmatter, read_frontmatter
from vaultmem.notes.yaml_writer import render_yaml, render_yaml_property


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("12:30", "12:30"),
        ("012", 12),
        ("00123", 123),
        ("1_000", "1_000"),
        ("1e3", 1000.0),
        ("2020-08-21", "2020-08-21"),
        ("2020-08-21T10:30:00", "2020-08-21T10:30:00"),
        ("1234E567", "1234E567"),
        ("0o17", 15),
        ("0x1F", 31),
        ("true", True),
        ("True", True),
        ("~", None),
        ("", None),
        ('"12"', "12"),
        ("'yes'", "yes"),
        ("!!str 12", "12"),
        ("!!int 12", 12),
        ("[[X]]", [["X"]]),
        ('"[[X]]"', "[[X]]"),
        ("{a: 1}", {"a": 1}),
        ("{{date}}", None),
        ("<<", "<<"),
        ("=", "="),
    ],
)
def test_f2_values_have_obsidians_meaning(text: str, value: object) -> None:
    if text == "{{date}}":
        with pytest.raises(MalformedFrontmatter):
            read_frontmatter(f"k: {text}\n")
        return
    result = read_frontmatter(f"k: {text}\n")["k"]
    assert result == value
    assert type(result) is type(value)


def test_f2_keys_are_text() -> None:
    assert read_frontmatter("on: 1\n1: x\ntrue: y\ncontent: z\nhandler: h\n") == {
        "on": 1,
        "1": "x",
        "true": "y",
        "content": "z",
        "handler": "h",
    }


@pytest.mark.parametrize("text", ["a: 1\na: 2\n", "x: {a: 1, a: 2}\n", "a: 1\nb:\n  - z\na:\n"])
def test_f2_a_duplicate_key_is_never_resolved(text: str) -> None:
    with pytest.raises(MalformedFrontmatter) as caught:
        read_frontmatter(text)
    assert caught.value.kind == "duplicate-key"


@pytest.mark.parametrize(
    "text",
    ["a: [1\n", "a: b: c\n", "\ta: 1\n", "- a\n- b\n", "just text\n", "a: !x y\n", "? [a]\n: b\n"],
)
def test_f2_what_is_no_mapping_is_malformed(text: str) -> None:
    with pytest.raises(MalformedFrontmatter) as caught:
        read_frontmatter(text)
    assert caught.value.kind == "malformed-frontmatter"


def test_the_line_of_a_mistake_counts_from_the_top_of_the_file() -> None:
    with pytest.raises(MalformedFrontmatter) as caught:
        read_frontmatter("a: 1\nb: c: d\n")
    assert caught.value.line == 3


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{b}: &{b} [*{a},*{a},*{a},*{a},*{a},*{a},*{a},*{a},*{a}]\n"
    for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        "a: &a [*a]\n",
        "a: " + "[" * 30_000,
        "a: " + "[" * 30_000 + "]" * 30_000,
        "a: " + "{a: " * 20_000,
        "a:\n  " + "- " * 30_000,
        "? " * 30_000,
        "".join(" " * i + "a:\n" for i in range(400)),
        "a: " + "x" * 10_000_000,
        "a: \x00\n",
        "a: \ud800\n",
        "a: \x1b\n",
    ],
    ids=lambda text: repr(text[:12]),
)
def test_f5_hostile_yaml_is_refused_quickly(text: str) -> None:
    started = time.process_time()
    with pytest.raises(MalformedFrontmatter):
        read_frontmatter(text)
    assert time.process_time() - started < 2


def test_an_ordinary_alias_is_followed() -> None:
    assert read_frontmatter("a: &x [1, 2]\nb: *x\n") == {"a": [1, 2], "b": [1, 2]}


FRAGMENTS = st.sampled_from(
    [
        "a",
        "tags",
        "b-c",
        ":",
        ": ",
        '"',
        "\\",
        "- ",
        "  - ",
        "x",
        "12:30",
        "yes",
        "1e3",
        "#",
        " #",
        "é",
        "😀",
        "null",
        "~",
        "[",
        "]",
        "{",
        "}",
        ",",
        "&",
        "*",
        "!",
        "'",
        "%",
        "@",
        "`",
        "\t",
        " ",
        "0x1f\n    ",
        "---",
        "...",
        "-",
        "?",
        "\x85",
        "\u2028",
        "\ufeff",
        "=",
        "<<",
        ".5",
        "_",
        "/",
        ".inf",
        "true",
        "{{date}}",
    ]
)
LINES = st.one_of(
    st.builds("{}: {}".format, st.sampled_from(["a", "b", "tags", "x-y", "A"]), FRAGMENTS),
    st.builds("{}:".format, st.sampled_from(["c", "d", "e"])),
    st.builds("  - {}".format, FRAGMENTS),
    st.builds('k: "{}"'.format, FRAGMENTS),
    st.lists(FRAGMENTS, max_size=4).map("".join),
)


@given(st.lists(LINES, max_size=6).map("\n".join))
@example("k:\n  - k:\n")
@example("a: b\n  - c\n")
def test_the_fast_reader_answers_as_the_full_one_or_not_at_all(text: str) -> None:
    fast = frontmatter.read_simple_frontmatter(text)
    if fast is None:
        return
    full = frontmatter.read_yaml_frontmatter(text)
    assert repr(fast) == repr(full)


def test_the_fast_reader_reads_ordinary_notes() -> None:
    text = 'id: 01X\ntags:\n  - a\n  - "b c"\nempty:\ncreated: 2026-01-05T09:40:00\nn: 0.8\n'
    assert frontmatter.read_simple_frontmatter(text) == {
        "id": "01X",
        "tags": ["a", "b c"],
        "empty": None,
        "created": "2026-01-05T09:40:00",
        "n": 0.8,
    }


# --- printing ------------------------------------------------------------------------

# Where we print differently on purpose: both dialects must read the text back, so edges
# of blank and exponents are written in a form that YAML 1.1 understands too.
OWN_WAY = ["=", "<<", "---", "...", "--- x", "\na", "a \nb", 1e21, 1e-7, 1.5e-9]


def _reads_the_same(text: str, value: object) -> bool:
    try:
        return bool(yaml.safe_load(text)["k"] == value)
    except yaml.YAMLError:
        return False


@pytest.mark.parametrize(
    ("value", "obsidian", "in_list"),
    [tuple(row) for row in json.loads((FIXTURES / "obsidian-yaml.json").read_text("utf-8"))],
    ids=lambda value: repr(value)[:20],
)
def test_f3_prints_what_obsidians_library_prints(
    value: object, obsidian: str, in_list: str | None
) -> None:
    if value in OWN_WAY or not _reads_the_same(obsidian, value):
        return
    assert render_yaml_property("k", value) + "\n" == obsidian  # type: ignore[arg-type]
    if in_list:
        assert render_yaml_property("k", [value, "z"]) + "\n" == in_list


@given(st.text(st.characters(exclude_categories=["Cs"])))
@example("a\n\n")
@example(" \n")
@example("\u2028")
@example("a\r\nb")
@example("\ufeff")
@example("a\tb")
def test_f3_any_text_reads_back_in_both_dialects(text: str) -> None:
    for value in (text, [text, text]):
        printed = render_yaml_property("k", value) + "\n"
        assert read_frontmatter(printed) == {"k": value}
        assert yaml.safe_load(printed) == {"k": value}


@given(st.one_of(st.integers(-(10**20), 10**20), st.floats(allow_nan=False, allow_infinity=False)))
def test_f3_any_number_reads_back_in_both_dialects(number: float) -> None:
    printed = render_yaml_property("k", number) + "\n"
    assert read_frontmatter(printed) == {"k": number}
    assert yaml.safe_load(printed) == {"k": number}


def test_dates_are_plain_and_in_utc() -> None:
    zone = dt.timezone(dt.timedelta(hours=2))
    assert render_yaml(dt.datetime(2026, 1, 5, 11, 40, tzinfo=zone)) == "2026-01-05T09:40:00"
    assert render_yaml(dt.date(2026, 6, 1)) == "2026-06-01"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800", object(), [["x"]], [{}]])
def test_what_a_property_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput):
        render_yaml_property("k", value)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 1001])
def test_a_property_needs_a_usable_name(name: str) -> None:
    with pytest.raises(InvalidInput):
        render_yaml_property(name, 1)
