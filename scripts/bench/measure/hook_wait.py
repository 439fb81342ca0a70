"""How long an agent waits for its hooks, with the real Claude Code against a scripted model.

    scripts/bench/run hook_wait CLAUDE NOTES QUESTIONS [--rounds 4] [--prompts 6]

CLAUDE is a Claude Code from 2.1.282 on. NOTES is copied to a temporary folder and indexed with
vectors. In turns `vaultmem install` writes hooks that are commands, and hooks that ask the server;
each round is a session of so many questions, in each of which the model writes a file and runs a
command. The time of a hook is what passes between the lines by which Claude Code says that it
began and that it ended. Commands on tools and answers run aside, all other hooks are waited for.
"""

from __future__ import annotations

import argparse
import http.server
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any, ClassVar

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT))

from tests.real_clients import claude_code

WAYS = ("command", "mcp_tool")
Times = dict[str, list[float]]  # milliseconds, by event
TOLD, USED = "prompts that were told something", "processor time of a session"


class WorkingModel(claude_code.Model):
    """Writes a file and runs a command for each prompt, then says how it ended."""

    prompts: ClassVar[int] = 0  # of the session

    def _next(self, asked: dict[str, Any]) -> dict[str, Any]:
        done = len(list(claude_code.results([asked])))
        work = (
            ("Write", {"file_path": f"{os.getcwd()}/file_{done}.txt", "content": "hello"}),
            ("Bash", {"command": "echo 12 passed in 0.41s; : pytest -q", "description": "test"}),
        )
        if asked.get("tools") and done < len(work) * WorkingModel.prompts:
            name, given = work[done % len(work)]
            return {"type": "tool_use", "id": f"toolu_{done}", "name": name, "input": given}
        return {"type": "text", "text": "The file is written and its tests pass now."}


class Home:
    def __init__(self, folder: Path, claude: Path, notes: Path, port: int) -> None:
        self.claude, self.vault = claude, folder / "vault"
        self.work = folder / "work"
        self.settings = folder / ".claude" / "settings.json"
        self.work.mkdir()
        for way, program in ((WAYS[0], "/bin/false"), (WAYS[1], claude)):
            (folder / way).mkdir()
            (folder / way / "claude").symlink_to(program)
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(folder), "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}", "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "IS_SANDBOX": "1",
        }  # fmt: skip
        shutil.copytree(notes, self.vault, ignore=shutil.ignore_patterns(".vaultmem"))
        (self.vault / ".vaultmem").mkdir(exist_ok=True)
        self.vaultmem("index", "--vectors", "--vault", str(self.vault))

    def vaultmem(self, *words: str, path: str = "/bin") -> None:
        environment = self.environment | {"PATH": f"{path}:{os.environ['PATH']}"}
        command = [str(ROOT / "scripts" / "vaultmem"), *words]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, cwd=self.work
        )
        assert done.returncode == 0, done.stderr

    def install(self, way: str) -> None:
        """With a Claude Code that says its version, or one that does not: that decides it."""
        found = str(self.work.parent / way)
        self.vaultmem("install", "claude-code", "--vault", str(self.vault), path=found)
        assert ('"mcp_tool"' in self.settings.read_text()) == (way == "mcp_tool")

    def session(self, prompts: list[str]) -> tuple[Times, Times]:
        """The times at the first prompt, and at those that follow."""
        command = [
            str(self.claude), "-p", "--input-format", "stream-json", "--output-format",
            "stream-json", "--verbose", "--include-hook-events", "--allowedTools", "Write,Bash",
        ]  # fmt: skip
        known = resource.getrusage(resource.RUSAGE_CHILDREN)
        before = known.ru_utime + known.ru_stime
        first: Times = defaultdict(list)
        later: Times = defaultdict(list)
        with subprocess.Popen(
            command, cwd=self.work, env=self.environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        ) as child:  # fmt: skip
            assert child.stdin is not None and child.stdout is not None
            for number, prompt in enumerate(prompts):
                WorkingModel.prompts = number + 1
                message = {"role": "user", "content": prompt}
                child.stdin.write(json.dumps({"type": "user", "message": message}) + "\n")
                child.stdin.flush()
                sent = time.perf_counter()
                taken = later if number else first
                _read_turn(child.stdout, taken)
                taken["the whole prompt"].append((time.perf_counter() - sent) * 1000)
            child.stdin.close()
            _read_turn(child.stdout, later)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        later[USED].append((used.ru_utime + used.ru_stime - before) * 1000)
        return first, later


def _read_turn(lines: Any, taken: Times) -> None:
    began: dict[str, float] = {}
    for line in lines:
        said = json.loads(line)
        if said["type"] == "result":
            return
        match said.get("subtype"):
            case "hook_started":
                began[said["hook_id"]] = time.perf_counter()
            case "hook_response":
                if start := began.pop(said["hook_id"], 0.0):
                    name = said["hook_name"].partition(":startup")[0]
                    taken[name].append((time.perf_counter() - start) * 1000)
                    if name == "UserPromptSubmit":
                        taken[TOLD].append(bool(said["stdout"]))


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench/run hook_wait", description=__doc__)
    parser.add_argument("claude", type=Path)
    parser.add_argument("notes", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--prompts", type=int, default=6)
    given = parser.parse_args()
    asked = [json.loads(line)["question"] for line in given.questions.read_text().splitlines()]
    random.Random(7).shuffle(asked)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), WorkingModel)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    taken: dict[str, tuple[Times, Times]] = {
        way: (defaultdict(list), defaultdict(list)) for way in WAYS
    }
    with tempfile.TemporaryDirectory() as folder:
        claude = given.claude.resolve()
        home = Home(Path(folder), claude, given.notes, server.server_port)
        os.chdir(home.work)
        for turn in range(given.rounds):
            prompts = [asked.pop() for _ in range(given.prompts)]
            for way in WAYS if turn % 2 else WAYS[::-1]:
                home.install(way)
                for kept, found in zip(taken[way], home.session(prompts), strict=True):
                    for name, times in found.items():
                        kept[name] += times
    print(f"load of the machine at the end: {os.getloadavg()[0]:.1f}")
    _print_table(taken)


def _print_table(taken: dict[str, tuple[Times, Times]]) -> None:
    print("| milliseconds, median (most) | as commands | asking the server |\n|---|---|---|")
    for which, when in enumerate(("first prompt", "later")):
        for name in sorted({name for way in WAYS for name in taken[way][which]} - {TOLD}):
            cells = (taken[way][which].get(name) for way in WAYS)
            shown = (
                f"{statistics.median(c):,.0f} ({max(c):,.0f})" if c else "aside" for c in cells
            )
            print(f"| {name}, {when} | {' | '.join(shown)} |")
    told = [[n for which in taken[way] for n in which[TOLD]] for way in WAYS]
    print(f"| {TOLD} | {' | '.join(f'{sum(each):.0f} of {len(each)}' for each in told)} |")


if __name__ == "__main__":
    main()
