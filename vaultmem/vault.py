"""One open vault: everything that can be done in it, each group of operations made when needed."""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast, overload

from vaultmem import config
from vaultmem.notes.file_names import safe_name
from vaultmem.operations.caller import Caller
from vaultmem.operations.view import View
from vaultmem.parts import Parts

if TYPE_CHECKING:
    from vaultmem.git.conflicts import Settlement
    from vaultmem.git.first_commits import VaultCommits
    from vaultmem.git.share import Sharing
    from vaultmem.indexing.follower import Follower
    from vaultmem.indexing.reconcile import ReconcileReport
    from vaultmem.operations.context.contexts import Contexts
    from vaultmem.operations.edits.daily_notes import DailyNotes
    from vaultmem.operations.edits.hand_edits import HandEdits
    from vaultmem.operations.edits.note_edits import NoteEdits
    from vaultmem.operations.facts import KnownFacts
    from vaultmem.operations.forget import Forgetting
    from vaultmem.operations.graphs.entity_graph import EntityGraph
    from vaultmem.operations.graphs.graph import Graph
    from vaultmem.operations.graphs.neighbours import Neighbours
    from vaultmem.operations.happened.activity import HappenedHere
    from vaultmem.operations.happened.undoing import Undoing
    from vaultmem.operations.input import Input
    from vaultmem.operations.memories import Memories
    from vaultmem.operations.memory_files.memory_files import MemoryFiles
    from vaultmem.operations.new_memories.proposals import Proposals
    from vaultmem.operations.new_memories.remember import Remembering
    from vaultmem.operations.projects import ProjectNotes
    from vaultmem.operations.read import Reader
    from vaultmem.operations.session_work import SessionWork
    from vaultmem.operations.sessions import Sessions
    from vaultmem.operations.versions import VersionHistory
    from vaultmem.operations.weights import Weights
    from vaultmem.operations.writing import Writing
    from vaultmem.storage.local_state.activity import DistantChanges
    from vaultmem.storage.local_state.history import GitVersion
    from vaultmem.transfer.operations import Transfer
    from vaultmem.upkeep.consolidation.consolidate import Consolidation
    from vaultmem.upkeep.dreams import Dreamers, Dreams
    from vaultmem.upkeep.maintenance import Maintenance
    from vaultmem.upkeep.renaming import Renaming
    from vaultmem.upkeep.review import Review
    from vaultmem.upkeep.review_queue import ReviewQueue
    from vaultmem.upkeep.status import Health
    from vaultmem.upkeep.template import VaultPlan

Operation = TypeVar("Operation")
Operations = TypeVar("Operations")
_WRITER = ("view", "_writing", "cleaning")


class _Group(cached_property[Operations]):
    """A group of operations: loaded, and made of what it works with, when it is first asked for."""

    def __init__(self, place: str, *parts: str) -> None:
        module, _, name = place.rpartition(".")

        def made(vault: Vault) -> Operations:
            make = getattr(importlib.import_module(f"vaultmem.{module}"), name)
            group = make(*(getattr(vault, part) for part in parts))
            kept: Operations = vars(vault).setdefault(str(self.attrname), group)  # in any thread
            return kept

        super().__init__(made)


class _Offered(Generic[Operation]):
    """An operation of one of the groups, under its own name on the vault."""

    def __init__(self, found: Callable[[Vault], Operation]) -> None:
        self._found = found

    @overload
    def __get__(self, vault: None, owner: type[Vault]) -> Self: ...
    @overload
    def __get__(self, vault: Vault, owner: type[Vault]) -> Operation: ...
    def __get__(self, vault: Vault | None, owner: type[Vault]) -> Self | Operation:
        return self if vault is None else self._found(vault)


Lender = Callable[[Path, config.Settings, Caller], "Vault"]
_lender: ContextVar[Lender | None] = ContextVar("lender", default=None)


@contextlib.contextmanager
def lending(lender: Lender | None) -> Iterator[None]:
    """Whoever opens a vault in this thread or task is lent one that is open already."""
    token = _lender.set(lender)
    try:
        yield
    finally:
        _lender.reset(token)


def _commits_of(root: Path) -> VaultCommits:
    from vaultmem.git.first_commits import VaultCommits

    return VaultCommits(root)


class Vault:
    """An open vault, and everything one can do with the memories in it.

    with Vault.open("~/Notes") as vault:
        vault.remember("Refresh tokens rotate every 24 hours.", tags=["auth"])
        vault.recall("how long do tokens live?")
    """

    def __init__(self, parts: Parts, caller: Caller) -> None:
        self.parts = parts
        parts.store.births.open_commits = partial(_commits_of, parts.store.root)
        self.view = View(parts, caller)

    @classmethod
    def open(
        cls,
        vault: str | Path | None = None,
        flags: Mapping[str, Any] | None = None,
        *,
        caller: Caller | None = None,
        strict: bool = True,
    ) -> Self:
        """Open a vault that exists; `strict` refuses wrong settings instead of ignoring them."""
        root = config.find_vault(str(vault) if vault else None)
        settings = config.load(root, flags)
        if strict:
            settings.require_valid()
        pinned = Caller(user=settings["user"], project=settings["project"])
        if lend := _lender.get():
            return cast(Self, lend(root, settings, caller or pinned))
        load = partial(config.load, root, flags)
        return cls(Parts(root, settings, load), caller or pinned)

    def for_caller(self, caller: Caller) -> Self:
        """The same open vault for someone else."""
        return type(self)(self.parts, caller)

    def take_settings(self) -> bool:
        """Follow the vault's settings; raises Unavailable while something is wrong with them."""
        return self.parts.take_settings()

    def close(self) -> None:
        self.parts.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def root(self) -> Path:
        return self.parts.store.root

    @property
    def caller(self) -> Caller:
        return self.view.caller

    @property
    def settings(self) -> config.Settings:
        return self.parts.settings

    @property
    def revision(self) -> int:
        """Another one whenever the index took something in."""
        return self.parts.index.revision

    @property
    def on_write(self) -> list[Callable[[Sequence[str]], None]]:
        """Who wants to be told which notes were written here."""
        return self.parts.on_write

    def tell_gaps(self, times: int) -> None:
        """So many answers of this process may say what meaning does not know."""
        self.parts.language_gap.tellings = times

    # --- the groups ----------------------------------------------------------------------

    _writing: _Group[Writing] = _Group("operations.writing.Writing", "view")
    cleaning: _Group[Input] = _Group("operations.input.Input", "settings")
    _reader: _Group[Reader] = _Group("operations.read.Reader", "view")
    weights: _Group[Weights] = _Group("operations.weights.Weights", "view")
    _facts: _Group[KnownFacts] = _Group("operations.facts.KnownFacts", *_WRITER)
    _graph: _Group[Graph] = _Group("operations.graphs.graph.Graph", "view", "_facts")
    entity_graph: _Group[EntityGraph] = _Group(
        "operations.graphs.entity_graph.EntityGraph", "view", "_graph"
    )
    _projects: _Group[ProjectNotes] = _Group("operations.projects.ProjectNotes", *_WRITER)
    _remembering: _Group[Remembering] = _Group(
        "operations.new_memories.remember.Remembering", *_WRITER, "_facts"
    )
    _daily: _Group[DailyNotes] = _Group(
        "operations.edits.daily_notes.DailyNotes", "view", "_writing"
    )
    _forgetting: _Group[Forgetting] = _Group("operations.forget.Forgetting", *_WRITER)
    _versions: _Group[VersionHistory] = _Group(
        "operations.versions.VersionHistory", "view", "_writing", "_commits_in_vault"
    )
    _happened: _Group[HappenedHere] = _Group(
        "operations.happened.activity.HappenedHere", "view", "_changes_elsewhere"
    )
    _neighbours: _Group[Neighbours] = _Group("operations.graphs.neighbours.Neighbours", "view")
    _undoing: _Group[Undoing] = _Group(
        "operations.happened.undoing.Undoing", "view", "_versions", "_forgetting"
    )
    _sessions: _Group[Sessions] = _Group("operations.sessions.Sessions", *_WRITER)
    session_work: _Group[SessionWork] = _Group(
        "operations.session_work.SessionWork", *_WRITER, "_sessions"
    )
    _proposals: _Group[Proposals] = _Group(
        "operations.new_memories.proposals.Proposals", "view", "_writing"
    )
    _queue: _Group[ReviewQueue] = _Group(
        "upkeep.review_queue.ReviewQueue", *_WRITER, "_review", "_proposals", "_settlement"
    )
    memory_files: _Group[MemoryFiles] = _Group(
        "operations.memory_files.memory_files.MemoryFiles", *_WRITER
    )
    _review: _Group[Review] = _Group("upkeep.review.Review", "view", "_writing")
    dreams: _Group[Dreams] = _Group("upkeep.dreams.Dreams", *_WRITER, "_consolidation")
    _renaming: _Group[Renaming] = _Group("upkeep.renaming.Renaming", "view", "_writing")
    _health: _Group[Health] = _Group("upkeep.status.Health", "view")
    _maintenance: _Group[Maintenance] = _Group("upkeep.maintenance.Maintenance", "parts")
    _sharing: _Group[Sharing] = _Group("git.share.Sharing", "view", "_writing")
    _settlement: _Group[Settlement] = _Group("git.conflicts.Settlement", "view", "_writing")

    # These by import statements: what mypy knows of them depends on the order of its reading, and
    # a context seldom needs all that it may ask.

    @cached_property
    def _contexts(self) -> Contexts:
        from vaultmem.operations.context.contexts import Contexts

        return Contexts(self.view, self._reader, lambda: self._sessions, lambda: self._facts)

    @cached_property
    def _memories(self) -> Memories:
        from vaultmem.operations.memories import Memories

        with_others = (self._sessions, self._remembering, self._daily)
        return Memories(self.view, self._writing, self.cleaning, *with_others)

    @cached_property
    def _note_edits(self) -> NoteEdits:
        from vaultmem.operations.edits.note_edits import NoteEdits

        return NoteEdits(self.view, self._memories)

    @cached_property
    def _hand_edits(self) -> HandEdits:
        from vaultmem.operations.edits.hand_edits import HandEdits

        return HandEdits(self.view, self._writing, self.cleaning, self._memories)

    @cached_property
    def _consolidation(self) -> Consolidation:
        from vaultmem.upkeep.consolidation.consolidate import Consolidation

        return Consolidation(self.view, self._writing, self.cleaning, self._sessions, self._review)

    @cached_property
    def _transfer(self) -> Transfer:
        from vaultmem.transfer.operations import Transfer

        return Transfer(self.view, self._writing, self.cleaning)

    def _commits_in_vault(self, path: str) -> list[GitVersion]:
        from vaultmem.git import repo

        return repo.note_commits(self.root, path)

    def _changes_elsewhere(self, since: float, looked_from: float) -> DistantChanges:
        from vaultmem.git import elsewhere

        return elsewhere.distant_changes(self.root, since, looked_from)

    # --- what they offer -----------------------------------------------------------------

    recall = _Offered(lambda vault: vault._reader.recall)
    list = _Offered(lambda vault: vault._reader.list)
    recent = _Offered(lambda vault: vault._reader.recent)
    activity = _Offered(lambda vault: vault._happened.activity)
    tags = _Offered(lambda vault: vault._reader.tags)
    beginning = _Offered(lambda vault: vault._reader.beginning)

    remember = _Offered(lambda vault: vault._remembering.remember)
    get = _Offered(lambda vault: vault._memories.get)
    source = _Offered(lambda vault: vault._memories.source)
    update = _Offered(lambda vault: vault._memories.update)
    append = _Offered(lambda vault: vault._note_edits.append)
    replace = _Offered(lambda vault: vault._note_edits.replace)
    add_task = _Offered(lambda vault: vault._note_edits.add_task)
    check_task = _Offered(lambda vault: vault._note_edits.check_task)
    tasks = _Offered(lambda vault: vault._note_edits.tasks)
    rewrite = _Offered(lambda vault: vault._memories.rewrite)
    edit_text = _Offered(lambda vault: vault._hand_edits.edit_text)
    assign_project = _Offered(lambda vault: vault._hand_edits.assign_project)
    tag = _Offered(lambda vault: vault._memories.tag)
    forget = _Offered(lambda vault: vault._forgetting.forget)
    promote = _Offered(lambda vault: vault._forgetting.promote)
    remove = _Offered(lambda vault: vault._forgetting.remove)
    prune = _Offered(lambda vault: vault._forgetting.prune)
    history = _Offered(lambda vault: vault._versions.history)
    version_text = _Offered(lambda vault: vault._versions.version_text)
    past = _Offered(lambda vault: vault._versions.past)
    restore = _Offered(lambda vault: vault._versions.restore)
    undo = _Offered(lambda vault: vault._undoing.undo)

    start_session = _Offered(lambda vault: vault._sessions.start_session)
    log = _Offered(lambda vault: vault._sessions.log)
    end_session = _Offered(lambda vault: vault._sessions.end_session)
    timeline = _Offered(lambda vault: vault._sessions.timeline)
    observation = _Offered(lambda vault: vault._sessions.observation)
    clear_session = _Offered(lambda vault: vault._sessions.clear_session)
    session_summary = _Offered(lambda vault: vault._sessions.session_summary)
    context = _Offered(lambda vault: vault._contexts.context)
    reminder = _Offered(lambda vault: vault._contexts.reminder)
    open_meaning = _Offered(lambda vault: vault._contexts.open_meaning)

    assert_fact = _Offered(lambda vault: vault._facts.assert_fact)
    facts = _Offered(lambda vault: vault._facts.facts)
    ensure_entity = _Offered(lambda vault: vault._facts.ensure_entity)
    entity_names = _Offered(lambda vault: vault._graph.entity_names)
    neighbourhood = _Offered(lambda vault: vault._neighbours.neighbourhood)
    similar = _Offered(lambda vault: vault._neighbours.similar)
    uses = _Offered(lambda vault: vault._neighbours.uses)
    search_graph = _Offered(lambda vault: vault._graph.search_graph)
    project = _Offered(lambda vault: vault._projects.project)
    projects = _Offered(lambda vault: vault._projects.projects)
    project_folder = _Offered(lambda vault: vault._projects.folder_of)
    make_project = _Offered(lambda vault: vault._projects.make_project)

    consolidate = _Offered(lambda vault: vault._consolidation.consolidate)
    prose_wanted = _Offered(lambda vault: vault._consolidation.prose_wanted)
    upkeep = _Offered(lambda vault: vault._review.upkeep)
    review_note = _Offered(lambda vault: vault._review.review_note)
    to_review = _Offered(lambda vault: vault._review.to_review)
    review_queue = _Offered(lambda vault: vault._queue.review_queue)
    supersede = _Offered(lambda vault: vault._queue.supersede)
    proposed = _Offered(lambda vault: vault._proposals.proposed)
    accept = _Offered(lambda vault: vault._proposals.accept)
    reject = _Offered(lambda vault: vault._proposals.reject)
    reconsider = _Offered(lambda vault: vault._proposals.reconsider)
    reopen = _Offered(lambda vault: vault._review.reopen)
    review_items = _Offered(lambda vault: vault._review.review_items)
    approve = _Offered(lambda vault: vault._review.approve)
    dismiss = _Offered(lambda vault: vault._review.dismiss)
    rename = _Offered(lambda vault: vault._renaming.rename)
    undo_rename = _Offered(lambda vault: vault._renaming.undo_rename)
    status = _Offered(lambda vault: vault._health.status)
    behind = _Offered(lambda vault: vault._health.behind)
    pdfs_without_reader = _Offered(lambda vault: vault._health.pdfs_without_reader)

    index_now = _Offered(lambda vault: vault._maintenance.index_now)
    embed_all = _Offered(lambda vault: vault._maintenance.embed_all)
    examine = _Offered(lambda vault: vault._maintenance.examine)
    fix = _Offered(lambda vault: vault._maintenance.fix)
    verify = _Offered(lambda vault: vault._maintenance.verify)
    repair = _Offered(lambda vault: vault._maintenance.repair)
    load_model = _Offered(lambda vault: vault._maintenance.load_model)
    models = _Offered(lambda vault: vault._maintenance.models)
    pull_model = _Offered(lambda vault: vault._maintenance.pull_model)
    use_model = _Offered(lambda vault: vault._maintenance.use_model)
    import_model = _Offered(lambda vault: vault._maintenance.import_model)

    sync = _Offered(lambda vault: vault._sharing.sync)
    conflicts = _Offered(lambda vault: vault._settlement.conflicts)
    resolve = _Offered(lambda vault: vault._settlement.resolve)
    import_ = _Offered(lambda vault: vault._transfer.import_)
    export = _Offered(lambda vault: vault._transfer.export)
    export_lines = _Offered(lambda vault: vault._transfer.export_lines)

    # --- following the files -------------------------------------------------------------

    def follower(
        self, on_change: Callable[[ReconcileReport], None], *, watch: bool = True
    ) -> Follower:
        """Whoever follows the files serves the session of its caller, and clears up after others."""
        from vaultmem.indexing.follower import Follower

        parts, writable = self.parts, not self.settings["read_only"]
        self.serve_session()
        rounds = self.settings["upkeep.review"] or self.settings["upkeep.dreams"]
        upkeep = self._rounds_of_vault if rounds and writable else None
        return Follower(
            parts.reconciler,
            parts.embedder,
            on_change,
            watch=watch,
            sweep=parts.session_folders.sweep,
            upkeep=upkeep,
            renew=parts.session_folders.renew,
            retry=parts.retry,
        )

    def serve_session(self) -> None:
        """Hold the session of this caller, so that nobody takes it for over."""
        if self.caller.session and not self.settings["read_only"]:
            self.parts.session_folders.serve(safe_name(self.caller.session))

    def leave_session(self) -> None:
        if self.caller.session and not self.settings["read_only"]:
            self.parts.session_folders.leave(safe_name(self.caller.session))

    def is_session_shared(self, own: int = 0) -> bool:
        """Whether others serve this caller's session too, beside so many of this server."""
        session = safe_name(self.caller.session)
        return self.parts.session_folders.is_shared(session, own)

    def is_session_kept(self) -> bool:
        return self.parts.session_folders.is_kept(safe_name(self.caller.session))

    def keep_session(self, *, keep: bool = True) -> None:
        """Whether what was stored for this caller's session alone outlasts it."""
        folders = self.parts.session_folders
        (folders.keep if keep else folders.stop_keeping)(safe_name(self.caller.session))

    def _rounds_of_vault(self, stopping: threading.Event) -> None:
        from vaultmem.upkeep import review

        mine = self.for_caller(Caller(client="vaultmem"))
        dreamers = mine.dreamers(self.settings["upkeep.dreams"])
        if self.settings["upkeep.review"]:
            review.review_rounds(mine.upkeep, lambda: self.revision, stopping)
        stopping.wait()
        dreamers.stop()

    def dreamers(self, jobs: Sequence[str]) -> Dreamers:
        """Look after the memories of every project that is there now, until told to stop."""
        from vaultmem.upkeep.dreams import Dreamers

        if "decay" not in jobs:
            self.parts.fading.forget()  # what is switched off is taken back
        names = [project.name for project in self.projects().projects] if jobs else []
        caller = replace(self.caller, client="dreamer", session="")
        dreams = {name: self.for_caller(replace(caller, project=name)).dreams for name in names}
        started = Dreamers(dreams, jobs, lambda: self.revision)
        started.start()
        return started


def plan_vault(folder: str, *, git: bool, examples: bool, pieces: Sequence[str] = ()) -> VaultPlan:
    from vaultmem.upkeep import template

    return template.plan_vault_files(
        Path(folder).expanduser().absolute(), git=git, examples=examples, pieces=pieces
    )


def make_vault(plan: VaultPlan, *, git: bool) -> str:
    """Carry out a plan; returns what git had to say, if it was asked."""
    from vaultmem.upkeep import template

    template.make_planned_vault(plan)
    return template.start_vault_git(plan.root, plan.add) if git else ""
