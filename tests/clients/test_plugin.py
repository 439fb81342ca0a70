"""The plugin, the bundle and the page about clients say and do what `install` does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.clients.client_files import LAUNCHER, do, file_of, handshake
from tests.conftest import ROOT, clean_environment
from vaultmem.base.own_program import PROGRAM
from vaultmem.clients.catalogue import CLIENTS
from vaultmem.clients.our_entry import is_our_hook, starts_vaultmem

EVERY = pytest.mark.parametrize("name", CLIENTS)


# --- the plugin and the page ---------------------------------------------------------------

PLUGIN = ROOT / "vaultmem" / "plugin"


def test_the_plugin_says_what_install_says() -> None:
    from vaultmem import __version__
    from vaultmem.clients.our_entry import EVENTS, server_hook

    manifest = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text())
    assert manifest["version"] == __version__
    events = json.loads((PLUGIN / "hooks" / "hooks.json").read_text())["hooks"]
    assert all(event.waits for event in EVENTS if not event.fields)
    assert list(events) == [event.name for event in EVENTS]
    for event in EVENTS:
        (group,) = events[event.name]
        (handler,) = group["hooks"]
        assert group.get("matcher", "") == event.tools
        if event.fields:  # Claude Code's name for a plugin's server
            assert handler == server_hook(event, f"plugin:{PROGRAM}:{PROGRAM}")
        else:
            assert is_our_hook(handler) and not handler.get("async")
    server = json.loads((PLUGIN / ".mcp.json").read_text())["mcpServers"][PROGRAM]
    assert starts_vaultmem(server)
    market = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())
    assert (ROOT / market["plugins"][0]["source"]).resolve() == PLUGIN


def test_the_skill_names_tools_that_there_are() -> None:
    from vaultmem.surfaces.mcp.tools import BY_NAME

    text = (PLUGIN / "skills" / "memory" / "SKILL.md").read_text()
    named = set(re.findall(r"`([a-z]+_[a-z_]+)`", text))
    arguments = {name for tool in BY_NAME.values() for name in tool.schema["properties"]}
    assert named & set(BY_NAME)
    assert named <= set(BY_NAME) | arguments


@EVERY
def test_the_page_shows_what_install_writes(name: str, home: Path) -> None:
    page = (ROOT / "docs" / "clients.md").read_text()
    section = re.split(r"^## ", page, flags=re.MULTILINE)
    (mine,) = (each for each in section if each.startswith(f"{name}\n"))
    blocks = re.findall(r"```(?:json|toml)\n(.*?)```", mine, re.DOTALL)
    assert do("install", name) == 0
    written = file_of(name).read_text()
    shown = written.replace(LAUNCHER, "/home/me/vaultmem/scripts/vaultmem")
    assert blocks[0] == shown.replace(str(home / "Brain"), "/home/me/Brain")


def test_the_bundle_starts(tmp_path: Path) -> None:
    bundle = tmp_path / "vaultmem.mcpb"
    subprocess.run(
        [sys.executable, ROOT / "scripts/tasks/make_mcpb.py", bundle], check=True, stdout=-1
    )
    zipfile.ZipFile(bundle).extractall(tmp_path / "bundle")
    manifest = json.loads((tmp_path / "bundle" / "manifest.json").read_text())
    pins = tomllib.loads((tmp_path / "bundle" / "pyproject.toml").read_text())
    assert any(pin.startswith("mcp==") for pin in pins["project"]["dependencies"])
    main_file = tmp_path / "bundle" / manifest["server"]["entry_point"]
    environment = clean_environment(tmp_path) | {"VAULTMEM_VAULT": "${HOME}/Brain"}
    # The packages alone: their folder also says where this checkout is, to whoever asks `site`.
    environment["PYTHONPATH"] = sysconfig.get_path("purelib")
    answer = handshake([sys.executable, "-S", str(main_file)], environment)
    assert answer["serverInfo"]["version"] == manifest["version"]
    assert (tmp_path / "Brain" / ".gitignore").exists()
