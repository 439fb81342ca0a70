"""What a note's text says: rules T1, T2, T3, and the grammars of facts and observations."""

from __future__ import annotations

import pytest

from vaultmem.notes.markdown import (
    INLINE_MASK,
    Fact,
    Observation,
    markdown_headings,
    markdown_outline,
    markdown_section,
    text_without_comments,
    visible_text,
    without_private,
)


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
        ("$$\n#math\n- b\n$$\n#seen", ("seen",)),
        ("so $$ #math $$ #seen", ("seen",)),
        ("costs $$ #a\n\nand $$ #b", ("a", "b")),
        ("\\$$ #a $$ #b", ("a", "b")),
        ("\\` #a `", ("a",)),
        ("[[a#b]] #c [x](y#z) #d [[N #e]] #f", ("c", "d", "f")),
    ],
)
def test_t1_tags(text: str, tags: tuple[str, ...]) -> None:
    assert markdown_outline(text).tags == tags


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
        ("[Foo (bar)](Foo%20(bar).md)", "Foo (bar).md", "", "Foo (bar)", False),
        ("[t](a(b(c)d)e.md#h)", "a(b(c)d)e.md", "h", "t", False),
        ("([t](N.md))", "N.md", "", "t", False),
        ("[`code`](n.md)", "n.md", "", "`code`", False),
        ("[[N|`c`]]", "N", "", "`c`", False),
        ("\\\\[[N]]", "N", "", "", False),
    ],
)
def test_t2_links(text: str, target: str, anchor: str, display: str, embed: bool) -> None:
    (link,) = markdown_outline(text).links
    assert (link.target, link.anchor, link.display, link.embed) == (target, anchor, display, embed)


@pytest.mark.parametrize(
    "text",
    ["[x](https://a.b)", "[x](mailto:a@b)", "`[[N]]`", "[[a\nb]]", "[ ]", "%%[[N]]%%", "\\[[x]]",
     "\\[t](x.md)", "[t](a(b.md", "$$[[1, 2]]$$"],
)  # fmt: skip
def test_t2_what_is_no_link(text: str) -> None:
    assert markdown_outline(text).links == ()


def test_t3_private_text_is_taken_out() -> None:
    assert without_private("a <private>b</private> c") == "a  c"
    assert without_private("a <PRIVATE>b\nc</Private>d") == "a d"
    assert without_private("a <private>never closed") == "a "
    assert without_private("plain") == "plain"
    assert without_private("a <private>b <private>c</private> d</private> e") == "a  e"
    assert without_private("a <pri<private>x</private>vate>b</private> c") == "a  c"
    assert without_private("a </private> b <private>c</private>") == "a </private> b "


@pytest.mark.parametrize("tag", ["private", "PRIVATE", "Private"])
def test_t3_private_text_is_never_found(tag: str) -> None:
    secret = f"<{tag}>hush</{tag}>"
    text = (
        f"# A {secret}\n[[N|{secret}]] `{secret}`\n```\n{secret}\n```\n"
        f"## Facts\n- a:: {secret} (→)\n## Log\n- **09:12** x {secret}\n  {secret}\n"
        f"- [tip] {secret} (c)\n- in [[N]] ({secret})\n"
    )
    assert "hush" not in visible_text(text)
    assert "hush" not in text_without_comments(text)
    assert "hush" not in repr(markdown_outline(text))
    assert len(text_without_comments(text)) == len(text)
    assert text_without_comments(f"a <{tag}>never closed").strip() == "a"
    assert text_without_comments(f"say `<{tag}>` for it") == f"say `<{tag}>` for it"


@pytest.mark.parametrize(
    "block",
    ["## Facts `x`", "- that`s", "* b`", "+ b`", "2. b`", "> b`", "---\nb`", "***\nb`", "===\nb`",
     "```\n`\n```", "~~~\n`\n~~~", "\nb`", "| b` |"],
)  # fmt: skip
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_code_span_ends_with_its_block(block: str, newline: str) -> None:
    text = f"it`s #one [[L1]]\n{block}\n".replace("\n", newline)
    found = markdown_outline(text)
    assert found.tags == ("one",)
    assert [link.target for link in found.links] == ["L1"]


def test_a_code_span_hides_no_heading() -> None:
    found = markdown_outline("see ` here\n## Facts `x`\n\n- a:: b\n")
    assert [h.text for h in found.headings] == ["Facts `x`"]


@pytest.mark.parametrize("text", ["`a\n#b`", "> `a\n> #b`", "- `a\n  #b`", "`` a ` #b ``"])
def test_a_code_span_may_run_over_lines(text: str) -> None:
    assert markdown_outline(text).tags == ()


@pytest.mark.parametrize(
    "text",
    ["> ```\n> #a\n\n#out", "> ```\n> #a\n#out", "- ```\n  #a\n- #out", "- x\n  ```\n  #a\n#out",
     "1. x\n   ```\n\n   #a\n2. #out", "- x\n  - y\n    ```\n    #a\n  - #out", "- ```\n\t#a\n#out",
     "  ```\n#a\n  ```\n#out", "```\n> ```\n#a\n```\n#out"],
)  # fmt: skip
def test_a_fence_ends_with_what_holds_it(text: str) -> None:
    assert markdown_outline(text).tags == ("out",)


def test_blanking_keeps_every_offset() -> None:
    text = "a `b` %%c\nd%% e\n```\nf\n```\ng"
    assert len(visible_text(text)) == len(text)
    assert visible_text(text).count("\n") == text.count("\n")
    assert visible_text(text).replace("\0", " ").split() == ["a", "e", "g"]


def test_headings() -> None:
    text = "# One\n\nTwo\n===\n\nThree\n---\n\n## Four ##\n\n### `code` in it\n#nothead\n```\n# no\n```\n- a\n---\n"
    found = markdown_headings(text)
    assert [(h.level, h.text) for h in found] == [
        (1, "One"),
        (1, "Two"),
        (2, "Three"),
        (2, "Four"),
        (3, "`code` in it"),
    ]
    for heading in found:
        assert heading.text.split()[0] in text[heading.start : heading.end]


def test_a_heading_in_a_list_item_is_not_the_notes() -> None:
    text = "- a\n\n  ## In the item\n  Under\n  ---\n\n## Own\n\n  ## Indented\n"
    assert [h.text for h in markdown_headings(text)] == ["Own", "Indented"]


@pytest.mark.parametrize(
    "line", ["## **Log**", "## *log*", "## __Log__:", "## **Log:**", "## Log:", "Log\n---"]
)
def test_sections_are_found_without_their_decoration(line: str) -> None:
    text = f"# Top\n\n{line}\n\nx\n\n## Next\n"
    span = markdown_section(markdown_headings(text), "Log", len(text))
    assert span is not None
    assert text[slice(*span)].strip() == "x"


def test_a_section_with_just_the_name_comes_first() -> None:
    text = "## Log!\n\na\n\n## Log\n\nb\n"
    span = markdown_section(markdown_headings(text), "Log", len(text))
    assert span is not None
    assert text[slice(*span)].strip() == "b"
    assert markdown_section(markdown_headings(text), "?", len(text)) is None


def test_blocks() -> None:
    text = "para ^one\n- item ^two-2\n\n^three\nnot^four\n`x ^five`\n"
    blocks = markdown_outline(text).blocks
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
    ("- my `x` y:: `b` (→; `c` (d → e))", Fact("my `x` y", "`b`", provenance="`c` (d → e)")),
    ("- a:: f (x → y; z) c (→ 2026)", Fact("a", "f (x → y; z) c", "", "2026")),
    ("- a:: b (2026 → ; 0.5; fine :) )", Fact("a", "b", "2026", "", 0.5, "fine :)")),
    ("- a:: b (x → y) c", Fact("a", "b (x → y) c")),
    ("- a:: b (→ 2026) ^f-1  ", Fact("a", "b", "", "2026", block="f-1")),
    ("- a::", Fact("a", "")),
]


@pytest.mark.parametrize(("line", "fact"), FACTS, ids=lambda value: str(value)[:40])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_facts(line: str, fact: Fact, newline: str) -> None:
    text = newline.join(["Summary", "", "## Facts", "", line, "", "## Other", "", "- c:: d", ""])
    (found,) = markdown_outline(text).facts
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
    found = markdown_outline(LOG).observations
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


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "content",
    [
        "closes issue #42",
        "C# and F#",
        "two blanks before the end  ",
        "use `x ^y` and `#z`",
        "a `b\nd` #c",
        "a\n\n\nb",
        "a\n\n    code\n\n\n  b",
        "see\n```py\nx = 1\n\n\ny = 2  \n```\nend #tag",
        "see\n```\nnever closed",
        "a\n## Facts\n- b:: c\n\nTitle\n===\n- **09:13:00** d ^e",
        "a\n\ttab\n\t\ttabs",
        "",
    ],
)
def test_what_was_logged_comes_back_byte_for_byte(content: str, newline: str) -> None:
    first, *rest = content.split("\n")
    lines = [
        f"- **09:12:04** note: {first} #auth #a/b ^x",
        *(line and f"  {line}" for line in rest),
    ]
    text = "\n".join(["## Log", "", *lines, "", "after", "- **09:13:00** last"])
    text = text.replace("\n", newline)
    entry, last = markdown_outline(text).observations
    assert (entry.content, entry.category, entry.block) == (content, "note", "x")
    assert entry.tags == ("auth", "a/b")
    assert text[entry.start : entry.end].replace(newline, "\n") == "\n".join(lines)
    assert (last.content, last.time) == ("last", "09:13:00")


def test_a_number_is_no_tag_of_an_entry() -> None:
    (entry,) = markdown_outline("## Log\n- **09:12:04** note: closes issue #42 ^x\n").observations
    assert (entry.content, entry.tags, entry.block) == ("closes issue #42", (), "x")


def test_tabs_indent_an_entry_as_well() -> None:
    (entry,) = markdown_outline(
        "## **Log**\n- **09:12**  by hand  \n\tmore\n\t\tdeeper\n\n"
    ).observations
    assert entry.content == "by hand\nmore\n\tdeeper"


def test_no_blanked_text_gets_out() -> None:
    text = (
        "# `a`\n[`b`](n.md) [[N|`c`]] [[`d`]]\n- [`e`] tip `f` #t (`g`)\n- in [[N]] (`h` x)\n"
        "## Facts\n- i `j`:: `k` (`l` → `m`; `n`)\n## Log\n- **09:12** `o` #p\n  `q`\n"
    )
    found = markdown_outline(text)
    assert INLINE_MASK not in repr(found) + "".join(str(getattr(found, f)) for f in found.__slots__)
    assert r"\x00" not in repr(found)
    assert found.relations[0].context == "`h` x"
    entry, noted = found.observations
    assert (entry.content, entry.tags) == ("`o`\n`q`", ("p",))
    assert (noted.category, noted.content, noted.context) == ("`e`", "tip `f` #t", "`g`")


def test_a_footnote_is_no_observation() -> None:
    assert markdown_outline("- [^1] text\n- [^note] text\n").observations == ()


def test_basic_memory_bullets() -> None:
    text = (
        "- [design] Uses RS256 #auth (kickoff) ^b1\n- [ ] todo\n- [x] done\n- [link](x.md) no\n"
        "- depends_on [[Keychain]]\n- part of [[Atlas|the project]] (since May)\n"
        "- See the long page on tokens in [[X]] for more\n- [[Y]]\n"
    )
    found = markdown_outline(text)
    (noted,) = found.observations
    assert noted == Observation(
        "Uses RS256 #auth", "design", ("auth",), "kickoff", "", "b1", noted.start, noted.end
    )
    assert [(r.kind, r.target, r.context) for r in found.relations] == [
        ("depends_on", "Keychain", ""),
        ("part of", "Atlas", "since May"),
    ]
