"""Settings: where each comes from, and what is said about a wrong one."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.conftest import TEMPLATE
from vaultmem import config, setting_values
from vaultmem.base import near_names
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
    ("text", "message"),
    [
        ("\nuser = 5\n", ".vaultmem/config.toml:2: user must be text, not 5."),
        ("read_only = 'no'\n", ".vaultmem/config.toml:1: read_only must be true or false"),
        ("exclude = 'x'\n", "must be a list of texts"),
        ("exclude = {}\n", ":1: exclude must be a list of texts, not {}"),
        ("[typing]\nquiet_seconds = -1\n", ".vaultmem/config.toml:2: typing.quiet_seconds"),
        ("language = 'klingon'\n", "language: 'klingon' is none of \"\", arabic, danish"),
        ("[properties]\ntype = 1\n", ".vaultmem/config.toml:2: properties.type must be"),
        ("user = \n", ".vaultmem/config.toml:1 cannot be read: Invalid value."),
        (
            "exclude = ['x']\n# more\nexclude = ['y']\nuser = ''\n",
            ":3 cannot be read: exclude stands here once more; it is there on line 1 already.",
        ),
        (
            "[access]\nx = 'read'\n[hooks]\n[access]\ny = 'read'",
            ":4 cannot be read: [access] stands here once more; it is there on line 1 already.",
        ),
        ("folders.memories = 3\n", ".vaultmem/config.toml:1: folders.memories must be text"),
        # names that there are not
        ("colour = 1\n", "there is no setting 'colour'."),
        ("modle = 'x'\n", ":1: there is no setting 'modle'; did you mean 'model'?"),
        ("exlude = ['Private']\n", ":1: there is no setting 'exlude'; did you mean 'exclude'?"),
        ("EXCLUDE = ['Private']\n", "did you mean 'exclude'?"),
        ("read-only = true\n", "did you mean 'read_only'?"),
        ("[folders]\nmemmories = 'x'\n", ":2: there is no setting 'folders.memmories'; did you"),
        (
            "[folder]\nmemories = 'x'\n",
            ":2: there is no setting 'folder.memories'; did you mean 'f",
        ),
        ("[hooks]\nexlude = ['x']\n", ":2: there is no setting 'hooks.exlude'; did you mean 'excl"),
        ("\n[hookz]\n", ":2: there is no setting 'hookz'; did you mean 'hooks'?"),
        ("[properties]\nnope = 'x'\n", ":2: 'nope' is not one of vaultmem's properties"),
        ("[properties]\nimportanc = 'x'\n", "did you mean 'importance'?"),
        # settings in the wrong place
        (
            "[hooks]\nexclude = ['x']\n",
            ":2: exclude stands in [hooks], and belongs above the first",
        ),
        ("redact = false\n", ":1: redact stands above the first table, and belongs in [privacy]"),
        ("keep = true\n", "belongs in [sessions]: move the line there"),
        ("keep = ['edit']\n", "belongs in [hooks]: move the line there"),
        ("keep = 'edit'\n", "belongs in [sessions] or in [hooks]"),
        ("[typing]\nexclude = ['x']\n", "belongs above the first table: move the line there"),
        (
            "[access]\nnone = ['Private']\n",
            ':2: access names the folder first: write "Folder" = "n',
        ),
        ("folders = 'Mine'\n", ":1: folders is a table: write [folders] on a line of its own"),
        ("[[folders]]\nmemories = 'Mine'\n", ":1: folders is a table"),
        ("properties = ['type']\n", ":1: properties is a table"),
        ("[exclude]\nfolders = ['x']\n", ":2: exclude is a setting and no table"),
    ],
)
def test_wrong_settings_are_named_with_their_line(root: Path, text: str, message: str) -> None:
    write(root, text)
    settings = config.load(root)
    (problem,) = settings.problems
    assert message in problem.message
    assert problem.fatal
    with pytest.raises(InvalidInput) as raised:
        settings.require_valid()
    assert raised.value.message.startswith(problem.message)
    assert "Correct the line or remove it" in raised.value.message


def test_of_many_mistakes_a_few_are_told_and_the_others_counted(root: Path) -> None:
    write(root, "".join(f"nothing_{number} = 1\n" for number in range(30)))
    settings = config.load(root)
    assert len(settings.problems) == 21
    with pytest.raises(InvalidInput, match=r"There are 18 more; .*vaultmem doctor lists them"):
        settings.require_valid()


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        *(("VAULTMEM_EXLUDE", "$VAULTMEM_EXCLUDE?"), ("VAULTMEM_EXCULDE", "$VAULTMEM_EXCLUDE?")),
        *(("VAULTMEM_READONLY", "$VAULTMEM_READ_ONLY?"), ("VAULTMEM_VALUT", "$VAULTMEM_VAULT?")),
        *(("VAULTMEM_PATTERNS", "$VAULTMEM_PRIVACY_PATTERNS?"),),
        *(("VAULTMEM_KEEP", "$VAULTMEM_SESSIONS_KEEP or $VAULTMEM_HOOKS_KEEP?"),),
        *(("VAULTMEM_PRIVACY_EXCLUDE", "$VAULTMEM_EXCLUDE or $VAULTMEM_OBSIDIAN_EXCLUDE?"),),
    ],
)
def test_a_misspelt_variable_is_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch, variable: str, meant: str
) -> None:
    monkeypatch.setenv(variable, "my secret")
    with pytest.raises(InvalidInput) as raised:
        config.load(root).require_valid()
    assert f"${variable} is no variable of vaultmem; did you mean {meant}" in raised.value.message
    assert f"unset {variable}" in raised.value.message
    assert "my secret" not in raised.value.message


@pytest.mark.parametrize("variable", ["VAULTMEM_ACCESS", "VAULTMEM_ACCESS_PRIVATE"])
def test_a_variable_for_what_the_file_alone_says_is_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "none")
    with pytest.raises(InvalidInput, match=r"stand in \.vaultmem/config\.toml alone"):
        config.load(root).require_valid()


@pytest.mark.parametrize(
    "variable", ["VAULTMEM_INDEX_URL", "VAULTMEM_TYPING_IDLE_SECONDS", "VAULTMEM_X", "VAULTMEM_"]
)
def test_a_variable_of_another_version_is_a_remark(
    root: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "1")
    settings = config.load(root)
    settings.require_valid()
    assert settings.remarks == (
        f"${variable} is no variable of this version of vaultmem, and does nothing.",
    )


def test_no_variable_of_ours_looks_like_another_misspelt() -> None:
    """A new one that did would be refused by the version before."""
    ours = [*map(setting_values.setting_variable, config.DEFAULTS), *config.VARIABLES]
    for variable in ours:
        others = [other for other in ours if other != variable]
        near = [o for o in others if near_names.letters_apart(variable, o) <= 2]
        assert not near, f"{variable} is too near to {near}"


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
    shown = re.sub(r"^# (?=\[\w+\]$|\w+ = )", "", text, flags=re.MULTILINE)
    plain = tomllib.loads(shown.replace('# type = "memory_type"', ""))
    for table in (plain, plain["obsidian"]):  # examples, and where it is if nobody says so
        for name in ("exclude", "state_dir", "properties", "folder"):
            table.pop(name, None)
    for name, value in setting_values.flat_settings(plain):
        default = config.DEFAULTS[name]
        assert value == (list(default) if isinstance(default, tuple) else default), name


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


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        *(("Privat", "Private"), (" Private", "Private"), ("Privat/*", "Private")),
        *(("Work/Slaaries", "Work/Salaries"), ("Wrok/Salaries", "Work/Salaries")),
        *(("Salaries", "Work/Salaries"), ("{root}/Private", "Private")),
    ],
)
@pytest.mark.parametrize("by", ["exclude", "access", "variable"])
def test_a_place_that_is_misspelt_is_told(
    root: Path, monkeypatch: pytest.MonkeyPatch, written: str, meant: str, by: str
) -> None:
    """It may be on another machine, so nothing is refused; but it keeps nothing private here."""
    (root / "Private").mkdir(parents=True)
    (root / "Work" / "Salaries").mkdir(parents=True)
    written = written.format(root=root)
    if by == "variable":
        monkeypatch.setenv("VAULTMEM_EXCLUDE", written)
        written = written.strip()
    elif by == "exclude":
        write(root, f"exclude = ['{written}']\n")
    elif "*" in written or written.startswith("/"):
        pytest.skip("[access] takes folders alone")
    else:
        write(root, f"[access]\n'{written}' = 'none'\n")
    settings = config.load(root)
    if written == "Private":
        assert settings.remarks == ()
        return
    assert f"names {written!r}, which is not there; did you mean {meant!r}?" in settings.remarks[0]
    settings.require_valid()


@pytest.mark.parametrize("written", ["Private", "private", "Later", "*/x", "2024", "Home.md", "É"])
def test_a_place_that_is_there_or_like_nothing_needs_no_word(root: Path, written: str) -> None:
    for name in ("Private", "2025", "Atlas", "é"):
        (root / name).mkdir(parents=True)
    (root / "Atlas" / "Home.md").touch()
    write(root, f"exclude = ['{written}']\n")
    assert config.load(root).problems == ()


def test_an_exception_from_what_is_left_out_is_refused(root: Path) -> None:
    write(root, "exclude = ['Work', '!Work/Open']\n")
    with pytest.raises(InvalidInput, match="there are no exceptions as in '!Work/Open'"):
        config.load(root).require_valid()
