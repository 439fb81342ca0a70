"""What the lanes have for a question, and what follows: how much meaning counts beside words,
whether anything is known at all, and how probably a hit is a right one.

The weights are learned from questions with known answers and from prompts about nothing
(`scripts/run learn-recall` prints them); what was tried is in docs/decisions.md. Each is a
logistic model of a few plain signs, so that a reader can see what moves it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence, Set
from typing import Final, NamedTuple, TypeVar

from vaultmem.index import AskedWord
from vaultmem.recall.prompt_kind import own_by_words

M = TypeVar("M")  # a memory

# A question speaks of the one who asks, or of theirs.
_PERSONAL: Final = re.compile(
    r"\b(?:i|my|mine|(?<!show )(?<!tell )(?<!give )(?<!let )me|we|our|ours|us|i'm|i've|we've|ich|mein\w*|mir|mich|wir|uns|unser\w*|eu|meus?"
    r"|minhas?|nós|nossos?|nossas?|je|mon|ma|mes|moi|nous|notre|nos|mi|mis|mío|nuestr\w*|io|mio|mia"
    r"|noi|nostr\w*|mijn|wij|ons)\b|[我咱]|私|僕|俺|나의?|내|우리",
    re.IGNORECASE,
)
# It asks for advice, for which what somebody likes matters.
_ADVICE: Final = re.compile(
    r"\b(?:recommend\w*|suggest\w*|ideas?|tips?|advi[cs]e|should i|help me|looking for|plan(?:ning)?"
    r"|thinking (?:of|about)|considering|want to|would like|need (?:a|some|to)|what (?:kind|sort)"
    r"|(?:good|best|popular|fun|unique|effective|convenient|must-\w+) (?:\w+ ){0,4}(?:for|to|in|at)"
    r"|i (?:should|can|could) (?:try|see|visit|attend|do|eat|order|read|watch|buy)"
    r"|(?:things|places|ways|how can i)\b[^.?]{0,40}\b(?:do|see|try|visit|go|prepare|get|learn)"
    r"|empfiehl\w*|empfehl\w*|vorschl\w*|recomend\w*|suger\w*|conseill\w*)\b|推荐|建议",
    re.IGNORECASE,
)
# It wants something done, or says only yes or thanks.
_REQUEST: Final = re.compile(
    r"\s*(?:ok|okay|yes|no|thanks?|please|now|great|perfect|hi|hello|hey|sure|wait|stop|next|hmm|undo"
    r"|rename|add|remove|delete|format|fix|run|show|list|open|make|write|translate|convert|explain"
    r"|sort|give|suggest|move|revert|commit|push|merge|try|use|refactor|summari[sz]e|shorten"
    r"|generate|draw|count|check|install|restart|clear|bump|compare|define|solve|calculate|tell"
    r"|continue|go|do|skip|proofread|looks?|let'?s|danke|bitte|ja|nein|weiter"
    r"|merci|oui|gracias|sí|obrigad[oa]|sim|谢谢|好的|继续)\b",
    re.IGNORECASE,
)
# It points at what is on the screen.
_POINTING: Final = re.compile(
    r"\b(?:this|that|it|these|those|again|instead|the (?:last|other|second|first|next))\b",
    re.IGNORECASE,
)
# It asks as one asks an encyclopedia.
_GENERAL: Final = re.compile(
    r"\s*(?:what(?:'s| is| are| was| were| does| causes?)|who (?:is|was|wrote|won|invented|painted"
    r"|discovered)|how (?:do|does|many|much|far|long|old|tall|is)|why (?:is|are|do|does)|which"
    r"|when (?:did|does|was)|is (?:there|a|it)|difference between)\b",
    re.IGNORECASE,
)
_NAME: Final = re.compile(r"(?<=[^\s.?!:])\s+[\"'“‘(]?([A-ZÀ-ÖØ-Þ]\w+)")
_TOKEN: Final = re.compile(r"(?<![\w-])[\w-]{3,60}(?![\w-])")
_IDENTIFIER: Final = re.compile(r"[A-Za-z][\w-]*\d\d|[A-Z][\w-]*\d|[\w-]*[A-Za-z]_\w|[a-z]+[A-Z]")
_PART: Final = re.compile(r"[A-Za-z]+|\d+")
_TOGETHER: Final = 0.2  # what a similarity above the usual is divided by, to be added to a share
_ALL, _SAID = 0.93, 0.5  # a share, and what is known at least where a memory says it all
_BY_DAY: Final = 0.3
_NOBODYS: Final = -2.0  # "good morning", whatever stands in a memory
_SEVERAL: Final = math.log1p(2)  # words that are known
_FLOOR, _FLOOR_BY_WORDS, _LOW_FLOOR, _LOWEST_FLOOR = 0.42, 0.28, 0.005, 0.002
_LEAST, _MOST = 0.1, 0.8  # meaning never decides alone, nor words

# How much better meaning is than words for this question.
_MEANING: Final = {
    "": -1.1,
    "covered": -2.4,
    "above": 3.8,
    "margin": 6.1,
}
# Whether the vault knows anything about it, asked by words and meaning, or by words alone.
_KNOWN: Final = {
    "": -14.953,
    "covered": 0.204,
    "above": 20.106,
    "usual": 21.423,
    "both": 1.729,
    "own_vector": 0.595,
    "own_words": 0.393,
    "names": -0.354,
    "strangers": -1.438,
    "personal": 0.97,
    "request": -0.83,
    "pointing": -0.314,
    "general": -1.004,
}
_KNOWN_BY_WORDS: Final = {
    "": -1.785,
    "covered": 2.348,
    "words": 1.214,
    "names": 0.527,
    "strangers": -1.07,
    "own_words": 0.663,
    "personal": 1.047,
    "request": -1.026,
    "pointing": -0.5,
    "general": -1.181,
    "advice": 0.123,
}
# How probably a hit is a right one.
_RIGHT: Final = {
    "": -6.452,
    "known": 0.227,
    "covered": 0.582,
    "above": 9.347,
    "relative": 1.61,
    "place": 1.623,
    "lead": 3.466,
    "both": -4.565,
}
_RIGHT_BY_WORDS: Final = {
    "": -5.263,
    "known": 0.286,
    "covered": 1.291,
    "relative": 1.079,
    "place": 1.767,
    "lead": 1.616,
}


class HitSigns(NamedTuple):
    """The signs of one hit."""

    covered: float  # the share of the question that it says
    above: float  # its similarity above the usual
    relative: float  # its score in parts of the best one's
    lead: float  # how far it is before the next one, in the same parts
    place: float  # 1 for the first, 1/2 for the second


class Evidence(NamedTuple):
    """The signs of one question."""

    covered: float = 0.0  # the share of what it says that the best memory has
    above: float = 0.0  # the similarity of the best above the usual
    margin: float = 0.0  # how far the best by meaning stands above the fifth, in parts of it
    usual: float = 0.0  # its similarity to the vault's texts on average
    both: float = 0.0  # the best of both together in one memory
    names: int = 0  # in it that the vault knows, two at most
    strangers: int = 0  # names that it does not
    words: float = 0.0  # the logarithm of how many of its words are known
    identifier: bool = False  # it asks for one that stands here: `E-GEO-17`, `retry_limit`
    personal: bool = False
    request: bool = False
    pointing: bool = False
    general: bool = False
    advice: bool = False
    own_words: float = 0.0  # how much it sounds like a question about somebody's own things
    own_vector: float = 0.0
    by_meaning: bool = False  # whether meaning was asked
    dated: float = 0.0  # how much of the best one's place is owed to its day
    settled: bool = True  # there are enough texts with vectors to know what is usual

    @property
    def meaning_share(self) -> float:
        """How much of the decision is left to meaning."""
        if not self.by_meaning:
            return 0.0
        return min(_MOST, max(_LEAST, _probability(_sum(_MEANING, self._asdict()))))

    @property
    def known(self) -> float:
        """How probably the vault knows something about it."""
        return _probability(self._known_logit)

    @property
    def floor(self) -> float:
        """Below that probability nothing is known. Whoever asks for advice is told what they like,
        however far it is from what they ask for; in a small vault little can be told apart."""
        if self.advice and self.settled:
            return _LOW_FLOOR
        if not (self.settled or self.request):
            return _LOWEST_FLOOR
        return _FLOOR if self.by_meaning else _FLOOR_BY_WORDS

    @property
    def _known_logit(self) -> float:
        signs = self._asdict()
        logit = _sum(_KNOWN if self.by_meaning else _KNOWN_BY_WORDS, signs)
        if not self.settled:
            logit = max(logit, _sum(_KNOWN_BY_WORDS, signs))
        own = self.own_words + self.own_vector > _NOBODYS
        said = self.covered >= _ALL and (own or self.words >= _SEVERAL)
        if (said or self.identifier) and not (self.request or self.pointing):
            return max(logit, _SAID)
        return max(logit, _SAID) if own and self.dated >= _BY_DAY else logit

    def right(self, hit: HitSigns) -> float:
        """How probably a hit is a right one: its own signs, and its place in the answer."""
        weights = _RIGHT if self.by_meaning else _RIGHT_BY_WORDS
        both = hit.covered * hit.above
        return _probability(
            _sum(weights, {**hit._asdict(), "both": both, "known": self._known_logit})
        )


NO_EVIDENCE: Final = Evidence()


def evidence_of(
    question: str,
    words: Sequence[AskedWord],
    covered: Mapping[M, float],
    above: Mapping[M, float] | None,
    usual: float,
    settled: bool = True,
    own_vector: float = 0.0,
) -> Evidence:
    """`covered` and `above` have the memories' own figures; no `above` where nothing was asked by
    meaning."""
    nearest = sorted((above or {}).values(), reverse=True)[:5]
    best = nearest[0] if nearest else 0.0
    names = {found.casefold() for found in _NAME.findall(question)}
    known, unknown = _named(words, names, True), _named(words, names, False)
    personal = _PERSONAL.search(question) is not None
    request = not personal and _REQUEST.match(question) is not None
    return Evidence(
        covered=max(covered.values(), default=0.0),
        above=best,
        margin=(best - nearest[-1]) / best if best else 0.0,
        usual=usual,
        both=_both(covered, above or {}),
        names=known,
        strangers=unknown,
        words=math.log1p(sum(word.known for word in words)),
        identifier=_is_identifier_known(question, words),
        personal=personal,
        request=request,
        pointing=_POINTING.search(question) is not None,
        general=not personal and _GENERAL.match(question) is not None,
        advice=not request and _ADVICE.search(question) is not None,
        own_words=own_by_words(question),
        own_vector=own_vector,
        by_meaning=above is not None,
        settled=settled,
    )


def _named(words: Sequence[AskedWord], names: set[str], known: bool) -> int:
    """How many of the names are known words, or are not; a stem begins as its word does."""
    found = sum(
        word.known == known and any(name.startswith(word.word[:6]) for name in names)
        for word in words
    )
    return min(2, found)


def _is_identifier_known(question: str, words: Sequence[AskedWord]) -> bool:
    """All parts of one stand here; a number alone is none."""
    known = {word.word for word in words if word.known}
    for found in _TOKEN.findall(question):
        parts = [part.casefold() for part in _PART.findall(found)]
        telling = [part for part in parts if len(part) > 1]
        named = _IDENTIFIER.match(found) and any(map(str.isalpha, telling))
        if named and all(_is_word_known(part, known) for part in telling):
            return True
    return False


def _is_word_known(part: str, known: Set[str]) -> bool:
    """A stem is shorter than its word; a number is what it is."""
    if part in known or part.isdigit():
        return part in known
    return any(len(word) > 3 and part.startswith(word[:-1]) for word in known)


def _both(covered: Mapping[M, float], above: Mapping[M, float]) -> float:
    return max(
        (covered.get(each, 0.0) + above.get(each, 0.0) / _TOGETHER for each in {*covered, *above}),
        default=0.0,
    )


def _sum(weights: Mapping[str, float], signs: Mapping[str, float]) -> float:
    return weights[""] + sum(
        weight * float(signs[name]) for name, weight in weights.items() if name
    )


def _probability(logit: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))
