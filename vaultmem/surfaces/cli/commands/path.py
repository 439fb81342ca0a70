from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from vaultmem.surfaces import render
from vaultmem.surfaces.cli import options, screen

if TYPE_CHECKING:
    from vaultmem.clients.shell_path import ShellPath

_SAID: Final = {
    "there": "Your shell can find this installation already: {}",
    "linked": "{} starts this installation already.",
    "made": "Made {}, which starts this installation.",
    "removed": "Removed {}. The installation itself stays where it is.",
    "absent": "There is no {}. Nothing was changed.",
    "told": "The program is {}.",
}


@click.command()
@click.option("--remove", is_flag=True, help="Take it away again.")
@options.as_json
def path_command(remove: bool, as_json: bool) -> None:
    """Have your shell find vaultmem by its name, wherever it is installed.

    Links this installation into ~/.local/bin, where programs of your own belong. Another
    program of that name there is left alone, and so are your shell's settings: if the folder
    is not searched, the line that has it searched is shown.
    """
    from vaultmem.clients import shell_path

    done = shell_path.remove_from_shell_path() if remove else shell_path.add_to_shell_path()
    if as_json:
        click.echo(render.to_json(done))
    else:
        _say_shell_path(done)


def _say_shell_path(done: ShellPath) -> None:
    known = "linked" if done.done == "there" and done.to_do else done.done
    screen.say_line(_SAID[known].format(screen.one_screen_line(done.program)))
    if done.shadowed_by:
        screen.say_complaint(
            f"Another program of this name is found before it: {done.shadowed_by}", fg="yellow"
        )
    if done.to_do:
        screen.say_line("Its folder is not searched yet. Type this once, then open a new terminal:")
        click.echo(f"  {done.to_do}")
    elif done.done == "made" and not done.shadowed_by:
        screen.say_line("Now this works: vaultmem --help")
