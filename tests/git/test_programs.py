"""A vault that was copied, unpacked or cloned runs no program, whatever its repository says.

Every way in which a repository can name a program is planted with one that leaves a canary
behind. Ordinary git shows that the canary sings where it can be reached; then everything of
ours that touches git is done, and no canary may be there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import nursery
from tests.conftest import Run, clean_environment
from tests.git.conftest import Clones, Machine
from tests.surfaces.mcp.harness import Process
from vaultmem.errors import InvalidInput, VaultmemError
from vaultmem.git import trust
from vaultmem.upkeep import doctor

NOTE = "---\nid: 01HQXYZ7K3M4N5P6Q7R8S9T0AA\n---\nTokens expire after 24 hours.\n"
HOOKS = (  # of git 2.55, less those of p4 and of mail
    *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit"),
    *("prepare-commit-msg", "commit-msg", "post-commit", "pre-rebase", "post-checkout"),
    *("post-merge", "pre-push", "pre-receive", "update", "proc-receive", "post-receive"),
    *("post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc", "post-rewrite"),
    *("fsmonitor-watchman", "post-index-change"),
)


class Hostile(Machine):
    """A clone whose `.git` somebody else has prepared."""

    @property
    def canaries(self) -> Path:
        return self.home / "canaries"

    def canary(self, name: str, *, then: str = "exit 1") -> str:
        """A program that leaves a file behind; answers with its path."""
        self.canaries.mkdir(exist_ok=True)
        name = name.replace("/", "-")
        file = self.canaries / f"{name}.sh"
        file.write_text(f"#!/bin/sh\n: > '{self.canaries}/{name}.ran'\n{then}\n")
        file.chmod(0o755)
        return str(file)

    def sang(self) -> set[str]:
        return {file.stem for file in self.canaries.glob("*.ran")}

    def config(self, **settings: str) -> None:
        for name, value in settings.items():
            self.git("config", name.replace("__", "."), value)

    def hooks(self, folder: Path, names: tuple[str, ...] = HOOKS) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            shutil.copy(self.canary(f"hook-{name}", then="exit 0"), folder / name)


Plant = Callable[[Hostile], None]


@dataclass(frozen=True)
class Case:
    name: str
    plant: Plant
    reach: str = ""  # ordinary commands that make it sing
    refused: bool = True  # sync does nothing without it

    def __str__(self) -> str:
        return self.name


def setting(name: str, value: str = "{}", **more: str) -> Plant:
    """One of git's settings names the canary; others make it matter."""

    def plant(vault: Hostile) -> None:
        vault.git("config", name, value.format(vault.canary(name)))
        for other, text in more.items():
            vault.git("config", other.replace("__", "."), text)

    return plant


def attributed(attribute: str, *names: str) -> Plant:
    def plant(vault: Hostile) -> None:
        (vault.root / ".git" / "info" / "attributes").write_text(f"* {attribute}=evil\n")
        for name in names:
            setting(name)(vault)

    return plant


def elsewhere(address: str, *names: str, **more: str) -> Plant:
    """A remote that is reached with the help of a program."""

    def plant(vault: Hostile) -> None:
        vault.git("config", "remote.origin.url", address.format(vault.canary("address")))
        for name in names:
            setting(name, **more)(vault)

    return plant


def included(vault: Hostile) -> None:
    (vault.root / "evil.cfg").write_text(f"[core]\n\tfsmonitor = {vault.canary('included')}\n")
    vault.git("config", "include.path", "../evil.cfg")


def of_the_worktree(vault: Hostile) -> None:
    vault.git("config", "extensions.worktreeConfig", "true")
    vault.git("config", "--worktree", "core.fsmonitor", vault.canary("worktree"))


def nested(vault: Hostile) -> None:
    """A repository within, which git asks whether it has changed."""
    inner = Hostile(vault.root / "inner", vault.home)
    inner.root.mkdir()
    inner.git("init", "-q")
    inner.save("x", "x")
    inner.commit()
    oid = inner.git("rev-parse", "HEAD")
    vault.git("update-index", "--add", "--cacheinfo", f"160000,{oid},inner")
    vault.git("commit", "-q", "-m", "inner")
    inner.git("config", "core.fsmonitor", vault.canary("nested"))


def signed(vault: Hostile) -> None:
    """The last commit says that it is signed, and the log asks by whom."""
    text = vault.git("cat-file", "commit", "HEAD")
    text = text.replace("\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n\n", 1) + "\n"
    made = subprocess.run(
        ["git", "hash-object", "-w", "-t", "commit", "--stdin"],
        cwd=vault.root,
        input=text.encode(),
        capture_output=True,
    )
    vault.git("reset", "-q", made.stdout.decode().strip())
    setting("gpg.program", log__showSignature="true")(vault)


def lazily_fetched(vault: Hostile) -> None:
    """An object that is missing is asked for at the remote."""
    oid = vault.git("rev-parse", "HEAD:N.md")
    (vault.root / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
    vault.config(core__repositoryformatversion="1", extensions__partialClone="origin")
    vault.config(remote__origin__promisor="true")
    setting("remote.origin.uploadpack")(vault)


def borrowed(vault: Hostile) -> None:
    alternates = vault.root / ".git" / "objects" / "info" / "alternates"
    alternates.write_text(str(vault.home / "hub.git" / "objects") + "\n")
    setting("core.alternateRefsCommand")(vault)


def hooked(*names: str) -> Plant:
    return lambda vault: vault.hooks(vault.root / ".git" / "hooks", names)


def hub_hooked(vault: Hostile) -> None:
    vault.hooks(vault.home / "hub.git" / "hooks")


def hooks_elsewhere(vault: Hostile) -> None:
    vault.hooks(vault.root / "Hooks")
    vault.git("config", "core.hooksPath", "Hooks")


def unreached(vault: Hostile) -> None:
    """What names programs for commands that are none of ours."""
    for name in (
        *("core.pager", "pager.log", "pager.status", "pager.diff", "core.editor"),
        *("sequence.editor", "interactive.diffFilter", "trailer.evil.command", "trailer.evil.cmd"),
        *("mergetool.evil.cmd", "difftool.evil.cmd", "browser.evil.cmd", "man.evil.cmd"),
        *("sendemail.smtpServer", "sendemail.toCmd", "instaweb.browser", "guitool.evil.cmd"),
        *("diff.external", "diff.evil.command", "diff.evil.textconv", "tar.evil.command"),
        *("uploadpack.packObjectsHook", "submodule.evil.update", "init.templateDir"),
    ):
        setting(name)(vault)
    for name in ("status", "ls-files", "log", "commit", "fetch", "merge", "rev-parse"):
        setting(f"alias.{name}", "!{}")(vault)
    (vault.root / ".git" / "info" / "attributes").write_text("* diff=evil\n")
    vault.hooks(vault.root / ".git" / "hooks", tuple({*HOOKS} - {*trust.HOOKS}))


def allowed(vault: Hostile) -> None:
    vault.git("config", "protocol.ext.allow", "always")
    vault.git("config", "remote.origin.url", f"ext::{vault.canary('ext')}")


def renamed(vault: Hostile) -> None:
    """The address looks like a folder, and is taken for another one."""
    vault.git("config", "protocol.ext.allow", "always")
    url = vault.git("remote", "get-url", "origin")
    vault.git("config", f"url.ext::{vault.canary('instead')}.insteadOf", url)


def an_option(vault: Hostile) -> None:
    vault.git("config", "branch.main.remote", f"--upload-pack={vault.canary('option')}")


def a_remote_of_its_own(vault: Hostile) -> None:
    vault.git("config", "protocol.ext.allow", "always")
    vault.git("config", "branch.main.remote", f"ext::{vault.canary('branch')}")


SSH = "ssh://nobody@localhost:1/x"
COMMIT = "git commit -qam x"
CASES = (
    Case("fsmonitor", setting("core.fsmonitor"), "git status", refused=False),
    Case("fsmonitor, included", included, "git status", refused=False),
    Case("fsmonitor, of the work tree", of_the_worktree, "git status", refused=False),
    Case("fsmonitor, of a repository within", nested, "git status", refused=False),
    Case("signatures in the log", signed, "git log -1"),
    Case("what other commands run", unreached, "git diff", refused=False),
    Case("hooks", hooked(*trust.HOOKS), COMMIT),
    Case("hooks elsewhere", hooks_elsewhere, COMMIT),
    Case("hooks of the remote", hub_hooked, "git push -q origin HEAD:refs/heads/x"),
    Case("hooks as settings", setting("hook.evil.command", hook__evil__event="pre-commit")),
    Case("clean", attributed("filter", "filter.evil.clean"), "git add -A"),
    Case("process", attributed("filter", "filter.evil.process"), "git add -A"),
    Case("smudge", attributed("filter", "filter.evil.smudge"), "git checkout N.md"),
    Case(
        "merge driver",
        attributed("merge", "merge.evil.driver"),
        f"{COMMIT}; git fetch -q; git merge origin/main",
    ),
    Case(
        "merge by default",
        setting("merge.evil.driver", merge__default="evil"),
        f"rm .gitattributes; {COMMIT}; git fetch -q; git merge origin/main",
    ),
    Case("signing", setting("gpg.program", commit__gpgSign="true"), COMMIT),
    Case(
        "signing with a key of ssh",
        setting("gpg.ssh.defaultKeyCommand", commit__gpgSign="true", gpg__format="ssh"),
        COMMIT,
    ),
    Case("uploadpack", setting("remote.origin.uploadpack"), "git fetch"),
    Case("receivepack", setting("remote.origin.receivepack"), "git push"),
    Case("ssh", elsewhere(SSH, "core.sshCommand"), "git fetch"),
    Case("proxy", elsewhere("git://localhost:1/x", "core.gitProxy"), "git fetch"),
    Case("ext", allowed, "git fetch"),
    Case("ext instead", renamed, "git fetch", refused=False),
    Case("an option for a remote", an_option, 'git fetch "$(git config branch.main.remote)" .'),
    Case("a remote of the branch", a_remote_of_its_own, "git fetch", refused=False),
    Case("vcs", setting("remote.origin.vcs")),
    Case("askpass", elsewhere("https://localhost:1/x", "core.askPass")),
    Case("credentials", elsewhere("https://localhost:1/x", "credential.helper")),
    Case("credentials of one host", setting("credential.https://localhost.helper")),
    Case("alternates", borrowed, "git fetch"),
    Case("gc", setting("gc.recentObjectsHook", gc__auto="1")),
    Case("lfs", setting("lfs.customtransfer.evil.path", lfs__standalonetransferagent="evil")),
    Case("missing objects", lazily_fetched, "git cat-file -p HEAD:N.md"),
)


@pytest.fixture
def hostile(clones: Clones) -> Hostile:
    """Two machines changed the same line; the second one is not to be trusted."""
    a, b = clones({"N.md": NOTE, "Other.md": "other\n"})
    a.edit("N.md", "24", "12")
    a.commit()
    a.git("push", "-q")
    b.edit("N.md", "24", "48")
    return Hostile(b.root, b.home)


def everything(machine: Hostile) -> list[str]:
    """All that a vault offers about git; answers with how each sync ended."""
    ends: list[str] = []

    def sync(**options: bool) -> None:
        try:
            ends.append(vault.sync(quiet_seconds=0.0, **options).status)
        except InvalidInput as error:
            ends.append("refused" if "program" in error.message else "not begun")

    with machine.vault() as vault:
        for deed in (
            vault.conflicts,
            lambda: vault.history("N", git=True),
            lambda: doctor.examine_vault(vault.parts.store),
            lambda: sync(dry_run=True),
            sync,
            vault.conflicts,
            lambda: vault.resolve("N", "both"),
            sync,
            lambda: vault.history("N", git=True),
        ):
            with suppress(VaultmemError):
                deed()
    return ends


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_program_of_the_repository_runs(hostile: Hostile, case: Case) -> None:
    case.plant(hostile)
    ends = everything(hostile)
    assert hostile.sang() == set()
    assert ("refused" in ends or "not begun" in ends) == case.refused, ends


@pytest.mark.parametrize("case", [case for case in CASES if case.reach], ids=str)
def test_ordinary_git_runs_it(hostile: Hostile, case: Case) -> None:
    """So that the canaries above are known to sing."""
    case.plant(hostile)
    run = {"cwd": hostile.root, "env": clean_environment(hostile.home), "capture_output": True}
    subprocess.run(["sh", "-c", case.reach], **run)  # type: ignore[call-overload]
    assert hostile.sang()


# --- repositories that are not what they seem ------------------------------------------------


def test_a_bare_repository_among_the_notes_is_none(hostile: Hostile) -> None:
    """git carries one like any other folder, with its settings."""
    inner = hostile.root / "Notes"
    subprocess.run(["git", "init", "-q", "--bare", str(inner)], check=True, capture_output=True)
    vault = Hostile(inner, hostile.home)
    for name, value in {
        "bare": "false",
        "worktree": "..",
        "fsmonitor": vault.canary("bare"),
    }.items():
        vault.git("config", "-f", str(inner / "config"), f"core.{name}", value)
    vault.save("N.md", NOTE)
    assert set(everything(vault)) == {"not begun"}
    assert vault.sang() == set()
    vault.git("-C", str(inner), "status", check=False)
    assert vault.sang() == {"bare"}


def test_a_repository_of_other_files_is_not_used(hostile: Hostile) -> None:
    """Its work tree is the home folder, so a pull would write there."""
    hostile.git("config", "core.worktree", str(hostile.home))
    before = {path: path.stat().st_mtime_ns for path in hostile.home.iterdir()}
    assert set(everything(hostile)) == {"not begun"}
    del before[hostile.root]  # it has an index now
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_a_merge_that_is_an_option_is_not_finished(hostile: Hostile) -> None:
    with hostile.vault() as vault:
        (vault.parts.store.local() / "git-merge").write(b"--strategy=evil")
        (hostile.root / ".git" / "MERGE_HEAD").write_text("--strategy=evil")
        with pytest.raises(InvalidInput, match="takes for an option"):
            vault.sync(quiet_seconds=0.0)


def test_git_is_not_looked_for_where_one_stands(
    hostile: Hostile, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("git", "git-upload-pack", "ssh"):
        shutil.copy(hostile.canary(name), hostile.root / name)
    hostile.git("remote", "set-url", "origin", "ssh://nobody@localhost:1/x")
    path = os.pathsep.join(["", ".", str(hostile.root), os.environ["PATH"]])
    env = {"HOME": str(hostile.home), "PATH": path}
    for command in ("conflicts", "sync", "doctor", "status"):
        assert run(command, cwd=hostile.root, env=env).code in (0, 1, 3)
    assert hostile.sang() <= {"ssh"}  # that one from PATH's own absolute folder
    shutil.rmtree(hostile.canaries)
    env["PATH"] = os.pathsep.join(["", ".", os.environ["PATH"]])
    assert run("sync", cwd=hostile.root, env=env).code == 3
    assert hostile.sang() == set()


# --- what a person allows --------------------------------------------------------------------


def test_what_the_repository_says_about_itself_is_no_trust(hostile: Hostile) -> None:
    hostile.git("config", "vaultmem.trusted", str(hostile.root))
    hostile.hooks(hostile.root / ".git" / "hooks", ("pre-commit",))
    assert "refused" in everything(hostile)
    assert hostile.sang() == set()


def test_a_person_trusts_a_repository_by_its_place(hostile: Hostile) -> None:
    attributed("filter", "filter.evil.clean")(hostile)
    hostile.canary("filter.evil.clean", then="exec cat")
    hostile.trust(hostile.home)  # not this one
    assert "refused" in everything(hostile)
    assert hostile.sang() == set()
    hostile.trust()
    assert everything(hostile)[-1] == "done"
    assert hostile.sang() == {"filter.evil.clean"}


def test_a_persons_own_hooks_and_filters_run(hostile: Hostile) -> None:
    hooks = hostile.home / "my-hooks"
    hostile.hooks(hooks, ("pre-commit",))
    (hostile.root / ".gitattributes").write_text("*.md filter=mine\n")
    mine = hostile.canary("mine", then="exec cat")
    hostile.git("config", "--global", "core.hooksPath", str(hooks))
    hostile.git("config", "--global", "filter.mine.clean", mine)
    hostile.git("config", "core.hooksPath", "")
    assert "refused" not in everything(hostile)
    assert hostile.sang() == {"hook-pre-commit", "mine"}


def test_a_persons_folder_of_hooks_that_every_repository_fills(hostile: Hostile) -> None:
    """`core.hooksPath = .githooks` in one's own settings means: whatever a clone brings."""
    hostile.git("config", "--global", "core.hooksPath", ".githooks")
    assert "refused" not in everything(hostile)
    hostile.hooks(hostile.root / ".githooks", ("pre-commit",))
    hostile.save("More.md", "more\n")
    assert "refused" in everything(hostile)
    assert hostile.sang() == set()


def test_the_refusal_says_what_and_how(hostile: Hostile, run: Run) -> None:
    setting("core.sshCommand")(hostile)
    hostile.hooks(hostile.root / ".git" / "hooks", ("pre-push",))
    ran = run("sync", "--vault", str(hostile.root), env={"HOME": str(hostile.home)})
    assert ran.code == 2
    assert "core.sshcommand, the hook pre-push" in ran.err
    how = ran.err.partition("If they are yours: ")[2].strip()
    assert how == f"git config --global --add vaultmem.trusted {hostile.root}"
    found = run("doctor", "--json", "--vault", str(hostile.root), env={"HOME": str(hostile.home)})
    assert [(f["problem"], f["fix"]) for f in found.json if f["path"] == ".git"] == [
        ("git-programs", how)
    ]
    subprocess.run(how, shell=True, env=clean_environment(hostile.home), check=True)
    assert (
        "programs"
        not in run("sync", "--vault", str(hostile.root), env={"HOME": str(hostile.home)}).err
    )


# --- as a user and an agent have it ----------------------------------------------------------


def hooked_in(vault: Hostile, event: dict[str, str]) -> None:
    command = [sys.executable, "-m", "vaultmem", "hook", "--vault", str(vault.root)]
    env = clean_environment(vault.home)
    nursery.run(command, cwd=vault.root, env=env, input=json.dumps(event).encode(), check=True)


def test_no_command_and_no_agent_runs_one(hostile: Hostile, run: Run) -> None:
    for case in CASES:
        if case.name not in ("missing objects", "signatures in the log"):
            case.plant(hostile)
    for file in hostile.canaries.glob("*.ran"):  # ordinary git planted them
        file.unlink()
    env = {"HOME": str(hostile.home)}
    at = ["--vault", str(hostile.root)]
    with Process(hostile.home, *at, env=env) as server:
        server.start()
        for number, name in enumerate(("conflicts", "status", "recent"), 1):
            reply = server.request(number, "resources/read", uri=f"memory://{name}")
            assert "result" in reply, reply
        server.end()
    for command in (
        *(["conflicts"], ["sync", "--dry-run"], ["sync"], ["resolve", "N", "--both"], ["status"]),
        *(["history", "N"], ["doctor"], ["doctor", "--fix"], ["context", "tokens"], ["index"]),
    ):
        ran = run(*command, *at, env=env)
        assert "Traceback" not in ran.err, ran.err
    ran = run("init", str(hostile.root), "--git", "--with", "templates", env=env)
    assert "not committed yet" in ran.out + ran.err
    for name in ("SessionStart", "SessionEnd"):
        event = {"hook_event_name": name, "session_id": "s", "cwd": str(hostile.root)}
        hooked_in(hostile, event)
    assert hostile.sang() == set()
