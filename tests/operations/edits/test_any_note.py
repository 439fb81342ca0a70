"""Whatever a note looks like: an edit changes the lines that it is about, and undoing gives back
every byte."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from vaultmem import errors
from vaultmem.notes.daily.tasks import tasks_in
from vaultmem.notes.masking import private_spans
from vaultmem.notes.note import parse
from vaultmem.operations.results import Updated
from vaultmem.vault import Vault

BLOCKS = (
    "Plain words.", "Words  \nand a hard break.  ", "# One", "## Two", "### One", "Setext\n===",
    "- a\n- b", "* a\n* b ^block-id", "+ a\n  + b\n\n  more of a", "1. a\n2. b", "- [ ] open",
    "* [ ] star\n* [x] done", "- [/] half\n- [-] dropped", "- [ ] a #tag 📅 2026-01-01 ^t1  ",
    "- [ ] parent\n\t- [ ] child\n\t- [x] child two", "1. [ ] first\n2. [ ] second", "- [ ]",
    "> - [ ] quoted", "> [!todo] T\n> * [x] quoted two", "- [x] told ✅ 2026-01-01",
    "- [ ] again 🔁 every day", "```\n- [ ] code\n```", "~~~python\n# no heading\n~~~",
    "    indented code\n    - [ ] no task", "| a | b |\n| --- | --- |\n| c | d |", "%% - [ ] hidden %%",
    "<!-- comment -->", "<private>\n- [ ] secret\n</private>", "$$\nx\n$$", "---", "***", "![[Embed]]",
    "- [ ] lazy\ngoes on", "words `code` and [[Link|shown]]", "\\- [ ] no task", "Ünïcode 🎈 文字", "   ",
    "```\nnever closed", "%% never closed",
)  # fmt: skip
EXAMPLES = 2_000 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 40
HEADS = (
    "", "---\ntags: [a]\nzip: 00123 # keep\n---\n", "---\nupdated: 2026-01-01T00:00:00\nx: y\n---\n",
    "---\n---\n", "---\nbroken: [\n---\n",
)  # fmt: skip
STAMP = re.compile(rb"(?m)^updated: [^\r\n]*")


@st.composite
def notes(draw: st.DrawFn) -> bytes:
    blocks = draw(st.lists(st.sampled_from(BLOCKS), max_size=8))
    body = "".join(block + draw(st.sampled_from(("\n\n", "\n", "\n\n\n"))) for block in blocks)
    body = body if draw(st.booleans()) else body.rstrip("\n")
    text = draw(st.sampled_from(HEADS)) + body
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return (b"\xef\xbb\xbf" if draw(st.booleans()) else b"") + text.encode()


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    root = tmp_path_factory.mktemp("vault")
    (root / ".vaultmem").mkdir()
    with Vault.open(root, {"typing.quiet_seconds": 0.0, "model": "off"}) as opened:
        yield opened


def undone(vault: Vault, file: Path, before: bytes) -> None:
    if file.read_bytes() != before:
        vault.restore("Note.md")
    assert file.read_bytes() == before


def inserted(before: bytes, after: bytes) -> list[str]:
    """The lines that are more, where nothing else differs."""
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    assert after.endswith(before[start:]), "more than an insertion"
    more = after[start : len(after) - len(before) + start]
    assert len(more) == len(after) - len(before)
    return more.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")


def line_ends(raw: bytes) -> set[bytes]:
    return set(re.findall(rb"\r?\n", raw))


def changed(vault: Vault, before: bytes, **given: object) -> tuple[bytes, Updated] | None:
    """The bytes after a change; None where it was refused, which changes nothing."""
    file = vault.root / "Note.md"
    file.write_bytes(before)
    try:
        done = vault.update("Note.md", **given)
    except errors.VaultmemError as error:
        assert file.read_bytes() == before and len(str(error)) > 20
        return None
    after = file.read_bytes()
    assert line_ends(after) <= (line_ends(before) or {b"\n"})
    undone(vault, file, before)
    return STAMP.sub(b"updated: x", after), done


sections = st.sampled_from(("", "One", "Two", "Setext", "Three"))


@settings(max_examples=EXAMPLES)
@given(notes(), st.sampled_from(("More.", "- more", "one\n\ntwo", "* [ ] more")), sections)
def test_appending_adds_lines_in_one_place(
    vault: Vault, note: bytes, text: str, section: str
) -> None:
    if found := changed(vault, note, append=text, section=section or None):
        more = inserted(STAMP.sub(b"updated: x", note), found[0])
        assert [line for line in more if line.strip()] == [x for x in text.split("\n") if x]


@settings(max_examples=EXAMPLES)
@given(notes(), sections)
def test_a_new_task_is_one_more_line_and_one_more_task(
    vault: Vault, note: bytes, section: str
) -> None:
    found = changed(vault, note, task="Buy milk", section=section or None)
    if found is None:
        return
    more = [x for x in inserted(STAMP.sub(b"updated: x", note), found[0]) if x.strip()]
    assert len(more) == 1 and more[0].endswith("Buy milk")
    before, after = tasks_in(parse(note).body), tasks_in(parse(found[0]).body)
    texts = [(task.text, task.mark) for task in after]
    texts.remove(("Buy milk", " "))
    if len(after) == len(before):
        texts.append(("", " "))
    assert sorted(texts) == sorted((task.text, task.mark) for task in before)


@settings(max_examples=EXAMPLES)
@given(notes(), st.data())
def test_a_checked_task_is_one_line_that_differs(
    vault: Vault, note: bytes, data: st.DataObject
) -> None:
    tasks = [task for task in tasks_in(parse(note).body) if task.text]
    assume(tasks)
    meant, done = data.draw(st.sampled_from(tasks)), data.draw(st.booleans())
    given_text = data.draw(st.sampled_from((meant.text, f"- [{meant.mark}] {meant.text}")))
    found = changed(vault, note, task=given_text, done=done)
    if found is None:
        return
    before = STAMP.sub(b"updated: x", note).decode().split("\n")
    after = found[0].decode().split("\n")
    assert len(before) == len(after)
    differing = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    assert len(differing) <= 1
    for old, new in differing:
        bare = [re.sub(r" ✅ \d{4}-\d\d-\d\d", "", line) for line in (old, new)]
        assert re.sub(r"\[.\]", "[]", bare[0], count=1) == re.sub(r"\[.\]", "[]", bare[1], count=1)
        assert ("[x]" if done else "[ ]") in new and new.rstrip().endswith(str(found[1].task)[-3:])
    box = "xX" if done else " "
    assert any(task.text.startswith(meant.text[:3]) and task.mark in box
               for task in tasks_in(parse(found[0]).body))  # fmt: skip


@settings(max_examples=EXAMPLES)
@given(notes(), st.data())
def test_a_replaced_passage_is_the_only_thing_that_differs(
    vault: Vault, note: bytes, data: st.DataObject
) -> None:
    body = parse(note).body
    assume(len(body.strip()) > 3)
    start = data.draw(st.integers(0, len(body) - 1))
    old = body[start : start + data.draw(st.integers(1, 30))]
    new = data.draw(st.sampled_from(("", "other", "two\nlines", "- [x] task")))
    found = changed(vault, note, old_text=old, new_text=new)
    if found is None:
        return
    assert body.count(old) == 1 or private_spans(body) or "\r" in body
    ends = "\r\n" if b"\r\n" in note else "\n"
    wanted = {
        STAMP.sub(b"updated: x", note.replace(body.encode(), (body[:at] + new.replace("\n", end) + body[at + len(old):]).encode()))
        for at in range(len(body)) if body.startswith(old, at)
        for end in (ends, "\n")
    }  # fmt: skip
    assert found[0] in wanted
