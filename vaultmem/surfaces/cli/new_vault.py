"""A vault that a command may make: at once, after a question, or not at all."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from vaultmem import config
from vaultmem.base.own_program import command_to_type, shell_line
from vaultmem.errors import Away, InvalidInput, NotFound
from vaultmem.surfaces.cli import screen

create_option = click.option(
    "--create", is_flag=True, help="Make the vault if it is not there, without asking."
)


def vault_or_new(named: str | None, *, create: bool, making: bool = True) -> tuple[Path, bool]:
    """The vault as every command finds it, and whether it is to be made. One that was named and
    is not there is made where nothing speaks against it, or the person says so."""
    from vaultmem.upkeep import new_vault

    try:
        root = config.find_vault(named)
    except NotFound:
        root = Path(named or config.named_vault()).expanduser().absolute()
        if root.exists():
            raise InvalidInput(f"{root} is a file; a vault is a folder.") from None
        doubt = new_vault.doubt_about_new_vault(root)
        require_wish(root, f"There is no vault in {root}. {doubt}", bool(doubt) and not create)
        return root, making
    if doubt := new_vault.why_no_vault(root):
        require_wish(root, doubt, not create)
    return root, False


def require_wish(root: Path, doubt: str, asked: bool) -> None:
    """Ask a person at a terminal; elsewhere refuse, and say how to have it all the same."""
    if not asked:
        return
    if sys.stdin.isatty() and sys.stderr.isatty():
        screen.say_complaint(doubt.strip(), fg="yellow")
        click.confirm(f"Use {root} as a vault all the same?", abort=True, err=True)
        return
    made = f"{command_to_type('init')} {shell_line([str(root), '--yes'])}"
    raise NotFound(f"{doubt.strip()} Nothing was made. If you do want a vault there: {made}")


def make_new_vault(root: Path) -> None:
    from vaultmem import vault as service

    service.make_vault(service.plan_vault(str(root), git=False, examples=False), git=False)
    screen.say_line(f"Made a new vault in {screen.one_screen_line(str(root))}")


def require_no_lost_vault(root: Path) -> None:
    """A folder that is empty now, and of which our files elsewhere know notes."""
    from vaultmem.upkeep import new_vault

    if new_vault.was_vault(root):
        raise Away(new_vault.doubt_about_new_vault(root))
