"""Write docs/commands.md anew from the commands themselves: scripts/run docs-commands [--print]

A command tells what it does and takes; here stands only how the page is laid out, and for
each command an example that runs in a vault with the template's example memories.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import click

from vaultmem.surfaces.cli import GROUPS, cli

PAGE = ROOT / "docs" / "commands.md"

# What the top of the page explains.
SHARED = {"vault": "--vault DIR", "as_json": "--json", "quiet": "--quiet"}

HEAD = """\
# Commands

<!-- Written by scripts/run docs-commands: change the commands, not this page. -->

`vaultmem COMMAND --help` says the same in the terminal. The examples run in a vault with the template's example memories (`vaultmem init ~/Demo --examples`), from inside its folder.

**The vault** is `--vault DIR`, before or behind the command; else `$VAULTMEM_VAULT`; else the nearest folder above with a `.vaultmem` in it.

**Naming a note.** Where a command takes an ID, it takes an id, a path in the vault, a title or an alias.

**Answers** go to standard output, everything else to standard error. On a terminal they are laid out for reading; in a pipe each is one line with tabs; `--json` prints one JSON document. `--quiet`, or `-q`, says nothing beside the answer. `NO_COLOR` turns colours off.

**Exit codes**: 0 done; 1 the answer is no (nothing found, problems or conflicts left); 2 wrong use, or refused; 3 something failed, or was stopped with Ctrl-C. With `VAULTMEM_DEBUG=1` an unexpected failure shows where it happened.
"""

# Each runs as it stands, in the order of the page. What needs preparing prepares it.
EXAMPLES = {
    "demo": "vaultmem demo --fast",
    "init": "vaultmem init ~/Brain --git",
    "add": 'vaultmem add "The staging server restarts at six every morning" --tag staging',
    "today": 'vaultmem today "The landlord calls back on Friday"',
    "append": 'vaultmem append "Release checklist" "4. Tell the others."',
    "replace": 'vaultmem replace "Release checklist" "the others" "everybody"',
    "task": 'vaultmem task @today "Send the contract" && vaultmem task @today contract --done',
    "edit": 'EDITOR="sed -i s/Monday/Tuesday/" vaultmem edit "Release checklist"',
    "rename": 'vaultmem rename "The Friday release" "The release of a Friday" --dry-run',
    "forget": 'vaultmem forget "The Friday release" --reason "Long ago"',
    "restore": 'vaultmem restore "The Friday release"',
    "search": "vaultmem search grace period --tag auth --limit 3",
    "show": "vaultmem show TokenValidator",
    "recent": "vaultmem recent --limit 5",
    "tags": "vaultmem tags",
    "projects": "vaultmem projects",
    "history": 'vaultmem history "The Friday release"',
    "timeline": "vaultmem timeline",
    "graph": "vaultmem graph TokenValidator --mermaid",
    "facts": "vaultmem facts TokenValidator --as-of 2025-12-24",
    "context": 'vaultmem context "fix the refresh loop" --max-tokens 800',
    "install": "vaultmem install cursor --dry-run",
    "uninstall": "vaultmem uninstall cursor --dry-run",
    "look": "vaultmem look --no-browser &\nsleep 3; kill $!",
    "serve": "vaultmem serve --read-only < /dev/null",
    "path": "vaultmem path\nvaultmem path --remove",
    "hook": 'echo \'{"hook_event_name": "SessionStart"}\' | vaultmem hook',
    "index": "vaultmem index",
    "sync": "vaultmem init --git --yes\nvaultmem sync",
    "conflicts": "vaultmem conflicts",
    "resolve": (
        'cp "Memories/Release checklist.md" "Memories/Release checklist'
        ' (Conflicted copy Laptop 202601051200).md"\n'
        'vaultmem resolve "Release checklist (Conflicted copy Laptop 202601051200)" --ours'
    ),
    "consolidate": "vaultmem consolidate --dry-run",
    "review": "vaultmem review",
    "status": "vaultmem status",
    "engine": "vaultmem engine status",
    "doctor": "vaultmem doctor --all",
    "models": "vaultmem models list",
    "completion": "vaultmem completion bash > ~/vaultmem-completion.bash",
    "import": 'mkdir ~/Old\necho "Tea is at four." > ~/Old/Habits.md\nvaultmem import folder ~/Old',
    "export": "vaultmem export zip ~/memory.zip",
}


def page() -> str:
    parts = [HEAD]
    with click.Context(cli, info_name="vaultmem") as top:
        for title, commands in GROUPS.items():
            parts.append(f"## {title}\n")
            for name in commands:
                command = cli.get_command(top, name)
                assert command is not None, name
                parts += _command(command, name, top)
    return "\n".join(parts)


def _command(command: click.Command, name: str, above: click.Context) -> Iterator[str]:
    yield f"### {name}\n"
    yield from _about(command, click.Context(command, info_name=name, parent=above))
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=name, parent=above)
        for each in command.list_commands(context):
            below = command.get_command(context, each)
            assert below is not None
            yield f"**{name} {each}**\n"
            yield from _about(below, click.Context(below, info_name=each, parent=context))
    example = EXAMPLES.get(name, f"vaultmem {name} --help")
    yield f"```sh\n{example}\n```\n"


def _about(command: click.Command, context: click.Context) -> Iterator[str]:
    yield from _prose(command)
    pieces = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f"```text\n{pieces}\n```\n"
    given = [each for each in command.get_params(context) if isinstance(each, click.Option)]
    own = [each for each in given if not each.hidden and "--help" not in each.opts]
    shared = [f"`{SHARED[each.name]}`" for each in own if each.name in SHARED]
    rows = [_row(each, context) for each in own if each.name not in SHARED]
    if rows:
        yield "| option | |\n|---|---|\n" + "\n".join(rows) + "\n"
    if shared:
        yield f"{'Also' if rows else 'Options:'} {', '.join(shared)}.\n"


def _prose(command: click.Command) -> Iterator[str]:
    """The help's paragraphs; the examples in it are for the terminal, this page has its own."""
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        if not paragraph.startswith("\b"):
            yield " ".join(paragraph.split()) + "\n"


def _row(option: click.Option, context: click.Context) -> str:
    record = option.get_help_record(context)
    assert record is not None
    names, said = record
    names = re.sub(r"(-\w), (--[\w-]+)", r"\2, \1", names)
    said = re.sub(r"  \[default: (.+)\]$", r" Default: `\1`.", said)
    return f"| `{_cell(names)}` | {_cell(said)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    if "--print" in sys.argv:
        sys.stdout.buffer.write(page().encode())
    else:
        PAGE.write_text(page(), encoding="utf-8", newline="\n")
        print(f"Wrote {PAGE.relative_to(ROOT)}", file=sys.stderr)
