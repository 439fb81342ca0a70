"""A note cut into passages: nothing lost, nothing too long, nothing hidden shown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import TEMPLATE
from vaultmem.note import parse
from vaultmem.passages import MOST, in_context, passages


def cut(text: str) -> list[tuple[str, str]]:
    return [(p.heading, p.text) for p in passages(parse(text.encode(), "n.md"))]


def test_paragraphs_are_gathered_under_their_headings() -> None:
    text = "intro\n\n# A\n\none\n\ntwo\n\n## B\n\nthree\n\n# C\n\nfour\n"
    assert cut(text) == [
        ("", "intro"),
        ("A", "one\n\ntwo"),
        ("A › B", "three"),
        ("C", "four"),
    ]


def test_observations_and_facts_stand_alone() -> None:
    note = parse((TEMPLATE / "Entities" / "TokenValidator.md").read_bytes(), "TokenValidator.md")
    found = passages(note)
    facts = [p for p in found if p.kind == "fact"]
    assert len(facts) == 6
    assert facts[0].text.startswith("part_of:: [[Atlas]]")
    assert all(p.block.startswith("f-") for p in facts)
    journal = next((TEMPLATE / "Sessions").rglob("*.md"))
    seen = [
        p for p in passages(parse(journal.read_bytes(), journal.name)) if p.kind == "observation"
    ]
    assert len(seen) == 3
    assert "Two tabs and a wait" in seen[1].text
    assert "#auth/tokens" in seen[1].text


def test_comments_and_private_text_are_in_no_passage() -> None:
    text = "seen %%hidden%% too\n\n<private>secret</private> <!-- gone -->\n\n`code stays`\n"
    joined = " ".join(t for _, t in cut(text))
    assert "hidden" not in joined
    assert "secret" not in joined
    assert "gone" not in joined
    assert "code stays" in joined


WORDS = st.sampled_from(
    ["word", "字" * 30, "a" * 400, ".", "。", "\n", "\n\n", "# H\n", "- x ", " "]
)


@given(st.lists(WORDS, max_size=80).map("".join))
def test_no_text_is_lost_and_no_passage_is_too_long(text: str) -> None:
    note = parse(text.encode(), "n.md")
    found = passages(note)
    body = note.body
    for passage in found:
        assert len(passage.text.encode()) <= MOST
        assert passage.text in body or passage.kind != "text"
    covered = set()
    for passage in found:
        covered |= set(range(passage.start, passage.end))
    for heading in note.headings:
        covered |= set(range(heading.start, heading.end))
    lost = [body[i] for i in range(len(body)) if i not in covered and not body[i].isspace()]
    assert lost == []


def test_context_is_part_of_what_a_model_reads() -> None:
    note = parse(b"---\ncreated: 2026-01-05T09:00:00\n---\n# Part\n\ntext\n", "My note.md")
    assert in_context(note, passages(note)) == ["My note › Part › 2026-01-05\ntext"]
