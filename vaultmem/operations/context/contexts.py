"""What an agent should know before it starts: the memories that a task needs, most telling first,
within a budget of tokens. With nothing to say it says nothing.

One thing with several entrances: the tool, the command, the route, the resource with the user's
preferences, and what hooks put before an agent unasked.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vaultmem.base.token_count import token_count
from vaultmem.errors import VaultmemError
from vaultmem.index import INDEX_FAILURES, CatalogRow
from vaultmem.limits import QUESTION, bounded
from vaultmem.notes.file_names import cut_name
from vaultmem.notes.links import without_link_brackets
from vaultmem.notes.masking import text_without_comments
from vaultmem.notes.note import note_title, printable
from vaultmem.operations.context.block import TITLES, BlockText, ContextItem
from vaultmem.operations.context.notebook import Notebook
from vaultmem.operations.context.open_points import open_points, telling_first
from vaultmem.operations.context.preferences import PreferenceNotes, replaced_notes
from vaultmem.operations.context.task_memories import (
    LOOKED_AT,
    TaskMemories,
    is_of_project,
    is_same_project,
    is_undecided,
    outermost_folders,
)
from vaultmem.operations.input import require_one_of
from vaultmem.operations.read import Reader
from vaultmem.operations.view import View
from vaultmem.recall.gaps import ORDERS
from vaultmem.recall.graph_lane import GraphLane
from vaultmem.recall.recall import Answer
from vaultmem.storage.local_state.usage import GIVEN, INJECTED

if TYPE_CHECKING:
    from vaultmem.operations.facts import FactView, KnownFacts
    from vaultmem.operations.sessions import Sessions

SECTIONS: Final = {name: TITLES[name] for name in list(TITLES)[3:]}
_ITEMS: Final = 12
_IDENTITY: Final = 480  # bytes of what a person says of themselves
_AT_START: Final = 6  # preferences
_OF_PROJECT: Final = 4  # notes
_LAST: Final = 2  # sessions
_READ: Final = 60  # notes
_NAMED: Final = 120  # notes that have a project's name, perhaps in their title
_FEW_LACKING: Final = 0.1  # passages without a vector, in parts of the notes
_LEAST_TIME: Final = 0.3  # seconds; in less no model is opened
_UNASKED: Final = 1_500  # tokens; of 10,000 characters Claude Code shows the beginning only
_NOTHING: Final = "Memory has nothing to say about this."
_SHOWN_BEFORE: Final = (
    "What memory has to say about this was shown in this session already; ask once more with the "
    "same task to see it again."
)


@dataclass(frozen=True)
class ContextBlock:
    context_block: str
    memories_used: int
    tokens_used: int
    truncated: bool
    sections: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    message: str | None = None  # where there is nothing to say


class Contexts:
    """`sessions` and `facts` are made when there is something to ask them: a hook has no time."""

    def __init__(
        self,
        view: View,
        reader: Reader,
        sessions: Callable[[], Sessions],
        facts: Callable[[], KnownFacts],
    ) -> None:
        self._view = view
        self._reader = reader
        self._sessions = sessions
        self._facts = facts

    @bounded()
    def context(
        self,
        task: str | None = None,
        *,
        files: Sequence[str] = (),
        project: str | None = None,
        max_tokens: int = 2000,
        sections: Sequence[str] = (),
        related: int = 0,
        counted: bool = True,
    ) -> ContextBlock:
        """What memory has to say about a task, ready to be put before an agent.

        With `sections`, each of them says all that it has. With `related`, the block begins with
        how earlier sessions were summed up and with so many memories and observations about the
        task, of whatever kind. What was shown in this session before is left out, unless the
        same task is asked about once more.
        """
        wanted = [require_one_of(name, tuple(SECTIONS), "A section") for name in sections]
        query = _question(task, files)
        lacks = self._view.gaps.look()
        block = BlockText(max_tokens)
        shown = _Shown(self._view, "" if wanted or related else self._view.caller.session, query)
        if not wanted:
            block.offer("identity", shown.new(self._identity()))
        if related:
            block.offer("earlier_sessions", ())  # it stands first, and repeats nothing
            block.offer("about_task", self._related(query, project, related))
            block.offer("earlier_sessions", self._summed_up(project, _ITEMS, below=True))
        if wanted:
            for name in wanted:
                block.offer(name, self._all_of(name, query, project))
        elif query:
            of = self._project(project)
            found = self._ask(query, "hybrid")
            self._offer_task(block, TaskMemories(self._view, query, tuple(files), of), found, shown)
            if of and block.has_lines and not related:
                block.offer("session_history", shown.new(self._summed_up(of, 1)))
        else:
            self._offer_start(block, self._project(project))
        said = _written(block, shown, lacks() or ())
        if counted:
            caller = self._view.caller
            self._view.parts.usage.note(
                block.used, caller.session, question=False, client=caller.client, way=GIVEN
            )
        return said

    @bounded()
    def reminder(self, prompt: str, session: str, until: float = 0.0) -> ContextBlock:
        """The same for an agent that did not ask: what a prompt is about or, without a prompt,
        what one should know at the start. It does not count as used, and is found by words
        unless the model is there, or opens in time."""
        block, query = BlockText(_UNASKED), prompt[: QUESTION.most].strip()
        shown = _Shown(self._view, session, query, unasked=True)
        if not query:
            block.offer("identity", self._identity())
        if query:
            task = TaskMemories(self._view, query, (), self._project(None))
            self._offer_task(block, task, self._found(query, until), shown)
        else:
            self._offer_start(block, self._project(None))
        said = _written(block, shown, ())
        if session and block.used:
            client = self._view.caller.client
            self._view.parts.usage.tell(block.used, client, session, INJECTED)
        return said

    def _project(self, given: str | None) -> str:
        caller = self._view.caller
        return given or caller.project or caller.default_project

    # --- for a task ----------------------------------------------------------------------

    def _offer_task(
        self, block: BlockText, task: TaskMemories, found: Answer, shown: _Shown
    ) -> None:
        new = [each for each in task.choose(found) if shown.is_new(each.id)]
        for section, preference in (("about_task", False), ("preferences", True)):
            some = [each for each in new if each.preference == preference]
            block.offer(section, (self._item(e.id, e.row.title, e.text) for e in some))
        block.offer("project_context", shown.new(self._known(task.text)))

    def _found(self, query: str, until: float) -> Answer:
        """By meaning too, where the model is open; opening it takes time, which is spent only
        where words cannot decide."""
        model = self._view.parts.loaded_embedder()
        if model and (model.is_open or not until):
            return self._ask(query, "hybrid")
        found = self._ask(query, "keyword")
        seconds = until - time.monotonic()
        if (
            seconds > _LEAST_TIME
            and is_undecided(query, found)
            and self._is_model_opened(query, seconds)
        ):
            return self._ask(query, "hybrid")
        return found

    def _ask(self, query: str, strategy: str) -> Answer:
        """Where vectors are missing, meaning knows too little to say that nothing is known."""
        if strategy == "hybrid" and self._lacks_vectors():
            strategy = "keyword"
        filters = self._view.filters()
        return self._reader.ask(query, strategy, filters, LOOKED_AT, 0, "relevance", floor=False)

    def _lacks_vectors(self) -> bool:
        model = self._view.parts.embedder()
        try:
            index = self._view.index
            lacking = index.vectors.count_missing(model.identity) if model else 0
            return lacking > _FEW_LACKING * index.size
        except INDEX_FAILURES:
            return False

    def _is_model_opened(self, query: str, seconds: float) -> bool:
        """Open it aside, and wait no longer than that; it may go on opening when we are gone."""
        parts = self._view.parts
        opened = threading.Event()

        def open_model() -> None:
            model = parts.embedder()
            if model is not None:
                model.embed_query(query)
                opened.set()

        threading.Thread(target=open_model, name="opening", daemon=True).start()
        return opened.wait(seconds)

    def open_meaning(self) -> None:
        """Open the model and the vectors aside, where there are any, for who asks next."""
        model = self._view.parts.loaded_embedder()
        if model is None or not model.is_open:
            threading.Thread(target=self._open_meaning, name="opening", daemon=True).start()

    def _open_meaning(self) -> None:
        with contextlib.suppress(VaultmemError, *INDEX_FAILURES):
            if model := self._view.parts.embedder():
                anything = model.embed_query("What is known?")
                self._view.index.vectors.search(anything, model.identity, self._view.filters(), 1)

    def _related(self, query: str, project: str | None, limit: int) -> Iterator[ContextItem]:
        if query:
            found = self._reader.recall(
                query, strategy="keyword", project=project, limit=limit, operators=False
            )
            for hit in found.memories:
                if hit.type == "session":  # what it says is in its lines, and summed up
                    continue
                lines = hit.content.splitlines()
                several = tuple(filter(str.strip, lines)) if len(lines) > 1 else ()
                yield self._item(hit.id, hit.title, hit.content, several)

    def _known(self, query: str) -> Iterator[ContextItem]:
        """Facts that hold now about what the task names, the newest first."""
        try:
            names = GraphLane(self._view.index, self._view.filters()).known_names(query)
        except INDEX_FAILURES:
            return
        from vaultmem.operations.facts import fact_day

        for name in names[:_ITEMS]:
            for fact in self._facts_of(name)[:_AT_START]:
                since = f" (since {fact_day(fact.valid_from)})" if fact.valid_from else ""
                said = without_link_brackets(fact.object)
                text = f"{fact.subject} {fact.predicate} {said}{since}"
                yield self._item(f"{fact.path}#{fact.block}", fact.subject, text)

    def _facts_of(self, name: str) -> Sequence[FactView]:
        try:
            return self._facts().facts(name).facts
        except VaultmemError:  # the name of several notes
            return ()

    # --- at the start ----------------------------------------------------------------------

    def _offer_start(self, block: BlockText, project: str) -> None:
        block.offer("preferences", self._preferences(_AT_START, project))
        if project:
            block.offer("project_context", self._of_project(project))
        block.offer("session_history", self._summed_up(project or None, _LAST))

    def _of_project(self, project: str) -> Iterator[ContextItem]:
        """What is told of it first: what is open, an overview, decisions that hold."""
        rows = [row for row in self._newest_of(project) if row.type != "session"]
        held = self._holding(rows[:_READ])
        if opened := open_points([(row, self._view.visible_body(row) or "") for row in held]):
            yield self._item(f"open:{opened.path}", opened.title, opened.text)
        for row in telling_first(held, project)[:_OF_PROJECT]:
            if text := self._view.visible_body(row):
                yield self._item(row.id or row.path, row.title, text)

    def _newest_of(self, project: str) -> list[CatalogRow]:
        """The newest notes of a project, by its property, its folder or its name."""
        view, found = self._view, dict[str, CatalogRow]()
        if not view.gaps.are_none():
            rows = view.gaps.select(view.filters(), "recent")[0]
            return [row for row in rows if is_of_project(row, project)]
        titled: Iterable[CatalogRow] = ()
        try:
            lookup = view.index.lookup
            named = [name for name in lookup.counts("project", view.filters()) if name]
            folders = outermost_folders(lookup.folders(), project)
            hits = view.index.search_text(project, view.filters(), _NAMED).notes
            titled = lookup.rows(note for note, _ in hits).values()
        except INDEX_FAILURES:
            named, folders = [project], []
        names = [name for name in named if is_same_project(name, project)]
        wanted = [view.filters(project=name) for name in names]
        wanted += [view.filters(folder=folder) for folder in folders]
        for filters in wanted:
            rows = view.gaps.select(filters, "recent", 2 * _READ)[0]
            found |= {row.path: row for row in rows}
        found |= {row.path: row for row in titled}
        mine = (row for row in found.values() if is_of_project(row, project))
        return sorted(mine, key=ORDERS["recent"])

    def _holding(self, rows: Sequence[CatalogRow]) -> list[CatalogRow]:
        """Those that no other note replaced."""
        replaced = replaced_notes(self._view, rows, by_name=False)  # the days of a log are all true
        return [row for row in rows if row.note not in replaced]

    def _summed_up(
        self, project: str | None, most: int, *, below: bool = False
    ) -> Iterator[ContextItem]:
        """How the latest sessions ended, on one line or on lines below their names."""
        from vaultmem.notes import journal

        filters = self._view.filters(type="session", project=project)
        rows = self._view.gaps.select(filters, "created", _ITEMS)[0]
        told = 0
        for note in self._sessions().notes_at(row.path for row in rows):
            said = printable(journal.journal_summary(note))
            if said and told < most:
                told += 1
                lines = tuple(filter(str.strip, said.splitlines())) if below else ()
                said = re.sub(r"^- ", "", said).replace("\n- ", "; ")
                yield self._item(note.path, note.title, said, lines)

    # --- preferences -----------------------------------------------------------------------

    def _identity(self) -> Iterator[ContextItem]:
        """Who the user is, whatever is asked; what is longer than a line is cut."""
        for row in PreferenceNotes(self._view).identity():
            if text := self._view.visible_body(row):
                said = re.sub(r"(?m)^#{1,6}[ \t]+.*$", "", text_without_comments(text))
                said = " ".join(said.split())
                cut = said if len(said.encode()) <= _IDENTITY else f"{cut_name(said, _IDENTITY)} …"
                yield self._item(row.id or row.path, row.title, cut)

    def _preferences(self, most: int, project: str = "") -> Iterator[ContextItem]:
        """Who the user is, then what they want, the most important first."""
        told = 0
        for row in PreferenceNotes(self._view).rows():
            if row.project and project and not is_of_project(row, project):
                continue
            if (text := self._view.visible_body(row)) and told < most:
                told += 1
                yield self._item(row.id or row.path, row.title, text)

    # --- sections asked for ------------------------------------------------------------------

    def _all_of(self, section: str, query: str, project: str | None) -> Iterator[ContextItem]:
        match section:
            case "preferences":
                yield from self._preferences(_READ)
            case "project_context":
                yield from self._known(query) if query else ()
                yield from self._about(query, project, scope="project", type=("semantic", "entity"))
            case "session_history":
                yield from self._happened()
            case "relevant_procedures":
                yield from self._about(query, project, type=("procedural",))

    def _about(
        self,
        query: str,
        project: str | None,
        *,
        scope: str | None = None,
        type: tuple[str, ...] = (),
    ) -> Iterator[ContextItem]:
        if not query:
            yield from self._listed(scope=scope, type=type[0], project=project)
            return
        strategy = "hybrid" if self._view.parts.loaded_embedder() else "keyword"
        filters = self._view.filters(scope=scope, type=type, project=project)
        found = self._reader.ask(query, strategy, filters, _ITEMS, 0, "relevance", floor=False)
        for hit in found.hits:
            if not hit.row.more.get("superseded_by"):
                yield self._item(hit.row.id or hit.row.path, hit.row.title, hit.passage)

    def _listed(
        self, *, scope: str | None = None, type: str | None = None, project: str | None = None
    ) -> Iterator[ContextItem]:
        """The most important ones, of those the newest first."""
        listed = self._reader.list(
            scope=scope, type=type, project=project, order="importance", limit=_ITEMS
        )
        for memory in listed.memories:
            yield self._item(memory.id, memory.title, memory.excerpt)

    def _happened(self) -> Iterator[ContextItem]:
        """The newest things that were noted: in this session, then in earlier ones."""
        for memory in self._reader.list(type="episodic", limit=_ITEMS // 2).memories:
            yield self._item(memory.id, memory.title, memory.excerpt)
        for seen in reversed(self._sessions().timeline(before=_ITEMS, after=0).observations):
            yield self._item(seen.id, note_title(seen.path), seen.content)

    def _item(self, id_: str, title: str, text: str, lines: tuple[str, ...] = ()) -> ContextItem:
        """A note may hold a secret of its owner's; nobody asked for it to be passed on."""
        if self._view.settings["privacy.redact"]:
            from vaultmem.base import redaction

            patterns = self._view.settings["privacy.patterns"]
            text = redaction.redacted(text, patterns)[0]
            if lines:
                lines = tuple(redaction.redacted("\n".join(lines), patterns)[0].split("\n"))
        return ContextItem(id_, title, text, lines)


def _written(block: BlockText, shown: _Shown, warnings: tuple[str, ...]) -> ContextBlock:
    text = block.written()
    shown.keep(block.shown_whole)
    return ContextBlock(
        context_block=text,
        memories_used=len(block.used),
        tokens_used=token_count(text) if text else 0,
        truncated=block.truncated,
        sections=tuple(TITLES[name] for name in block.sections),
        warnings=warnings,
        message=None if text else _SHOWN_BEFORE if shown.left_out else _NOTHING,
    )


class _Shown:
    """What the session was shown before, as far as it counts for this question."""

    def __init__(self, view: View, session: str, query: str, *, unasked: bool = False) -> None:
        self._notebook = Notebook(view.parts, session) if session else None
        self._before: frozenset[str] = frozenset()
        self._begins = unasked and not query
        self._query = "" if unasked else query
        self.left_out = False
        if self._notebook and query:
            again = bool(self._query) and self._notebook.has_line(self._query)
            self._before = frozenset() if again else frozenset(self._notebook.memories)

    def is_new(self, id_: str) -> bool:
        self.left_out |= id_ in self._before
        return id_ not in self._before

    def new(self, items: Iterable[ContextItem]) -> Iterator[ContextItem]:
        return (item for item in items if self.is_new(item.id))

    def keep(self, ids: Sequence[str]) -> None:
        """A session that begins, begins anew: its transcript has nothing of before."""
        if self._notebook is None:
            return
        if self._begins:
            self._notebook.forget_old()
            self._notebook.memories = []
        self._notebook.memories += ids
        if self._query and not self._notebook.has_line(self._query):
            self._notebook.add_line(self._query)
        self._notebook.save()


def _question(task: str | None, files: Sequence[str]) -> str:
    named = (re.split(r"[\\/]", file)[-1] for file in files)
    return " ".join([task or "", *named]).strip()[: QUESTION.most]
