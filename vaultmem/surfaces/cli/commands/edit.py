from __future__ import annotations

import shlex
import signal
import subprocess
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import click
from ulid_transform import ulid_now

from vaultmem import config
from vaultmem.errors import InvalidInput, ReadOnly, VaultmemError
from vaultmem.notes.note import note_bytes
from vaultmem.surfaces.cli import options, screen, tab_completion

if TYPE_CHECKING:
    from vaultmem.base.own_path import OwnPath
    from vaultmem.operations.results import NoteSource, Updated
    from vaultmem.vault import Vault


@click.command()
@click.argument("ref", metavar="ID", shell_complete=tab_completion.titles)
@options.on_vault
def edit_command(ref: str, call: options.VaultCall) -> None:
    """Change a note in your editor ($VISUAL, else $EDITOR).

    The editor works on a copy. When you are done, the note is replaced, unless somebody
    changed it in the meantime: then your text stays in the copy, and you are told where.
    """
    with call.open_vault() as opened:
        if opened.settings["read_only"]:
            raise ReadOnly("This vault is read-only, so notes cannot be changed.")
        source = opened.source(ref, to_change=True)
        copy = _copy_to_edit(opened, source)
        changed = _edit_copy(copy, source)
        done = _save_edited(opened, copy, source) if changed else _unchanged_note(source)
    _clear_edit_copy(copy)
    if not changed:
        screen.say_line("Nothing was changed.")
    if changed or call.as_json:
        call.print_result(done, lambda it: screen.say_done("Saved", it.path, it.memory_id))


def _copy_to_edit(opened: Vault, source: NoteSource) -> OwnPath:
    """A copy beside the index rather than among temporary files, which a restart may clear."""
    edits = config.state_dir(opened.root, opened.settings) / "local" / "edits"
    try:
        copy = edits / ulid_now() / PurePosixPath(source.path).name
        copy.create(note_bytes(source.text))
    except OSError as error:
        raise VaultmemError(f"No copy for the editor could be made: {error.strerror}.") from None
    return copy


def _edit_copy(copy: OwnPath, source: NoteSource) -> bool:
    """Let the person edit the copy; whether its text is another one now."""
    code = _run_editor(copy)
    text = _read_edited_copy(copy, source)
    # Many editors end the last line with a newline, asked or not.
    same = text in (source.text, source.text + "\n")
    if code and not same:
        raise VaultmemError(
            f"The editor failed ({code}); the note is as it was. {_edit_kept_sentence(copy)}"
        )
    if code:
        _clear_edit_copy(copy)
        raise VaultmemError(f"The editor failed ({code}); the note is as it was.")
    return not same


def _run_editor(copy: OwnPath) -> int:
    editor = config.editor_command()
    try:
        process = subprocess.Popen([*shlex.split(editor), str(copy)])
    except (OSError, ValueError) as error:
        _clear_edit_copy(copy)
        why = getattr(error, "strerror", None) or error
        raise InvalidInput(
            f"The editor {editor!r} cannot be started ({why}). Name another one in $EDITOR."
        ) from None
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the editor's
    try:
        return process.wait()
    finally:
        signal.signal(signal.SIGINT, before)


def _read_edited_copy(copy: OwnPath, source: NoteSource) -> str:
    try:
        return copy.read().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise VaultmemError(
            f"The edited copy of {source.path} cannot be read ({error.strerror}); "
            "the note is as it was."
        ) from None


def _save_edited(opened: Vault, copy: OwnPath, source: NoteSource) -> Updated:
    try:
        return opened.rewrite(source.memory_id, _read_edited_copy(copy, source), source.version)
    except VaultmemError as error:
        screen.say_complaint(f"{error.message}\n{_edit_kept_sentence(copy)}")
        raise click.exceptions.Exit(error.exit_code) from None


def _unchanged_note(source: NoteSource) -> Updated:
    from vaultmem.operations.results import Updated

    return Updated(source.memory_id, source.path, (), False, source.version)


def _clear_edit_copy(copy: OwnPath) -> None:
    copy.parent.remove_tree()


def _edit_kept_sentence(copy: OwnPath) -> str:
    return f"Your text is kept in {copy}"
