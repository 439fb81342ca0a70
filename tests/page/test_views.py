"""The screens without a browser: what they say, to whom, and that reading needs no script."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Open
from tests.surfaces.http.site import GUEST, LAPTOP, Site, serving, token_file
from vaultmem.errors import Conflict, NotFound
from vaultmem.operations.caller import Caller
from vaultmem.surfaces.page.asking import PageRequest
from vaultmem.surfaces.page.deeds import performed
from vaultmem.surfaces.page.map import placed_in_rings
from vaultmem.surfaces.page.screens import VIEWS, shown_screen
from vaultmem.vault import Vault

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
AGENT = Caller(client="codex", session="s-1")


def shown(vault: Vault, address: str, path: str = "", **query: str) -> str:
    text, status = shown_screen(address, PageRequest(vault, path, query, trusted=True))
    assert status == 200, text
    return text


def did(vault: Vault, deed: str, **given: Any) -> dict[str, Any]:
    return performed(deed, PageRequest(vault, trusted=True), given)


def taken_back(vault: Vault, told: dict[str, Any]) -> dict[str, Any]:
    return did(vault, told["undo"]["deed"], **told["undo"]["given"])


# --- what is bound holds on every screen ------------------------------------------------------


def test_a_bound_caller_sees_nothing_of_others_on_any_screen(open_vault: Open) -> None:
    vault = open_vault()
    for project, word in (("Atlas", "wombats"), ("Zeus", "secretplatypus")):
        made = vault.for_caller(AGENT).remember(
            f"The {word} live in [[{word} hall]] of {project}.", project=project, scope="project"
        )
        vault.for_caller(AGENT).update(made.memory_id, append=f"More {word}.")
    bound = vault.for_caller(Caller(project="Atlas"))
    for address in VIEWS:
        if address == "/note":
            continue
        for query in ({}, {"q": "secretplatypus"}, {"at": "secretplatypus hall"}, {"doctor": "1"}):
            text, _ = shown_screen(address, PageRequest(bound, "", query))
            said = text.replace(" secretplatypus hall", " ").replace('"secretplatypus', '"')
            assert "live in" not in said or "wombats" in said
            assert "Zeus" not in text, (address, query)
    assert "wombats" in shown(bound, "/")
    hidden = vault.recall("secretplatypus", counted=False).memories[0].path
    text, status = shown_screen("/note", PageRequest(bound, hidden))
    assert status == 404
    assert "Zeus" not in text.replace(hidden, "")


def test_what_is_private_is_for_the_person_alone(open_vault: Open, root: Path) -> None:
    (root / "Mine.md").write_text("Seen. <private>unseen</private>\n", encoding="utf-8")
    vault = open_vault()
    for tab in ("", "file", "history"):
        text, _ = shown_screen("/note", PageRequest(vault, "Mine.md", {"tab": tab}))
        assert "Seen." in text
        assert "unseen" not in text
    assert "unseen" in shown(vault, "/note", "Mine.md", tab="file")


# --- taking back ------------------------------------------------------------------------------


def test_each_deed_of_an_agent_can_be_taken_back(open_vault: Open, root: Path) -> None:
    vault = open_vault()
    agent = vault.for_caller(AGENT)
    made = agent.remember("Tea is at four.")
    first = (root / made.path).read_bytes()
    agent.update(made.memory_id, old_text="four", new_text="five")
    line = vault.activity().activity[0]
    assert (line.what, line.undo) == ("changed", "restore")
    assert vault.activity().activity[1].undo is None  # something came after it
    done = vault.undo(line.path, line.version)
    assert (root / made.path).read_bytes() == first
    with pytest.raises(Conflict):
        vault.undo(line.path, line.version)
    assert vault.undo(made.memory_id, done.version).action == "restore"
    fresh = agent.remember("Coffee is at ten.")
    line = vault.activity().activity[0]
    assert (line.what, line.undo) == ("stored", "remove")
    vault.undo(line.path, line.version)
    assert not (root / fresh.path).exists()
    assert vault.activity().activity[0].undo == "restore"
    vault.undo(fresh.memory_id)
    assert (root / fresh.path).exists()


def test_an_edit_keeps_every_line_end_that_was_not_touched(open_vault: Open, root: Path) -> None:
    file = root / "Mixed.md"
    file.write_bytes(b"one\r\ntwo\nthree\rfour\r\n\r\nend")
    vault = open_vault()
    version = vault.source("Mixed.md").version
    vault.edit_text("Mixed.md", "one\ntwo, changed\nthree\nfour\n\nadded\nend", version)
    assert file.read_bytes() == b"one\r\ntwo, changed\nthree\rfour\r\n\r\nadded\r\nend"


# --- review -----------------------------------------------------------------------------------


def test_what_is_proposed_is_found_by_nobody_until_it_is_accepted(
    open_vault: Open, root: Path
) -> None:
    vault = open_vault({"review.new": True})
    agent = vault.for_caller(AGENT)
    made = agent.remember("Marmots whistle at noon.", tags=["animals"])
    assert made.status == "proposed"
    assert made.warnings[0].startswith("proposed: ")
    for who in (vault, agent):
        assert who.recall("marmots whistle", include_forgotten=True).memories == ()
        assert who.get([made.memory_id]).memories == ()
        assert who.list(include_forgotten=True).total == 0
    assert "marmots" not in shown(vault, "/").casefold()
    assert "Marmots whistle at noon." in shown(vault, "/review")
    assert agent.remember("Marmots  whistle at noon.").memory_id == made.memory_id
    assert len(vault.proposed()) == 1

    rejected = did(vault, "reject", item=made.memory_id)
    assert vault.proposed() == ()
    assert agent.remember("Marmots whistle at noon.").status == "rejected"
    assert vault.proposed() == ()
    taken_back(vault, rejected)
    accepted = did(vault, "accept", item=made.memory_id)
    assert vault.proposed() == ()
    assert agent.get([made.memory_id]).memories[0].content == "Marmots whistle at noon."
    assert vault.recall("marmots whistle").memories[0].id == made.memory_id
    taken_back(vault, accepted)
    assert vault.recall("marmots whistle").memories == ()
    assert [each.id for each in vault.proposed()] == [made.memory_id]
    assert vault.remember("A person decides alone.").status == "created"


@pytest.mark.parametrize(
    ("settings", "proposed"),
    [
        ({"review.clients": ("cod",)}, True),
        ({"review.clients": ("cursor",)}, False),
        ({"review.projects": ("atlas",)}, True),
        ({"review.projects": ("zeus",), "review.clients": ("cursor",)}, False),
    ],
)
def test_review_may_be_for_some_projects_or_clients(
    open_vault: Open, settings: dict[str, Any], proposed: bool
) -> None:
    vault = open_vault({"review.new": True, **settings})
    made = vault.for_caller(AGENT).remember("A.", project="Atlas", scope="project")
    assert (made.status == "proposed") == proposed


def test_doubles_and_contradictions_are_decided_and_taken_back(open_vault: Open) -> None:
    vault = open_vault()
    agent = vault.for_caller(AGENT)
    agent.remember("The staging database runs in us-east-1 now.")
    agent.remember("The staging database runs in eu-west-1 now.")
    agent.remember("Deploys are frozen on Fridays since nobody is there to roll back.")
    agent.remember("Deploys are frozen on Fridays because nobody is there to roll back.")
    did(vault, "look_for_review")
    cases = {case.kind: case for case in vault.review_queue()}
    assert {"contradiction", "double"} <= set(cases)
    double = cases["double"]
    first, second = double.texts
    told = did(vault, "supersede", ref=second.path, by=first.path, item=double.id)
    assert vault.get([second.path]).memories[0].superseded_by
    assert "double" not in {case.kind for case in vault.review_queue()}
    taken_back(vault, told)
    assert vault.get([second.path]).memories[0].superseded_by is None
    assert "double" in {case.kind for case in vault.review_queue()}
    told = did(vault, "approve", item=cases["contradiction"].id)
    assert "contradiction" not in {case.kind for case in vault.review_queue()}
    did(vault, "dismiss", item=double.id)
    did(vault, "look_for_review")
    assert {case.kind for case in vault.review_queue()} == {"stale"}  # what was replaced


def test_two_values_of_one_fact_are_a_case_where_one_is_usual(open_vault: Open) -> None:
    vault = open_vault()
    for name in ("Ann", "Bob", "Cem"):
        vault.assert_fact(name, "lives_in", "Ulm")
    vault.assert_fact("Ann", "lives_in", "Bonn", multi=True)
    (case,) = vault.review_queue()
    assert (case.kind, case.predicate, set(case.values)) == ("fact", "lives_in", {"Ulm", "Bonn"})
    told = did(vault, "end_fact", subject=case.texts[0].path, predicate="lives_in", object="Ulm")
    assert [fact.object for fact in vault.facts("Ann").facts] == ["Bonn"]
    taken_back(vault, told)
    assert len(vault.facts("Ann").facts) == 2


# --- around -----------------------------------------------------------------------------------


def test_uses_say_when_how_and_by_whom(open_vault: Open) -> None:
    vault = open_vault()
    made = vault.remember("Otters hold hands.")
    vault.for_caller(AGENT).recall("otters hands")
    vault.for_caller(AGENT).get([made.memory_id])
    shown(vault, "/search", q="otters")  # looking is no use
    shown(vault, "/note", made.path)
    shown(vault, "/context", prompt="otters")
    found = vault.uses(made.memory_id)
    assert [(use.way, use.client, use.session) for use in found.uses] == [
        ("read", "codex", "s-1"),
        ("recalled", "codex", "s-1"),
    ]
    assert found.times == 2
    assert "codex" in shown(vault, "/note", made.path, tab="uses")


def test_a_neighbourhood_is_bounded_and_the_same_each_time(open_vault: Open, root: Path) -> None:
    links = " ".join(f"[[N{n}]]" for n in range(200))
    (root / "Hub.md").write_text(f"{links}\n", encoding="utf-8")
    for n in range(30):
        (root / f"N{n}.md").write_text(f"[[M{n}]] [[Hub]]\n", encoding="utf-8")
    vault = open_vault()
    vault.index_now()
    one = vault.neighbourhood("Hub", depth=2)
    assert len(one.names) == 60
    assert one.total == 226  # from the 25 most connected on
    assert one.names[0].name == "Hub"
    assert one == vault.neighbourhood("Hub", depth=2)
    spots = placed_in_rings([name.distance for name in one.names])
    assert len(set(spots)) == 60
    assert shown(vault, "/map", at="Hub", hops="2") == shown(vault, "/map", at="Hub", hops="2")
    assert vault.neighbourhood("M3").names[0].path == ""  # a name that no note has
    with pytest.raises(NotFound):
        vault.neighbourhood("Nobody speaks of this")


# --- over HTTP --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    root = tmp_path_factory.mktemp("vault")
    (root / "Geese.md").write_text("Geese fly [[South]] in autumn.\n", encoding="utf-8")
    with serving(root, page="the-token-of-this-run-0123") as running:
        yield running


def test_who_does_not_ask_for_html_gets_the_json_of_ever(site: Site) -> None:
    for accept in ("", "*/*", "application/json", "application/json, text/html"):
        answer = site.get("/search?q=geese", Accept=accept)
        assert answer.headers["content-type"] == "application/json"
        assert answer.json["memories"]
    assert site.get("/health").json["status"] == "ok"
    assert "text/html" in site.get("/search?q=geese", Accept=BROWSER).headers["content-type"]


def test_reading_and_search_work_without_a_script(site: Site) -> None:
    for address in VIEWS:
        path = "/note/Geese" if address == "/note" else f"{address}?q=geese"
        answer = site.get(path, Accept=BROWSER)
        assert answer.status == 200
        assert b"<main" in answer.body
    assert b"Geese fly" in site.get("/note/Geese", Accept=BROWSER).body
    assert b'href="/note/' in site.get("/search?q=geese", Accept=BROWSER).body
    assert site.get("/note/Nothing", Accept=BROWSER).status == 404


def test_a_page_says_what_a_browser_may_do(site: Site) -> None:
    policy = site.get("/", Accept=BROWSER).headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "require-trusted-types-for 'script'" in policy
    assert "access-control-allow-origin" not in site.get("/", Accept=BROWSER).headers


def test_nothing_is_changed_without_the_token_of_the_run(site: Site) -> None:
    body = json.dumps({"ref": "Geese"})
    kind = {"Content_Type": "application/json"}
    for token in ("", "some-other-token-0123456789"):
        answer = site.ask("POST", "/do/forget", token, body, **kind)
        assert answer.status == 403
        assert answer.json["error"] == "read_only"
    own = "the-token-of-this-run-0123"
    assert site.ask("POST", "/do/forget", own, body, Content_Type="text/plain").status == 400
    foreign = {**kind, "Origin": "https://elsewhere.invalid"}
    assert site.ask("POST", "/do/forget", own, body, **foreign).status == 403
    assert site.ask("POST", "/do/nothing", own, body, **kind).status == 404
    assert site.ask("POST", "/do/edit", own, json.dumps({"ref": ["x"]}), **kind).status == 400
    assert site.ask("POST", "/do/forget", own, "[" * 5000, **kind).status == 400
    assert site.ask("POST", "/do/forget", own, body, **kind).status == 200
    assert b"forgotten" in site.get("/note/Geese", Accept=BROWSER).body


def test_tokens_of_a_file_are_bound_on_the_page_too(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    root.mkdir()
    (root / "Zeus.md").write_text("---\nproject: Zeus\n---\nThunder.\n", encoding="utf-8")
    named = token_file(
        tmp_path,
        f'[tokens.laptop]\ntoken = "{LAPTOP}"\nproject = "Zeus"\n'
        f'[tokens.guest]\ntoken = "{GUEST}"\nproject = "Atlas"\nread_only = true\n',
    )
    with serving(root, named, page="") as locked:
        door = locked.get("/", Accept=BROWSER)
        assert door.status == 200
        assert b"data-door" in door.body
        assert b"Zeus" not in door.body + locked.get("/search?q=thunder", Accept=BROWSER).body
        assert locked.get("/search?q=thunder").status == 401
        assert locked.get("/news").status == 401
        assert b"Thunder" in locked.get("/note/Zeus", LAPTOP, Accept=BROWSER).body
        assert locked.get("/note/Zeus", GUEST, Accept=BROWSER).status == 404
        body, kind = json.dumps({"ref": "Zeus"}), {"Content_Type": "application/json"}
        assert locked.ask("POST", "/do/forget", GUEST, body, **kind).status == 403
        assert locked.ask("POST", "/do/forget", body=body, **kind).status == 401
        assert locked.ask("POST", "/do/forget", LAPTOP, body, **kind).status == 200
