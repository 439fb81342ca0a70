"""The steps of `vaultmem demo`: what is done, the command one would type, what comes of it."""

from __future__ import annotations

import contextlib
import difflib
import io
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import click

from vaultmem.base import own_program
from vaultmem.base.own_program import command_to_type
from vaultmem.errors import Unavailable
from vaultmem.surfaces.cli import screen

_NOTE: Final = "Refresh tokens rotate every 24 hours"
_STORED: Final = f"{_NOTE}. The old one works 5 minutes longer."
_PROTOCOL: Final = "2025-06-18"


def guide_tour(place: Path, *, kept: bool, pauses: bool) -> int:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # in one order with what is said on stderr
    tour = Tour(place, pauses=pauses and sys.stdout.isatty())
    with screen.laid_out_for_people():
        tour.welcome()
        with contextlib.closing(Agent(tour.laptop)) as agent:
            tour.an_agent_stores(agent)
            tour.you_edit()
            tour.it_recalls(agent)
            tour.a_fact_changes(agent)
            if shutil.which("git"):
                tour.two_machines_sync(agent)
            else:
                tour.say_on_tour(
                    "Git is not installed here, so the step with two machines is skipped."
                )
            tour.a_mistake_is_undone(agent)
        tour.farewell(place if kept else None)
    return 0


class Tour:
    def __init__(self, place: Path, *, pauses: bool) -> None:
        self.place = place
        self.laptop = place / "laptop"
        self.desktop = place / "desktop"
        self._pauses = pauses
        self._step = 0

    # --- the steps -----------------------------------------------------------------------

    def welcome(self) -> None:
        click.secho("A short tour of vaultmem", bold=True)
        self.say_on_tour("Everything here is real, in a vault of its own; yours is not touched.")
        self.print_tour_title("A vault is a folder of Markdown notes")
        git = ["--git"] if shutil.which("git") else []
        self.run_command_on_tour("init", "laptop", *git, "--quiet")
        os.chdir(self.laptop)
        names = sorted(each.name for each in self.laptop.iterdir() if each.name[0] != ".")
        self.show_tour_result("  ".join(names))

    def an_agent_stores(self, agent: Agent) -> None:
        self.print_tour_title("An agent learns something and stores it")
        kind = {"type": "semantic", "scope": "user", "tags": ["auth"]}
        done = self.call_agent(agent, "store_memory", content=_STORED, **kind)
        self.show_tour_result(f"remembered in {done['path']}")
        self.say_on_tour("That is a plain file, yours to read:")
        self.show_tour_result((self.laptop / done["path"]).read_text(encoding="utf-8"))

    def you_edit(self) -> None:
        self.print_tour_title("You correct it, in Obsidian or any editor")
        self.edit_note_on_tour(self.laptop, " 5 minutes", " 10 minutes")

    def it_recalls(self, agent: Agent) -> None:
        self.print_tour_title("Later the agent asks, and finds what you wrote")
        question = "how long does an old token work?"
        self.wait_until_agent_knows(agent, question, "10 minutes")
        found = self.call_agent(agent, "recall_memories", query=question)
        hit = found["memories"][0]
        self.show_tour_result(f"{hit['content']} (from {hit['path']})")
        self.say_on_tour("So can you:")
        self.run_command_on_tour("search", "old token")

    def a_fact_changes(self, agent: Agent) -> None:
        self.print_tour_title("Facts have a time: the new one closes the old one")
        about = {"subject": "AuthService", "predicate": "signs_with"}
        self.call_agent(agent, "assert_fact", **about, object="HS256", valid_from="2025-03-01")
        self.call_agent(agent, "assert_fact", **about, object="RS256", valid_from="2026-02-01")
        self.run_command_on_tour("facts", "AuthService")
        self.run_command_on_tour("facts", "AuthService", "--as-of", "2025-06-01")

    def two_machines_sync(self, agent: Agent) -> None:
        self.print_tour_title("Two machines change the same note, and git carries it")
        self.run_shell_on_tour(
            "git", "init", "--quiet", "--bare", "--initial-branch=main", "../shared.git"
        )
        self.run_shell_on_tour("git", "remote", "add", "origin", "../shared.git")
        self.run_command_on_tour("sync")
        os.chdir(self.place)
        self.run_shell_on_tour("git", "clone", "--quiet", "shared.git", "desktop")
        self.say_on_tour("On the desktop you edit the text; on the laptop an agent adds a tag:")
        self.edit_note_on_tour(self.desktop, "every 24 hours", "every 12 hours")
        self.call_agent(agent, "tag_memory", memory_id=_NOTE, add=["security"])
        self.run_command_on_tour("--vault", "desktop", "sync", "--quiet")
        self.run_command_on_tour("--vault", "laptop", "sync", "--quiet")
        self.say_on_tour("The laptop's note has both changes now:")
        self.run_command_on_tour("--vault", "laptop", "show", _NOTE)

    def a_mistake_is_undone(self, agent: Agent) -> None:
        self.print_tour_title("An agent gets it wrong, and you take it back")
        os.chdir(self.laptop)
        wrong = {"old_text": "tokens rotate", "new_text": "tokens never rotate"}
        self.call_agent(agent, "update_memory", memory_id=_NOTE, **wrong)
        self.run_command_on_tour("history", _NOTE)
        self.run_command_on_tour("restore", _NOTE)
        self.run_command_on_tour("search", "tokens", "rotate")

    def farewell(self, kept: Path | None) -> None:
        click.echo()
        click.secho("That was the tour.", bold=True)
        if kept:
            self.say_on_tour(f"The vaults are in {kept}: open {kept / 'laptop'} in Obsidian.")
        else:
            self.say_on_tour("It clears up after itself.")
        self.say_on_tour("Your own vault, and an agent that uses it:")
        for line in ("init ~/Brain", "install claude-code --vault ~/Brain"):
            click.secho("$ ", dim=True, nl=False)
            click.secho(command_to_type(line), fg="cyan")

    # --- showing -------------------------------------------------------------------------

    def print_tour_title(self, text: str) -> None:
        self._step += 1
        self.pause_tour(1.2)
        click.echo()
        click.secho(f"{self._step}. {text}", fg="green", bold=True)
        self.pause_tour(0.3)

    def say_on_tour(self, text: str) -> None:
        click.echo(screen.wrapped_paragraphs(text))

    def show_tour_result(self, text: str) -> None:
        click.secho(screen.wrapped_paragraphs(text.rstrip("\n"), 2), dim=True)
        self.pause_tour(0.6)

    def pause_tour(self, seconds: float) -> None:
        if self._pauses:
            sys.stdout.flush()
            time.sleep(seconds)

    # --- doing ---------------------------------------------------------------------------

    def run_command_on_tour(self, *arguments: str) -> None:
        """A command of ours, as it would be typed."""
        from vaultmem.surfaces.cli import main

        self._print_typed_on_tour("vaultmem", *arguments)
        if main(arguments):
            raise Unavailable("The tour ends here, because this did not work.")
        self.pause_tour(0.8)

    def run_shell_on_tour(self, *command: str) -> None:
        self._print_typed_on_tour(*command)
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise Unavailable(f"{command[0]} said: {(done.stderr or done.stdout).strip()}")

    def _print_typed_on_tour(self, *words: str) -> None:
        click.secho("$ ", dim=True, nl=False)
        click.secho(shlex.join(words), fg="cyan")
        self.pause_tour(0.3)

    def call_agent(self, agent: Agent, name: str, **arguments: Any) -> dict[str, Any]:
        """A call of an agent, over the protocol that agents speak."""
        words = ", ".join(f"{key}={_short_tour_value(value)}" for key, value in arguments.items())
        shown = screen.wrapped_paragraphs(f"{name}({words})", 8).lstrip()
        click.secho("agent → ", fg="magenta", nl=False)
        click.echo(shown)
        self.pause_tour(0.5)
        return agent.call_tool(name, **arguments)

    def edit_note_on_tour(self, vault: Path, old: str, new: str) -> None:
        """What a person does in an editor: the file is another one now, and nobody was told."""
        file = vault / "Memories" / f"{_NOTE}.md"
        before = file.read_text(encoding="utf-8")
        after = before.replace(old, new)
        file.write_text(after, encoding="utf-8", newline="")
        changed = difflib.ndiff(before.splitlines(), after.splitlines())
        screen.print_diff("\n".join(line for line in changed if line[:1] in "+-"))
        self.pause_tour(0.6)

    def wait_until_agent_knows(self, agent: Agent, question: str, words: str) -> None:
        """The server sees an edit within half a second; a slow machine gets more."""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            found = agent.call_tool("recall_memories", query=question)["memories"]
            if any(words in each["content"] for each in found):
                return
            time.sleep(0.1)


def _short_tour_value(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 100 else text[:98] + '…"'


# --- the agent -------------------------------------------------------------------------------


class Agent:
    """A client of `vaultmem serve`, as an agent's program is one."""

    def __init__(self, vault: Path) -> None:
        command = own_program.own_command("serve", "--vault", str(vault))
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )
        self._last = 0
        about = {"name": "demo", "version": "1"}
        self._ask_as_tour_agent(
            "initialize", protocolVersion=_PROTOCOL, capabilities={}, clientInfo=about
        )
        self._send_as_tour_agent({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call_tool(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = self._ask_as_tour_agent("tools/call", name=tool, arguments=arguments)
        answer: dict[str, Any] = result["structuredContent"]
        if result.get("isError"):
            raise Unavailable(f"{tool} said: {answer.get('message', answer)}")
        return answer

    def _ask_as_tour_agent(self, method: str, **params: Any) -> dict[str, Any]:
        self._last += 1
        self._send_as_tour_agent(
            {"jsonrpc": "2.0", "id": self._last, "method": method, "params": params}
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            if message.get("id") == self._last and "result" in message:
                result: dict[str, Any] = message["result"]
                return result
        raise Unavailable("The server of the tour ended before its time.")

    def _send_as_tour_agent(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()

    def close(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
