"""The sentences of texts, and which of them say most of what all have in common. Counting alone; no model is needed, and nothing is written that was not said."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from vaultmem.base.words import topic_words
from vaultmem.notes.markdown import text_without_comments, visible_text

_SENTENCE_END: Final = re.compile(r"(?<=[.!?])(?=\s)|(?<=[。！？])|\n")
_LINE_MARKS: Final = re.compile(r"\A(?:\s|#{1,6}\s|[-*+>]\s|\d{1,3}[.)]\s|\[[ xX]\]\s)+")
_UNSAFE: Final = re.compile(r"%%|<!--|-->|\$\$|\||^[-=_*~`]+$|^(?:---|```|~~~)")
_LONGEST: Final = 300  # characters of a sentence
_READ: Final = 20_000  # characters of a text: what it is about is said by then
_SAME: Final = 0.75  # of a sentence's words said by another: it is a repetition


def sentences(text: str) -> list[str]:
    """Whole sentences of a text, out of code and comments, without their list and heading marks."""
    text = text_without_comments(text[:_READ])
    seen = visible_text(text)
    found, start = [], 0
    for end in [*(m.end() for m in _SENTENCE_END.finditer(seen)), len(seen)]:
        if seen[start:end].strip():
            kept = _LINE_MARKS.sub("", text[start:end]).split()
            while kept and kept[-1][0] in "#^" and len(kept[-1]) > 1:
                kept.pop()
            found.append(" ".join(kept))
        start = end
    closed = (s for s in found if s.count("`") % 2 == 0 and s.count("[[") == s.count("]]"))
    return [sentence for sentence in closed if sentence and not _UNSAFE.search(sentence)]


def main_sentences(texts: Sequence[str], most: int, room: int) -> list[str]:
    """The sentences that share most with all of them, the first one the most; none twice."""
    found = [sentence for text in texts for sentence in sentences(text)]
    bags = [Counter(topic_words(sentence)) for sentence in found]
    scores = _sentence_centrality_by_words(bags)
    order = sorted(range(len(found)), key=lambda i: (-scores[i], i))
    chosen: list[int] = []
    for i in order:
        if len(chosen) == most or len(found[i]) > min(room, _LONGEST) or scores[i] <= 0:
            continue
        if any(len(bags[i].keys() & bags[o].keys()) > _SAME * len(bags[i]) for o in chosen):
            continue  # it adds next to nothing to the other
        chosen.append(i)
        room -= len(found[i])
    return [found[i] for i in (*chosen[:1], *sorted(chosen[1:]))]


def sentence_centrality(texts: Sequence[str]) -> list[float]:
    return _sentence_centrality_by_words([Counter(topic_words(text)) for text in texts])


def _sentence_centrality_by_words(bags: Sequence[Counter[str]]) -> list[float]:
    """How much of what all say each one says; a word that only one says counts little."""
    shared = Counter(word for bag in bags for word in bag)
    scores = []
    for bag in bags:
        said = sum(math.log(1 + shared[word]) * (shared[word] > 1 or 0.3) for word in bag)
        scores.append(said / math.sqrt(len(bag) + 4))
    return scores


def first_sentence(text: str, most: int) -> str:
    """The first sentence, for a list; cut at a word where it is too long."""
    first = next(iter(sentences(text)), "")
    if len(first) <= most:
        return first
    return first[:most].rpartition(" ")[0].rstrip(" ,;:") + " …"


def topics_of_texts(tags: Iterable[str], texts: Iterable[str], most: int) -> tuple[str, ...]:
    """What it was about: the tags given most often, and where these are few, the words."""
    named = Counter(tag.casefold() for tag in tags)
    found = [tag for tag, _ in named.most_common(most)]
    said = Counter(word for text in texts for word in set(topic_words(text)))
    known = {word for tag in found for word in topic_words(tag)}
    more = [word for word, count in said.most_common() if count > 1 and word not in known]
    return (*found, *more[: max(0, min(3, most) - len(found))])
