from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import click

from vaultmem.base.own_program import command_to_type
from vaultmem.surfaces.cli import options, screen

if TYPE_CHECKING:
    from vaultmem.upkeep.doctor import Finding
    from vaultmem.vault import Vault

SHOWN: Final = 8

# What each kind of problem is called, the most pressing first.
HEADINGS: Final[Mapping[str, str]] = {
    "other-library": "A library that stands in the way",
    "settings": "Settings that are wrong",
    "obsidian": "Settings of Obsidian that cannot be heeded",
    "unreadable": "Files that cannot be read",
    "no-note": "What is named like a note, and cannot be one",
    "not-indexed": "Notes that cannot be searched",
    "write-gone": "Memories that are gone",
    "history-damaged": "Older texts that are damaged",
    "index-differs": "The index is not what it should be",
    "vector-damaged": "Vectors that are damaged",
    "merge-driver": "Git does not know how to merge notes",
    "conflict-markers": "Merges that were never finished",
    "conflict-copy": "Conflict copies that a sync service made",
    "duplicate-id": "Notes with the same id",
    "malformed-frontmatter": "Properties that cannot be read",
    "unclosed-frontmatter": "Properties without a closing line",
    "duplicate-key": "Properties that stand twice",
    "not-utf8": "Notes that are not UTF-8 text",
    "binary": "Notes that are not text at all",
    "too-long": "Notes that are too long",
    "malformed-canvas": "Canvases that cannot be read",
    "large-canvas": "Canvases that are too large",
    "too-many-tags": "Notes with too many tags",
    "secret": "What looks like a secret",
    "name-clash": "Names that are the same on other systems",
    "unsafe-name": "Names that other systems refuse",
    "symlink": "Links to other places",
    "leftover-file": "Files that were left behind",
    "ambiguous-link": "Links that could mean several notes",
}
_BEHIND: Final = "index-behind"
_NO_READER: Final = "pdf-library"
# What is nothing wrong, and what is said of it behind its number.
INFORMATION: Final[Mapping[str, tuple[str, str]]] = {
    "dead-link": ("link", "to notes that are not there yet: nothing wrong."),
    "unread-pdf": ("PDF", "with text that cannot be read, or cannot be wholly."),
    "outdated-title": (
        "note",
        "named otherwise than the text reads since it was corrected: {rename} NOTE.",
    ),
}


@click.command()
@click.option(
    "--fix", is_flag=True, help="Put right what needs no decision. Notes are not touched."
)
@click.option(
    "--all", "everything", is_flag=True, help="List every problem, not only the first few."
)
@click.option("--secrets", is_flag=True, help="Look for keys, tokens and passwords as well.")
@click.option(
    "--verify", is_flag=True,
    help="Compare what agents wrote with the notes, and the index with a new one.",
)  # fmt: skip
@click.option(
    "--repair",
    is_flag=True,
    help="With --verify: make the index and what else follows from the notes anew.",
)
@options.on_vault
def doctor_command(
    fix: bool,
    everything: bool,
    secrets: bool,
    verify: bool,
    repair: bool,
    call: options.VaultCall,
) -> int:
    """Find what is wrong with the vault, and what to do about it. Looking changes nothing."""
    with call.open_vault(strict=False) as opened:
        with options.progress("Looking through the notes"):
            findings = opened.examine(secrets=secrets)
        if verify or repair:
            findings += _verified_findings(opened)
        if fix or repair:
            with options.progress("Putting right"):
                fixed = opened.fix(findings) if fix else []
                fixed += opened.repair(findings) if repair else []
            findings = [found for found in findings if found not in fixed]
            screen.say_line(f"Fixed {screen.number_on_screen(len(fixed), 'problem')}.")
    call.print_result(findings, lambda it: _print_doctor(it, everything))
    return 1 if any(not found.is_information for found in findings) else 0


def _verified_findings(opened: Vault) -> tuple[Finding, ...]:
    with options.progress("Comparing") as progress:
        done = opened.verify(progress)
    compared = (
        screen.number_on_screen(done.notes, "note"),
        screen.number_on_screen(done.writes, "write"),
        screen.number_on_screen(done.snapshots, "older text"),
        screen.number_on_screen(done.passages, "passage"),
    )
    screen.say_line(f"Compared {', '.join(compared)}.")
    return done.findings


def _print_doctor(findings: Sequence[Finding], everything: bool) -> None:
    wrong = [found for found in findings if not found.is_information]
    for problem, group in _findings_by_problem(wrong).items():
        heading = HEADINGS.get(problem, problem.replace("-", " ").capitalize())
        click.secho(screen.screen_line(f"{heading} ({len(group):,})"), bold=True)
        _print_finding_group(group if everything else group[:SHOWN])
        if len(group) > SHOWN and not everything:
            click.secho(f"  … and {len(group) - SHOWN:,} more; --all lists them", dim=True)
        click.echo()
    if wrong:
        files = screen.number_on_screen(len({found.path for found in wrong}), "file")
        click.secho(f"{screen.number_on_screen(len(wrong), 'problem')} in {files}.", fg="yellow")
    else:
        click.secho("Nothing is wrong.", fg="green")
    for found in [found for found in findings if found.problem == _NO_READER]:
        click.echo(screen.screen_line(f"{found.message} To search them: {found.fix}"))
    for problem, (word, rest) in INFORMATION.items():
        same = [found for found in findings if found.problem == problem]
        if same:
            told = rest.format(rename=command_to_type("rename"))
            what = f"{screen.number_on_screen(len(same), word)} {told}"
            _print_information(same, what, everything)
    _print_behind_findings([found for found in findings if found.problem == _BEHIND], everything)


def _print_information(found: Sequence[Finding], what: str, everything: bool) -> None:
    click.echo(screen.screen_line(what if everything else f"{what} --all lists them."))
    for each in found if everything else ():
        click.secho(screen.screen_line(_finding_with_path(each), 2), dim=True)


def _print_behind_findings(behind: Sequence[Finding], everything: bool) -> None:
    """Notes that changed are nothing wrong: the next look takes them in."""
    if behind:
        number = screen.number_on_screen(len(behind), "note")
        click.echo(
            f"{number} changed since the index was made. Take them in: {command_to_type('index')}"
        )
        for found in behind if everything else ():
            click.secho(screen.screen_line(found.path, 2), dim=True)


def _findings_by_problem(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    groups: dict[str, list[Finding]] = {name: [] for name in HEADINGS}
    for found in findings:
        groups.setdefault(found.problem, []).append(found)
    return {name: group for name, group in groups.items() if group}


def _print_finding_group(group: Sequence[Finding]) -> None:
    """What is to be done is said once where it is the same for all of them."""
    same = len({found.fix for found in group}) == 1
    for found in group:
        click.echo(screen.screen_line(_finding_with_path(found), 2))
        if not same:
            _print_finding_fix(found, 4)
    if same:
        _print_finding_fix(group[0], 2)


def _print_finding_fix(found: Finding, indent: int) -> None:
    click.secho(" " * indent + "→ " + screen.screen_line(found.fix, indent + 2).lstrip(), fg="cyan")


def _finding_with_path(found: Finding) -> str:
    if found.message.startswith(found.path):  # a setting names its line
        return found.message
    return f"{found.path}: {found.message}"
