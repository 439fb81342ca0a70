"""A text of any origin as part of one line of a note, where it means nothing but its words."""

from __future__ import annotations

import re
from typing import Final

_BLANKS: Final = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\ufffe\uffff]+")
_PAIRS: Final = re.compile(r"%%+|\$\$+|<!--|-->|([<>|])\1{6,}|={7,}")  # hide or part what follows
_BLOCK_ID: Final = re.compile(r"\^(?=[\w-]+\W*\Z)")
# What would be a link, a tag or HTML.
_MARKUP: Final = re.compile(r"\[(?=\[)|(?<=\[)\[|(?<![\w\\])#(?=[^\s#])|<(?=[A-Za-z/!?])")
_CODE: Final = re.compile(r"(`[^`]+`)")
_STARTS: Final = re.compile(r"(?:[-+*>#=~|:]|\d{1,9}[.)]|!?\[|\t)")


def shortened(text: str, most: int) -> str:
    """On one line, and cut at a word where it is too long."""
    plain = _BLANKS.sub(" ", text[: 8 * most]).strip()
    if len(plain) <= most:
        return plain
    cut = plain[: most - 2]
    words = cut.rpartition(" ")[0]
    return (words if len(words) > most // 2 else cut).rstrip(" ,;:.-") + " …"


def plain_line(text: str, most: int) -> str:
    """The same, as a line of a note that reads like the text and does nothing else."""
    line = _PAIRS.sub(lambda found: " ".join(found[0][:3]), shortened(text, most))
    line = _BLOCK_ID.sub("^ ", line)
    if line.count("`") % 2 or "``" in line:
        line = line.replace("`", "'")
    parts = _CODE.split(line)
    parts[::2] = (_MARKUP.sub(r"\\\g<0>", part) for part in parts[::2])
    return "".join(parts).rstrip()


def code_in_line(text: str, most: int) -> str:
    """The same as it stands between the signs of code, which are not given."""
    return plain_line(f"`{shortened(text, most).replace('`', chr(39))}`", 2 * most).strip("`")


def first_line_of_note(text: str, most: int) -> str:
    """The same at the beginning of a line, where more signs have a meaning."""
    line = plain_line(text, most)
    if found := _STARTS.match(line):
        end = found.end() - 1  # `1\\.`, and the sign itself elsewhere
        return f"{line[:end]}\\{line[end:]}"
    return line
