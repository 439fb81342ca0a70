"""What a note's text says: rules T1, T2, T3, and the grammars of facts and observations."""

from __future__ import annotations

import pytest

from vaultmem.markdown import Fact, Observation, headings, outline, visible, without_private


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#a", ("a",)),
        ("#a/b-c_d", ("a/b-c_d",)),
        ("x #y1984 #1984", ("y1984",)),
        ("#0🌲 #日本語 #été", ("0🌲", "日本語", "été")),
        ("#👩‍💻", ("👩‍💻",)),
        ("#a #A #a", ("a",)),
        ("# Heading #tag", ("tag",)),
        ("a#b", ()),
        ("(#tag)", ("tag",)),
        ("[x](#heading)", ()),
        ("[[#heading]] [[Note #x]]", ()),
        ("https://x.org/#frag", ()),
        ("`#code` ``#more ` x``", ()),
        ("```\n#fenced\n```\n#out", ("out",)),
        ("~~~py\n#fenced\n~~~", ()),
        ("> ```\n> #quoted code\n> ```\n> #said", ("said",)),
        ("- ```\n  #in list\n  ```\n- #b", ("b",)),
        ("```\n#never closed", ()),
        ("`` #x", ("x",)),
        ("%%#hidden%% #seen", ("seen",)),
        ("%% unclosed #seen", ("seen",)),
        ("<!-- #hidden --> #seen", ("seen",)),
        ("<private>#hidden</private> #seen", ("seen",)),
        ("text\n\n    #indented code\n\n#seen", ("seen",)),
        ("- item\n\n    #in the item", ("in",)),
        ("#end. #comma, #bang! #q?", ("end", "comma", "bang", "q")),
        ("#a/", ("a",)),
        ("##", ()),
        ("line\r\n#crlf\r\n", ("crlf",)),
    ],
)
def test_t1_tags(text: str, tags: tuple[str, ...]) -> None:
    assert outline(text).tags == tags


@pytest.mark.parametrize(
    ("text", "target", "anchor", "display", "embed"),
    [
        ("[[N]]", "N", "", "", False),
        ("[[N.md]]", "N.md", "", "", False),
        ("[[F/N|shown]]", "F/N", "", "shown", False),
        ("[[N#H1#H2]]", "N", "H1#H2", "", False),
        ("[[N#^block|x]]", "N", "^block", "x", False),
        ("[[#local]]", "", "local", "", False),
        ("![[pic.png|300]]", "pic.png", "", "300", True),
        ("| [[N\\|in a table]] |", "N", "", "in a table", False),
        ("[t](N%20x.md)", "N x.md", "", "t", False),
        ("[t](<N x.md>)", "N x.md", "", "t", False),
        ('[t](F/N.md#h "title")', "F/N.md", "h", "t", False),
        ("![i](a.png)", "a.png", "", "i", True),
    ],
)
def test_t2_links(text: str, target: str, anchor: str, display: str, embed: bool) -> None:
    (link,) = outline(text).links
    assert (link.target, link.anchor, link.display, link.embed) == (target, anchor, display, embed)


@pytest.mark.parametrize(
    "text", ["[x](https://a.b)", "[x](mailto:a@b)", "`[[N]]`", "[[a\nb]]", "[ ]", "%%[[N]]%%"]
)
def test_t2_what_is_no_link(text: str) -> None:
    assert outline(text).links == ()


def test_t3_private_text_is_taken_out() -> None:
    assert without_private("a <private>b</private> c") == "a  c"
    assert without_private("a <PRIVATE>b\nc</Private>d") == "a d"
    assert without_private("a <private>never closed") == "a "
    assert without_private("plain") == "plain"


def test_blanking_keeps_every_offset() -> None:
    text = "a `b` %%c\nd%% e\n```\nf\n```\ng"
    assert len(visible(text)) == len(text)
    assert visible(text).count("\n") == text.count("\n")
    assert visible(text).replace("\0", " ").split() == ["a", "e", "g"]


def test_headings() -> None:
    text = "# One\n\nTwo\n===\n\nThree\n---\n\n## Four ##\n\n### `code` in it\n#nothead\n```\n# no\n```\n- a\n---\n"
    found = headings(text)
    assert [(h.level, h.text) for h in found] == [
        (1, "One"),
        (1, "Two"),
        (2, "Three"),
        (2, "Four"),
        (3, "`code` in it"),
    ]
    for heading in found:
        assert heading.text.split()[0] in text[heading.start : heading.end]


def test_blocks() -> None:
    text = "para ^one\n- item ^two-2\n\n^three\nnot^four\n`x ^five`\n"
    blocks = outline(text).blocks
    assert [block.id for block in blocks] == ["one", "two-2", "three"]
    assert text[blocks[1].start :].startswith("- item")


FACTS = [
    (
        "- depends_on:: [[Keychain]] (2026-01-28 → ; 0.9; [[Refresh tokens]]) ^f-7k2m",
        Fact("depends_on", "[[Keychain]]", "2026-01-28", "", 0.9, "[[Refresh tokens]]", "f-7k2m"),
    ),
    (
        "- deployed_version:: 2.4.1 (2026-05-10T14:32:00 → ; 0.95; deploy-log) ^f-3p9x",
        Fact("deployed_version", "2.4.1", "2026-05-10T14:32:00", "", 0.95, "deploy-log", "f-3p9x"),
    ),
    ("- a:: b (2025-01-01 → 2026-01-01)", Fact("a", "b", "2025-01-01", "2026-01-01")),
    ("- a:: b (→)", Fact("a", "b")),
    ("- a:: b", Fact("a", "b")),
    (
        "- a:: b (with) brackets (→ 2026) ^f-1",
        Fact("a", "b (with) brackets", "", "2026", block="f-1"),
    ),
    ("- a:: b (x → y; why; because)", Fact("a", "b", "x", "y", None, "why; because")),
    ("- a:: `code:: x` (→)", Fact("a", "`code:: x`")),
    ("* a:: b (2026 → ; 1.7)", Fact("a", "b", "2026", "", None, "1.7")),
]


@pytest.mark.parametrize(("line", "fact"), FACTS, ids=lambda value: str(value)[:40])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_facts(line: str, fact: Fact, newline: str) -> None:
    text = newline.join(["Summary", "", "## Facts", "", line, "", "## Other", "", "- c:: d", ""])
    (found,) = outline(text).facts
    assert text[found.start : found.end] == line
    fields = [f for f in Fact.__slots__ if f not in ("start", "end")]
    assert [getattr(found, f) for f in fields] == [getattr(fact, f) for f in fields]


LOG = """## Log

- **09:12:04** decision: Sign gateway tokens with RS256 #auth #auth/keys ^01ke6nz8a0
  Because the gateway must verify.

  - nested
    deeper
- **09:13** just text
- **09:14:00** note: time 12:30 and C#

after

- **09:15:00** last
"""


def test_session_log_entries() -> None:
    found = outline(LOG).observations
    assert [(o.time, o.category, o.content, o.tags, o.block) for o in found] == [
        (
            "09:12:04",
            "decision",
            "Sign gateway tokens with RS256\nBecause the gateway must verify.\n\n- nested\n  deeper",
            ("auth", "auth/keys"),
            "01ke6nz8a0",
        ),
        ("09:13", "", "just text", (), ""),
        ("09:14:00", "note", "time 12:30 and C#", (), ""),
        ("09:15:00", "", "last", (), ""),
    ]


def test_basic_memory_bullets() -> None:
    text = (
        "- [design] Uses RS256 #auth (kickoff) ^b1\n- [ ] todo\n- [x] done\n- [link](x.md) no\n"
        "- depends_on [[Keychain]]\n- part of [[Atlas|the project]] (since May)\n"
        "- See the long page on tokens in [[X]] for more\n- [[Y]]\n"
    )
    found = outline(text)
    (noted,) = found.observations
    assert noted == Observation(
        "Uses RS256 #auth", "design", ("auth",), "kickoff", "", "b1", noted.start, noted.end
    )
    assert [(r.kind, r.target, r.context) for r in found.relations] == [
        ("depends_on", "Keychain", ""),
        ("part of", "Atlas", "since May"),
    ]
