from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import click

from vaultmem.surfaces import render
from vaultmem.surfaces.cli import look, options

if TYPE_CHECKING:
    from vaultmem.doctor import Finding

SHOWN = 8


@click.command()
@click.option(
    "--fix", is_flag=True, help="Put right what needs no decision. Notes are not touched."
)
@click.option(
    "--all", "everything", is_flag=True, help="List every problem, not only the first few."
)
@click.option("--secrets", is_flag=True, help="Look for keys, tokens and passwords as well.")
@options.vault
@options.as_json
def command(fix: bool, everything: bool, secrets: bool, vault: str | None, as_json: bool) -> int:
    """Find what is wrong with the vault, and what to do about it. Looking changes nothing."""
    with options.open_vault(vault, strict=False) as opened:
        findings = opened.examine(secrets=secrets)
        if fix:
            fixed = opened.fix(findings)
            findings = [found for found in findings if found not in fixed]
            look.say(f"Fixed {len(fixed)}.")
    if as_json:
        click.echo(render.to_json(findings))
    else:
        _print(findings, everything)
    return 1 if findings else 0


def _print(findings: list[Finding], everything: bool) -> None:
    if not findings:
        click.secho("Nothing is wrong.", fg="green")
        return
    groups: dict[str, list[Finding]] = defaultdict(list)
    for found in findings:
        groups[found.problem].append(found)
    for problem, group in groups.items():
        click.secho(f"{problem.replace('-', ' ')} ({len(group)})", bold=True)
        for found in group if everything else group[:SHOWN]:
            click.echo(_shown(f"{found.path}: {found.message}", 2))
            click.secho(_shown(found.fix, 4), dim=True)
        if len(group) > SHOWN and not everything:
            click.secho(f"  … and {len(group) - SHOWN} more (--all lists them)", dim=True)
    files = len({found.path for found in findings})
    click.echo(f"{look.count(len(findings), 'problem')} in {look.count(files, 'file')}.")


def _shown(text: str, indent: int) -> str:
    line = look.one_line(text)
    return look.paragraphs(line, indent) if look.for_a_person() else " " * indent + line
