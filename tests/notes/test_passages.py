"""A note cut into passages: nothing lost, nothing too long, nothing hidden shown."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from tests.conftest import TEMPLATE
from vaultmem.embedding import embedder
from vaultmem.notes.note import parse
from vaultmem.notes.passages import (
    GOOD_PASSAGE,
    IN_CONTEXT,
    MOST_OF_PASSAGE,
    passages,
    passages_in_context,
    tokens_at_most,
)


def cut(text: str) -> list[tuple[str, str]]:
    return [(p.heading, p.text) for p in passages(parse(text.encode(), "n.md"))]


def test_paragraphs_are_gathered_under_their_headings() -> None:
    one, two, three, four = (f"{word} " * 70 + "end" for word in ("one", "two", "three", "four"))
    text = f"# A\n\n{one}\n\n{two}\n\n## B\n\n{three}\n\n# C\n\n{four}\n"
    assert cut(text) == [("A", f"{one}\n\n{two}"), ("A › B", three), ("C", four)]


def test_small_neighbouring_sections_are_one_passage() -> None:
    text = "# A\n\nintro\n\n## B\n\none\n\n## C\n\ntwo\n"
    assert cut(text) == [("A", text.strip())]
    apart = "# A\n\nintro\n\n- [fact] an observation\n\n## C\n\ntwo\n"
    assert [heading for heading, _ in cut(apart)] == ["A", "", "A › C"]


def test_a_long_observation_keeps_its_block_in_every_part() -> None:
    long = "\n\n".join(f"  Part {i} says {'something or other ' * 12}" for i in range(9))
    text = (
        f"## Log\n\n- **09:00:00** note: It begins ^abc\n\n{long}\n- **09:01:00** note: Next ^def\n"
    )
    found = passages(parse(text.encode(), "n.md"))
    assert [p.block for p in found] == ["abc"] * (len(found) - 1) + ["def"]
    assert len(found) > 4


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
        assert tokens_at_most(passage.text) <= MOST_OF_PASSAGE
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
    assert passages_in_context(note, passages(note)) == ["My note › Part › 5 January 2026\ntext"]


def test_an_observation_is_read_with_the_end_of_the_one_before() -> None:
    text = b"## Log\n\n- **09:00:00** a: Shall we? ^a1\n- **09:00:05** b: Yes. ^a2\n"
    note = parse(text, "J.md")
    first, second = passages_in_context(note, passages(note))
    assert first == "J\na: Shall we?"
    assert second == "J\na: Shall we?\nb: Yes."
    longer = parse(text + b"- **09:00:09** a: Good. ^a3\n", "J.md")
    assert passages_in_context(longer, passages(longer))[:2] == [first, second]


ANY = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30)
LETTERS = st.text(st.sampled_from("qxzjvkwabcdefg"), min_size=1, max_size=40)


@given(st.lists(st.one_of(WORDS, ANY, LETTERS), max_size=120).map("".join))
def test_no_model_has_to_leave_out_the_end(text: str) -> None:
    """What is sent to the model has no more tokens than it reads, whatever the text."""
    note = parse(f"---\ncreated: 2026-01-05\n---\n{text}".encode(), "A long title of a note.md")
    texts = passages_in_context(note, passages(note))
    assert all(tokens_at_most(each) <= IN_CONTEXT + 2 for each in texts)
    assert GOOD_PASSAGE <= MOST_OF_PASSAGE <= IN_CONTEXT
    assert all(count <= 512 for count in _counts(texts))


@functools.cache
def _tokenizer() -> Tokenizer:
    """The model's own, without the cut that fastembed makes."""
    loaded = embedder.load_embedder("", Path(tempfile.mkdtemp()))
    assert loaded is not None
    tokenizer = Tokenizer.from_file(str(loaded.model.folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _counts(texts: list[str]) -> list[int]:
    return [len(tokens.ids) for tokens in _tokenizer().encode_batch_fast(texts)] if texts else []
