"""The watcher on real folders in real time, followed as an index would follow it."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from watchdog.observers import inotify_c

from tests import nursery
from tests.conftest import ROOT, clean_environment, make_store
from tests.waiting import until
from vaultmem.indexing.watcher import Watcher, WatchHint
from vaultmem.storage.drives import network_drive

QUEUE = Path("/proc/sys/fs/inotify/max_queued_events")


class Follower:
    """Knows of the vault only what hints made it look at."""

    def __init__(self, root: Path, **options: Any) -> None:
        self.root = root
        self.store = make_store(root)
        self.known: dict[str, str] = {}
        self.hints: list[WatchHint] = []
        self.watcher = Watcher(root, self.store.paths.is_note, self.look, **options)

    def look(self, hint: WatchHint) -> None:
        if hint.everything:
            self.known = self.actual()
        for path in hint.paths:
            try:
                self.known[path] = (self.root / path).read_text()
            except FileNotFoundError:
                self.known.pop(path, None)
        self.hints.append(hint)

    def actual(self) -> dict[str, str]:
        found = {}
        for folder, _, names in os.walk(self.root):
            for name in names:
                file = Path(folder, name)
                path = file.relative_to(self.root).as_posix()
                if self.store.paths.is_note(path):
                    found[path] = file.read_text()
        return found

    def caught_up(self) -> bool:
        return self.known == self.actual()

    def expect(self, *paths: str) -> None:
        """The news since the last call: these paths and no others."""
        until(lambda: self.hints and self.caught_up())
        self.expect_nothing_more(*paths)

    def expect_everything(self) -> None:
        until(lambda: self.caught_up() and any(hint.everything for hint in self.hints))
        self.expect_nothing_more()

    def expect_nothing_more(self, *paths: str) -> None:
        """A note written now is in a hint; whatever came before it has been told by then."""
        marker = self.root / f"marker {time.monotonic_ns()}.md"
        marker.write_text("x")
        until(lambda: marker.name in self.known)
        marker.unlink()
        until(lambda: marker.name not in self.known)
        told = frozenset().union(*(hint.paths for hint in self.hints)) - {marker.name}
        assert not paths or (told == {*paths} and not any(hint.everything for hint in self.hints))
        self.hints.clear()


Follow = Callable[..., Follower]


@pytest.fixture
def follow(root: Path) -> Iterator[Follow]:
    before = set(threading.enumerate())
    followers = []

    def begin(mode: str = "native", **options: Any) -> Follower:
        follower = Follower(root, **options)
        followers.append(follower)
        follower.watcher.start()
        until(lambda: follower.watcher.mode == mode and follower.hints)
        follower.hints.clear()
        return follower

    yield begin
    for follower in followers:
        follower.watcher.stop()
    until(lambda: set(threading.enumerate()) <= before)


# --- how notes are saved -------------------------------------------------------------


def test_saved_in_place(root: Path, follow: Follow) -> None:
    (root / "a.md").write_text("one")
    follower = follow()
    (root / "a.md").write_text("two")
    follower.expect("a.md")


def test_saved_by_rename(root: Path, follow: Follow) -> None:
    store = make_store(root)
    stored = store.create("a.md", b"one")
    follower = follow()
    store.replace("a.md", b"two", expect=stored.version)
    follower.expect("a.md")


def test_saved_as_vim_does(root: Path, follow: Follow) -> None:
    (root / "a.md").write_text("one")
    follower = follow()
    (root / "a.md").rename(root / "a.md~")
    (root / "a.md").write_text("two")
    (root / "a.md~").unlink()
    follower.expect("a.md")


def test_deleted_and_moved_to_the_trash(root: Path, follow: Follow) -> None:
    store = make_store(root)
    store.create("a.md", b"one")
    (root / "b.md").write_text("two")
    store.remove("a.md")
    store.create("a.md", b"one")
    follower = follow()
    store.remove("a.md")
    follower.expect("a.md")
    (root / "b.md").unlink()
    follower.expect("b.md")
    assert follower.known == {}


def test_renamed(root: Path, follow: Follow) -> None:
    (root / "a.md").write_text("one")
    follower = follow()
    (root / "a.md").rename(root / "ü 2.md")
    follower.expect("a.md", "ü 2.md")


def test_an_emptied_file_is_told_when_it_is_filled(root: Path, follow: Follow) -> None:
    """The hint would be due after 50 ms, while the file is still growing."""
    (root / "a.md").write_text("old")
    follower = follow(quiet=0.02, longest=0.05)
    with open(root / "a.md", "w", buffering=1) as file:
        began = last = time.monotonic()
        longest = 0.0
        while last < began + 0.3:
            file.write("half a line\n")
            time.sleep(0.002)
            longest, last = max(longest, time.monotonic() - last), time.monotonic()
        if longest < 0.02:  # who pauses, on a busy machine, seems to have ended
            assert follower.hints == []
        file.write("the end")
    until(lambda: follower.known["a.md"].endswith("the end"))


def test_saves_between_two_hints_are_told_once(root: Path, follow: Follow) -> None:
    follower = follow()
    for number in range(20):
        (root / "a.md").write_text(f"{number}")
    follower.expect("a.md")


# --- folders -------------------------------------------------------------------------


def test_notes_written_into_a_folder_made_the_same_instant(root: Path, follow: Follow) -> None:
    follower = follow(quiet=0.03, longest=0.1)
    for number in range(50):
        deep = root / f"new {number}" / "in" / "it"
        deep.mkdir(parents=True)
        (deep / "a.md").write_text("one")
        (deep.parent / "b.md").write_text("two")
        until(follower.caught_up)
    assert len(follower.known) == 100
    (root / "new 49" / "in" / "it" / "a.md").write_text("later")
    until(follower.caught_up)


def test_a_folder_moved_in_renamed_and_moved_out(
    root: Path, follow: Follow, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    (outside / "sub").mkdir(parents=True)
    (outside / "sub" / "a.md").write_text("one")
    follower = follow()
    outside.rename(root / "in")
    follower.expect_everything()
    (root / "in" / "sub" / "a.md").write_text("two")
    follower.expect("in/sub/a.md")
    (root / "in").rename(root / "renamed")
    follower.expect_everything()
    (root / "renamed" / "sub" / "a.md").write_text("three")
    follower.expect("renamed/sub/a.md")
    (root / "renamed").rename(outside)
    follower.expect_everything()
    (outside / "sub" / "a.md").write_text("four")
    follower.expect_nothing_more()
    assert follower.known == {}


def test_after_a_move_out_the_vault_is_watched_afresh(
    root: Path, follow: Follow, tmp_path: Path
) -> None:
    """Otherwise the folder would be reported under its old path for ever."""
    (root / "sub").mkdir()
    follower = follow()
    (root / "sub").rename(tmp_path / "sub")
    everything = WatchHint(frozenset(), everything=True)
    until(lambda: follower.hints == [everything, everything])
    (tmp_path / "sub" / "a.md").write_text("outside")
    (root / "b.md").write_text("inside")
    until(lambda: follower.known == {"b.md": "inside"})
    assert follower.hints == [everything, everything, WatchHint(frozenset({"b.md"}))]


def test_a_folder_in_the_place_of_one_moved_out(root: Path, follow: Follow, tmp_path: Path) -> None:
    """watchdog then cannot take down its watches; ours must stop all the same."""
    for name in "AB":
        (root / name).mkdir()
        (root / name / "a.md").write_text(name)
    follower = follow()
    for gone, heir in ("AB", "BA"):
        (root / gone).rename(tmp_path / f"gone {gone}")
        (root / heir).rename(root / gone)
        until(lambda: follower.caught_up() and follower.hints)
        (root / gone / "a.md").write_text("new")
        until(follower.caught_up)
        (root / heir).mkdir()
        (root / heir / "a.md").write_text("newer")
        until(follower.caught_up)


def test_a_folder_deleted(root: Path, follow: Follow) -> None:
    (root / "sub").mkdir()
    (root / "sub" / "a.md").write_text("one")
    follower = follow()
    shutil.rmtree(root / "sub")
    until(lambda: follower.known == {})


# --- what is none of our business ----------------------------------------------------


def test_reading_hidden_files_and_templates_are_no_news(root: Path, follow: Follow) -> None:
    for folder in (".obsidian", ".vaultmem/local", "Templates", "sub/.hidden"):
        (root / folder).mkdir(parents=True)
    (root / ".obsidian" / "templates.json").write_text('{"folder": "Templates"}')
    (root / "a.md").write_text("one")
    follower = follow()
    for _ in range(3):
        (root / "a.md").read_text()
        list(root.rglob("*"))
    (root / ".obsidian" / "workspace.json").write_text("{}")
    (root / ".vaultmem" / "local" / "a.md").write_text("x")
    (root / ".vaultmem" / "local" / "index").mkdir()
    (root / "sub" / ".hidden" / "a.md").write_text("x")
    (root / "Templates" / "a.md").write_text("{{date}}")
    (root / ".vm-1234.tmp").write_text("x")
    (root / "picture.png").write_text("x")
    (root / "b.md").write_text("x")
    follower.expect("b.md")


# --- bursts and git ------------------------------------------------------------------


def test_two_thousand_writes_are_few_hints(root: Path, follow: Follow) -> None:
    follower = follow()
    for number in range(2000):
        (root / f"{number}.md").write_text("x")
    until(lambda: len(follower.known) == 2000)
    assert len(follower.hints) <= 5
    assert any(hint.everything for hint in follower.hints)


def git(root: Path, *arguments: str) -> None:
    environment = clean_environment(root.parent)
    subprocess.run(["git", "-C", str(root), *arguments], check=True, env=environment)


def test_a_checkout_is_one_look_at_everything(root: Path, follow: Follow) -> None:
    git(root, "init", "-q", "-b", "main")
    for text in ("old", "new"):
        for number in range(1000):
            (root / f"{number}.md").write_text(f"{text} {number}")
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", text)
    follower = follow()
    git(root, "checkout", "-q", "HEAD~1")
    until(lambda: follower.known["999.md"] == "old 999" and follower.caught_up())
    assert len(follower.hints) <= 2
    assert all(hint.everything for hint in follower.hints)


def test_hints_wait_for_git_but_not_for_a_lock_left_behind(root: Path, follow: Follow) -> None:
    (root / ".git").mkdir()
    lock = root / ".git" / "index.lock"
    follower = follow(quiet=0.05, longest=0.2)
    lock.touch()
    (root / "a.md").write_text("one")
    time.sleep(0.8)
    assert follower.hints == []
    lock.rename(root / ".git" / "index")
    until(lambda: follower.hints)
    assert follower.hints == [WatchHint(frozenset(), everything=True)]
    lock.touch()
    os.utime(lock, (time.time() - 100,) * 2)
    follower.hints.clear()
    (root / "a.md").write_text("two")
    until(lambda: follower.hints)


# --- when the system does not tell ---------------------------------------------------


LOSING = """
import logging, pathlib, sys, time
from vaultmem.indexing.watcher import Watcher
logging.basicConfig(format="%(message)s")
looks = []
watcher = Watcher(
    pathlib.Path(sys.argv[1]), lambda path: True, lambda hint: looks.append(hint.everything), many=10**6
)
watcher.start()
end = time.monotonic() + 60
for wanted in (1, 2):
    while looks.count(True) < wanted and time.monotonic() < end:
        time.sleep(0.01)
    print(looks.count(True), flush=True)
watcher.stop()
"""


def test_lost_events_lead_to_a_look_at_everything(root: Path) -> None:
    """Really lost: whoever watches is kept from reading until the system's queue is full."""
    room = int(QUEUE.read_text())
    if room > 50_000:
        pytest.skip("the system's queue is too long to be filled")
    with nursery.Popen(
        [sys.executable, "-c", LOSING, str(root)], stdout=-1, stderr=-1, text=True
    ) as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline() == "1\n"
        watching.send_signal(signal.SIGSTOP)
        os.waitpid(watching.pid, os.WUNTRACED)
        for number in range(room + 1):
            (root / f"{number}.md").touch()
        watching.send_signal(signal.SIGCONT)
        out, err = watching.communicate(timeout=120)
    assert out == "2\n" and "queue overflowed" in err


def refuse_watches(monkeypatch: pytest.MonkeyPatch, what: bytes) -> None:
    """The system's answer when the limit is reached."""
    add = inotify_c.inotify_add_watch

    def limited(fd: int, path: bytes, mask: int) -> int:
        if what in path:
            ctypes.set_errno(errno.ENOSPC)
            return -1
        return add(fd, path, mask)

    monkeypatch.setattr(inotify_c, "inotify_add_watch", limited)


@pytest.mark.parametrize("refused", [b"deep", b""])
def test_polling_when_watches_are_refused(
    root: Path, follow: Follow, monkeypatch: pytest.MonkeyPatch, refused: bytes
) -> None:
    (root / "deep").mkdir()
    refuse_watches(monkeypatch, refused)
    follower = follow("polling", poll_seconds=0.2)
    assert "max_user_watches" in follower.watcher.trouble
    assert "every 0.2 seconds" in follower.watcher.trouble
    (root / "deep" / "a.md").write_text("one")
    until(lambda: follower.known == {"deep/a.md": "one"})


def test_polling_when_a_new_folder_gets_no_watch(
    root: Path, follow: Follow, monkeypatch: pytest.MonkeyPatch
) -> None:
    follower = follow(poll_seconds=0.2)
    assert follower.watcher.trouble == ""
    refuse_watches(monkeypatch, b"deep")
    (root / "deep").mkdir()
    until(lambda: follower.watcher.mode == "polling")
    (root / "deep" / "a.md").write_text("one")
    until(follower.caught_up)


def test_polling_when_there_are_too_many_watchers(
    follow: Follow, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> int:
        ctypes.set_errno(errno.EMFILE)
        return -1

    monkeypatch.setattr(inotify_c, "inotify_init", refused)
    follower = follow("polling", poll_seconds=0.2)
    assert "max_user_instances" in follower.watcher.trouble


LIMIT = """
import sys, time, pathlib
pathlib.Path("/proc/sys/user/max_inotify_watches").write_text("5")
"""
LIMITED = """
from vaultmem.indexing.watcher import Watcher
watcher = Watcher(pathlib.Path(sys.argv[1]), lambda path: True, print, poll_seconds=0.2)
watcher.start()
end = time.monotonic() + 60
while watcher.mode != "polling" and time.monotonic() < end:
    time.sleep(0.01)
print(watcher.mode, watcher.trouble)
watcher.stop()
"""


def test_polling_at_the_systems_own_limit(root: Path) -> None:
    for number in range(9):
        (root / f"{number}").mkdir()
    own = ["unshare", "--user", "--map-root-user"]  # a limit for this process alone
    check = [*own, sys.executable, "-c", LIMIT]
    if not shutil.which("unshare") or subprocess.run(check, capture_output=True).returncode:
        pytest.skip("a limit of its own cannot be set here")
    done = subprocess.run(
        [*own, sys.executable, "-c", LIMIT + LIMITED, str(root)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
    )
    assert "polling 5 of the vault's folders cannot be watched" in done.stdout, done.stderr


def test_network_drives_are_known_by_their_mounts() -> None:
    mounts = (
        "/dev/sda / ext4 rw 0 0\n"
        "server:/x /net/my\\040notes nfs4 rw 0 0\n"
        "/dev/sdb /net/my\\040notes/local ext4 rw 0 0\n"
        "C:\\134 /mnt/c 9p rw 0 0\n"
    )
    assert network_drive("/net/my notes/vault", mounts) == "nfs4"
    assert network_drive("/net/my notes/local/vault", mounts) == ""
    assert network_drive("/net/my notes 2", mounts) == ""
    assert network_drive("/mnt/c", mounts) == "9p"
    assert network_drive("/home/me", mounts) == ""
    assert network_drive("/") == ""


# --- falling down and getting up -----------------------------------------------------


def test_the_folder_goes_away_and_comes_back(root: Path, follow: Follow) -> None:
    (root / "a.md").write_text("one")
    follower = follow()
    away = root.with_name("away")
    root.rename(away)
    until(lambda: "is not there" in follower.watcher.trouble)
    (away / "a.md").write_text("two")
    (away / "b.md").write_text("three")
    assert follower.watcher.mode == "starting"
    assert follower.hints == []
    away.rename(root)
    until(lambda: follower.known == {"a.md": "two", "b.md": "three"})
    assert (follower.watcher.mode, follower.watcher.trouble) == ("native", "")
    follower.hints.clear()
    (root / "a.md").write_text("four")
    until(follower.caught_up)


def test_another_folder_takes_its_place(root: Path, follow: Follow) -> None:
    follower = follow()
    root.rename(root.with_name("away"))
    root.mkdir()
    until(lambda: any(hint.everything for hint in follower.hints))
    follower.hints.clear()
    (root / "a.md").write_text("one")
    follower.expect("a.md")


def test_unmounted_and_mounted_again_in_an_instant(root: Path, follow: Follow) -> None:
    mount = ["mount", "-t", "tmpfs", "tmpfs", str(root)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        follower = follow()
        subprocess.run(["umount", str(root)], check=True)
        subprocess.run(mount, check=True)
        (root / "a.md").write_text("one")
        until(lambda: follower.known == {"a.md": "one"})
        (root / "a.md").write_text("two")
        until(lambda: follower.known == {"a.md": "two"})
    finally:
        subprocess.run(["umount", str(root)], check=True)


def test_a_missing_folder_is_waited_for(root: Path) -> None:
    later = root / "later"
    follower = Follower(later)
    follower.watcher.start()
    try:
        until(lambda: "is not there" in follower.watcher.trouble)
        later.mkdir()
        (later / "a.md").write_text("one")
        until(lambda: follower.known == {"a.md": "one"})
    finally:
        follower.watcher.stop()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_dead_thread_is_replaced(root: Path) -> None:
    hints: list[WatchHint] = []

    def is_note(path: str) -> bool:
        if path == "poison.md":
            raise RuntimeError("the thread that asks dies of it")
        return True

    watcher = Watcher(root, is_note, hints.append)
    watcher.start()
    try:
        until(lambda: hints)
        (root / "poison.md").touch()
        until(lambda: len(hints) == 2)
        assert hints[1].everything
        (root / "a.md").write_text("one")
        until(lambda: hints[-1].paths == {"a.md"})
    finally:
        watcher.stop()


def test_a_hint_that_cannot_be_followed_is_logged(
    root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    hints: list[WatchHint] = []

    def stumble(hint: WatchHint) -> None:
        hints.append(hint)
        raise ValueError("the index is broken")

    watcher = Watcher(root, lambda path: True, stumble)
    watcher.start()
    until(lambda: hints)
    (root / "a.md").write_text("one")
    until(lambda: len(hints) == 2)
    watcher.stop()
    assert "the index is broken" in caplog.text


def open_queues() -> int:
    links = (f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd"))
    return sum("inotify" in os.readlink(link) for link in links if os.path.islink(link))


def test_stopping_is_complete_and_repeatable(root: Path) -> None:
    before, queues = set(threading.enumerate()), open_queues()
    for number in range(200):
        (root / f"{number}").mkdir()
    for _ in range(3):
        follower = Follower(root)
        follower.watcher.start()
        until(lambda f=follower: f.hints)
        (root / "a.md").write_text("one")
        follower.watcher.stop()
        follower.watcher.stop()
        assert follower.watcher.mode == "stopped"
        until(lambda: set(threading.enumerate()) <= before)
        told = len(follower.hints)
        assert open_queues() == queues
        (root / "a.md").write_text("two")
        assert len(follower.hints) == told


def test_stopped_before_it_started_and_from_within_a_hint(root: Path) -> None:
    before = set(threading.enumerate())
    idle = Watcher(root, lambda path: True, print)
    assert idle.mode == "stopped"
    idle.stop()
    stopped: list[WatchHint] = []
    watcher = Watcher(root, lambda path: True, lambda hint: (watcher.stop(), stopped.append(hint)))
    watcher.start()
    until(lambda: stopped)
    until(lambda: set(threading.enumerate()) <= before)
