"""A corpus of traps: read rightly, and every byte and modification time left alone."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import FIXTURES, TEMPLATE, make_store, snapshot
from vaultmem.errors import VaultmemError
from vaultmem.notes.edit import SetProperty, edit_note
from vaultmem.notes.note import parse
from vaultmem.upkeep import doctor

GOLDEN = sorted((FIXTURES / "golden").glob("*.md"))

# name -> properties, tags, problems
EXPECTED: dict[str, tuple[dict[str, Any] | None, tuple[str, ...], tuple[str, ...]]] = {
    "alias-bomb": ({}, ("found",), ("malformed-frontmatter",)),
    "block-lists": (
        {
            "indented": ["a", "b"],
            "flush": ["a", "b"],
            "far": ["a"],
            "of-maps": [{"k": 1, "l": 2}, {"k": 3}],
            "of-lists": [["a", "b"]],
        },
        (),
        (),
    ),
    "block-scalars": (
        {"literal": "one\n two\n\nthree\n", "keep": "x\n\n", "fold": "a b\nc", "after": 1},
        (),
        (),
    ),
    "bom": ({"tags": "a"}, ("a",), ()),
    "broken-yaml": ({}, ("found",), ("malformed-frontmatter",)),
    "cjk": ({"title": "记忆系统", "aliases": ["メモ", "기억"]}, ("标签",), ()),
    "code": ({}, ("yes",), ()),
    "comments": ({"zip": 123, "time": "12:30", "flag": "yes"}, ("seen",), ()),
    "conflict-body": ({"tags": "a"}, ("a",), ("conflict-markers",)),
    "conflict-frontmatter": ({}, ("found",), ("malformed-frontmatter", "conflict-markers")),
    "control-characters": ({"a": 1}, (), ()),
    "crlf": ({"tags": ["a"], "title": "x"}, ("a",), ()),
    "dataview": ({"tags": "a"}, ("a", "yes"), ()),
    "deep": ({}, ("found",), ("malformed-frontmatter",)),
    "duplicate-keys": ({}, ("found",), ("duplicate-key",)),
    "emoji-tags": ({"tags": ["0🌲", "计划"]}, ("0🌲", "计划", "🎉", "été/à-faire", "日本語", "y1984"), ()),
    "empty": ({}, (), ()),
    "fence-at-the-end": ({"tags": "a"}, ("a",), ()),
    "flow-lists": (
        {"tags": ["a", "b c", "d"], "multi": ["x", "y"], "empty": [], "map": {"k": "v", "n": [1, 2]}},
        ("a", "b", "c", "d"),
        (),
    ),
    "json": ({"tags": ["a"], "n": 1}, ("a",), ()),
    "latin1": ({"tags": "a"}, ("a", "found"), ("not-utf8",)),
    "leading-blank-line": ({}, ("found",), ()),
    "links": ({}, (), ()),
    "list-as-frontmatter": ({}, ("found",), ("malformed-frontmatter",)),
    "mixed-newlines": ({"tags": ["a"]}, ("a",), ()),
    "nel-and-separators": ({"tags": "a"}, ("a", "found"), ()),
    "nested": ({"person": {"name": "X", "address": {"zip": 123}}}, (), ()),
    "no-closing-fence": ({}, ("found",), ("unclosed-frontmatter",)),
    "no-final-newline": ({"tags": "a"}, ("a",), ()),
    "only-frontmatter": ({"tags": "a"}, ("a",), ()),
    "private": ({}, ("found",), ()),
    "quotes": (
        {"a": "double", "b": "single", "c": 'esc "x" é', "d": "it's", "quoted key": 1, "other key": 2},
        (),
        (),
    ),
    "rule-first": ({}, (), ()),
    "rule-in-the-body": ({}, ("found",), ()),
    "scalars": (
        {
            "zip": 123, "octal": 12, "clock": "12:30", "sexagesimal": "190:20:30", "yes": "yes",
            "no": "no", "on": "on", "off": "off", "exp": 1000.0, "thousand": "1_000", "hex": 31,
            "oct": 15, "version": 1.1, "plus": 5, "null1": None, "null2": None, "null3": None,
            "true1": True, "true2": True, "date": "2026-01-05", "datetime": "2026-01-05T09:40:00",
            "spaced": "2026-01-05 09:40", "ulid": "01234E56789012345678901234",
            "big": 12345678901234567890123456,
        },
        (),
        (),
    ),
    "setext": ({}, (), ()),
    "tab-indent": ({}, ("found",), ("malformed-frontmatter",)),
    "template": (
        {"created": "{{date:YYYY-MM-DD}}T{{time:HH:mm:ss}}", "raw": "<% tp.file.title %>"},
        (),
        (),
    ),
    "template-unquoted": ({}, ("found",), ("malformed-frontmatter",)),
    "trailing-blanks": ({"tags": "a"}, ("a",), ()),
    "utf16": ({}, (), ("not-utf8", "binary")),
}  # fmt: skip


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: file.stem)
def test_the_corpus_is_read_as_obsidian_reads_it(file: Path) -> None:
    note = parse(file.read_bytes(), file.name)
    properties, tags, problems = EXPECTED[file.stem]
    assert note.properties == properties
    assert {k: type(v) for k, v in note.properties.items()} == {
        k: type(v) for k, v in (properties or {}).items()
    }
    assert note.tags == tags
    assert tuple(problem.kind for problem in note.problems) == problems
    assert note.raw == file.read_bytes()


def test_looking_at_the_corpus_leaves_every_byte_and_time_alone(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    shutil.copytree(FIXTURES / "golden", root)
    shutil.copytree(TEMPLATE, root / "template")
    before = snapshot(root)
    store = make_store(root)
    for path in store.walk().notes:
        assert store.note(path).raw == before[path][0]
    assert doctor.examine_vault(store)
    assert snapshot(root) == before


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: file.stem)
def test_an_edit_of_any_trap_adds_one_line_or_is_refused(file: Path) -> None:
    note = parse(file.read_bytes(), file.name)
    try:
        after = edit_note(note, SetProperty("vm_new", "yes"))
    except VaultmemError as error:
        assert note.problems or file.stem == "json", error
        return
    assert not {p.kind for p in note.problems} - {"not-utf8"}
    lines, new = note.raw.split(b"\n"), after.split(b"\n")
    added = [line for line in new if line.rstrip(b"\r") == b'vm_new: "yes"']
    assert len(added) == 1
    fences = 2 if note.block is None else 0
    assert len(new) == len(lines) + 1 + fences
    assert parse(after).string("vm_new") == "yes"
    assert edit_note(parse(after), SetProperty("vm_new", "yes")) == after
