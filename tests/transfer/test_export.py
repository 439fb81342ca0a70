"""Out again: lines of JSON that make the same memories, a zip that is a vault."""

from __future__ import annotations

import json
import os
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import FIXTURES, TEMPLATE, Open, snapshot
from tests.transfer import exports
from tests.transfer.test_sources import notes
from vaultmem.errors import AlreadyExists, InvalidInput, NotFound
from vaultmem.operations.caller import Caller
from vaultmem.vault import Vault


@pytest.fixture
def full(vault: Vault, root: Path) -> Vault:
    """Memories of all kinds, a journal, an entity, notes of a person."""
    vault.remember("Tokens rotate daily", tags=["auth/tokens"], importance=0.8, key="k1")
    vault.remember("Ship on Monday", scope="project", project="Atlas", type="procedural")
    vault.remember("Only for now", scope="session", session_id="s")
    vault.forget(vault.remember("An error").memory_id, reason="wrong")
    vault.assert_fact("AuthService", "depends_on", "Keychain", confidence=0.9)
    vault.log("Signed with RS256\r\n#odd", session_id="s1", type="decision", tags=["auth"])
    vault.end_session(session_id="s1", summary="Done.")
    exports.folder(root, exports.NOTES)
    (root / "Private.md").write_bytes(b"Shown <private>hidden words</private> again\n")
    vault.index_now()
    return vault


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def everything(vault: Vault) -> dict[str, Any]:
    rows = vault.list(limit=1000, include_forgotten=True, order="title").memories
    lasting = [row.id for row in rows if row.scope != "session"]
    found = [vault.get([id_]).memories[0] for id_ in lasting]
    return {m.id: (m.path, m.content, m.tags, m.version, m.properties, m.forgotten) for m in found}


def test_lines_carry_the_contract_and_are_in_order(full: Vault, away: Path) -> None:
    done = full.export("jsonl", away / "all.jsonl")
    read = lines(away / "all.jsonl")
    assert done.notes == len(read)
    assert [line["path"] for line in read] == sorted(line["path"] for line in read)
    tokens = next(line for line in read if line.get("key") == "k1")
    assert tokens["content"] == "Tokens rotate daily"
    assert tokens["created_at"].endswith("Z")
    assert {"id", "title", "type", "scope", "tags", "version", "importance"} <= tokens.keys()
    entity = next(line for line in read if line["title"] == "AuthService")
    assert entity["facts"][0]["predicate"] == "depends_on"
    session = next(line for line in read if line["type"] == "session")
    assert session["observations"][0]["content"] == "Signed with RS256\r\n#odd"
    assert not any("Only for now" in line["content"] for line in read)
    assert not any("hidden words" in line["content"] for line in read)
    assert "\n".join(full.export_lines()) + "\n" == (away / "all.jsonl").read_text("utf-8")


def test_lines_make_the_same_memories_in_an_empty_vault(
    full: Vault, root: Path, open_vault: Open, away: Path
) -> None:
    full.export("jsonl", away / "all.jsonl")
    other = open_vault(at=away / "other")
    done = other.import_("jsonl", away / "all.jsonl")
    assert done.left == 0
    mine, theirs = everything(full), everything(other)
    differs = [m for m in mine if mine[m] != theirs[m]]
    # What is private stays, and what was never UTF-8 cannot stand in JSON.
    assert sorted(differs) == ["Private.md", "deep/er/latin1.md"]
    for path, raw in notes(away / "other").items():
        if path not in differs:
            assert raw == (root / path).read_bytes()
    assert other.import_("jsonl", away / "all.jsonl").here == done.added
    assert full.import_("jsonl", away / "all.jsonl").added == 0


def test_the_golden_corpus_and_the_template_make_the_round(
    open_vault: Open, tmp_path: Path
) -> None:
    for number, folder in enumerate((FIXTURES / "golden", TEMPLATE)):
        one, two = tmp_path / f"one{number}", tmp_path / f"two{number}"
        open_vault(at=one).import_("folder", folder, into="")
        open_vault(at=one).export("jsonl", tmp_path / f"{number}.jsonl")
        open_vault(at=two).import_("jsonl", tmp_path / f"{number}.jsonl")
        same = [p for p, raw in notes(one).items() if notes(two).get(p) == raw]
        odd = set(notes(one)) - set(same)
        private = {path for path in odd if b"<private>" in notes(one)[path]}
        assert odd - private <= {"latin1.md", "utf16.md"}
        assert len(same) > 5


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\r\t"))


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "content": texts.filter(str.strip),
                "tags": st.lists(st.sampled_from(["a", "b/c", "é"]), max_size=2),
                "importance": st.none() | st.floats(0, 1),
                "type": st.sampled_from(["semantic", "episodic", "procedural"]),
            }
        ),
        min_size=1,
        max_size=4,
    )
)
@settings(max_examples=5)
def test_any_memories_make_the_round(
    tmp_path_factory: pytest.TempPathFactory, memories: list[dict[str, Any]]
) -> None:
    base = tmp_path_factory.mktemp("round")
    with opened(base / "one") as one, opened(base / "two") as two:
        for memory in memories:
            one.remember(**memory)
        one.export("jsonl", base / "all.jsonl")
        two.import_("jsonl", base / "all.jsonl")
        assert everything(one) == everything(two)


def opened(root: Path) -> Vault:
    (root / ".vaultmem").mkdir(parents=True)
    settings_ = {"model": "off", "typing.quiet_seconds": 0.0, "privacy.redact": False}
    return Vault.open(root, settings_, caller=Caller())


def test_lines_of_others_need_a_content_only(vault: Vault, away: Path) -> None:
    given_lines: list[Any] = [
        {"content": "Just this"},
        {"content": "With more", "tags": ["x"], "created_at": 1719835200, "title": "A title"},
        {"content": ""},
        {"content": None},
        {"no": "content"},
        {"content": "x", "frontmatter": "", "path": "../../escape.md"},
        {"content": "x", "frontmatter": "", "path": "/etc/escape.md"},
        {"content": "x", "frontmatter": "", "path": ".vaultmem/config.toml"},
        {"content": "x", "frontmatter": "", "path": ".obsidian/a.md"},
        {"content": "x", "frontmatter": "", "path": "a/../../b.md"},
        {"content": "x", "frontmatter": "", "path": "C:\\a.md"},
        "{broken",
    ]
    done = vault.import_("jsonl", exports.lines(away / "l.jsonl", given_lines))
    assert done.left == 10 - (os.name != "nt")
    assert not list(away.parent.rglob("*escape*"))
    titles = {m.title for m in vault.list().memories}
    assert titles >= {"Just this", "A title"}


# --- zip --------------------------------------------------------------------------------------


def test_a_zip_unpacked_is_the_vault(full: Vault, root: Path, open_vault: Open, away: Path) -> None:
    (root / ".vaultmem/config.toml").write_text('language = "german"\n')
    exports.folder(
        root, {".obsidian/workspace.json": b"{}", ".obsidian/plugins/x/data.json": b"key"}
    )
    exports.folder(root, {".trash/old.md": b"x", ".git/config": b"x"})
    before = snapshot(root)
    done = full.export("zip", away / "all.zip")
    with zipfile.ZipFile(away / "all.zip") as archive:
        names = archive.namelist()
        assert archive.testzip() is None
        archive.extractall(away / "unpacked")
    assert done.notes + done.files == len(names)
    assert notes(away / "unpacked") == notes(root)
    assert {n for n in names if n.startswith(".")} == {
        ".vaultmem/config.toml",
        ".obsidian/app.json",
    }
    assert "picture.png" in names
    assert snapshot(root) == before
    unpacked = open_vault(at=away / "unpacked")
    assert unpacked.settings["language"] == "german"
    assert everything(unpacked) == everything(full)
    full.export("zip", away / "again.zip")
    assert (away / "again.zip").read_bytes() == (away / "all.zip").read_bytes()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_files_that_no_zip_can_hold(vault: Vault, root: Path, away: Path) -> None:
    (root / "A.md").write_bytes(b"a\n")
    Path(os.fsdecode(os.fsencode(root) + b"/caf\xe9.md")).write_bytes(b"x\n")
    Path(os.fsdecode(os.fsencode(root) + b"/caf\xe9.png")).write_bytes(b"x\n")
    os.mkfifo(root / "pipe")
    (root / "link.md").symlink_to(root / "A.md")
    done = vault.export("zip", away / "a.zip")
    assert zipfile.ZipFile(away / "a.zip").namelist() == ["A.md"]
    assert len(done.left_out) == 3
    done = vault.export("jsonl", away / "a.jsonl")
    assert done.notes == 1, "a note that no program can name is none"
    assert {left.what for left in done.left_out} == {"caf\\xe9.md", "link.md"}


@pytest.mark.parametrize("seconds", [0, -(2**31), 2**33, 253402300800])
def test_a_zip_holds_files_of_any_age(vault: Vault, root: Path, away: Path, seconds: int) -> None:
    for name in ("A.md", "b.png"):
        (root / name).write_bytes(b"a\n")
        os.utime(root / name, ns=(seconds * 10**9, seconds * 10**9))
    vault.export("zip", away / "a.zip")
    assert zipfile.ZipFile(away / "a.zip").namelist() == ["A.md", "b.png"]


def test_filters(full: Vault, away: Path) -> None:
    def titles(**wanted: str) -> list[str]:
        return [json.loads(line)["title"] for line in full.export_lines(**wanted)]

    assert titles(project="atlas") == ["Ship on Monday"]
    assert titles(tag="auth") == ["Tokens rotate daily", *titles(type="session")]
    assert titles(type="procedural", scope="project") == ["Ship on Monday"]
    assert titles(project="none") == []
    done = full.export("zip", away / "atlas.zip", project="Atlas")
    assert zipfile.ZipFile(away / "atlas.zip").namelist() == ["Memories/Atlas/Ship on Monday.md"]
    assert done.warnings


def test_what_a_caller_may_not_see_is_not_exported(
    open_vault: Open, root: Path, away: Path
) -> None:
    open_vault(user="a").remember("Of a")
    open_vault(user="b").remember("Of b")
    exports.folder(root, {"photo of b.png": b"b"})
    vault = open_vault(user="a", read_only=True)
    assert [json.loads(line)["content"] for line in vault.export_lines()] == ["Of a"]
    vault.export("zip", away / "a.zip")
    assert zipfile.ZipFile(away / "a.zip").namelist() == ["Memories/Of a.md"]


def test_nothing_is_overwritten_and_nothing_half_written(
    full: Vault, root: Path, away: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = away / "all.zip"
    target.write_bytes(b"mine")
    with pytest.raises(AlreadyExists, match="--force"):
        full.export("zip", target)
    assert target.read_bytes() == b"mine"
    full.export("zip", target, force=True)
    assert zipfile.is_zipfile(target)
    for place in (root / "all.zip", root / "Memories" / "x.jsonl"):
        with pytest.raises(InvalidInput, match="in the vault itself"):
            full.export("zip", place)
    with pytest.raises(NotFound, match="There is no folder"):
        full.export("jsonl", away / "none" / "x.jsonl")
    with pytest.raises(InvalidInput, match="is a folder"):
        full.export("jsonl", away)
    with pytest.raises(InvalidInput, match="jsonl, okf, zip"):
        full.export("pdf", away / "x.pdf")

    def full_disk(*_: object, **__: object) -> Iterator[str]:
        yield "{}"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("vaultmem.transfer.exporting.Exporting.exported_lines", full_disk)
    with pytest.raises(Exception, match="disk is full"):
        full.export("jsonl", away / "new.jsonl")
    assert [file.name for file in away.iterdir()] == ["all.zip"]
