"""Sources that never end, or that are far larger than they look: a sentence, soon, in little memory."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import clean_environment, snapshot
from tests.journeys.test_hostile_settings import at_most
from tests.transfer import exports
from vaultmem.errors import InvalidInput, VaultmemError
from vaultmem.transfer import SOURCES
from vaultmem.transfer.sources import databases
from vaultmem.vault import Vault

EVERY = (*SOURCES, "auto")
SECONDS = 20  # on a loaded machine; each takes some tenths
LARGE = 300_000_000
MOST_MEMORY = 400_000_000  # of which the program itself takes 100


def refused(vault: Vault, source: str, path: Path) -> str:
    with at_most(SECONDS), pytest.raises(VaultmemError) as told:
        vault.import_(source, path)
    assert str(told.value).endswith((".", "?")) or "vaultmem import" in str(told.value)
    assert len(str(told.value)) < 1000
    return str(told.value)


def taken(vault: Vault, source: str, path: Path) -> None:
    """Either imported, as far as it could be read, or refused with a sentence."""
    with at_most(SECONDS):
        try:
            vault.import_(source, path, dry_run=True)
        except VaultmemError as error:
            assert str(error)


# --- what is no file ------------------------------------------------------------------------------


@pytest.mark.parametrize("source", EVERY)
def test_a_pipe_or_a_device_is_not_waited_for(vault: Vault, away: Path, source: str) -> None:
    os.mkfifo(away / "pipe")
    (away / "zero").symlink_to("/dev/zero")
    for name in ("pipe", "zero"):
        assert "neither a file nor a folder" in refused(vault, source, away / name)


@pytest.mark.parametrize("source", EVERY)
def test_nor_is_one_in_a_folder(vault: Vault, away: Path, source: str) -> None:
    for name in (
        *("conversations.json", "memory.jsonl", "memories.json", "projects.json", "note.md"),
        *("claude-mem.db", "chroma.sqlite3", "sqlite_exact.sqlite3", "knowledge_graph.sqlite3"),
    ):
        os.mkfifo(away / name)
    (away / "round").symlink_to(away)
    (away / "zero.md").symlink_to("/dev/zero")
    taken(vault, source, away)
    (away / "real.md").write_text("A note\n")
    taken(vault, source, away)


def test_names_that_are_no_text_are_left_and_told(vault: Vault, away: Path) -> None:
    (away / "real.md").write_text("A note\n")
    (Path(os.fsdecode(os.fsencode(away) + b"/\xff\xfe.md"))).write_text("Another\n")
    done = vault.import_("folder", away)
    assert (done.added, done.left) == (1, 1)


def test_a_folder_of_very_many_files_is_refused(
    vault: Vault, away: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        (away / f"{number}.md").write_text("x")
    for module in ("opening", "folder"):
        monkeypatch.setattr(f"vaultmem.transfer.sources.{module}.MOST_FILES", 10)
    for source in ("folder", "chatgpt"):
        assert "more than 10 files" in refused(vault, source, away)


# --- databases ------------------------------------------------------------------------------------

ENDLESS = "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id, {} FROM n"


def claude_mem_with(path: Path, statement: str) -> Path:
    """claude-mem's database, with something else in the place of its observations."""
    exports.claude_mem_database(path)
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA journal_mode=DELETE")
        db.execute("DROP TABLE observations")
        db.executescript(statement)
    db.close()
    return path


@pytest.mark.parametrize(
    "statement",
    [
        f"CREATE VIEW observations AS {ENDLESS.format('id AS text')}",
        "CREATE VIRTUAL TABLE observations USING fts5(id, text)",
    ],
)
def test_only_real_tables_are_read(vault: Vault, away: Path, statement: str) -> None:
    path = claude_mem_with(away / "claude-mem.db", statement)
    with at_most(SECONDS):
        done = vault.import_("claude-mem", path)
    assert done.added == 1  # the session, by its summary and its prompt


@pytest.mark.parametrize("table", ["embeddings", "segments", "collections", "embedding_metadata"])
def test_an_endless_palace_has_no_drawers(vault: Vault, away: Path, table: str) -> None:
    folder = exports.mempalace(away / "palace")
    with sqlite3.connect(folder / "chroma.sqlite3") as db:
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        fields = ", ".join(f"id AS {name}" for name in columns if name != "id")
        db.execute(f"DROP TABLE {table}")
        db.execute(f"CREATE VIEW {table} AS {ENDLESS.format(fields)}")
    db.close()
    with at_most(SECONDS):
        done = vault.import_("mempalace", folder)
    assert done.added == 2  # the entities of the graph beside it


def test_tables_that_multiply_each_other_are_refused(vault: Vault, away: Path) -> None:
    """A million rows of 2,000: a million times more would take for ever."""
    folder = exports.mempalace(away / "palace")
    with sqlite3.connect(folder / "chroma.sqlite3") as db:
        db.execute("DROP TABLE embeddings")
        db.execute("CREATE TABLE embeddings (id INTEGER, segment_id TEXT, embedding_id TEXT)")
        db.executemany(
            "INSERT INTO embeddings VALUES (1, 's1', ?)", [(f"d{n}",) for n in range(1000)]
        )
        db.executemany(
            "INSERT INTO embedding_metadata (id, key, string_value) VALUES (1, ?, 'x')",
            [(f"k{n}",) for n in range(1000)],
        )
    db.close()
    with at_most(SECONDS), pytest.raises(InvalidInput, match="more rows than fit into it"):
        vault.import_("mempalace", folder, dry_run=True)


def test_a_value_that_is_worked_out_is_not(vault: Vault, away: Path) -> None:
    statement = (
        "CREATE TABLE observations (id, text AS (printf('%.*c', 20000000, 'x')));"
        "INSERT INTO observations VALUES (1)"
    )
    path = claude_mem_with(away / "claude-mem.db", statement)
    with at_most(SECONDS):
        assert vault.import_("claude-mem", path).added == 1


def test_a_question_without_an_answer_is_given_up(
    vault: Vault, away: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "_SECONDS", 0.2)
    path = exports.claude_mem_database(away / "claude-mem.db")
    question = f"SELECT count(*) FROM ({ENDLESS.format('1')})"
    with (
        at_most(SECONDS),
        pytest.raises(InvalidInput, match="gave no answer within"),
        databases.open_database(path) as tables,
    ):
        list(tables.select_from(question, tables=("sdk_sessions",)))


def test_what_must_be_held_has_a_bound(
    vault: Vault, away: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("databases", "entities"):
        monkeypatch.setattr(f"vaultmem.transfer.sources.{module}.MOST_HELD", 300)
    path = exports.claude_mem_database(away / "claude-mem.db")
    assert "Export less at a time" in refused(vault, "claude-mem", path)
    things = [exports.entity(f"Thing {n}", "x", ["said of it"]) for n in range(10)]
    lines = exports.lines(away / "memory.jsonl", things)
    assert "Export less at a time" in refused(vault, "server-memory", lines)


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_database_ends_in_a_sentence(vault: Vault, away: Path, seed: int) -> None:
    chance = random.Random(seed)
    folder = exports.mempalace(away / "palace")
    path = exports.claude_mem_database(away / "claude-mem.db")
    for file in (path, folder / "chroma.sqlite3", folder / "knowledge_graph.sqlite3"):
        raw = bytearray(file.read_bytes())
        for _ in range(chance.choice([1, 10, 200])):
            raw[chance.randrange(100, len(raw))] = chance.randrange(256)
        file.write_bytes(raw[: chance.choice([len(raw), chance.randrange(600, len(raw))])])
    taken(vault, "claude-mem", path)
    taken(vault, "mempalace", folder)


# --- JSON -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [s for s in EVERY if s not in ("mempalace", "folder")])
@pytest.mark.parametrize(
    "text",
    ["[" * 2_000_000, '{"a":' * 400_000, '{"a":' * 900 + "1" + "}" * 900, "[" + "[]," * 9 + "["],
    ids=["lists", "objects", "closed", "broken"],
)
def test_nesting_ends_in_a_sentence(vault: Vault, away: Path, source: str, text: str) -> None:
    (away / "memory.jsonl").write_text(text)
    (away / "other.json").write_text('{"content": "Tea"}\n' + text + '\n{"content": "Coffee"}\n')
    for name in ("memory.jsonl", "other.json"):
        taken(vault, source, away / name)


def test_a_line_that_is_too_long_is_left_and_the_next_one_comes(
    vault: Vault, away: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaultmem.transfer.sources.json_stream.MOST_RECORD", 3_000_000)
    long = json.dumps({"content": "x" * 5_000_000})
    for number, order in enumerate(
        [[long, "one", "two"], ["one", long, "two"], ["one", "two", long]]
    ):
        path = away / f"{number}.jsonl"
        path.write_text(
            "\n".join(o if o is long else json.dumps({"content": f"{o}{number}"}) for o in order)
        )
        done = vault.import_("jsonl", path)
        assert (done.added, done.left) == (2, 1), number
        assert "characters" in done.left_out[0].why


# --- zips -----------------------------------------------------------------------------------------


def chats(*names: str) -> str:
    return json.dumps(
        [{"uuid": n, "name": n, "chat_messages": [{"text": f"Hello {n}"}]} for n in names]
    )


def test_twenty_thousand_members_take_seconds(vault: Vault, away: Path) -> None:
    """Linear in their number: four times as many took twenty-five times as long."""
    with zipfile.ZipFile(away / "claude.zip", "w", zipfile.ZIP_STORED) as archive:
        for number in range(20_000):
            archive.writestr(f"projects/{number}.json", '{"uuid": "u", "docs": []}')
        archive.writestr("conversations.json", chats("one"))
    started = time.process_time()
    done = vault.import_("claude", away / "claude.zip")
    assert done.added == 1
    assert time.process_time() - started < 15


def test_members_with_one_name_links_and_ways_out(vault: Vault, root: Path, away: Path) -> None:
    link = zipfile.ZipInfo("memories.json")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(away / "claude.zip", "w") as archive:
        archive.writestr("../../../conversations.json", chats("one"))
        archive.writestr("/etc/conversations.json", chats("two"))
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("/etc/conversations.json", chats("three"))
        archive.writestr(link, "/etc/passwd")
        archive.writestr("inner/conversations.json/", "")
        archive.writestr("conversations.json.zip", b"PK")
    before = snapshot(away)
    assert vault.import_("claude", away / "claude.zip").added == 3
    assert snapshot(away) == before
    assert not (root.parent / "conversations.json").exists()


def test_members_that_stand_for_the_same_bytes_are_a_bomb(vault: Vault, away: Path) -> None:
    """Each alone is harmless; a thousand of them are not."""
    path = away / "claude.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("projects/a.json", random.Random(1).randbytes(20_000) * 10)
        first = archive.infolist()[0]
        for number in range(800):
            other = zipfile.ZipInfo(f"projects/{number}.json")
            for name in ("header_offset", "compress_size", "file_size", "CRC", "compress_type"):
                setattr(other, name, getattr(first, name))
            archive.filelist.append(other)
        archive._didModify = True
    assert "would grow to 160,200,000 bytes" in refused(vault, "claude", path)


def test_a_list_of_files_without_end_is_not_read(vault: Vault, away: Path) -> None:
    path = away / "claude.zip"
    end = b"PK\5\6" + bytes(8) + (400_000_000).to_bytes(4, "little") + bytes(6)
    with open(path, "wb") as file:
        file.truncate(400_000_000)
        file.seek(0, os.SEEK_END)
        file.write(end)
    assert "more files than any export" in refused(vault, "claude", path)
    large = b"PK\6\6" + bytes(36) + (400_000_000).to_bytes(8, "little") + bytes(8)
    there = b"PK\6\7" + bytes(16)
    with open(path, "r+b") as file:
        file.seek(400_000_000)
        file.write(large + there + b"PK\5\6" + bytes(18))
    assert "more files than any export" in refused(vault, "claude", path)


def test_an_encrypted_member_is_said_to_be_so(vault: Vault, away: Path) -> None:
    path = exports.claude(away / "claude.zip")
    raw = bytearray(path.read_bytes())
    for sign, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        at = -1
        while (at := raw.find(sign, at + 1)) >= 0:
            raw[at + offset] |= 1
    path.write_bytes(raw)
    assert "encrypted" in refused(vault, "claude", path)


# --- memory ---------------------------------------------------------------------------------------


MEASURED = """
import re, sys, time
from vaultmem.surfaces.cli import main
code = main(sys.argv[1:])
peak = re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]
print(code, peak, time.process_time(), file=sys.stderr)
"""


def blob(path: Path) -> None:
    exports.claude_mem_database(path)
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA journal_mode=OFF")
        db.execute(f"INSERT INTO observations (id, text) VALUES (7, zeroblob({LARGE}))")
    db.close()


def hole(before: bytes, after: bytes = b"") -> Callable[[Path], None]:
    def make(path: Path) -> None:
        with open(path, "wb") as file:
            file.write(before)
            file.truncate(LARGE)
            file.seek(0, os.SEEK_END)
            file.write(after)

    return make


@pytest.mark.parametrize(
    ("source", "name", "make", "sentence"),
    [
        ("claude-mem", "claude-mem.db", blob, "a value in it has more than 8,000,000 bytes"),
        ("jsonl", "a.jsonl", hole(b'{"content": "', b'"}\n{"content": "Tea"}'), ""),
        ("chatgpt", "conversations.json", hole(b'[{"title": "'), "breaks off or is damaged"),
        ("mem0", "memories.md", hole(b"---\nid: 1\n---\n"), ""),
        ("folder", "notes/large.md", hole(b"# Large\n"), "more than 50,000,000 bytes"),
    ],
)
def test_memory_has_a_bound(
    root: Path,
    away: Path,
    source: str,
    name: str,
    make: Callable[[Path], None],
    sentence: str,
) -> None:
    (root / ".vaultmem").mkdir()
    (away / "notes").mkdir()
    (away / "notes" / "small.md").write_text("Small\n")
    make(away / name)
    path = away / name.partition("/")[0]
    child = subprocess.run(
        [sys.executable, "-c", MEASURED, "import", source, str(path), "--vault", str(root)],
        env=clean_environment(root.parent), capture_output=True, text=True,
    )  # fmt: skip
    said = child.stdout + child.stderr
    *_, code, kilobytes, seconds = said.split()
    assert int(code) in (0, 2) and sentence in said and "Traceback" not in said, said
    assert int(kilobytes) * 1024 < MOST_MEMORY, said
    assert float(seconds) < SECONDS, said
