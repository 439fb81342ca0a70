"""The daily note of today: where Obsidian has it, made from its template, and never elsewhere."""

from __future__ import annotations

import datetime as dt
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Open, snapshot
from vaultmem import errors
from vaultmem.notes.daily.moment_format import moment_text
from vaultmem.vault import Vault


@pytest.fixture(autouse=True, params=["America/Los_Angeles", "Asia/Tokyo", "Pacific/Kiritimati"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Of these three at least one has another day than UTC."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


def obsidian(root: Path, name: str, says: Any) -> Path:
    file = root / ".obsidian" / f"{name}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(says if isinstance(says, str) else json.dumps(says), encoding="utf-8")
    return file


def put(root: Path, path: str, text: str) -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


def today(form: str = "YYYY-MM-DD") -> str:
    return moment_text(dt.datetime.now().astimezone(), form)


def refused(vault: Vault, kind: type[errors.VaultmemError], **given: Any) -> str:
    before = snapshot(vault.root / ".obsidian") if (vault.root / ".obsidian").exists() else {}
    notes = sorted(vault.root.rglob("*.md"))
    with pytest.raises(kind) as error:
        vault.update("@today", **({"append": "x"} | given))
    assert sorted(vault.root.rglob("*.md")) == notes, "nothing is made"
    assert before == (snapshot(vault.root / ".obsidian") if before else {})
    return str(error.value)


# --- where it is ------------------------------------------------------------------------------


def test_without_settings_it_is_where_obsidian_has_it_without_settings(
    vault: Vault, root: Path
) -> None:
    done = vault.append("@today", "Called Sam.")
    assert (done.path, done.created) == (f"{today()}.md", True)
    assert (root / done.path).read_bytes() == b"Called Sam.\n"
    again = vault.append("@today", "Sam called back.")
    assert (again.path, again.created) == (done.path, None)
    assert (root / done.path).read_text() == "Called Sam.\n\nSam called back.\n"


@pytest.mark.parametrize(
    ("says", "place"),
    [
        ({"folder": "Daily"}, "[Daily/]YYYY-MM-DD"),
        ({"folder": "/Daily/Notes/", "format": ""}, "[Daily/Notes/]YYYY-MM-DD"),
        ({"format": "YYYY/MM/YYYY-MM-DD"}, "YYYY/MM/YYYY-MM-DD"),
        (
            {"folder": "Log", "format": "gggg-[W]ww/dddd, MMMM Do"},
            "[Log/]gggg-[W]ww/dddd, MMMM Do",
        ),
        ({"folder": "  ", "format": "[Tag] D.M.YYYY"}, "[Tag] D.M.YYYY"),
        ({"autorun": True, "folder": 5}, "YYYY-MM-DD"),
        ([], "YYYY-MM-DD"),
    ],
)
def test_folder_and_format_are_obsidians(vault: Vault, root: Path, says: Any, place: str) -> None:
    obsidian(root, "daily-notes", says)
    assert vault.append("@today", "x").path == f"{today(place)}.md"
    assert vault.source("@today").text == "x\n"


PERIODIC = [
    {"daily": {"enabled": True, "folder": "P", "format": "YYYY/DDDD", "template": "T/P"}},
    {
        "activeCalendarSet": "mine",
        "calendarSets": [
            {"id": "other", "day": {"enabled": True, "folder": "O"}},
            {
                "id": "mine",
                "day": {
                    "enabled": True,
                    "folder": "P",
                    "format": "YYYY/DDDD",
                    "templatePath": "T/P.md",
                },
            },
        ],
    },
]


@pytest.mark.parametrize("says", PERIODIC)
def test_periodic_notes_come_first_where_they_are_on(vault: Vault, root: Path, says: Any) -> None:
    obsidian(root, "daily-notes", {"folder": "Core"})
    obsidian(root, "plugins/periodic-notes/data", says)
    put(root, "T/P.md", "{{title}} after {{yesterday}}\n")
    assert vault.append("@today", "x").path == f"Core/{today()}.md", "the plugin is not on"
    obsidian(root, "community-plugins", ["dataview", "periodic-notes"])
    done = vault.append("@today", "x")
    assert done.path == f"P/{today('YYYY/DDDD')}.md"
    yesterday = dt.datetime.now().astimezone() - dt.timedelta(days=1)
    first = f"{today('DDDD')} after {moment_text(yesterday, 'YYYY/DDDD')}\n"
    assert (root / done.path).read_text() == f"{first}\nx\n"


def test_periodic_notes_that_make_no_daily_ones_leave_it_to_obsidian(
    vault: Vault, root: Path
) -> None:
    obsidian(root, "community-plugins", ["periodic-notes"])
    obsidian(root, "plugins/periodic-notes/data", {"daily": {"enabled": False, "folder": "P"}})
    assert vault.append("@today", "x").path == f"{today()}.md"


# --- what it begins with ----------------------------------------------------------------------


def test_the_template_is_filled_and_kept_byte_for_byte(vault: Vault, root: Path) -> None:
    obsidian(root, "daily-notes", {"folder": "Daily", "template": "Templates/Day"})
    obsidian(root, "templates", {"folder": "Templates", "dateFormat": "D.M.", "timeFormat": "HH"})
    text = (
        '\ufeff---\r\nzip: 00123 # keep\r\ncreated: "{{date:YYYY-MM-DD}}"\r\n---\r\n'
        "# {{title}} ({{date}})  \r\n\r\n## Tasks\r\n\r\n* [ ]\r\n\r\n## Log\r\n\r\n<% x %>"
    )
    put(root, "Templates/Day.md", text)
    done = vault.add_task("@today", "Buy milk")
    day = today()
    filled = text.replace("{{date:YYYY-MM-DD}}", day).replace("{{title}}", day)
    filled = filled.replace("{{date}}", today("D.M."))
    after = filled.replace("* [ ]", "* [ ] Buy milk")
    assert (root / done.path).read_bytes() == after.encode()
    assert done.task == "* [ ] Buy milk" and done.created
    assert any(told.startswith("template_commands: ") for told in done.warnings)
    vault.append("@today", "Slept well.", section="Log")
    assert (root / done.path).read_bytes() == f"{after}\r\n\r\nSlept well.\r\n".encode()
    vault.restore("@today")
    assert (root / done.path).read_bytes() == after.encode()
    vault.restore("@today", vault.history("@today").versions[-1].version)
    assert (root / done.path).read_bytes() == filled.encode(), "what the template made of it"


@pytest.mark.parametrize("template", ["Nowhere", "../out", ".obsidian/daily-notes.json", "/etc/x"])
def test_a_template_that_is_not_there_is_told(vault: Vault, root: Path, template: str) -> None:
    put(root.parent, "out.md", "SECRET")
    obsidian(root, "daily-notes", {"template": template})
    done = vault.append("@today", "x")
    assert any(told.startswith("template_missing: ") for told in done.warnings)
    assert (root / done.path).read_text() == "x\n"


@pytest.mark.parametrize("kept", ["exclude = ['Private']", "[access]\nPrivate = 'none'"])
def test_a_template_that_is_kept_away_is_not_read(open_vault: Open, root: Path, kept: str) -> None:
    put(root, ".vaultmem/config.toml", f"{kept}\n")
    vault = open_vault()
    obsidian(root, "daily-notes", {"template": "Private/Diary"})
    receipts = []
    for text in ("SECRET\n", None):
        put(root, "Private/Diary.md", text) if text else (root / "Private/Diary.md").unlink()
        done = vault.append("@today", "x")
        assert (root / done.path).read_text() == "x\n"
        receipts.append([told for told in done.warnings if "template" in told])
        (root / done.path).unlink()
    assert receipts[0] == receipts[1] and len(receipts[0]) == 1, "nor is it told whether it exists"


def test_a_template_that_obsidian_hides_from_its_search_is_read(vault: Vault, root: Path) -> None:
    obsidian(root, "app", {"userIgnoreFilters": ["Templates/"]})
    obsidian(root, "daily-notes", {"template": "Templates/Day"})
    put(root, "Templates/Day.md", "## Log\n")
    done = vault.append("@today", "x", section="Log")
    assert (root / done.path).read_text() == "## Log\n\nx\n" and not done.warnings


def test_nothing_is_made_where_the_change_is_refused(vault: Vault, root: Path) -> None:
    obsidian(root, "daily-notes", {"folder": "Daily", "template": "Templates/Day"})
    put(root, "Templates/Day.md", "## Notes\n")
    assert "It has: Notes (line 1)" in refused(vault, errors.InvalidInput, section="Nots")
    refused(vault, errors.InvalidInput, append=None, old_text="no", new_text="x")
    refused(vault, errors.NotFound, append=None, task="no", done=True)
    refused(vault, errors.InvalidInput, append=None, content="All of it.")
    refused(vault, errors.NotFound, expected_version="0" * 20)
    refused(vault, errors.InvalidInput, append="  ")
    with pytest.raises(errors.NotFound, match="no daily note of today yet"):
        vault.source("@today")
    assert not (root / "Daily").exists(), "reading makes nothing either"


# --- it never leaves the vault ----------------------------------------------------------------


@pytest.mark.parametrize(
    "says",
    [
        *({"folder": folder} for folder in ("..", "../out", "Daily/../..", ".hidden", "a/.b")),
        *({"folder": folder} for folder in (".obsidian", ".vaultmem/local", ".git/hooks", "C:\\x")),
        *({"format": form} for form in ("[../]YYYY", "[..\\\\..\\\\x]", "[.git/]YYYY", "[.]YYYY")),
        *({"format": form} for form in ("[]", "[/]", "YYYY[|]MM", "HH:mm", "Y" * 600, "[\0]Y")),
        *({"folder": folder} for folder in ("Templates", "Private", "Private/Diary")),
    ],
    ids=str,
)
def test_settings_of_others_cannot_lead_anywhere(open_vault: Open, root: Path, says: Any) -> None:
    vault = open_vault({"exclude": ("Private",)})
    before = snapshot(root.parent)
    obsidian(root, "daily-notes", says)
    told = refused(vault, errors.VaultmemError)
    assert ".obsidian/daily-notes.json" in told
    after = snapshot(root.parent)
    new = {name for name in after.keys() - before.keys() if "/.vaultmem/" not in name}
    assert new == {"vault/.obsidian/daily-notes.json"}


def test_links_are_not_followed(vault: Vault, root: Path) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (root / "Daily").symlink_to(outside)
    obsidian(root, "daily-notes", {"folder": "Daily"})
    assert "leads out of the vault" in refused(vault, errors.OutsideVault)
    (root / "Daily").unlink()
    (root / "Daily").mkdir()
    (root / "Daily" / f"{today()}.md").symlink_to(outside / "note.md")
    refused(vault, errors.VaultmemError)
    assert not list(outside.iterdir())


@pytest.mark.parametrize("name", ["daily-notes", "community-plugins"])
def test_settings_that_cannot_be_read_are_no_guess(vault: Vault, root: Path, name: str) -> None:
    file = obsidian(root, name, '{"folder": ')
    assert "no JSON" in refused(vault, errors.InvalidInput)
    file.unlink()
    file.symlink_to(put(root.parent, "else.json", "{}"))
    assert "a link" in refused(vault, errors.InvalidInput)
    file.unlink()
    os.mkfifo(file)
    refused(vault, errors.InvalidInput)


# --- whose it is ------------------------------------------------------------------------------


def test_a_note_called_today_goes_before(vault: Vault, root: Path) -> None:
    assert vault.append("today", "x").path == f"{today()}.md"
    put(root, "Today.md", "Mine.\n")
    assert vault.append("today", "y").path == "Today.md"
    assert vault.append("@Today", "z").path == f"{today()}.md"


def test_a_pinned_caller_writes_into_a_day_of_nobodys_and_is_told(
    open_vault: Open, root: Path
) -> None:
    atlas = open_vault(project="Atlas")
    done = atlas.append("@today", "From Atlas.")
    assert any(told.startswith("shared_note: ") for told in done.warnings)
    assert not open_vault().append("@today", "From me.").warnings
    file = root / done.path
    for owner in ("project: Zeus", "user: other"):
        file.write_text(f"---\n{owner}\n---\nTheirs.\n")
        bound = open_vault(project="Atlas", user="me")
        with pytest.raises(errors.NotFound):
            bound.append("@today", "x")
        with pytest.raises(errors.NotFound):
            bound.check_task("@today", "x")
        with pytest.raises(errors.NotFound):
            bound.source("@today")
        assert file.read_text() == f"---\n{owner}\n---\nTheirs.\n"
    file.write_text("---\nproject: Atlas\n---\nOurs.\n")
    assert not atlas.append("@today", "x").warnings


def test_a_pinned_caller_makes_no_note_of_others(open_vault: Open, root: Path) -> None:
    obsidian(root, "daily-notes", {"folder": "Daily", "template": "Templates/Day"})
    put(root, "Templates/Day.md", "---\nproject: Zeus\n---\nSECRET\n")
    told = refused(open_vault(project="Atlas"), errors.InvalidInput)
    assert "would belong to another" in told and "SECRET" not in told
    obsidian(root, "daily-notes", {"folder": "Memories/Zeus"})
    refused(open_vault(project="Atlas"), errors.InvalidInput)
    assert open_vault(project="Zeus").append("@today", "x").created


def test_read_only_is_read_only(open_vault: Open, root: Path) -> None:
    for vault in (open_vault(read_only=True), open_vault({"read_only": True})):
        refused(vault, errors.ReadOnly)


# --- beside others ----------------------------------------------------------------------------


def test_a_day_that_changed_meanwhile_is_a_conflict(vault: Vault, root: Path) -> None:
    done = vault.append("@today", "One.")
    vault.append("@today", "Two.", expected_version=done.version)
    with pytest.raises(errors.Conflict) as conflict:
        vault.append("@today", "Three.", expected_version=done.version)
    assert conflict.value.text == "One.\n\nTwo.\n"


def test_secrets_and_private_parts_stay_out(vault: Vault, root: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    done = vault.append("@today", f"Key {token}. <private>Nobody knows.</private>")
    more = vault.add_task("@today", f"Rotate {token} <private>soon</private>")
    text = (root / done.path).read_text()
    assert token not in text and "Nobody" not in text and "soon" not in text
    for receipt in (done, more):
        assert {told.partition(":")[0] for told in receipt.warnings} == {
            "private_removed",
            "secret_redacted",
        }
    kept = b"".join(file.read_bytes() for file in root.rglob("*") if file.is_file())
    assert token.encode() not in kept and b"Nobody knows" not in kept


def test_two_who_begin_the_day_at_once_write_into_one_note(open_vault: Open, root: Path) -> None:
    import threading

    vaults = [open_vault() for _ in range(4)]
    together = threading.Barrier(len(vaults))
    failed: list[BaseException] = []

    def begin(number: int) -> None:
        try:
            together.wait()
            vaults[number].append("@today", f"Number {number}.")
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=begin, args=(n,)) for n in range(len(vaults))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    text = (root / f"{today()}.md").read_text()
    assert sorted(text.split("\n\n")) and all(f"Number {n}." in text for n in range(len(vaults)))
