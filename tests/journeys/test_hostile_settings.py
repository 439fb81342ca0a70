"""Files beside the notes that came with a clone: no command hangs on one, dies of it or quotes it."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import clean_environment
from tests.surfaces.mcp.harness import Process, new_vault
from vaultmem import config
from vaultmem.base import small_files
from vaultmem.surfaces.cli import main

SECRET = "the-first-line-of-a-secret"
SECONDS = 60  # on a machine with much else to do; each takes some hundredths


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    def late(*_: object) -> None:
        raise AssertionError(f"it took more than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def link(to: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(to.format(folder=path.parent))


def secret(path: Path) -> None:
    (path.parent / "secret").write_text(f'{SECRET} = "{SECRET}"\n[{SECRET}\n')
    path.symlink_to(path.parent / "secret")


def text(written: str | bytes) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_bytes(written.encode() if isinstance(written, str) else written)

    return write


def socket_file(path: Path) -> None:
    os.mknod(path, 0o644 | 0o140000)


KINDS: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "socket": socket_file,
    "folder": lambda path: path.mkdir(),
    "device": link("/dev/zero"),
    "terminal": link("/dev/tty"),
    "secret": secret,
    "circle": link("{folder}/config.toml"),
    "nowhere": link("/nowhere/at/all"),
    "endless": text("# " + "x" * 3_000_000),
    "brackets": text("a = " + "[" * 90_000),
    "closed brackets": text("[" * 400 + "]" * 400),
    "objects": text('{"a":' * 15_000),
    "tables": text("a = " + "{a = " * 10_000),
    "parts": text("a" + ".a" * 45_000 + " = 1"),
    "headers": text("".join(f"[k{i}{'.a' * 45}]\n" for i in range(900))),
    "settings": text("".join(f"key{i} = {i}\n" for i in range(8_000))),
    "number": text("user = " + "9" * 90_000),
    "no text": text(b"\xff\xfe\0" * 100),
    "nul": text('user = "a\\u0000b"'),
    "long value": text('user = "' + "x" * 90_000 + '"'),
    "long list": text("exclude = [" + '"a",' * 20_000 + "]"),
}
if os.geteuid() != 0:
    KINDS["forbidden"] = lambda path: os.close(os.open(path, os.O_CREAT, 0))


@pytest.fixture(autouse=True)
def nothing_is_collected() -> Iterator[None]:
    """Parsers go as deep as Python lets them: what other tests left must not be cleared up there."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def vault(home: Path) -> Path:
    return new_vault(home / "Brain")


def place(kind: str, path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    KINDS[kind](path)


@pytest.mark.parametrize("kind", KINDS)
def test_settings_of_any_kind_end_in_a_sentence(
    vault: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    place(kind, vault / config.CONFIG)
    for command in (["status"], ["search", "tea"], ["add", "Tea"], ["doctor"]):
        with at_most(SECONDS):
            code = main([*command, "--vault", str(vault)])
        told = capsys.readouterr()
        said = told.out + told.err
        assert code in (0, 1, 2), (command, said)
        assert "Traceback" not in said and "rror:" not in said, (command, said)
        assert SECRET not in said and len(said) < 20_000, (command, said[:2000])
        if kind not in ("settings", "headers"):
            assert "config.toml" in said, (command, said)


@pytest.mark.parametrize("kind", ["pipe", "device", "secret", "brackets", "parts"])
def test_a_hook_says_little_and_lets_the_agent_go_on(vault: Path, kind: str) -> None:
    place(kind, vault / config.CONFIG)
    event = b'{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"tea at four?"}'
    done = subprocess.run(
        [sys.executable, "-m", "vaultmem", "hook", "--vault", str(vault)],
        input=event, capture_output=True, env=clean_environment(vault.parent), timeout=30,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, b"")
    assert SECRET.encode() not in done.stderr and b"Traceback" not in done.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_other_programs_files_of_any_kind_are_let_be(
    vault: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (vault / ".obsidian" / "templates.json", vault / ".gitattributes"):
        place(kind, path)
    for command in (["add", "Tea is at four"], ["status"], ["doctor"], ["init", "--git", "-q"]):
        where = ["--vault", str(vault)] if command[0] != "init" else [str(vault)]
        with at_most(SECONDS):
            code = main([*command, *where])
        told = capsys.readouterr()
        assert code in (0, 1, 2) and "Traceback" not in told.err, (command, told.err)
        assert SECRET not in told.out + told.err
    assert config.load(vault)["folders.templates"] == "Templates"


def test_an_agent_is_told_what_is_wrong_with_the_settings(vault: Path, tmp_path: Path) -> None:
    place("secret", vault / config.CONFIG)
    with Process(tmp_path, "--vault", str(vault)) as server:
        server.start()
        answer = server.call(1, "recall_memories", query="tea")["structuredContent"]
        assert answer["error"] == "memory_unavailable" and answer["degraded"]
        assert "config.toml cannot be read: it is a link to another place" in answer["message"]
        assert SECRET not in answer["message"]
        assert server.end() == 0


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "-1", "1e308", "99999", "true", '"5"'])
@pytest.mark.parametrize("name", ["typing.wait_seconds", "typing.quiet_seconds"])
def test_numbers_have_a_range(vault: Path, name: str, value: str) -> None:
    table, _, key = name.partition(".")
    (vault / config.CONFIG).write_text(f"[{table}]\n{key} = {value}\n")
    (problem,) = config.load(vault).problems
    assert problem.fatal and f"{name} must be a number from 0 to" in problem.message
    assert config.load(vault)[name] == config.DEFAULTS[name]


@pytest.mark.parametrize("value", ["nan", "inf", "-1", "1e308", "many"])
def test_numbers_of_the_environment_too(
    vault: Path, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTMEM_UPKEEP_STALE_DAYS", value)
    (problem,) = config.load(vault).problems
    assert "$VAULTMEM_UPKEEP_STALE_DAYS must be a number from 0 to 36,500" in problem.message


def test_no_text_of_the_largest_size_takes_long(tmp_path: Path) -> None:
    for kind in KINDS:
        path = tmp_path / "file"
        place(kind, path)
        started = time.process_time()
        for parse in (small_files.parse_json, lambda raw: small_files.parse_toml(raw.decode())):
            try:
                parse(small_files.read_small_file(path))
            except (OSError, ValueError) as error:
                assert str(error)
        assert time.process_time() - started < 1, kind
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
