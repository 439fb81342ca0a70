"""What hits must be: one set of filters, and every evaluation of it side by side.

As words of the full text (`required_facets` and `forbidden_facets` against a note's `facets`), as
SQL of those that pass (`where`) or of the few that do not (`left_out`), and of one note (`passes`).
One table of cases holds for all of them: a new filter is a line in each, and in that table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from vaultmem.base.database import SQL_LIST, sql_list
from vaultmem.index.embedded.rows import IndexEntry, levels_of_name
from vaultmem.index.embedded.schema import IMPORTANCE
from vaultmem.notes.attributes import SESSION_UNCLEAR, belongs_to_caller
from vaultmem.notes.note import Note, printable
from vaultmem.notes.tags import tag_key

_UNCLEAR: Final = "unclear"  # a note of which it cannot be read whose it is
_TAGGED: Final = f"note.note IN (SELECT tag.note FROM tag WHERE tag.folded IN {SQL_LIST})"
_IS_TAGGED: Final = """EXISTS (SELECT 1 FROM json_each(?) wanted CROSS JOIN tag
  ON tag.folded = wanted.value AND tag.note = note.note)"""
_PASSING: Final = "(SELECT shelf.shelf FROM shelf WHERE {})"
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
    roots: tuple[str, ...] = ()  # folders; without any, all of the vault


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
        yield from (f"tag:{part}" for part in levels_of_name(printable(tag).casefold()))
    folder, slash, _ = printable(note.path).rpartition("/")
    yield from (f"folder:{part}" for part in (levels_of_name(folder) if slash else ()))
    if note.flag("forgotten"):
        yield "forgotten"
    if unclear := entry.attributes["unclear"]:
        yield from (_UNCLEAR, f"{_UNCLEAR}:{unclear}")


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
    if filters.roots:
        yield tuple(f"folder:{root.strip('/')}" for root in filters.roots)


# --- as SQL -----------------------------------------------------------------------------------


def filters_as_sql(filters: Filters) -> tuple[str, list[object]]:
    """The condition that a row of `note` meets, and its values."""
    shelves, shelf_values = shelves_as_sql(filters)
    beside, values = filters_beside_shelves(filters)
    passing = f"note.shelf IN {_PASSING.format(shelves)}" if shelves else ""
    return " AND ".join(filter(None, (beside, passing))) or "1", [*values, *shelf_values]


def filters_on_rows(filters: Filters) -> tuple[str, list[object]]:
    """The same for rows that are found by something else: a name, a word, an order."""
    condition, values = filters_as_sql(filters)
    return condition.replace("note.shelf", "+note.shelf").replace(_TAGGED, _IS_TAGGED), values


def shelves_as_sql(filters: Filters) -> tuple[str, list[object]]:
    """The shelves of the notes that pass, as far as a shelf tells; empty where all do."""
    terms: list[str] = []
    values: list[object] = []
    for column, wanted in _wanted_by_filters(filters):
        terms.append(f"shelf.{column}_key IN {SQL_LIST}")
        values.append(sql_list(wanted))
    for condition, pinned in (
        ("shelf.user_key IN ('', ?)", filters.user),
        ("shelf.project_key IN ('', ?)", filters.home),
        ("(shelf.scope_key <> 'session' OR shelf.session_key = ?)", filters.session),
    ):
        if pinned:
            terms.append(condition)
            values.append(pinned.casefold())
    if filters.user or filters.home:
        terms.append("shelf.unclear = ''")
    elif filters.session:
        terms.append("shelf.unclear <> 'session'")
    if not filters.forgotten:
        terms.append("shelf.forgotten = 0")
    return " AND ".join(terms), values


def filters_beside_shelves(filters: Filters) -> tuple[str, list[object]]:
    """What has to be asked of each note."""
    terms: list[str] = []
    values: list[object] = []
    if filters.tags:
        terms.append(_TAGGED)
        values.append(sql_list(map(tag_key, filters.tags)))
    if filters.folder:
        terms.append("note.path >= ? AND note.path < ?")
        values += span_of_folder(filters.folder)
    if filters.roots:
        spans = [span_of_folder(root) for root in filters.roots]
        terms.append(f"({' OR '.join(['(note.path >= ? AND note.path < ?)'] * len(spans))})")
        values += [end for span in spans for end in span]
    for column, sign, bound in (
        ("created", ">=", filters.after),
        ("created", "<=", filters.before),
        (IMPORTANCE, ">=", filters.min_importance),
    ):
        if bound is not None:
            terms.append(f"{column} {sign} ?")
            values.append(bound)
    return " AND ".join(terms), values


def span_of_folder(folder: str) -> tuple[str, str]:
    """From where to where the paths in it are: `0` comes next after `/`."""
    name = folder.strip("/")
    return f"{name}/", f"{name}0"


def left_out_by_filters(filters: Filters) -> tuple[str, list[object]] | None:
    """The notes that do not pass, where that is quicker to ask: the usual caller is bound to a
    session alone, and nearly everything passes. None for all other filters."""
    if filters != Filters(session=filters.session):
        return None
    shelves, values = shelves_as_sql(filters)
    hidden = _PASSING.format(f"NOT ({shelves})")
    return f"SELECT note.note FROM note WHERE note.shelf IN {hidden}", values


# --- of one note ------------------------------------------------------------------------------


def passes_filters(
    note: Note, attributes: Mapping[str, str], filters: Filters, created: int | None = None
) -> bool:
    """`created` are the seconds that `storage/creation.py` gives."""
    for name, wanted in _wanted_by_filters(filters):
        if attributes[name].casefold() not in wanted:
            return False
    if filters.tags:
        keys = [tag_key(tag) for tag in filters.tags]
        tags = [tag.casefold() for tag in note.tags]
        if not any(tag == key or tag.startswith(f"{key}/") for key in keys for tag in tags):
            return False
    bound = passes_binding_filters(attributes, filters)
    return bound and _passes_bounds_of_filters(note, filters, created)


def passes_binding_filters(attributes: Mapping[str, str], filters: Filters) -> bool:
    """What the caller is bound to, of all filters."""
    pins = {"user": filters.user, "project": filters.home, "session": filters.session}
    return belongs_to_caller(attributes, **pins)


def lies_in_roots(path: str, roots: tuple[str, ...]) -> bool:
    return not roots or any(path.startswith(f"{root.strip('/')}/") for root in roots)


def _passes_bounds_of_filters(note: Note, filters: Filters, made: int | None) -> bool:
    if note.flag("forgotten") and not filters.forgotten:
        return False
    if filters.folder and not note.path.startswith(filters.folder.strip("/") + "/"):
        return False
    if not lies_in_roots(note.path, filters.roots):
        return False
    importance = note.number("importance")
    if filters.min_importance is not None:
        if (0.5 if importance is None else importance) < filters.min_importance:
            return False
    if filters.after is None and filters.before is None:
        return True
    return (
        made is not None
        and (filters.after is None or made >= filters.after)
        and (filters.before is None or made <= filters.before)
    )
