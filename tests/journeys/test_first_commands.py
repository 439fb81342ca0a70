"""init, show and doctor as a person meets them: real processes, real folders, real git."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import TEMPLATE, Run, clean_environment, snapshot
from vaultmem import config


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=root, capture_output=True, text=True, check=True,
        env=clean_environment(root.parent),
    )  # fmt: skip
    return done.stdout


# --- init --------------------------------------------------------------------------------


def test_init_makes_a_vault_without_examples(run: Run, tmp_path: Path) -> None:
    done = run("init", "Brain")
    assert done.code == 0, done.err
    assert done.out == ""
    root = tmp_path / "Brain"
    assert (root / "Home.md").read_bytes() == (TEMPLATE / "Home.md").read_bytes()
    assert (root / ".obsidian" / "types.json").exists()
    assert (root / ".vaultmem" / "config.toml").exists()
    for folder in ("Memories", "Entities", "Sessions"):
        assert list((root / folder).iterdir()) == []
    assert run("doctor", "--vault", "Brain").code == 0


def test_init_with_examples_is_the_whole_template(run: Run, tmp_path: Path) -> None:
    run("init", "Brain", "--examples")
    made = {path: raw for path, (raw, _) in snapshot(tmp_path / "Brain").items()}
    assert made == {path: raw for path, (raw, _) in snapshot(TEMPLATE).items()}


def test_init_twice_changes_nothing(run: Run, tmp_path: Path) -> None:
    run("init", "Brain", "--git", "--examples")
    before = {k: v for k, v in snapshot(tmp_path / "Brain").items() if not k.startswith(".git/")}
    done = run("init", "Brain", "--git", "--examples")
    after = {k: v for k, v in snapshot(tmp_path / "Brain").items() if not k.startswith(".git/")}
    assert after == before
    assert "Nothing was missing." in done.err


def existing_vault(root: Path) -> None:
    (root / ".obsidian").mkdir(parents=True)
    (root / ".obsidian" / "app.json").write_text('{"mine": true}')
    (root / ".obsidian" / "templates.json").write_text('{"folder": "Meta/Tpl"}')
    (root / "Home.md").write_bytes(b"my own home\r\n")
    (root / "Notes").mkdir()
    (root / "Notes" / "x.md").write_bytes(b"---\nzip: 00123\n---\n")


OWN_FOLDER = {".vaultmem/.gitignore", ".vaultmem/config.toml"}


def test_init_adds_to_an_existing_vault_its_own_folder_alone(run: Run, tmp_path: Path) -> None:
    root = tmp_path / "Mine"
    existing_vault(root)
    before = snapshot(root)
    planned = run("init", "Mine", "--dry-run")
    assert snapshot(root) == before, "a dry run does nothing"
    for piece in ("agents", "format", "bases", "home", "templates", "folders"):
        assert f"--with {piece}" in planned.err
    assert "--with obsidian" not in planned.err, "it has its own"
    assert "Obsidian 1.10 or newer" in planned.err
    done = run("init", "Mine", "--json")
    after = snapshot(root)
    assert set(after) - set(before) == OWN_FOLDER == set(done.json["added"])
    assert {path: after[path] for path in before} == before
    assert run("search", "own home", "--vault", "Mine", "--json").json["memories"]
    assert set(run("init", "Mine", "--json").json["added"]) == set()
    assert run("init", "Mine", "--with", "Hoem").code == 2


@pytest.mark.parametrize(
    ("pieces", "added"),
    [
        ("agents", {"AGENTS.md", "CLAUDE.md"}),
        ("home", {f"Meta/Tpl/Bases/{name}.base" for name in ("Memories", "Sessions", "Entities")}),
        ("bases,format", {"NOTE-FORMAT.md"} | {
            f"Meta/Tpl/Bases/{name}.base" for name in ("Memories", "Sessions", "Entities")
        }),
        ("templates", {
            f"Meta/Tpl/{name}.md" for name in ("Memory", "Entity", "Procedure", "Daily note")
        }),
        ("obsidian", set()),
    ],
)  # fmt: skip
def test_init_adds_each_piece_that_is_asked_for(
    run: Run, tmp_path: Path, pieces: str, added: set[str]
) -> None:
    root = tmp_path / "Mine"
    existing_vault(root)
    before = snapshot(root)
    run("init", "Mine", "--with", pieces)
    after = snapshot(root)
    assert set(after) - set(before) == OWN_FOLDER | added
    assert {path: after[path] for path in before} == before
    excluded = set(config.load(root)["exclude"])
    assert excluded == {path for path in added if path.endswith(".md") and "/" not in path}


def test_a_piece_that_is_added_later_is_no_memory_either(run: Run, tmp_path: Path) -> None:
    root = tmp_path / "Mine"
    (root / "Templates").mkdir(parents=True)
    (root / "Templates" / "Letter.md").write_text("Dear bank, the loan is paid back.\n")
    run("init", "Mine")
    settings = root / ".vaultmem" / "config.toml"
    first = settings.read_text()
    done = run("init", "Mine", "--with", "agents,templates", "--json").json
    assert "AGENTS.md" in done["excluded"] and "Templates/Daily note.md" in done["excluded"]
    line = "exclude = " + json.dumps(done["excluded"])
    assert settings.read_text() == first.replace("# exclude = []", line)
    settings.write_text('read_only = false\nexclude = ["Old"]\n[folders]\nmemories = "M"\n')
    run("init", "Mine", "--with", "format")
    kept = 'read_only = false\nexclude = ["Old", "NOTE-FORMAT.md"]\n[folders]\nmemories = "M"\n'
    assert settings.read_text() == kept
    listed = run("recent", "--vault", "Mine", "--json").json["memories"]
    assert {m["path"] for m in listed} == {"Templates/Letter.md", "AGENTS.md", "CLAUDE.md"} | {
        "Templates/Daily note.md"
    }, "a person who takes pages off the list has them searched"


def test_init_makes_the_whole_vault_beside_a_repository_that_has_nothing_yet(
    run: Run, tmp_path: Path
) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path / "Mine")], check=True)
    done = run("init", "Mine", "--json").json
    assert {"Home.md", "Memories/", ".obsidian/types.json"} <= set(done["added"])
    assert not {".gitignore", ".gitattributes"} & set(done["added"])


def test_init_with_everything_adds_only_what_is_missing(run: Run, tmp_path: Path) -> None:
    root = tmp_path / "Mine"
    existing_vault(root)
    before = snapshot(root)
    planned = run("init", "Mine", "--with", "all", "--dry-run", "--json")
    done = run("init", "Mine", "--with", "all", "--json")
    assert done.json["added"] == planned.json["added"]
    after = snapshot(root)
    assert {path: after[path] for path in before} == before
    added = set(after) - set(before)
    assert added == {path for path in planned.json["added"] if not path.endswith("/")}
    assert not any(path.startswith(".obsidian/") for path in added)
    assert "Meta/Tpl/Memory.md" in added, "templates go where the vault keeps them"
    assert not added & {".gitattributes", ".gitignore"}, "git files only with --git"
    assert "Home.md" in planned.json["kept"]


def test_init_git_commits_its_own_files_only(run: Run, tmp_path: Path) -> None:
    root = tmp_path / "Mine"
    existing_vault(root)
    git_made = subprocess.run(["git", "init", "-q", str(root)], check=True)
    assert git_made.returncode == 0
    (root / "staged.md").write_text("mine")
    git(root, "add", "staged.md")
    done = run("init", "Mine", "--git", "--with", "agents")
    assert done.code == 0, done.err
    assert git(root, "diff", "--cached", "--name-only").split() == ["staged.md"]
    committed = git(root, "show", "--name-only", "--format=").splitlines()
    assert "AGENTS.md" in committed
    assert "staged.md" not in committed
    attributes = (root / ".gitattributes").read_text()
    assert "*.md merge=vaultmem" in attributes, "line ends of CRLF notes are not rewritten"


def test_a_new_git_vault_is_clean_and_stays_clean(run: Run, tmp_path: Path) -> None:
    run("init", "Brain", "--git", "--examples")
    root = tmp_path / "Brain"
    assert git(root, "status", "--porcelain") == ""
    for command in (["doctor"], ["show", "TokenValidator"]):
        assert run(*command, "--vault", "Brain").code == 0
    (root / ".vaultmem" / "index").mkdir(exist_ok=True)
    (root / ".vaultmem" / "index" / "catalog.db").write_bytes(b"x")
    (root / ".vm-01X.tmp").write_bytes(b"x")
    assert git(root, "status", "--porcelain") == ""


@pytest.mark.parametrize("folder", ["file", "file/below"])
def test_init_where_no_folder_can_be(run: Run, tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").write_text("x")
    done = run("init", folder)
    assert done.code in (2, 3)
    assert "Traceback" not in done.err
    assert len(done.err.strip().splitlines()) >= 1


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ('memories = "../outside"', "must be a folder inside the vault"),
        ('entities = "/tmp/abs"', "must be a folder inside the vault"),
        ('sessions = ".hidden"', "must be a folder inside the vault"),
    ],
)
def test_init_makes_nothing_outside_the_vault(
    run: Run, tmp_path: Path, setting: str, words: str
) -> None:
    root = tmp_path / "Mine"
    (root / ".vaultmem").mkdir(parents=True)
    (root / ".vaultmem" / "config.toml").write_text(f"[folders]\n{setting}\n")
    before = snapshot(tmp_path)
    done = run("init", "Mine")
    assert done.code == 2
    assert words in done.err
    assert snapshot(tmp_path) == before


def test_init_does_not_write_through_links_or_odd_template_folders(
    run: Run, tmp_path: Path
) -> None:
    root, outside = tmp_path / "Mine", tmp_path / "outside"
    outside.mkdir()
    (root / ".obsidian").mkdir(parents=True)
    (root / ".obsidian" / "templates.json").write_text('{"folder": "../outside"}')
    (root / "Templates").symlink_to(outside)
    done = run("init", "Mine", "--with", "templates")
    assert done.code == 2
    assert "link to another place" in done.err
    assert list(outside.iterdir()) == []
    (root / "Templates").unlink()
    (root / ".obsidian" / "templates.json").write_text('{"folder": "T\\u0000x"}')
    assert run("init", "Mine", "--with", "templates").code == 0
    assert list(outside.iterdir()) == []


def test_init_knows_names_in_another_case(run: Run, tmp_path: Path) -> None:
    root = tmp_path / "Mine"
    (root / "memories").mkdir(parents=True)
    (root / "home.md").write_text("mine")
    assert run("init", "Mine", "--with", "all").code == 0
    assert not (root / "Home.md").exists()
    assert not (root / "Memories").exists()


def test_init_says_what_stands_in_the_way(run: Run, tmp_path: Path) -> None:
    root = tmp_path / "Mine"
    root.mkdir()
    (root / "Templates").write_text("a file")
    done = run("init", "Mine", "--with", "templates")
    assert done.code == 2
    assert "is a file where the vault needs a folder" in done.err
    assert list(root.iterdir()) == [root / "Templates"]
    long = run("init", "x" * 300)
    assert long.code == 2
    assert "too long" in long.err


def test_init_git_respects_the_vaults_own_ignore_rules(run: Run, tmp_path: Path) -> None:
    root = tmp_path / "Mine"
    root.mkdir()
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / ".gitignore").write_text(".vaultmem/\n")
    done = run("init", "Mine", "--git")
    assert done.code == 0, done.err
    assert "Committed" in done.err
    assert git(root, "status", "--porcelain").split() == ["??", ".gitignore"]


# --- show --------------------------------------------------------------------------------


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = tmp_path / "Brain"
    shutil.copytree(TEMPLATE, root)
    return root


@pytest.mark.parametrize(
    "ref",
    [
        "01KE6QPCN0MKB59KYA35S2FPGX",
        "memory:01ke6qpcn0mkb59kya35s2fpgx",
        "Entities/TokenValidator.md",
        "Entities/TokenValidator",
        "TokenValidator",
        "tokenvalidator",
        "the validator",
    ],
)
def test_show_finds_a_note_by_any_of_its_names(run: Run, vault: Path, ref: str) -> None:
    done = run("show", ref, "--json", cwd=vault)
    assert done.code == 0, done.err
    found = done.json
    assert found["id"] == "01KE6QPCN0MKB59KYA35S2FPGX"
    assert found["path"] == "Entities/TokenValidator.md"
    assert found["created_at"] == "2026-01-05T09:27:00Z"
    assert found["content"].startswith("The part of [[Atlas]]")
    assert len(found["facts"]) == 6


def test_show_for_a_person(run: Run, vault: Path) -> None:
    done = run("show", "Prefers long commit messages", cwd=vault)
    assert done.out.splitlines() == [
        "Prefers long commit messages",
        "Memories/Prefers long commit messages.md",
        "semantic · user · #preference · #git · forgotten: Short messages were asked for instead",
        "",
        "Liked by [[Me]]: commit messages with a full list of what changed.",
    ]
    raw = run("show", "TokenValidator", "--raw", cwd=vault)
    assert raw.out.encode() == (vault / "Entities/TokenValidator.md").read_bytes()
    excluded = run("show", "Home.md", cwd=vault)
    assert (excluded.code, "the settings exclude it" in excluded.err) == (1, True)


@pytest.mark.parametrize(
    ("ref", "code", "words"),
    [
        ("Nowhere", 1, "There is no memory"),
        ("Double", 2, "A/Double.md, B/Double.md"),
        ("../secret.md", 2, "leaves the vault"),
        ("/etc/passwd", 2, "absolute path"),
        (".obsidian/app.json", 2, "hidden folder"),
        ("", 2, "Name a memory"),
    ],
)
def test_show_says_why_not(run: Run, vault: Path, ref: str, code: int, words: str) -> None:
    for folder in "AB":
        (vault / folder).mkdir()
        (vault / folder / "Double.md").write_text("x")
    done = run("show", ref, cwd=vault)
    assert (done.code, done.out) == (code, "")
    assert words in done.err
    assert "Traceback" not in done.err


def test_show_prints_any_bytes_without_failing(run: Run, vault: Path) -> None:
    (vault / "odd.md").write_bytes(b"---\na: [1\n---\ncaf\xe9 \x1b[31m")
    done = run("show", "odd", cwd=vault)
    assert done.code == 0
    assert "Line" in done.out
    assert json.loads(run("show", "odd", "--json", cwd=vault).out)["problems"]


def test_show_prefers_the_original_to_its_copies(run: Run, vault: Path) -> None:
    raw = (vault / "Entities" / "TokenValidator.md").read_bytes()
    (vault / "0 (Conflicted copy x 202601010101).md").write_bytes(raw)
    done = run("show", "01KE6QPCN0MKB59KYA35S2FPGX", "--json", cwd=vault)
    assert done.json["path"] == "Entities/TokenValidator.md"


def test_show_is_not_stopped_by_a_note_it_cannot_read(run: Run, vault: Path) -> None:
    os.mkfifo(vault / "pipe.md")
    assert run("show", "the validator", cwd=vault).code == 0
    assert run("show", "01KE6QPCN0MKB59KYA35S2FPGX", cwd=vault).code == 0


def test_show_prints_valid_json_whatever_the_properties_hold(run: Run, vault: Path) -> None:
    numbers = "a: .nan\nb: -.inf\nimportance: " + "9" * 350 + "\ncreated: 0001-01-01T00:00:00+05:00"
    (vault / "odd.md").write_text(f"---\n{numbers}\n---\n\u2192\n", encoding="utf-8")
    done = run("show", "odd", "--json", cwd=vault, env={"PYTHONIOENCODING": "latin-1"})
    found = json.loads(done.out, parse_constant=pytest.fail)
    assert found["properties"]["a"] is None
    assert found["content"] == "\u2192"


# --- doctor ------------------------------------------------------------------------------


def test_doctor_finds_each_kind_of_problem(run: Run, vault: Path) -> None:
    token = (vault / "Entities" / "TokenValidator.md").read_bytes()
    files = {
        "broken.md": b"---\na: [1\n---\n",
        "twice.md": b"---\na: 1\na: 2\n---\n",
        "open.md": b"---\na: 1\n",
        "copy of token.md": token,
        "Entities/TokenValidator (Conflicted copy Laptop 202601051200).md": token,
        "Note.sync-conflict-20260105-120000-ABCDEFG.md": b"x",
        "merge.md": b"<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n",
        "Clash.md": b"x",
        "clash.md": b"x",
        "Cafe\u0301.md": b"x",
        "Caf\u00e9.md": b"x",
        "what?.md": b"x",
        "dead.md": b"[[Nowhere at all]]",
        "A/Same.md": b"x",
        "B/Same.md": b"x",
        "vague.md": b"[[Same]]",
        "latin.md": b"caf\xe9",
        "binary.md": b"\x00\x01",
        ".vm-01LEFT.tmp": b"x",
    }
    for path, raw in files.items():
        (vault / path).parent.mkdir(exist_ok=True)
        (vault / path).write_bytes(raw)
    (vault / "loop").symlink_to(vault)
    (vault / ".vaultmem" / "config.toml").write_text("colour = 1\nread_only = 5\n")
    before = snapshot(vault)
    done = run("doctor", "--json", cwd=vault)
    assert done.code == 1, done.err
    assert snapshot(vault) == before
    found = {(f["path"], f["problem"]) for f in done.json}
    copy = "Entities/TokenValidator (Conflicted copy Laptop 202601051200).md"
    assert found >= {
        ("broken.md", "malformed-frontmatter"),
        ("twice.md", "duplicate-key"),
        ("open.md", "unclosed-frontmatter"),
        ("copy of token.md", "duplicate-id"),
        (copy, "conflict-copy"),
        ("Note.sync-conflict-20260105-120000-ABCDEFG.md", "conflict-copy"),
        ("merge.md", "conflict-markers"),
        ("clash.md", "name-clash"),
        ("what?.md", "unsafe-name"),
        ("dead.md", "dead-link"),
        ("vague.md", "ambiguous-link"),
        ("latin.md", "not-utf8"),
        ("binary.md", "binary"),
        ("loop", "symlink"),
        (".vm-01LEFT.tmp", "leftover-file"),
        (".vaultmem/config.toml", "settings"),
    }
    assert any(problem == "name-clash" and path.startswith("Caf") for path, problem in found)
    assert ("Entities/TokenValidator.md", "duplicate-id") not in found
    assert all(set(f) == {"path", "problem", "message", "fix"} and f["fix"] for f in done.json)
    people = run("doctor", cwd=vault)
    assert people.code == 1
    assert " problems in " in people.out


def test_doctor_fix_removes_old_leftovers_and_touches_no_note(run: Run, vault: Path) -> None:
    (vault / "broken.md").write_bytes(b"---\na: [1\n---\n")
    (vault / ".vm-01LEFT.tmp").write_bytes(b"x")
    os.utime(vault / ".vm-01LEFT.tmp", (1, 1))
    before = snapshot(vault)
    done = run("doctor", "--fix", "--json", cwd=vault)
    assert [f["problem"] for f in done.json] == ["malformed-frontmatter"]
    after = snapshot(vault)
    assert before.keys() - after.keys() == {".vm-01LEFT.tmp"}
    assert {k: before[k] for k in after} == after


# --- manners -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["shwo"], 2, "did you mean 'show'"),
        (["frobnicate"], 2, "No such command"),
        (["show"], 2, "Missing argument"),
        (["doctor", "--nope"], 2, "No such option"),
        (["doctor", "--vault", "nowhere"], 1, "vaultmem init"),
        (["doctor"], 2, "No vault here"),
    ],
)
def test_wrong_use_is_answered_with_a_sentence(
    run: Run, arguments: list[str], code: int, words: str
) -> None:
    done = run(*arguments)
    assert (done.code, done.out) == (code, "")
    assert words in done.err
    assert "Traceback" not in done.err


def test_a_wrong_setting_stops_all_but_the_doctor(run: Run, vault: Path) -> None:
    (vault / ".vaultmem" / "config.toml").write_text("\n\nread_only = 5\n")
    done = run("show", "Home.md", cwd=vault)
    assert done.code == 2
    assert ".vaultmem/config.toml:3: read_only must be true or false, not 5." in done.err
    assert run("doctor", cwd=vault).code == 1


def test_help_and_version(run: Run) -> None:
    assert "doctor" in run("--help").out
    assert run("--version").out.startswith("vaultmem ")


def test_a_closed_pipe_is_no_error(vault: Path) -> None:
    (vault / "long.md").write_text("x\n" * 100_000)
    shown = f"{sys.executable} -m vaultmem show long --vault '{vault}'"
    for command, code in ((f"{shown} | head -1", 0), (f"{shown} > /dev/full", 3)):
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True,
            env=clean_environment(vault.parent),
        )  # fmt: skip
        assert done.returncode == code
        assert "Traceback" not in done.stderr
        assert "Exception" not in done.stderr
