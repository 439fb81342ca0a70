"""`server.json` against what the MCP registry's schema of 2025-12-11 and its own rules demand."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from vaultmem import __version__

ROOT = Path(__file__).parent.parent
SERVER: dict[str, Any] = json.loads((ROOT / "server.json").read_text("utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
ARGUMENT = {"type", "name", "value", "valueHint", "description", "isRequired", "format", "default",
            "isSecret", "placeholder", "choices", "variables", "isRepeated"}  # fmt: skip


def test_the_server_has_what_the_schema_requires() -> None:
    assert SERVER["$schema"] == (
        "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
    )
    allowed = {"$schema", "name", "title", "description", "version", "repository", "websiteUrl",
               "icons", "packages", "remotes", "_meta"}  # fmt: skip
    assert {"name", "description", "version"} <= set(SERVER) <= allowed
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", SERVER["name"])
    assert 3 <= len(SERVER["name"]) <= 200
    for name in ("description", "title"):
        assert 1 <= len(SERVER[name]) <= 100
    assert SERVER["version"] == __version__ and not re.search(r"[\^~*<>=x]", __version__)


def test_the_package_is_ours_and_starts_the_server() -> None:
    (package,) = SERVER["packages"]
    allowed = {"registryType", "registryBaseUrl", "identifier", "version", "fileSha256",
               "runtimeHint", "transport", "runtimeArguments", "packageArguments",
               "environmentVariables"}  # fmt: skip
    assert {"registryType", "identifier", "transport"} <= set(package) <= allowed
    assert (package["registryType"], package["registryBaseUrl"]) == ("pypi", "https://pypi.org")
    assert package["identifier"] == PROJECT["name"] == "vaultmem-mcp"
    assert package["version"] == __version__ != "latest"
    assert package["transport"] == {"type": "stdio"}
    for argument in package["packageArguments"]:
        assert set(argument) <= ARGUMENT and argument["type"] in ("positional", "named")
        assert "name" in argument or "value" in argument or "valueHint" in argument
        assert argument.get("format", "string") in ("string", "number", "boolean", "filepath")
    words = [a.get("name") or a["value"] for a in package["packageArguments"]]
    assert words == ["serve", "--vault"]
    assert package["runtimeHint"] == "uvx" and package["identifier"] in PROJECT["scripts"]


def test_the_readme_proves_whose_the_package_is() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert f"mcp-name: {SERVER['name']}" in readme
