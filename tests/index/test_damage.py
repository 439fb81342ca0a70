"""Whatever happens to the files of an index: nobody dies of it, nothing is missing in silence, and
all is well again without a restart. Hundreds more of these: scripts/bench/run damage."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run
from tests.index.damage import HOW, Place, Trial, spoil
from tests.surfaces.mcp.harness import Process, new_vault
from tests.waiting import until
from tests.world import World
from vaultmem.base import lock
from vaultmem.errors import Unavailable
from vaultmem.index import IndexDamaged
from vaultmem.index.failures import engine_call
from vaultmem.recall.recall import Answer
from vaultmem.vault import Vault

LOOK = 0.03  # seconds: a look at the files lasts for less


# --- servers and commands -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    made = Place(tmp_path_factory.mktemp("damage"))
    made.start()
    made.keep_older()
    yield made
    made.stop()


@pytest.mark.parametrize("moment", ["running", "rebuilding"])
@pytest.mark.parametrize("how", HOW)
def test_servers_and_commands_go_on(place: Place, moment: str, how: str) -> None:
    trial = place.trial(1000 + HOW.index(how), moment, how)
    assert not trial.faults, trial


@pytest.mark.parametrize("how", ["delete", "truncate", "overwrite", "older"])
def test_damage_at_rest_is_healed_by_whoever_comes_first(place: Place, how: str) -> None:
    trial = place.trial(2000 + HOW.index(how), "at rest", how)
    assert not trial.faults, trial


def test_the_whole_index_deleted_under_a_server(place: Place) -> None:
    for number, server in enumerate(place.servers):
        gone = place.index.rename(place.index.with_name(f"gone-{number}"))  # at one stroke
        shutil.rmtree(gone, ignore_errors=True)
        found = server.call("recall_memories", query="quince", strategy="keyword")
        told = found["structuredContent"]
        assert told["memories"], told
    trial = Trial("", "", "")
    place.wait_until_well(trial)
    assert not trial.faults, trial


# --- every file, in every way -------------------------------------------------------------------


@pytest.mark.parametrize("is_open", [True, False], ids=["open", "at rest"])
@pytest.mark.parametrize("how", HOW)
def test_every_file_in_every_way(world: World, tmp_path: Path, how: str, is_open: bool) -> None:
    """One process, so that it can be done to each of them: the index then equals a rebuild."""
    chance = random.Random(HOW.index(how))
    for number in range(4):
        world.put(f"n{number}.md", f"---\ntags: [t]\n---\nword{number} [[n1]]")
        world.sync.everything()
    older = tmp_path / "older"
    shutil.copytree(world.index.folder, older)
    world.put("n9.md", "---\ntags: [t]\n---\nword9 [[n1]]")
    world.sync.everything()
    wanted = world.contents()
    for kind in sorted({_kind(file) for file in _files(world)}):
        files = [file for file in _files(world) if _kind(file) == kind]
        if not files:
            continue
        if not is_open:
            world.close()
        file = chance.choice(files)
        if file.exists():
            other = chance.choice([each for each in _files(world) if each != file])
            spoil(file, how, chance, other, older / file.relative_to(world.index.folder))
        if not is_open:
            world.open()
        time.sleep(LOOK)
        with contextlib.suppress(
            Unavailable
        ):  # it may say that it cannot, and not that there is none
            assert not world.index.is_whole or world.find("word9") == ["n9.md"], f"{how} {kind}"
        world.sync.everything()
        assert world.index.is_whole
        assert world.contents() == wanted, f"{how} {kind}"


def _files(world: World) -> list[Path]:
    return sorted(file for file in world.index.folder.rglob("*") if file.is_file())


def _kind(file: Path) -> str:
    return file.suffix if file.parent.name.startswith("fulltext") else file.name


# --- single promises ----------------------------------------------------------------------------


def test_an_empty_catalog_refuses_no_store(tmp_path: Path) -> None:
    with Vault.open(new_vault(tmp_path / "vault"), {"model": "off"}) as vault:
        vault.remember("The first heron.")
        for ending in ("", "-wal"):
            os.truncate(tmp_path / f"vault/.vaultmem/index/catalog.db{ending}", 0)
        made = vault.remember("The second heron.", key="bird")
        assert vault.recall("second heron").memories[0].id == made.memory_id
        assert len(vault.recall("heron").memories) == 2


def test_a_key_names_one_note_even_without_an_index(tmp_path: Path) -> None:
    root = new_vault(tmp_path / "vault")
    with Vault.open(root, {"model": "off"}) as vault:
        first = vault.remember("A heron.", key="bird")
        follower = vault.follower(lambda report: None)  # it leads, and is not started: nobody fills
        shutil.rmtree(root / ".vaultmem" / "index")
        time.sleep(LOOK)
        again = vault.remember("A grey heron.", key="bird")
        assert (again.memory_id, again.created) == (first.memory_id, False)
        assert follower.leading is False


def test_an_index_filled_while_it_is_asked_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = new_vault(tmp_path / "vault")
    with Vault.open(root, {"model": "off"}) as vault, Vault.open(root, {"model": "off"}) as other:
        kept = vault.remember("A heron.")
        with lock.locked(
            root / ".vaultmem" / "local" / lock.LEADER_LOCK, timeout=5, what="leading"
        ):
            vault.parts.index.rebuild()  # and whoever leads fills it in its own time
            ask = vault.parts.recall.ask

            def ask_and_fill(**asked: Any) -> Answer:
                found = ask(**asked)
                other.parts.bring_up_to_date()
                return found

            monkeypatch.setattr(vault.parts.recall, "ask", ask_and_fill)
            assert [hit.id for hit in vault.recall("heron").memories] == [kept.memory_id]


def test_the_engines_panic_is_an_error_like_others() -> None:
    panic = type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})

    @engine_call
    def fail(error: BaseException) -> None:
        raise error

    for error in (panic("index out of bounds"), ValueError("corrupted"), FileNotFoundError(2, "")):
        with pytest.raises(IndexDamaged):
            fail(error)
    for other in (KeyboardInterrupt(), SystemExit(1), OSError(28, "No space left on device")):
        with pytest.raises(type(other)):
            fail(other)


def test_another_language_finds_and_says_whose_it_is(run: Run, tmp_path: Path) -> None:
    """A server leads with its own setting; nobody rebuilds what is another's."""
    root = new_vault(tmp_path / "vault")
    (root / "Memories" / "Houses.md").write_text("Die Häuser stehen am Ufer.\n")
    with Process(tmp_path, "--vault", str(root), env={"VAULTMEM_MODEL": "off"}) as server:
        server.start()
        asked = ("recall_memories",)
        until(lambda: server.call(1, *asked, query="Ufer")["structuredContent"]["memories"])
        leads = root / ".vaultmem" / "local" / lock.LEADER_LOCK
        until(lambda: lock.is_locked(leads))  # else whoever asks makes the index its own
        german = {"VAULTMEM_LANGUAGE": "german", "VAULTMEM_MODEL": "off"}
        for _ in range(2):
            done = run("search", "Häuser", "--json", cwd=root, env=german)
            assert [hit["path"] for hit in done.json["memories"]] == ["Memories/Houses.md"]
            (warning,) = done.json["warnings"]
            assert "english" in warning and "german" in warning
        texts = list((root / ".vaultmem" / "index").glob("fulltext-*"))
        assert len(texts) == 1 and "english" in texts[0].name
        assert server.end() == 0
    done = run("search", "Haus", "--json", cwd=root, env=german)
    assert [hit["path"] for hit in done.json["memories"]] == ["Memories/Houses.md"]
    assert "warnings" not in done.json


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="mounts a small disk")
def test_what_a_full_disk_kept_out_is_found_soon_after_it_has_room(tmp_path: Path) -> None:
    root = new_vault(tmp_path / "vault")
    disk = root / ".vaultmem" / "index"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small file system cannot be mounted here")
    try:
        with Process(tmp_path, "--vault", str(root), env={"VAULTMEM_MODEL": "off"}) as server:
            server.start()
            assert not _store(server, 1, "The first heron.").get("warnings")
            ballast = disk / "ballast"
            _fill(ballast)
            late = [_store(server, 10 + n, f"A wader named wader{n}.") for n in range(3)]
            assert any(told.get("warnings") for told in late), late
            ballast.unlink()
            until(lambda: _finds_all_waders(server))
            assert server.end() == 0
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def _store(server: Process, number: int, text: str) -> dict[str, object]:
    given = {"content": text, "type": "semantic", "scope": "user"}
    told: dict[str, object] = server.call(number, "store_memory", **given)["structuredContent"]
    assert "error" not in told, told
    return told


def _finds_all_waders(server: Process) -> bool:
    told = server.call(99, "recall_memories", query="wader", strategy="keyword")
    found = told["structuredContent"]
    return len(found["memories"]) == 3 and not found.get("warnings")


def _fill(file: Path) -> None:
    with file.open("wb", buffering=0) as stream:
        try:
            while True:
                stream.write(b"x" * 4096)
        except OSError:
            return


def test_a_command_beside_no_server_heals_what_it_finds(run: Run, tmp_path: Path) -> None:
    root = new_vault(tmp_path / "vault")
    (root / "Memories" / "Heron.md").write_text("A grey heron.\n")
    assert run("search", "heron", "--json", cwd=root).json["memories"]
    for file in (root / ".vaultmem" / "index").rglob("*.idx"):
        file.write_bytes(b"\xff" * file.stat().st_size)
    done = run("search", "heron", "--json", cwd=root)
    assert done.json["memories"] and "Traceback" not in done.err
