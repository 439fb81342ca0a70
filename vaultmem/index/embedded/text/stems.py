"""Stems of languages other than the one that the vault is set to.

The words of every note are indexed by the stems of one language, that of the setting. A note in
another language has the stems of its own beside them, each behind the mark of that language, so
that German `Not` is not found by English `notes`. A question looks for those of the languages
that there are here. For languages that the engine has no stemmer for, the common endings (in
Hebrew, the beginnings) are cut off.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import tantivy

from vaultmem.base.text_forms import folded

LANGUAGE_FACET: Final = "language:"
# A word that begins so is a stem; a digit first, so that it is like no word of a person.
_MARKS: Final = {
    "arabic": "0ar",
    "czech": "0cs",
    "danish": "0no",
    "dutch": "0nl",
    "english": "0en",
    "finnish": "0fi",
    "french": "0fr",
    "german": "0de",
    "greek": "0el",
    "hebrew": "0he",
    "hindi": "0hi",
    "hungarian": "0hu",
    "italian": "0it",
    "norwegian": "0no",
    "polish": "0pl",
    "portuguese": "0pt",
    "romanian": "0ro",
    "russian": "0ru",
    "spanish": "0es",
    "swedish": "0sv",
    "turkish": "0tr",
    "ukrainian": "0uk",
}
_LENGTH_OF_MARK: Final = 3
# Function words hardly tell short texts in Danish and Norwegian apart, nor do their endings.
_STEMMED_AS: Final = {"danish": "norwegian"}
COMPOUNDING: Final = frozenset(
    ("german", "dutch", "swedish", "danish", "norwegian", "finnish", "hungarian")
)
_CYRILLIC: Final = str.maketrans({"ё": "е", "Ё": "Е", "\u0300": None, "\u0301": None})
_SHORTEST: Final = 3  # letters that are left
LONG_WORD: Final = 8  # letters of one that may be a compound
_HEBREW_WORD: Final = re.compile("[\u05d0-\u05ea]+\\Z")
_HEBREW_START: Final = re.compile("[והבלמשכ]{1,3}?(?=[\u05d0-\u05ea]{3})")
_HEBREW_END: Final = re.compile("(?<=[\u05d0-\u05ea]{3})(?:ים|ות)\\Z")
_ENDINGS: Final = {
    "polish": "owie iami iach ami ach ego emu ymi imi owi iem iej em om ów ie ię ia io ą ę y i a e o u",
    "czech": "ového ovému atech ách ami emi ech ích ého ému ými ovi em ům ou é í ý y i a e ě o u",
    "ukrainian": "ами ями ого ому ими ові еві ах ях ом ем ій ів ий їй у ю а я и і ї о е ь",
    "hindi": "ाओं ियों ियाँ ियां ाएँ ाएं ाओ ओं एँ एं ों ें ाँ ां ीं े ी ा ि ो ू ु",
}


def _shortened_by_ending(endings: str) -> Callable[[str], str]:
    known = sorted(endings.split(), key=len, reverse=True)

    def shortened(word: str) -> str:
        fitting = (each for each in known if word.endswith(each))
        ending = next(fitting, "")
        return word[: -len(ending)] if ending and len(word) - len(ending) >= _SHORTEST else word

    return shortened


def _shortened_hebrew(word: str) -> str:
    if not _HEBREW_WORD.match(word):
        return word
    short = word
    while found := _HEBREW_START.match(short):
        short = short[found.end() :]
    return _HEBREW_END.sub("", short)


_SHORTENED: Final[Mapping[str, Callable[[str], str]]] = {
    **{name: _shortened_by_ending(endings) for name, endings in _ENDINGS.items()},
    "hebrew": _shortened_hebrew,
}


def words_analyzer(language: str) -> tantivy.TextAnalyzer:
    """Of the fields: accents go first, so that whoever leaves them out finds the same."""
    builder = _plain_analyzer().filter(tantivy.Filter.ascii_fold())
    return (builder.filter(tantivy.Filter.stemmer(language)) if language else builder).build()


def _plain_analyzer() -> tantivy.TextAnalyzerBuilder:
    tokens = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    return tokens.filter(tantivy.Filter.remove_long(64)).filter(tantivy.Filter.lowercase())


class OtherStems:
    """Of all languages but the one that the words are stemmed by."""

    def __init__(self, usual: str) -> None:
        self.usual = usual
        self.words = words_analyzer(usual)
        self.spelt = words_analyzer("")
        self._analyzers: dict[str, Callable[[str], Sequence[str]]] = {}

    def are_of(self, language: str) -> bool:
        return language != self.usual and language in _MARKS

    def tails_in_text(self, text: str) -> str:
        """The long words as they are spelt, and stems of them, all spelt backwards: what ends
        alike begins alike there."""
        long = {word for word in text.split() if len(word) >= LONG_WORD}
        words = self.spelt.analyze(" ".join(long)) if long else ()
        tails = (word for word in words if word_of_stem(word).isalpha())
        return " ".join(word[::-1] for word in tails if len(word) >= LONG_WORD)

    def stems_in_text(self, text: str, language: str) -> list[str]:
        """Marked; of each word at most one, and none where the words' own stem is the same."""
        if not self.are_of(language):
            return []
        words = self.words.analyze(folded(text))
        stems = self._stems_of_language(language)(_spelt(text, language))
        if len(words) != len(stems):
            return []
        mark = _MARKS[language]
        pairs = dict.fromkeys(zip(words, stems, strict=True))
        return [f"{mark}{stem}" for word, stem in pairs if stem != word]

    def stems_of_question(self, text: str, languages: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Words as the fields have them, each with one of its stems as the fields have it."""
        words = self.words.analyze(folded(text))
        for language in dict.fromkeys(_STEMMED_AS.get(each, each) for each in languages):
            if not self.are_of(language):
                continue
            mark, stems = (
                _MARKS[language],
                self._stems_of_language(language)(_spelt(text, language)),
            )
            marked = self.words.analyze(" ".join(f"{mark}{stem}" for stem in stems))
            if len(marked) == len(words) == len(stems):
                yield from zip(words, marked, strict=True)

    def _stems_of_language(self, language: str) -> Callable[[str], Sequence[str]]:
        language = _STEMMED_AS.get(language, language)
        if language not in self._analyzers:
            self._analyzers[language] = _analyzer_of_language(language)
        return self._analyzers[language]


def _analyzer_of_language(language: str) -> Callable[[str], Sequence[str]]:
    """Here accents go last: the stemmers know words as they are spelt."""
    fold = tantivy.Filter.ascii_fold()
    if language in _SHORTENED:
        shortened, plain = _SHORTENED[language], _plain_analyzer().build()
        folding = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).filter(fold).build()
        return lambda text: folding.analyze(" ".join(map(shortened, plain.analyze(text))))
    builder = _plain_analyzer().filter(tantivy.Filter.stemmer(language))
    if language == "arabic":  # with an article before it, it takes only that away
        builder = builder.filter(tantivy.Filter.stemmer(language))
    return builder.filter(fold).build().analyze


def _spelt(text: str, language: str) -> str:
    """As the stemmer wants it: folded, but for the one letter that Russian endings need."""
    if language not in ("russian", "ukrainian"):
        return folded(text)
    return unicodedata.normalize("NFKC", text).translate(_CYRILLIC)


def word_of_stem(stem: str) -> str:
    """Without the mark."""
    return stem[_LENGTH_OF_MARK:] if stem[:_LENGTH_OF_MARK] in _ALL_MARKS else stem


_ALL_MARKS: Final = frozenset(_MARKS.values())
