"""Every command, an agent and a watcher on a vault with notes of every kind: nobody stumbles."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import anyio
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests import odd_notes
from tests.commands import command
from tests.surfaces.mcp.harness import call, client, serving
from tests.waiting import until
from vaultmem.vault import Vault

QUICK = (Phase.explicit, Phase.generate)  # shrinking would run thousands of commands
AT_MOST = 20.0  # seconds of work for all commands on one vault

contents = st.sampled_from(list(odd_notes.CONTENTS.values())) | st.binary(max_size=300)
bytes_of_names = st.binary(min_size=1, max_size=40).map(
    lambda raw: raw.replace(b"\0", b"-") + b".md"
)
names = st.sampled_from(odd_notes.NAMES) | bytes_of_names
seconds = st.none() | st.sampled_from(odd_notes.SECONDS) | st.integers(-(2**40), 2**40)
notes = st.lists(st.tuples(names, contents, seconds), min_size=1, max_size=12)
kinds = st.sets(st.sampled_from(sorted(odd_notes.KINDS)), max_size=3)

COMMANDS = (
    "index", "search apple", "search apple --json", "search zebra --explain", "status", "status --json",
    "doctor", "doctor --json", "doctor --all --secrets", "recent", "recent --json --limit 100", "tags",
    "tags --json", "graph", "graph --json", "graph --dot", "graph --mermaid", "graph --canvas",
    "context apple", "context --json", "timeline", "timeline --json", "facts zebra", "consolidate",
    "conflicts", "conflicts --json", "history ordinary --json", "add kiwi", "forget kiwi", "restore kiwi",
    "index --rebuild --json", "doctor --verify", "sync",
)  # fmt: skip


def run_all(vault: Path) -> None:
    """No command may fail but for what it was asked, and none may say that it is our fault."""
    where = ("--vault", str(vault))
    for line in COMMANDS:
        for person in (True, False):
            done = command(*line.split(), *where, person=person)
            allowed = (0, 1, 2) if line in ("sync", "history ordinary --json") else (0, 1)
            assert done.code in allowed, (line, done.out, done.err)
            assert "fault of vaultmem, not yours" not in done.err and "Traceback" not in done.err
            if "--json" in line and done.code == 0:
                assert json.loads(done.out) is not None
    for kind in ("jsonl", "zip"):
        done = command("export", kind, str(vault.parent / f"out.{kind}"), *where)
        assert done.code == 0, done.err
    for line in (
        "show",
        "facts",
        "graph",
        "search",
        "history",
        "forget",
        "timeline",
        "search --tag",
    ):
        done = command(*line.split(), "caf\udce9", *where)
        assert done.code in (0, 1, 2), (line, done.err)
    for event in ("SessionStart", "UserPromptSubmit", "SessionEnd"):
        said = {"hook_event_name": event, "session_id": "s", "prompt": "the apple number3"}
        done = command("hook", *where, given=json.dumps(said).encode())
        assert (done.code, done.err) == (0, "")


def check(vault: Path) -> None:
    """Ordinary notes are found, listed and read; every other is, or is accounted for."""
    with Vault.open(vault, {"model": "off"}) as opened:
        status = opened.status()
        listed = {memory.path for memory in opened.list(limit=500).memories}
        for number in range(odd_notes.ORDINARY):
            path = f"ordinary {number}.md"
            hits = opened.recall(f"number{number}", strategy="keyword").memories
            assert path in {hit.path for hit in hits}
            assert path in listed
            assert not opened.get([path]).missing
        skipped = {each.path: each.reason for each in status.index.skipped}
        for path in opened.parts.store.walk().notes:
            assert path in opened.parts.index.inventory.known() or skipped.get(path), path
        assert opened.parts.store.walk().refused.keys() <= skipped.keys()
        missing = set(opened.get(sorted(listed)[:50]).missing)
        assert not missing, "what is listed can be read"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("VAULTMEM_MODEL", "off")
    for name in ("VAULTMEM_VAULT", "CLAUDE_PROJECT_DIR", "CLAUDE_CODE_SESSION_ID"):
        monkeypatch.delenv(name, raising=False)


@settings(max_examples=6, derandomize=True, deadline=None, phases=QUICK)
@given(notes, kinds)
def test_every_command_on_any_vault(
    odd: list[tuple[bytes, bytes, int | None]], made: set[str]
) -> None:
    folder = Path(tempfile.mkdtemp(prefix="vaultmem-test-"))
    vault = folder / "vault"
    try:
        (vault / ".vaultmem").mkdir(parents=True)
        odd_notes.ordinary(vault)
        for name, content, stamp in odd:
            odd_notes.put(vault, name, content, stamp)
        for kind in made:
            odd_notes.KINDS[kind](vault)
        started = time.process_time()
        run_all(vault)
        assert time.process_time() - started < AT_MOST
        check(vault)
    finally:
        shutil.rmtree(folder)


def test_every_command_on_all_of_them_at_once(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    (vault / ".vaultmem").mkdir(parents=True)
    odd_notes.everything(vault)
    run_all(vault)
    check(vault)


def test_an_agent_on_all_of_them(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    (vault / ".vaultmem").mkdir(parents=True)
    odd_notes.everything(vault)

    async def work() -> None:
        with serving(vault) as served:
            async with client(served, "legacy") as agent:
                found = await call(agent, "recall_memories", query="apple number3")
                assert "ordinary 3.md" in [hit["path"] for hit in found["memories"]]
                listed = await call(agent, "list_memories", limit=100)
                assert listed["total"] > 100
                for start in range(0, 100, 50):
                    paths = [m["path"] for m in listed["memories"]]
                    ids = paths[start : start + 50]
                    assert not (await call(agent, "get_memories", ids=ids))["missing"]
                few = (await call(agent, "get_memory_status"))["index"]
                read = await agent.read_resource("memory://status")
                everything = json.loads(read.contents[0].text)["index"]["skipped"]  # type: ignore[union-attr]
                assert few["skipped_total"] == len(everything) > len(few["skipped"])
                paths = {each["path"] for each in everything}
                assert {"caf\\xe9.md", "fold\\xe9r", "pipe.md", "sparse.md"} <= paths
                await call(agent, "get_memory_context", task_description="apple")
                await call(agent, "list_tags")
                await call(agent, "search_knowledge_graph")
                await call(agent, "get_timeline")
                resources = (await agent.list_resources()).resources
                assert len(resources) > 100
                for resource in resources:
                    await agent.read_resource(resource.uri)

    anyio.run(work)


def test_a_watcher_hears_of_all_of_them(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    (vault / ".vaultmem").mkdir(parents=True)
    with Vault.open(vault, {"model": "off"}) as opened:
        follower = opened.follower(lambda report: None)
        follower.start()
        try:
            until(lambda: follower.watcher and follower.watcher.mode == "native")
            odd_notes.everything(vault)
            until(lambda: "ordinary 4.md" in opened.parts.index.inventory.known())
            for number in range(5):
                odd_notes.put(vault, b"again \xff %d.md" % number, b"zebra")
                (vault / f"after {number}.md").write_text("kiwi")
            until(lambda: "after 4.md" in opened.parts.index.inventory.known())
            os.rename(os.fsencode(vault) + b"/caf\xe9.md", vault / "cafe.md")
            until(lambda: "cafe.md" in opened.parts.index.inventory.known())
            (vault / "cafe.md").rename(os.fsdecode(os.fsencode(vault) + b"/caf\xe8.md"))
            until(lambda: "cafe.md" not in opened.parts.index.inventory.known())
            assert follower.leading
        finally:
            follower.stop()


def test_git_shares_what_it_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = tmp_path / "vault"
    (vault / ".vaultmem").mkdir(parents=True)
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Tester")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "tester@localhost")
    subprocess.run(["git", "init", "-q", str(vault)], check=True)
    odd_notes.ordinary(vault)
    for number, name in enumerate(odd_notes.NAMES):
        odd_notes.put(vault, name, f"zebra {number}".encode())
    done = command("sync", "--vault", str(vault))
    assert done.code == 0, done.out + done.err
    kept = subprocess.run(["git", "-C", str(vault), "ls-files", "-z"], capture_output=True)
    for name in (b"ordinary 3.md", b"two\nlines.md", b"-rf.md", b"back\\slash.md"):
        assert name in kept.stdout.split(b"\0")
    done = command("sync", "--json", "--vault", str(vault))
    assert done.code == 0, done.out + done.err
