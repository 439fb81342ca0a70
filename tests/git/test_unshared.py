"""What cannot be shared is never called up to date: each case is a sentence, a code and JSON."""

from __future__ import annotations

import http.server
import os
import pty
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Run, clean_environment
from tests.git.cases import NOTE
from tests.git.conftest import Clones, Machine
from tests.git.test_sync import sync
from tests.waiting import until
from vaultmem.errors import InvalidInput

NAMELESS = {
    f"GIT_{role}_{what}": "" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
}


@pytest.fixture
def nameless(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """git is told nowhere who the person is, and may not guess."""
    (home / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    for name in NAMELESS:
        monkeypatch.delenv(name, raising=False)
    yield {}


def vaultmem(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in clean_environment(home).items() if k not in NAMELESS}
    command = [sys.executable, "-m", "vaultmem", *arguments]
    return subprocess.run(command, cwd=home, env=env, capture_output=True, text=True)


# --- who the person is ------------------------------------------------------------------------


def test_without_a_name_nothing_is_lost_and_a_later_sync_commits(
    home: Path, nameless: dict[str, str]
) -> None:
    made = vaultmem(home, "init", "Brain", "--git")
    assert made.returncode == 0
    for command in ("git config --global user.name", "git config --global user.email"):
        assert command in made.stderr
    assert f"sync --vault {home}/Brain commits it" in made.stderr, "as it works from anywhere"
    found = vaultmem(home, "doctor", "--vault", "Brain")
    assert found.returncode == 1 and "so nothing is committed" in found.stdout
    (home / "Brain" / "Memories" / "N.md").write_text(NOTE)
    os.utime(home / "Brain" / "Memories" / "N.md", (1, 1))
    refused = vaultmem(home, "sync", "--vault", "Brain")
    assert refused.returncode == 2 and "user.email" in refused.stderr
    machine = Machine(home / "Brain", home)
    assert machine.git("ls-files") == "", "nothing is staged, which would count as the person's"
    machine.git("config", "--global", "user.name", "Ann")
    machine.git("config", "--global", "user.email", "ann@localhost")
    done = vaultmem(home, "sync", "--vault", "Brain")
    assert done.returncode == 0, done.stderr
    assert {"Home.md", "Memories/N.md"} <= set(machine.git("ls-files").splitlines())
    assert machine.git("log", "-1", "--format=%an") == "Ann" and machine.is_clean()
    assert vaultmem(home, "doctor", "--vault", "Brain").returncode == 0


def test_watching_goes_on_by_itself_once_the_name_is_there(
    home: Path, nameless: dict[str, str]
) -> None:
    vaultmem(home, "init", "Brain", "--git")
    env = {k: v for k, v in clean_environment(home).items() if k not in NAMELESS}
    command = [sys.executable, "-m", "vaultmem", "sync", "--watch", "1", "--vault", "Brain"]
    process = subprocess.Popen(command, cwd=home, env=env, stdout=-3, stderr=-1)
    machine = Machine(home / "Brain", home)
    try:
        assert process.stderr is not None and b"user.name" in process.stderr.readline()
        machine.git("config", "--global", "user.name", "Ann")
        machine.git("config", "--global", "user.email", "ann@localhost")
        until(lambda: "Home.md" in machine.git("ls-tree", "--name-only", "HEAD", check=False))
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.communicate()


# --- where nothing can be shared -----------------------------------------------------------------


def test_without_a_remote(home: Path, run: Run) -> None:
    run("init", "Brain", "--git")
    for _ in range(2):
        done = run("sync", "--vault", "Brain")
        assert done.code == 0 and "git remote add" in done.err
        assert "up to date" not in done.err and "and shared" not in done.err
    assert run("sync", "--vault", "Brain", "--json").json["shared"] is False


def test_nothing_committed_and_an_empty_remote(home: Path, run: Run) -> None:
    machine = Machine(home / "Brain", home)
    machine.root.mkdir()
    machine.git("init", "-q", "-b", "main")
    subprocess.run(["git", "init", "-q", "--bare", "hub.git"], cwd=home, check=True)
    machine.git("remote", "add", "origin", str(home / "hub.git"))
    (machine.root / ".vaultmem").mkdir()
    done = run("sync", "--vault", "Brain")
    assert "up to date" not in done.err and "nothing to share" in done.err
    assert run("sync", "--vault", "Brain", "--json").json["shared"] is False


def test_several_remotes_and_none_named(clones: Clones) -> None:
    a, _ = clones({})
    a.git("remote", "rename", "origin", "one")
    a.git("remote", "add", "two", str(a.home / "hub.git"))
    a.git("config", "--unset", "branch.main.remote")
    with pytest.raises(InvalidInput, match=r"several remotes .*git push -u one main"):
        sync(a)


def test_what_was_left_out_is_not_called_up_to_date(clones: Clones, run: Run) -> None:
    a, _ = clones({})
    a.save("N.md", "<<<<<<< one\n=======\n>>>>>>> two\n")
    done = run("sync", "--vault", str(a.root))
    assert "but for what was left out" in done.err


def test_a_remote_that_is_gone(clones: Clones, run: Run) -> None:
    a, _ = clones({"N.md": NOTE})
    os.rename(a.home / "hub.git", a.home / "elsewhere")
    done = run("sync", "--vault", str(a.root))
    assert done.code == 3 and "remote -v" in done.err and "up to date" not in done.err
    told = run("sync", "--vault", str(a.root), "--json")
    assert (told.json["status"], told.json["shared"]) == ("offline", False)


def test_a_remote_in_which_somebody_works(clones: Clones, home: Path, run: Run) -> None:
    a, b = clones({"N.md": NOTE})
    a.trust(b.root)
    a.git("remote", "set-url", "origin", str(b.root))
    a.edit("N.md", "24", "12")
    done = run("sync", "--vault", str(a.root))
    assert done.code == 3 and "git init --bare" in done.err
    assert run("sync", "--vault", str(a.root), "--json").json["status"] == "refused"


def test_a_rule_of_the_remote_is_told_in_its_words(clones: Clones, run: Run) -> None:
    a, _ = clones({})
    hook = a.home / "hub.git" / "hooks" / "update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'error: GH006: Protected branch update failed' >&2\nexit 1\n")
    hook.chmod(0o755)
    a.trust(a.home / "hub.git")
    a.save("N.md", NOTE)
    done = run("sync", "--vault", str(a.root))
    assert done.code == 3 and "GH006" in done.err and "Protected branch" in done.err


def test_one_branch_of_a_remote_was_cloned(clones: Clones, home: Path) -> None:
    """Its settings fetch no other branch."""
    a, _ = clones({"N.md": NOTE})
    a.git("push", "-q", "origin", "main:other")
    hub = f"file://{home}/hub.git"
    clone = ["git", "clone", "-q", "--single-branch", "-b", "other", hub, "c"]
    subprocess.run(clone, cwd=home, check=True)
    c = Machine(home / "c", home)
    c.git("switch", "-q", "-c", "main", "--no-track")
    a.edit("N.md", "24", "12")
    sync(a)
    c.edit("N.md", "five", "ten")
    assert sync(c).shared
    assert "12 hours" in c.text("N.md") and "ten minutes" in c.text("N.md")


def test_a_shallow_clone(clones: Clones, home: Path) -> None:
    a, _ = clones({"N.md": NOTE})
    a.edit("N.md", "24", "12")
    sync(a)
    hub = f"file://{home}/hub.git"
    subprocess.run(["git", "clone", "-q", "--depth=1", hub, "c"], cwd=home, check=True)
    c = Machine(home / "c", home)
    a.edit("N.md", "12", "36")
    sync(a)
    c.edit("N.md", "five", "ten")
    assert sync(c).shared
    assert "36 hours" in c.text("N.md") and "ten minutes" in c.text("N.md")


def test_a_further_work_tree_of_a_clone(clones: Clones) -> None:
    """Its `.git` is a file."""
    a, b = clones({"N.md": NOTE})
    a.git("switch", "-q", "-c", "desk")
    a.git("worktree", "add", "-q", "../w", "main")
    w = Machine(a.home / "w", a.home)
    (w.root / ".vaultmem").mkdir(exist_ok=True)
    w.edit("N.md", "24", "12")
    assert sync(w).shared
    sync(b)
    assert "12 hours" in b.text("N.md")


def test_a_submodule_of_another_repository(clones: Clones, home: Path) -> None:
    a, b = clones({"N.md": NOTE})
    around = Machine(home / "around", home)
    around.root.mkdir()
    around.git("init", "-q", "-b", "main")
    add = ["-c", "protocol.file.allow=always", "submodule", "add", "-q", str(home / "hub.git")]
    around.git(*add, "Vault")
    inner = Machine(around.root / "Vault", home)
    inner.edit("N.md", "24", "12")
    assert sync(inner).shared
    sync(b)
    assert "12 hours" in b.text("N.md")
    assert a.root.exists()


# --- nobody is asked -----------------------------------------------------------------------------


class _WantsPassword(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="vault"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *given: object) -> None:
        pass


@pytest.fixture
def site() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _WantsPassword)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/brain.git"
    server.shutdown()
    server.server_close()


def on_terminal(machine: Machine, *more: str, **env: str) -> tuple[int, str]:
    """A sync where a person could be asked, and nobody answers."""
    mine, theirs = pty.openpty()
    command = [sys.executable, "-m", "vaultmem", "sync", "--vault", str(machine.root), *more]
    process = subprocess.Popen(
        command, env=clean_environment(machine.home) | env, stdin=theirs, stdout=theirs,
        stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(mine, 65536):
            shown += part
    except OSError:  # the other end is closed
        pass
    os.close(mine)
    return process.wait(60), shown.decode()


def test_a_password_is_not_asked_for(clones: Clones, site: str) -> None:
    a, _ = clones({"N.md": NOTE})
    a.git("remote", "set-url", "origin", site)
    asking = a.home / "asking"
    asking.write_text(f"#!/bin/sh\ntouch {a.home}/asked\nexec sleep 600\n")
    asking.chmod(0o755)
    code, shown = on_terminal(a, GIT_ASKPASS=str(asking), SSH_ASKPASS=str(asking), DISPLAY=":9")
    assert code == 3 and "could not sign in" in shown, shown
    assert "fetch origin" in shown
    assert not (a.home / "asked").exists()


def test_ssh_is_told_to_ask_nothing(clones: Clones) -> None:
    a, _ = clones({"N.md": NOTE})
    ssh = a.home / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text(
        '#!/bin/sh\necho "$@" > "$HOME/asked"\necho "x: Permission denied (publickey)." >&2\nexit 255\n'
    )
    ssh.chmod(0o755)
    a.git("remote", "set-url", "origin", "git@example.invalid:brain.git")
    path = f"{ssh.parent}{os.pathsep}{os.environ['PATH']}"
    code, shown = on_terminal(a, PATH=path)
    assert code == 3 and "could not sign in" in shown, shown
    assert "BatchMode=yes" in (a.home / "asked").read_text()
    a.git("config", "--global", "core.sshCommand", f"{ssh} -i key")
    assert on_terminal(a, PATH=path)[0] == 3
    said = (a.home / "asked").read_text()
    assert "-i key" in said and "BatchMode=yes" in said, "the person's own, with one word more"
