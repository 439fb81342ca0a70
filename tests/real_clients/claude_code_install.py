"""`vaultmem install claude-code` and the plugin, tried with Claude Code itself, offline: it must
connect to the server, and a memory must reach a scripted model through the hooks alone.

Run by scripts/run check-plugin with the program's path.
"""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from tests.real_clients import claude_code

ROOT = Path(__file__).resolve().parents[2]
KNOWN = "The staging server restarts at six every morning."


class Home:
    """A clean home with a vault that knows one thing, and `vaultmem` on the PATH."""

    def __init__(self, folder: Path, program: str, port: int) -> None:
        self.folder, self.program = folder, program
        self.vault = folder / "My Brain"
        (folder / "bin").mkdir()
        (folder / "bin" / "vaultmem").symlink_to(ROOT / "scripts" / "vaultmem")
        (folder / "work").mkdir()
        self.environment = {
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "HOME": str(folder),
            "ANTHROPIC_API_KEY": "none", "DISABLE_AUTOUPDATER": "1",
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }  # fmt: skip
        self.vaultmem("init", str(self.vault))
        self.vaultmem("add", KNOWN, "--vault", str(self.vault))

    def vaultmem(self, *words: str) -> str:
        return self._run("vaultmem", *words)

    def claude(self, *words: str) -> str:
        return self._run(self.program, *words)

    def _run(self, *words: str) -> str:
        done = subprocess.run(
            words, cwd=self.folder / "work", env=self.environment, capture_output=True, text=True,
            timeout=180, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def hears_of_it(self) -> bool:
        """Whether the model is told what the vault knows, without asking for it."""
        claude_code.Model.seen.clear()
        self.claude("-p", "When does the staging server restart?", "--output-format", "json")
        return any(KNOWN in json.dumps(asked) for asked in claude_code.Model.seen)


def by_install(home: Home) -> None:
    home.vaultmem("install", "claude-code", "--vault", str(home.vault))
    listed = home.claude("mcp", "list")
    assert "vaultmem" in listed and "Connected" in listed, listed
    assert home.hears_of_it()
    assert "already there" in home.vaultmem("install", "claude-code", "--vault", str(home.vault))
    home.vaultmem("uninstall", "claude-code")
    assert "vaultmem" not in home.claude("mcp", "list")
    assert not home.hears_of_it()
    print("Claude Code: installed, connected, heard through the hooks, and uninstalled.")


def by_plugin(home: Home) -> None:
    home.claude("plugin", "marketplace", "add", str(ROOT))
    home.claude("plugin", "install", "vaultmem@vaultmem", "--config", f"vault={home.vault}")
    listed = home.claude("mcp", "list")
    assert "plugin:vaultmem:vaultmem" in listed and "Connected" in listed, listed
    assert home.hears_of_it()
    assert "does the same" in home.vaultmem("install", "claude-code", "--vault", str(home.vault))
    home.vaultmem("uninstall", "claude-code")
    home.claude("plugin", "uninstall", "vaultmem@vaultmem")
    assert "vaultmem" not in home.claude("mcp", "list")
    print("Claude Code: the plugin connects, and its hooks work.")


def main(program: str) -> None:
    claude_code.SCRIPT.clear()  # the model only listens
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), claude_code.Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder), program, server.server_port)
        by_install(home)
        by_plugin(home)


if __name__ == "__main__":
    main(sys.argv[1])
