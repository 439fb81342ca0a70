"""What a write by vaultmem was, as this machine's log of what happened keeps it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from vaultmem import config
from vaultmem.indexing.changed_words import (
    changed_words,
    note_owner,
    readable_entry,
    readable_lines,
)
from vaultmem.notes.masking import without_private
from vaultmem.notes.note import Note, note_title, printable
from vaultmem.storage.local_state.activity import NoteEvent, SeenText

if TYPE_CHECKING:
    from vaultmem.operations.view import View

DEEDS: Final = {  # what is done, in the words of the writers: what it is called afterwards
    "add": "stored",
    "forget": "forgotten",
    "restore": "restored",
    "tag": "tagged",
    "promote": "promoted",
    "remove": "trashed",
    "prune": "pruned",
    "log": "logged",
    "end-session": "summarised",
    "assert": "fact",
    "resolve": "resolved",
}
_LONGEST_NAME: Final = 200
_AGENT_AROUND: Final = "claude-code"  # the program that says in the environment that it is there


def put_down_write(
    view: View,
    path: str,
    version: str,
    action: str,
    id: str,
    before: Note | None,
    after: Note | None,
    added: str = "",
    grown: Note | None = None,
) -> None:
    settings = view.settings
    new, body_at = readable_lines(after) if after is not None else ([], 0)
    if added:
        changes = changed_words([], [readable_entry(added)], settings)
    elif before is None:
        changes = changed_words([], new[body_at:], settings)
    else:
        old = readable_lines(before)[0]
        changes = changed_words(old, new, settings) if version else ()
    owners = [note_owner(note, settings) for note in (before, after, grown) if note]
    event = NoteEvent(
        at=time.time(),
        what=_deed(action, before, after),
        path=path,
        title=note_title(path),
        client=_plain_name(view.caller.client)
        or (_AGENT_AROUND if config.surroundings().session else ""),
        id=id,
        session=_plain_name(view.caller.session),
        version=version,
        owners=tuple(owners[:1] if owners[1:] == owners[:1] else owners),
        changes=changes,
    )
    now = None
    if after is not None and version:
        stamp = {"updated": after.string("updated")} if after.key_of("updated") else {}
        now = SeenText(path, version, new, {**owners[-1], **stamp})
    view.parts.activity.record(event, now)


def _plain_name(given: str) -> str:
    """What a program calls itself or its session may be anything, also private."""
    return " ".join(printable(without_private(given)).split())[:_LONGEST_NAME]


def _deed(action: str, before: Note | None, after: Note | None) -> str:
    """A deed is known by what it did: whoever edits a note may forget or replace it thereby."""
    if after is None or action == "restore":
        return DEEDS.get(action, "changed")
    was_forgotten = before is not None and before.flag("forgotten")
    if after.flag("forgotten") and not was_forgotten:
        return "forgotten"
    if was_forgotten and not after.flag("forgotten"):
        return "restored"
    if after.get("superseded_by") and not (before and before.get("superseded_by")):
        return "superseded"
    if action == "add" and after.string("type") == "session":
        return "started"
    if action == "add" and after.get("derived_from"):
        return "merged"
    return DEEDS.get(action, "changed")
