"""JSON edited in place: whatever the file looks like, only the wanted part changes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from vaultmem.clients import json_edit

ENTRY = {"command": "/opt/vaultmem", "args": ["serve", "--vault", "/home/me/Brain"]}
PATH = ("mcpServers", "vaultmem")


def inserted(text: str) -> str:
    return json_edit.set_json_value(text, PATH, ENTRY)


# --- how it looks --------------------------------------------------------------------------

LOOKS = {
    "a fresh object": (
        "{}\n",
        """{
  "mcpServers": {
    "vaultmem": {
      "command": "/opt/vaultmem",
      "args": ["serve", "--vault", "/home/me/Brain"]
    }
  }
}
""",
    ),
    "the indentation is taken over": (
        '{\n\t"theme": "dark",\n\t"mcpServers": {\n\t\t"a": {}\n\t}\n}',
        (
            '{\n\t"theme": "dark",\n\t"mcpServers": {\n\t\t"a": {},\n\t\t"vaultmem": {\n'
            '\t\t\t"command": "/opt/vaultmem",\n'
            '\t\t\t"args": ["serve", "--vault", "/home/me/Brain"]\n\t\t}\n\t}\n}'
        ),
    ),
    "trailing commas are taken over, comments stay": (
        """{
    // servers
    "mcpServers": {
        "a": {}, // mine
        /* "b": {}, */
    },
}
""",
        """{
    // servers
    "mcpServers": {
        "a": {}, // mine
        /* "b": {}, */
        "vaultmem": {
            "command": "/opt/vaultmem",
            "args": ["serve", "--vault", "/home/me/Brain"]
        },
    },
}
""",
    ),
    "the comma goes before the comment": (
        '{\n  "mcpServers": {\n    "a": 1 // one\n  }\n}',
        (
            '{\n  "mcpServers": {\n    "a": 1, // one\n    "vaultmem": {\n'
            '      "command": "/opt/vaultmem",\n'
            '      "args": ["serve", "--vault", "/home/me/Brain"]\n    }\n  }\n}'
        ),
    ),
    "one line stays one line": (
        '{"a":1,"mcpServers":{"b":{}}}',
        (
            '{"a":1,"mcpServers":{"b":{}, "vaultmem": {"command": "/opt/vaultmem", '
            '"args": ["serve", "--vault", "/home/me/Brain"]}}}'
        ),
    ),
    "Windows line ends": (
        '{\r\n  "mcpServers": {}\r\n}\r\n',
        (
            '{\r\n  "mcpServers": {\r\n    "vaultmem": {\r\n'
            '      "command": "/opt/vaultmem",\r\n'
            '      "args": ["serve", "--vault", "/home/me/Brain"]\r\n    }\r\n  }\r\n}\r\n'
        ),
    ),
}


@pytest.mark.parametrize("name", LOOKS)
def test_an_insertion_looks_as_its_surroundings_do(name: str) -> None:
    before, after = LOOKS[name]
    assert inserted(before) == after


@pytest.mark.parametrize("name", LOOKS)
def test_removing_gives_back_every_byte(name: str) -> None:
    before, after = LOOKS[name]
    made = PATH[: 1 if "mcpServers" not in before else 2]
    assert json_edit.remove_json_value(after, made) == before


def test_a_value_that_is_there_is_replaced_alone() -> None:
    text = inserted('{"mcpServers": {"vaultmem": {"env": {"A": "b"}, "command": "old"}}} // end')
    assert json_edit.set_json_value(text, (*PATH, "command"), "new") == text.replace(
        "/opt/vaultmem", "new"
    )


def test_a_comment_before_what_goes_does_not_swallow_what_follows() -> None:
    text = '{"a": 1, // one\n "b": 2}'
    left = json_edit.remove_json_value(text, ("b",))
    assert "// one" in left
    assert json_edit.parse_jsonc(left).plain == {"a": 1}
    assert json_edit.parse_jsonc(
        json_edit.remove_json_value('{// x\n"a": 1, "b": 2}', ("a",))
    ).plain == {"b": 2}


# --- what is broken ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "line 1, column 1"),
        ("{", "line 1, column 2"),
        ('{\n  "a": 1\n  "b": 2\n}', "line 3, column 3"),
        ('{\n  "a" 1}', "line 2, column 7"),
        ("{'a': 1}", "line 1, column 2"),
        ('{"a": tru}', "line 1, column 7"),
        ('{"a": 01}', "line 1, column 7"),
        ('{"a": "x\n"}', "line 1, column 9"),
        ('{"a": 1}}', "line 1, column 9"),
        ('{"a": [1,, 2]}', "line 1, column 10"),
        ("{,}", "line 1, column 2"),
        ('{"a": 1 /* }', "line 1, column 9"),
        ("[" * 1000, "line 1, column 101"),
        ('{"a": NaN}', "line 1, column 7"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(text: str, where: str) -> None:
    with pytest.raises(json_edit.MalformedJson) as raised:
        json_edit.parse_jsonc(text)
    assert raised.value.where == where


def test_equal_names_are_noticed() -> None:
    root = json_edit.parse_jsonc('{"mcpServers": {}, "mcpServers": {"a": 1}}')
    assert json_edit.is_key_repeated(root, PATH)
    assert not json_edit.is_key_repeated(
        json_edit.parse_jsonc('{"mcpServers": {"a": 1, "a": 2}}'), PATH
    )
    found = json_edit.find_value(root, ("mcpServers",))
    assert found is not None
    assert found.plain == {"a": 1}


# --- any file ------------------------------------------------------------------------------

names = st.sampled_from(["mcpServers", "vaultmem", "a", 'q"\\', "é\u2028", "", "/*"])
plain = st.recursive(
    st.one_of(st.none(), st.integers(), st.sampled_from([True, 0.5, -1e300, "a", "// \n"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=2),
    max_leaves=5,
)
pieces = ("", " ", "\n", "\r\n", "\t", "\n  ", "/* } , */", "// ] , x\n", "/**/")
blanks = st.sampled_from([a + b for a in pieces for b in pieces])


@st.composite
def written(draw: st.DrawFn, value: Any) -> str:
    """The value as somebody may have written it."""
    if not isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)
    is_object = isinstance(value, dict)
    parts = []
    for key in value:
        name = f"{draw(blanks)}{json.dumps(key)}{draw(blanks)}:" if is_object else ""
        each = value[key] if is_object else key
        parts.append(f"{name}{draw(blanks)}{draw(written(each))}{draw(blanks)}")
    end = "," + draw(blanks) if parts and draw(st.booleans()) else ""
    body = ",".join(parts) + end if parts else draw(blanks)
    return "{" + body + "}" if is_object else "[" + body + "]"


@st.composite
def files(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    value = draw(st.dictionaries(names, plain, max_size=4))
    if draw(st.booleans()):
        value["mcpServers"] = draw(st.dictionaries(names, plain, max_size=3))
    return draw(blanks) + draw(written(value)) + draw(blanks), value


@given(files())
def test_any_file_is_read_as_it_is_meant(file: tuple[str, dict[str, Any]]) -> None:
    text, value = file
    assert json_edit.parse_jsonc(text).plain == value


@given(files())
def test_any_file_is_the_same_after_install_and_uninstall(file: tuple[str, dict[str, Any]]) -> None:
    text, value = file
    servers = value.get("mcpServers", {})
    assume(isinstance(servers, dict) and "vaultmem" not in servers)
    edited = inserted(text)
    expected = {**value, "mcpServers": {**servers, "vaultmem": ENTRY}}
    assert json_edit.parse_jsonc(edited).plain == expected
    back = json_edit.remove_json_value(edited, PATH if "mcpServers" in value else PATH[:1])
    assert json_edit.parse_jsonc(back).plain == value
    if servers if "mcpServers" in value else value:
        assert back == text


@given(files(), st.data())
def test_removing_anything_leaves_all_the_rest(
    file: tuple[str, dict[str, Any]], data: st.DataObject
) -> None:
    text, value = file
    assume(value)
    key = data.draw(st.sampled_from(sorted(value)))
    left = json_edit.remove_json_value(text, (key,))
    assert json_edit.parse_jsonc(left).plain == {k: v for k, v in value.items() if k != key}
    gone = json_edit.parse_jsonc(text).items[list(value).index(key)]
    for comment in ("/* } , */", "// ] , x"):
        kept = text.count(comment) - text[gone.start : gone.end].count(comment)
        assert left.count(comment) == kept


@given(files(), plain)
def test_a_list_grows_at_its_end_and_shrinks_again(
    file: tuple[str, dict[str, Any]], new: Any
) -> None:
    text, value = file
    lists = [key for key, each in value.items() if isinstance(each, list) and each]
    assume(lists)
    grown = json_edit.append_json_item(text, (lists[0],), new)
    assert json_edit.parse_jsonc(grown).plain == {**value, lists[0]: [*value[lists[0]], new]}
    assert json_edit.remove_json_value(grown, (lists[0], len(value[lists[0]]))) == text
