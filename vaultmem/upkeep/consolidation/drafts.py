"""From what happened to what is so: a group of memories becomes the draft of one.

Nothing is invented: a draft quotes sentences of its sources, each said once, in order of time.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from vaultmem.base.local_time import local_time
from vaultmem.notes import sentences
from vaultmem.notes.file_names import name_key
from vaultmem.upkeep.consolidation.statements import (
    SaidSentence,
    SaidWord,
    says_all,
    says_same,
    statement,
)

_SENTENCES: Final = 5
_ROOM: Final = 900  # characters of one draft
_LONGEST: Final = 300  # of one sentence
_PROSE: Final = 2_000  # of one that was put in other words
_TAGS: Final = 5
_TITLE: Final = 60  # characters
_TITLE_WORDS: Final = 8
_ARTICLE: Final = re.compile(r"\A(?:the|a|an)\s+(?=\S)", re.IGNORECASE)
_LABEL: Final = re.compile(r"\A[\w-]{3,12}:\s+(?=\w)")  # `decision: `, `Again: `
_APART: Final = re.compile(r"[,;:.!?()–—]")
_CLAUSE: Final = re.compile(r"[;:–—(]|, |\s(?:because|so that|which|when|while|and then)\s")
_NO_END_WORDS: Final = """
    a an and as at be because but by for from has have if in into is it its of on or so than
    that the then their to up was were which while with will are not no this these every each
    only now
"""
_NO_END: Final = frozenset(_NO_END_WORDS.split())
EPOCH: Final = dt.datetime.fromtimestamp(0, dt.UTC)


@dataclass(frozen=True, slots=True)
class SourceMemory:
    """A memory or an observation that others can be drawn from."""

    id: str
    text: str
    type: str
    scope: str
    project: str
    user: str
    occasion: str  # its session, or for a memory without one its day
    tags: tuple[str, ...] = ()
    importance: float | None = None
    used: bool = False  # drawn from already
    origins: tuple[str, ...] | None = None  # the names of what it was itself drawn from
    replaced: bool = False  # by another; it is no longer so
    path: str = ""
    link: str = ""  # once it is to be shown
    title: str = ""
    block: str = ""  # of an observation
    moment: dt.datetime = EPOCH

    @property
    def home(self) -> tuple[str, str]:
        return self.user.casefold(), self.project.casefold()

    @property
    def day(self) -> str:
        return f"{local_time(self.moment):%Y-%m-%d}"

    @property
    def drawn(self) -> bool:
        return self.origins is not None

    @property
    def is_event(self) -> bool:
        return self.type == "episodic"

    @property
    def is_lasting(self) -> bool:
        return not self.is_event and self.scope != "session" and not self.block

    @property
    def is_fresh(self) -> bool:
        return not (self.used or self.drawn or self.replaced)


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


class _Said(NamedTuple):
    """A statement and the source that says it, by its number."""

    what: SaidSentence
    source: int


def draft(
    sources: Sequence[SourceMemory], *, lead: str = "", type: str = "semantic"
) -> MemoryDraft | None:
    """One memory for a group that agrees; None when no sentence of theirs can stand alone.

    `lead` is the sentence that all of them say, where there is one: it is all that is quoted.
    """
    all_said = [
        _Said(statement(text), number)
        for number, source in enumerate(sources)
        for text in sentences.sentences(source.text)
    ]
    chosen = [one for one in all_said if one.what.text == lead][:1] or _drafted_sentences(all_said)
    if not chosen:
        return None
    quoted = [one.what.text for one in chosen]
    common = Counter(tag for source in sources for tag in dict.fromkeys(source.tags))
    tags = [tag for tag, count in common.most_common(_TAGS) if count * 2 >= len(sources)]
    return MemoryDraft(
        title=_draft_title(chosen, sources, bool(lead)),
        content=quoted[0] if len(quoted) == 1 else "\n".join(f"- {line}" for line in quoted),
        type=type,
        scope=_draft_scope(sources),
        sources=tuple(sources),
        tags=tuple(tags),
    )


def _drafted_sentences(said: Sequence[_Said]) -> list[_Said]:
    """What says most of what all have in common, each thing once; oldest first."""
    scores = sentences.sentence_centrality([one.what.text for one in said])
    shared = Counter(stem for stems in _drafted_stems(said).values() for stem in stems)
    order = sorted(range(len(said)), key=lambda i: (-scores[i], -said[i].source, i))
    alone = len({one.source for one in said}) == 1
    chosen: list[int] = []
    room = _ROOM
    for i in order:
        what = said[i].what
        length = len(what.text)
        heard = alone or any(shared[stem] > 1 for stem in what.all_stems)
        if not heard or length > min(room, _LONGEST) or scores[i] <= 0:
            continue
        if any(_draft_says(said[other].what, what) for other in chosen):
            continue
        fuller = [other for other in chosen if _draft_says(what, said[other].what)]
        if len(chosen) - len(fuller) >= _SENTENCES:
            continue
        room += sum(len(said[other].what.text) for other in fuller) - length
        chosen = [other for other in chosen if other not in fuller] + [i]
    return [said[i] for i in sorted(chosen)]


def _drafted_stems(said: Sequence[_Said]) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for one in said:
        found.setdefault(one.source, set()).update(one.what.all_stems)
    return found


def _draft_says(a: SaidSentence, b: SaidSentence) -> bool:
    return says_all(a, b) or says_same(a, b)


def is_said(what: Sequence[SaidSentence], there: Sequence[SaidSentence]) -> bool:
    """Whether all of the first stands among the second, in these words or nearly so."""
    return bool(what) and all(any(_draft_says(one, each) for one in there) for each in what)


def draft_in_prose(made: MemoryDraft, text: str) -> MemoryDraft | None:
    """The draft in other words, as plain paragraphs; None where these cannot stand for it."""
    told = [" ".join(sentences.sentences(part)) for part in re.split(r"\n\s*\n", text)]
    content = "\n\n".join(filter(None, told))
    if not content or len(content) > _PROSE:
        return None
    return replace(made, content=content)


def occasions(sources: Sequence[SourceMemory]) -> int:
    return len({source.occasion for source in sources})


def _draft_scope(sources: Sequence[SourceMemory]) -> str:
    """No wider than the sources: what is said of a project stays in it."""
    scopes = {source.scope for source in sources}
    narrow = "project" in scopes or ("session" in scopes and sources[0].project)
    return "project" if narrow else "user"


# --- titles -----------------------------------------------------------------------------


def _draft_title(chosen: Sequence[_Said], sources: Sequence[SourceMemory], same: bool) -> str:
    """The words that most of the sources share, as they stand together in a sentence of theirs;
    where all say the same, that sentence. Not the title of a source."""
    taken = {name_key(source.title) for source in sources}
    spread = Counter(
        stem
        for source in sources
        for stem in {word.stem for word in statement(source.text).words if word.stem}
    )
    texts = [one.what for one in chosen]
    texts.sort(key=lambda what: -sum(spread[stem] for stem in what.stems) / (len(what.words) + 4))
    phrases = [*_title_phrases(texts, spread, len(sources))]
    whole = [title for what in texts if (title := _title_of_sentence(what.text))]
    short = [title for title in whole if len(title) <= _TITLE]
    agreed = same or len(texts) == 1
    for title in (*short, *phrases, *whole) if agreed else (*phrases, *short, *whole):
        if name_key(title) not in taken:
            return _capital_title(title)
    return _capital_title(_cut_title(whole[0]) if whole else texts[0].text)


def _title_phrases(texts: Sequence[SaidSentence], spread: Counter[str], many: int) -> Iterator[str]:
    """Runs of words that at least half of the sources share, the longest first."""
    found: list[tuple[int, int, str]] = []
    for order, what in enumerate(texts):
        for run in _title_runs(what, spread, max(2, (many + 1) // 2)):
            telling = sum(bool(word.stem) for word in run)
            if telling > 1:
                text = what.text[run[0].start : run[-1].end]
                found.append((-telling, order, text))
    yield from (text for *_, text in sorted(found) if len(text) <= _TITLE)


def _title_runs(what: SaidSentence, spread: Counter[str], least: int) -> Iterator[list[SaidWord]]:
    """Shared words that follow one another, with the small ones between them."""
    run: list[SaidWord] = []
    for word in (*what.words, None):
        joined = word is not None and (
            not run or not _APART.search(what.text[run[-1].end : word.start])
        )
        shared = word is not None and (spread[word.stem] >= least if word.stem else bool(run))
        if word is not None and joined and shared and len(run) < _TITLE_WORDS:
            run.append(word)
            continue
        yield _trimmed_title_run(run)
        run = [word] if word is not None and word.stem and spread[word.stem] >= least else []


def _trimmed_title_run(run: list[SaidWord]) -> list[SaidWord]:
    while run and not run[-1].stem and (not run[-1].value or run[-1].text.casefold() in _NO_END):
        run = run[:-1]
    return run


def _title_of_sentence(text: str) -> str:
    """A sentence without its article, label and end."""
    plain = re.sub(r"\[\[(?:[^\]|]*\|)?([^\]]*)\]\]", r"\1", _LABEL.sub("", text))
    return _cut_title(_ARTICLE.sub("", plain).strip().rstrip(" .,;:!?。"))


def _cut_title(title: str) -> str:
    """Short enough for a title: its first clause, or as many words as there is room for."""
    if len(title) <= _TITLE:
        return title
    clause = _CLAUSE.search(title, 15)
    short = title[: clause.start()] if clause else title
    if len(short) > _TITLE:
        short = short[: _TITLE + 1].rpartition(" ")[0] or short[:_TITLE]
    words = short.split(" ")
    while len(words) > 1 and words[-1].casefold().strip(",") in _NO_END:
        words.pop()
    return " ".join(words).rstrip(" .,;:")


def _capital_title(title: str) -> str:
    first = title.split(" ", 1)[0]
    return title[:1].upper() + title[1:] if first.islower() and first.isalpha() else title
