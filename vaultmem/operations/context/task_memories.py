"""Which memories a task needs: what recall finds, weighed by the project, without what was
replaced; and whether there is anything worth saying.

What nobody asked for has to be right more often than an answer to a question, so the floor is
higher here. A request of several words that the vault knows is a task, though it begins as
"fix" and "add" do; "fix it" is none.
"""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from vaultmem.base.words import (
    CJK_RUN,
    PLAIN_WORD,
    WORDS_ASKING_NOTHING,
    is_telling_word,
    word_stem,
)
from vaultmem.errors import VaultmemError
from vaultmem.index import INDEX_FAILURES, CatalogRow
from vaultmem.notes.attributes import attributes_of
from vaultmem.notes.note import Note, printable
from vaultmem.operations.context.kinds_of_work import kinds_of_preference, kinds_of_task
from vaultmem.operations.context.preferences import PreferenceNotes, is_preference
from vaultmem.operations.read import journal_observation
from vaultmem.operations.view import View
from vaultmem.recall.fusion import names_mark
from vaultmem.recall.recall import Answer, Hit
from vaultmem.recall.snippets import entry_text

LOOKED_AT: Final = 30  # hits
MOST: Final = 5  # memories about a task, beside preferences
# How probably the vault must know something about it: more, where it is asked as one asks an
# encyclopedia, and more by words alone.
_FLOOR, _FLOOR_BY_WORDS = 0.4, 0.42
_GENERAL: Final = 0.15
_FIRST, _OF_NAME = 3, 2  # hits, and words of the task in a note's name: then words suffice
_UNDECIDED: Final = (0.12, 0.6)  # between those words alone cannot say
_SAID: Final = 0.45  # nor where no memory says so much of the prompt
# What a request gets back of what requests are marked down by, for its telling words: with some
# of them it is a task.
_LIFTS: Final = (0.0, 0.0, 0.0, 2.2, 2.2, 2.8)
_LEAST, _PART = 0.03, 0.15  # a score, and a part of the best one's
_OWN, _OTHER = 1.6, 0.25  # what a note of the task's project counts, and one of another
_BEARS, _PLACE = 0.1, 6  # above the usual and within so many places: a preference bears on it
_BY_WORDS: Final = 0.3  # its score in parts of the best one's, where there is no meaning
# Whoever asks how one does something asks about the world.
_HOW_TO: Final = re.compile(
    r"\s*(?:how|where) (?:do|can|could|would|should) (?:i|you|we|one)\b", re.IGNORECASE
)
_OF_WORLD: Final = 0.7  # what that takes away
_NAME: Final = re.compile(r"\w*\d|\w*[a-z]\w*[A-Z]|\w+_\w|[A-ZÀ-ÖØ-Þ]")
_PROJECTS: Final = re.compile(
    r"projects?|projekte?|projetos?|projets?|proyectos?|progett[oi]", re.IGNORECASE
)
_JOURNAL_LINE: Final = re.compile(
    r"(?:Wrote|Edited|Ran|Read|Looked for|Used|Asked:|Answered:|Left to do:) "
    r"|\A\W*(?:test|check|build|deploy|migrate|commit|push|command|failure): (?:Test run )?`"
)


class Found(NamedTuple):
    """A memory for a task."""

    id: str
    row: CatalogRow
    text: str
    score: float
    preference: bool = False


class TaskMemories:
    """Weighs what was found for one task."""

    def __init__(self, view: View, task: str, files: tuple[str, ...], project: str) -> None:
        self._view = view
        self.text = task
        self._files = files
        self._kinds = kinds_of_task(task, files)
        self._project = _folded(project)
        self._notes: dict[str, Note | None] = {}

    def choose(self, answer: Answer) -> list[Found]:
        """What is worth saying, most telling first; nothing, where nothing is known."""
        hits = [hit for hit in answer.hits if not _is_noise(hit)]
        project = self._project or _named_project(self.text, hits)
        if not is_known(self.text, answer) or not _says_anything(self.text):
            return list(self._for_kind(project)) if self._files else []
        found = sorted(self._weighed(hits, project), key=lambda each: -each.score)
        about = [each for each in found if not each.preference]
        wishes = [each for each in found if each.preference]
        bearing = [each for each in wishes if self._bears(each, answer, project)]
        return [*_best(about), *bearing, *self._for_kind(project)]

    def note(self, path: str) -> Note | None:
        if path not in self._notes:
            try:
                self._notes[path] = self._view.store.note(path)
            except VaultmemError:
                self._notes[path] = None
        return self._notes[path]

    # --- weighing ------------------------------------------------------------------------

    def _weighed(self, hits: Sequence[Hit], project: str) -> Iterator[Found]:
        best: dict[str, Found] = {}
        for hit in hits:
            for each in self._holding(hit, hits):
                weighed = each._replace(score=each.score * _share(each.row, project))
                known = best.get(each.id)
                if known is None or known.score < weighed.score:
                    best[each.id] = weighed
        yield from best.values()

    def _holding(self, hit: Hit, hits: Sequence[Hit]) -> Iterator[Found]:
        """The hit, or what came in its place."""
        note = self.note(hit.row.path)
        if note is None:
            return
        attributes = attributes_of(note, self._view.settings)
        alone = hit.is_observation and bool(hit.block)
        preference = not alone and is_preference(note, attributes)
        row = None if alone else self._successor(hit.row, hits)
        if row is None:
            id_ = hit.block if alone else hit.row.id or hit.row.path
            seen = journal_observation(hit) if alone else None
            said = printable(seen.content) if seen else hit.passage
            yield Found(id_, hit.row, said, hit.score, preference)
        elif row is not hit.row and (text := self._view.visible_body(row)):
            beginning = printable(text.strip()[:1000])
            new = self.note(row.path)
            same = preference and new is not None
            yield Found(row.id or row.path, row, beginning, hit.score, same)

    def _successor(self, row: CatalogRow, hits: Sequence[Hit]) -> CatalogRow | None:
        """What replaced a note: itself where that is not known, None where it holds."""
        lookup = self._view.index.lookup
        try:
            by = lookup.replaced([row.note]).by.get(row.note)
            if by is None or names_mark(self.text, by.mark):
                return None
            if by.doubtful and all(hit.row.note != by.note for hit in hits):
                return None
            if lookup.passing([by.note], self._view.filters()):
                return lookup.rows([by.note])[by.note]
            return row if by.in_own_words else None
        except INDEX_FAILURES:
            return None

    # --- preferences ----------------------------------------------------------------------

    def _bears(self, each: Found, answer: Answer, project: str) -> bool:
        """Whether a preference is about what the task is about."""
        hits = (pair for pair in enumerate(answer.hits, 1) if pair[1].row.path == each.row.path)
        place, hit = next(hits, (0, None))
        if hit is None or (project and not _is_for(each.row, project)):
            return False  # without a project to compare with, what it says decides alone
        return place <= _PLACE and _nearness(hit, answer) >= _BEARS

    def _for_kind(self, project: str) -> Iterator[Found]:
        """Preferences about this kind of work."""
        if not self._kinds:
            return
        for row in PreferenceNotes(self._view).rows():
            note = self.note(row.path)
            if note and self._kinds & kinds_of_preference(note) and _is_for(row, project):
                yield Found(row.id or row.path, row, printable(note.body.strip()), 0.0, True)


# --- whether there is anything to say -------------------------------------------------------------


def knowledge(task: str, answer: Answer) -> float:
    """How probably the vault knows something that a prompt needs, which may be a task."""
    evidence = answer.evidence
    known = min(max(evidence.known, 1e-6), 1 - 1e-6)
    logit = math.log(known / (1 - known))
    if evidence.request and not evidence.pointing:
        logit += _LIFTS[min(len(_LIFTS) - 1, _known_words(answer))]
    if _HOW_TO.match(task):
        logit -= _OF_WORLD
    return 1 / (1 + math.exp(-logit))


def _known_words(answer: Answer) -> int:
    """Words of the prompt that the vault knows, and that are not the asking itself."""
    known = (word.word for word in answer.words if word.known)
    return sum(is_telling_word(word, WORDS_ASKING_NOTHING) for word in known)


def _says_anything(task: str) -> bool:
    """One telling word among empty ones says nothing: "good morning", "in one sentence". A word
    alone is looked for, and so is a name or a number."""
    words = PLAIN_WORD.findall(task)
    telling = [word for word in words if _is_telling(word)]
    if len(telling) > 1 or len(words) == len(telling) or CJK_RUN.search(task):
        return True
    return re.search(r"[?\d]", task) is not None or any(map(_NAME.match, telling))


def _is_telling(word: str) -> bool:
    return is_telling_word(word.casefold(), WORDS_ASKING_NOTHING)


def is_known(task: str, answer: Answer) -> bool:
    evidence = answer.evidence
    if not evidence.by_meaning and any(_is_named(task, hit) for hit in answer.hits[:_FIRST]):
        return True
    if not evidence.settled and evidence.covered >= _SAID and _known_words(answer) > 1:
        return True  # in a vault of a few notes
    floor = _FLOOR if evidence.by_meaning else _FLOOR_BY_WORDS
    floor += _GENERAL if evidence.general else 0.0
    return bool(answer.hits) and knowledge(task, answer) >= floor


def _is_named(task: str, hit: Hit) -> bool:
    """Whether a note's name has several of the task's words."""
    named = {word_stem(word.casefold()) for word in PLAIN_WORD.findall(hit.row.title)}
    asked = {word_stem(w.casefold()) for w in PLAIN_WORD.findall(task) if _is_telling(w)}
    return len(named & asked) >= _OF_NAME


def is_undecided(task: str, answer: Answer) -> bool:
    """Whether meaning might say otherwise than words did."""
    known = knowledge(task, answer)
    least, most = _UNDECIDED
    if any(_is_named(task, hit) for hit in answer.hits[:_FIRST]):
        return False
    return least <= known and not (known >= most and answer.evidence.covered >= _SAID)


def _best(found: Sequence[Found]) -> list[Found]:
    """The first, and what is not far behind it."""
    least = max(_LEAST, _PART * found[0].score) if found else 0.0
    return [each for n, each in enumerate(found[:MOST]) if n == 0 or each.score >= least]


def _nearness(hit: Hit, answer: Answer) -> float:
    lanes = {lane.name: lane.score for lane in hit.lanes}
    if "vector" in lanes and answer.evidence.settled:  # of a few notes nothing is usual
        return lanes["vector"] - answer.evidence.usual
    best = answer.hits[0].score or 1.0
    return _BEARS if hit.score / best >= _BY_WORDS else 0.0


def _is_noise(hit: Hit) -> bool:
    """A journal as a whole, and those of its lines that hooks wrote."""
    return hit.is_journal or bool(hit.block and _JOURNAL_LINE.search(entry_text(hit.passage)[:80]))


# --- projects ------------------------------------------------------------------------------------


def project_of(row: CatalogRow) -> str:
    """By its property, or by a folder of projects."""
    if row.project:
        return row.project
    parts = row.path.split("/")
    for folder, inner in itertools.pairwise(parts):
        if _PROJECTS.fullmatch(folder):
            return inner.removesuffix(".md")
    return ""


def is_of_project(row: CatalogRow, project: str) -> bool:
    """By its property, its folder or its name."""
    wanted = _folded(project)
    if not wanted:
        return False
    own = _folded(project_of(row))
    folders = {_folded(part) for part in row.path.split("/")[:-1]}
    return own == wanted or wanted in folders or (not own and _has_word(row.title, wanted))


def is_same_project(name: str, project: str) -> bool:
    return _folded(name) == _folded(project)


def outermost_folders(folders: Sequence[str], project: str) -> list[str]:
    """The folders that have a project's name, but for those inside others."""
    wanted, found = _folded(project), dict[str, None]()
    for folder in folders:
        parts = folder.strip("/").split("/")
        names = [_folded(part) for part in parts]
        if wanted in names:
            found["/".join(parts[: names.index(wanted) + 1])] = None
    return list(found)


def _named_project(task: str, hits: Sequence[Hit]) -> str:
    """A project of the notes that were found which the task names."""
    named = {_folded(project) for hit in hits if (project := project_of(hit.row))}
    return next((each for each in sorted(named) if _has_word(task, each)), "")


def _share(row: CatalogRow, project: str) -> float:
    if not project:
        return 1.0
    if is_of_project(row, project):
        return _OWN
    return _OTHER if project_of(row) else 1.0


def _is_for(row: CatalogRow, project: str) -> bool:
    """A preference of another project is none here."""
    return not row.project or is_of_project(row, project)


def _has_word(text: str, word: str) -> bool:
    return re.search(rf"\b{re.escape(word)}\b", _folded(text)) is not None


def _folded(text: str) -> str:
    """Without accents and case: Maré is kept in the folder Mare."""
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(sign for sign in parts if not unicodedata.combining(sign)).strip()
