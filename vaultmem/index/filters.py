"""What hits must be: one set of filters, and every evaluation of it side by side.

As words of the full text (`required_facets` and `forbidden_facets` against a note's `facets`), as
SQL of those that pass (`where`) or of the few that do not (`left_out`), and of one note (`passes`).
One table of cases holds for all of them: a new filter is a line in each, and in that table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from vaultmem.base.database import SQL_LIST, sql_list
from vaultmem.index.embedded.rows import IndexEntry
from vaultmem.notes.attributes import SESSION_UNCLEAR, belongs_to_caller
from vaultmem.notes.note import Note, printable
from vaultmem.notes.tags import tag_key

_UNCLEAR: Final = "unclear"  # a note of which it cannot be read whose it is
_DEEPEST: Final = 64  # levels of a tag or a folder
_TAGGED: Final = """note.note IN (
  SELECT tag.note FROM json_each(?) wanted CROSS JOIN tag ON folded = wanted.value
  UNION ALL SELECT tag.note FROM json_each(?) wanted CROSS JOIN tag
  ON folded >= wanted.value || '/' AND folded < wanted.value || '0')"""
_LEFT_OUT: Final = """
SELECT note FROM note WHERE forgotten = 1
UNION ALL SELECT note FROM note WHERE scope = 'session' AND ? <> '' AND casefold(session) <> ?
UNION ALL SELECT note FROM note WHERE unclear = 'session' AND ? <> ''
"""
ANY_SESSION: Final = "session:"  # a note that is not bound to one session


class Filters(NamedTuple):
    """What a hit must be; an empty filter lets everything pass but what is forgotten."""

    types: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # any of them; `a` stands for `a/b` too
    rooms: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    folder: str = ""
    after: int | None = None  # seconds since the epoch
    before: int | None = None
    min_importance: float | None = None
    forgotten: bool = False
    # What the caller is bound to. Notes that belong to nobody in particular pass as well.
    user: str = ""
    home: str = ""  # the project
    session: str = ""  # of session-scope notes only


def _wanted_by_filters(filters: Filters) -> Iterator[tuple[str, list[str]]]:
    """The attributes of which one of several values will do."""
    for name in ("type", "scope", "project", "room", "kind"):
        if values := getattr(filters, f"{name}s"):
            yield name, [value.casefold() for value in values]


# --- as words of the full text ----------------------------------------------------------------


def filter_facets(entry: IndexEntry) -> Iterator[str]:
    """What filters ask for, as exact words: `type:semantic`, `tag:auth`, `tag:auth/tokens` …"""
    note = entry.note
    for name in ("type", "scope", "project", "room", "user", "kind"):
        yield f"{name}:{printable(entry.attributes[name]).casefold()}"
    bound = entry.attributes["scope"].casefold() == "session"
    yield ANY_SESSION + (printable(entry.attributes["session"]).casefold() if bound else "")
    for tag in note.tags:
        levels = _levels_of_facet(printable(tag).casefold().split("/"))
        yield from (f"tag:{part}" for part in levels)
    yield from (f"folder:{part}" for part in _levels_of_facet(printable(note.path).split("/")[:-1]))
    if note.flag("forgotten"):
        yield "forgotten"
    if unclear := entry.attributes["unclear"]:
        yield from (_UNCLEAR, f"{_UNCLEAR}:{unclear}")


def _levels_of_facet(parts: list[str]) -> Iterator[str]:
    return ("/".join(parts[: i + 1]) for i in range(min(len(parts), _DEEPEST)))


def forbidden_facets(filters: Filters) -> Iterator[str]:
    if not filters.forgotten:
        yield "forgotten"
    if filters.user or filters.home:
        yield _UNCLEAR
    elif filters.session:
        yield f"{_UNCLEAR}:{SESSION_UNCLEAR}"


def required_facets(filters: Filters) -> Iterator[tuple[str, ...]]:
    """One set for each filter; a hit needs one word of every set."""
    for name, values in _wanted_by_filters(filters):
        yield tuple(f"{name}:{value}" for value in values)
    if filters.tags:
        yield tuple(f"tag:{tag_key(tag)}" for tag in filters.tags)
    for name, pinned in (
        ("user", filters.user),
        ("project", filters.home),
        ("session", filters.session),
    ):
        if pinned:
            yield f"{name}:", f"{name}:{pinned.casefold()}"
    if filters.folder:
        yield (f"folder:{filters.folder.strip('/')}",)


# --- as SQL -----------------------------------------------------------------------------------


def filters_as_sql(filters: Filters) -> tuple[str, list[object]]:
    """The condition that a row of `note` meets, and its values."""
    terms: list[str] = []
    values: list[object] = []
    for column, wanted in _wanted_by_filters(filters):
        terms.append(f"casefold(note.{column}) IN {SQL_LIST}")
        values.append(sql_list(wanted))
    for condition, pinned in (
        ("(note.user = '' OR casefold(note.user) = ?)", filters.user),
        ("(note.project = '' OR casefold(note.project) = ?)", filters.home),
        ("(casefold(note.scope) <> 'session' OR casefold(note.session) = ?)", filters.session),
    ):
        if pinned:
            terms.append(condition)
            values.append(pinned.casefold())
    if filters.user or filters.home:
        terms.append("note.unclear = ''")
    elif filters.session:
        terms.append("note.unclear <> 'session'")
    if filters.tags:
        terms.append(_TAGGED)
        values += [sql_list(map(tag_key, filters.tags))] * 2
    if filters.folder:
        terms.append("note.path >= ? AND note.path < ?")
        name = filters.folder.strip("/")
        values += [f"{name}/", f"{name}0"]  # from where to where: `0` comes next after `/`
    if not filters.forgotten:
        terms.append("note.forgotten = 0")
    for column, sign, bound in (
        ("created", ">=", filters.after),
        ("created", "<=", filters.before),
        ("coalesce(importance, 0.5)", ">=", filters.min_importance),
    ):
        if bound is not None:
            terms.append(f"{column} {sign} ?")
            values.append(bound)
    return " AND ".join(terms) or "1", values


def left_out_by_filters(filters: Filters) -> tuple[str, list[object]] | None:
    """The notes that do not pass, where that is quicker to ask: the usual caller is bound to a
    session alone, and nearly everything passes. None for all other filters."""
    session = filters.session
    if filters != Filters(session=session):
        return None
    return _LEFT_OUT, [session, session.casefold(), session]


# --- of one note ------------------------------------------------------------------------------


def passes_filters(note: Note, attributes: Mapping[str, str], filters: Filters) -> bool:
    for name, wanted in _wanted_by_filters(filters):
        if attributes[name].casefold() not in wanted:
            return False
    if filters.tags:
        keys = [tag_key(tag) for tag in filters.tags]
        tags = [tag.casefold() for tag in note.tags]
        if not any(tag == key or tag.startswith(f"{key}/") for key in keys for tag in tags):
            return False
    bound = passes_binding_filters(attributes, filters)
    return bound and _passes_bounds_of_filters(note, filters)


def passes_binding_filters(attributes: Mapping[str, str], filters: Filters) -> bool:
    """What the caller is bound to, of all filters."""
    pins = {"user": filters.user, "project": filters.home, "session": filters.session}
    return belongs_to_caller(attributes, **pins)


def _passes_bounds_of_filters(note: Note, filters: Filters) -> bool:
    if note.flag("forgotten") and not filters.forgotten:
        return False
    if filters.folder and not note.path.startswith(filters.folder.strip("/") + "/"):
        return False
    importance = note.number("importance")
    if filters.min_importance is not None:
        if (0.5 if importance is None else importance) < filters.min_importance:
            return False
    if filters.after is None and filters.before is None:
        return True
    made = int(note.created.timestamp()) if note.created else None
    return (
        made is not None
        and (filters.after is None or made >= filters.after)
        and (filters.before is None or made <= filters.before)
    )
