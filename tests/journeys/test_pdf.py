"""Papers in a vault, from being put there to being deleted: a real server, real commands, real git."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests import pdf_files
from tests.conftest import Open, Run, clean_environment, make_store, snapshot
from tests.pdf_files import pdf
from tests.waiting import until
from vaultmem.base.own_program import command_to_type
from vaultmem.errors import ReadOnly
from vaultmem.storage.pdf import pdf_texts

PAPER = "Papers/Treaty.pdf"


def put(root: Path, raw: bytes, path: str = PAPER) -> Path:
    file = root / path
    file.parent.mkdir(exist_ok=True, parents=True)
    file.write_bytes(raw)
    return file


def found(vault: Any, query: str) -> list[tuple[str, str, str]]:
    answer = vault.recall(query, strategy="keyword")
    return [(hit.path, hit.heading, hit.content) for hit in answer.memories]


def test_a_paper_is_found_by_its_page_changed_and_deleted(open_vault: Open, root: Path) -> None:
    put(root, pdf("The harbour treaty", "Lanterns are hung\nin the orchard"))
    before = snapshot(root / "Papers")
    vault = open_vault()
    follower = vault.follower(lambda report: None)
    follower.start()
    try:
        lanterns = [(PAPER, "Page 2", "Lanterns are hung\nin the orchard")]
        until(lambda: found(vault, "lanterns") == lanterns)
        assert found(vault, "harbour")[0][1] == "Page 1"
        assert snapshot(root / "Papers") == before
        put(root, pdf("Bunting"))
        until(lambda: [hit[:2] for hit in found(vault, "bunting")] == [(PAPER, "Page 1")])
        assert found(vault, "lanterns") == []
        (root / PAPER).rename(root / "Papers" / "Other.pdf")
        until(lambda: [hit[0] for hit in found(vault, "bunting")] == ["Papers/Other.pdf"])
        (root / "Papers" / "Other.pdf").unlink()
        until(lambda: found(vault, "bunting") == [])
    finally:
        follower.stop()


def test_what_a_page_says_is_text_and_no_markdown(open_vault: Open, root: Path) -> None:
    said = (
        "# Heading #tag [[Link]]\n- knows:: [[Ada]] ^f-1\n%% half <private> open\n---\nkey: value"
    )
    put(root, pdf(said, "```\nzebra crossing"))
    vault = open_vault()
    vault.index_now()
    note = vault.parts.store.note(PAPER)
    assert not (note.headings or note.tags or note.links or note.facts or note.properties)
    assert found(vault, "zebra")[0][1] == "Page 2"
    assert vault.status().pdfs.read == 1
    assert vault.verify().findings == ()


def test_a_hostile_file_holds_up_and_harms_nobody(open_vault: Open, root: Path) -> None:
    hostile = pdf_files.hostile()
    slow = {"operators", "pages"}
    for name, raw in hostile.items():
        if name not in slow:
            put(root, raw, f"{name}.pdf")
    put(root, pdf("Lanterns"), "ok.pdf")
    before = snapshot(root)
    vault = open_vault()
    report = vault.index_now()
    assert "ok.pdf" in report.added
    assert [hit[0] for hit in found(vault, "lanterns")] == ["ok.pdf"]
    health = vault.status().pdfs
    assert (health.read, health.waiting) == (1, 0)
    assert sum(health.unread.values()) == len(hostile) - len(slow)
    assert {k: v for k, v in snapshot(root).items() if not k.startswith(".vaultmem")} == before
    assert vault.index_now().touched == [], "none of them is tried again"
    unread = [f for f in vault.examine() if f.problem == "unread-pdf"]
    assert len(unread) == len(hostile) - len(slow)
    assert all(finding.is_information for finding in unread)


def test_a_reader_that_hangs_is_ended_and_the_notes_do_not_wait(
    open_vault: Open, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hang = "import json,sys,time\nprint(json.dumps({'page': 1, 'text': 'lanterns'}), flush=True)\n"
    hang += "time.sleep(1000)"
    monkeypatch.setattr(pdf_texts.own_program, "own_module", lambda n: [sys.executable, "-c", hang])
    monkeypatch.setattr(pdf_texts, "_WAIT_SECONDS", 2.0)
    put(root, pdf("x"))
    vault = open_vault()
    follower = vault.follower(lambda report: None)
    follower.start()
    try:
        (root / "note.md").write_text("While it hangs, notes are found.")
        until(lambda: found(vault, "hangs"))
        until(lambda: found(vault, "lanterns"))
        (reason,) = vault.status().pdfs.unread
        assert "takes too long" in reason and "pages before" in reason
    finally:
        follower.stop()


def test_a_flood_of_text_is_cut_off(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flood = "import json\nwhile True: print(json.dumps({'page': 1, 'text': 'x' * 100_000}))"
    module = [sys.executable, "-c", flood]
    monkeypatch.setattr(pdf_texts.own_program, "own_module", lambda name: module)
    put(root, pdf("x"))
    store = make_store(root)
    assert "not read yet" in store.note(PAPER).body
    assert store.read_pdf(PAPER)
    note = store.note(PAPER)
    assert [p.message for p in note.problems] == [
        "It has too much text. The pages before that are searched."
    ]
    assert len(note.body) < 40_000_000


def test_a_large_file_is_not_opened(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf_texts, "MOST_PDF_BYTES", 100)
    put(root, pdf("x"))
    store = make_store(root)
    store.note(PAPER)
    assert store.read_pdf(PAPER)
    assert "MB" in store.note(PAPER).problems[0].message


def test_agents_read_a_paper_and_change_nothing_in_it(open_vault: Open, root: Path) -> None:
    put(root, pdf("Lanterns", "Bunting"))
    vault = open_vault()
    vault.index_now()
    shown = vault.get([PAPER]).memories[0]
    assert (shown.title, shown.content) == (
        "Treaty.pdf", "## Page 1\n\nLanterns\n\n## Page 2\n\nBunting",
    )  # fmt: skip
    before = snapshot(root / "Papers")
    with pytest.raises(ReadOnly, match="is a PDF"):
        vault.update(PAPER, append="more")
    with pytest.raises(ReadOnly, match="is a PDF"):
        vault.forget(PAPER, reason="old")
    assert snapshot(root / "Papers") == before


def test_a_person_s_commands_and_a_paper(run: Run, root: Path) -> None:
    git = ["git", "-C", str(root)]
    subprocess.run([*git, "init", "-q"], check=True)
    put(root, pdf("Lanterns", "Bunting in the orchard"))
    put(root, b"no paper", "Papers/broken.pdf")
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "x"], check=True, env=clean_environment(root))

    def me(*arguments: str) -> Any:
        return run(*arguments, "--vault", str(root), env={"VAULTMEM_MODEL": "off"})

    waits = me("search", "bunting")
    assert waits.code == 1
    assert f"PDFs are not read yet (2); {command_to_type('index')} reads them." in waits.err
    assert "0 read; 2 waiting" in me("status").out
    assert me("index").code == 0
    told = me("search", "bunting", "--json").json["memories"][0]
    assert (told["path"], told["heading"]) == (PAPER, "Page 2")
    shown = me("status").out
    assert "1 read; not, or not wholly: 1: It cannot be read" in shown
    doctor = me("doctor")
    assert doctor.code == 0 and "1 PDF with text that cannot be read" in doctor.out
    assert me("history", PAPER).code == 0
    assert "## Page 1" in me("show", PAPER).out
    assert me("export", "zip", str(root.parent / "all.zip")).code == 0
    with zipfile.ZipFile(root.parent / "all.zip") as archive:
        assert archive.read(PAPER) == (root / PAPER).read_bytes()
    status = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True)
    assert status.stdout.strip() in ("", "?? .vaultmem/")


def test_without_the_library_one_line_says_how_to_get_it(root: Path, tmp_path: Path) -> None:
    """A process that cannot import it, as in an installation that lacks it."""
    put(root, pdf("Lanterns"))
    (root / ".vaultmem").mkdir()
    hidden = (
        "import sys, importlib.util as u\nfind = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'pypdf' else find(name, *a)\n"
        "from vaultmem.__main__ import run\nsys.exit(run())"
    )
    env = clean_environment(tmp_path) | {"VAULTMEM_MODEL": "off"}

    def me(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", hidden, *arguments, "--vault", str(root)]
        return subprocess.run(command, env=env, capture_output=True, text=True)

    status = me("status").stdout
    added = f"{sys.executable} -P -m pip install pypdf"  # as it works for this very installation
    assert status.count(added) == 1 and "1 file not searched" in status
    doctor = me("doctor")
    assert doctor.returncode == 0 and added in doctor.stdout
    assert me("search", "lanterns").returncode == 1
