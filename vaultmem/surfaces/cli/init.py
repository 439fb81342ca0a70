from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from vaultmem.surfaces import render
from vaultmem.surfaces.cli import options

if TYPE_CHECKING:
    from vaultmem.template import Plan


@click.command()
@click.argument("folder", metavar="[DIR]", default=".")
@click.option("--git", is_flag=True, help="Keep the vault in git.")
@click.option("--examples", is_flag=True, help="Add the template's example memories.")
@click.option("--dry-run", is_flag=True, help="Show the plan and do nothing.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask before adding to an existing folder.")
@options.as_json
def command(
    folder: str, git: bool, examples: bool, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Make a vault from the template, or add to an existing one what it lacks.

    Nothing that is there is changed: files are only added, and an existing .obsidian
    folder is left alone.
    """
    from vaultmem import service

    plan = service.plan_vault(folder, git=git, examples=examples)
    if not as_json:
        _show(plan)
    if not dry_run and not plan.new and not plan.empty and not yes and sys.stdin.isatty():
        click.confirm("Add these?", abort=True, err=True)
    said = "" if dry_run else service.make_vault(plan, git=git)
    if as_json:
        click.echo(render.to_json(_as_json(plan, said, done=not dry_run)))
    elif not dry_run:
        _say_done(plan, said)


def _show(plan: Plan) -> None:
    click.echo(f"{'New vault' if plan.new else 'Vault'} in {plan.root}", err=True)
    for path in (*(f"{folder}/" for folder in plan.folders), *plan.add):
        click.echo(click.style("  + ", fg="green") + path, err=True)
    if plan.keep:
        click.echo(f"  {len(plan.keep)} files are there already and stay as they are.", err=True)
    for line in plan.advice:
        click.echo(f"  {line}", err=True)


def _say_done(plan: Plan, said: str) -> None:
    if said:
        click.echo(said, err=True)
    if plan.empty:
        click.echo("Nothing was missing.", err=True)
    else:
        click.echo(f"Done. Open {plan.root} in Obsidian, or look at it: vaultmem doctor", err=True)


def _as_json(plan: Plan, said: str, *, done: bool) -> dict[str, object]:
    return {
        "vault": str(plan.root),
        "done": done,
        "new": plan.new,
        "added": [*(f"{folder}/" for folder in plan.folders), *plan.add],
        "kept": list(plan.keep),
        "advice": list(plan.advice),
        "git": said or None,
    }
