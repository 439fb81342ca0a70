"""What is a preference: a note that says so, by a property, a tag, its place or name, or by
sentences of the form of a preference or an instruction. A plain note is none.

Checklists and runbooks are procedures: what is done, not how someone wants it done.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from functools import cache
from typing import Final

from vaultmem.errors import VaultmemError
from vaultmem.index import INDEX_FAILURES, CatalogRow
from vaultmem.notes.attributes import attributes_of
from vaultmem.notes.markdown import visible_text
from vaultmem.notes.note import Note
from vaultmem.notes.sentences import sentences
from vaultmem.operations.view import View

IDENTITY: Final = "identity"  # the tag of what an agent should know of its user before all else
IDENTITY_NOTE: Final = "Identity.md"  # of a vault that says it in a note of its own
_IDENTITIES: Final = 3  # notes
_TELLING_WORDS: Final = (
    "prefer prefers preference preferences always never likes instead convention conventions "
    "bevorzuge immer niemals vorliebe prefiro sempre nunca preferência préfère toujours jamais "
    "prefiero siempre"
)

_TAGS: Final = """
    preference preferences pref prefs rule rules style identity convention conventions guideline
    guidelines instruction instructions
    präferenz präferenzen vorliebe vorlieben regel regeln stil
    preferência preferências preferencia preferencias regra regras regla reglas estilo
    préférence préférences règle règles
"""
_FOLDERS: Final = """
    preferences conventions guidelines präferenzen vorlieben preferências preferencias préférences
"""
_PROCEDURE: Final = re.compile(
    r"\b(?:check ?list|run ?book|how[ -]?to|recipe|steps|procedure|anleitung|checkliste|rezept"
    r"|receita|receta|recette)\b",
    re.IGNORECASE,
)
_STEPS: Final = re.compile(r"^[ \t]{0,20}\d{1,4}[.)] ", re.MULTILINE)
_TITLE: Final = re.compile(
    r"(?:how (?!to\b).{1,60}\b(?:likes?|wants?|prefers?)\b"
    r"|(?:i|she|he|we|they|the user)? ?(?:prefers?|likes?|wants?) \w"
    r"|(?:always|never|don'?t|do not|please|ask before|ask first)\b"
    r"|(?:[\w'’]+ )?(?:preferences?|conventions?)\Z"
    r"|(?:house|working|ground|code|coding|writing|style) (?:rules?|style|agreements?|guide)\b"
    r"|wie .{1,60}\b(?:mag|möchte|haben will)\b|(?:immer|nie|niemals|bitte|bevorzugt)\b"
    r"|como .{1,60}\b(?:gosta|prefere|quer)\b|(?:sempre|nunca|prefere)\b"
    r"|comment .{1,60}\b(?:aime|préfère|veut)\b|(?:toujours|jamais|préfère)\b"
    r"|cómo .{1,60}\b(?:gusta|prefiere|quiere)\b|(?:siempre|prefiere)\b"
    r"|(?:vorlieben|präferenzen|preferências|préférences|preferencias)\b)",
    re.IGNORECASE,
)
# Someone says what they want: anywhere in a note of theirs.
_WISH: Final = re.compile(
    r"(?:i|we|the user) (?:(?:strongly|much|really|generally|usually) )?"
    r"(?:prefer|always|never|dislike|hate|want you to|don'?t (?:like|want)|would rather|like my|like to have)s?\b"
    r"|(?:my|the user'?s?) (?:preference|preferred)\b"
    r"|(?:ich|wir) (?:bevorzuge|mag kein|möchte immer|will (?:kein|nie|immer)|hasse)\w*"
    r"|(?:eu )?(?:prefiro|não gosto|detesto|quero sempre|nunca quero)\b"
    r"|je (?:préfère|déteste|n'aime pas|veux toujours|ne veux jamais)\b"
    r"|(?:yo )?(?:prefiero|no me gusta|odio|siempre quiero|nunca quiero)\b",
    re.IGNORECASE,
)
# An instruction, or a wish told by someone else: where it is what the note is about.
_INSTRUCTION: Final = re.compile(
    r"(?:(?:the |this )?[\w'’]+ )?(?:prefers|likes (?:his|her|their|it|to)|wants|dislikes|hates)\b"
    r"|(?:wanted|liked|preferred|asked) by\b"
    r"|(?:always|never|don'?t|do not|please|prefer|avoid)\b|ask (?:me )?(?:before|first)\b"
    r"|use .{1,60}\b(?:instead of|rather than|not|never)\b|no [\w-]+ (?:in|for|from|without)\b"
    r"|(?:immer|nie|niemals|bitte|keine?|bevorzugt|nutze .{1,60}\bstatt|verwende .{1,60}\bstatt)\b"
    r"|(?:sempre|nunca|não|por favor|prefere|evita|use .{1,60}\bem vez de|pergunta antes)\b"
    r"|(?:toujours|jamais|ne .{1,40} (?:pas|jamais)|s'il te plaît|préfère|évite|utilise .{1,60}\bplutôt)\b"
    r"|(?:siempre|prefiere|usa .{1,60}\ben (?:vez|lugar) de|pregunta antes)\b",
    re.IGNORECASE,
)
_SHORT: Final = 700  # characters of a note whose sentences are instructions
_SHARE: Final = 0.5  # of its sentences
_MOST: Final = 40  # sentences looked at
_FEW, _MOST_READ = 250, 120  # notes: of so many all are read, of more some
_MANY: Final = 5_000  # notes, too many to look at every name
_QUOTED: Final = re.compile(r"(?m)^[ \t]{0,20}>[^\n]*$|```.*?(?:```|\Z)|^#[^\n]*$", re.DOTALL)


def is_identity(path: str, tags: Iterable[str]) -> bool:
    return path == IDENTITY_NOTE or IDENTITY in {tag.casefold() for tag in tags}


def is_preference(note: Note, attributes: Mapping[str, str]) -> bool:
    """`attributes` are those of the note: its type, scope and so on."""
    if attributes["type"].casefold() in _words(_TAGS):
        return True
    if attributes["type"] in ("session", "episodic", "entity"):
        return _is_named(note)
    return any(_signs(note, attributes))


def _signs(note: Note, attributes: Mapping[str, str]) -> Iterator[bool]:
    yield _is_named(note) or note.path == IDENTITY_NOTE
    plain_procedure = bool(
        _PROCEDURE.search(note.title) or _STEPS.search(note.body, 0, _SHORT * 10)
    )
    procedural = attributes["type"] == "procedural" and attributes["scope"] == "user"
    stored = bool(note.string("id"))  # an agent's; a person's procedure is just that
    yield procedural and stored and not plain_procedure
    yield _TITLE.match(note.title) is not None and not plain_procedure
    yield not plain_procedure and _is_said(note)


def _is_named(note: Note) -> bool:
    """By a property, a tag or a folder."""
    if note.get("preference") is True or note.string("kind").casefold() in ("preference", "rule"):
        return True
    tags = {tag.casefold().partition("/")[0] for tag in note.tags}
    return not tags.isdisjoint(_words(_TAGS)) or _is_in_folder(note.path)


def _is_in_folder(path: str) -> bool:
    folders = {part.casefold() for part in path.split("/")[:-1]}
    return not folders.isdisjoint(_words(_FOLDERS))


def _is_said(note: Note) -> bool:
    said = said_preferences(note)
    if any(_WISH.match(sentence) for sentence in said):
        return True
    everything = _sentences(note)
    return bool(said) and len(note.body) <= _SHORT and len(said) >= _SHARE * len(everything)


def said_preferences(note: Note) -> list[str]:
    """The sentences of a note that have the form of a wish or an instruction."""
    return [s for s in _sentences(note) if _WISH.match(s) or _INSTRUCTION.match(s)]


def _sentences(note: Note) -> list[str]:
    """What the note itself says: no quotations, no code, no headings."""
    text = _QUOTED.sub("", visible_text(note.body[: _SHORT * 10]).replace("\0", ""))
    found = (s.strip(" -*_•\t") for line in text.splitlines() for s in sentences(line))
    return [sentence for sentence in found if sentence][:_MOST]


@cache
def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# --- all of them --------------------------------------------------------------------------------


class PreferenceNotes:
    """The preferences of a vault, as far as its caller sees them."""

    def __init__(self, view: View) -> None:
        self._view = view

    def rows(self) -> list[CatalogRow]:
        """Who the user is, then what they want, the most important first."""
        rows = self._all() if self._size() <= _FEW else list(self._candidates())[:_MOST_READ]
        replaced = replaced_notes(self._view, rows)
        once = {row.path: row for row in rows if row.note not in replaced}.values()
        held = [row for row in once if self._is_one(row)]
        return sorted(
            held, key=lambda row: (not is_identity(row.path, row.tags), -_importance(row))
        )

    def identity(self) -> list[CatalogRow]:
        """What the person says of themselves: the note of that name, then what is tagged so."""
        gaps, filters = self._view.gaps, self._view.filters(tags=IDENTITY)
        rows = gaps.select(filters, "importance", 2 * _IDENTITIES)[0]
        named = [row for row in rows if row.path == IDENTITY_NOTE] or self._named_identity()
        once = {row.path: row for row in (*named, *rows)}.values()
        replaced = replaced_notes(self._view, list(once))
        return [row for row in once if row.note not in replaced][:_IDENTITIES]

    def _named_identity(self) -> list[CatalogRow]:
        try:
            rows = self._view.index.lookup.at([IDENTITY_NOTE])
            shown = self._view.index.lookup.passing(
                {r.note for r in rows.values()}, self._view.filters()
            )
        except INDEX_FAILURES:
            return []
        return [row for row in rows.values() if row.note in shown]

    def _candidates(self) -> Iterator[CatalogRow]:
        """Notes that may be preferences; in a large vault, not all can be read."""
        view = self._view
        for filters in (
            view.filters(tags=sorted(_words(_TAGS))),
            view.filters(kind="preference"),
            view.filters(scope="user", type="procedural"),
        ):
            yield from view.gaps.select(filters, "importance", _MOST_READ)[0]
        rows = self._all() if self._size() <= _MANY else []
        yield from (row for row in rows if _TITLE.match(row.title) or _is_in_folder(row.path))
        yield from self._with_telling_words()

    def _all(self) -> list[CatalogRow]:
        return self._view.gaps.select(self._view.filters(), "importance")[0]

    def _size(self) -> int:
        try:
            return self._view.index.size
        except INDEX_FAILURES:
            return 0

    def _with_telling_words(self) -> Iterator[CatalogRow]:
        """Notes with words of wishes and instructions in them."""
        index = self._view.index
        filters = self._view.filters(type=("semantic", "procedural"))
        try:
            found = index.search_text(_TELLING_WORDS, filters, _MOST_READ).passages
            yield from index.lookup.rows({note for note, *_ in found}).values()
        except INDEX_FAILURES:
            return

    def _is_one(self, row: CatalogRow) -> bool:
        try:
            note = self._view.store.note(row.path)
        except VaultmemError:
            return False
        return is_preference(note, attributes_of(note, self._view.settings))


def replaced_notes(view: View, rows: Iterable[CatalogRow], *, by_name: bool = True) -> Set[int]:
    """Those of these notes that do not hold any more, as far as the caller may know, but for those
    of which it only looks so."""
    lookup = view.index.lookup
    try:
        by = lookup.replaced(row.note for row in rows).by
        visible = lookup.passing({each.note for each in by.values()}, view.filters())
    except INDEX_FAILURES:
        return frozenset()
    return {
        note
        for note, each in by.items()
        if not each.doubtful
        and (by_name or not each.by_name)
        and (each.note in visible or each.in_own_words)
    }


def _importance(row: CatalogRow) -> float:
    return 0.5 if row.importance is None else row.importance
