"""HTML that is escaped by construction, and notes that stay text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from vaultmem.surfaces.page.asking import note_address, page_address
from vaultmem.surfaces.page.markup import joined, safe_address, tag
from vaultmem.surfaces.page.note_pages.rendering import rendered_note

ALLOWED = {
    *("p", "a", "strong", "em", "del", "mark", "code", "pre", "br", "hr", "ul", "ol", "li"),
    *("h2", "h3", "h4", "h5", "h6", "blockquote", "table", "thead", "tbody", "tr", "th", "td"),
    *("div", "span", "input"),
}


class Seen(HTMLParser):
    """The elements of a text, and what stands in them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_whatever_is_no_markup_becomes_text() -> None:
    made = tag("p", "1 < 2", tag("b", "&"), ["<i>", None, 3], title='"><script>')
    assert made == ('<p title="&quot;&gt;&lt;script&gt;">1 &lt; 2<b>&amp;</b>&lt;i&gt;3</p>')
    assert joined(["<", tag("br")]) == "&lt;<br>"
    assert Seen(tag("p", "\ud800")).text == "\ufffd"


@pytest.mark.parametrize(
    "wrong", [{"onclick": "x"}, {"style": "x"}, {"ONCLICK": "x"}, {"srcdoc": "x"}, {"a b": "x"}]
)
def test_no_attribute_carries_code(wrong: dict[str, str]) -> None:
    with pytest.raises(ValueError):
        tag("p", **wrong)
    for name in ("style", "iframe", "object", "a b"):
        with pytest.raises(ValueError):
            tag(name)


@pytest.mark.parametrize(
    "address",
    [
        *("javascript:alert(1)", " javascript:alert(1)", "JaVaScRiPt:x", "java\nscript:x"),
        *("data:text/html,x", "vbscript:x", "//elsewhere.invalid", "/\\elsewhere.invalid"),
        *("\x01javascript:x", "https:elsewhere", "file:///etc/passwd", "", "blob:x"),
    ],
)
def test_no_address_leads_where_it_must_not(address: str) -> None:
    assert safe_address(address) == ""
    assert 'href=""' in tag("a", "x", href=address)


@pytest.mark.parametrize(
    "address", ["https://x.org/a?b=c#d", "/note/x", "?q=1", "#a", "mailto:a@b"]
)
def test_usual_addresses_stay(address: str) -> None:
    assert safe_address(address) == address


def test_addresses_of_ours_are_quoted() -> None:
    assert note_address('a/b #?"<.md', tab="file") == "/note/a/b%20%23%3F%22%3C.md?tab=file"
    assert page_address("/search", q="a b", type="", page=None) == "/search?q=a+b"


NOTE = """\
# Title

Some *stress*, **more**, ~~gone~~, ==seen==, `a **b** c`, snake_case_name and 2 * 3 * 4.
See [[Some Note#Part|the note]], [here](other%20note.md), <b>no</b> https://x.org/a_(b). #tag/x
- one
- [x] done
  1. inner
  2. more

> [!tip] Look
> quoted

| a | b |
|---|---|
| 1 | `x|y` |

```py
<script>code</script>
```
Last. ^block-1
"""


def test_a_note_reads_as_in_obsidian() -> None:
    made = rendered_note(NOTE)
    seen = Seen(made)
    names = [name for name, _ in seen.elements]
    for name in ("h2", "em", "strong", "del", "mark", "code", "ul", "ol", "blockquote", "table"):
        assert name in names, name
    assert "snake_case_name and 2 * 3 * 4." in seen.text
    assert "<b>no</b>" in seen.text
    assert "<script>code</script>" in seen.text
    assert "^block-1" not in seen.text
    links = [attributes["href"] for name, attributes in seen.elements if name == "a"]
    assert links[:3] == ["/note/Some%20Note", "/note/other%20note.md", "https://x.org/a_(b"]
    assert "/search?q=tag%2Fx&tag=tag%2Fx" in links
    assert (
        "input",
        {"type": "checkbox", "disabled": None, "checked": None, "aria-label": "done"},
    ) in (seen.elements)


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script><svg/onload=alert(1)><style>*{}</style>",
        "[x](javascript:alert(1)) [y](data:text/html,z) [z](//evil) ![p](https://e.invalid/p.png)",
        '[[a" onclick="x]] [[</a><script>|"><script>]] #"><script>',
        '[x](/\\evil.invalid) <https://x" onmouseover=y>',
        "| <script> |\n|---|\n| <img src=x> |",
        "```<script>\n</pre><script>x</script>\n```",
    ],
)
def test_nothing_in_a_note_becomes_html_of_its_making(text: str) -> None:
    for name, attributes in Seen(rendered_note(text)).elements:
        assert name in ALLOWED
        assert not any(key.startswith("on") or key in ("style", "src") for key in attributes)
        address = attributes.get("href")
        assert address is None or re.match(r"https?://|/note/|/search\?|#|$", address)
