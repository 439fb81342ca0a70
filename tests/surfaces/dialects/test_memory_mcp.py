"""The Memory MCP Server as its specification gives it, over real pipes and HTTP."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.mcp.harness import INITIALIZED, Process, new_vault
from vaultmem.errors import VaultmemError
from vaultmem.notes.note import parse
from vaultmem.operations.caller import Caller
from vaultmem.surfaces.dialects.keyed_entries import KeyedEntries
from vaultmem.vault import Vault

LITERAL = json.loads((Path(__file__).parent / "memory_mcp.json").read_text())
# The specification's own example of a memory.
PREFERENCE = {
    "key": "user_preference_language",
    "content": "User prefers Python examples over TypeScript.",
    "tags": ["preference", "coding"],
}


def server(home: Path, session: str = "s1", *flags: str, **env: str) -> Process:
    named = {"MEMORY_MCP_SESSION_ID": session} if session else {}
    vault = str(home / "vault")
    length = {"VAULTMEM_DIALECTS_EMBEDDING_LENGTH": "3"}
    given = length | named | env
    return Process(home, "--vault", vault, "--dialect", "memory-mcp", *flags, env=given)


def greet(process: Process, session: str | None = None) -> dict[str, Any]:
    info: dict[str, Any] = {"name": "claude-agent", "version": "1.0"}
    if session is not None:
        info["extra"] = {"sessionId": session}
    params = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": info}
    answer = process.request(1, "initialize", **params)
    process.send(INITIALIZED)
    result: dict[str, Any] = answer["result"]
    return result


def said(process: Process, tool: str, **arguments: Any) -> Any:
    result = process.call(5, tool, **arguments)
    assert result["isError"] is False, result
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    return result["structuredContent"]


def commit(process: Process, key: str, content: str, scope: str = "vault", **more: Any) -> None:
    answer = said(process, "commit_memory", scope=scope, key=key, content=content, **more)
    assert answer == {"committed": True, "key": key, "scope": scope}


def keys(process: Process, query: str, **more: Any) -> list[str]:
    return [
        each["key"] for each in said(process, "search_memories", query=query, **more)["results"]
    ]


def refusal(process: Process, tool: str, **arguments: Any) -> dict[str, Any]:
    reply = process.request(6, "tools/call", name=tool, arguments=arguments)
    error: dict[str, Any] = reply["error"]
    return error


def read(process: Process, uri: str) -> Any:
    (content,) = process.request(7, "resources/read", uri=uri)["result"]["contents"]
    assert content["uri"] == uri and content["mimeType"] == "application/json"
    return json.loads(content["text"])


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("memory-mcp")


@pytest.fixture(scope="module")
def agent(home: Path) -> Iterator[Process]:
    with server(home) as process:
        started = greet(process)
        assert started["protocolVersion"] == "2024-11-05"
        assert started["serverInfo"]["name"] == "memory-mcp"
        assert started["capabilities"]["resources"]["listChanged"] is True
        yield process
        assert process.end() == 0
        assert process.stray == []


# --- tools -----------------------------------------------------------------------------------


def test_tools_are_listed_literally(agent: Process) -> None:
    tools = agent.request(2, "tools/list")["result"]["tools"]
    assert tools[:3] == LITERAL
    assert [tool["name"] for tool in tools[3:]] == ["set_session_id"]  # section 3.2, behaviour


def test_a_fresh_vault_has_no_memories(agent: Process) -> None:
    assert read(agent, "memory://vault") == []
    assert read(agent, "memory://session/s1") == []
    assert said(agent, "search_memories", query="memory") == {"results": [], "total_searched": 0}


def test_commit_and_read_back_the_example(agent: Process) -> None:
    answer = said(agent, "commit_memory", scope="vault", **PREFERENCE)
    assert answer == {"committed": True, "key": PREFERENCE["key"], "scope": "vault"}
    shown = read(agent, "memory://vault/user_preference_language")
    assert list(shown) == ["key", "content", "tags", "scope", "created_at", "updated_at"]
    assert {name: shown[name] for name in PREFERENCE} == PREFERENCE
    assert shown["scope"] == "vault"
    for name in ("created_at", "updated_at"):
        assert dt.datetime.strptime(shown[name], "%Y-%m-%dT%H:%M:%SZ")
    assert shown in read(agent, "memory://vault")
    (found,) = said(agent, "search_memories", query="python examples")["results"]
    assert found == PREFERENCE | {"scope": "vault", "relevance": 1.0}


def test_a_key_that_is_known_is_replaced_tags_included(agent: Process) -> None:
    commit(agent, "editor", "Uses Emacs with evil bindings", tags=["tool", "old"])
    commit(agent, "editor", "Uses Helix these days", tags=["tool"])
    commit(agent, "editor", "Volatile opinion on editors", scope="session")
    assert keys(agent, "emacs") == []
    (found,) = said(agent, "search_memories", query="helix")["results"]
    assert found["tags"] == ["tool"]
    commit(agent, "editor", "Uses Helix these days")
    assert read(agent, "memory://vault/editor")["tags"] == []
    scopes = said(agent, "search_memories", query="editor", scope="all")["results"]
    assert sorted(each["scope"] for each in scopes) == ["session", "vault"]


def test_scopes_are_searched_apart(agent: Process) -> None:
    commit(agent, "scratch", "the quokka lives in a scratchpad", scope="session")
    commit(agent, "lasting", "the quokka lives in the vault")
    assert keys(agent, "quokka", scope="session") == ["scratch"]
    assert keys(agent, "quokka", scope="vault") == ["lasting"]
    assert sorted(keys(agent, "quokka")) == sorted(keys(agent, "quokka", scope="all"))
    assert len(keys(agent, "quokka", scope="all")) == 2
    assert len(keys(agent, "quokka", limit=1)) == 1
    assert [m["key"] for m in read(agent, "memory://session/s1")] == ["editor", "scratch"]


def test_tags_filter_by_all_of_them(agent: Process) -> None:
    commit(agent, "t1", "narwhal one", tags=["sea", "horn"])
    commit(agent, "t2", "narwhal two", tags=["sea"])
    commit(agent, "t3", "narwhal three", tags=["sea/deep", "horn"])
    assert keys(agent, "narwhal", tags=["sea", "HORN"]) == ["t1"]
    assert sorted(keys(agent, "narwhal", tags=["sea"])) == ["t1", "t2"]
    assert sorted(keys(agent, "", tags=["horn"])) == ["t1", "t3"]
    assert keys(agent, "narwhal", tags=["sea", "no-such-tag"]) == []


def test_relevance_is_a_share_and_orders_the_results(agent: Process) -> None:
    commit(agent, "r1", "capybara capybara capybara")
    commit(agent, "r2", "capybara among many other animals that are named here to make it long")
    results = said(agent, "search_memories", query="capybara")["results"]
    assert [each["key"] for each in results] == ["r1", "r2"]
    assert results[0]["relevance"] == 1.0 and 0 < results[1]["relevance"] < 1
    assert said(agent, "search_memories", query="capybara")["total_searched"] > 2


def test_the_query_language_is_fts5s(agent: Process) -> None:
    commit(agent, "f1", "zebra crossing in the rain")
    commit(agent, "f2", "zebra finch in the sun")
    assert sorted(keys(agent, "zebra")) == ["f1", "f2"]
    assert keys(agent, "zebra NOT finch") == ["f1"]
    assert sorted(keys(agent, "crossing OR finch")) == ["f1", "f2"]
    assert keys(agent, '"zebra finch"') == ["f2"]
    assert keys(agent, '"finch zebra"') == []
    assert sorted(keys(agent, "zeb*")) == ["f1", "f2"]
    assert keys(agent, "key:f2") == ["f2"]
    assert keys(agent, "crossing finch") == [], "without an operator all words must be there"
    assert sorted(keys(agent, "NEAR(zebra sun, 4)")) == ["f2"]
    commit(agent, "c1", "The certificate is renewed in May")
    commit(agent, "c2", "We certify nothing")
    assert keys(agent, "certificat*") == ["c1"], "no stemming where the tables have none"
    assert keys(agent, "certificates") == [] and keys(agent, "certif* NOT certify") == ["c1"]
    for wrong in ("what's the zebra's finch?", "(a: b", '"', "AND", "nowhere:zebra"):
        error = refusal(agent, "search_memories", query=wrong)
        assert error["code"] == -32602 and "FTS5" in error["message"], wrong
    quoted = refusal(agent, "search_memories", query="zebra's finch")["message"]
    assert quoted.endswith('write "zebra\'s" "finch".')
    assert keys(agent, '"zebra" "finch"') == ["f2"]


def test_vectors_of_the_caller_are_blended_in(agent: Process) -> None:
    east, north, between = [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [3.0, 4.0, 0.0]
    commit(agent, "v1", "okapi", embedding=east)
    commit(agent, "v2", "okapi", embedding=north)
    commit(agent, "v3", "okapi")
    commit(agent, "v4", "nothing in common", embedding=between)
    assert (
        "3 numbers"
        in refusal(
            agent, "commit_memory", scope="vault", key="v5", content="okapi", embedding=[1.0, 0.0]
        )["message"]
    )
    assert keys(agent, "key:v5") == [], "nothing was stored"
    wrong = refusal(agent, "search_memories", query="okapi", query_embedding=[1.0] * 1536)
    assert wrong["code"] == -32602 and "1,536" in wrong["message"]
    commit(agent, "v5", "okapi")
    found = said(agent, "search_memories", query="okapi", query_embedding=north)["results"]
    scores = {each["key"]: each["relevance"] for each in found}
    # Without a vector the words alone count.
    assert scores["v3"] == scores["v5"]
    assert scores["v2"] == pytest.approx(0.4 * scores["v3"] + 0.6)
    assert scores["v1"] == pytest.approx(0.4 * scores["v3"])
    assert scores["v4"] == pytest.approx(0.6 * 0.8)
    assert all(0 <= score <= 1 for score in scores.values())
    # A vector belongs to its text.
    commit(agent, "v2", "okapi again")
    again = said(agent, "search_memories", query="okapi", query_embedding=north)["results"]
    assert {e["key"]: e["relevance"] for e in again}["v2"] > 0.6 * 0.99
    assert keys(agent, "quagga", query_embedding=[-1.0, 0.0, 0.0]) == []


@pytest.mark.parametrize("wrong", [["a"], [1e300], [True], "1,2"])
def test_what_is_no_vector_is_refused(agent: Process, wrong: Any) -> None:
    error = refusal(agent, "search_memories", query="x", query_embedding=wrong)
    assert error["code"] == -32602


# --- pruning ---------------------------------------------------------------------------------


def test_an_unfiltered_prune_of_the_vault_is_invalid(agent: Process) -> None:
    before = read(agent, "memory://vault")
    for scope in ("vault", "all"):
        nothing: list[dict[str, Any]] = [{}, {"tags": []}, {"key": ""}]
        for empty in nothing:
            assert refusal(agent, "prune_memory", scope=scope, **empty) == {
                "code": -32602,
                "message": "Bulk vault prune requires at least one filter.",
            }
    assert read(agent, "memory://vault") == before


def test_prune_by_key_tags_and_age(agent: Process) -> None:
    commit(agent, "p1", "ibex one", tags=["goat", "alps"])
    commit(agent, "p2", "ibex two", tags=["goat"])
    commit(agent, "p3", "ibex three", scope="session")
    assert said(agent, "prune_memory", scope="session", key="p1") == {"pruned_count": 0}
    assert said(agent, "prune_memory", scope="vault", key="p1") == {"pruned_count": 1}
    assert sorted(keys(agent, "ibex")) == ["p2", "p3"]
    commit(agent, "p1", "ibex one", tags=["goat", "alps"])
    assert said(agent, "prune_memory", scope="vault", tags=["goat", "alps"]) == {"pruned_count": 1}
    long_ago = {"older_than": "2020-01-01T00:00:00Z"}
    assert said(agent, "prune_memory", scope="all", **long_ago) == {"pruned_count": 0}
    soon = (dt.datetime.now(dt.UTC) + dt.timedelta(hours=1)).isoformat()
    answer = said(agent, "prune_memory", scope="all", older_than=soon, tags=["goat"])
    assert answer == {"pruned_count": 1}
    assert refusal(agent, "prune_memory", scope="vault", older_than="whenever")["code"] == -32602
    assert said(agent, "prune_memory", scope="session")["pruned_count"] >= 1
    assert read(agent, "memory://session/s1") == []


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("commit_memory", {"scope": "vault", "key": "k"}),
        ("commit_memory", {"scope": "all", "key": "k", "content": "c"}),
        ("commit_memory", {"scope": "vault", "key": " ", "content": "c"}),
        ("commit_memory", {"scope": "vault", "key": "k", "content": "c", "tags": "one"}),
        ("search_memories", {}),
        ("search_memories", {"query": "x", "scope": "world"}),
        ("prune_memory", {}),
        ("no_such_tool", {}),
    ],
)
def test_wrong_parameters_are_invalid_params(
    agent: Process, tool: str, arguments: dict[str, Any]
) -> None:
    assert refusal(agent, tool, **arguments)["code"] == -32602


# --- resources -------------------------------------------------------------------------------


def test_the_vault_is_read_in_pages(agent: Process) -> None:
    for i in range(4):
        commit(agent, f"page/{i}", f"gnu {i}")
    whole = [each["key"] for each in read(agent, "memory://vault")]
    assert whole[-4:] == [f"page/{i}" for i in range(4)]
    pages = [read(agent, f"memory://vault?offset={n}&limit=3") for n in range(0, len(whole), 3)]
    assert [each["key"] for page in pages for each in page] == whole
    assert read(agent, f"memory://vault?offset={len(whole)}&limit=3") == []
    for uri in ("memory://vault?offset=-1", "memory://vault?limit=x", "memory://vault/no-such"):
        assert agent.request(8, "resources/read", uri=uri)["error"]["code"] == -32602


def test_resources_are_listed_with_their_templates(agent: Process) -> None:
    commit(agent, "a key/with  ünusual?chars", "listed")
    uris = [r["uri"] for r in agent.request(9, "resources/list")["result"]["resources"]]
    assert uris[:2] == ["memory://session/s1", "memory://vault"]
    assert read(agent, uris[-1])["content"] == "listed"
    found = agent.request(9, "resources/templates/list")["result"]["resourceTemplates"]
    assert [each["uriTemplate"] for each in found] == [
        "memory://session/{session_id}",
        "memory://vault{?offset,limit}",
        "memory://vault/{key}",
    ]


def test_changes_are_announced(agent: Process) -> None:
    changed = {"jsonrpc": "2.0", "method": "notifications/resources/list_changed"}

    def announced(id_: int, tool: str, **arguments: Any) -> bool:
        while True:  # what earlier tests announced
            try:
                agent.heard(0.6)
            except Exception:
                break
        params = {"name": tool, "arguments": arguments}
        agent.send({"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params})
        heard = [agent.heard(20), agent.heard(20)]
        return changed in [{k: v for k, v in each.items() if k != "params"} for each in heard]

    assert announced(20, "commit_memory", scope="vault", key="news", content="tapir")
    assert announced(21, "prune_memory", scope="vault", key="news")


# --- notes -----------------------------------------------------------------------------------


def test_entries_are_ordinary_notes(agent: Process, home: Path) -> None:
    commit(
        agent,
        "axolotl",
        "The axolotl <private>costs a fortune</private> regrows limbs",
        tags=["a b"],
    )
    commit(agent, "brief", "An axolotl for this session", scope="session")
    with Vault.open(home / "vault", caller=Caller(session="s1")) as vault:
        memory, brief = vault.get(["axolotl", "brief"]).memories
        raw = (home / "vault" / memory.path).read_bytes()
        vault.update("axolotl", content="The axolotl is pink")
        stored = vault.remember("Stored without a key: wombat", tags=["marsupial"])
    assert (memory.type, memory.scope, memory.key) == ("semantic", "user", "axolotl")
    assert memory.path.startswith("Memories/") and brief.path.startswith(".vaultmem/local/")
    assert not parse(raw, memory.path).problems and b"fortune" not in raw
    assert brief.session == "s1"
    assert read(agent, "memory://vault/axolotl")["content"] == "The axolotl is pink"
    assert keys(agent, "wombat", tags=["marsupial"]) == [stored.memory_id]
    assert said(agent, "prune_memory", scope="vault", key=stored.memory_id)["pruned_count"] == 1


def test_a_forgotten_entry_comes_back_when_it_is_committed_again(
    agent: Process, home: Path
) -> None:
    commit(agent, "dodo", "The dodo is gone")
    with Vault.open(home / "vault") as vault:
        vault.forget("dodo")
    assert keys(agent, "dodo") == []
    commit(agent, "dodo", "The dodo is back")
    assert keys(agent, "dodo") == ["dodo"]


# --- sessions --------------------------------------------------------------------------------


def test_sessions_do_not_see_each_other(home: Path, agent: Process) -> None:
    commit(agent, "mine", "pangolin of the first session", scope="session")
    with server(home, "s2") as other:
        greet(other)
        commit(other, "mine", "pangolin of the second", scope="session")
        for scope in ("session", "all"):
            found = said(other, "search_memories", query="pangolin", scope=scope)["results"]
            assert [each["content"] for each in found] == ["pangolin of the second"]
        for uri in ("memory://session/s1", "memory://session/S2", "memory://session/../s1"):
            assert read(other, uri) == []
        for path in ("mine", "../s1/mine", ".vaultmem/local/volatile/s1/mine"):
            reply = other.request(3, "resources/read", uri=f"memory://vault/{path}")
            assert reply["error"]["code"] == -32602
        extra = {"session_id": "s1", "session": "s1", "sessionId": "s1"}
        assert said(other, "prune_memory", scope="session", **extra) == {"pruned_count": 1}
        assert other.end() == 0
    contents = [each["content"] for each in read(agent, "memory://session/s1")]
    assert "pangolin of the first session" in contents


def test_a_session_ends_with_its_connection_unless_it_is_kept(home: Path) -> None:
    with server(home, "") as first:
        greet(first, "named by the client")
        commit(first, "x", "kiwi in passing", scope="session")
        commit(first, "y", "kiwi to stay")
        assert len(read(first, "memory://session/named%20by%20the%20client")) == 1
        assert read(first, "memory://session/default") == []
        assert first.end() == 0
    with server(home, "kept", MEMORY_MCP_SESSION_PERSIST="true") as second:
        greet(second)
        assert keys(second, "kiwi") == ["y"]
        commit(second, "z", "kiwi kept", scope="session")
        second.signal(signal.SIGTERM)
        assert second.child.wait(60) == 0
    with server(home, "other") as third:
        greet(third, "kept")  # whoever connects says which session it is
        assert sorted(keys(third, "kiwi")) == ["y", "z"]
        assert third.end() == 0
    with server(home, "") as fourth:
        greet(fourth, "kept")
        assert keys(fourth, "kiwi") == ["y"]


def left_of(home: Path, session: str) -> list[Path]:
    return [*(home / "vault/.vaultmem/local/volatile").glob(f"{session}*/*.md")]


def test_a_connection_names_its_session_by_a_tool(home: Path) -> None:
    """Section 3.2, commit_memory: "or via a set_session_id tool call"."""
    with server(home, "first") as process:
        greet(process)
        commit(process, "a", "weasel of the first", scope="session")
        assert said(process, "set_session_id", session_id="sess_abc123") == {
            "session_id": "sess_abc123"
        }
        assert keys(process, "weasel") == []
        commit(process, "b", "weasel of the second", scope="session")
        assert [m["key"] for m in read(process, "memory://session/sess_abc123")] == ["b"]
        assert said(process, "set_session_id", session_id="first")
        assert keys(process, "weasel") == ["a"]
        assert refusal(process, "set_session_id", session_id=" ")["code"] == -32602
        assert process.end() == 0
    for session in ("first", "sess_abc123"):
        assert not left_of(home, session), "both ended with it"
    with server(home, "", "--session", "pinned") as bound:
        greet(bound)
        assert "bound to" in refusal(bound, "set_session_id", session_id="first")["message"]
        commit(bound, "x", "weasel of the pinned", scope="session")
        assert bound.end() == 0
    assert not left_of(home, "pinned")


def test_two_windows_of_one_session_leave_each_other_alone(home: Path) -> None:
    """Section 4: it is the last of its connections that ends a session."""
    with server(home, "both") as first:
        greet(first)
        commit(first, "one", "ferret of the first window", scope="session")
        with server(home, "both") as second:
            greet(second)
            assert keys(second, "ferret") == ["one"], "a second window wipes nothing"
            commit(second, "two", "ferret of the second window", scope="session")
            assert second.end() == 0
        assert sorted(keys(first, "ferret")) == ["one", "two"], "and none when it ends"
        assert first.end() == 0
    assert not left_of(home, "both")


def test_what_a_killed_server_left_is_cleared_at_the_next_start(home: Path) -> None:
    with server(home, "crashed") as first:
        greet(first)
        commit(first, "x", "numbat before the crash", scope="session")
        first.signal(signal.SIGKILL)
        first.child.wait(60)
    assert list((home / "vault/.vaultmem/local/volatile/crashed").iterdir())
    with server(home, "crashed") as second:
        greet(second)
        assert read(second, "memory://session/crashed") == []
        assert keys(second, "numbat") == []


# --- grants ----------------------------------------------------------------------------------


def test_a_read_only_grant_has_the_search_alone(home: Path) -> None:
    with server(home, "s9", "--read-only") as reader:
        greet(reader)
        tools = reader.request(2, "tools/list")["result"]["tools"]
        assert [tool["name"] for tool in tools] == ["search_memories"]
        for tool, arguments in (
            ("commit_memory", {"scope": "session", "key": "k", "content": "c"}),
            ("prune_memory", {"scope": "session"}),
        ):
            result = reader.call(3, tool, **arguments)
            assert result["isError"] is True
            assert result["structuredContent"]["error"] == "read_only"
        assert isinstance(keys(reader, "okapi"), list)
        assert reader.end() == 0


# --- the words -------------------------------------------------------------------------------


def test_a_search_is_right_over_all_memories(tmp_path: Path) -> None:
    """Section 3.2: FTS5 over every row, and section 'Why search isn't a SQL LIKE' of EvolutionDB.
    Oldest and newest, what a person changed or took away meanwhile, in an index begun anew."""
    root = tmp_path / "vault"
    with Vault.open(new_vault(root), {"model": "none"}) as vault:
        folder = root / "Memories"
        for i in range(2_500):
            more = " SearchService" if i % 500 == 7 else ""
            id_ = f"01KE6Q8Z4R9M2N4P6R7S{i:06}"
            text = f"---\nid: {id_}\nkey: k{i}\nscope: user\ntags: [t{i % 3}]\n---\nNumber {i} of many{more}\n"
            (folder / f"n{i}.md").write_text(text)
        vault.index_now()
        entries = KeyedEntries(vault)

        def found(query: str, **more: Any) -> list[str]:
            return [m.entry.key for m in entries.entries_matching(query, limit=100, **more).found]

        def having(query: str, **more: Any) -> list[str]:
            hits = entries.entries_containing(query, limit=100, **more)
            assert hits.searched == len(entries.keyed_entries()) or more
            return [m.entry.key for m in hits.found]

        rare = {"k7", "k507", "k1007", "k1507", "k2007"}
        assert set(found("SearchSer*")) == set(having("archserv")) == rare
        assert set(found("SearchService", tags=["t1"])) == {"k7", "k1507"}
        assert found("searchservice AND 7") == ["k7"]
        assert entries.entries_matching("SearchService", tags=["t1"]).searched == 833
        assert having("searchservice 50", tag="t0")[0] == "k507"
        assert len(having("nothing-of-this", tag="t0")) == 100
        assert having("up to 2499 of")[0] == "k2499"
        (folder / "n7.md").unlink()
        kept = (folder / "n8.md").read_text().partition("Number")[0]
        (folder / "n8.md").write_text(f"{kept}SearchServices now\n")
        (folder / "n507.md").rename(folder / "moved.md")
        vault.index_now()
        rare = rare - {"k7"} | {"k8"}
        assert set(found("SearchSer*")) == set(having("archserv")) == rare
        file = root / ".vaultmem/index/exact-words.db"
        file.write_bytes(b"rubbish" * 1000)
        assert set(KeyedEntries(vault).keyed_entries(limit=3))
    with Vault.open(root, {"model": "none"}) as vault:
        for query in ("SearchSer*", "SearchSer*"):  # the first may meet what is broken
            with contextlib.suppress(VaultmemError):
                hits = KeyedEntries(vault).entries_matching(query, limit=100).found
        assert {match.entry.key for match in hits} == rare
    (root / ".vaultmem/index/catalog.db").unlink()
    with Vault.open(root, {"model": "none"}) as vault:  # an index that is being filled
        hits = KeyedEntries(vault).entries_matching("SearchSer*", limit=100).found
        assert {match.entry.key for match in hits} == rare


def test_each_line_of_a_journal_has_its_own_tags(tmp_path: Path) -> None:
    """Section 3.2: ALL of the tags; neither the journal's other lines nor its summary have them."""
    with Vault.open(new_vault(tmp_path / "vault"), {"model": "none"}) as vault:
        vault.log("Sign with RS256.", session_id="s", tags=["auth"])
        vault.log("Lunch at noon.", session_id="s")
        vault.remember("Tokens rotate.", tags=["auth"])
        vault.end_session(session_id="s", summary="A day of tokens.")
        vault.index_now()
        entries = KeyedEntries(vault)
        found = entries.entries_matching("", tags=["auth"])
        told = {match.entry.content for match in found.found}
        assert told == {"Sign with RS256.", "Tokens rotate."} and found.searched == 2
        assert entries.entries_matching("lunch", tags=["auth"]).found == ()
        assert len(entries.entries_matching("lunch OR day").found) == 2
