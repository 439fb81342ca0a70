"""The tables of the catalog, and the counts that triggers keep beside them.

Nothing that is asked while somebody waits goes through all notes. What filters ask of a note, whose
it is and of what kind, is the same for many: such notes stand on one *shelf*, and a filter is a
choice of shelves, of which there are few. How many notes, links and tags there are is counted
shelf by shelf, as rows come and go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

SCHEMA_VERSION: Final = 13

# When a note changed last: a person's is saved without saying so in it.
_CHANGED: Final = "coalesce(updated, CASE WHEN id <> '' THEN created END, mtime_ns / 1000000000)"
LAST_CHARACTER: Final = "\U0010ffff"
IMPORTANCE: Final = "coalesce(importance, 0.5)"
_WRITTEN: Final = "coalesce(updated, created, 0)"
# The name at the end of a link.
BASENAME: Final = "replace(folded, rtrim(folded, replace(folded, '/', '')), '')"
IS_ENTITY: Final = "lower(type) = 'entity'"

LOOKUP_ORDERS: Final = {
    "recent": "changed DESC, path",
    "created": "created DESC, path",
    "importance": f"{IMPORTANCE} DESC, {_WRITTEN} DESC, path",
    "title": "title_key, path",
}

_TABLES: Final = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE shelf (
  shelf INTEGER PRIMARY KEY,
  type TEXT NOT NULL, scope TEXT NOT NULL, project TEXT NOT NULL, user TEXT NOT NULL,
  room TEXT NOT NULL, kind TEXT NOT NULL, session TEXT NOT NULL, unclear TEXT NOT NULL,
  forgotten INTEGER NOT NULL, pdf INTEGER NOT NULL,
  type_key TEXT NOT NULL, scope_key TEXT NOT NULL, project_key TEXT NOT NULL,
  user_key TEXT NOT NULL, room_key TEXT NOT NULL, kind_key TEXT NOT NULL,
  session_key TEXT NOT NULL,
  common INTEGER AS (forgotten = 0 AND scope_key <> 'session' AND unclear = ''),
  notes INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0,
  passages INTEGER NOT NULL DEFAULT 0, relations INTEGER NOT NULL DEFAULT 0,
  UNIQUE (type, scope, project, user, room, kind, session, unclear, forgotten, pdf));
CREATE INDEX shelf_empty ON shelf (shelf) WHERE notes = 0;
CREATE TABLE folder (folder TEXT NOT NULL, shelf INTEGER NOT NULL, notes INTEGER NOT NULL,
  PRIMARY KEY (folder, shelf)) WITHOUT ROWID;
CREATE TABLE note (
  note INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE,
  mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL, inode INTEGER NOT NULL,
  ctime_ns INTEGER NOT NULL, version TEXT NOT NULL,
  id TEXT NOT NULL, key TEXT NOT NULL, title TEXT NOT NULL, type TEXT NOT NULL, scope TEXT NOT NULL,
  project TEXT NOT NULL, user TEXT NOT NULL, room TEXT NOT NULL, session TEXT NOT NULL,
  kind TEXT NOT NULL, unclear TEXT NOT NULL, importance REAL, created INTEGER, updated INTEGER,
  forgotten INTEGER NOT NULL, more TEXT NOT NULL, day INTEGER,
  words BLOB NOT NULL, outdated INTEGER NOT NULL, title_key TEXT NOT NULL,
  session_key TEXT NOT NULL, passages INTEGER NOT NULL, relations INTEGER NOT NULL,
  shelf INTEGER NOT NULL, changed INTEGER AS ({_CHANGED}));
CREATE INDEX note_recent ON note (changed DESC, path, shelf);
CREATE INDEX note_created ON note (created DESC, path, shelf);
CREATE INDEX note_important ON note ({IMPORTANCE} DESC, {_WRITTEN} DESC, path, shelf);
CREATE INDEX note_title ON note (title_key, path, shelf);
CREATE INDEX note_shelf ON note (shelf);
CREATE INDEX note_day ON note (day) WHERE day IS NOT NULL;
CREATE INDEX note_words ON note (words);
CREATE INDEX note_outdated ON note (title) WHERE outdated = 1;
CREATE INDEX note_id ON note (id) WHERE id <> '';
CREATE INDEX note_id_end ON note (substr(id, -12)) WHERE id <> '';
CREATE INDEX note_key ON note (key) WHERE key <> '';
CREATE INDEX note_session ON note (session_key) WHERE session_key <> '';
CREATE INDEX note_entity ON note (note) WHERE {IS_ENTITY};
CREATE INDEX note_unsettled ON note (note) WHERE size < 0;
CREATE TABLE passage (
  passage INTEGER PRIMARY KEY AUTOINCREMENT, note INTEGER NOT NULL, hash BLOB NOT NULL,
  heading TEXT NOT NULL, kind TEXT NOT NULL, block TEXT NOT NULL,
  start INTEGER NOT NULL, end INTEGER NOT NULL, part INTEGER NOT NULL);
CREATE INDEX passage_note ON passage (note);
CREATE INDEX passage_hash ON passage (hash);
CREATE INDEX passage_observed ON passage (lower(block), note)
  WHERE kind = 'observation' AND block <> '';
CREATE TABLE tag (note INTEGER NOT NULL, folded TEXT NOT NULL, tag TEXT NOT NULL);
CREATE INDEX tag_note ON tag (note);
CREATE INDEX tag_folded ON tag (folded, note);
CREATE TABLE tagged (folded TEXT NOT NULL, tag TEXT NOT NULL, shelf INTEGER NOT NULL,
  notes INTEGER NOT NULL, PRIMARY KEY (folded, tag, shelf)) WITHOUT ROWID;
CREATE INDEX tagged_shelf ON tagged (shelf);
CREATE TABLE common_tag (folded TEXT PRIMARY KEY, notes INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX common_tag_most ON common_tag (notes DESC);
CREATE TABLE name (note INTEGER NOT NULL, folded TEXT NOT NULL, kind TEXT NOT NULL);
CREATE INDEX name_note ON name (note, folded);
CREATE INDEX name_folded ON name (folded);
CREATE TABLE link (note INTEGER NOT NULL, target TEXT NOT NULL, folded TEXT NOT NULL,
  relation TEXT NOT NULL);
CREATE INDEX link_note ON link (note);
CREATE INDEX link_folded ON link (folded);
CREATE INDEX link_relative ON link ({BASENAME}) WHERE folded >= '.' AND folded < '/';
CREATE INDEX link_derived ON link (folded) WHERE relation = 'derived_from';
CREATE TABLE replacement (note INTEGER NOT NULL, sign TEXT NOT NULL, folded TEXT NOT NULL,
  place TEXT NOT NULL);
CREATE INDEX replacement_note ON replacement (note);
CREATE INDEX replacement_folded ON replacement (folded);
CREATE TABLE link_text (note INTEGER NOT NULL, word TEXT NOT NULL, folded TEXT NOT NULL,
  share REAL NOT NULL);
CREATE INDEX link_text_note ON link_text (note);
CREATE INDEX link_text_word ON link_text (word);
CREATE TABLE fact (note INTEGER NOT NULL, predicate TEXT NOT NULL, object TEXT NOT NULL,
  valid_from TEXT NOT NULL, valid_to TEXT NOT NULL, confidence REAL, provenance TEXT NOT NULL,
  block TEXT NOT NULL);
CREATE INDEX fact_note ON fact (note);
CREATE INDEX fact_linking ON fact (lower(object)) WHERE substr(object, 1, 2) = '[[';
CREATE TABLE problem (note INTEGER NOT NULL, kind TEXT NOT NULL, message TEXT NOT NULL,
  line INTEGER NOT NULL);
CREATE INDEX problem_note ON problem (note);
CREATE INDEX problem_kind ON problem (kind);
CREATE TABLE skipped (path TEXT PRIMARY KEY, reason TEXT NOT NULL, id TEXT NOT NULL,
  mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL, inode INTEGER NOT NULL,
  ctime_ns INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX skipped_id ON skipped (id) WHERE id <> '';
CREATE TABLE pending (path TEXT PRIMARY KEY) WITHOUT ROWID;
"""

# What comes is added up for a whole batch (`rows.py`), since a trigger for each row would make
# filling a vault slower by a twelfth; what changes and goes is counted by triggers, row by row.
ADD_TO_SHELF: Final = """
UPDATE shelf SET notes = notes + ?, bytes = bytes + ?, passages = passages + ?,
  relations = relations + ? WHERE shelf = ?
"""
ADD_TO_FOLDER: Final = """
INSERT INTO folder VALUES (?, ?, ?)
ON CONFLICT (folder, shelf) DO UPDATE SET notes = notes + excluded.notes
"""
ADD_TO_TAG: Final = """
INSERT INTO tagged VALUES (?, ?, ?, ?)
ON CONFLICT (folded, tag, shelf) DO UPDATE SET notes = notes + excluded.notes
"""
ADD_TO_COMMON_TAG: Final = """
INSERT INTO common_tag VALUES (?, ?)
ON CONFLICT (folded) DO UPDATE SET notes = notes + excluded.notes
"""
_FOLDER: Final = "rtrim({0}.path, replace({0}.path, '/', ''))"
_GONE: Final = f"""
  UPDATE shelf SET notes = notes - 1, bytes = bytes - max(old.size, 0),
    passages = passages - old.passages, relations = relations - old.relations
  WHERE shelf = old.shelf;
  UPDATE folder SET notes = notes - 1
  WHERE folder = {_FOLDER.format("old")} AND shelf = old.shelf;
  DELETE FROM folder
  WHERE folder = {_FOLDER.format("old")} AND shelf = old.shelf AND notes = 0;
"""
_SHELF_OF_TAG: Final = "(SELECT shelf FROM note WHERE note = old.note)"
# A note's tags go before it goes or changes, and come when it is there.
_TRIGGERS: Final = (
    f"CREATE TRIGGER note_goes AFTER DELETE ON note BEGIN {_GONE} END",
    f"""CREATE TRIGGER note_changes AFTER UPDATE OF path, size, passages, relations, shelf ON note
BEGIN {_GONE}
  UPDATE shelf SET notes = notes + 1, bytes = bytes + max(new.size, 0),
    passages = passages + new.passages, relations = relations + new.relations
  WHERE shelf = new.shelf;
  INSERT INTO folder VALUES ({_FOLDER.format("new")}, new.shelf, 1)
  ON CONFLICT (folder, shelf) DO UPDATE SET notes = notes + 1;
END""",
    f"""CREATE TRIGGER tag_goes AFTER DELETE ON tag BEGIN
  UPDATE tagged SET notes = notes - 1
  WHERE folded = old.folded AND tag = old.tag AND shelf = {_SHELF_OF_TAG};
  DELETE FROM tagged
  WHERE folded = old.folded AND tag = old.tag AND shelf = {_SHELF_OF_TAG} AND notes = 0;
END""",
    """CREATE TRIGGER common_tag_goes AFTER DELETE ON tag
WHEN old.tag <> '' AND (SELECT common FROM note JOIN shelf USING (shelf) WHERE note = old.note)
BEGIN
  UPDATE common_tag SET notes = notes - 1 WHERE folded = old.folded;
  DELETE FROM common_tag WHERE folded = old.folded AND notes = 0;
END""",
)


def catalog_schema() -> Iterator[str]:
    """Statement by statement."""
    yield from filter(None, map(str.strip, _TABLES.split(";")))
    yield from _TRIGGERS
