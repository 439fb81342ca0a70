"""Settings: where each comes from, and what is said about a wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import TEMPLATE
from vaultmem import config
from vaultmem.errors import InvalidInput, NotFound


def write(root: Path, text: str) -> None:
    (root / ".vaultmem").mkdir(exist_ok=True)
    (root / ".vaultmem" / "config.toml").write_text(text, encoding="utf-8")


def test_defaults_then_file_then_environment_then_flags(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert config.load(root).values["user"] == config.Setting("", "default")
    write(root, '# a comment\nuser = "file"\n\n[folders]\nmemories = "Mine"\n')
    assert config.load(root).values["user"] == config.Setting("file", ".vaultmem/config.toml:2")
    assert config.load(root).values["folders.memories"].origin == ".vaultmem/config.toml:5"
    monkeypatch.setenv("VAULTMEM_USER", "env")
    assert config.load(root).values["user"] == config.Setting("env", "$VAULTMEM_USER")
    flagged = config.load(root, {"user": "flag", "project": None})
    assert flagged.values["user"] == config.Setting("flag", "--user")
    assert flagged["project"] == ""


@pytest.mark.parametrize(
    ("text", "message", "fatal"),
    [
        ("\nuser = 5\n", ".vaultmem/config.toml:2: user must be text, not 5.", True),
        ("read_only = 'no'\n", ".vaultmem/config.toml:1: read_only must be true or false", True),
        ("exclude = 'x'\n", "must be a list of texts", True),
        ("[typing]\nquiet_seconds = -1\n", ".vaultmem/config.toml:2: typing.quiet_seconds", True),
        ("[folders]\nmemmories = 'x'\n", "did you mean 'folders.memories'", False),
        ("colour = 1\n", "there is no setting 'colour'", False),
        ("modle = 'x'\n", "there is no setting 'modle'; did you mean 'model'?", False),
        ("language = 'klingon'\n", "language: 'klingon' is none of \"\", arabic, danish", True),
        ("[properties]\ntype = 1\n", ".vaultmem/config.toml:2: properties.type", True),
        ("[properties]\nnope = 'x'\n", "'nope' is not one of vaultmem's properties", False),
        ("user = \n", "cannot be read", True),
        ("folders.memories = 3\n", ".vaultmem/config.toml:1: folders.memories must be text", True),
    ],
)
def test_wrong_settings_are_named_with_their_line(
    root: Path, text: str, message: str, fatal: bool
) -> None:
    write(root, text)
    settings = config.load(root)
    (problem,) = settings.problems
    assert message in problem.message
    assert problem.fatal is fatal
    if fatal:
        with pytest.raises(InvalidInput):
            settings.require_valid()
    else:
        settings.require_valid()


def test_a_wrong_environment_variable_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTMEM_READ_ONLY", "perhaps")
    assert "$VAULTMEM_READ_ONLY" in config.load(root).problems[0].message
    monkeypatch.setenv("VAULTMEM_READ_ONLY", "1")
    monkeypatch.setenv("VAULTMEM_EXCLUDE", "a, b/c")
    monkeypatch.setenv("VAULTMEM_TYPING_QUIET_SECONDS", "0.5")
    settings = config.load(root)
    assert (settings["read_only"], settings["exclude"]) == (True, ("a", "b/c"))
    assert settings["typing.quiet_seconds"] == 0.5


def test_obsidians_own_templates_folder_counts(root: Path) -> None:
    (root / ".obsidian").mkdir()
    (root / ".obsidian" / "templates.json").write_text('{"folder": "Meta/Templates/"}')
    setting = config.load(root).values["folders.templates"]
    assert setting == config.Setting("Meta/Templates", ".obsidian/templates.json")
    (root / ".obsidian" / "templates.json").write_text("{broken")
    assert config.load(root)["folders.templates"] == "Templates"


def test_the_templates_settings_are_valid_and_complete() -> None:
    settings = config.load(TEMPLATE)
    assert settings.problems == ()
    text = (TEMPLATE / config.CONFIG).read_text(encoding="utf-8")
    for name in config.DEFAULTS:
        assert f"{name.rpartition('.')[2]} =" in text, f"{name} is missing from the template"


def test_the_vault_is_found(root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("VAULTMEM_VAULT", raising=False)
    (root / ".vaultmem").mkdir()
    (root / "a" / "b").mkdir(parents=True)
    assert config.find_vault(None, root / "a" / "b") == root
    assert config.find_vault(str(root)) == root
    with pytest.raises(InvalidInput, match="--vault"):
        config.find_vault(None, tmp_path)
    with pytest.raises(NotFound, match="vaultmem init"):
        config.find_vault(str(tmp_path / "nowhere"))
    monkeypatch.setenv("VAULTMEM_VAULT", str(root))
    assert config.find_vault(None, tmp_path) == root


def test_state_can_live_outside_the_vault(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTMEM_STATE_DIR", f"{tmp_path}/state")
    folder = config.state_dir(root, config.load(root))
    assert folder.path.parent == tmp_path / "state"
    inside = config.state_dir(root, config.load(root, {"state_dir": ""}))
    assert inside.path == root / ".vaultmem"


@pytest.mark.parametrize(
    ("named", "usual"),
    [
        *(("~/.local/share/vaultmem", True), ("~/.local/state/vaultmem/", True)),
        *(("{home}/.local/share/vaultmem", True), ("{home}/data/vaultmem", True)),
        *(("~/.local/share", False), ("~/Documents", False), ("~", False), ("/", False)),
        *(("~/.local/share/vaultmem/../../..", False), ("state", False), (".", False)),
        *(("~nobody-here/x", False), ("//host/share/vaultmem", False)),
    ],
)
def test_a_vaults_own_settings_may_move_its_state_only_to_where_programs_keep_theirs(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, usual: bool
) -> None:
    """They travel with the vault; a cloned one must not have us write elsewhere."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    write(root, f'state_dir = "{named.format(home=tmp_path)}"\n')
    settings = config.load(root)
    assert (settings["state_dir"] != "") is usual
    if not usual:
        with pytest.raises(InvalidInput, match="VAULTMEM_STATE_DIR"):
            settings.require_valid()
        monkeypatch.setenv("VAULTMEM_STATE_DIR", str(tmp_path / "anywhere"))
        settings = config.load(root)  # the person's own word counts
        settings.require_valid()
        assert settings["state_dir"] == str(tmp_path / "anywhere")
