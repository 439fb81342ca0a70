"""What a question demands beside its words: "a phrase", -word, begin*, tag:, path: and type:.

Only what can hardly be meant otherwise is an operator, so that questions which people write, and
commands in them, are asked as they stand. What they demand is looked up in the texts themselves:
no engine's query language ever sees a question.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from vaultmem.base.function_words import function_words_of
from vaultmem.base.words import CJK_RUN
from vaultmem.notes.tags import tag_key

_MOST: Final = 20  # operators of one question
_QUOTED: Final = r'"(?P<phrase>[^"\n]{1,300})"'
_FIELD: Final = r'(?P<name>tag|path|type):(?:"(?P<quoted>[^"\n]{1,300})"|(?P<value>[^\s"]{1,300}))'
_WORD: Final = r"(?P<word>[^\W\d_][\w'’-]{2,60})"
_PREFIX: Final = r"(?P<prefix>[^\W\d_]\w{2,60})\*"
# What stands alone between blanks; a phrase may have a bracket or a point beside it.
_OPERATOR: Final = re.compile(
    rf"(?<!\S)(?:(?P<no>-)?(?:{_QUOTED}|{_FIELD})|-{_WORD}|{_PREFIX})(?=[\s,.;!?)]|\Z)"
)
_COMMAND: Final = re.compile(r"(?<!\S)-(?:-|\w{1,2}(?!\S)|\d|\w+=)")  # options of a program
_WORDS: Final = re.compile(r"\w+")


class Demand(NamedTuple):
    """One operator: what it is about, and whether it must or must not hold."""

    kind: str  # phrase, word, prefix, tag, path or type
    value: str
    not_so: bool = False


@dataclass(frozen=True)
class AskedText:
    """A memory as demands see it."""

    text: str  # its title, other names, tags and text
    path: str
    type: str
    tags: tuple[str, ...]


@dataclass(frozen=True)
class QueryOperators:
    words: str = ""  # of the question, without its operators
    demands: tuple[Demand, ...] = ()
    wanted: tuple[str, ...] = field(default=())  # words that an answer has because of operators

    @property
    def lookup(self) -> str:
        """What the lanes are asked for."""
        return " ".join(filter(None, (self.words, *self.wanted)))

    @property
    def names_text(self) -> bool:
        """Whether the answer must have a phrase or a word that begins so."""
        return bool(self.wanted)

    def values(self, kind: str) -> list[str]:
        return [each.value for each in self.demands if each.kind == kind and not each.not_so]

    def lack_words(self, raw: bytes, path: str) -> bool:
        """Whether a note need not be read to know that it has not what is wanted. Where letters
        have accents, only reading tells."""
        words = " ".join(_plain_words(" ".join(self.wanted)))
        if not (raw.isascii() and path.isascii() and words.isascii()):
            return False
        said = f"{raw.decode()} {path}".lower()
        return any(word not in said for word in words.split())

    def are_met(self, asked: AskedText) -> bool:
        said = _MemoryWords(asked)
        return all(said.meets(each) is not each.not_so for each in self.demands)


def query_operators(query: str, types: Callable[[], Collection[str]]) -> QueryOperators:
    """`types` are those that notes have, asked for where a question names one."""
    matches = list(_OPERATOR.finditer(query))
    if not matches:
        return QueryOperators(query)
    spoken = _Spoken(query, matches)
    demands: list[Demand] = []
    rest, at = [], 0
    for match in matches[:_MOST]:
        if demand := _demand(match, spoken, types):
            demands.append(demand)
            rest.append(query[at : match.start()])
            at = match.end()
    if not demands:
        return QueryOperators(query)
    words = " ".join("".join([*rest, " ", query[at:]]).split())
    words = words if _WORDS.search(words) else ""
    wanted = [d.value for d in demands if d.kind in ("phrase", "prefix") and not d.not_so]
    return QueryOperators(words, tuple(demands), tuple(wanted))


class _Spoken:
    """How a question is written: in keywords, or in sentences and commands, where quotation marks
    and dashes have a meaning of their own."""

    def __init__(self, query: str, matches: Sequence[re.Match[str]]) -> None:
        self._query = query
        self._rest = _without(query, matches)
        self.is_command = _COMMAND.search(query) is not None
        self.is_asked = query.rstrip().endswith(("?", "？"))
        words = self._rest.split()
        self.is_sentence = (
            self.is_asked
            or any(word.endswith(":") for word in words)
            or bool(_empty_words(self._rest))
        )
        begun = [match["prefix"] for match in matches if match["prefix"]]
        alone = query.count("*") == len(begun) == len(set(begun))  # not `char* a, char* b`
        self.has_own_stars = alone and not self.is_asked

    def is_left_out(self, match: re.Match[str]) -> bool:
        """Whether a word behind a dash is to be left out: among keywords or, in a sentence, at the
        end of it."""
        if self.is_command or self.is_asked or not self.is_sentence:
            return not (self.is_command or self.is_asked)
        before, after = self._query[: match.start()].split(), self._query[match.end() :]
        return not _without_left_out(after) and not _empty_words(" ".join(before[-1:]))


def _without(query: str, matches: Sequence[re.Match[str]]) -> str:
    parts, at = [], 0
    for match in matches:
        parts.append(query[at : match.start()])
        at = match.end()
    return "".join([*parts, query[at:]])


def _without_left_out(text: str) -> str:
    return re.sub(r"(?<!\S)-\S+", "", text).strip()


def _empty_words(text: str) -> list[str]:
    words = [word.casefold() for word in _WORDS.findall(text)]
    empty = function_words_of(words, "english")
    return [word for word in words if word in empty]


def _demand(
    match: re.Match[str], spoken: _Spoken, types: Callable[[], Collection[str]]
) -> Demand | None:
    not_so = bool(match["no"])
    if (phrase := match["phrase"]) is not None:
        told = _WORDS.search(phrase) and not spoken.is_sentence
        return Demand("phrase", phrase, not_so) if told else None
    if name := match["name"]:
        return _demand_on_field(name, (match["quoted"] or match["value"]).strip(), not_so, types)
    if word := match["word"]:
        return Demand("word", word, True) if spoken.is_left_out(match) else None
    return Demand("prefix", match["prefix"]) if spoken.has_own_stars else None


def _demand_on_field(
    name: str, value: str, not_so: bool, types: Callable[[], Collection[str]]
) -> Demand | None:
    if name == "type" and value.casefold() not in {each.casefold() for each in types()}:
        return None
    if name == "path" and value[:1] in ("/", "~", "\\"):  # one of a file system
        return None
    if name == "tag" and not (value := tag_key(value)):
        return None
    return Demand(name, value, not_so) if value else None


# --- what a memory says ---------------------------------------------------------------------


class _MemoryWords:
    def __init__(self, asked: AskedText) -> None:
        self._asked = asked
        self._words: Sequence[str] | None = None

    @property
    def words(self) -> Sequence[str]:
        if self._words is None:
            self._words = _plain_words(self._asked.text)
        return self._words

    def meets(self, demand: Demand) -> bool:
        value = demand.value
        match demand.kind:
            case "tag":
                tags = [tag.casefold() for tag in self._asked.tags]
                return any(tag == value or tag.startswith(f"{value}/") for tag in tags)
            case "path":
                return _folded_path(value) in _folded_path(self._asked.path)
            case "type":
                return self._asked.type.casefold() == value.casefold()
            case "prefix":
                begin = "".join(_plain_words(value))
                return any(word.startswith(begin) for word in self.words)
        return self._has_in_order(_plain_words(value))

    def _has_in_order(self, phrase: Sequence[str]) -> bool:
        """Whole words, one behind the other; scripts without blanks have no words to see."""
        if CJK_RUN.search("".join(phrase)):
            return "".join(phrase) in "".join(self.words)
        size, words = len(phrase), self.words
        return any(
            words[at] == phrase[0] and list(words[at : at + size]) == list(phrase)
            for at in range(len(words) - size + 1)
        )


def _plain_words(text: str) -> list[str]:
    """Case and accents do not count."""
    if not text.isascii():
        parts = unicodedata.normalize("NFKD", text)
        text = "".join(sign for sign in parts if not unicodedata.combining(sign))
    return _WORDS.findall(text.casefold())


def _folded_path(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()
