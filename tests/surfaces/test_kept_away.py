"""What the settings keep away is nowhere: on no surface, also where it was indexed before."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.commands import command
from tests.surfaces.mcp.harness import Process, new_vault
from tests.waiting import until
from vaultmem.errors import InvalidInput, NotFound, ReadOnly, VaultmemError
from vaultmem.hooks import answer
from vaultmem.operations.caller import Caller
from vaultmem.surfaces import render
from vaultmem.surfaces.mcp import resources, tools
from vaultmem.vault import Vault

WORD = "qzdiary"
ID = "01KE6Q8Z4R9M2N4P6R7S8T9VWX"
PRIVATE = f"""---
id: {ID}
type: semantic
scope: user
source: claude-code
project: {WORD}project
aliases: [{WORD}alias]
tags: [{WORD}tag]
about: ["[[Harbour]]"]
---
The harbour {WORD} is at [[Harbour]] and [[{WORD}target]].

## Facts

- owns:: [[Harbour]] (2026-01-01 → ) ^f-ab12
"""
WAYS = {
    "exclude": 'exclude = ["Private"]\n',
    "another case": 'exclude = ["private/"]\n',
    "a pattern": 'exclude = ["Priv*/*.md"]\n',
    "access": '[access]\n"Private" = "none"\n',
    "inside": '[access]\nPrivate = "none"\n"Private/Open" = "read"\n',
}
QUICK = {"typing.quiet_seconds": 0.0, "model": "off"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    (root / ".vaultmem").mkdir(parents=True)
    (root / "Harbour.md").write_text("The harbour opens at seven. #public\n")
    (root / "Private").mkdir()
    (root / "Private" / "Diary qzdiary.md").write_text(PRIVATE)
    return root


def settings(root: Path, text: str) -> None:
    (root / ".vaultmem" / "config.toml").write_text(text)


def indexed(root: Path) -> None:
    with Vault.open(root, QUICK) as vault:
        vault.index_now()
        assert vault.recall(WORD).memories, "it was there before"


TOOLS: dict[str, list[dict[str, Any]]] = {
    "recall_memories": [
        {"query": WORD},
        {"query": "harbour", "strategy": "graph"},
        {"query": "harbour", "strategy": "keyword", "explain": True},
    ],
    "list_memories": [{}, {"folder": "Private"}, {"since": "2d"}, {"by": "person"}],
    "get_memories": [{"ids": [ID, f"Diary {WORD}", f"Private/Diary {WORD}.md"]}],
    "get_memory_context": [{"task_description": f"harbour {WORD}"}],
    "get_memory_status": [{}],
    "search_knowledge_graph": [{}, {"entity": "Harbour"}, {"entity": f"{WORD}target"}],
    "query_facts": [{}, {"object": "Harbour"}],
    "list_tags": [{}],
    "prune_memories": [{"scope": "user", "older_than": "0d", "dry_run": True}],
    "reflect_and_consolidate": [{"dry_run": True}],
    "store_memory": [
        {"content": "The harbour is at Harbour too.", "type": "semantic", "scope": "user"}
    ],
}
ASKED = (f"Private/Diary {WORD}.md", f"Diary {WORD}", ID, f"{WORD}alias", f"{WORD}target")


def everything_said(vault: Vault) -> Iterator[tuple[str, str]]:
    """Each way out, and what came of it; what was asked is not counted as an answer."""
    agent = vault.for_caller(Caller(client="claude-code", session="S"))
    for name, calls in TOOLS.items():
        for given in calls:
            try:
                told = json.dumps(render.plain_json(tools.BY_NAME[name].run(agent, given)))
            except VaultmemError as error:
                told = str(error)
            for asked in sorted(str(each) for value in given.values() for each in _texts(value)):
                told = told.replace(asked, "…")
            yield f"{name} {given}", told
    for path in resources.FIXED:
        yield path, resources.read_resource(agent, f"memory://{path}")["contents"][0]["text"]
    yield "resources", json.dumps(resources.list_resources(agent, None))
    for prompt in (f"what about the harbour and {WORD}?", "harbour"):
        payload = {"event": "prompt", "session_id": "T", "cwd": "/x", "prompt": prompt}
        yield "hook", json.dumps(answer.to_event(vault, payload)).replace(prompt, "…")
    for kind in ("titles", "tags", "projects", "entities"):
        yield (
            kind,
            json.dumps(agent.beginning(kind, WORD[:4]))
            + json.dumps(agent.beginning(kind, "Diary")),
        )


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return list(value) if isinstance(value, list) else []


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("before", [True, False], ids=["indexed before", "new"])
def test_it_is_on_no_surface(way: str, before: bool, root: Path) -> None:
    if before:
        indexed(root)
    settings(root, WAYS[way])
    with Vault.open(root, QUICK) as vault:
        for place, told in everything_said(vault):
            assert WORD not in told, place
        for ref in ASKED:
            with pytest.raises(VaultmemError) as refused:
                vault.update(ref, append="more")
            assert WORD not in str(refused.value).replace(ref, "")
            with pytest.raises(NotFound):
                vault.history(ref)
            with pytest.raises(NotFound):
                vault.restore(ref)
        assert WORD not in "".join(map(str, vault.export_lines()))


@pytest.mark.parametrize("way", ["exclude", "access"])
def test_the_index_keeps_no_word_and_no_vector_of_it(way: str, root: Path) -> None:
    indexed(root)
    settings(root, WAYS[way])
    with Vault.open(root, QUICK) as vault:
        index = vault.parts.index
        assert list(index.inventory.known()) == ["Harbour.md"]
        log = vault.parts.activity
        assert not log.last_seen([f"Private/Diary {WORD}.md"])
        assert all(WORD not in event.path for event in log.since(0))


def test_where_nobody_follows_a_large_vault_it_is_dropped_too(root: Path) -> None:
    for number in range(2_100):
        (root / f"Note {number}.md").write_text(f"harbour {number}\n")
    indexed(root)
    settings(root, WAYS["exclude"])
    done = command("search", WORD, "--vault", str(root), "--json")
    assert done.json["memories"] == [] and done.json["total_matched"] == 0


def test_all_of_a_vault_can_be_kept_away(root: Path) -> None:
    indexed(root)
    settings(root, 'exclude = ["*"]\n')
    with Vault.open(root, QUICK) as vault:
        assert not vault.recall("harbour").memories and not vault.list().total


def test_whether_there_is_such_a_file_is_not_told(root: Path) -> None:
    settings(root, WAYS["exclude"])
    with Vault.open(root, QUICK) as vault:
        said = []
        for name in (f"Diary {WORD}", "Nothing"):
            with pytest.raises(NotFound) as refused:
                vault.update(f"Private/{name}.md", append="x")
            said.append(str(refused.value).replace(name, "…"))
    assert said[0] == said[1]


def test_a_note_that_was_moved_away_has_no_history(root: Path) -> None:
    with Vault.open(root, QUICK) as vault:
        made = vault.remember(f"The harbour {WORD}.", type="semantic", scope="user")
        vault.update(made.memory_id, append="more")
    settings(root, WAYS["exclude"])
    shutil.move(root / made.path, root / "Private" / "Moved.md")
    with Vault.open(root, QUICK) as vault:
        vault.index_now()
        with pytest.raises(NotFound):
            vault.history(made.memory_id)
        with pytest.raises(NotFound):
            vault.restore(made.memory_id)


def test_a_folder_that_may_only_be_read_is_found_and_never_written(root: Path) -> None:
    settings(root, '[access]\nPrivate = "read"\n"Private/Open" = "write"\n')
    (root / "Private" / "Open").mkdir()
    (root / "Private" / "Open" / "List.md").write_text("- milk\n")
    file = root / "Private" / f"Diary {WORD}.md"
    with Vault.open(root, QUICK) as vault:
        assert vault.recall(WORD).memories
        tries: list[Callable[[], object]] = [
            lambda: vault.update(ID, append="more"),
            lambda: vault.forget(ID),
            lambda: vault.tag(ID, add=["x"]),
            lambda: vault.remove(ID),
            lambda: vault.prune("user", older_than="2999-01-01"),
            lambda: vault.promote(ID, "user"),
        ]
        for attempt in tries:
            with pytest.raises((ReadOnly, InvalidInput)):
                attempt()
        assert file.read_text() == PRIVATE
        vault.update("Private/Open/List.md", append="- tea")
    assert "tea" in (root / "Private" / "Open" / "List.md").read_text()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[access]\nPrivate = "nothing"\n', "access to 'Private' must be"),
        ('[access]\n"../x" = "none"\n', "access names folders of the vault"),
        ('access = "none"\n', "access is a table"),
        ('[acess]\nPrivate = "none"\n', "did you mean [access]"),
    ],
)
def test_wrong_access_is_refused_by_every_command(text: str, told: str, root: Path) -> None:
    settings(root, text)
    for asked in (
        ["search", "x"],
        ["recent", "--since", "today"],
        ["show", "Harbour"],
        ["add", "x"],
    ):
        done = command(*asked, "--vault", str(root))
        assert done.code == 2 and told in done.err, (asked, done.err)


def test_a_running_server_follows_the_settings(tmp_path: Path, root: Path) -> None:
    quick = {"VAULTMEM_TYPING_QUIET_SECONDS": "0", "VAULTMEM_MODEL": "off"}
    new_vault(tmp_path / "other")
    with Process(tmp_path, "--vault", str(root), env=quick) as process:
        process.start()
        asked = {"query": WORD, "strategy": "keyword"}

        def answered() -> str:
            return json.dumps(process.call(1, "recall_memories", **asked))

        until(lambda: "Private/" in answered())
        settings(root, WAYS["exclude"])
        assert "Private/" not in answered(), "at once"
        settings(root, 'exlude = ["Private"]\n')
        refused = process.call(2, "recall_memories", **asked)
        assert refused["isError"] and "did you mean 'exclude'" in json.dumps(refused)
        read = process.request(3, "resources/read", uri="memory://recent")
        assert "did you mean" in read["error"]["message"]
        settings(root, WAYS["exclude"])
        assert "Private/" not in answered()
        settings(root, "")  # as an editor does, before it fills the file
        assert "Private/" not in answered(), "what opens more has to stand there for a while"
        until(lambda: "Private/" in answered())
        assert process.end() == 0


def test_two_processes_with_other_settings_do_not_open_what_one_keeps_away(root: Path) -> None:
    with Vault.open(root, QUICK | {"exclude": ("Private",)}) as closed:
        assert not closed.recall(WORD).memories
        with Vault.open(root, QUICK) as opened:
            opened.index_now()
            assert opened.recall(WORD).memories
            assert not closed.recall(WORD).memories and not closed.list(folder="Private").total
