"""An agent's life-cycle events: what each one means, and what memory should do about it.

Claude Code's events and the generic form (`{"event": …, "payload": {…}}`) are read alike. The
decisions are made from the event and the settings alone; `answer` carries them out.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from vaultmem.hooks import prompt_words

if TYPE_CHECKING:
    from vaultmem.config import Settings

EVENTS: Final = (
    *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure"),
    *("PreCompact", "PostCompact", "Stop", "SubagentStop", "SessionEnd"),
)
_BY_NAME: Final = {name.lower(): name for name in EVENTS}
_SHORT, _LINE, _SUMMARY = 120, 200, 20_000  # characters


@dataclass(frozen=True, slots=True)
class Event:
    name: str
    session: str = ""
    folder: str = ""  # where the agent works
    project: str = ""
    agent: str = ""  # a sub-agent's id
    generic: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)

    def text(self, *names: str) -> str:
        """The first of these fields that holds text."""
        found = (self.details.get(name) for name in names)
        return next((value for value in found if isinstance(value, str) and value.strip()), "")

    def part(self, *names: str) -> Mapping[str, Any]:
        found = (self.details.get(name) for name in names)
        return next((value for value in found if isinstance(value, Mapping)), {})


@dataclass(frozen=True, slots=True)
class Inject:
    """Put memories before the agent: at the start, or those that a prompt is about."""

    prompt: str = ""


@dataclass(frozen=True, slots=True)
class Log:
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Remember:
    text: str


@dataclass(frozen=True, slots=True)
class End:
    pass


Action = Inject | Log | Remember | End


# --- understanding ---------------------------------------------------------------------------


def event_of(payload: object) -> Event | None:
    """The event in a payload; None for what is none, or none we know."""
    if not isinstance(payload, Mapping):
        return None
    inner = payload.get("payload")
    details = {**payload, **inner} if isinstance(inner, Mapping) else dict(payload)
    given = Event("", details=details)
    named = given.text("hook_event_name", "event", "hookEventName", "event_name", "eventName")
    name = _BY_NAME.get(re.sub(r"[^a-z]", "", named.lower()))
    if name is None:
        return None
    return Event(
        name=name,
        session=one_line(given.text("session_id", "sessionId", "session"), 200),
        folder=given.text("cwd", "project_path", "projectPath", "workspace", "project_dir"),
        project=one_line(last_part(given.text("project", "project_name", "projectName")), 100),
        agent=one_line(given.text("agent_id", "agentId"), 200),
        generic="hook_event_name" not in payload,
        details=details,
    )


def decide(event: Event, settings: Settings) -> Iterator[Action]:
    """What to do about an event; nothing, for most of them."""
    kept, inject = settings["hooks.keep"], settings["hooks.inject"]
    if (event.agent or event.name == "SubagentStop") and not settings["hooks.subagents"]:
        return
    match event.name:
        case "SessionStart":
            # A session that is resumed has in its transcript what it was told before.
            if "start" in inject and event.text("source") not in ("resume", "fork"):
                yield Inject()
        case "UserPromptSubmit":
            prompt = event.text("prompt", "user_prompt", "userPrompt", "text", "content", "message")
            asked = "prompt" in inject and event.text("source") != "system"
            if asked and prompt_words.content_words(prompt):
                yield Inject(prompt)
            if prompt and "prompt" in kept:
                yield Log("prompt", f"Asked: {one_line(prompt, _LINE)}")
        case "PostToolUse" | "PostToolUseFailure":
            kind, log = _seen(event)
            if log and kind in kept:
                yield log
        case "PostCompact":
            summary = _plain_summary(event.text("compact_summary", "summary"))
            if summary and "compact" in kept:
                yield Remember(summary)
        case "Stop" | "SubagentStop":
            said = event.text("last_assistant_message", "message")
            if said and "answer" in kept and not event.details.get("stop_hook_active"):
                yield Log("answer", f"Answered: {one_line(said, _LINE)}")
        case "SessionEnd":
            yield End()


# --- tools -----------------------------------------------------------------------------------

_TOOLS: Final = {
    "edit": "edit write multiedit notebookedit applypatch createfile writefile editfile replace "
    "strreplace strreplaceeditor strreplacebasededittool searchreplace insert",
    "command": "bash shell powershell runcommand runshellcommand execute executecommand terminal "
    "runterminalcmd runinterminal execcommand",
    "read": "read readfile view viewfile notebookread cat",
    "search": "grep glob ls search listdir listdirectory codebasesearch searchcodebase toolsearch",
    "web": "webfetch websearch fetch",
}
_FAMILY: Final = {name: family for family, names in _TOOLS.items() for name in names.split()}
_OF_MEMORY: Final = re.compile(r"vaultmem|memor|trae_mem|session|observation", re.IGNORECASE)
_EXIT: Final = re.compile(r"\bexit(?:ed with)?(?: code| status)?:? (\d{1,5})\b", re.IGNORECASE)
_COMPLAINT: Final = re.compile(
    r"error|fail|fatal|panic|denied|refused|cannot|can't|could not|no such|not found|missing"
    r"|invalid|unknown|exception|timed? ?out|assert|abort|killed|unable",
    re.IGNORECASE,
)


def _seen(event: Event) -> tuple[str, Log | None]:
    """What a tool did, in one line that holds no file's contents."""
    name = event.text("tool_name", "toolName", "tool")
    given = event.part("tool_input", "toolInput", "input", "arguments")
    family = _FAMILY.get(re.sub(r"[^a-z]", "", name.lower()), "tool")
    if not name or (family == "tool" and _OF_MEMORY.search(name)):
        return "", None
    if why := _failure(event):
        return ("failure", _failed(given, why)) if family == "command" else ("", None)
    what = _path(given, event.folder)
    match family:
        case "edit":
            verb = "Wrote" if "write" in name.lower() or "create" in name.lower() else "Edited"
            return family, Log("change", f"{verb} {what}") if what else None
        case "command":
            command = _first_line(_text_in(given, "command", "cmd"))
            return family, Log("command", f"Ran `{command}`") if command else None
        case "read":
            return family, Log("read", f"Read {what}") if what else None
        case "search" | "web":
            sought = one_line(_text_in(given, "pattern", "query", "url", "path"), _SHORT)
            return family, Log(family, f"Looked for {sought}") if sought else None
    return family, Log("tool", f"Used {one_line(name, _SHORT)}")


def _failure(event: Event) -> str:
    """Why a tool failed; empty when it did not, or when a person stopped it."""
    response = event.part("tool_response", "toolResponse", "tool_output", "output", "result")
    if event.details.get("is_interrupt") or response.get("interrupted"):
        return ""
    said = _text_in(response, "stderr", "error", "stdout", "output", "content")
    said = event.text("error") or said
    codes = (response.get(name) for name in ("exit_code", "exitCode", "returncode", "returnCode"))
    code = next((c for c in codes if isinstance(c, int)), 0)
    if code:
        return f"exit code {code}\n{said}"
    wrong = response.get("is_error") or response.get("isError") or response.get("success") is False
    return said or "it failed" if wrong or event.name == "PostToolUseFailure" else ""


def _failed(given: Mapping[str, Any], why: str) -> Log | None:
    command = _first_line(_text_in(given, "command", "cmd"))
    if not command:
        return None
    why = why if len(why) <= 20_000 else f"{why[:1_000]}\n{why[-19_000:]}"
    code = _EXIT.search(why)
    lines = [
        line for line in why.splitlines() if line.strip() and not _EXIT.fullmatch(line.strip())
    ]
    told = [f"exit code {code[1]}"] if code else []
    if lines and _COMPLAINT.search(lines[-1]):  # what is no complaint may be a file's own line
        told.append(one_line(lines[-1], _LINE))
    return Log("failure", f"`{command}` failed" + (f": {', '.join(told)}" if told else ""))


def _path(given: Mapping[str, Any], folder: str) -> str:
    path = _text_in(given, "file_path", "filePath", "path", "notebook_path", "target_file")
    path, folder = path.replace("\\", "/"), folder.replace("\\", "/").rstrip("/")
    inside = folder and path.startswith(folder + "/")
    return one_line(path[len(folder) + 1 :] if inside else path, _LINE)


def _text_in(given: Mapping[str, Any], *names: str) -> str:
    return Event("", details=given).text(*names)


def _first_line(text: str) -> str:
    return one_line(text.strip().partition("\n")[0].replace("`", "'"), _SHORT)


def one_line(text: str, most: int) -> str:
    """On one line, without what a terminal or a note takes for something else."""
    plain = re.sub(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+", " ", text[: 8 * most])
    plain = " ".join(plain.split())
    return plain if len(plain) <= most else plain[: most - 2].rstrip() + " …"


def last_part(path: str) -> str:
    return posixpath.basename(path.replace("\\", "/").rstrip("/"))


def _plain_summary(text: str) -> str:
    """What a client says about a session it made shorter, without its thoughts on the way."""
    before, _, thoughts = text[: 8 * _SUMMARY].partition("<analysis>")
    text = before + (thoughts.partition("</analysis>")[2] or thoughts)
    text = re.sub(r"</?summary>|[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]", "", text).strip()
    return text if len(text) <= _SUMMARY else text[:_SUMMARY].rpartition("\n")[0] + "\n…"
