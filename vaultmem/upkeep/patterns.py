"""From what happened to what is so: groups of alike events become drafts of memories, and what
comes up again and again becomes a pattern. Pure; every draft names the sources it is drawn from.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from vaultmem.base.words import topic_words
from vaultmem.upkeep import sentences

_SENTENCES: Final = 5
_ROOM: Final = 900  # characters of one draft
_PROSE: Final = 2_000  # of one that was put in other words
_TAGS: Final = 5
_SESSIONS: Final = 2  # in so many a tag comes up before it is a pattern
_MANY_SESSIONS: Final = 3  # in so many a word, or a group of events
_MOST_PATTERNS: Final = 10
_MOST_TERMS: Final = 3
_COVERED: Final = 0.8  # of a word's sources under one tag: the tag says it


@dataclass(frozen=True, slots=True)
class SourceMemory:
    """A memory or an observation that others can be drawn from."""

    id: str
    link: str
    text: str
    type: str
    scope: str
    project: str
    user: str
    occasion: str  # its session, or for a memory without one its day
    tags: tuple[str, ...] = ()
    importance: float | None = None
    used: bool = False  # drawn from already

    @property
    def home(self) -> tuple[str, str]:
        return self.user.casefold(), self.project.casefold()


@dataclass(frozen=True, slots=True)
class Pattern:
    pattern: str
    frequency: int  # of memories and observations
    suggested_scope: str
    sessions: int


@dataclass(frozen=True, slots=True)
class MemoryDraft:
    """A memory that could be written."""

    title: str
    content: str
    type: str
    scope: str
    sources: tuple[SourceMemory, ...]
    tags: tuple[str, ...]

    @property
    def key(self) -> str:
        """The same for the same sources."""
        names = "\0".join(source.id for source in self.sources)
        return hashlib.blake2b(names.encode(), digest_size=8).hexdigest()

    @property
    def project(self) -> str:
        return self.sources[0].project if self.scope == "project" else ""

    @property
    def user(self) -> str:
        return self.sources[0].user

    @property
    def importance(self) -> float | None:
        return max((s.importance for s in self.sources if s.importance is not None), default=None)


def draft(sources: Sequence[SourceMemory], *, recurring: bool = False) -> MemoryDraft | None:
    """One memory for a group of alike events; None when no sentence of theirs can stand alone."""
    said = sentences.main_sentences([source.text for source in sources], _SENTENCES, _ROOM)
    if not said:
        return None
    often = [_often(sources)] if recurring else []
    more = ["\n".join(f"- {line}" for line in said[1:])] if said[1:] else []
    common = Counter(tag for source in sources for tag in dict.fromkeys(source.tags))
    tags = [tag for tag, count in common.most_common(_TAGS) if count * 2 >= len(sources)]
    return MemoryDraft(
        title=_title(said[0], sources),
        content="\n\n".join([said[0], *often, *more]),
        type="procedural" if recurring else "semantic",
        scope=_scope(sources),
        sources=tuple(sources),
        tags=tuple(tags),
    )


def in_prose(made: MemoryDraft, text: str) -> MemoryDraft | None:
    """The draft in other words, as plain paragraphs; None where these cannot stand for it."""
    told = [" ".join(sentences.sentences(part)) for part in re.split(r"\n\s*\n", text)]
    content = "\n\n".join(filter(None, told))
    if not content or len(content) > _PROSE:
        return None
    often = [_often(made.sources)] if made.type == "procedural" else []
    return replace(made, content="\n\n".join([content, *often]))


def _often(sources: Sequence[SourceMemory]) -> str:
    return f"This came up in {occasions(sources)} sessions."


def _title(lead: str, sources: Sequence[SourceMemory]) -> str:
    """The words that most of them share: the first sentence is often a source's title already."""
    shared = Counter(word for source in sources for word in set(topic_words(source.text)))
    order = list(dict.fromkeys(topic_words(lead)))
    order.sort(key=lambda word: -shared[word])
    named = [word for word in order if shared[word] > 1][:3]
    return f"About {', '.join(named)}" if named else lead


def is_recurring(sources: Sequence[SourceMemory]) -> bool:
    return occasions(sources) >= _MANY_SESSIONS


def occasions(sources: Sequence[SourceMemory]) -> int:
    return len({source.occasion for source in sources})


def _scope(sources: Sequence[SourceMemory]) -> str:
    """No wider than the sources: what is said of a project stays in it."""
    scopes = {source.scope for source in sources}
    narrow = "project" in scopes or ("session" in scopes and sources[0].project)
    return "project" if narrow else "user"


# --- patterns ---------------------------------------------------------------------------


def patterns(sources: Sequence[SourceMemory], within: Sequence[SourceMemory]) -> list[Pattern]:
    """The tags and words that come up in several sessions and in `within`, most frequent first."""
    wanted = {tag.casefold() for source in within for tag in source.tags}
    tags = _recurring(_by_tag(sources), wanted, _SESSIONS)
    said = {word for source in within for word in topic_words(source.text)}
    said -= {word for tag, _ in tags for word in topic_words(tag)}
    terms = _recurring(_by_word(sources), said, _MANY_SESSIONS)
    terms = [(word, of) for word, of in terms if not any(_covers(tag, of) for _, tag in tags)]
    named = [(f"#{tag}", of) for tag, of in tags]
    named += [(f'"{word}"', of) for word, of in terms[:_MOST_TERMS]]
    found = [_pattern(name, of) for name, of in named]
    return sorted(found, key=lambda p: (-p.frequency, p.pattern))[:_MOST_PATTERNS]


def _covers(tagged: Sequence[SourceMemory], of: Sequence[SourceMemory]) -> bool:
    ids = {source.id for source in tagged}
    return sum(source.id in ids for source in of) >= _COVERED * len(of)


def _by_tag(sources: Sequence[SourceMemory]) -> dict[str, list[SourceMemory]]:
    found: dict[str, list[SourceMemory]] = {}
    for source in sources:
        for tag in dict.fromkeys(tag.casefold() for tag in source.tags):
            found.setdefault(tag, []).append(source)
    return found


def _by_word(sources: Sequence[SourceMemory]) -> dict[str, list[SourceMemory]]:
    found: dict[str, list[SourceMemory]] = {}
    for source in sources:
        for word in dict.fromkeys(topic_words(source.text)):
            if len(word) > 3:
                found.setdefault(word, []).append(source)
    return found


def _recurring(
    groups: dict[str, list[SourceMemory]], wanted: set[str], sessions: int
) -> list[tuple[str, list[SourceMemory]]]:
    found = [
        (name, of) for name, of in groups.items() if name in wanted and occasions(of) >= sessions
    ]
    return sorted(found, key=lambda pair: (-len(pair[1]), pair[0]))


def _pattern(name: str, of: Sequence[SourceMemory]) -> Pattern:
    one_home = len({source.home for source in of}) == 1
    scope = "project" if one_home and of[0].project else "user"
    times = occasions(of)
    return Pattern(f"{name} comes up in {times} sessions", len(of), scope, times)
