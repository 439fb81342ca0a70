"""One table of a TOML file, edited in place."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem.clients import toml_edit

PATH = ("mcp_servers", "vaultmem")
ENTRY = {"command": "/opt/vaultmem", "args": ["serve", "--vault", "/home/me/Brain"]}
TABLE = """[mcp_servers.vaultmem]
command = "/opt/vaultmem"
args = ["serve", "--vault", "/home/me/Brain"]
"""

# A header in a text, in an array and in a comment; quotes in quotes; all that looks like an end.
AWKWARD = '''# settings
model = "o#3" # [not.a.table]
text = """
[mcp_servers.vaultmem]
x = "1" \\"""
"""
literal = \'\'\'
[mcp_servers.vaultmem]\'\'\'
list = [
  "[a]", # ]
  [ { x = 1, y = ["]"] } ],
]
[mcp_servers."other one"] # mine
command = 'C:\\bin\\x.exe'
  [ mcp_servers . third . env ]
  A.b = "1"
[[projects]]
path = "/a"
[[projects]]
path = "/b"
'''


def test_a_table_is_put_at_the_end_and_taken_away_again() -> None:
    for text in (
        AWKWARD,
        "",
        "a = 1\n",
        "a = 1",
        "a = 1\n\n",
        "# only a comment",
        "[x]\r\na = 1\r\n",
    ):
        edited = toml_edit.set_toml_table(text, PATH, ENTRY)
        assert edited.startswith(text)
        assert tomllib.loads(edited)["mcp_servers"]["vaultmem"] == ENTRY
        assert toml_edit.remove_toml_table(edited, PATH) == text
    assert toml_edit.set_toml_table("", PATH, ENTRY) == TABLE
    assert toml_edit.set_toml_table("a = 1\n", PATH, ENTRY) == "a = 1\n\n" + TABLE


def test_statements_are_told_apart() -> None:
    found = toml_edit.toml_statements(AWKWARD)
    assert [each.path for each in found if each.value is None] == [
        ("mcp_servers", "other one"),
        ("mcp_servers", "third", "env"),
        ("projects", "[[]]"),
        ("projects", "[[]]"),
    ]
    assert found[0].path == ("model",)
    assert found[7].path == ("mcp_servers", "third", "env", "A", "b")
    start, end = found[0].value or (0, 0)
    assert AWKWARD[start:end] == '"o#3"'


def test_a_table_in_the_middle_changes_only_where_it_differs() -> None:
    text = (
        "a = 1\n\n[mcp_servers.vaultmem] # memory\n# the old place\ncommand = '/old'  # moved\n"
        'startup_timeout_sec = 20\nenv = { A = "1" }\n\n# another\n[other]\nb = 2\n'
    )
    edited = toml_edit.set_toml_table(text, PATH, ENTRY)
    assert edited == text.replace("'/old'", '"/opt/vaultmem"').replace(
        'env = { A = "1" }\n', 'env = { A = "1" }\nargs = ["serve", "--vault", "/home/me/Brain"]\n'
    )
    assert toml_edit.set_toml_table(edited, PATH, ENTRY) == edited
    assert toml_edit.remove_toml_table(edited, PATH) == "a = 1\n\n# another\n[other]\nb = 2\n"


def test_tables_below_go_with_it() -> None:
    text = f"{TABLE}\n[mcp_servers.vaultmem.env]\nA = '1'\n\n[x]\n\n[mcp_servers.vaultmem.tools.y]\nb = 1"
    assert toml_edit.remove_toml_table(text, PATH) == "\n[x]"


def test_a_table_without_a_line_end_gets_its_missing_key() -> None:
    text = "[mcp_servers.vaultmem]\ncommand = '/opt/vaultmem'"
    edited = toml_edit.set_toml_table(text, PATH, ENTRY)
    assert edited == text + '\nargs = ["serve", "--vault", "/home/me/Brain"]'


@pytest.mark.parametrize("path", ["C:\\Users\\me\\x", "/a 'b' \"c\"", "/é/中\x7f\u2028", "/tab\t"])
def test_any_path_is_written_so_that_it_is_read_again(path: str) -> None:
    edited = toml_edit.set_toml_table("", PATH, {"command": path, "args": [path]})
    assert tomllib.loads(edited)["mcp_servers"]["vaultmem"] == {"command": path, "args": [path]}


lines = st.sampled_from(
    [
        *("# note\n", "\n", "\r\n", "  \n", "# [mcp_servers.vaultmem]\n"),
        *('s{n} = """\n[x]\n"""\n', "l{n} = [1, # ]\n 2]\r\n", "i{n} = {{ a = '#' }} # c\n"),
        *("k{n}.x = 1\n", "[t{n}]\n", "[t{n}.'a.b'] # [\n", "[[list]]\n", "  [mcp_servers.s{n}]\n"),
    ]
)


@st.composite
def files(draw: st.DrawFn) -> str:
    body = "".join(line.format(n=n) for n, line in enumerate(draw(st.lists(lines, max_size=12))))
    return body.removesuffix("\n").removesuffix("\r") if draw(st.booleans()) else body


@given(files())
def test_any_file_is_the_same_after_install_and_uninstall(text: str) -> None:
    before: dict[str, Any] = tomllib.loads(text)
    edited = toml_edit.set_toml_table(text, PATH, ENTRY)
    servers = {**before.get("mcp_servers", {}), "vaultmem": ENTRY}
    assert json.dumps(tomllib.loads(edited)) == json.dumps({**before, "mcp_servers": servers})
    assert edited.startswith(text)
    assert toml_edit.remove_toml_table(edited, PATH) == text
    again = toml_edit.set_toml_table(edited, PATH, {**ENTRY, "command": "/new"})
    assert again == edited.replace("/opt/vaultmem", "/new")
