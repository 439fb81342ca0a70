from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vaultmem.surfaces.cli import changes, options, screen, tab_completion
from vaultmem.surfaces.cli.text_input import TextCommand, text_from

if TYPE_CHECKING:
    from vaultmem.operations.edits.note_edits import NoteTasks


@click.command(cls=TextCommand)
@click.argument("note", shell_complete=tab_completion.titles)
@click.argument("words", metavar="[TEXT…]", nargs=-1)
@options.done
@options.section
@options.on_vault
def task_command(
    note: str,
    words: tuple[str, ...],
    done: bool | None,
    section: str | None,
    call: options.VaultCall,
) -> None:
    """Add a task to a note, or check one; without TEXT list the note's tasks.

    \b
    vaultmem task "Moving house" Call the landlord
    vaultmem task "Moving house" landlord --done

    A task to check is named by its text or a part of it. Where several could be meant they are
    named, and nothing changes. A mark of your own, such as [/] or [-], is kept unless you name
    the task with it: vaultmem task NOTE "[/] landlord" --done
    """
    if not words and done is None:
        call.ask_vault(lambda vault: vault.tasks(note, section=section), _print_tasks)
        return
    text = text_from(words, "do")
    changes.change_task(call, note, text, done=done, section=section)


def _print_tasks(found: NoteTasks) -> None:
    if not found.tasks:
        screen.say_line(f"There are no tasks in {screen.one_screen_line(found.path)}.")
        raise click.exceptions.Exit(1)
    screen.print_table([(f"[{task.mark}]", task.text) for task in found.tasks])
