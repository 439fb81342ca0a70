"""Links to a note that gets another name, changed as Obsidian changes them: nothing but the name.

What leads to the note is asked of the caller; folders, endings, headings, blocks and displayed
words of a link stay as they were written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple
from urllib.parse import unquote

from vaultmem.notes.markdown import INLINE_LINK, URL_SCHEME, WIKILINK, visible_text
from vaultmem.notes.masking import is_escaped, private_spans
from vaultmem.notes.note import Note

IsMeant = Callable[[str], bool]  # whether a link's target means the note

_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_KEY: Final = re.compile(r'"(file|text)"\s*:\s*\Z')
_SIGN: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]",
    re.DOTALL,
)
_ENCODED: Final = {"%": "%25", " ": "%20", "(": "%28", ")": "%29"}


class Splice(NamedTuple):
    start: int
    end: int
    text: str


def with_renamed_links(note: Note, is_meant: IsMeant, name: str) -> str:
    """The whole text of a note, its properties too."""
    splices = [_moved(s, note.body_start) for s in _in_markdown(note.body, is_meant, name)]
    if note.block:
        start, end = note.block
        splices += [_moved(s, start) for s in _in_properties(note.text[start:end], is_meant, name)]
    return _spliced(note.text, splices)


def canvas_with_renamed_links(text: str, old_path: str, new_path: str, is_meant: IsMeant) -> str:
    """A canvas: the note's own cards, and the links in cards of text. Texts between are kept byte
    for byte, however they are escaped."""
    name = new_path.rpartition("/")[2].removesuffix(".md")
    splices: list[Splice] = []
    for found in _STRING.finditer(text):
        key = _KEY.search(text, max(0, found.start() - 40), found.start())
        if not key:
            continue
        signs = list(_SIGN.finditer(text, found.start() + 1, found.end() - 1))
        said = "".join(map(_decoded, signs))
        places = [sign.start() for sign in signs] + [found.end() - 1]
        if key[1] == "file":
            new = [Splice(0, len(said), new_path)] if said == old_path else []
        else:
            new = list(_in_markdown(said, is_meant, name))
        splices += [
            Splice(places[s.start], places[s.end], json.dumps(s.text, ensure_ascii=False)[1:-1])
            for s in new
        ]
    return _spliced(text, splices)


def _decoded(sign: re.Match[str]) -> str:
    """One sign of a JSON string."""
    try:
        return str(json.loads(f'"{sign[0]}"'))[:1] if sign[0][0] == "\\" else sign[0]
    except ValueError:
        return "\ufffd"


def _moved(splice: Splice, by: int) -> Splice:
    return splice._replace(start=splice.start + by, end=splice.end + by)


def _spliced(text: str, splices: list[Splice]) -> str:
    for start, end, new in sorted(splices, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _in_markdown(body: str, is_meant: IsMeant, name: str) -> Iterator[Splice]:
    """Private passages are looked at too: their owner's links are links."""
    yield from _links(visible_text(body), body, is_meant, name)
    for span in private_spans(body):
        start, end = body.index(">", span.start) + 1, body.rfind("<", span.start, span.end)
        inner = body[start : max(start, end)]
        for splice in _links(visible_text(inner), inner, is_meant, name):
            yield _moved(splice, start)


def _in_properties(block: str, is_meant: IsMeant, name: str) -> Iterator[Splice]:
    for splice in _links(block, block, is_meant, name):
        line = block[block.rfind("\n", 0, splice.start) + 1 : splice.start]
        in_single_quotes = line.replace('"', "").count("'") % 2 == 1 and '"[[' not in line
        yield splice._replace(text=splice.text.replace("'", "''")) if in_single_quotes else splice


def _links(seen: str, said: str, is_meant: IsMeant, name: str) -> Iterator[Splice]:
    for match in WIKILINK.finditer(seen):
        if is_escaped(seen, match.start()):
            continue
        written = re.split(r"[|#]", said[match.start() + 2 : match.end() - 2])[0].rstrip("\\")
        target = written.strip()
        if target and is_meant(target):
            start = match.start() + 2 + written.index(target)
            yield _name_in(target, start, name)
    for match in INLINE_LINK.finditer(seen):
        group = 1 if match[1] else 2
        written = said[match.start(group) : match.end(group)].partition("#")[0]
        if not written or URL_SCHEME.match(written) or is_escaped(seen, match.start()):
            continue
        if is_meant(unquote(written)):
            encoded = "".join(_ENCODED.get(sign, sign) for sign in name) if group == 2 else name
            yield _name_in(written, match.start(group), encoded)


def _name_in(written: str, start: int, name: str) -> Splice:
    """The file's name alone, between its folders and its ending."""
    first = written.rfind("/") + 1
    last = len(written) - (3 if written.lower().endswith(".md") else 0)
    return Splice(start + first, start + last, name)
