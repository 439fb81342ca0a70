"""Connecting clients: the settings of all eight, fresh, in use, broken and commented."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import pytest

from tests.clients.client_files import data_of, do, entry, file_of, in_use, put
from tests.conftest import snapshot
from vaultmem.base.own_program import PROGRAM
from vaultmem.clients import settings_file
from vaultmem.clients.catalogue import CLIENTS
from vaultmem.surfaces.cli import main

EVERY = pytest.mark.parametrize("name", CLIENTS)


# --- the matrix ----------------------------------------------------------------------------


@EVERY
def test_fresh(name: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert do("install", name) == 0
    said = capsys.readouterr()
    assert str(file_of(name)) in said.out
    assert CLIENTS[name].then in said.err
    assert data_of(name) == {CLIENTS[name].under: {PROGRAM: entry(CLIENTS[name], home / "Brain")}}
    before = snapshot(home)
    assert do("install", name) == 0
    assert "already there" in capsys.readouterr().out
    assert snapshot(home) == before, "the second time nothing is written"
    assert do("uninstall", name) == 0
    assert snapshot(home) == {}, "what install made alone goes again"


@EVERY
@pytest.mark.parametrize("comments", [False, True], ids=["plain", "comments"])
def test_in_use(name: str, comments: bool, home: Path) -> None:
    file = put(name, in_use(name, comments=comments))
    file.chmod(0o600)
    before = file.read_bytes()
    assert do("install", name) == 0
    client, after = CLIENTS[name], file.read_bytes()
    expected = data_of(name, before)
    expected[client.under][PROGRAM] = entry(client, home / "Brain")
    assert data_of(name) == expected
    bytes_of_after = iter(after)
    assert all(byte in bytes_of_after for byte in before), "nothing is taken away or moved"
    backup = file.with_name(file.name + ".vaultmem-backup")
    assert backup.read_bytes() == before
    assert {stat.S_IMODE(f.stat().st_mode) for f in (file, backup)} == {0o600}
    assert do("install", name) == 0
    assert file.read_bytes() == after
    assert do("uninstall", name) == 0
    assert file.read_bytes() == before, "every byte is back"


@EVERY
@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_broken(name: str, command: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = in_use(name, comments=False).replace('= "npx"', "= npx").replace(': "dark"', " dark")
    put(name, text)
    before = snapshot(home)
    assert do(command, name) == 2
    said = capsys.readouterr().err
    assert re.search(r"line \d+, column \d+", said), said
    assert str(file_of(name)) in said
    assert "Nothing was changed" in said
    assert snapshot(home) == before


@EVERY
def test_windows_line_ends_a_mark_and_no_last_line_end_stay(name: str, home: Path) -> None:
    text = in_use(name, comments=True).rstrip("\n").replace("\n", "\r\n")
    file = put(name, b"\xef\xbb\xbf" + text.encode())
    before = file.read_bytes()
    assert do("install", name) == 0
    after = file.read_bytes()
    assert after.startswith(b"\xef\xbb\xbf")
    assert after.count(b"\n") == after.count(b"\r\n") > before.count(b"\n")
    assert not after.endswith(b"\n")
    assert PROGRAM in data_of(name)[CLIENTS[name].under]
    assert do("uninstall", name) == 0
    assert file.read_bytes() == before


@EVERY
def test_a_dry_run_shows_the_difference_and_writes_nothing(
    name: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(name, in_use(name, comments=True))
    before = snapshot(home)
    for command in ("install", "uninstall"):
        assert do(command, name, "--dry-run") == 0
        assert snapshot(home) == before
    out = capsys.readouterr().out
    assert re.search(r"^\+ .*vaultmem", out, re.MULTILINE) or "+[mcp_servers.vaultmem]" in out
    assert "/Brain" in out


@EVERY
def test_what_a_person_added_to_the_entry_stays(name: str, home: Path) -> None:
    (home / "Other").mkdir()
    assert do("install", name) == 0
    client, file = CLIENTS[name], file_of(name)
    text = file.read_text()
    if client.toml:
        file.write_text(text + 'startup_timeout_sec = 20\n\n[mcp_servers.vaultmem.env]\nA = "b"\n')
    else:
        file.write_text(
            text.replace('"vaultmem": {', '"vaultmem": {\n      "env": { "A": "b" }, // mine')
        )
    assert (
        main(["install", name, "--vault", "Other", "--read-only", "--toolsets", "graph, core"]) == 0
    )
    made = data_of(name)[client.under][PROGRAM]
    assert made["env"] == {"A": "b"}
    options = ["--read-only", "--toolsets", "core,graph"]
    assert made["args"] == ["serve", "--vault", str(home / "Other"), *options]
    assert "// mine" in file.read_text() or client.toml
    assert do("uninstall", name) == 0
    assert data_of(name) == {}


@EVERY
def test_an_entry_of_that_name_that_is_not_ours_is_left_alone(
    name: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if CLIENTS[name].toml:
        put(name, '[mcp_servers.vaultmem]\nurl = "http://127.0.0.1:8765/mcp"\n')
    else:
        put(
            name, json.dumps({CLIENTS[name].under: {PROGRAM: {"url": "http://127.0.0.1:8765/mcp"}}})
        )
    before = snapshot(home)
    for command in ("install", "uninstall"):
        assert do(command, name) == 2
        assert "so it stays" in capsys.readouterr().err
    assert snapshot(home) == before


# --- awkward files -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"mcpServers": null}', "not a group"),
        ('{"mcpServers": ["x"]}', "not a group"),
        ("[]", "holds no object"),
        ('{"mcpServers": {}, "mcpServers": {}}', "twice"),
        ("\ufeff{}".encode("utf-16"), "UTF-8"),
        ('{"mcpServers": {"vaultmem": "x"}}', "so it stays"),
    ],
)
def test_what_cannot_be_edited_is_refused(
    home: Path, capsys: pytest.CaptureFixture[str], text: str | bytes, words: str
) -> None:
    put("cursor", text)
    before = snapshot(home)
    assert do("install", "cursor") == 2
    assert words in capsys.readouterr().err
    assert snapshot(home) == before


def test_an_inline_table_is_refused_with_what_to_add(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put("codex", 'mcp_servers = { other = { command = "npx" } }\n')
    before = snapshot(home)
    assert do("install", "codex") == 2
    said = capsys.readouterr().err
    assert "by hand" in said
    assert "[mcp_servers.vaultmem]" in said
    assert snapshot(home) == before


@pytest.mark.parametrize("text", ["", "\n", "{}", " { } \n"])
def test_an_empty_file_is_filled(home: Path, text: str) -> None:
    put("cursor", text)
    assert do("install", "cursor") == 0
    assert PROGRAM in data_of("cursor")["mcpServers"]


@pytest.mark.parametrize("text", ['{"mcpServers": {}}', '{"a": 1}', '{\n  "mcpServers": {}\n}\n'])
def test_an_empty_group_that_was_there_comes_back(home: Path, text: str) -> None:
    file = put("cursor", text)
    assert do("install", "cursor") == 0
    assert do("uninstall", "cursor") == 0
    assert file.read_text() == text


def test_a_link_stays_a_link(home: Path) -> None:
    dotfiles = home / "dotfiles" / "cursor.json"
    dotfiles.parent.mkdir()
    dotfiles.write_text("{}\n")
    file_of("cursor").parent.mkdir()
    file_of("cursor").symlink_to(dotfiles)
    assert do("install", "cursor") == 0
    assert file_of("cursor").is_symlink()
    assert PROGRAM in json.loads(dotfiles.read_text())["mcpServers"]
    assert sorted(f.name for f in dotfiles.parent.iterdir()) == ["cursor.json"]
    assert do("uninstall", "cursor") == 0
    assert dotfiles.read_text() == "{}\n"


def test_older_backups_are_kept(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = put("cursor", '{"a": 1}')
    assert do("install", "cursor") == 0
    put("cursor", '{"a": 2}')
    assert do("install", "cursor") == 0
    names = sorted(f.name for f in file.parent.iterdir())
    assert names == ["mcp.json", "mcp.json.vaultmem-backup", "mcp.json.vaultmem-backup-2"]
    assert file.with_name(names[1]).read_text() == '{"a": 1}'
    assert file.with_name(names[2]).read_text() == '{"a": 2}'
    assert names[2] in capsys.readouterr().err


def test_a_client_that_writes_meanwhile_loses_nothing(home: Path) -> None:
    file = put("cursor", '{"a": 1}')
    others = iter([b'{"a": 2}', b'{"a": 3}'])

    def edit(raw: bytes | None) -> bytes:
        assert raw is not None
        if new := next(others, None):
            file.write_bytes(new)
        return raw.replace(b"}", b', "ours": true}')

    done = settings_file.apply_settings_change(settings_file.SettingsChange("server", file, edit))
    assert file.read_bytes() == b'{"a": 3, "ours": true}'
    assert done.before == b'{"a": 3}'


def test_a_file_made_meanwhile_is_not_overwritten(home: Path) -> None:
    file = file_of("cursor")

    def edit(raw: bytes | None) -> bytes:
        if raw is None:
            put("cursor", "{}")
        return (raw or b"") + b" ours"

    settings_file.apply_settings_change(settings_file.SettingsChange("server", file, edit))
    assert file.read_bytes() == b"{} ours"


def test_one_that_never_rests_is_given_up(home: Path) -> None:
    file = put("cursor", "0")

    def edit(raw: bytes | None) -> bytes:
        file.write_bytes((raw or b"") + b"0")
        return b"ours"

    with pytest.raises(Exception, match="all the time"):
        settings_file.apply_settings_change(settings_file.SettingsChange("server", file, edit))
    assert b"ours" not in file.read_bytes()


def test_a_folder_in_its_place_is_named(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file_of("cursor").mkdir(parents=True)
    assert do("install", "cursor") == 2
    assert "is not a file" in capsys.readouterr().err


def test_comments_where_a_client_takes_none_are_mentioned(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("claude-desktop", "zed"):
        put(name, in_use(name, comments=True))
        assert do("install", name) == 0
        assert ("reads plain JSON" in capsys.readouterr().err) == (name == "claude-desktop")


# --- backups that nobody needs any more ----------------------------------------------------


def names_beside(file: Path) -> list[str]:
    return sorted(each.name for each in file.parent.iterdir())


def test_coming_and_going_leaves_no_backup(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = put("cursor", '{"a": 1}')
    for command in ("install", "uninstall", "install", "uninstall"):
        assert do(command, "cursor") == 0
    assert names_beside(file) == ["mcp.json"]
    assert file.read_text() == '{"a": 1}'
    said = capsys.readouterr().err
    assert "mcp.json.vaultmem-backup was removed: it is not needed any more." in said
    assert said.count("The file as it was") == 2, "only install names a backup"


def test_a_backup_of_what_was_changed_since_is_kept(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = put("cursor", '{"a": 1}')
    assert do("install", "cursor") == 0
    file.write_text(file.read_text().replace('"a": 1', '"a": 2'))
    assert do("uninstall", "cursor") == 0
    assert json.loads(file.read_text()) == {"a": 2}
    assert names_beside(file) == ["mcp.json", "mcp.json.vaultmem-backup"]
    said = capsys.readouterr().err
    assert "was kept: it holds something that the settings do not" in said
    assert "backup-2 was removed" in said, "which held the same, and vaultmem"


def test_a_kept_backup_goes_once_the_file_says_the_same(home: Path) -> None:
    """Also where the one before it is gone, and where nothing of ours is there to remove."""
    file = put("cursor", '{"a": 1}')
    file.with_name("mcp.json.vaultmem-backup-2").write_text('{"a": 1}')
    file.with_name("mcp.json.vaultmem-backup-3").write_text('{"a": 3}')
    assert do("uninstall", "cursor") == 0
    assert names_beside(file) == ["mcp.json", "mcp.json.vaultmem-backup-3"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{broken", "cannot be understood"),
        ('{"key": "only here"}', "holds something"),
        (None, "read"),
    ],
)
def test_a_backup_that_may_be_needed_stays_where_the_file_is_ours_alone(
    home: Path, capsys: pytest.CaptureFixture[str], text: str | None, why: str
) -> None:
    assert do("install", "cursor") == 0
    backup = file_of("cursor").with_name("mcp.json.vaultmem-backup")
    backup.mkdir() if text is None else backup.write_text(text)
    assert do("uninstall", "cursor") == 0
    assert names_beside(file_of("cursor")) == [backup.name], "the file goes, the backup does not"
    said = capsys.readouterr().err
    assert "was kept: it" in said and why in said


def test_a_dry_run_removes_no_backup(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = put("cursor", '{"a": 1}')
    assert do("install", "cursor") == 0
    before = snapshot(home)
    assert do("uninstall", "cursor", "--dry-run") == 0
    assert snapshot(home) == before
    assert "mcp.json.vaultmem-backup would be removed" in capsys.readouterr().err
    assert do("uninstall", "cursor", "--json") == 0
    (told,) = json.loads(capsys.readouterr().out)["files"]
    path = str(file.with_name("mcp.json.vaultmem-backup"))
    assert told["backups"] == [{"path": path, "removed": True, "kept_because": ""}]
    assert told["backup"] is None


def test_odd_values_of_others_do_no_harm(home: Path) -> None:
    codex = put(
        "codex", '[mcp_servers.vaultmem]\ncommand = "vaultmem"\nargs = ["serve"]\nat = 1979-05-27\n'
    )
    assert do("uninstall", "codex") == 0
    assert codex.read_text() == ""
    odd = '{"hooks": {"Stop": [{"hooks": [{"command": "\\ud800"}, {"command": "vaultmem hook"}]}]}}'
    put("claude-code", "{}").parent.joinpath(".claude").mkdir()
    (home / ".claude" / "settings.json").write_text(odd)
    assert do("uninstall", "claude-code") == 0
    left = '{"hooks": {"Stop": [{"hooks": [{"command": "\\ud800"}]}]}}'
    assert (home / ".claude" / "settings.json").read_text() == left
