"""What texts have in common: their words, which of them are alike, and the sentences that
say most of it. Counting alone; no model is needed, and nothing is written that was not said."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from vaultmem.markdown import shown, visible

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

_WORD: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+|[^\W_]+(?:['’][^\W_]+)?")
_WIDE: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])(?=\s)|(?<=[。！？])|\n")
_LINE_MARKS: Final = re.compile(r"\A(?:\s|#{1,6}\s|[-*+>]\s|\d{1,3}[.)]\s|\[[ xX]\]\s)+")
_UNSAFE: Final = re.compile(r"%%|<!--|-->|\$\$|\||^[-=_*~`]+$|^(?:---|```|~~~)")
_LONGEST: Final = 300  # characters of a sentence
_READ: Final = 20_000  # characters of a text: what it is about is said by then
_SAME: Final = 0.75  # of a sentence's words said by another: it is a repetition

# Words that say nothing about what a text is about.
_SMALL_WORDS: Final = """
    a about above after again against all almost along already also although always am among
    an and any are around as at away back be became because been before being below between
    both but by call came can cannot could did do does doing done down during each either
    else enough even ever every few first for found from further gave get gets getting give
    given go goes going got had has have having he her here hers him his how however i if in
    instead into is it its itself just keep know last later least less let like made make
    makes making many may me might more most much must my need needs never new next no nor
    not nothing now of off on once one only onto or other our out over own per put quite
    rather really said same say says see seem seen shall she should show since so some
    something soon still such take than that the their them then there these they thing
    things this those though through thus till to together too took toward two under until
    up upon us use used uses using very via want wants was way we well went were what when
    where whether which while who whole whom whose why will with within without work works
    would yes yet you your yours
"""
STOP_WORDS: Final = frozenset(_SMALL_WORDS.split())


class Sentence(NamedTuple):
    text: str
    source: int  # which of the texts it is from


def words(text: str) -> list[str]:
    """The words that carry meaning, plural or not; scripts without blanks by pairs of signs."""
    found: list[str] = []
    for word in _WORD.findall(text[:_READ].casefold()):
        if _WIDE.match(word):
            found += [word[i : i + 2] for i in range(max(1, len(word) - 1))]
        elif len(word) > 2 and word not in STOP_WORDS and not word.isdigit():
            found.append(_singular(word))
    return found


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


# --- likeness ---------------------------------------------------------------------------


def likeness_of_words(texts: Sequence[str]) -> Matrix:
    """Cosine between all texts by their words, rare ones counting more."""
    import numpy as np

    bags = [Counter(words(text)) for text in texts]
    weights = _weights(bags)
    columns = {word: i for i, word in enumerate(weights)}
    matrix = np.zeros((len(bags), max(1, len(columns))), np.float32)
    for row, bag in enumerate(bags):
        for word, count in bag.items():
            matrix[row, columns[word]] = (1 + math.log(count)) * weights[word]
    return likeness_of_vectors(matrix)


def likeness_of_vectors(vectors: Matrix) -> Matrix:
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.maximum(lengths, 1e-9)
    result: Matrix = unit @ unit.T
    return result


def _weights(bags: Sequence[Mapping[str, int]]) -> dict[str, float]:
    seen = Counter(word for bag in bags for word in bag)
    return {word: math.log(1 + len(bags) / count) for word, count in seen.items()}


def clusters(likeness: Matrix, threshold: float) -> list[list[int]]:
    """Groups of what is alike, by average link: the two groups most alike are joined until
    none are alike enough, so a long chain of small steps does not become one group."""
    alike = likeness.copy()
    size = len(alike)
    groups = [[i] for i in range(size)]
    if size:
        alike.flat[:: size + 1] = -1
    while size:
        i, j = sorted(divmod(int(alike.argmax()), size))
        if alike[i, j] < threshold:
            break
        a, b = len(groups[i]), len(groups[j])
        alike[i] = (a * alike[i] + b * alike[j]) / (a + b)
        alike[:, i] = alike[i]
        alike[i, i] = -1
        alike[j] = alike[:, j] = -1
        groups[i] += groups[j]
        groups[j] = []
    return [sorted(group) for group in groups if group]


# --- sentences --------------------------------------------------------------------------


def sentences(text: str) -> list[str]:
    """Whole sentences of a text, out of code and comments, without their list and heading marks."""
    text = shown(text[:_READ])
    seen = visible(text)
    found, start = [], 0
    for end in [*(m.end() for m in _SENTENCE_END.finditer(seen)), len(seen)]:
        if seen[start:end].strip():
            found.append(_bare(text[start:end]))
        start = end
    return [part for part in found if part and not _UNSAFE.search(part) and _is_closed(part)]


def _bare(sentence: str) -> str:
    kept = _LINE_MARKS.sub("", sentence).split()
    while kept and kept[-1][0] in "#^" and len(kept[-1]) > 1:
        kept.pop()
    return " ".join(kept)


def _is_closed(sentence: str) -> bool:
    return sentence.count("`") % 2 == 0 and sentence.count("[[") == sentence.count("]]")


def main_sentences(texts: Sequence[str], most: int, room: int) -> list[str]:
    """The sentences that share most with all of them, the first one the most; none twice."""
    found = [Sentence(s, i) for i, text in enumerate(texts) for s in sentences(text)]
    bags = [Counter(words(sentence.text)) for sentence in found]
    scores = _centrality(bags)
    order = sorted(range(len(found)), key=lambda i: (-scores[i], i))
    chosen: list[int] = []
    for i in order:
        length = len(found[i].text)
        if len(chosen) == most or length > min(room, _LONGEST) or scores[i] <= 0:
            continue
        if any(_repeats(bags[i], bags[other]) for other in chosen):
            continue
        chosen.append(i)
        room -= length
    return [found[i].text for i in (*chosen[:1], *sorted(chosen[1:]))]


def centrality(texts: Sequence[str]) -> list[float]:
    return _centrality([Counter(words(text)) for text in texts])


def _centrality(bags: Sequence[Counter[str]]) -> list[float]:
    """How much of what all say each one says; a word that only one says counts little."""
    shared = Counter(word for bag in bags for word in bag)
    scores = []
    for bag in bags:
        said = sum(math.log(1 + shared[word]) * (shared[word] > 1 or 0.3) for word in bag)
        scores.append(said / math.sqrt(len(bag) + 4))
    return scores


def _repeats(bag: Mapping[str, int], other: Mapping[str, int]) -> bool:
    """Whether this adds next to nothing to the other."""
    return len(bag.keys() & other.keys()) > _SAME * len(bag)


def one_line(text: str, most: int) -> str:
    """The first sentence, for a list; cut at a word where it is too long."""
    first = next(iter(sentences(text)), "")
    if len(first) <= most:
        return first
    return first[:most].rpartition(" ")[0].rstrip(" ,;:") + " …"


def topics(tags: Iterable[str], texts: Iterable[str], most: int) -> tuple[str, ...]:
    """What it was about: the tags given most often, and where these are few, the words."""
    named = Counter(tag.casefold() for tag in tags)
    found = [tag for tag, _ in named.most_common(most)]
    said = Counter(word for text in texts for word in set(words(text)))
    known = {word for tag in found for word in words(tag)}
    more = [word for word, count in said.most_common() if count > 1 and word not in known]
    return (*found, *more[: max(0, min(3, most) - len(found))])
