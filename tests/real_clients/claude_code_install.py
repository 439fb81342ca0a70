"""`vaultmem install claude-code` and the plugin, tried with Claude Code itself, offline: it must
connect to the server, a memory must reach a scripted model through the hooks alone, and what the
model did must stand in the session's note.

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
from vaultmem import config
from vaultmem.clients import claude_version

ROOT = Path(__file__).resolve().parents[2]
KNOWN = "The staging server restarts at six every morning."


class Home:
    """A clean home with a vault that knows one thing, and `vaultmem` on the PATH."""

    def __init__(self, folder: Path, program: str, port: int) -> None:
        self.folder, self.program = folder, program
        self.vault = folder / "My Brain"
        (folder / "bin").mkdir()
        (folder / "bin" / "vaultmem").symlink_to(ROOT / "scripts" / "vaultmem")
        (folder / "bin" / "claude").symlink_to(Path(program).resolve())
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
        (self.folder / "work" / "done.txt").unlink(missing_ok=True)
        asked = ("-p", "When does the staging server restart?", "--allowedTools", "Write")
        self.claude(*asked, "--output-format", "json")
        return any(KNOWN in json.dumps(asked) for asked in claude_code.Model.seen)

    def hook_kinds(self) -> list[str]:
        hooks = json.loads((self.folder / ".claude" / "settings.json").read_text())["hooks"]
        return [group["hooks"][0]["type"] for (group,) in hooks.values()]

    def notes_what_was_done(self, times: int) -> bool:
        """A line in each session's note, for the file that the model wrote."""
        texts = [file.read_text() for file in (self.vault / "Sessions").rglob("*.md")]
        return sum("Wrote done.txt" in text for text in texts) >= times


def asks_servers() -> bool:
    version = claude_version.claude_version(config.places(), Path(os.devnull))
    return version is not None and version >= claude_version.ASKS_SERVERS


def by_install(home: Home) -> None:
    home.vaultmem("install", "claude-code", "--vault", str(home.vault))
    asks = asks_servers()
    assert home.hook_kinds().count("mcp_tool") == (4 if asks else 0)
    listed = home.claude("mcp", "list")
    assert "vaultmem" in listed and "Connected" in listed, listed
    assert home.hears_of_it()
    assert home.notes_what_was_done(1) or not asks  # a command may be ended with its session
    assert "already there" in home.vaultmem("install", "claude-code", "--vault", str(home.vault))
    home.vaultmem("uninstall", "claude-code")
    assert "vaultmem" not in home.claude("mcp", "list")
    assert not home.hears_of_it()
    how = "its hooks ask the server" if asks else "its hooks are commands"
    print(f"Claude Code: installed, connected, heard ({how}), wrote it down, and uninstalled.")


def by_plugin(home: Home) -> None:
    home.claude("plugin", "marketplace", "add", str(ROOT))
    home.claude("plugin", "install", "vaultmem@vaultmem", "--config", f"vault={home.vault}")
    listed = home.claude("mcp", "list")
    assert "plugin:vaultmem:vaultmem" in listed and "Connected" in listed, listed
    heard = home.hears_of_it()  # older ones let a prompt go by until the server is connected
    assert (heard and home.notes_what_was_done(2)) or not asks_servers()
    assert "does the same" in home.vaultmem("install", "claude-code", "--vault", str(home.vault))
    home.vaultmem("uninstall", "claude-code")
    home.claude("plugin", "uninstall", "vaultmem@vaultmem")
    assert "vaultmem" not in home.claude("mcp", "list")
    print("Claude Code: the plugin connects, and its hooks work.")


def main(program: str) -> None:
    os.environ["PATH"] = f"{Path(program).resolve().parent}:{os.environ['PATH']}"
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), claude_code.Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder), program, server.server_port)
        wrote = {"file_path": str(home.folder / "work" / "done.txt"), "content": "hello"}
        claude_code.SCRIPT[:] = [("Write", wrote)]
        by_install(home)
        by_plugin(home)


if __name__ == "__main__":
    main(sys.argv[1])
