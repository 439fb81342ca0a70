"""Random edits on both sides: nothing that was added is lost, the result is valid and symmetric."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field

import yaml
from hypothesis import given
from hypothesis import strategies as st

from vaultmem.git.merge import merge_notes
from vaultmem.notes.note import parse

TAGS = ("auth", "db", "web", "ops", "a/b")
SCALARS = ("source", "project", "mood", "zip")


@dataclass
class Draft:
    """A note as a person or an agent would change it; every new word is made once."""

    side: str
    words: itertools.count = field(default_factory=itertools.count)  # type: ignore[type-arg]
    scalars: dict[str, str] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    updated: str = "2026-01-01T00:00:00"

    def word(self) -> str:
        return f"{self.side}{next(self.words)}x"

    def copy(self, side: str) -> Draft:
        return Draft(side, itertools.count(), dict(self.scalars), list(self.tags), list(self.lines))

    def text(self, flow: bool, newline: str) -> str:
        tags = f"tags: [{', '.join(self.tags)}]\n"
        if not flow:
            tags = "tags:\n" + "".join(f"  - {tag}\n" for tag in self.tags) if self.tags else ""
        scalars = "".join(f"{k}: {v}\n" for k, v in self.scalars.items())
        head = f"---\nid: 01KE6Q8Z4R9M2N4P6R7S8T9VWX\n{scalars}{tags}updated: {self.updated}\n---\n"
        return (head + "".join(f"{line}\n" for line in self.lines)).replace("\n", newline)


def line(draft: Draft, kind: int) -> str:
    word = draft.word()
    return (
        f"Some text about {word}.",
        f"- bullet {word}",
        f"- uses:: [[{word}]] (2026-01-01 → ) ^f-{word}",
        f"- **09:12:04** note: {word} ^o-{word}\n  more of {word}",
        "",
        f"## Heading {word}",
    )[kind]


kinds = st.integers(0, 5)
edits = st.lists(
    st.tuples(
        st.sampled_from(["add", "drop", "change", "tag", "untag", "set", "unset", "close", "bump"]),
        st.integers(0, 30),
        kinds,
    ),
    max_size=6,
)


def apply(draft: Draft, changes: list[tuple[str, int, int]]) -> Draft:
    for what, at, kind in changes:
        lines = draft.lines
        if what == "add":
            lines.insert(at % (len(lines) + 1), line(draft, kind))
        elif what == "drop" and lines:
            lines.pop(at % len(lines))
        elif what == "change" and lines:
            i = at % len(lines)
            if lines[i]:
                head, _, rest = lines[i].partition(" ")
                lines[i] = f"{head} {draft.word()} {rest}"
        elif what == "close":
            i = at % len(lines) if lines else 0
            if lines and "→ )" in lines[i]:
                lines[i] = lines[i].replace("→ )", f"→ 2026-0{1 + at % 9}-01)")
        elif what == "tag":
            draft.tags.append(f"t{draft.word()}")
        elif what == "untag" and draft.tags:
            draft.tags.pop(at % len(draft.tags))
        elif what == "set":
            draft.scalars[SCALARS[at % 4]] = draft.word()
        elif what == "unset":
            draft.scalars.pop(SCALARS[at % 4], None)
        elif what == "bump":
            draft.updated = f"2026-02-{1 + at % 28:02}T00:00:00"
    return draft


@st.composite
def versions(draw: st.DrawFn) -> tuple[Draft, Draft, Draft]:
    base = Draft("base")
    base.tags = draw(st.lists(st.sampled_from(TAGS), unique=True))
    base.scalars = {k: base.word() for k in draw(st.lists(st.sampled_from(SCALARS), unique=True))}
    base.lines = [line(base, kind) for kind in draw(st.lists(kinds, max_size=12))]
    return base, apply(base.copy("ours"), draw(edits)), apply(base.copy("theirs"), draw(edits))


@given(versions(), st.booleans(), st.booleans(), st.sampled_from(["\n", "\r\n"]))
def test_nothing_added_is_lost(
    drafts: tuple[Draft, Draft, Draft], flow: bool, reflow: bool, newline: str
) -> None:
    base, ours, theirs = drafts
    raw = [
        base.text(flow, "\n").encode(),
        ours.text(flow, newline).encode(),
        theirs.text(reflow, "\n").encode(),
    ]
    done = merge_notes(*raw)
    assert merge_notes(raw[0], raw[2], raw[1]) == done, "symmetric"
    note = parse(done.raw)
    assert note.block is not None, note.text
    block = note.text[slice(*note.block)]
    assert set(yaml.safe_load(block)) == set(note.properties)
    assert not [p for p in note.problems if p.kind != "conflict-markers"], note.text
    assert "<<<<<<<" not in block

    told = note.text + "\n".join(done.lost)
    old = set(re.findall(r"\w+", base.text(flow, "\n")))
    for side in (ours, theirs):
        for word in set(re.findall(r"(?:ours|theirs)\d+x", side.text(flow, "\n"))) - old:
            assert word in told, f"{word} is lost:\n{note.text}"

    wanted = {*base.tags} & {*ours.tags} & {*theirs.tags}
    wanted |= ({*ours.tags} | {*theirs.tags}) - {*base.tags}
    assert set(note.strings("tags")) == wanted

    if done.clean:
        for text in base.lines:
            if text and text in ours.lines and text in theirs.lines:
                assert text in note.text.replace("\r\n", "\n"), f"{text!r} is lost:\n{note.text}"
            if text and text not in ours.lines and text not in theirs.lines and "^" not in text:
                assert f"\n{text}\n" not in note.text.replace("\r\n", "\n")


@given(versions(), st.booleans())
def test_merging_again_changes_nothing(drafts: tuple[Draft, Draft, Draft], flow: bool) -> None:
    """The merged note against either side, with that side as the base, is the merged note."""
    base, ours, theirs = (draft.text(flow, "\n").encode() for draft in drafts)
    done = merge_notes(base, ours, theirs)
    assert merge_notes(ours, done.raw, ours).raw == done.raw
    assert merge_notes(theirs, theirs, done.raw).raw == done.raw


@given(st.binary(max_size=80), st.binary(max_size=80), st.binary(max_size=80))
def test_any_bytes_give_an_answer(base: bytes, ours: bytes, theirs: bytes) -> None:
    head = b"---\n"
    for b, a, c in ((base, ours, theirs), (head + base, head + ours, head + theirs)):
        done = merge_notes(b, a, c)
        back = merge_notes(b, c, a)
        if done.blended and b"\0" not in a + b + c:
            assert (done.raw, done.clean) == (back.raw, back.clean)
