from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from vaultmem.base.own_program import command_to_type
from vaultmem.surfaces import render
from vaultmem.surfaces.cli import new_vault as asking
from vaultmem.surfaces.cli import options, screen

if TYPE_CHECKING:
    from vaultmem.upkeep.template import VaultPlan

_SETTINGS: Final = ".vaultmem/config.toml"


@click.command()
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(file_okay=False))
@click.option("--git", is_flag=True, help="Keep the vault in git.")
@click.option("--examples", is_flag=True, help="Add the template's example memories.")
@click.option(
    "--with", "pieces", multiple=True, metavar="A,B",
    help="In a vault that has notes: agents, format, bases, home, templates, folders, obsidian, all.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show the plan and do nothing.")
@click.option(
    "--yes",
    "-y",
    is_flag=True,
    help="Do not ask, even where the folder looks like no place for a vault.",
)
@options.as_json
def init_command(
    folder: str,
    git: bool,
    examples: bool,
    pieces: tuple[str, ...],
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Make a vault from the template, or vaultmem's own folder in a vault that you have.

    A vault that has notes gets .vaultmem and nothing else, unless you name it with --with.
    Nothing that is there is changed, and an existing .obsidian folder is left alone.
    """
    from vaultmem import vault
    from vaultmem.upkeep import new_vault

    root = Path(folder).expanduser().absolute()
    doubt = new_vault.doubt_about_wish(root)
    asking.require_wish(root, doubt, bool(doubt) and not (yes or dry_run))
    plan = vault.plan_vault(folder, git=git, examples=examples, pieces=pieces)
    if not as_json:
        _show_init_plan(plan, dry_run)
    if not dry_run and not plan.new and not plan.empty and not yes and sys.stdin.isatty():
        click.confirm("Add these?", abort=True, err=True)
    said = "" if dry_run else vault.make_vault(plan, git=git)
    if as_json:
        click.echo(render.to_json(_init_plan_json(plan, said, done=not dry_run)))
    elif not dry_run:
        _say_init_done(plan, said)


def _show_init_plan(plan: VaultPlan, dry_run: bool) -> None:
    screen.say_line(
        f"{'New vault' if plan.new else 'Vault'} in {screen.one_screen_line(str(plan.root))}"
    )
    places = (*(f"{folder}/" for folder in plan.folders), *plan.add)
    for line in _init_plan_lines(plan) if plan.new and not dry_run else places:
        screen.say_line(click.style("  + ", fg="green") + line)
    for page in plan.excluded_now:
        screen.say_line(click.style("  ~ ", fg="yellow") + f"{_SETTINGS}: {page} is no memory")
    if plan.keep:
        number = screen.number_on_screen(len(plan.keep), "file")
        are = "is" if len(plan.keep) == 1 else "are"
        screen.say_line(f"  {number} of the template {are} there already, left as they are.")
    for line in plan.advice:
        screen.say_line(f"  {line}")
    if plan.offered:
        screen.say_line("What else there is, each only if you name it:")
        for piece in plan.offered:
            name = click.style(f"  --with {piece.name:9}", fg="cyan")
            screen.say_line(f"{name} {piece.what}")


def _init_plan_lines(plan: VaultPlan) -> Iterator[str]:
    """A new vault's files by folder: nobody has anything to lose there."""
    files = Counter(path.partition("/")[0] + "/" * ("/" in path) for path in plan.add)
    for folder in plan.folders:
        files.setdefault(f"{folder}/", 0)
    for name, number in sorted(files.items(), key=lambda item: (item[0][:1] == ".", item[0])):
        some = screen.number_on_screen(number, "file") if name.endswith("/") and number else ""
        yield f"{name:16}{click.style(some, dim=True)}" if some else name


def _say_init_done(plan: VaultPlan, said: str) -> None:
    if said:
        screen.say_line(said)
    if plan.empty:
        screen.say_line("Nothing was missing.")
        return
    where = shlex.quote(str(plan.root))
    screen.say_line(click.style("Done.", fg="green") + " What you can do now:")
    screen.say_line(f"  open {screen.one_screen_line(str(plan.root))} in Obsidian")
    screen.say_line(f'  {command_to_type("add")} "What is worth remembering" --vault {where}')
    screen.say_line(
        f"  {command_to_type('install')} claude-code --vault {where}     # or another client"
    )


def _init_plan_json(plan: VaultPlan, said: str, *, done: bool) -> dict[str, object]:
    return {
        "vault": str(plan.root),
        "done": done,
        "new": plan.new,
        "added": [*(f"{folder}/" for folder in plan.folders), *plan.add],
        "kept": list(plan.keep),
        "excluded": list(plan.excluded_now),
        "advice": list(plan.advice),
        "offered": {piece.name: piece.what for piece in plan.offered},
        "git": said or None,
    }
