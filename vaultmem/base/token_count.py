"""How many tokens a text takes, without a tokenizer: within a tenth of a real one on prose,
Markdown and code (`tests/base/test_token_count.py`)."""

from __future__ import annotations

import re
from typing import Final

_PIECE: Final = re.compile(
    r"([A-Za-z]+)|(\d+)|(\n)|([^\sA-Za-z\d\u0080-\U0010ffff]+)|([\u0080-\U0010ffff])"
)
_WHOLE: Final = 6  # letters of a word that is usually one token
_LETTER, _SIGN, _OTHER = 0.14, 0.4, 1.3  # each further letter or sign; a letter that is not ASCII


def token_count(text: str) -> int:
    total = 0.0
    for word, digits, _, signs, other in _PIECE.findall(text):
        if word:
            total += 1 + max(0, len(word) - _WHOLE) * _LETTER
        elif digits:
            total += max(1.0, (len(digits) + 1) / 2)
        elif signs:
            total += 1 + (len(signs) - 1) * _SIGN
        else:
            total += _OTHER if other else 1
    return round(total + 0.49)


def most_tokens(text: str) -> int:
    """What a text costs at most: as counted, or a quarter of its bytes, as some count."""
    return max(token_count(text), -(-len(text.encode(errors="replace")) // 4))
