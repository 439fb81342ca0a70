from __future__ import annotations

from collections import defaultdict

import click

from vaultmem.doctor import Finding
from vaultmem.note import printable
from vaultmem.service import Vault
from vaultmem.surfaces import render
from vaultmem.surfaces.cli import options

SHOWN = 8


@click.command()
@click.option(
    "--fix", is_flag=True, help="Put right what needs no decision. Notes are not touched."
)
@click.option(
    "--all", "everything", is_flag=True, help="List every problem, not only the first few."
)
@options.vault
@options.as_json
def command(fix: bool, everything: bool, vault: str | None, as_json: bool) -> int:
    """Find what is wrong with the vault, and what to do about it. Looking changes nothing."""
    service = Vault.open(vault, strict=False)
    findings = service.examine()
    if fix:
        fixed = service.fix(findings)
        findings = [found for found in findings if found not in fixed]
        click.echo(f"Fixed {len(fixed)}.", err=True)
    if as_json:
        click.echo(render.to_json([render.finding(found) for found in findings]))
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
            click.echo(f"  {printable(found.path)}: {printable(found.message)}")
            click.secho(f"    {printable(found.fix)}", dim=True)
        if len(group) > SHOWN and not everything:
            click.secho(f"  … and {len(group) - SHOWN} more (--all lists them)", dim=True)
    files = len({found.path for found in findings})
    click.echo(f"{_count(len(findings), 'problem')} in {_count(files, 'file')}.")


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
