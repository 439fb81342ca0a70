"""Remembering: a text becomes a note, and its entities links."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from vaultmem import lock
from vaultmem.config import PROPERTIES
from vaultmem.desk import SCOPES, TYPES, Written, require_one_of, require_share
from vaultmem.edit import AddItems, Change, ReplaceBody, SetProperty
from vaultmem.errors import AlreadyExists, InvalidInput, NotFound
from vaultmem.graph import Graph
from vaultmem.index import TROUBLE
from vaultmem.markdown import is_tag
from vaultmem.names import cut, safe_name
from vaultmem.note import Note
from vaultmem.properties import Writable
from vaultmem.recall import query_words
from vaultmem.store import VOLATILE
from vaultmem.views import (
    Project,
    Projects,
    Remembered,
    Similar,
    content_of,
    identity,
    source_text,
)

if TYPE_CHECKING:
    from concurrent.futures import Future

log = logging.getLogger("vaultmem")

_TITLE_BYTES: Final = 80
_RELATION: Final = re.compile(r"[a-z][a-z0-9_-]{0,40}\Z")
_NO_NAME: Final = re.compile(r"[\[\]|#^\n\r]")
_SIMILAR: Final = 3
_ALIKE: Final = 0.5  # share of words in common that makes two texts similar
_NEAR: Final = (
    0.89  # similarity of meaning that does: paraphrases have .92, neighbours in topic .87
)
_LEADING: Final = re.compile(r"^(?:\s|#{1,6}\s|[-*+>]\s|\d+[.)]\s|[*_`~]+)+")
_SENTENCE: Final = re.compile(r"(?<=[.!?。！？])\s|(?<=[。！？])")

PROJECT: Final = "project"  # the kind of note that says what a project is

EntityRef = Mapping[str, str]


class Remembering(Graph):
    def remember(
        self,
        content: str,
        *,
        type: str = "semantic",
        scope: str = "user",
        importance: float | None = None,
        confidence: float | None = None,
        tags: Sequence[str] = (),
        source: str | Mapping[str, Any] | None = None,
        related_entities: Sequence[EntityRef] = (),
        session_id: str | None = None,
        project: str | None = None,
        title: str | None = None,
        key: str | None = None,
        room: str | None = None,
    ) -> Remembered:
        """Store a new memory; with a key that is known, the memory with this key is updated."""
        self._require_writable()
        require_one_of(type, TYPES, "type")
        require_one_of(scope, SCOPES, "scope")
        text = self._content(content)
        session = self._line(session_id or self.caller.session, "session_id", 200)
        if scope == "session" and not session:
            raise InvalidInput("A session memory needs a session: give session_id.")
        values: dict[str, Writable] = {
            "key": self._line(key or "", "key"),
            "type": type,
            "scope": scope,
            "project": self._project(scope, project),
            "session": session,
            "user": self.caller.user,
            "room": self._line(room or "", "room", 100),
            "importance": _share(importance, "importance"),
            "confidence": _share(confidence, "confidence"),
            "tags": list(self._tags(tags)),
            "source": self._line(source_text(source) or self.caller.client, "source"),
            **self._edges(related_entities),
        }
        name = self._title(title, text)
        with contextlib.suppress(*TROUBLE):  # a note can be written without an index
            self._parts.catch_up()
        similar = self._parts.aside.submit(self._similar, text)  # it never raises
        with self._keyed(str(values["key"] or "")):
            if known := self._with_key(values):
                done = self._upsert(known, text, values, similar)
            else:
                done = self._remember(name, title, text, values, related_entities, similar)
        return replace(done, warnings=(*done.warnings, *self._redactions(content, text)))

    # --- parts ---------------------------------------------------------------------------

    def _content(self, content: str) -> str:
        text = self._clean(content)
        if not text.strip():
            raise InvalidInput("There is nothing to remember: the content is empty.")
        return text

    def _project(self, scope: str, project: str | None) -> str:
        """Where a project memory belongs; with no project known, to the vault itself."""
        wanted = self._line(project or "", "project", 100)
        pinned = self.caller.project
        if wanted and pinned and wanted.casefold() != pinned.casefold():
            raise InvalidInput(
                f"This server is bound to the project {pinned!r}; leave project out."
            )
        if scope == "project":
            return pinned or wanted or self.caller.default_project
        return wanted

    def _tags(self, tags: Iterable[str]) -> Iterator[str]:
        seen: set[str] = set()
        for given in tags:
            tag = re.sub(r"\s+", "-", self._line(given, "A tag", 100).lstrip("#")).strip("/")
            if not is_tag(tag):
                raise InvalidInput(
                    f"{given!r} cannot be a tag: use letters, digits, - _ and /, not digits alone."
                )
            if tag.casefold() not in seen:
                seen.add(tag.casefold())
                yield tag

    def _title(self, title: str | None, text: str) -> str:
        if not title:
            return derived_title(text)
        if "/" in title or "\\" in title:
            raise InvalidInput(
                f"{title!r} looks like a path; a title is a name. The note's place is chosen by "
                "its scope and project."
            )
        return self._line(title, "title", 300)

    def _edges(self, entities: Iterable[EntityRef]) -> dict[str, Writable]:
        """Links to entities, in a list under the relationship's name."""
        lists: dict[str, list[Writable]] = {}
        for entity in entities:
            name = entity_name(self._line(entity.get("name", ""), "An entity's name", 100))
            relation = relation_name(entity.get("relationship", ""))
            link = f"[[{name}]]"
            if link not in lists.setdefault(relation, []):
                lists[relation].append(link)
        return dict(lists)

    # --- projects ------------------------------------------------------------------------

    def projects(self) -> Projects:
        """Every project that some note names, by name."""
        counts = self._project_counts()
        names = sorted((name for name, _ in counts.values()), key=str.casefold)
        return Projects(tuple(self._described(*counts[name.casefold()]) for name in names))

    def project(self, name: str) -> Project:
        found = self._project_counts().get(self._project_name(name).casefold())
        if found is None:
            raise NotFound(f"There is no project {name!r}.")
        return self._described(*found)

    def _project_counts(self) -> dict[str, tuple[str, int]]:
        """Names in their most usual spelling, with the number of memories."""
        self._parts.catch_up()
        counts = self.index.lookup.counts
        memories: dict[str, int] = {}
        for name, count in counts("project", self._filters(type=TYPES)).items():
            memories[name.casefold()] = memories.get(name.casefold(), 0) + count
        found: dict[str, tuple[str, int]] = {}
        for name in counts("project", self._filters(include_forgotten=True)):  # most used first
            if name:
                found.setdefault(name.casefold(), (name, memories.get(name.casefold(), 0)))
        return found

    def make_project(self, name: str, description: str = "") -> Project:
        """Give a project a note of its own, so that it is known before it has memories."""
        self._require_writable()
        name, text = self._project_name(name), self._clean(description, "The description").strip()
        with self._keyed(name):
            try:
                known = self.project(name)
            except NotFound:
                known = Project(name, 0, "")
            if not known.path:
                self._describe(known.name, text)
            elif text and not known.description:
                note = self.store.note(known.path)
                self._edited(note, "update", ReplaceBody(f"{text}\n\n{note.body}".rstrip() + "\n"))
            elif text not in ("", known.description):
                raise AlreadyExists(f"The project {known.name!r} exists, with another description.")
        return self.project(name)

    def _describe(self, name: str, text: str) -> None:
        values: dict[str, Writable] = {
            "id": self._new_id(),
            "type": "entity",
            "project": name,
            "user": self.caller.user,
            "kind": PROJECT,
            "aliases": [] if safe_name(name) == name else [name],
            "source": self.caller.client,
            "created": self._now(),
        }
        self._create(self.settings["folders.entities"], name, values, f"{text}\n" if text else "")

    def _project_name(self, name: str) -> str:
        plain = self._line(name, "A project's name", 100)
        if not plain or plain.startswith("[["):  # a link would name another project
            raise InvalidInput(f"{name!r} cannot be the name of a project.")
        if self.caller.project and plain.casefold() != self.caller.project.casefold():
            raise NotFound(f"There is no project {name!r}.")
        return plain

    def _described(self, name: str, memories: int) -> Project:
        """The project with what its own note says of it."""
        folder = self._folder({"scope": "project", "project": name})
        rows, _ = self.index.lookup.select(
            self._filters(type="entity", kind=PROJECT, project=name), "created"
        )
        known = Project(name, memories, folder)
        try:
            note = self.store.note(rows[-1].path)
        except (IndexError, NotFound):  # it has none, or no longer
            return known
        said = f"\n{content_of(note)}".partition("\n## ")[0].strip()
        return replace(known, description=said, id=identity(note), path=note.path)

    # --- writing -------------------------------------------------------------------------

    def _remember(
        self,
        name: str,
        title: str | None,
        text: str,
        values: dict[str, Writable],
        entities: Sequence[EntityRef],
        similar: Future[tuple[Similar, ...]],
    ) -> Remembered:
        values = {"id": self._new_id(), **values, "created": self._now()}
        if title and safe_name(name) != name:
            values["aliases"] = [name]
        written = self._create(self._folder(values), name, values, text + "\n")
        self._ensure_entities(entities)
        edges = sum(len(links) for _, links in _link_lists(values))
        return self._receipt(written, values, edges, similar, created=True)

    def _folder(self, values: Mapping[str, Writable]) -> str:
        if values["scope"] == "session":
            return VOLATILE + safe_name(str(values["session"]))
        folder: str = self.settings["folders.memories"].strip("/")
        project = str(values["project"] or "")
        return f"{folder}/{safe_name(project)}" if project else folder

    def _upsert(
        self,
        note: Note,
        text: str,
        values: dict[str, Writable],
        similar: Future[tuple[Similar, ...]],
    ) -> Remembered:
        changes: list[Change] = [ReplaceBody(text + "\n")]
        given = ("type", "importance", "confidence", "room", "source")
        new = [name for name in given if values[name] not in (None, "", note.get(name))]
        changes += [SetProperty(name, values[name]) for name in new]
        changes += [AddItems(name, tuple(items)) for name, items in _link_lists(values)]
        if tags := values["tags"]:
            changes.append(AddItems("tags", tuple(tags)))  # type: ignore[arg-type]
        written = self._edited(note, "update", *changes)
        edges = sum(len(links) for _, links in _link_lists(values))
        kept = {**values, "id": identity(note)}
        return self._receipt(written, kept, edges, similar, created=False)

    def _receipt(
        self,
        written: Written,
        values: Mapping[str, Writable],
        edges: int,
        similar: Future[tuple[Similar, ...]],
        *,
        created: bool,
    ) -> Remembered:
        searchable = self._searchable(written)
        others = [each for each in similar.result() if each.path != written.path]
        return Remembered(
            memory_id=str(values["id"]),
            path=written.path,
            title=written.path.rpartition("/")[2].removesuffix(".md"),
            type=str(values["type"]),
            scope=str(values["scope"]),
            version=written.version,
            embedding_generated=searchable == "now",
            graph_edges_created=edges,
            searchable=searchable,
            similar=tuple(others[:_SIMILAR]),
            created=created,
            project=str(values["project"] or "") or None,
            warnings=(written.behind,) if written.behind else (),
        )

    def _ensure_entities(self, entities: Iterable[EntityRef]) -> None:
        for entity in entities:
            if entity.get("type"):
                self.ensure_entity(entity_name(entity["name"]), entity["type"])

    # --- what is there already -----------------------------------------------------------

    @contextlib.contextmanager
    def _keyed(self, key: str) -> Iterator[None]:
        """Two callers with one new key take turns, so that only one makes the note."""
        if not key:
            yield
            return
        with lock.held(self.store.local() / "keys.lock", timeout=10, what="storing by key"):
            yield

    def _with_key(self, values: Mapping[str, Writable]) -> Note | None:
        if not values["key"]:
            return None
        filters = self._filters(scope=str(values["scope"]), include_forgotten=True)
        for row in self.index.lookup.with_key(str(values["key"]), filters):
            same_home = row.project.casefold() == str(values["project"] or "").casefold()
            same_user = row.user.casefold() == self.caller.user.casefold()
            same_session = row.session == values["session"] or values["scope"] != "session"
            if same_home and same_user and same_session:
                return self.store.note(row.path)
        return None

    def _similar(self, text: str) -> tuple[Similar, ...]:
        """Memories that say nearly the same: the writer decides what to do about them. What is
        being written meanwhile may be among them."""
        strategy = "hybrid" if self._parts.loaded_embedder() else "keyword"
        try:
            found = self._parts.recall.ask(
                text[:1000], strategy=strategy, filters=self._filters(), limit=_SIMILAR + 3
            )
        except Exception as error:  # whatever it is: the note is or will be written
            log.debug("looking for similar memories failed: %s", error)
            return ()
        words = set(query_words(text[:2000]))
        alike = []
        for hit in found.hits:
            other = set(query_words(hit.passage))
            shared = len(words & other) / max(1, len(words | other))
            nearness = max((lane.score for lane in hit.lanes if lane.name == "vector"), default=0.0)
            if shared >= _ALIKE or nearness >= _NEAR:
                score = round(max(shared, nearness), 3)
                row = hit.row
                id_ = hit.block if hit.is_observation and hit.block else row.id or row.path
                alike.append(Similar(id_, row.title, row.path, score))
        return tuple(sorted(alike, key=lambda s: -s.relevance_score))


def derived_title(text: str) -> str:
    """The first sentence or line, without its Markdown, short enough for a file name."""
    for line in text.strip().splitlines():
        plain = re.sub(r"\[\[(?:[^\]|]*\|)?([^\]]*)\]\]", r"\1", _LEADING.sub("", line)).strip()
        if plain.strip("-= "):
            sentence = _SENTENCE.split(plain, 1)[0].rstrip(" .,;:。")
            return cut(sentence, _TITLE_BYTES) or "Memory"
    return "Memory"


def entity_name(name: str) -> str:
    name = _NO_NAME.sub(" ", name.strip().removeprefix("[[").removesuffix("]]")).strip()
    if not name:
        raise InvalidInput("An entity needs a name.")
    return safe_name(name)


def relation_name(relationship: str) -> str:
    """A property name for a relationship; what cannot be one is simply what a note is about."""
    name = re.sub(r"[\s-]+", "_", relationship.strip()).lower()
    return name if _RELATION.match(name) and name not in PROPERTIES else "about"


def _link_lists(values: Mapping[str, Writable]) -> list[tuple[str, tuple[Writable, ...]]]:
    return [
        (name, tuple(value))
        for name, value in values.items()
        if isinstance(value, list) and value and str(value[0]).startswith("[[")
    ]


def _share(value: float | None, name: str) -> float | None:
    if value is not None:
        require_share(value, name)
    return value
