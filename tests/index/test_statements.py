"""No statement goes through all notes, passages or links while somebody waits.

Every operation is done on a vault with everything in it, for callers and filters of every kind.
What the catalog was asked is written down, and SQLite says how it would find it. It has no
statistics of the tables, so what it says of few notes holds for many.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vaultmem.errors import VaultmemError
from vaultmem.index import LOOKUP_ORDERS
from vaultmem.index.embedded.catalog import Catalog
from vaultmem.operations.caller import Caller
from vaultmem.surfaces.dialects.keyed_entries import KeyedEntries
from vaultmem.vault import Vault, _Offered

# Tables that have a row for each kind of notes, for each thing left out, or for each setting.
SMALL = {"shelf", "folder", "meta", "pending", "sqlite_sequence", "skipped", "problem", "CONSTANT"}
# Statements that go through more, and why they may.
NAMED = {
    r"FROM \(SELECT .* FROM note ORDER BY .* LIMIT \d+\) note": "in order, to the end of a page",
    r"SELECT note FROM note WHERE .* ORDER BY (changed|created|coalesce|title_key)": "in order, "
    "where a page is not found so; it stops at the end of the page",
    r"SELECT (note\.)?note FROM note WHERE 1( |$)": "all of it was asked for",
    r"ORDER BY lower\(block\) DESC LIMIT": "the latest observations; it stops when it has them",
    r"SELECT path, version, id, .* FROM note$": "comparing all files with the index",
    r"SELECT note\.note, version FROM note JOIN shelf": "exact words follow, once for a revision",
    r"substr\(lower\(title\), 1, 2\)": "a name that nothing has, among few notes",
    r"SELECT min\(target\), .* FROM link|FROM link WHERE note NOT IN": "the graph at once",
    r"SELECT relation, count\(\*\) FROM \(SELECT DISTINCT": "the graph at once",
    r"SELECT count\(\*\) FROM \(SELECT note, folded FROM link": "the graph at once",
    r"FROM fact JOIN note .* ORDER BY fact.rowid": "all facts were asked for",
    r"SELECT DISTINCT note FROM link WHERE relation =": "consolidation goes through everything",
    r"t JOIN note n USING \(note\)": "comparing the index with one made anew",
    r"EXISTS \(SELECT 1 FROM replacement\)": "stops at the first",
    r"SELECT count\(\*\) FROM common_tag|FROM common_tag ORDER BY notes DESC": "tags, not notes",
    r"SELECT count\(\*\)(, min\(passage\))? FROM passage": "passages without a vector, counted once",
}
NOTES = {
    "Entities/Redis.md": "---\ntype: entity\nkind: tool\naliases: [Cache, keyvalue]\n---\n"
    "- depends_on [[Linux]]\n\n## Facts\n\n- runs_on:: [[Linux]] (2026-01-01 → ) ^f-ab12\n"
    "- version:: 7 (2026-01-01 → ) ^f-ab13\n",
    "Entities/Linux.md": "---\ntype: entity\n---\nAn [elder](../Projects/Atlas/Plan.md).\n",
    "Projects/Atlas/Plan.md": "---\nproject: Atlas\ntags: [Plan/Big, todo]\n---\n"
    "The plan of [[Redis|the cache]], by [[Entities/Linux]].\n\n- [ ] Open it\n",
    "Projects/Atlas/Rota.md": "Weekends are shared by three.",
    "Projects/Atlas/Rota from June.md": "Weekends are shared by four. Replaces [[Rota]].",
    "Memories/Twin.md": "---\nid: 01ARZ3NDEKTSV4RRFFQ69G5FAV\n---\nQuince.",
    "Memories/Twin again.md": "---\nid: 01ARZ3NDEKTSV4RRFFQ69G5FAV\n---\nQuince again.",
    "Memories/Gone.md": "---\nforgotten: true\ntags: [plan]\n---\nOld.",
    "Memories/Drawn.md": "---\nderived_from: ['[[Plan]]']\n---\nFrom the plan.",
    "Broken.md": "---\ntags: [a\n---\nBroken.",
}
# A project that ended long ago: the newest notes are others.
NOTES |= {f"Old/{n}.md": f"---\nproject: Old\ncreated: 2001-01-0{n}\n---\n" for n in range(1, 9)}
ID = "01BX5ZZKBKACTAV9WEVGEMMVRZ"
CALLERS = (
    Caller(),
    Caller(session="s1"),
    Caller(user="Anna", project="Atlas", session="s1"),
)
FILTERS = (
    {},
    {"type": ("semantic", "entity")},
    {"scope": "project"},
    {"project": "Atlas"},
    {"project": "Old"},
    {"tag": "plan"},
    {"tag": "plan", "project": "Atlas"},
    {"room": "r"},
    {"folder": "Projects"},
    {"folder": "Projects", "tag": "todo"},
    {"include_forgotten": True},
)
QUESTIONS = (
    *({**each, "tags": [each["tag"]]} if "tag" in each else each for each in FILTERS),
    {"after": "2020-01-01"},
    {"before": "2030-01-01", "min_importance": 0.1},
)
UNTOUCHED = {
    *("models", "load_model", "use_model", "pull_model", "import_model", "embed_all"),
    "open_meaning",
    *(
        "sync",
        "conflicts",
        "resolve",
        "import_",
        "export",
        "export_lines",
    ),  # of files, by the road in
    *("approve", "dismiss", "reopen", "repair"),  # need what is not there
    *("accept", "reject", "reconsider"),  # of proposals, which are no memories
}


def _listing(vault: Vault) -> None:
    for filters, order in itertools.product(FILTERS, LOOKUP_ORDERS):
        for page in ({}, {"limit": 1}, {"limit": 1, "offset": 2}):
            vault.list(**filters, order=order, **page)  # type: ignore[arg-type]


def _asking(vault: Vault) -> None:
    for question, strategy in itertools.product(QUESTIONS, ("keyword", "graph", "hybrid")):
        given = {name: value for name, value in question.items() if name != "tag"}
        vault.recall("what about the plan of Redis", strategy=strategy, **given)  # type: ignore[arg-type]
    vault.recall("the plan of 5 May 2026", profile="seed")
    vault.recall("plan", tags=["plam"])


def _looking_up(vault: Vault) -> None:
    for name in (ID, "01arz3ndektsv4rrffq69g5fav", "Plan", "Rotta", "cache", "Projects/Atlas/Plan"):
        vault.get([name])


OPERATIONS: dict[str, Callable[[Vault], object]] = {
    "index_now": lambda v: v.index_now(),
    "remember": lambda v: [
        v.remember("Refresh tokens rotate.", tags=["auth"], related_entities=["Redis"]),
        v.remember("For now alone.", scope="session", session_id="s1"),
        v.remember("Keyed.", key="k1", project="Atlas", room="r"),
        v.remember("Keyed anew.", key="k1", project="Atlas", room="r"),
    ],
    "recall": _asking,
    "list": _listing,
    "get": _looking_up,
    "recent": lambda v: v.recent(),
    "tags": lambda v: [v.tags(), v.tags(limit=2)],
    "beginning": lambda v: [
        v.beginning(what, "re") for what in ("titles", "tags", "projects", "entities")
    ],
    "source": lambda v: v.source("Plan"),
    "append": lambda v: v.append("Plan", "More."),
    "replace": lambda v: v.replace("Plan", "More.", "Less."),
    "add_task": lambda v: v.add_task("Plan", "Close it"),
    "check_task": lambda v: v.check_task("Plan", "Close it"),
    "tasks": lambda v: v.tasks("Plan"),
    "update": lambda v: v.update("Plan", importance=0.9, add_tags=["late"]),
    "tag": lambda v: v.tag("Plan", add=["later"]),
    "rewrite": lambda v: v.rewrite(
        "Linux", "---\ntype: entity\n---\nIt.", v.source("Linux").version
    ),
    "activity": lambda v: v.activity(),
    "history": lambda v: v.history("Plan"),
    "version_text": lambda v: v.version_text("Plan", v.history("Plan").versions[0].version),
    "past": lambda v: v.past("Plan", v.history("Plan").versions[0].version),
    "edit_text": lambda v: v.edit_text("Plan", "As typed.", v.source("Plan").version),
    "assign_project": lambda v: v.assign_project("Plan", "Atlas"),
    "undo": lambda v: v.undo("Plan"),
    "similar": lambda v: v.similar("Plan"),
    "uses": lambda v: v.uses("Plan"),
    "neighbourhood": lambda v: [v.neighbourhood("Redis"), v.neighbourhood("Atlas", depth=3)],
    "start_session": lambda v: v.start_session(session_id="s2"),
    "log": lambda v: v.log("Chose Redis.", session_id="s2", type="decision", tags=["plan"]),
    "timeline": lambda v: [
        v.timeline(),
        v.timeline(session_id="s2"),
        v.timeline(observation_id=v.timeline().observations[-1].id),
    ],
    "observation": lambda v: v.observation(v.timeline().observations[-1].id),
    "session_summary": lambda v: v.session_summary("s2"),
    "context": lambda v: [
        v.context(),
        v.context(project="Atlas"),
        v.context("change the plan of Redis", files=["a.py"], related=3),
        v.context("plan", sections=("preferences", "project_context", "session_history")),
        v.context(sections=("relevant_procedures", "project_context")),
    ],
    "reminder": lambda v: [v.reminder("what of Redis?", "s2"), v.reminder("", "s2")],
    "end_session": lambda v: v.end_session(session_id="s2", summary="Done."),
    "assert_fact": lambda v: v.assert_fact("Redis", "owned_by", "[[Linux]]"),
    "facts": lambda v: [v.facts(), v.facts("Redis"), v.facts("Rediss")],
    "ensure_entity": lambda v: v.ensure_entity("Atlas", "project"),
    "entity_names": lambda v: v.entity_names("re"),
    "search_graph": lambda v: [
        v.search_graph(),
        v.search_graph("Redis", depth=2),
        v.search_graph("Redus"),
    ],
    "project": lambda v: v.project("Atlas"),
    "projects": lambda v: v.projects(),
    "project_folder": lambda v: v.project_folder(v.project("Atlas")),
    "make_project": lambda v: v.make_project("New", "Of us."),
    "status": lambda v: v.status(),
    "behind": lambda v: v.behind(),
    "pdfs_without_reader": lambda v: v.pdfs_without_reader(),
    "prose_wanted": lambda v: v.prose_wanted(),
    "consolidate": lambda v: [v.consolidate(dry_run=True), v.consolidate()],
    "upkeep": lambda v: v.upkeep(),
    "review_note": lambda v: v.review_note(),
    "to_review": lambda v: v.to_review(),
    "review_items": lambda v: v.review_items(),
    "review_queue": lambda v: v.review_queue(),
    "proposed": lambda v: v.proposed(),
    "supersede": lambda v: v.supersede("Rota", "Plan"),
    "rename": lambda v: v.rename("Linux", "Penguin"),
    "undo_rename": lambda v: v.undo_rename(),
    "promote": lambda v: v.promote(v.list(scope="session").memories[0].id, "project", project="P"),
    "clear_session": lambda v: v.clear_session(),
    "forget": lambda v: v.forget("Rota"),
    "restore": lambda v: v.restore("Projects/Atlas/Rota.md"),
    "prune": lambda v: v.prune("vault", project="Atlas", older_than="2020-01-01"),
    "remove": lambda v: v.remove("Projects/Atlas/Rota from June.md"),
    "examine": lambda v: v.examine(),
    "fix": lambda v: v.fix(v.examine()),
    "verify": lambda v: v.verify(),
}


@pytest.fixture(scope="module")
def statements(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, set[str]]]:
    """The catalog, and all that it was asked."""
    root = tmp_path_factory.mktemp("statements") / "vault"
    (root / ".vaultmem").mkdir(parents=True)
    for path, text in NOTES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    asked: set[str] = set()
    connect = Catalog._connect

    def listening(catalog: Catalog) -> sqlite3.Connection:
        db = connect(catalog)
        db.set_trace_callback(asked.add)
        return db

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Catalog, "_connect", listening)
        with Vault.open(root, {"typing.quiet_seconds": 0.0}) as vault:
            vault.index_now()
            vault.embed_all()
            for caller in CALLERS:
                _do_everything(vault.for_caller(caller))
        (root / "Memories/Twin.md").unlink()
        (root / "Projects/Atlas").rename(root / "Projects/Moved")
        with Vault.open(root, {"model": "off"}) as vault:
            vault.index_now()
            vault.parts.index.inventory.some_paths()
            yield root / ".vaultmem" / "index" / "catalog.db", asked


def _do_everything(vault: Vault) -> None:
    for operation in OPERATIONS.values():
        with contextlib.suppress(VaultmemError, IndexError):  # not every caller may do everything
            operation(vault)
    entries = KeyedEntries(vault)
    with contextlib.suppress(VaultmemError):
        entries.entry_tags()
        entries.entries_containing("plan", tag="plan")


def test_every_operation_is_done() -> None:
    offered = {name for name, each in vars(Vault).items() if isinstance(each, _Offered)}
    assert offered == set(OPERATIONS) | UNTOUCHED


def test_no_statement_goes_through_everything(statements: tuple[Path, set[str]]) -> None:
    file, asked = statements
    assert len(asked) > 500
    wrong, used = {}, set()
    with contextlib.closing(sqlite3.connect(file)) as db:
        db.create_function("from_hex", 1, bytes.fromhex, deterministic=True)
        db.execute("ATTACH ? AS v", (str(file.with_name("vectors.db")),))
        for sql in asked:
            text = re.sub(r"\s+", " ", sql).strip()
            if not re.match(r"(SELECT|INSERT|UPDATE|DELETE|WITH)\b", text):
                continue
            plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {sql}")]
            if not (through := [step for step in plan if _goes_through_everything(step)]):
                continue
            if names := [name for name in NAMED if re.search(name, text)]:
                used.update(names)
            else:
                wrong[text[:600]] = through
    assert not wrong, "\n".join(f"{w[0]}: {t}" for t, w in sorted(wrong.items()))
    assert used == set(NAMED), "named, and no longer there"


def _goes_through_everything(step: str) -> bool:
    if "AUTOMATIC" in step:
        return True  # an index of all of it, for this statement alone
    return (
        step.startswith("SCAN ")
        and not step.startswith("SCAN (subquery")  # what it goes through has a step of its own
        and "VIRTUAL TABLE" not in step
        and step.split()[1] not in SMALL
    )


def test_no_function_of_ours_is_called_for_rows(statements: tuple[Path, set[str]]) -> None:
    """But for lists of hashes, which have no other way into a statement."""
    catalog = Catalog(statements[0])
    with contextlib.closing(catalog.db) as db:
        assert _functions_of_ours(db) == {"from_hex"}


def _functions_of_ours(db: sqlite3.Connection) -> set[str]:
    with contextlib.closing(sqlite3.connect(":memory:")) as plain:
        names = "SELECT name FROM pragma_function_list"
        return {row[0] for row in db.execute(names)} - {row[0] for row in plain.execute(names)}
