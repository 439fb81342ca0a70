"""Manners at a terminal: few words, words that help, and none of a programmer's."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import TEMPLATE, Run, clean_environment
from tests.journeys.test_memory_commands import on_terminal

PLAIN = {"NO_COLOR": "1"}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TEMPLATE, tmp_path / "Brain"))


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault that is only looked at, indexed once."""
    root = Path(shutil.copytree(TEMPLATE, tmp_path_factory.mktemp("shared") / "Brain"))
    subprocess.run(
        [sys.executable, "-m", "vaultmem", "index", "-q"], cwd=root, check=True,
        env=clean_environment(root.parent),
    )  # fmt: skip
    return root


# --- quiet ---------------------------------------------------------------------------------


def test_quiet_commands_say_nothing(run: Run, vault: Path, tmp_path: Path) -> None:
    for command in (
        ["init", "New", "--git"],
        ["index", "--vault", "Brain"],
        ["add", "Tea is at four", "--vault", "Brain"],
        ["forget", "Tea is at four", "--vault", "Brain"],
        ["restore", "Tea is at four", "--vault", "Brain"],
        ["sync", "--vault", "New"],
    ):
        done = run(*command, "-q")
        assert (done.code, done.out, done.err) == (0, "", ""), command
    assert (vault / "Memories" / "Tea is at four.md").exists()


def test_quiet_keeps_the_answer_and_what_is_wrong(run: Run, vault: Path) -> None:
    for command in (["-q", "search", "grace"], ["search", "grace", "--quiet"]):
        done = run(*command, cwd=vault)
        assert "grace" in done.out
        assert done.err == ""
    wrong = run("show", "Nowhere", "-q", cwd=vault)
    assert (wrong.code, "Nowhere" in wrong.err) == (1, True)
    for folder in ("Memories", "Entities", "Sessions"):
        shutil.rmtree(vault / folder)
    assert "index --rebuild" in run("index", "-q", cwd=vault).err


def test_the_vault_may_be_named_before_the_command(run: Run, vault: Path, tmp_path: Path) -> None:
    (tmp_path / "Other" / ".vaultmem").mkdir(parents=True)
    elsewhere = {"VAULTMEM_VAULT": str(tmp_path / "Other")}
    assert "#auth" in run("--vault", "Brain", "tags").out
    assert "#auth" in run("--vault", "Brain", "tags", env=elsewhere).out
    assert run("--vault", "Brain", "tags", "--vault", "Other").out == "", "the nearer one counts"


# --- what was meant ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["serach", "x"], "did you mean 'search'?"),
        (["models", "lst"], "did you mean 'list'?"),
        (["search", "x", "--limt", "3"], "No such option '--limt'; did you mean '--limit'?"),
        (["search", "x", "--strategy", "hybird"], "'--strategy': 'hybird' is not one of"),
        (["search", "x", "--strategy", "hybird"], "did you mean 'hybrid'?"),
        (["show", "Relese checklist"], "Did you mean: Release checklist?"),
        (["show", "01KE6QPCN0MKB59KYA35S2FPGZ"], "Did you mean: TokenValidator?"),
        (["show", "01XE6QPCN0MKB59KYA35S2FPGX"], "Did you mean: TokenValidator?"),
        (["facts", "TokenValidatr"], "Did you mean TokenValidator?"),
        (["show", "Xyzzy plugh"], "vaultmem recent"),
    ],
)
def test_what_was_mistyped_is_answered_with_what_was_meant(
    run: Run, examples: Path, arguments: list[str], words: str
) -> None:
    done = run(*arguments, cwd=examples)
    assert done.code in (1, 2)
    assert words in done.err


def test_nothing_found_says_what_to_try(run: Run, vault: Path, tmp_path: Path) -> None:
    assert "--strategy hybrid" in run("search", "xylophone", cwd=vault).err
    run("init", "Empty", "-q")
    for command in (["search", "x"], ["recent"], ["context"]):
        assert "vaultmem add" in run(*command, "--vault", "Empty").err


def test_an_obsidian_vault_without_ours_is_told_what_to_do(run: Run, tmp_path: Path) -> None:
    (tmp_path / "Notes" / ".obsidian").mkdir(parents=True)
    done = run("status", cwd=tmp_path / "Notes")
    assert (done.code, "vaultmem init" in done.err, "Obsidian" in done.err) == (2, True, True)


# --- no programmer's words -----------------------------------------------------------------


def test_a_fault_of_ours_is_a_sentence(vault: Path) -> None:
    code = (
        "import sys; from vaultmem.surfaces.cli import main; from vaultmem.surfaces.cli.commands import tags;"
        "tags.tags_command.callback = lambda **given: {}['lost'];"
        "sys.exit(main(['tags']))"
    )
    for debugging in ("", "1"):
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=vault, capture_output=True, text=True,
            env=clean_environment(vault.parent) | {"VAULTMEM_DEBUG": debugging},
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (3, "")
        assert "Something unexpected happened: KeyError: 'lost'" in done.stderr
        assert ("Traceback" in done.stderr) == bool(debugging)
        assert ("VAULTMEM_DEBUG=1" in done.stderr) != bool(debugging)


def test_a_folder_that_is_gone_is_a_sentence(vault: Path) -> None:
    code = (
        "import os, sys; os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone');"
        "from vaultmem.surfaces.cli import main; sys.exit(main(['status']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=vault, capture_output=True, text=True,
        env=clean_environment(vault.parent),
    )  # fmt: skip
    assert done.returncode == 3
    assert "The folder you are in is gone" in done.stderr
    assert "Traceback" not in done.stderr


# The keys of a terminal reach those whose terminal it is.
_ON_MY_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    "os.execv(sys.executable, [sys.executable, '-m', 'vaultmem', *sys.argv[1:]])"
)


class Terminal:
    """A command on a terminal of its own, where a person reads and presses keys."""

    def __init__(self, vault: Path, *arguments: str, **more: str) -> None:
        mine, theirs = pty.openpty()
        self._mine = mine
        self.shown = ""
        self.process = subprocess.Popen(
            [sys.executable, "-c", _ON_MY_TERMINAL, *arguments], cwd=vault,
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
            env=clean_environment(vault.parent) | PLAIN | {"COLUMNS": "80", "TERM": "xterm"} | more,
        )  # fmt: skip
        os.close(theirs)

    def read_until(self, words: str) -> None:
        while words not in self.shown:
            assert self._read(), f"ended before {words!r}: {self.shown}"

    def end(self) -> int:
        while self._read():
            pass
        os.close(self._mine)
        return self.process.wait(30)

    def stop(self) -> int:
        """Press Ctrl-C, and again if nothing is heard: one may come before anybody listens."""
        for _ in range(30):
            os.write(self._mine, b"\x03")
            while select.select([self._mine], [], [], 2)[0]:
                if not self._read():
                    os.close(self._mine)
                    return self.process.wait(30)
        self.process.kill()
        raise AssertionError(f"Ctrl-C was not heard: {self.shown}")

    def _read(self) -> bool:
        try:
            part = os.read(self._mine, 65536)
        except OSError:  # the other end is closed
            return False
        self.shown += part.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(part)


def test_ctrl_c_at_a_question(vault: Path) -> None:
    (vault / "AGENTS.md").unlink()
    terminal = Terminal(vault, "init", "--with", "agents")
    terminal.read_until("Add these?")
    assert terminal.stop() == 3
    assert terminal.shown.endswith("Stopped.\n")
    assert not (vault / "AGENTS.md").exists()


def test_long_work_shows_how_far_it_is_and_can_be_stopped(run: Run, vault: Path) -> None:
    for number in range(150):
        text = " ".join(f"word{number}{other}" for other in range(100))
        (vault / f"Note {number}.md").write_text(text)
    terminal = Terminal(vault, "index", "--vectors")
    terminal.read_until("Vectors  [")
    assert terminal.stop() == 3
    assert re.search(r"Vectors  \[[#-]+\]  [\d,]+ of [\d,]+", terminal.shown)
    last = terminal.shown.replace("^C", "").split("\r")[-1]
    assert last == "Stopped.\n", "the bar is gone"
    assert run("index", "--vault", str(vault)).out.startswith("Nothing changed.")
    piped = run("index", "--rebuild", "--vault", str(vault))
    assert "Notes" not in piped.err, "no bar in a pipe"


# --- terminals of all kinds ----------------------------------------------------------------

LOOKING = (
    ["status"],
    ["doctor"],
    ["search", "tokens"],
    ["recent"],
    ["tags"],
    ["show", "TokenValidator"],
    ["history", "TokenValidator"],
    ["facts", "TokenValidator"],
    ["timeline"],
    ["graph", "TokenValidator"],
    ["context"],
    ["models", "list"],
)


def test_lines_fit_a_narrow_terminal(run: Run, vault: Path) -> None:
    (vault / "broken.md").write_text("---\na: [1\n---\n")
    (vault / "dead.md").write_text("[[Nowhere at all, and further than one can see]]\n")
    run("index", "-q", cwd=vault)
    for command in LOOKING:
        shown = on_terminal(vault, *command, env=PLAIN | {"COLUMNS": "40"})
        lines = (line for line in shown.split("\n") if "\r" not in line)
        long = [line for line in lines if len(line) > 40 and max(map(len, line.split())) < 28]
        assert not long, command
        assert shown.strip()


def test_a_terminal_that_knows_few_letters_still_shows_something(vault: Path) -> None:
    (vault / "Many.md").write_text("記憶 → tokens …\n", encoding="utf-8")
    for command in (["search", "tokens"], ["show", "Many"], ["facts", "TokenValidator"]):
        terminal = Terminal(vault, *command, PYTHONIOENCODING="latin-1")
        assert terminal.end() == 0, terminal.shown
        assert "?" in terminal.shown
        assert "Error" not in terminal.shown


# --- status and doctor ---------------------------------------------------------------------


def test_status_counts_what_is_there_before_anything_is_indexed(run: Run, vault: Path) -> None:
    assert "Notes      11, none of them indexed yet: " in run("status", cwd=vault).out
    run("index", "-q", cwd=vault)
    (vault / "new.md").write_text("x")
    assert "11 indexed, 1 new or changed since" in run("status", cwd=vault).out
    off = run("status", cwd=vault, env={"VAULTMEM_MODEL": "off"}).out
    assert "Meaning    words alone are searched" in off


def test_status_leads_to_the_doctor(run: Run, vault: Path) -> None:
    (vault / "broken.md").write_text("---\na: [1\n---\n")
    run("index", "-q", cwd=vault)
    assert run("status", cwd=vault).out.endswith("/vaultmem doctor\n")


def test_the_doctor_says_once_what_is_to_be_done(run: Run, vault: Path) -> None:
    fresh = run("doctor", cwd=vault).out
    assert fresh.startswith("Nothing is wrong.")
    run("index", "-q", cwd=vault)
    for number in range(12):
        (vault / f"open {number}.md").write_text("---\nkey: 1\n")
    (vault / ".vm-01LEFT.tmp").write_text("x")
    shown = run("doctor", cwd=vault).out
    assert shown.count("Put a line with --- below the properties.") == 1
    assert "Properties without a closing line (12)" in shown
    assert "… and 4 more; --all lists them" in shown
    assert "13 problems in 13 files." in shown
    assert "/vaultmem doctor --fix removes it after an hour." in shown
    assert re.search(
        r"12 notes changed since the index was made. Take them in: \S+/vaultmem index", shown
    )


def test_a_link_to_what_is_not_written_yet_is_nothing_wrong(run: Run, vault: Path) -> None:
    run("index", "-q", cwd=vault)
    (vault / "Ideas.md").write_text("[[Nowhere]] and [[Elsewhere]]")
    run("index", "-q", cwd=vault)
    told = run("doctor", cwd=vault)
    assert (told.code, told.out.splitlines()[0]) == (0, "Nothing is wrong.")
    assert "2 links to notes that are not there yet: nothing wrong. --all lists them." in told.out
    assert "Ideas.md: [[Nowhere]] leads to no note yet." in run("doctor", "--all", cwd=vault).out
    listed = run("doctor", "--json", cwd=vault)
    assert (listed.code, [f["problem"] for f in listed.json]) == (0, ["dead-link"] * 2)
    assert "Nowhere" not in run("status", cwd=vault).out


def test_the_doctor_has_a_heading_for_everything_it_finds() -> None:
    from vaultmem.surfaces.cli.commands.doctor import HEADINGS, INFORMATION

    package = Path(__file__).parents[2] / "vaultmem"
    source = "".join(
        (package / f).read_text() for f in ("upkeep/doctor.py", "upkeep/verification.py")
    )
    kinds = set(re.findall(r'Finding\([^"]*?"([a-z0-9-]+)"', source))
    assert len(kinds) > 8
    assert kinds - {"index-behind", "pdf-library"} <= {*HEADINGS, *INFORMATION}


# --- completion ----------------------------------------------------------------------------


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """A shell's environment in which `vaultmem` is a command."""
    program = tmp_path / "bin" / "vaultmem"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m vaultmem "$@"\n')
    program.chmod(0o755)
    environment = clean_environment(tmp_path)
    return environment | {"PATH": f"{program.parent}{os.pathsep}{environment['PATH']}"}


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("vaultmem do", ["doctor"]),
        ("vaultmem search --str", ["--strategy"]),
        ("vaultmem search --strategy h", ["hybrid"]),
        ("vaultmem search x --tag au", ["auth", "auth/tokens"]),
        ("vaultmem add x --project at", ["Atlas"]),
        ("vaultmem facts Tok", ["TokenValidator"]),
        ("vaultmem show Rel", [r"Release\ checklist"]),
        (r"vaultmem show Release\ ch", [r"Release\ checklist"]),
        ('vaultmem show "Release ch', ["Release checklist"]),
        ("vaultmem install cu", ["cursor"]),
    ],
)
def test_bash_completes(
    examples: Path, shell: dict[str, str], line: str, offered: list[str]
) -> None:
    words = re.findall(r'"[^"]*$|(?:\\ |\S)+', line)
    quoted = " ".join(f"'{word}'" for word in words)
    script = f"""
        source <(vaultmem completion bash)
        COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}
        _vaultmem_completion vaultmem
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "-c", script], cwd=examples, env=shell, capture_output=True, text=True
    )
    assert (done.stdout.splitlines(), done.stderr) == (offered, "")


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_completion_scripts(run: Run, name: str) -> None:
    done = run("completion", name)
    assert (done.code, done.err) == (0, "")
    assert "_VAULTMEM_COMPLETE" in done.out
    if shutil.which(name):
        checked = subprocess.run([name, "-n"], input=done.out, capture_output=True, text=True)
        assert (checked.returncode, checked.stderr) == (0, "")


def test_completing_in_no_vault_offers_nothing_and_says_nothing(
    tmp_path: Path, shell: dict[str, str]
) -> None:
    asked = {"_VAULTMEM_COMPLETE": "bash_complete", "COMP_WORDS": "vaultmem show x"}
    done = subprocess.run(
        ["vaultmem"], cwd=tmp_path, env=shell | asked | {"COMP_CWORD": "2"},
        capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")
