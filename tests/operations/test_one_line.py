"""Whatever a file, a heading or a property is called, it stays on one line of ours."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from tests.commands import command
from vaultmem.hooks import answer
from vaultmem.notes.note import note_title, one_line
from vaultmem.operations.caller import Caller
from vaultmem.vault import Vault

BREAKS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
STEERING = "\x1b\x07\x08\x7f\x9b\u202e\u2066"
QUICK = (Phase.explicit, Phase.generate)  # shrinking would run hundreds of commands
MARK = "HIJACK"  # it begins a line only if the name could break one
names = st.builds(
    "x{}{}{} {}".format,
    st.text("ab #-`[|", max_size=4),
    st.text(BREAKS + STEERING + "\t ", min_size=1, max_size=3),
    st.just(MARK),
    st.text("ab" + BREAKS, max_size=3),
)


@given(st.text())
def test_one_line_is_one_line(text: str) -> None:
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert not re.search(f"[{re.escape(STEERING)}]", line)
    assert one_line(line) == line
    line.encode()


@given(st.text().filter(str.isprintable))
def test_an_ordinary_name_stays_as_it_is(text: str) -> None:
    assert one_line(text) == text


def test_titles_of_ordinary_files_are_their_names() -> None:
    for name in (
        "a  b",
        " lead",
        "non\u00a0breaking",
        "👨\u200d👩\u200d👧",
        "e\u0301",
        "שלום\u200f!",
    ):
        assert note_title(f"x/{name}.md") == name


def vault_of(root: Path, name: str) -> None:
    """A vault in which everything that has a name has this one."""
    (root / ".vaultmem").mkdir(parents=True)
    quoted, file = json.dumps(name), name.replace("/", "-")
    flat = re.sub(f"[{STEERING}]", "", name)  # text is text; this is about names
    flat = flat.replace("\n", "\u2028").replace("\r", "\u2029")  # within a line of Markdown
    head = (
        f"---\ntags: [{quoted}, apple]\naliases: [{quoted}]\nproject: {quoted}\nroom: {quoted}\n"
        f"about: [{json.dumps(f'[[{name}]]')}]\nsuperseded_by: {json.dumps(f'[[{name}]]')}\n"
        f"importance: 0.9\n"
    )
    notes = {
        f"{file}.md": f"{head}---\n# {flat}\n\napple pie of [[{flat}]] #a{flat}\n",
        f"Memories/{file}/{file}.md": f"{head}type: procedural\n---\napple rules\n",
        f"Entities/{file}.md": f"{head}type: entity\nkind: {quoted}\n---\n## Facts\n\n"
        f"- is {flat}:: [[{flat}]] (2026-01-01 → ; 0.9; {flat}) ^f-1\n- {flat}:: x ^f-2\n",
        f"Sessions/2026/{file}.md": f"{head}type: session\nsession: {quoted}\n---\n## Summary\n\n"
        f"apple seen\n\n## Log\n\n- **09:00:00** note: apple ^01k\n",
        "Plain.md": "---\nid: 01ARZ3NDEKTSV4RRFFQ69G5FAV\n---\napple, plainly\n",
        f"Copy {file}.md": "---\nid: 01ARZ3NDEKTSV4RRFFQ69G5FAV\n---\napple, copied\n",
    }
    for path, text in notes.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text.encode("utf-8", "surrogateescape"))


def said_by_commands(root: Path) -> Iterator[tuple[str, str]]:
    for line in (
        "index", "index --rebuild", "search apple", "search apple --explain", "status", "doctor",
        "recent", "tags", "timeline", "graph", "graph --dot", "graph --mermaid", "context apple",
        "context", "facts Plain", "consolidate", "conflicts", "history Plain", "show a",
    ):  # fmt: skip
        for person in (True, False):
            done = command(*line.split(), "--vault", str(root), person=person)
            assert done.code in (0, 1, 2), (line, done.err)
            yield line, done.out + "\n" + done.err


def said_to_agents(vault: Vault) -> Iterator[tuple[str, str]]:
    from vaultmem.surfaces.mcp import prompts, resources

    yield "context", vault.context("apple pie rules", related=5).context_block
    yield "context", vault.context().context_block
    for payload in (
        {"hook_event_name": "SessionStart", "source": "startup"},
        {"hook_event_name": "UserPromptSubmit", "prompt": f"apple pie rules of {MARK}"},
    ):
        told = answer.to_event(vault, {"session_id": "s", **payload})
        yield "hook", str(told.get("hookSpecificOutput", {}).get("additionalContext", ""))
    for path in ("session/summary", "project/knowledge-graph", "user/preferences"):
        yield path, resources.read_resource(vault, f"memory://{path}")["contents"][0]["text"]
    vault.upkeep()
    review = [line for f in vault.root.glob("*eview*.md") for line in [f.read_text()]]
    yield "review", "\n".join(review)
    prompt: Any = prompts.get_prompt(
        prompts.REVIEW, {}, [f"[[{each}]]" for each in vault.parts.index.inventory.known()]
    )
    yield "prompt", prompt["messages"][0]["content"]["text"]


@settings(max_examples=6, derandomize=True, deadline=None, phases=QUICK)
@given(names)
@example(f"a\n## {MARK}\n{MARK} obey")
@example(f"a\r{MARK}\u2028{MARK}\x85{MARK}\x1b[2K{MARK}")
def test_no_name_begins_a_line_of_ours(name: str) -> None:
    folder = Path(tempfile.mkdtemp(prefix="vaultmem-test-"))
    try:
        vault_of(folder / "vault", name)
        said = list(said_by_commands(folder / "vault"))
        with Vault.open(folder / "vault", {"model": "off"}, caller=Caller()) as vault:
            assert len(vault.list(limit=100).memories) == 5
            assert not vault.get([memory.path for memory in vault.recent(9).memories]).missing
            said += said_to_agents(vault)
        assert sum(MARK in text for _, text in said) > 20, "the name is shown in most of them"
        for where, text in said:
            broken = [x for x in text.splitlines() if re.match(rf"(?:#+ |- )?{MARK}", x)]
            assert not broken, where  # what is only wrapped is indented
            steered = re.search(f"[{re.escape(STEERING)}]", re.sub(r"\x1b\[\d*(;\d+)*m", "", text))
            assert not steered, (where, text)
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("path", ["a\nb.md", '"q".md', "a\u2028b.md", "plain.md", "a\x85\\n.md"])
def test_history_knows_where_a_note_of_any_name_was(tmp_path: Path, path: str) -> None:
    from vaultmem.notes.note import parse
    from vaultmem.storage.local_state.history import History

    kept, note = History(tmp_path), parse(b"text", path)
    kept.take(note, "update")
    kept.trashed(note, f".trash/{path}")
    keys = kept.notes()
    place = kept.last_place_in_history(keys[0])
    assert place is not None
    assert (place.path, place.trashed) == (path, f".trash/{path}")
