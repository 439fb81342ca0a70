"""What stands in a line of Markdown, as HTML: code, links, stress and tags; anything else is text.

One pass over the signs. A sign that opens is remembered by its kind alone, so whatever a line
consists of, the time grows with its length.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from typing import Final
from urllib.parse import unquote

from vaultmem.surfaces.page.asking import note_address
from vaultmem.surfaces.page.markup import Markup, joined, safe_address, tag

LONGEST_LINE: Final = 20_000  # characters; longer ones are shown as they are
_SIGN: Final = re.compile(
    r"""\\(?P<escaped>[!-/:-@\[-`{-~])
    |(?P<code>`+)
    |(?P<wiki>!?\[\[[^\[\]\n]{1,500}\]\])
    |(?P<link>!?\[[^\[\]\n]{0,500}\]\([^()\s<>]{1,1000}(?:[ \t]+"[^"\n]{0,200}")?\))
    |(?P<url>https?://[^\s<>"'`|]{1,1000})
    |(?P<tag>(?<![\w/&\#])\#[^\W\d][\w/-]{0,99})
    |(?P<stress>\*\*|__|~~|==|\*|_)
    |(?P<block>(?<=\s)\^[A-Za-z0-9-]{1,64}$)""",
    re.VERBOSE,
)
_ELEMENTS: Final = {
    "**": "strong", "__": "strong", "*": "em", "_": "em", "~~": "del", "==": "mark",
}  # fmt: skip
_URL_END: Final = ".,;:!?)]"


def inline_markup(text: str) -> Markup:
    if len(text) > LONGEST_LINE:
        return joined([text])
    return InlineReader(text).read()


class InlineReader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._pieces: list[str | Markup] = []
        self._open: dict[str, int] = {}  # signs of stress, and where in the pieces they stand
        self._fences: dict[int, list[int]] | None = None

    def read(self) -> Markup:
        at = 0
        ways: dict[str, Callable[[str], Markup]] = {
            "wiki": _wiki_link,
            "link": _inline_link,
            "tag": _tag_link,
        }
        while found := _SIGN.search(self._text, at):
            self._pieces.append(self._text[at : found.start()])
            kind, words = str(found.lastgroup), found[0]
            at = found.end()
            if kind == "code":
                at = self._code(found.start(), words)
            elif kind == "stress":
                self._stress(words, found.start(), at)
            elif kind == "url":
                at = self._address(found.start(), words)
            elif kind == "escaped":
                self._pieces.append(found["escaped"])
            elif kind in ways:
                self._pieces.append(ways[kind](words))
        self._pieces.append(self._text[at:])
        return joined(self._pieces)

    def _address(self, start: int, words: str) -> int:
        bare = words.rstrip(_URL_END)
        self._pieces.append(_outward(bare, bare))
        return start + len(bare)

    def _code(self, start: int, fence: str) -> int:
        """To the next run of as many backticks; without one they are text."""
        if self._fences is None:
            self._fences = {}
            for run in re.finditer("`+", self._text):
                self._fences.setdefault(len(run[0]), []).append(run.start())
        ends = self._fences[len(fence)]
        after = bisect_right(ends, start)
        if after == len(ends):
            self._pieces.append(fence)
            return start + len(fence)
        said = self._text[start + len(fence) : ends[after]]
        stripped = said[1:-1] if said[:1] == said[-1:] == " " and said.strip() else said
        self._pieces.append(tag("code", stripped))
        return ends[after] + len(fence)

    def _stress(self, sign: str, start: int, end: int) -> None:
        before, after = self._text[start - 1 : start], self._text[end : end + 1]
        opens, closes = bool(after.strip()), bool(before.strip())
        if sign[0] == "_":
            opens, closes = opens and not before.isalnum(), closes and not after.isalnum()
        place = self._open.get(sign)
        if closes and place is not None and place < len(self._pieces) - 1:
            inner = joined(self._pieces[place + 1 :])
            self._pieces[place:] = [tag(_ELEMENTS[sign], inner)]
            self._open = {other: at for other, at in self._open.items() if at < place}
        else:
            if opens and place is None:
                self._open[sign] = len(self._pieces)
            self._pieces.append(sign)


def _wiki_link(words: str) -> Markup:
    target, _, shown = words.lstrip("!")[2:-2].partition("|")
    name, _, anchor = target.rstrip("\\").partition("#")
    label = shown.strip() or " › ".join(filter(None, (name.strip(), anchor.strip().lstrip("^"))))
    if not name.strip():
        return tag("a", label, href=f"#h-{anchor.strip()}")
    return tag("a", label, href=note_address(name.strip()), class_="wiki")


def _inline_link(words: str) -> Markup:
    shown, _, rest = words.lstrip("!")[1:].partition("](")
    address = rest[:-1].split('"')[0].strip()
    label = shown.strip() or address
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:|//|#", address):
        return _outward(address, label)
    return tag("a", label, href=note_address(unquote(address).partition("#")[0]))


def _outward(address: str, label: str) -> Markup:
    """To elsewhere, only when it is clicked; what could run something stays text."""
    if not safe_address(address) or address.startswith("/"):
        return joined([label if label == address else f"{label} ({address})"])
    if address.startswith("#"):
        return tag("a", label, href=address)
    return tag("a", label, href=address, rel="noreferrer noopener", target="_blank")


def _tag_link(words: str) -> Markup:
    from vaultmem.surfaces.page.asking import page_address

    return tag("a", words, href=page_address("/search", q=words[1:], tag=words[1:]), class_="tag")
