"""Where a title is from, and what to show where it is from a text that says something else now.

That a title was taken from the text, and was given by nobody, is told by the note's id: its last
signs are a digest of such a title. So it is known on every machine, costs no property, and ends
when somebody renames the file.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from typing import Final

from ulid_transform import ulid_now

from vaultmem.base.words import PLAIN_WORD, word_stem
from vaultmem.notes.file_names import name_key, safe_name
from vaultmem.notes.naming.derived_titles import (
    UNTITLED,
    derived_title,
    first_sentence,
    is_title_of,
    plain_lines,
)

_DIGITS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ULID: Final = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}\Z")
_HEAD: Final = 21  # signs of an id that are time and chance; then comes one that checks them
_NUMBER: Final = re.compile(r" \d+\Z")


def new_id(derived_title: str = "") -> str:
    """An id for a note of ours; where its title is taken from its text it says so."""
    return marked_id(ulid_now(), derived_title)


def marked_id(ulid: str, derived_title: str = "") -> str:
    head = ulid[:_HEAD].upper()
    last = _signs(f"{head} {name_key(safe_name(derived_title))}", 4) if derived_title else ulid[-4:]
    return head + _signs(head, 1) + last


def is_derived(id: str, title: str) -> bool:
    """Whether the note with this id got this title from its text, and not from somebody."""
    if not _is_marked(id):
        return False
    head, key = id[:_HEAD].upper(), name_key(title)
    names = {key, _NUMBER.sub("", key)}
    return any(_signs(f"{head} {name}", 4) == id[-4:].upper() for name in names)


def _is_marked(id: str) -> bool:
    return bool(_ULID.match(id.upper())) and _signs(id[:_HEAD].upper(), 1) == id[_HEAD].upper()


def _signs(text: str, count: int) -> str:
    digest = hashlib.blake2b(text.encode(errors="replace"), digest_size=count).digest()
    return "".join(_DIGITS[byte & 31] for byte in digest)


# --- what is shown ---------------------------------------------------------------------------

_SUBSTITUTED: Final = 3  # words at most, in the place of others, where a sentence was corrected
_FIRST_WORDS: Final = 500  # characters


def shown_title(title: str, id: str, text: str) -> str:
    """The title, or the text's own first words where it was taken from an earlier text."""
    if not is_derived(id, title) and (_is_marked(id) or not _reads_corrected(title, text)):
        return title
    if any(is_title_of(name, text) for name in {title, _NUMBER.sub("", title)}):
        return title
    own = derived_title(text)
    return title if own == UNTITLED else own


def _reads_corrected(title: str, text: str) -> bool:
    """Of a note of an older vaultmem, whose id does not tell: whether the text begins with the
    title's words but for a few others in the place of some, which it does not say any more."""
    said = PLAIN_WORD.findall(first_sentence(next(plain_lines(text), "")).casefold())
    words = PLAIN_WORD.findall(title.casefold())
    pairs = zip(words, said, strict=False)
    same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
    if len(words) < 4 or same < 2 or same in (len(words), len(said)):
        return False
    near = set(map(word_stem, PLAIN_WORD.findall(text[:_FIRST_WORDS].casefold())))
    for old, new in itertools.product(range(1, _SUBSTITUTED + 1), repeat=2):
        tail, kept = words[same + old :], len(words) - old
        if tail == said[same + new :][: len(tail)] and kept >= 3 and kept >= len(words) * 0.6:
            return near.isdisjoint(map(word_stem, words[same : same + old]))
    return False
