"""What memory does about an agent's event, and what it says to the agent."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from vaultmem.base import small_files
from vaultmem.errors import VaultmemError
from vaultmem.hooks import reminders
from vaultmem.hooks.events import (
    Action,
    End,
    Event,
    Inject,
    Log,
    Remember,
    decide,
    event_of,
    last_part,
    one_line,
)
from vaultmem.notes.file_names import safe_name
from vaultmem.storage.session_folders import HOOKS_FOLDER

if TYPE_CHECKING:
    from vaultmem.vault import Vault

# What clients call a session by: no secret looks so, and nothing has to be loaded to know it.
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def to_event(vault: Vault, payload: object) -> dict[str, Any]:
    """What memory says to an event, in the form of the one who asks; empty when nothing."""
    event = event_of(payload)
    if event is None:
        return {}
    said: dict[str, Any] = {}
    known = _for_event(vault, event)
    for action in decide(event, vault.settings):
        match action:
            case Inject(prompt):
                said |= _injected(known, event, prompt)
            case _:
                said |= _written(known, event, action)
    if event.generic:
        return {"event": event.name, **said} if said else {}
    if not (context := said.get("context")):
        return {}
    output = {"hookEventName": event.name, "additionalContext": context}
    return {"hookSpecificOutput": output, "suppressOutput": True}


def _for_event(vault: Vault, event: Event) -> Vault:
    caller = vault.caller
    inside = event.folder.rstrip("/\\") == str(vault.root)
    folder = "" if inside else one_line(last_part(event.folder), 100)
    return vault.for_caller(
        replace(
            caller,
            session=caller.session or event.session,
            default_project=event.project or caller.default_project or folder,
            client=caller.client or ("" if event.generic else "claude-code"),
        )
    )


def _injected(vault: Vault, event: Event, prompt: str) -> dict[str, Any]:
    shown = _Notebook(vault, event.session)
    if prompt:
        text, ids = reminders.for_prompt(vault, prompt, frozenset(shown.memories))
    else:
        text, ids = reminders.at_start(vault, vault.caller.project or vault.caller.default_project)
        shown.forget_old()
    shown.memories = [*shown.memories, *ids] if prompt else list(ids)
    shown.save()
    return {"context": text} if text else {}


def _written(vault: Vault, event: Event, action: Action) -> dict[str, Any]:
    session = event.session or vault.caller.session
    match action:
        case Log(kind, text) if session:
            seen = _Notebook(vault, session)
            if (mark := _mark(text)) in seen.lines:
                return {}
            seen.lines.append(mark)
            logged = vault.log(text, session_id=session, type=kind)
            seen.save()
            return {"observation_id": logged.observation_id, "session_id": session}
        case Remember(text):
            scope = "project" if vault.caller.project or vault.caller.default_project else "user"
            done = vault.remember(
                text, type="episodic", scope=scope, tags=["session-summary"], session_id=session
            )
            return {"memory_id": done.memory_id}
        case End() if session:
            return _ended(vault, session)
    return {}


def _ended(vault: Vault, session: str) -> dict[str, Any]:
    """The settings say whether what was stored for the session alone goes or stays."""
    _Notebook(vault, session).remove()
    ended = vault.end_session(session_id=session)
    return {"session_id": session, "summary": ended.summary} if ended.path else {}


def _mark(text: str) -> str:
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=8).hexdigest()


def _file_name(vault: Vault, session: str) -> str:
    if _UUID.fullmatch(session) and not vault.settings["privacy.patterns"]:
        return session
    from vaultmem.notes.masking import without_private

    session = without_private(session)
    if vault.settings["privacy.redact"]:
        from vaultmem.base import redaction

        session = redaction.redacted(session, vault.settings["privacy.patterns"])[0]
    return safe_name(session)


class _Notebook:
    """What a session was shown and what was logged of it, so that nothing is said twice.

    This machine's own state: losing it costs a repetition.
    """

    def __init__(self, vault: Vault, session: str) -> None:
        self.memories: list[str] = []
        self.lines: list[str] = []  # their marks: the texts may hold what must not be kept
        self._folder = vault.parts.store.local() / HOOKS_FOLDER
        self._file = self._folder / f"{_file_name(vault, session)}.json" if session else None
        with contextlib.suppress(OSError, VaultmemError, ValueError, AttributeError, TypeError):
            if self._file:
                data = small_files.parse_json(self._file.read(small_files.MOST_BYTES))
                self.memories = [str(item) for item in data.get("memories", [])]
                self.lines = [str(item) for item in data.get("lines", [])]

    def save(self) -> None:
        if self._file is None or not (self.memories or self.lines):
            return
        kept = {"memories": self.memories[-500:], "lines": self.lines[-500:]}
        with contextlib.suppress(OSError, VaultmemError):
            self._file.write(json.dumps(kept).encode())

    def remove(self) -> None:
        with contextlib.suppress(OSError, VaultmemError):
            if self._file:
                self._file.remove()

    def forget_old(self) -> None:
        """Sessions that never ended leave their file behind."""
        import time

        long_ago = time.time() - 30 * 86_400
        with contextlib.suppress(OSError, VaultmemError):
            for file in self._folder.files():
                if file.stat.st_mtime < long_ago and file.name.endswith(".json"):
                    (self._folder / file.name).remove()
