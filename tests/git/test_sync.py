"""`sync` between clones: what is committed, how it is merged, what is left alone."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.git.cases import CASES, ID, NOTE, changed
from tests.git.conftest import Clones, Machine
from tests.git.test_merge import frontmatter_is_valid
from tests.waiting import until
from vaultmem.errors import Busy, InvalidInput, VaultmemError
from vaultmem.git.share import SyncReport
from vaultmem.notes.note import parse
from vaultmem.vault import Vault

OTHER = NOTE.replace(ID, ID[:-1] + "Z").replace("Refresh tokens", "Other tokens")


def sync(machine: Machine, **more: object) -> SyncReport:
    with Vault.open(machine.root, {"typing.quiet_seconds": 0.0, "model": "off"}) as vault:
        return vault.sync(**more)  # type: ignore[arg-type]


def converged(*machines: Machine) -> dict[str, bytes]:
    for _ in range(3):
        for machine in machines:
            report = sync(machine)
            assert report.status == "done", report
    first, *others = machines
    for other in others:
        assert other.files() == first.files()
        assert other.git("rev-parse", "HEAD") == first.git("rev-parse", "HEAD")
    assert all(machine.is_clean() for machine in machines)
    return first.files()


# --- the cases ------------------------------------------------------------------------------


def test_the_cases_by_sync(clones: Clones) -> None:
    cases = [case for case in CASES if not case.clash]
    a, b = clones({f"{n}.md": case.base for n, case in enumerate(cases)})
    for machine, side in ((a, "ours"), (b, "theirs")):
        for n, case in enumerate(cases):
            machine.save(f"{n}.md", getattr(case, side))
    files = converged(a, b)
    for n, case in enumerate(cases):
        raw = files[f"{n}.md"]
        assert frontmatter_is_valid(raw), case.name
        assert case.check(parse(raw)), case.name


def test_two_memories_of_one_name_both_stay(clones: Clones) -> None:
    a, b = clones({})
    a.save("Memories/Same.md", NOTE)
    b.save("Memories/Same.md", OTHER)
    files = converged(a, b)
    assert files["Memories/Same.md"].decode() == NOTE  # the elder id keeps the name
    assert files["Memories/Same 2.md"].decode() == OTHER


def test_what_is_no_memory_is_shared_as_well(clones: Clones) -> None:
    """What agents do not see is a person's own, and git keeps it all the same."""
    a, b = clones({".vaultmem/config.toml": 'exclude = ["Private", "Home.md"]\n'})
    for path in ("Private/Diary.md", "Home.md", "Templates/Mine.md"):
        a.save(path, "# {{title}}\n\nMine.\n")
    assert not sync(a).left
    assert {"Private/Diary.md", "Home.md", "Templates/Mine.md"} <= converged(a, b).keys()


@pytest.mark.parametrize("deleter", [0, 1])
def test_deleted_here_and_edited_there_stays(clones: Clones, deleter: int) -> None:
    machines = clones({"N.md": NOTE})
    (machines[deleter].root / "N.md").unlink()
    machines[1 - deleter].edit("N.md", "five", "ten")
    sync(machines[0])
    report = sync(machines[1])
    assert [answer.path for answer in report.answers] == ["N.md"]
    assert "ten minutes" in converged(*machines)["N.md"].decode()


def test_renamed_and_edited(clones: Clones) -> None:
    a, b = clones({"Old.md": NOTE})
    os.rename(a.root / "Old.md", a.root / "New.md")
    b.edit("Old.md", "five", "ten")
    files = converged(a, b)
    assert "Old.md" not in files
    assert "ten minutes" in files["New.md"].decode()


def test_renamed_and_rewritten_beyond_recognition(clones: Clones) -> None:
    """git no longer sees a rename; the id says that it is one."""
    a, b = clones({"Old.md": f"---\nid: {ID}\n---\none\ntwo\n"})
    (a.root / "Old.md").unlink()
    words = "".join(f"entirely new line {n}\n" for n in range(40))
    a.save("New.md", f"---\nid: {ID}\ntags:\n  - new\n---\n{words}one\ntwo\n")
    b.edit("Old.md", "two", "two\nthree")
    files = converged(a, b)
    assert "Old.md" not in files
    text = files["New.md"].decode()
    assert "three" in text
    assert "entirely new line 39" in text
    assert "  - new" in text


def test_renamed_differently_on_both_sides(clones: Clones) -> None:
    a, b = clones({"Old.md": NOTE})
    os.rename(a.root / "Old.md", a.root / "Zebra.md")
    a.edit("Zebra.md", "24", "12")
    os.rename(b.root / "Old.md", b.root / "Apple.md")
    b.edit("Apple.md", "five", "ten")
    files = converged(a, b)
    assert {"Old.md", "Zebra.md"}.isdisjoint(files)
    note = parse(files["Apple.md"])
    assert "12 hours" in note.body
    assert "ten minutes" in note.body
    assert note.aliases == ("Zebra",)


def test_two_notes_renamed_to_one_name(clones: Clones) -> None:
    a, b = clones({"One.md": NOTE, "Two.md": OTHER})
    os.rename(a.root / "One.md", a.root / "Same.md")
    os.rename(b.root / "Two.md", b.root / "Same.md")
    files = converged(a, b)
    ids = {parse(files[path]).id for path in ("Same.md", "Same 2.md")}
    assert ids == {ID, ID[:-1] + "Z"}


def test_a_folder_renamed_and_a_note_put_into_it(clones: Clones) -> None:
    a, b = clones({"Old/One.md": NOTE})
    os.rename(a.root / "Old", a.root / "New")
    b.save("Old/Two.md", OTHER)
    files = converged(a, b)
    assert {"New/One.md", "Old/Two.md"} <= files.keys()


def test_two_agents_and_a_person(clones: Clones) -> None:
    a, b, c = clones({"N.md": NOTE}, count=3)
    with a.vault(client="claude-code") as vault:
        vault.update("N", add_tags=["from-a"])
        vault.remember("A learned this.")
    with b.vault(client="cursor") as vault:
        vault.update("N", add_tags=["from-b"], importance=0.9)
        vault.assert_fact("AuthService", "depends_on", "Keychain")
    c.edit("N.md", "five", "ten")
    files = converged(a, b, c)
    note = parse(files["N.md"])
    assert {"from-a", "from-b"} <= set(note.tags)
    assert note.get("importance") == 0.9
    assert "ten minutes" in note.body
    assert "Memories/A learned this.md" in files
    authors = a.git(
        "log", "--format=%an <%ae>|%s|%(trailers:key=Vaultmem-Op,valueonly,separator=%x2C)"
    )
    assert (
        "claude-code (vaultmem) <agent@vaultmem.invalid>|memory: 2 notes by claude-code|" in authors
    )
    assert "cursor (vaultmem)" in authors
    assert "Tester <tester@localhost>|vault: 1 note edited|" in authors


def test_other_files_that_both_changed_are_left_to_the_person(clones: Clones) -> None:
    a, b = clones({"x.canvas": "1\n"})
    a.save("x.canvas", "2\n")
    b.save("x.canvas", "3\n")
    sync(a)
    assert sync(b).conflicts == ["x.canvas"]
    with Vault.open(b.root) as vault:
        vault.resolve("x.canvas", "theirs")
    assert converged(b, a)["x.canvas"] == b"2\n"


def test_criss_cross(clones: Clones) -> None:
    """Both merge before either pushes; what one then takes away does not come back."""
    a, b = clones({"N.md": NOTE})
    a.edit("N.md", "- first entry", "- first entry\n- from a")
    b.edit("N.md", "- first entry", "- first entry\n- from b")
    a.commit()
    b.commit()
    a.git("push", "-q", "origin", "main:a")
    b.git("push", "-q", "origin", "main:b")
    from vaultmem.git.repo import merge_driver_command

    for machine, other in ((a, "b"), (b, "a")):
        machine.git("fetch", "-q")
        driver = f"merge.vaultmem.driver={merge_driver_command()}"
        machine.git("-c", driver, "merge", "-q", "--no-edit", f"origin/{other}")
    b.edit("N.md", "- from a\n", "")
    b.commit()
    a.edit("N.md", "five", "ten")
    text = converged(a, b)["N.md"].decode()
    assert "from b" in text
    assert "from a" not in text
    assert "ten minutes" in text


# --- what is committed ------------------------------------------------------------------------


def test_what_a_person_staged_is_theirs(clones: Clones) -> None:
    a, b = clones({"N.md": NOTE, "M.md": "m\n"})
    a.save("Staged.md", "staged\n")
    a.edit("N.md", "24", "12")
    a.git("add", "Staged.md", "N.md")
    a.save("M.md", "changed\n")
    b.save("New.md", "from b\n")
    sync(b)
    before = a.git("diff", "--cached")
    report = sync(a)
    assert report.status == "done"
    assert {left.path for left in report.left} == {"Staged.md", "N.md"}
    assert a.git("diff", "--cached") == before
    assert a.text("New.md") == "from b\n"
    assert "Staged.md" not in a.git("ls-tree", "--name-only", "origin/main")


def test_markers_are_never_committed(clones: Clones) -> None:
    a, _ = clones({"N.md": NOTE})
    a.edit("N.md", "24 hours", "24 hours\n<<<<<<< one\nx\n=======\ny\n>>>>>>> two")
    report = sync(a)
    assert "markers" in report.left[0].reason
    assert "<<<<" not in a.git("show", "HEAD:N.md")


def test_a_note_that_is_being_typed_waits(clones: Clones) -> None:
    a, _ = clones({"N.md": NOTE})
    a.save("Done.md", "done\n")
    (a.root / "N.md").write_text(NOTE + "half a sen")
    with Vault.open(a.root, {"typing.quiet_seconds": 30.0}) as vault:
        report = vault.sync(quiet_seconds=0.3)
    assert [left.path for left in report.left] == ["N.md"]
    assert [commit.paths for commit in report.committed] == [("Done.md",)]


def test_this_machines_own_state_is_never_committed(clones: Clones) -> None:
    a, _ = clones({})
    a.save(".gitignore", "")
    a.save(".trash/Gone.md", "gone\n")
    a.save(".vm-01KE6Q8Z4R9M2N4P6R7S8T9VWX.tmp", "half")
    with a.vault() as vault:
        vault.remember("Something worth keeping.")
    sync(a)
    listed = a.git("ls-files").splitlines()
    assert "Memories/Something worth keeping.md" in listed
    assert not [
        name for name in listed if name.startswith((".trash", ".vm", ".vaultmem/l", ".vaultmem/i"))
    ]


def test_a_vault_inside_a_larger_repository(clones: Clones) -> None:
    a, b = clones(
        {"Vault/N.md": NOTE, "Vault/.vaultmem/.gitignore": "*\n!.gitignore\n", "code.py": "1\n"}
    )
    for machine in (a, b):
        (machine.root / "Vault" / ".vaultmem").mkdir(exist_ok=True)
    inner = [Machine(machine.root / "Vault", machine.home) for machine in (a, b)]
    a.save("code.py", "not ours to commit\n")
    inner[0].edit("N.md", "24", "12")
    inner[1].edit("N.md", "five", "ten")
    for machine in (*inner, inner[0]):
        assert sync(machine).status == "done"
    assert inner[0].text("N.md") == inner[1].text("N.md")
    assert "12 hours" in inner[1].text("N.md")
    assert a.git("status", "--porcelain") == "M code.py"


def test_a_vault_that_the_repository_around_it_ignores(clones: Clones) -> None:
    a, _ = clones({"code.py": "1\n", ".gitignore": "Vault/\n"})
    (a.root / "Vault" / ".vaultmem").mkdir(parents=True)
    with pytest.raises(InvalidInput, match="of its own"):
        sync(Machine(a.root / "Vault", a.home))


def test_a_push_that_the_server_refuses_is_not_tried_again(clones: Clones) -> None:
    a, _ = clones({})
    hook = a.home / "hub.git" / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    a.trust(a.home / "hub.git")
    a.save("N.md", NOTE)
    report = sync(a)
    assert (report.status, report.shared, report.pushed) == ("refused", False, False)
    assert "pre-receive hook declined" in report.messages[-1]
    assert a.is_clean()


def test_an_emptied_vault_is_not_taken_for_a_wish(clones: Clones) -> None:
    a, b = clones({f"Notes/{n}.md": f"{n}\n" for n in range(30)})
    for n in range(29):
        (a.root / f"Notes/{n}.md").unlink()
    a.save("New.md", "new\n")
    report = sync(a)
    assert len(report.left) == 29
    assert "New.md" in a.git("ls-tree", "--name-only", "origin/main")
    sync(b)
    assert len(list((b.root / "Notes").iterdir())) == 30
    a.commit("meant")
    assert sync(a).status == "done"


def test_names_that_need_care(clones: Clones) -> None:
    a, b = clones({})
    odd = [
        "Ünïcödé ノート.md",
        "-dash.md",
        "a b  c.md",
        "[brackets]*?.md",
        "quote'\".md",
        ":top.md",
    ]
    for name in odd:
        a.save(name, f"{name}\n")
    files = converged(a, b)
    assert set(odd) <= files.keys()
    for name in odd[:3]:
        (b.root / name).unlink()
    assert set(odd[:3]).isdisjoint(converged(b, a))


# --- before it starts, and when it cannot go on -------------------------------------------------


def test_no_repository(root: Path) -> None:
    (root / ".vaultmem").mkdir()
    with Vault.open(root) as vault, pytest.raises(InvalidInput, match=r"init .* --git"):
        vault.sync()


def test_no_remote_commits_here(root: Path, home: Path, run: Run) -> None:
    assert run("init", str(root), "--git").code == 0
    machine = Machine(root, home)
    machine.save("N.md", NOTE)
    ran = run("sync", "--vault", str(root), "--json")
    assert ran.code == 0, ran.err
    assert ran.json["committed"][0]["paths"] == ["N.md"]
    assert "git remote add" in ran.json["messages"][0]


def test_no_identity(clones: Clones, monkeypatch: pytest.MonkeyPatch) -> None:
    a, _ = clones({})
    for name in ("NAME", "EMAIL"):
        monkeypatch.delenv(f"GIT_AUTHOR_{name}")
        monkeypatch.delenv(f"GIT_COMMITTER_{name}")
    with pytest.raises(InvalidInput, match=r"user\.name .*user\.email"):
        sync(a)


def test_a_detached_head(clones: Clones) -> None:
    a, _ = clones({})
    a.git("switch", "-q", "--detach")
    with pytest.raises(InvalidInput, match="git switch"):
        sync(a)


def test_someone_elses_merge_is_left_alone(clones: Clones) -> None:
    a, b = clones({"N.md": NOTE})
    a.edit("N.md", "24", "12")
    a.commit()
    a.git("push", "-q")
    b.edit("N.md", "24", "48")
    b.commit()
    b.git("pull", "-q", "--no-rebase", "--no-edit", check=False)
    assert b.under_way()
    with pytest.raises(InvalidInput, match="did not start"):
        sync(b)


def test_a_lock_that_stays(clones: Clones, monkeypatch: pytest.MonkeyPatch) -> None:
    a, _ = clones({})
    monkeypatch.setattr("vaultmem.git.repo.LOCK_SECONDS", 0.1)
    lock = a.root / ".git" / "index.lock"
    lock.touch()
    with pytest.raises(Busy, match=r"index\.lock"):
        sync(a)


def test_offline_commits_and_catches_up(clones: Clones, run: Run) -> None:
    a, b = clones({"N.md": NOTE})
    hub = a.home / "hub.git"
    os.rename(hub, a.home / "away")
    a.edit("N.md", "24", "12")
    ran = run("sync", "--vault", str(a.root))
    assert ran.code == 3
    assert "next sync" in ran.err
    assert a.is_clean()
    os.rename(a.home / "away", hub)
    assert "12 hours" in converged(a, b)["N.md"].decode()


def test_a_branch_without_upstream_gets_one(clones: Clones) -> None:
    a, _ = clones({})
    a.git("switch", "-q", "-c", "side")
    a.save("N.md", NOTE)
    assert sync(a).pushed
    assert a.git("rev-parse", "origin/side") == a.git("rev-parse", "HEAD")
    assert a.git("config", "branch.side.remote") == "origin"


def test_an_empty_hub(home: Path, run: Run) -> None:
    env = {"cwd": home, "check": True, "capture_output": True}
    subprocess.run(["git", "init", "-q", "--bare", "--initial-branch=main", "hub.git"], **env)  # type: ignore[call-overload]
    subprocess.run(["git", "clone", "-q", "hub.git", "a"], **env)  # type: ignore[call-overload]
    machine = Machine(home / "a", home)
    (machine.root / ".vaultmem").mkdir()
    machine.save("N.md", NOTE)
    assert run("sync", "--vault", str(machine.root)).code == 0
    assert machine.git("rev-parse", "origin/main") == machine.git("rev-parse", "HEAD")


def test_a_file_in_the_way_is_not_overwritten(clones: Clones) -> None:
    a, b = clones({"N.md": NOTE})
    a.edit("N.md", "24", "12")
    sync(a)
    b.edit("N.md", "five", "ten")
    b.git("add", "N.md")  # staged: left alone, and in the way
    report = sync(b)
    assert report.status == "waiting"
    assert "N.md" in report.messages[-1]
    assert "ten minutes" in b.text("N.md")


def test_a_dry_run_changes_nothing(clones: Clones, run: Run) -> None:
    a, b = clones({"N.md": NOTE})
    a.edit("N.md", "24", "12")
    sync(a)
    b.edit("N.md", "five", "ten")
    before, head = b.files(), b.git("rev-parse", "HEAD")
    ran = run("sync", "--dry-run", "--json", "--vault", str(b.root))
    assert ran.code == 0, ran.err
    assert ran.json["committed"][0]["paths"] == ["N.md"]
    assert ran.json["pulled"] == ["N.md"]
    assert (b.files(), b.git("rev-parse", "HEAD")) == (before, head)
    assert b.git("status", "--porcelain") == "M N.md"


def test_only_one_sync_at_a_time(clones: Clones, monkeypatch: pytest.MonkeyPatch) -> None:
    from vaultmem.base import lock

    a, _ = clones({})
    monkeypatch.setattr("vaultmem.git.share._LOCK_SECONDS", 0.1)
    local = a.root / ".vaultmem" / "local"
    local.mkdir()
    held = lock.try_to_lock(local / "git.lock")
    assert held is not None
    with pytest.raises(Busy):
        sync(a)
    held.release()


def test_watching_survives_being_offline(clones: Clones) -> None:
    import signal
    import sys

    from tests.conftest import clean_environment

    a, b = clones({"N.md": NOTE})
    hub = a.home / "hub.git"
    os.rename(hub, a.home / "away")
    command = [sys.executable, "-m", "vaultmem", "sync", "--watch", "1", "--vault", str(a.root)]
    process = subprocess.Popen(
        command, env=clean_environment(a.home), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    try:
        assert process.stderr is not None
        assert b"remote is not there" in process.stderr.readline()
        a.edit("N.md", "24", "12")
        os.rename(a.home / "away", hub)

        def has_come() -> bool:
            b.git("fetch", "-q")
            return "12 hours" in b.git("show", "origin/main:N.md")

        until(has_come)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.communicate()


def test_a_read_only_vault_is_not_synced(clones: Clones) -> None:
    a, _ = clones({})
    with Vault.open(a.root, {"read_only": True}) as vault, pytest.raises(VaultmemError):
        vault.sync()


def test_the_index_has_what_came(clones: Clones) -> None:
    a, b = clones({"N.md": NOTE, "Gone.md": "soon gone\n"})
    with b.vault() as vault:
        vault.index_now()
    a.save("New.md", "A peculiar zebra.\n")
    (a.root / "Gone.md").unlink()
    os.rename(a.root / "N.md", a.root / "Moved.md")
    sync(a)
    assert sync(b).indexed == 3
    with b.vault() as vault:
        assert {
            row.path for row in vault.parts.index.lookup.select(vault.view.filters(), "title")[0]
        } >= {
            "New.md",
            "Moved.md",
        }
        assert vault.recall("peculiar zebra", strategy="keyword").memories[0].path == "New.md"


def test_hooks_of_a_repository_that_the_person_trusts_run(clones: Clones) -> None:
    a, _ = clones({})
    a.trust()
    hook = a.root / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho refused by the hook >&2\nexit 1\n")
    hook.chmod(0o755)
    a.save("N.md", changed(NOTE, "24", "12"))
    with pytest.raises(VaultmemError, match="refused by the hook"):
        sync(a)
    hook.unlink()
    assert sync(a).status == "done"
