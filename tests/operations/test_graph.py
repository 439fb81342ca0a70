"""The knowledge graph: walking it, and facts that hold for a time."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vaultmem import Vault
from vaultmem.errors import InvalidInput, NoteMalformed, NotFound, ReadOnly, VaultmemError
from vaultmem.notes.fact_lines import plan_fact
from vaultmem.notes.markdown import Fact
from vaultmem.notes.note import parse
from vaultmem.operations.caller import Caller
from vaultmem.operations.graphs.graph import Entity, FactView, GraphAnswer
from vaultmem.surfaces import render

NOW = dt.datetime(2026, 6, 1, 12, tzinfo=dt.UTC)
LINE = re.compile(r"- \S+:: .+ \([^\n]* →[^\n]*\) \^f-[0-9a-hjkmnp-tv-z]{4,}\n")


@pytest.fixture
def vault(root: Path) -> Iterator[Vault]:
    (root / ".vaultmem").mkdir()
    with Vault.open(root, {"typing.quiet_seconds": 0.0}) as opened:
        yield opened


def put(vault: Vault, path: str, text: str) -> Path:
    file = vault.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    vault.index_now()
    return file


def entity(vault: Vault, name: str, facts: str = "", *, kind: str = "component") -> Path:
    body = f"## Facts\n\n{facts}" if facts else ""
    return put(vault, f"Entities/{name}.md", f"---\ntype: entity\nkind: {kind}\n---\n{body}")


def memory(vault: Vault, title: str, text: str = "", *, number: int = 1, more: str = "") -> Path:
    head = f"---\nid: 01KE6Q8Z4R9M2N4P6R7S8T9V{number:02d}\ntype: semantic\n{more}---\n"
    return put(vault, f"Memories/{title}.md", f"{head}{text}\n")


def names(answer: GraphAnswer) -> list[str]:
    return [found.name for found in answer.entities]


def related(found: Entity) -> set[tuple[str, str, str]]:
    return {(r.type, r.target, r.direction) for r in found.relationships}


def said(fact: FactView) -> tuple[str, str, str]:
    return fact.subject, fact.predicate, fact.object


# --- walking ----------------------------------------------------------------------------------


def test_every_way_to_write_an_edge_is_one(vault: Vault) -> None:
    entity(vault, "Keychain", kind="library")
    text = "- depends_on:: [[Keychain]] (2026-01-28 → ; 0.9) ^f-7k2m\n- license:: MIT ^f-0001\n"
    entity(vault, "AuthService", text + "\n## Relations\n\n- built_by [[Me]]\n\nSee [[Gateway]].\n")
    memory(vault, "Tokens", more='used_by:\n  - "[[AuthService]]"\n')
    answer = vault.search_graph("authservice")
    assert names(answer)[0] == "AuthService"
    assert set(names(answer)) == {"AuthService", "Keychain", "Me", "Gateway"}
    assert related(answer.entities[0]) == {
        ("depends_on", "Keychain", "outgoing"),
        ("license", "MIT", "outgoing"),
        ("built_by", "Me", "outgoing"),
        ("links_to", "Gateway", "outgoing"),
        ("used_by", "Tokens", "incoming"),
    }
    kinds = {found.name: (found.type, found.path) for found in answer.entities}
    assert kinds["Keychain"] == ("library", "Entities/Keychain.md")
    assert kinds["Me"] == ("entity", None)
    assert [found.title for found in answer.memories] == ["Tokens"]
    assert answer.entities[0].memory_count == 1
    assert answer.graph_stats.relationships_found == 4
    assert answer.graph_stats.entities_traversed == 4


def test_the_answer_has_the_fields_of_the_contract(vault: Vault) -> None:
    entity(vault, "AuthService", "- depends_on:: [[TokenValidator]]\n")
    plain = render.plain_json(vault.search_graph("AuthService"))
    assert plain["entities"][0] == {
        "name": "AuthService",
        "type": "component",
        "relationships": [
            {"type": "depends_on", "target": "TokenValidator", "direction": "outgoing"}
        ],
        "memory_count": 0,
        "path": "Entities/AuthService.md",
    }
    assert plain["memories"] == []
    assert plain["graph_stats"] == {
        "entities_traversed": 2,
        "relationships_found": 1,
        "depth_reached": 1,
    }


def test_a_closed_fact_is_no_edge(vault: Vault) -> None:
    facts = "- uses:: [[A]] (2025-01-01 → 2025-02-01)\n- uses:: [[B]] (2025-02-01 → 2999-01-01)\n"
    entity(vault, "X", facts)
    assert related(vault.search_graph("X").entities[0]) == {("uses", "B", "outgoing")}


def chain(vault: Vault) -> None:
    for name, target in (("A", "B"), ("B", "C"), ("C", "D"), ("D", "E")):
        entity(vault, name, f"- leads_to:: [[{target}]]\n")


@pytest.mark.parametrize(
    ("start", "direction", "depth", "found"),
    [
        ("A", "outgoing", 1, "AB"),
        ("A", "outgoing", 2, "ABC"),
        ("A", "outgoing", 3, "ABCD"),
        ("A", "incoming", 3, "A"),
        ("D", "incoming", 2, "BCD"),
        ("C", "both", 1, "BCD"),
        ("C", "both", 2, "ABCDE"),
        ("E", "incoming", 1, "DE"),
    ],
)
def test_a_walk_goes_so_far_and_no_further(
    vault: Vault, start: str, direction: str, depth: int, found: str
) -> None:
    chain(vault)
    answer = vault.search_graph(start, direction=direction, depth=depth)
    assert "".join(sorted(names(answer))) == found
    assert names(answer)[0] == start


def test_plain_notes_are_walked_both_ways(vault: Vault) -> None:
    for name, text in (("Alpha", "[[Beta]]"), ("Beta", "[[Gamma]]"), ("Gamma", "the end")):
        put(vault, f"{name}.md", text)
    answer = vault.search_graph("gamma", direction="incoming", depth=2)
    assert names(answer) == ["Gamma", "Beta", "Alpha"]
    assert related(answer.entities[0]) == {("links_to", "Beta", "incoming")}
    assert answer.entities[0].type == "note"


def test_two_entities_meet_in_a_memory(vault: Vault) -> None:
    memory(vault, "Both", more='about:\n  - "[[AuthService]]"\n  - "[[Keychain]]"\n')
    assert names(vault.search_graph("AuthService")) == ["AuthService"]
    answer = vault.search_graph("AuthService", depth=2)
    assert names(answer) == ["AuthService", "Keychain"]
    assert [found.memory_count for found in answer.entities] == [1, 1]
    assert answer.graph_stats.depth_reached == 2
    shown = vault.search_graph("AuthService", relationship_type="about")
    assert related(shown.entities[0]) == {("about", "Both", "incoming")}


def test_a_journal_joins_nothing(vault: Vault) -> None:
    put(vault, "Sessions/2026/Day.md", "---\ntype: session\n---\n[[A]] and [[B]]")
    assert names(vault.search_graph("A", depth=3)) == ["A"]
    assert [found.title for found in vault.search_graph("A").memories] == ["Day"]


def test_relations_can_be_chosen(vault: Vault) -> None:
    entity(vault, "X", "- depends_on:: [[A]]\n- Depends-On:: [[B]]\n- uses:: [[C]]\n")
    answer = vault.search_graph("X", relationship_type="depends on", depth=3)
    assert set(names(answer)) == {"X", "A", "B"}
    assert {kind for kind, _, _ in related(answer.entities[0])} == {"depends_on", "Depends-On"}


@pytest.mark.parametrize(
    "asked", ["auth service", "AUTH SERVICE", "[[AuthService]]", "AuthService"]
)
def test_an_entity_is_found_by_all_its_names(vault: Vault, asked: str) -> None:
    put(
        vault,
        "Entities/AuthService.md",
        "---\nid: 01KE6Q8Z4R9M2N4P6R7S8T9VWX\ntype: entity\naliases: [Auth Service]\n---\n",
    )
    put(vault, "Notes/Linked.md", "[[auth service]] and [x](../Entities/AuthService.md)")
    for name in (asked, "Entities/AuthService.md", "01KE6Q8Z4R9M2N4P6R7S8T9VWX"):
        found = vault.search_graph(name).entities[0]
        assert found.name == "AuthService"
        assert related(found) == {("links_to", "Linked", "incoming")}


def test_names_fold_over_accents_and_case(vault: Vault) -> None:
    put(vault, "Entities/Zo\u00eb.md", "---\ntype: entity\n---\n- likes [[STRASSE]]\n")
    put(vault, "n.md", "[[ZOE\u0308]] [[Straße]]")
    found = vault.search_graph("zoe\u0308").entities[0]
    assert related(found) == {("likes", "STRASSE", "outgoing"), ("links_to", "n", "incoming")}


def test_a_path_or_the_nearer_note_decides_between_two(vault: Vault) -> None:
    put(vault, "P/Same.md", "one")
    put(vault, "Q/Same.md", "two")
    put(vault, "P/Beside.md", "[[Same]]")
    put(vault, "Q/Path.md", "[[P/Same]]")
    put(vault, "R/Unclear.md", "[[Same]]")
    with pytest.raises(InvalidInput, match=r"P/Same\.md, Q/Same\.md"):
        vault.search_graph("same")
    found = vault.search_graph("P/Same").entities[0]
    assert related(found) == {("links_to", "Beside", "incoming"), ("links_to", "Path", "incoming")}
    unclear = vault.search_graph("Unclear")
    assert [found.path for found in unclear.entities] == ["R/Unclear.md", None]


def test_pictures_are_no_entities_and_versions_may_be(vault: Vault) -> None:
    put(vault, "n.md", "![[photo.PNG]] [[Node.js]] [[plan.canvas]]")
    assert set(names(vault.search_graph("n"))) == {"n", "Node.js"}


def test_an_unknown_name_is_answered_with_near_ones(vault: Vault) -> None:
    entity(vault, "AuthService", "- uses:: [[Keychain]]\n")
    with pytest.raises(NotFound, match=r"'AuthServise'.*AuthService"):
        vault.search_graph("AuthServise")
    with pytest.raises(NotFound, match="Keychain"):
        vault.search_graph("the keychain")
    with pytest.raises(NotFound, match="without an entity"):
        vault.search_graph("qqqqqq")


def test_the_limit_keeps_the_most_connected(vault: Vault) -> None:
    entity(vault, "Hub", "".join(f"- has:: [[N{i}]]\n" for i in range(9)))
    entity(vault, "N5", "- has:: [[N7]]\n- has:: [[N8]]\n")
    answer = vault.search_graph("Hub", depth=2, limit=4)
    assert names(answer) == ["Hub", "N5", "N7", "N8"]
    assert answer.graph_stats.entities_traversed == 10


def test_many_relationships_are_counted_and_some_are_shown(vault: Vault) -> None:
    entity(vault, "Hub", "".join(f"- has:: [[N{i}]]\n" for i in range(400)))
    answer = vault.search_graph("Hub", depth=2)
    assert len(answer.entities[0].relationships) == 50
    assert answer.entities[0].relationship_count == 400
    assert answer.graph_stats.truncated


@pytest.mark.parametrize(
    "wrong",
    [
        {"depth": 0},
        {"depth": 4},
        {"limit": 0},
        {"limit": 101},
        {"direction": "out"},
        {"depth": True},
    ],
)
def test_wrong_arguments_are_explained(vault: Vault, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="must be"):
        vault.search_graph("X", **wrong)


def test_what_was_forgotten_is_no_memory_and_its_edges_are_stale(vault: Vault) -> None:
    entity(vault, "AuthService")
    more = 'uses:\n  - "[[AuthService]]"\nabout: "[[Other]]"\n'
    memory(vault, "Kept", number=1, more=more)
    memory(vault, "Gone", number=2, more=more + "forgotten: true\n")
    answer = vault.search_graph("AuthService")
    assert [found.title for found in answer.memories] == ["Kept"]
    assert answer.entities[0].memory_count == 1
    stale = {r.target: r.stale for r in answer.entities[0].relationships}
    assert stale == {"Kept": None, "Gone": True}
    assert not vault.search_graph("AuthService", include_memories=False).memories


def test_the_overview_shows_entities_and_counts(vault: Vault) -> None:
    entity(vault, "AuthService", "- depends_on:: [[Keychain]]\n- license:: MIT\n")
    for i in range(3):
        memory(vault, f"M{i}", "[[2026]]", number=i, more='about: "[[AuthService]]"\n')
    put(vault, "Sessions/2026/Day.md", "---\ntype: session\n---\n[[X]]")
    memory(vault, "Late", number=9, more='derived_from: "[[Day]]"\n')
    answer = vault.search_graph()
    assert names(answer) == ["AuthService", "Keychain"]
    stats = answer.graph_stats
    assert stats.relationship_types is not None
    assert {kind.type: kind.count for kind in stats.relationship_types} == {
        "about": 3,
        "links_to": 4,
        "depends_on": 1,
        "derived_from": 1,
    }
    assert (stats.total_entities, stats.total_relationships) == (2, 9)
    assert answer.entities[0].memory_count == 3
    assert len(answer.memories) == 3
    assert names(vault.search_graph(relationship_type="uses")) == []


def test_a_vault_without_entities_shows_its_linked_notes(vault: Vault) -> None:
    assert vault.search_graph().entities == ()
    put(vault, "Alpha.md", "[[Beta]]")
    put(vault, "Beta.md", "x")
    assert names(vault.search_graph("")) == ["Beta"]


def test_names_complete(vault: Vault) -> None:
    entity(vault, "AuthService", "- uses:: [[Audit log]]\n- note:: [[x]] and more\n")
    memory(vault, "Aunt", "[[Autumn]]", more='about: "[[AUTHOR]]"\n')
    assert vault.entity_names("au") == ("Audit log", "AUTHOR", "AuthService")
    assert vault.entity_names("AUT", limit=1) == ("AUTHOR",)
    assert vault.entity_names("z") == ()


# --- namespaces -------------------------------------------------------------------------------


def test_what_others_have_does_not_exist(vault: Vault) -> None:
    entity(vault, "Shared", "- uses:: [[Open]]\n")
    for number, (owner, name) in enumerate((("project", "Atlas"), ("user", "Other"))):
        put(
            vault,
            f"Secret {name}.md",
            f"---\n{owner}: {name}\ntype: entity\n---\n"
            f"[[Shared]] [[Hidden {name}]]\n\n## Facts\n\n- is:: [[Shared]]\n",
        )
        more = f'{owner}: {name}\nabout: "[[Shared]]"\n'
        memory(vault, f"Memory {name}", number=number, more=more)
    volatile = 'scope: session\nsession: s1\nabout: "[[Shared]]"\n'
    memory(vault, "Memory s1", number=7, more=volatile)
    mine = vault.for_caller(Caller(user="Me", project="Mine", session="s2"))
    answer = mine.search_graph("Shared", depth=3)
    assert set(names(answer)) == {"Shared", "Open"}
    assert answer.memories == ()
    assert answer.entities[0].memory_count == 0
    assert names(mine.search_graph()) == ["Open", "Shared"]
    assert mine.search_graph().graph_stats.total_relationships == 1
    assert [said(fact) for fact in mine.facts().facts] == [("Shared", "uses", "Open")]
    assert set(mine.entity_names()) == {"Shared", "Open"}
    for name in ("Secret Atlas", "Hidden Atlas", "Hidden Other"):
        with pytest.raises(NotFound) as caught:
            mine.search_graph(name)
        assert "Secret" not in str(caught.value).replace(repr(name), "")
    atlas = vault.for_caller(Caller(project="atlas", user="other"))
    assert len(atlas.search_graph("Shared").memories) == 3


def test_each_project_has_its_own_facts(vault: Vault) -> None:
    one, two = (vault.for_caller(Caller(project=name)) for name in ("One", "Two"))
    assert one.assert_fact("AuthService", "version", "1").closed == ()
    assert two.assert_fact("AuthService", "version", "2").closed == ()
    assert two.assert_fact("authservice", "version", "3").closed[0].object == "2"
    assert [fact.object for fact in one.facts("AuthService").facts] == ["1"]
    assert [fact.object for fact in two.facts("AuthService").facts] == ["3"]
    assert len(list((vault.root / "Entities").iterdir())) == 2


# --- facts ------------------------------------------------------------------------------------


def test_a_fact_makes_its_subjects_note(vault: Vault) -> None:
    done = vault.for_caller(Caller(client="claude-code", user="Me")).assert_fact(
        "auth-service",
        "deployed_version",
        "2.4.1",
        confidence=0.95,
        provenance="deploy-log-2026-05-10",
        valid_from="2026-05-10T16:32:00+02:00",
    )
    text = (vault.root / "Entities/auth-service.md").read_text()
    assert "type: entity\nuser: Me\nsource: claude-code\n" in text
    assert text.endswith(
        "## Facts\n\n- deployed_version:: 2.4.1 "
        f"(2026-05-10T14:32:00 → ; 0.95; deploy-log-2026-05-10) ^{done.fact.block}\n"
    )
    assert render.plain_json(done) == {
        "status": "asserted",
        "fact": {
            "subject": "auth-service",
            "predicate": "deployed_version",
            "object": "2.4.1",
            "valid_from": "2026-05-10T14:32:00Z",
            "valid_to": None,
            "confidence": 0.95,
            "provenance": "deploy-log-2026-05-10",
            "path": "Entities/auth-service.md",
            "block": done.fact.block,
        },
        "closed": [],
    }
    assert vault.facts("Auth-Service").facts == (done.fact,)


def test_a_newer_fact_closes_the_open_one_and_touches_nothing_else(vault: Vault) -> None:
    text = (
        "---\r\n# mine\r\ntype: entity\r\n---\r\nText  \r\n\r\n## Facts\r\n"
        "-  version::  2.4.0 (2026-05-01 → ;0.9 ; log (a → b) )  ^mine\r\n"
        "* other:: 1\r\n\r\n## More\r\n\r\n- version:: not a fact"
    )
    file = put(vault, "AuthService.md", text)
    done = vault.assert_fact("AuthService", "version", "2.4.1", valid_from="2026-05-10")
    added = f"\r\n- version:: 2.4.1 (2026-05-10 →) ^{done.fact.block}"
    closed = text.replace("→ ;0.9", "→ 2026-05-10;0.9").replace("other:: 1", "other:: 1" + added)
    assert file.read_bytes().decode() == closed
    assert done.status == "asserted"
    assert [(fact.object, fact.valid_to) for fact in done.closed] == [
        ("2.4.0", dt.datetime(2026, 5, 10, tzinfo=dt.UTC))
    ]
    assert vault.history("AuthService").versions[1].action == "assert"


def test_the_same_fact_is_not_written_twice(vault: Vault) -> None:
    file = entity(vault, "X", "- uses:: [[Keychain]] (2026-01-01 →) ^f-1111\n- is:: Up\n")
    before = file.read_bytes()
    for same in ("Keychain", "keychain", "[[KEYCHAIN]]"):
        done = vault.assert_fact("X", "Uses", same, multi=same == "keychain")
        assert (done.status, done.fact.block, done.closed) == ("unchanged", "f-1111", ())
    assert vault.assert_fact("X", "is", "Up").status == "unchanged"
    assert file.read_bytes() == before
    assert vault.assert_fact("X", "is", "up").closed[0].object == "Up"


def test_several_facts_may_hold_at_once(vault: Vault) -> None:
    for name in ("A", "B", "C"):
        vault.assert_fact("X", "uses", name, multi=True)
    assert [fact.object for fact in vault.facts("X").facts] == ["C", "B", "A"]
    done = vault.assert_fact("X", "uses", "B")
    assert (done.status, [fact.object for fact in done.closed]) == ("asserted", ["A", "C"])
    assert [fact.object for fact in vault.facts("X").facts] == ["B"]
    assert len(vault.facts("X", include_closed=True).facts) == 3


def test_an_open_fact_can_be_ended(vault: Vault) -> None:
    vault.assert_fact("X", "uses", "A", valid_from="2026-01-01")
    with pytest.raises(InvalidInput, match="began 2026-01-01"):
        vault.assert_fact("X", "uses", "A", valid_to="2025-01-01")
    done = vault.assert_fact("X", "uses", "A", valid_to="2026-03-01")
    assert done.status == "closed"
    assert vault.facts("X").facts == ()
    (fact,) = vault.facts("X", include_closed=True).facts
    assert fact.valid_to == dt.datetime(2026, 3, 1, tzinfo=dt.UTC)


def test_what_is_over_closes_nothing(vault: Vault) -> None:
    vault.assert_fact("X", "version", "2", valid_from="2026-03-01")
    done = vault.assert_fact("X", "version", "1", valid_from="2026-01-01", valid_to="2026-04-01")
    assert done.closed == ()
    assert [fact.object for fact in vault.facts("X").facts] == ["2"]


def test_the_newest_word_counts_even_if_it_goes_further_back(vault: Vault) -> None:
    vault.assert_fact("X", "version", "2", valid_from="2026-03-01")
    done = vault.assert_fact("X", "version", "1", valid_from="2026-01-01")
    assert done.closed[0].valid_to == done.closed[0].valid_from
    for day in ("2026-02-01", "2026-03-01", "2026-05-01"):
        assert [fact.object for fact in vault.facts("X", as_of=day).facts] == ["1"]


def test_facts_as_of_a_moment(vault: Vault) -> None:
    for version, day in (("1", "2026-01-01"), ("2", "2026-02-01T10:00:00"), ("3", "2026-03-01")):
        vault.assert_fact("X", "version", version, valid_from=day)

    def at(moment: str | dt.date) -> list[str]:
        return [fact.object for fact in vault.facts("X", as_of=moment).facts]

    assert at("2025-12-31") == []
    assert at("2026-01-01") == at("2026-02-01T09:59:59Z") == ["1"]
    assert at("2026-02-01T10:00:00Z") == at("2026-02-01") == at(dt.date(2026, 2, 28)) == ["2"]
    assert at(dt.datetime(2026, 3, 1, 1, tzinfo=dt.UTC)) == ["3"]
    assert [f.object for f in vault.facts("X", include_closed=True).facts] == ["3", "2", "1"]
    with pytest.raises(InvalidInput, match="as_of"):
        at("yesterday")


def test_facts_are_found_by_each_of_their_parts(vault: Vault) -> None:
    put(vault, "Entities/Keychain.md", "---\ntype: entity\naliases: Vault of keys\n---\n")
    entity(vault, "A", "- depends_on:: [[Entities/Keychain|K]]\n- owner:: Somebody Else\n")
    entity(vault, "B", "- depends-on:: [[keychain]] (2026-01-01 → ; [[A]])\n")

    def found(**wanted: Any) -> list[tuple[str, str, str]]:
        return [said(fact) for fact in vault.facts(**wanted).facts]

    first, second = ("A", "depends_on", "Entities/Keychain"), ("B", "depends-on", "keychain")
    assert found(predicate="depends on") == [second, first]
    assert found(object="vault of keys") == [second, first]
    assert found(object="[[KEYCHAIN]]", subject="a") == [first]
    assert found(object="somebody ELSE") == [("A", "owner", "Somebody Else")]
    assert found(subject="nobody") == found(object="nothing") == []
    assert vault.facts("B").facts[0].provenance == "A"


def test_names_become_links_and_texts_stay_texts(vault: Vault) -> None:
    put(vault, "Entities/Keychain.md", "---\ntype: entity\naliases: the keys\n---\n")
    put(vault, "C# guide.md", "x")
    memory(vault, "Refresh tokens", "[[Somewhere]]")
    id_ = "01ke6q8z4r9m2n4p6r7s8t9v01"
    for name, provenance, written in (
        ("keychain", id_, "[[Keychain]] (2026-01-01 → ; [[Refresh tokens]])"),
        ("The Keys", f"memory:{id_}", "[[Keychain]] (2026-01-01 → ; [[Refresh tokens]])"),
        ("[[Keychain|K]]", "refresh tokens", "[[Keychain|K]] (2026-01-01 → ; [[Refresh tokens]])"),
        ("[[Nowhere]]", "[[A#h]]", "[[Nowhere]] (2026-01-01 → ; [[A#h]])"),
        ("somewhere", "0.5", "[[somewhere]] (2026-01-01 → ; ; 0.5)"),
        ("C# guide", "a; b", "C# guide (2026-01-01 → ; a; b)"),
        ("2.4.1", None, "2.4.1 (2026-01-01 →)"),
    ):
        done = vault.assert_fact(
            "X", "p", name, provenance=provenance, valid_from="2026-01-01", multi=True
        )
        text = (vault.root / "Entities/X.md").read_text()
        if done.status == "asserted":
            assert f"- p:: {written} ^{done.fact.block}\n" in text
        else:  # another name of the first
            assert done.fact.object == "Keychain"


def test_a_subject_is_one_note(vault: Vault) -> None:
    put(vault, "P/Same.md", "x")
    put(vault, "Q/Same.md", "x")
    with pytest.raises(InvalidInput, match=r"P/Same\.md, Q/Same\.md"):
        vault.assert_fact("Same", "p", "o")
    assert vault.assert_fact("[[Q/Same]]", "p", "o").fact.path == "Q/Same.md"
    assert vault.assert_fact("P/Same.md", "p", "o").fact.path == "P/Same.md"
    slashed = vault.assert_fact("core/auth: v2", "p", "o").fact
    assert slashed.path == "Entities/core auth v2.md"
    assert vault.assert_fact("core/auth: v2", "p", "o").status == "unchanged"
    assert len(vault.facts("Core/Auth: V2").facts) == 1


def test_a_persons_note_is_not_stamped(vault: Vault) -> None:
    file = put(vault, "Mine.md", "no properties")
    done = vault.assert_fact("Mine", "p", "o", valid_from="2026-01-01")
    line = f"- p:: o (2026-01-01 →) ^{done.fact.block}"
    assert file.read_text() == f"no properties\n\n## Facts\n\n{line}\n"


def test_a_note_of_ours_is_stamped(vault: Vault) -> None:
    vault.assert_fact("X", "p", "o")
    file = vault.root / "Entities/X.md"
    file.write_text(re.sub("(updated|created): .*", r"\1: 2020-01-01T00:00:00", file.read_text()))
    vault.assert_fact("X", "p", "other")
    assert "created: 2020-01-01" in file.read_text()
    assert re.search(r"updated: 20(?!20)", file.read_text())


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"predicate": "depends on"}, "depends_on"),
        ({"predicate": "a::b"}, "a_b"),
        ({"predicate": "_"}, "plain name"),
        ({"predicate": ""}, "plain name"),
        ({"predicate": "p" * 65}, "plain name"),
        ({"object": "two\nlines"}, "one line"),
        ({"object": "two\u2028lines"}, "one line"),
        ({"object": " "}, "empty"),
        ({"object": "<private>x</private>"}, "empty"),
        ({"object": "50 %% off"}, "comment"),
        ({"object": "x" * 2001}, "shorter"),
        ({"subject": "a\rb"}, "one line"),
        ({"subject": "[[]]"}, "Name a memory"),
        ({"provenance": "x\ny"}, "one line"),
        ({"provenance": "unpaired (a → b"}, "plainer"),
        ({"confidence": 1.5}, "0 to 1"),
        ({"confidence": True}, "0 to 1"),
        ({"confidence": float("nan")}, "0 to 1"),
        ({"valid_from": "soon"}, "valid_from"),
        ({"valid_from": "2026-02-01", "valid_to": "2026-01-01"}, "before it begins"),
        ({"valid_to": "2020-01-01"}, "before it begins"),
    ],
)
def test_what_is_no_fact_is_refused(vault: Vault, wrong: dict[str, Any], word: str) -> None:
    given = {"subject": "X", "predicate": "p", "object": "o", **wrong}
    with pytest.raises(InvalidInput, match=re.escape(word)):
        vault.assert_fact(**given)
    assert not (vault.root / "Entities").exists()


def test_private_passages_are_left_out(vault: Vault) -> None:
    vault.assert_fact("X", "p", "a<private>secret</private>b", provenance="<private>s</private>c")
    assert [(f.object, f.provenance) for f in vault.facts("X").facts] == [("ab", "c")]
    assert "secret" not in (vault.root / "Entities/X.md").read_text()


def test_a_note_in_trouble_is_left_alone(vault: Vault) -> None:
    file = put(vault, "Entities/X.md", "<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n")
    before = file.read_bytes()
    with pytest.raises(NoteMalformed, match=r"X\.md"):
        vault.assert_fact("X", "p", "o")
    with pytest.raises(ReadOnly):
        vault.for_caller(Caller(read_only=True)).assert_fact("X", "p", "o")
    assert file.read_bytes() == before


def test_block_ids_are_unique_in_a_note(vault: Vault) -> None:
    for number in range(30):
        vault.assert_fact("X", "has", f"part {number}", multi=True)
    text = (vault.root / "Entities/X.md").read_text()
    ids = re.findall(r"\^(f-[0-9a-hjkmnp-tv-z]{4,})\n", text)
    assert len(set(ids)) == 30
    assert len(LINE.findall(text)) == 30


def test_an_entity_gets_a_note_once(vault: Vault) -> None:
    assert vault.ensure_entity("Keychain", "library") == "Entities/Keychain.md"
    assert "kind: library\n" in (vault.root / "Entities/Keychain.md").read_text()
    assert vault.ensure_entity("[[KEYCHAIN]]", "other") is None
    path = vault.ensure_entity("a/b", "thing")
    assert path == "Entities/a b.md"
    assert vault.ensure_entity("A/B", "thing") is None
    assert vault.search_graph("a/b").entities[0].type == "thing"
    with pytest.raises(InvalidInput, match="needs a name"):
        vault.ensure_entity(" ", "thing")


# --- any text ---------------------------------------------------------------------------------

NASTY = ["(", ")", ";", "→", "::", "[[", "]]", "[", "]", "|", "#", "#tag", " ", "^", "^f-1", "`"]
NASTY += [
    "``",
    "$$",
    "~~~",
    "<b>",
    "\\",
    "a",
    "ß",
    "é",
    "0.5",
    "2026-01-01",
    "- ",
    "**",
    "==",
    "---",
]
TEXT = st.lists(st.sampled_from(NASTY) | st.text(max_size=3), min_size=1, max_size=8).map("".join)
NOTES = [
    "",
    "## Facts\n\n- p:: old (2026-01-01 → ; 0.5; x) ^f-0000\n- q:: `code` (→) ^f-0001\n",
    "text `tick\n\n## Facts\n- p:: old\n- p:: [[Other]] (→ 2999-01-01)\n\n## End\n\nlast",
]


@given(TEXT, TEXT | st.just(""), st.none() | st.floats(0, 1), st.booleans(), st.sampled_from(NOTES))
@example("a (b → c)", "d (e → f); g", None, False, NOTES[1])
@example("x ^f-9", "0.5; y", 0.25, True, NOTES[2])
@example("`half", "tick`", 5e-324, False, NOTES[2])
def test_what_is_written_reads_back_or_is_refused(
    text: str, provenance: str, confidence: float | None, multi: bool, body: str
) -> None:
    text, provenance = text.strip(), provenance.strip()
    note = parse(body.encode(), "X.md")
    new = Fact("p", text, "2026-05-01", "", confidence, provenance)
    try:
        done = plan_fact(note, new, multi=multi, dated=True, now=NOW)
    except VaultmemError as error:
        assert len(str(error)) > 40
        return
    written = done.note.facts
    assert (written[-1].predicate, written[-1].object) == ("p", text)
    assert (written[-1].confidence, written[-1].provenance) == (confidence, provenance)
    assert (written[-1].valid_from, written[-1].valid_to) == ("2026-05-01", "")
    assert written[-1].block == done.fact.block
    assert len(written) == len(note.facts) + 1
    for before, after in zip(note.facts, written, strict=False):
        ended = before.predicate == "p" and not multi
        assert after.valid_to == ("2026-05-01" if ended else before.valid_to)
        assert (after.object, after.provenance) == (before.object, before.provenance)
    assert [h.text for h in done.note.headings][-1:] in (["Facts"], ["End"])


def test_a_fact_with_a_plain_object_is_shown_as_a_relationship(vault: Vault) -> None:
    vault.assert_fact("AuthService", "deployed_version", "2.4.0")
    vault.assert_fact("AuthService", "deployed_version", "2.4.1")
    vault.assert_fact("AuthService", "depends_on", "[[Keychain]]")
    entity = vault.search_graph("AuthService").entities[0]
    assert [(r.type, r.target) for r in entity.relationships] == [
        ("depends_on", "Keychain"),
        ("deployed_version", "2.4.1"),
    ]
    only = vault.search_graph("AuthService", relationship_type="deployed_version").entities[0]
    assert [r.target for r in only.relationships] == ["2.4.1"]


def test_an_answer_with_facts_is_bounded(vault: Vault) -> None:
    lines = "".join(f"- has:: part {i} (2026-01-{i + 1:02} → )\n" for i in range(5))
    entity(vault, "Engine", lines)
    some = vault.facts("Engine", limit=3)
    assert [fact.object for fact in some.facts] == ["part 4", "part 3", "part 2"]
    assert (some.truncated, some.total) == (True, 5)
    assert render.plain_json(vault.facts("Engine", limit=5)).keys() == {"facts"}
    for wrong in (0, 100_001, True):
        with pytest.raises(InvalidInput, match="limit"):
            vault.facts("Engine", limit=wrong)


def test_a_hub_is_walked_along_its_entities_and_its_memories_are_counted(vault: Vault) -> None:
    """Thousands may speak of one thing; what has a label is seen however many do."""
    entity(vault, "Hub")
    for number in range(40):
        head = f"---\nid: 01KE6Q8Z4R9M2N4P6R7S8T9A{number:02d}\ntype: semantic\n"
        label = "tests" if number == 0 else "about"
        text = f'{head}{label}: "[[Hub]]"\n---\nsee [[hub]] and [[Entities/Hub]]\n'
        (vault.root / f"M{number}.md").write_text(text)
    (vault.root / "Entities/User.md").write_text("---\ntype: entity\n---\n- uses [[Hub]]\n")
    vault.index_now()
    answer = vault.search_graph("Hub", limit=5)
    hub = answer.entities[0]
    assert (hub.name, hub.memory_count, len(answer.memories)) == ("Hub", 40, 5)
    assert related(hub) == {("uses", "User", "incoming"), ("tests", "M0", "incoming")}
    assert answer.graph_stats.truncated
    assert vault.search_graph("Hub", relationship_type="about").entities[0].memory_count == 40


def test_names_that_do_not_say_which_note_count_only_for_the_one_meant(vault: Vault) -> None:
    put(vault, "One/Twin.md", "---\ntype: entity\n---\n")
    put(vault, "Two/Twin.md", "---\ntype: entity\n---\n")
    memory(vault, "Near", "[[One/Twin]] and [x](../Two/Twin.md)", number=1)
    memory(vault, "Unclear", "[[Twin]]", number=2)
    memory(vault, "Relative", "[x](../One/Twin.md)", number=3)
    assert vault.search_graph("One/Twin").entities[0].memory_count == 2
    assert vault.search_graph("Two/Twin").entities[0].memory_count == 1
    assert [m.title for m in vault.search_graph("Two/Twin").memories] == ["Near"]
