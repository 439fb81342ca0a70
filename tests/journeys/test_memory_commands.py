"""A person and their memories on the command line: real processes, a real vault, a real editor."""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import nursery
from tests.conftest import TEMPLATE, Ran, Run, clean_environment, snapshot
from vaultmem import vault as service
from vaultmem.base.own_program import command_to_type

ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
QUIET = {"VAULTMEM_TYPING_QUIET_SECONDS": "0"}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = tmp_path / "Brain"
    service.make_vault(service.plan_vault(str(root), git=False, examples=False), git=False)
    return root


@pytest.fixture
def note(vault: Path) -> Path:
    file = vault / "Plan.md"
    file.write_bytes(b"---\nzip: 00123 # keep\n---\nWe meet on Monday.\n")
    return file


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TEMPLATE, tmp_path / "Examples"))


@pytest.fixture
def me(run: Run, vault: Path) -> Run:
    """A person in their vault, who is not kept waiting for their own typing."""

    def call(*arguments: str, env: dict[str, str] | None = None, cwd: Path = vault) -> Ran:
        return run(*arguments, cwd=cwd, env=QUIET | (env or {}))

    return call


@pytest.fixture
def editor(tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """An editor that does what the given lines of Python do to `text`, or to the `file`."""

    def make(lines: str) -> dict[str, str]:
        script = tmp_path / "my editor.py"
        script.write_text(
            "import pathlib, sys\nfile = pathlib.Path(sys.argv[1])\ntext = file.read_text()\n"
            + textwrap.dedent(lines)
            + "\nif file.exists(): file.write_text(text)\n"
        )
        return {"EDITOR": f"'{sys.executable}' '{script}'", "VISUAL": ""}

    return make


def piped(vault: Path, text: bytes, *arguments: str) -> Ran:
    done = nursery.run(
        [sys.executable, "-m", "vaultmem", *arguments], cwd=vault, input=text,
        capture_output=True, env=clean_environment(vault.parent) | QUIET,
    )  # fmt: skip
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def on_terminal(vault: Path, *arguments: str, env: dict[str, str] | None = None) -> str:
    """Everything that a terminal of 60 columns shows."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "vaultmem", *arguments], cwd=vault,
        stdin=theirs, stdout=theirs, stderr=theirs,
        env=clean_environment(vault.parent) | QUIET | {"COLUMNS": "60", "TERM": "xterm"} | (env or {}),
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    process.wait(30)
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


# --- the whole way -------------------------------------------------------------------------


def test_a_memory_from_its_first_word_to_its_return(
    me: Run, vault: Path, editor: Callable[[str], dict[str, str]]
) -> None:
    done = me("add", "Refresh tokens rotate every 24 hours", "--tag", "auth", "--tag", "tokens")
    assert done.code == 0, done.err
    memory, path = done.out.strip().split("\t")
    assert ULID.fullmatch(memory)
    assert path == "Memories/Refresh tokens rotate every 24 hours.md"
    assert "  - auth\n  - tokens\n" in (vault / path).read_text()

    done = me("search", "token", "rotation")
    assert (done.code, done.out) == (0, f"{path}\tRefresh tokens rotate every 24 hours\n")
    assert "1 found, keyword" in done.err

    done = me("show", memory)
    assert done.out.splitlines() == [
        "Refresh tokens rotate every 24 hours",
        path,
        "semantic · user · #auth · #tokens",
        "",
        "Refresh tokens rotate every 24 hours",
    ]

    done = me("edit", memory, env=editor("text = text.replace('24 hours', '12 hours')"))
    assert (done.code, done.out) == (0, f"{memory}\t{path}\n"), done.err
    assert "Refresh tokens rotate every 12 hours\n" in (vault / path).read_text()
    assert not list((vault / ".vaultmem/local/edits").iterdir()), "the copy is cleared away"

    done = me("history", memory)
    now, before = (line.split("\t") for line in done.out.splitlines())
    assert now[2] == "as it is now"
    assert before[2].startswith("before: ")
    assert "24 hours\n" in me("history", memory, before[0]).out
    changed = me("history", memory, "--diff").out.splitlines()
    assert "-Refresh tokens rotate every 24 hours" in changed
    assert "+Refresh tokens rotate every 12 hours" in changed

    done = me("restore", memory, before[0][:8])
    assert (done.code, done.out) == (0, f"{memory}\t{path}\n"), done.err
    assert me("show", memory).out.endswith("\nRefresh tokens rotate every 24 hours\n")

    done = me("forget", memory, "--reason", "They are gone")
    assert (done.code, done.out) == (0, f"{memory}\t{path}\n"), done.err
    assert (vault / path).exists()
    assert "forgotten: They are gone" in me("show", memory).out
    assert me("search", "tokens").code == 1
    assert path in me("search", "tokens", "--forgotten").out

    assert me("restore", memory).code == 0
    assert path in me("search", "tokens").out

    done = me("tags")
    assert [line.split() for line in done.out.splitlines()] == [["1", "#auth"], ["1", "#tokens"]]
    done = me("recent", "--limit", "1")
    assert done.out.split("\t")[1:] == [path, "semantic · #auth · #tokens\n"]
    done = me("context", "rotate", "tokens")
    assert "Refresh tokens rotate every 24 hours" in done.out
    assert "tokens." in done.err


def test_the_same_way_for_a_program(
    me: Run, vault: Path, editor: Callable[[str], dict[str, str]]
) -> None:
    added = me("add", "The gateway signs with RS256", "--json").json
    memory = added["memory_id"]
    assert added["path"] == "Memories/The gateway signs with RS256.md"
    found = me("search", "gateway", "--json").json
    assert [each["id"] for each in found["memories"]] == [memory]
    assert found["total_matched"] == 1
    assert {"revision", "pending", "skipped"} == set(found["index"])
    shown = me("show", memory, "--json").json
    assert shown["content"] == "The gateway signs with RS256"
    assert shown["version"] == added["version"]
    edited = me(
        "edit", memory, "--json", env=editor("text = text.replace(' RS256', ' ES256')")
    ).json
    assert edited["version"] != added["version"]
    versions = me("history", memory, "--json").json["versions"]
    assert [version["current"] for version in versions] == [True, False]
    assert versions[1]["version"] == added["version"]
    old = me("history", memory, added["version"], "--json").json
    assert old["text"].endswith("RS256\n")
    assert "+The gateway signs with ES256" in me("history", memory, "--diff", "--json").json["diff"]
    restored = me("restore", memory, added["version"], "--json").json
    assert restored["memory_id"] == memory
    assert me("forget", memory, "--json").json["status"] == "forgotten"
    assert me("search", "gateway", "--json").json["memories"] == []
    assert me("restore", memory, "--json").json["path"] == added["path"]
    assert me("tags", "--json").json == {"tags": []}
    recent = me("recent", "--limit", "1", "--json").json
    assert recent["memories"][0]["id"] == memory
    assert recent["total"] >= 1
    block = me("context", "gateway", "--max-tokens", "500", "--json").json
    assert "RS256" in block["context_block"]
    assert block["tokens_used"] <= 500


# --- add -----------------------------------------------------------------------------------


def test_add_takes_what_is_piped_in(vault: Path) -> None:
    text = "First line.\n\nSecond – with an em dash.\n".encode()
    for arguments in (["add"], ["add", "-", "--title", "Another"]):
        done = piped(vault, text, *arguments)
        assert done.code == 0, done.err
        path = done.out.strip().split("\t")[1]
        assert (vault / path).read_bytes().endswith(b"---\n" + text)
    assert piped(vault, b"caf\xe9", "add").code == 2
    assert "empty" in piped(vault, b" \n", "add").err


def test_add_puts_a_memory_where_it_belongs_and_names_its_neighbours(me: Run, vault: Path) -> None:
    text = ("Deploys", "to", "the", "staging", "cluster", "happen", "on", "Monday")
    done = me("add", *text, "--project", "Atlas", "--importance", "0.9", "--source", "me")
    assert done.out.split("\t")[1].startswith("Memories/Atlas/Deploys to the staging")
    again = me("add", *text, "mornings", "--project", "Atlas")
    assert "Memories/Atlas/Deploys to the staging cluster happen on Monday.md" in again.err
    found = me("show", done.out.split("\t")[0], "--json").json
    assert (found["scope"], found["project"], found["importance"]) == ("project", "Atlas", 0.9)
    assert found["source"] == "me"


def test_add_under_a_key_changes_the_same_note(me: Run) -> None:
    first = me("add", "Tabs", "--key", "indent", "--json").json
    second = me("add", "Four blanks", "--key", "indent", "--json").json
    assert (first["created"], second["created"]) == (True, False)
    assert first["path"] == second["path"]
    assert me("show", "indent", "--json").json["content"] == "Four blanks"


def test_what_is_private_stays_out(me: Run, vault: Path) -> None:
    assert me("add", "The door <private>code 4711</private> is at reception").code == 0
    files = (raw for raw, _ in snapshot(vault).values())
    assert not any(b"4711" in raw for raw in files)


# --- edit ----------------------------------------------------------------------------------


def test_an_edit_that_changes_nothing_writes_nothing(
    me: Run, note: Path, editor: Callable[[str], dict[str, str]]
) -> None:
    note.write_bytes(b"No newline at the end")
    before = (note.read_bytes(), note.stat().st_mtime_ns)
    for lines in ("pass", "text += '\\n'"):
        done = me("edit", "Plan", env=editor(lines))
        assert (done.code, done.out) == (0, "")
        assert "Nothing was changed" in done.err
        assert (note.read_bytes(), note.stat().st_mtime_ns) == before


def test_visual_comes_before_editor(
    me: Run, note: Path, editor: Callable[[str], dict[str, str]]
) -> None:
    chosen = editor("text = text.replace('Monday', 'Friday')")["EDITOR"]
    assert me("edit", "Plan", env={"VISUAL": chosen, "EDITOR": "false"}).code == 0
    assert note.read_bytes() == b"---\nzip: 00123 # keep\n---\nWe meet on Friday.\n"


def test_bytes_that_are_not_utf8_survive_an_edit(me: Run, note: Path, tmp_path: Path) -> None:
    note.write_bytes(b"caf\xe9 on Monday\r\n")
    script = tmp_path / "bytes.py"
    script.write_text(
        "import pathlib, sys\nfile = pathlib.Path(sys.argv[1])\n"
        "file.write_bytes(file.read_bytes().replace(b'Monday', b'Friday'))\n"
    )
    done = me("edit", "Plan.md", env={"EDITOR": f"{sys.executable} {script}", "VISUAL": ""})
    assert done.code == 0, done.err
    assert note.read_bytes() == b"caf\xe9 on Friday\r\n"


def test_a_conflict_keeps_both_texts(
    me: Run, note: Path, editor: Callable[[str], dict[str, str]]
) -> None:
    beside = f"pathlib.Path({str(note)!r}).write_text('Somebody else wrote this.')"
    done = me("edit", "Plan", env=editor(f"{beside}\ntext = text.replace('Monday', 'Friday')"))
    assert (done.code, done.out) == (2, "")
    assert note.read_text() == "Somebody else wrote this."
    kept = re.search(r"Your text is kept in (.+)", done.err)
    assert kept, done.err
    assert "We meet on Friday." in Path(kept[1]).read_text()
    assert "Traceback" not in done.err


def test_a_note_that_went_away_does_not_take_the_edit_along(
    me: Run, note: Path, editor: Callable[[str], dict[str, str]]
) -> None:
    away = f"pathlib.Path({str(note)!r}).unlink()"
    done = me("edit", "Plan", env=editor(f"{away}\ntext = text.replace('Monday', 'Friday')"))
    assert done.code in (1, 2)
    kept = re.search(r"Your text is kept in (.+)", done.err)
    assert kept, done.err
    assert "We meet on Friday." in Path(kept[1]).read_text()


def test_a_failing_editor_changes_nothing_and_loses_nothing(
    me: Run, note: Path, editor: Callable[[str], dict[str, str]]
) -> None:
    before = note.read_bytes()
    assert me("edit", "Plan", env={"EDITOR": "false", "VISUAL": ""}).code == 3
    missing = me("edit", "Plan", env={"EDITOR": "no-such-editor", "VISUAL": ""})
    assert (missing.code, "$EDITOR" in missing.err) == (2, True)
    done = me("edit", "Plan", env=editor("file.write_text('half'); sys.exit(1)"))
    assert done.code == 3
    kept = re.search(r"Your text is kept in (.+)", done.err)
    assert kept, done.err
    assert Path(kept[1]).read_text() == "half"
    gone = me("edit", "Plan", env=editor("file.unlink()"))
    assert gone.code == 3
    assert note.read_bytes() == before


# --- looking around ------------------------------------------------------------------------


def test_facts_now_and_then(me: Run, examples: Path) -> None:
    done = me("facts", "TokenValidator", cwd=examples)
    assert done.code == 0, done.err
    lines = [line.split("\t") for line in done.out.splitlines()]
    assert all(len(line) == 6 and line[0] == "TokenValidator" for line in lines)
    everything = me("facts", "TokenValidator", "--closed", "--json", cwd=examples).json["facts"]
    assert len(everything) > len(lines)
    assert all("valid_to" in fact for fact in everything)
    then = me("facts", "TokenValidator", "--as-of", "2025-12-24", cwd=examples).out
    assert "counts_grace_from\tissue\t2025-11-21 → 2026-01-05\t0.8\t" in then
    asked = ("facts", "TokenValidator", "--predicate", "depends_on", "--as-of", "1999-01-01")
    none = me(*asked, cwd=examples)
    assert (none.code, none.out) == (1, "")
    bad = me("facts", "TokenValidator", "--as-of", "soon", cwd=examples)
    assert (bad.code, bad.out) == (2, "")
    assert "date" in bad.err


def test_the_graph_as_words_and_as_drawings(me: Run, examples: Path) -> None:
    done = me("graph", "TokenValidator", cwd=examples)
    assert done.code == 0, done.err
    edges = {tuple(line.split("\t")) for line in done.out.splitlines()}
    assert ("TokenValidator", "depends_on", "Keychain") in edges
    found = me("graph", "TokenValidator", "--json", cwd=examples).json
    assert found["entities"][0]["name"] == "TokenValidator"
    dot = me("graph", "TokenValidator", "--dot", cwd=examples).out
    assert '"TokenValidator" -> "Keychain" [label="depends_on"];' in dot
    mermaid = me("graph", "TokenValidator", "--mermaid", cwd=examples).out
    assert mermaid.startswith("graph LR\n")
    assert '-->|"depends_on"|' in mermaid
    assert me("graph", cwd=examples).code == 0
    assert me("graph", "--dot", "--json", cwd=examples).code == 2
    assert me("graph", "Nobody at all", cwd=examples).code == 1


def test_the_timeline_around_an_observation(me: Run, examples: Path) -> None:
    everything = me("timeline", "--json", cwd=examples).json["observations"]
    assert len(everything) >= 3
    times = [each["time"] for each in everything]
    assert times == sorted(times)
    middle = everything[1]["id"]
    done = me("timeline", middle, "--before", "1", "--after", "0", cwd=examples)
    assert [line.split("\t")[1] for line in done.out.splitlines()] == [
        each["id"] for each in everything[:2]
    ]
    assert me("timeline", "01KE6NZ8A0B1C2D3E4F5G6H7ZZ", cwd=examples).code == 1


def test_a_plan_to_consolidate_writes_nothing(me: Run, examples: Path) -> None:
    me("index", cwd=examples)
    before = {k: v for k, v in snapshot(examples).items() if k.endswith(".md")}
    done = me("consolidate", cwd=examples)
    assert done.code == 0, done.err
    assert done.out.startswith("--- /dev/null\n+++ Memories/")
    assert "consolidate --apply" in done.err
    plan = me("consolidate", "--json", cwd=examples).json
    assert {"consolidated_memories", "patterns_detected", "session_stats"} <= set(plan)
    assert {k: v for k, v in snapshot(examples).items() if k.endswith(".md")} == before
    done = me("consolidate", "--apply", cwd=examples)
    assert done.code == 0, done.err
    memory, path = done.out.splitlines()[0].split("\t")
    assert f"id: {memory}" in (examples / path).read_text()


# --- wrong use -----------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["show", "edit", "forget", "restore", "history"])
def test_notes_that_cannot_be_meant(me: Run, vault: Path, command: str) -> None:
    for folder in "AB":
        (vault / folder).mkdir()
        (vault / folder / "Double.md").write_text("x")
    before = {k: v for k, v in snapshot(vault).items() if k.endswith(".md")}
    unknown, double = me(command, "Nowhere"), me(command, "Double")
    assert (unknown.code, unknown.out) == (1, "")
    assert "Nowhere" in unknown.err
    assert (double.code, double.out) == (2, "")
    assert "A/Double.md" in double.err
    assert "Traceback" not in unknown.err + double.err
    assert {k: v for k, v in snapshot(vault).items() if k.endswith(".md")} == before


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["add"], 2, "nothing to remember"),
        (["add", " "], 2, ""),
        (["add", "x", "--importance", "7"], 2, "0 to 1"),
        (["add", "x", "--type", "odd"], 2, "semantic"),
        (["add", "x", "--scope", "odd"], 2, "user"),
        (["search"], 2, "Missing argument"),
        (["search", "x", "--after", "soon"], 2, "like 2026-01-31"),
        (["search", "x", "--strategy", "magic"], 2, "magic"),
        (["recent", "--limit", "0"], 2, "limit"),
        (["context", "--max-tokens", "-1"], 2, ""),
        (["history", "Plan", "ffffffff"], 1, "no version"),
        (["history", "Plan", "--diff"], 1, "no earlier version"),
        (["restore", "Plan", "ffffffff"], 1, "version"),
        (["facts"], 2, "Missing argument"),
        (["consolidate", "--session", "no such session"], 1, "no such session"),
    ],
)
def test_wrong_use_is_answered_with_a_sentence(
    me: Run, note: Path, arguments: list[str], code: int, words: str
) -> None:
    done = me(*arguments)
    assert (done.code, done.out) == (code, ""), done.err
    assert words in done.err
    assert done.err.strip()
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["add", "x"],
        ["edit", "Plan"],
        ["forget", "Plan"],
        ["restore", "Plan"],
        ["consolidate", "--apply"],
    ],
)
def test_a_read_only_vault_is_not_written(
    me: Run, vault: Path, note: Path, arguments: list[str]
) -> None:
    before = {k: v for k, v in snapshot(vault).items() if k.endswith(".md")}
    done = me(*arguments, env={"VAULTMEM_READ_ONLY": "1", "EDITOR": "touch", "VISUAL": ""})
    assert (done.code, done.out) == (2, "")
    assert "read-only" in done.err
    assert {k: v for k, v in snapshot(vault).items() if k.endswith(".md")} == before


def test_a_read_only_vault_can_be_read(me: Run, examples: Path) -> None:
    for command in (["search", "auth"], ["recent"], ["tags"], ["show", "Atlas"], ["context"]):
        done = me(*command, cwd=examples, env={"VAULTMEM_READ_ONLY": "1"})
        assert done.code == 0, done.err


# --- on a terminal -------------------------------------------------------------------------


def test_a_terminal_shows_colours_unless_told_not_to(examples: Path) -> None:
    for command in (["search", "grace", "period"], ["recent"], ["show", "Nowhere"]):
        assert "\x1b[" in on_terminal(examples, *command)
        assert "\x1b[" not in on_terminal(examples, *command, env={"NO_COLOR": "1"})


def test_lines_fit_the_terminal(examples: Path) -> None:
    plain = {"NO_COLOR": "1"}
    for command in (
        ["search", "tokens"],
        ["recent"],
        ["tags"],
        ["show", "TokenValidator"],
        ["history", "TokenValidator"],
        ["facts", "TokenValidator"],
        ["timeline"],
        ["graph", "TokenValidator"],
    ):
        shown = on_terminal(examples, *command, env=plain)
        assert shown.strip()
        long = [line for line in shown.splitlines() if len(line) > 60 and " " in line.strip()]
        assert not long, command


def test_a_note_cannot_steer_the_terminal(examples: Path) -> None:
    (examples / "Evil.md").write_bytes(b"zebra \x1b]0;owned\x07 \x1b[2J\n")
    for command in (["show", "Evil"], ["search", "zebra"], ["recent"], ["context", "zebra"]):
        shown = on_terminal(examples, *command, env={"NO_COLOR": "1"})
        assert "\x1b" not in shown, command
        assert "\x07" not in shown


def test_what_a_person_sees(vault: Path) -> None:
    plain = {"NO_COLOR": "1"}
    shown = on_terminal(vault, "add", "Tea is at four", "--tag", "habit", env=plain)
    assert shown == "Remembered  Memories/Tea is at four.md\n"
    shown = on_terminal(vault, "recent", "--limit", "1", env=plain)
    assert shown.splitlines()[0] == "just now  Tea is at four  semantic · #habit"
    shown = on_terminal(vault, "forget", "Tea is at four", env=plain)
    restore = command_to_type("restore")
    told = f"Forgotten  Memories/Tea is at four.md\nIt can come back: {restore} "
    assert shown.startswith(told)


# --- start-up ------------------------------------------------------------------------------

HEAVY = "{'mcp', 'pydantic', 'fastembed', 'numpy', 'tantivy', 'onnxruntime', 'sklearn'}"


def test_help_imports_nothing_heavy_and_only_serve_knows_mcp(examples: Path) -> None:
    code = f"""
import sys
from vaultmem.surfaces.cli import COMMANDS, main
for name in COMMANDS:
    if name != "serve":
        assert main([name, "--help"]) == 0
heavy = {HEAVY} & set(sys.modules)
assert not heavy, heavy
for command in ("search auth", "status", "recent", "tags", "show Atlas", "history Atlas", "add x"):
    assert main([*command.split(), "--vault", sys.argv[1]]) == 0, command
assert "mcp" not in sys.modules
assert "fastembed" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(examples)], capture_output=True, text=True,
        env=clean_environment(examples.parent) | QUIET,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_help_groups_the_commands(run: Run) -> None:
    shown = run("--help").out
    order = [shown.index(word) for word in ("Remember:", "  add", "Look around:", "  search",
                                            "Look after:", "  doctor", "Options:")]  # fmt: skip
    assert order == sorted(order)


# --- names -----------------------------------------------------------------------------------


def test_what_is_known_is_said_and_a_name_out_of_date_is_put_right(me: Run, vault: Path) -> None:
    first = me("add", "Deploys happen on Fridays.", "--json").json
    again = me("add", "Deploys happen on Fridays.", "--json").json
    assert (again["status"], again["memory_id"]) == ("known", first["memory_id"])
    note = vault / first["path"]
    note.write_text(note.read_text().replace("Fridays", "Tuesdays"))
    (vault / "Plan.md").write_text("See [[Deploys happen on Fridays|when]].\n")
    hit, *_ = me("search", "deploys tuesdays", "--json").json["memories"]
    assert (hit["title"], hit["path"]) == ("Deploys happen on Tuesdays", first["path"])
    (found,) = me("doctor", "--json").json
    assert found["problem"] == "outdated-title"
    renamed = me("rename", first["path"])
    assert renamed.out.strip().endswith("Memories/Deploys happen on Tuesdays.md")
    assert "Links changed in 1 other file." in renamed.err
    assert (vault / "Plan.md").read_text() == "See [[Deploys happen on Tuesdays|when]].\n"
    assert me("doctor", "--verify", "--json").json == []
    me("rename", "--undo")
    assert note.exists() and "Fridays|when" in (vault / "Plan.md").read_text()
    refused = me("rename", first["path"], "a/b")
    assert refused.code == 2 and "cannot be the name of a note" in refused.err
