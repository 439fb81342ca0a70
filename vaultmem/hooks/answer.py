"""What memory does about an agent's event, and what it says to the agent."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from vaultmem.hooks.events import decide, event_of
from vaultmem.notes.note import printable
from vaultmem.operations.agent_work.actions import (
    Action,
    Ask,
    CommandEnd,
    End,
    FileChange,
    Inject,
    Log,
    Remember,
    Reply,
    Stopped,
    TodoItem,
    TodoList,
)
from vaultmem.operations.agent_work.journal_keeping import JournalKeeping
from vaultmem.operations.agent_work.payload import Event, last_part, one_line
from vaultmem.operations.context.notebook import Notebook

if TYPE_CHECKING:
    from vaultmem.vault import Vault

_PROMPT: Final = 4_000  # characters of a prompt that are looked at


def to_event(vault: Vault, payload: object, until: float = 0.0) -> dict[str, Any]:
    """What memory says to an event, in the form of the one who asks; empty when nothing. Where
    the model is not open, it may be opened until then, by the monotonic clock."""
    event = event_of(payload)
    if event is None:
        return {}
    said: dict[str, Any] = {}
    event = _where_session_began(vault, event)
    known = _for_event(vault, event)
    writable = not (vault.caller.read_only or vault.settings["read_only"])
    for action in decide(event, vault.settings):
        match action:
            case Inject(prompt):
                said |= _injected(known, event, prompt, until)
            case _ if writable:
                said |= _written(known, event, action)
    if event.generic:
        return {"event": event.name, **said} if said else {}
    if not (context := said.get("context")):
        return {}
    output = {"hookEventName": event.name, "additionalContext": context}
    return {"hookSpecificOutput": output, "suppressOutput": True}


def _where_session_began(vault: Vault, event: Event) -> Event:
    """An agent goes into folders of its project; what it does there belongs to the project."""
    session = event.session or vault.caller.session
    began = Notebook(vault.parts, session).folder if session and event.folder else ""
    inside = began and f"{event.folder}/".startswith(f"{began.rstrip('/')}/")
    return replace(event, folder=began) if inside else event


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


def _injected(vault: Vault, event: Event, prompt: str, until: float) -> dict[str, Any]:
    """What the prompt needs, or what one should know at the start of a session."""
    text = printable(prompt[:_PROMPT]).replace("\0", " ")
    said = vault.reminder(text, event.session, until)
    return {"context": said.context_block} if said.context_block else {}


def _written(vault: Vault, event: Event, action: Action) -> dict[str, Any]:
    session = event.session or vault.caller.session
    match action:
        case Log(kind, text) if session:
            seen = Notebook(vault.parts, session)
            if seen.has_line(text):
                return {}
            seen.add_line(text)
            logged = vault.log(text, session_id=session, type=kind)
            seen.save()
            return {"observation_id": logged.observation_id, "session_id": session}
        case (
            Ask() | Reply() | FileChange() | CommandEnd() | TodoList() | TodoItem() | Stopped()
        ) if session:
            return _journal(vault, session).take(action, event.folder)
        case Remember(text):
            scope = "project" if vault.caller.project or vault.caller.default_project else "user"
            done = vault.remember(
                text, type="episodic", scope=scope, tags=["session-summary"], session_id=session
            )
            return {"memory_id": done.memory_id}
        case End() if session:
            _journal(vault, session).leave()
            return _ended(vault, session)
    return {}


def _journal(vault: Vault, session: str) -> JournalKeeping:
    seen = Notebook(vault.parts, session)
    return JournalKeeping(vault.cleaning, vault.session_work, seen, session)


def _ended(vault: Vault, session: str) -> dict[str, Any]:
    """The settings say whether what was stored for the session alone goes or stays."""
    Notebook(vault.parts, session).remove()
    ended = vault.end_session(session_id=session)
    return {"session_id": session, "summary": ended.summary} if ended.path else {}
