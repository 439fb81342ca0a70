from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from vaultmem.surfaces.cli import options, screen
from vaultmem.surfaces.cli.text_input import TextCommand, text_from

if TYPE_CHECKING:
    from vaultmem.operations.results import Remembered


@click.command(cls=TextCommand)
@click.argument("words", metavar="TEXT…", nargs=-1)
@options.note_option(
    "--type", default="semantic", show_default=True, help="semantic, episodic or procedural."
)
@options.note_option(
    "--scope", help="user, project or session.  [default: user, project with --project]"
)
@options.note_option("--project", help="The project it belongs to.")
@options.note_option("--tag", "tags", help="May be given several times.")
@click.option("--importance", type=float, metavar="0..1", help="How much it matters.")
@click.option("--title", help="The note's name; else its first words.")
@click.option("--key", help="Your own name for it: adding again under it changes the same note.")
@click.option("--session", "session_id", metavar="S", help="The session it belongs to.")
@click.option("--source", help="Where it comes from: a page, a person, a tool.")
@options.on_vault
def add_command(
    words: tuple[str, ...],
    scope: str | None,
    project: str | None,
    call: options.VaultCall,
    **details: Any,
) -> None:
    """Remember something. The text is what follows, or standard input.

    \b
    vaultmem add Refresh tokens rotate every 24 hours --tag auth
    git log -1 --format=%B | vaultmem add --type episodic --project Atlas
    """
    content = text_from(words, "remember")
    details |= {"scope": scope or ("project" if project else "user"), "project": project}
    call.ask_vault(lambda vault: vault.remember(content, **details), _print_add)


_DONE: Final = {
    "created": "Remembered",
    "updated": "Updated",
    "known": "Known already",
    "revived": "Remembered again",
}


def _print_add(done: Remembered) -> None:
    screen.say_done(_DONE[done.status], done.path, done.memory_id)
    screen.print_warnings(done.warnings)
    if done.similar:
        screen.say_line("You may know this already:" if done.created else "Similar:")
        for other in done.similar:
            screen.say_line(
                f"  {other.relevance_score:.2f}  {screen.one_screen_line(other.path)}", dim=True
            )
