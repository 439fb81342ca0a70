"""Every event of an agent as a line of its session's journal, for who wants to read all that
happened: what a tool was about to do, what it did, and how that ended.

What is told in other words than ours is understood; what says too little is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from vaultmem.errors import InvalidInput
from vaultmem.hooks import answer
from vaultmem.hooks.events import event_of
from vaultmem.operations.agent_work import telling_line
from vaultmem.operations.agent_work.payload import Event, last_part, one_line, text_in
from vaultmem.operations.context.notebook import Notebook

if TYPE_CHECKING:
    from vaultmem.vault import Vault

RECORDED: Final = (
    *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse"),
    *("Stop", "SessionEnd"),
)
_FAILURE: Final = "posttoolusefailure"
_NAMES: Final = {
    "session_id": ("session_id", "sessionId", "session", "conversation_id", "conversationId"),
    "cwd": (
        *("cwd", "working_directory", "workingDirectory", "project_path", "projectPath"),
        *("project_dir", "workspace", "workspace_path", "workspacePath", "folder"),
    ),
    "tool_name": ("tool_name", "toolName", "tool", "name"),
    "tool_input": ("tool_input", "toolInput", "input", "arguments", "args", "params", "parameters"),
    "tool_response": (
        *("tool_response", "toolResponse", "tool_output", "toolOutput", "tool_result"),
        *("toolResult", "response", "output", "result"),
    ),
    "prompt": ("prompt", "user_prompt", "userPrompt", "text", "content", "message", "query"),
    "last_assistant_message": (
        *("last_assistant_message", "lastAssistantMessage", "message", "answer"),
        *("response", "text", "content", "output"),
    ),
}
_NEEDS: Final = {
    "UserPromptSubmit": "prompt",
    "PreToolUse": "tool_name",
    "PostToolUse": "tool_name",
}
_OF_EVENT: Final = {
    "UserPromptSubmit": ("prompt",),
    "PreToolUse": ("tool_name", "tool_input"),
    "PostToolUse": ("tool_name", "tool_input", "tool_response"),
    "Stop": ("last_assistant_message",),
}
# Of what a tool is given, what says what it is about; never a file's contents.
_TELLING: Final = (
    *("file_path", "filePath", "path", "target_file", "notebook_path", "command", "cmd"),
    *("pattern", "query", "url", "description", "prompt", "name"),
)
_LINE, _PART = 200, 160  # characters
_TOOL_LINE: Final = re.compile(r"`([^`]+)`(?: |$)")


def record_event(vault: Vault, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Keep an event; returns what memory says to it, and where its line stands."""
    event = _recorded_event(vault, name, given)
    known = vault.for_caller(
        replace(vault.caller, default_project=event.project or last_part(event.folder))
    )
    said: dict[str, Any] = {}
    if event.name not in ("PreToolUse", "PostToolUse"):
        said = answer.to_event(vault, {"event": event.name, "payload": dict(event.details)})
    if event.name == "SessionEnd" and not said.get("session_id"):
        said |= {"session_id": event.session, "summary": ""}
    if "observation_id" not in said and (line := _line_of_event(vault, event)):
        kind, text = line
        logged = known.log(text, session_id=event.session, type=kind)
        said |= {"observation_id": logged.observation_id, "session_id": logged.session_id}
    return said


def understood_event(name: str, payload: object) -> tuple[str, object]:
    """The event that is meant, however its name is written; as it is where none is. A payload may
    come as JSON text."""
    if isinstance(payload, str):
        payload = _object_in_text(payload)
    plain = re.sub(r"[^a-z]", "", name.lower())
    if plain == _FAILURE and isinstance(payload, Mapping):
        return "PostToolUse", {"success": False, **payload}
    return {each.lower(): each for each in RECORDED}.get(plain, name), payload


def tool_of_line(kind: str, text: str) -> str | None:
    """The tool that a line of the journal is about."""
    found = _TOOL_LINE.match(text) if kind in ("tool", "pretool") else None
    return found[1] if found else None


# --- understanding ---------------------------------------------------------------------------


def _recorded_event(vault: Vault, name: str, given: Mapping[str, Any]) -> Event:
    inner = given.get("payload") or given.get("data")
    payload = {**given, **inner} if isinstance(inner, Mapping) else given
    named = {"session_id", "cwd", *_OF_EVENT.get(name, ())}
    details = dict(payload)
    for field in named:
        for other in _NAMES[field]:
            if _says_something(payload.get(other)):
                details[field] = payload[other]
                break
    if isinstance(written := details.get("tool_input"), str):
        found = _object_in_text(written)
        details["tool_input"] = found if isinstance(found, Mapping) else {"command": written}
    need = _NEEDS.get(name)
    if need and not text_in(details, need):
        there = ", ".join(sorted(map(str, payload)))[:_LINE] or "nothing"
        raise InvalidInput(
            f"{name} says {need} in its payload (or {', '.join(_NAMES[need][1:])}); this one has "
            f"{there}, so it was not kept."
        )
    session = one_line(text_in(details, "session_id"), 200) or vault.caller.session
    details["session_id"] = session
    return _in_its_folder(vault, replace(_event(name, details), session=session, details=details))


def _event(name: str, details: Mapping[str, Any]) -> Event:
    event = event_of({"event": name, "payload": details})
    assert event is not None  # the name is one of ours
    return event


def _object_in_text(text: str) -> object:
    """What JSON text stands for; the text itself where it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _says_something(value: object) -> bool:
    return bool(value.strip()) if isinstance(value, str) else value not in (None, {}, [])


def _in_its_folder(vault: Vault, event: Event) -> Event:
    """Where the session began holds for all of it, whoever leaves it out later."""
    seen = Notebook(vault.parts, event.session)
    if event.folder and not seen.folder and not vault.caller.read_only:
        seen.folder = vault.cleaning.cleaned_line(event.folder, 1_000)
        seen.save()
    began = seen.folder
    inside = began and f"{event.folder}/".startswith(f"{began.rstrip('/')}/")
    if not began or (event.folder and not inside):
        return event
    return replace(event, folder=began, details={**event.details, "cwd": began})


# --- as lines --------------------------------------------------------------------------------


def _line_of_event(vault: Vault, event: Event) -> tuple[str, str] | None:
    """What a line says, and of which kind; none of what the settings leave out."""
    kept = vault.settings["hooks.keep"]
    match event.name:
        case "SessionStart":
            where = f" in {event.folder}" if event.folder else ""
            how = text_in(event.details, "source", "reason")
            return "start", f"The session began{where}" + (f" ({one_line(how, 40)})" if how else "")
        case "UserPromptSubmit" if "prompt" in kept:
            return "prompt", f"Asked: {one_line(text_in(event.details, 'prompt'), _LINE)}"
        case "PreToolUse" if "tool" in kept:
            return "pretool", _tool_line(event)
        case "PostToolUse" if "tool" in kept:
            return "tool", f"{_tool_line(event)} → {_outcome(event)}"
        case "Stop" if "answer" in kept:
            said = one_line(event.answer, _LINE)
            return "answer", f"Answered: {said}" if said else "The agent stopped."
    return None


def _tool_line(event: Event) -> str:
    name = one_line(text_in(event.details, "tool_name"), 60).replace("`", "'")
    given = event.part("tool_input")
    about = text_in(given, *_TELLING) or _first_text(given)
    folder = event.folder.replace("\\", "/").rstrip("/")
    about = one_line(about, _PART).replace("\\", "/")
    inside = folder and about.startswith(f"{folder}/")
    return " ".join(filter(None, (f"`{name}`", about[len(folder) + 1 :] if inside else about)))


def _first_text(given: Mapping[str, Any]) -> str:
    """Of other arguments the short ones: long ones are contents."""
    texts = (f"{n}={v}" for n, v in given.items() if isinstance(v, (str, int, float)))
    return ", ".join(text for text in texts if len(text) <= _PART)


def _outcome(event: Event) -> str:
    response = event.part("tool_response")
    output = text_in(response, "error", "stderr", "stdout", "output", "content", "message", "text")
    output = text_in(event.details, "error") or output or text_in(event.details, "tool_response")
    codes = (holder.get(name) for holder in (response, event.details) for name in _CODES)
    code = next((c for c in codes if isinstance(c, int) and not isinstance(c, bool)), 0)
    if code or _went_wrong(response) or _went_wrong(event.details):
        told = telling_line.telling_failure(output) or one_line(output, _LINE)
        return ": ".join(filter(None, ("failed", f"exit code {code}" if code else "", told)))
    told = telling_line.telling_result(output)
    return f"ok: {told}" if told else "ok"


_CODES: Final = ("exit_code", "exitCode", "returncode", "returnCode")


def _went_wrong(said: Mapping[str, Any]) -> bool:
    if said.get("success") is False or said.get("ok") is False:
        return True
    status = str(said.get("status") or "").lower()
    wrong = said.get("is_error") or said.get("isError") or said.get("error")
    return bool(wrong) or status in ("error", "failed", "failure")
