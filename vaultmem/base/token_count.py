"""How many tokens a text takes, without a tokenizer: within a tenth of a real one on prose,
Markdown and code (`tests/base/test_token_count.py`)."""

from __future__ import annotations

import re
from typing import Final

_WORDS: Final = re.compile(r"[A-Za-z]+")
_DIGITS: Final = re.compile(r"\d+")
_SIGNS: Final = re.compile(r"[^\sA-Za-z\d\u0080-\U0010ffff]+")
_OTHERS: Final = re.compile(r"[^\d\x00-\x7f]")
_WHOLE: Final = 6  # letters of a word that is usually one token
_LETTER, _SIGN, _OTHER = 0.14, 0.4, 1.3  # each further letter or sign; a letter that is not ASCII


def token_count(text: str) -> int:
    words, signs = _WORDS.findall(text), _SIGNS.findall(text)
    total: float = len(words) + text.count("\n") + len(signs)
    total += _LETTER * sum([len(word) - _WHOLE for word in words if len(word) > _WHOLE])
    total += _SIGN * (sum(map(len, signs)) - len(signs))
    total += sum([max(1.0, (len(digits) + 1) / 2) for digits in _DIGITS.findall(text)])
    if not text.isascii():
        total += _OTHER * len(_OTHERS.findall(text))
    return round(total + 0.49)


def most_tokens(text: str) -> int:
    """What a text costs at most: as counted, or a quarter of its bytes, as some count."""
    return max(token_count(text), -(-len(text.encode(errors="replace")) // 4))
