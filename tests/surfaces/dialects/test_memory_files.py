"""The API's memory tool on a vault: word for word what the SDK's own tool on files says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.conftest import Open
from vaultmem.anthropic import VaultAsyncMemoryTool, VaultMemoryTool
from vaultmem.operations.memory_files import names
from vaultmem.vault import Vault

TOP = "Memory files"
# Errors that the SDK's tool lets through as the system gives them: ours are sentences.
BARE = "(bare)"


def said(tool: Any, command: dict[str, Any]) -> str:
    try:
        return f"ok: {tool.call(command)}"
    except ToolError as error:
        return f"error: {error.content}"
    except Exception:
        return BARE


# --- the contract ---------------------------------------------------------------------------

NAMES = ("a", "b.md", "c.txt", "d e.md", "x.y.md", "100%", ".hid.md", "ä?.json", "A: b|c", "con.md")
SEGMENT = st.sampled_from((*NAMES, *NAMES, "..", ".", ""))
PATH = st.lists(SEGMENT, max_size=3).map(lambda parts: "/".join(["/memories", *parts]))
TEXT = st.text(alphabet="ab\n\r \té", max_size=12) | st.sampled_from(
    ("", "a\nb\nc\n", "---\nx: 1\n---\na")
)
ODD = st.sampled_from(("/etc/passwd", "", "memories/a", "/memoriesb.md", "/memories/%2e%2e/x.md"))
PLACE = st.one_of(PATH, PATH, PATH, ODD)
COMMAND = st.one_of(
    st.fixed_dictionaries(
        {"command": st.just("view"), "path": PLACE},
        optional={"view_range": st.lists(st.integers(-2, 5), min_size=1, max_size=3)},
    ),
    st.fixed_dictionaries({"command": st.just("create"), "path": PLACE, "file_text": TEXT}),
    st.fixed_dictionaries({"command": st.just("create"), "path": PLACE, "file_text": TEXT}),
    st.fixed_dictionaries(
        {"command": st.just("str_replace"), "path": PLACE, "new_str": TEXT,
         "old_str": st.sampled_from(("a", "b", "\n", "aa", "", "---", "zz"))}
    ),
    st.fixed_dictionaries(
        {"command": st.just("insert"), "path": PLACE, "insert_text": TEXT,
         "insert_line": st.integers(-1, 4)}
    ),
    st.fixed_dictionaries({"command": st.just("delete"), "path": PLACE}),
    st.fixed_dictionaries({"command": st.just("rename"), "old_path": PLACE, "new_path": PLACE}),
)  # fmt: skip


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    home = tmp_path_factory.mktemp("contract")
    (home / "vault/.vaultmem").mkdir(parents=True)
    with Vault.open(home / "vault", {"model": "off", "typing.quiet_seconds": 0}) as vault:
        yield vault


@settings(max_examples=40)
@given(commands=st.lists(COMMAND, min_size=4, max_size=14), pinned=st.booleans())
@example(
    commands=[
        {"command": "create", "path": "/memories/n/plan.md", "file_text": "a\nb\na\n"},
        {"command": "str_replace", "path": "/memories/n/plan.md", "old_str": "a", "new_str": "c"},
        {"command": "rename", "old_path": "/memories/n", "new_path": "/memories/m/n"},
        {
            "command": "insert",
            "path": "/memories/m/n/plan.md",
            "insert_line": 3,
            "insert_text": "z",
        },
        {"command": "delete", "path": "/memories/m"},
    ],
    pinned=True,
)
def test_replies_are_those_of_the_sdks_own_tool(
    shared: Vault, tmp_path_factory: pytest.TempPathFactory, commands: list[Any], pinned: bool
) -> None:
    from dataclasses import replace

    caller = replace(shared.caller, user="ada") if pinned else shared.caller
    ours = VaultMemoryTool(shared, caller=caller)
    theirs = BetaLocalFilesystemMemoryTool(str(tmp_path_factory.mktemp("sdk")))
    VaultMemoryTool(shared).clear_all_memory()  # who is bound may not know of all
    for command in [*commands, {"command": "view", "path": "/memories"}]:
        expected, got = said(theirs, command), said(ours, command)
        if expected == BARE:
            assert got.startswith("error: "), command
        else:
            assert got == expected, command


@given(st.text(max_size=20).filter(lambda name: name and "/" not in name and "\0" not in name))
def test_every_name_has_one_of_a_note_and_comes_back(name: str) -> None:
    assert names.file_of_note(names.note_name(name)) == name
    assert names.folder_of(names.folder_name(name)) == name


# --- beyond the words -------------------------------------------------------------------------


def ask(tool: VaultMemoryTool, command: str, **given: Any) -> str:
    return said(tool, {"command": command, **given})


def test_files_are_notes_that_everybody_finds(vault: Vault, root: Path) -> None:
    tool = VaultMemoryTool(vault)
    ask(tool, "create", path="/memories/plans/q3.md", file_text="The gateway moves to port 8443.\n")
    ask(tool, "create", path="/memories/todo.txt", file_text="rotate the key")
    file = root / TOP / "plans/q3.md"
    assert file.read_bytes() == b"The gateway moves to port 8443.\n"
    assert (root / TOP / "todo.txt.md").read_text() == "rotate the key"
    hits = vault.recall("which port does the gateway move to?").memories
    assert f"{TOP}/plans/q3.md" in {hit.path for hit in hits}
    ask(tool, "str_replace", path="/memories/plans/q3.md", old_str="8443", new_str="9000")
    before = vault.history(f"{TOP}/plans/q3.md").versions
    assert len(before) >= 2
    vault.restore(f"{TOP}/plans/q3.md")
    assert file.read_text() == "The gateway moves to port 8443.\n"
    assert ask(tool, "delete", path="/memories/plans").startswith("ok: ")
    assert (root / ".trash/q3.md").read_text() == "The gateway moves to port 8443.\n"
    assert not file.parent.exists()


def test_nothing_leads_out_or_into_what_is_hidden(vault: Vault, root: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("away")
    (root / "Own.md").write_text("a person's note")
    (root / TOP).mkdir()
    (root / TOP / "link.md").symlink_to(tmp_path / "secret.md")
    (root / TOP / "out").symlink_to(tmp_path)
    tool = VaultMemoryTool(vault)
    for path in ("/memories/../Own.md", "/memories/link.md", "/memories/out/secret.md", "Own.md",
                 "/memories/../../secret.md", "/memories/../.vaultmem/config.toml"):  # fmt: skip
        for command in ("view", "delete"):
            assert ask(tool, command, path=path).startswith("error: "), path
        assert ask(tool, "create", path=path, file_text="x").startswith("error: ") or (
            (tmp_path / "secret.md").read_text() == "away"
        )
    assert "secret" not in ask(tool, "view", path="/memories")
    assert (root / "Own.md").read_text() == "a person's note"


def test_a_persons_files_and_private_passages_are_left_alone(vault: Vault, root: Path) -> None:
    tool = VaultMemoryTool(vault)
    ask(tool, "create", path="/memories/x/a.md", file_text="one\n")
    note, picture = root / TOP / "x/a.md", root / TOP / "x/photo.png"
    note.write_bytes(b"---\ntags: [mine]\n---\r\none\r\n<private>\r\nhers\r\n</private>\r\ntwo")
    picture.write_bytes(b"\x89PNG")
    assert "hers" not in ask(tool, "view", path="/memories/x/a.md")
    assert "not verbatim" not in ask(tool, "view", path="/memories")
    done = ask(tool, "str_replace", path="/memories/x/a.md", old_str="two", new_str="three")
    assert done.startswith("ok: ")
    assert note.read_bytes() == (
        b"---\ntags: [mine]\n---\r\none\r\n<private>\r\nhers\r\n</private>\r\nthree"
    )
    assert ask(tool, "insert", path="/memories/x/a.md", insert_line=1, insert_text="z").startswith(
        "e"
    )
    assert b"hers" in note.read_bytes()
    assert "other files than memories" in ask(tool, "delete", path="/memories/x")
    assert note.exists() and picture.exists()


def test_secrets_and_private_parts_do_not_come_in(vault: Vault, root: Path) -> None:
    key = "sk-ant-api03-" + "a1B2c3D4" * 12
    text = f"key {key} <private>x</private>\n"
    ask(VaultMemoryTool(vault), "create", path="/memories/k.md", file_text=text)
    assert (root / TOP / "k.md").read_text() == "key [redacted: anthropic key]\n" or (
        key not in (root / TOP / "k.md").read_text()
    )


def test_whoever_is_bound_sees_their_own(open_vault: Open, root: Path) -> None:
    ada, bob = open_vault(user="ada"), open_vault(user="bob")
    ours, theirs = VaultMemoryTool(ada), VaultMemoryTool(bob)
    ask(ours, "create", path="/memories/d/a.md", file_text="Ada's gateway\n")
    assert (root / TOP / "d/a.md").read_text() == "---\nuser: ada\n---\nAda's gateway\n"
    assert "1\tAda's gateway" in ask(ours, "view", path="/memories/d/a.md")
    assert "14B\t/memories/d/a.md" in ask(ours, "view", path="/memories")
    assert "a.md" not in ask(theirs, "view", path="/memories")
    for command in ("view", "delete"):
        assert "does not exist" in ask(theirs, command, path="/memories/d/a.md")
    assert ask(theirs, "create", path="/memories/d/a.md", file_text="x").startswith("error: ")
    assert ask(theirs, "delete", path="/memories/d").startswith("error: ")
    bob.parts.reconciler.everything()
    assert not bob.recall("Ada's gateway").memories
    reader = open_vault(user="ada", read_only=True)
    refused = ask(VaultMemoryTool(reader), "delete", path="/memories/d/a.md")
    assert "reading only" in refused and (root / TOP / "d/a.md").exists()


@pytest.mark.anyio
async def test_the_asynchronous_tool_says_the_same(vault: Vault) -> None:
    tool = VaultAsyncMemoryTool(vault)
    command = {"command": "create", "path": "/memories/a.md", "file_text": "a"}
    assert await tool.call(command) == "File created successfully at: /memories/a.md"
    with pytest.raises(ToolError, match="already exists"):
        await tool.call(command)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
