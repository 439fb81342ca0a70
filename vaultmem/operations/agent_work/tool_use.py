"""What an agent did with a tool, as far as it is worth a line: never a file's contents."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from vaultmem.operations.agent_work.actions import (
    Action,
    CommandEnd,
    FileChange,
    Log,
    TodoItem,
    TodoList,
)
from vaultmem.operations.agent_work.payload import Event, one_line, text_in

_SHORT, _LINE = 120, 200  # characters
_MOST_PRIVATE: Final = 200_000  # of a text with private passages; of a longer one nothing is told
_MOST_ITEMS: Final = 100
_ITEM: Final = 400

_TOOLS: Final = {
    "edit": "edit write multiedit notebookedit applypatch createfile writefile editfile replace "
    "strreplace strreplaceeditor strreplacebasededittool searchreplace insert",
    "command": "bash shell powershell runcommand runshellcommand execute executecommand terminal "
    "runterminalcmd runinterminal execcommand",
    "read": "read readfile view viewfile notebookread cat",
    "search": "grep glob ls search listdir listdirectory codebasesearch searchcodebase toolsearch",
    "web": "webfetch websearch fetch",
    "plan": "todowrite writetodos updateplan taskcreate taskupdate",
}
_FAMILY: Final = {name: family for family, names in _TOOLS.items() for name in names.split()}
_OF_MEMORY: Final = re.compile(r"vaultmem|memor|trae_mem|session|observation", re.IGNORECASE)
# What is written there is gone tomorrow, or is the client's own.
_PASSING: Final = re.compile(r"(?:/private)?(?:/var)?/tmp/|.*/\.claude/(?:plans|projects|todos)/")
_DONE: Final = ("completed", "done", "cancelled", "canceled", "deleted")


def tool_action(event: Event, kept: Collection[str]) -> Action | None:
    """What is kept of it; None for most."""
    name = event.text("tool_name", "toolName", "tool")
    given = event.part("tool_input", "toolInput", "input", "arguments")
    plain_name = re.sub(r"[^a-z]", "", name.lower())
    family = _FAMILY.get(plain_name, "tool")
    if not name or (family == "tool" and _OF_MEMORY.search(name)):
        return None
    if family == "command":
        return _command(event, given, kept)
    if _failed_tool(event) or (family == "plan" and "open" not in kept):
        return None
    if family == "plan":
        return _planned(event, given, plain_name)
    if family not in kept:
        return None
    if family == "edit":
        return _change(event, given, name)
    if family == "read":
        what = _path(given, event.folder)
        return Log("read", f"Read {what}") if what else None
    if family in ("search", "web"):
        sought = one_line(text_in(given, "pattern", "query", "url", "path"), _SHORT)
        return Log(family, f"Looked for {sought}") if sought else None
    return Log("tool", f"Used {one_line(name, _SHORT)}")


# --- files -------------------------------------------------------------------------------------


def _change(event: Event, given: Mapping[str, Any], name: str) -> FileChange | None:
    path = _path(given, event.folder)
    if not path or _PASSING.match(path):
        return None
    response = _response(event)
    updated = response.get("type") == "update"
    return FileChange(
        path, new=not updated and ("write" in name.lower() or "create" in name.lower())
    )


def _path(given: Mapping[str, Any], folder: str) -> str:
    path = text_in(given, "file_path", "filePath", "path", "notebook_path", "target_file")
    path, folder = path.replace("\\", "/"), folder.replace("\\", "/").rstrip("/")
    path = posixpath.normpath(path) if "/../" in path else path
    inside = folder and path.startswith(folder + "/")
    return one_line(path[len(folder) + 1 :] if inside else path, _LINE)


# --- commands ----------------------------------------------------------------------------------


def _command(event: Event, given: Mapping[str, Any], kept: Collection[str]) -> Action | None:
    """A command whose output says that it failed did, whatever the code is that a pipe left."""
    from vaultmem.operations.agent_work import telling_line
    from vaultmem.operations.agent_work.commands import understand_command

    response = _response(event)
    written = _public(text_in(given, "command", "cmd") or _joined(given))
    if not written or event.details.get("is_interrupt") or response.get("interrupted"):
        return None
    command = understand_command(written)
    why = "" if command.only_looks or not command.text else _failure(event)
    output = why or _public(_output(event, response))
    telling = command.kind in ("test", "check", "build") and not response.get("backgroundTaskId")
    if why or (telling and telling_line.went_wrong(output)):
        if "failure" not in kept:
            return None
        code = telling_line.exit_code(why)
        line = telling_line.telling_failure(output)
        told = ", ".join(filter(None, (f"exit code {code}" if code else "", line)))
        return CommandEnd(command.text, True, told, command.kind or "command")
    if "command" in kept and not ("outcome" in kept and command.kind):
        shown = one_line(written.strip().partition("\n")[0].replace("`", "'"), _SHORT)
        return Log("command", f"Ran `{shown}`")
    if (
        command.only_looks
        or response.get("backgroundTaskId")
        or not {"failure", "outcome"} & {*kept}
    ):
        return None
    worth = bool(command.kind) and "outcome" in kept
    told = telling_line.telling_result(output)
    return CommandEnd(command.text, False, told, command.kind or "command", telling=worth)


def _response(event: Event) -> Mapping[str, Any]:
    return event.part("tool_response", "toolResponse", "tool_output", "output", "result")


def _output(event: Event, response: Mapping[str, Any]) -> str:
    said = [text_in(response, name) for name in ("stdout", "stderr")]
    said = [text for text in said if text] or [text_in(response, "error", "output", "content")]
    return "\n".join(said) or event.text("tool_response", "toolResponse", "tool_output", "output")


def _failed_tool(event: Event) -> bool:
    response = _response(event)
    wrong = response.get("is_error") or response.get("isError") or response.get("success") is False
    return bool(wrong or event.name == "PostToolUseFailure" or event.details.get("is_interrupt"))


def _failure(event: Event) -> str:
    """The code and the output of a command that failed; empty when it did not."""
    response = _response(event)
    said = _public(event.text("error") or _output(event, response))
    codes = (response.get(name) for name in ("exit_code", "exitCode", "returncode", "returnCode"))
    code = next((c for c in codes if isinstance(c, int) and not isinstance(c, bool)), 0)
    if code:
        return f"exit code {code}\n{said}"
    return said or "it failed" if _failed_tool(event) else ""


def _joined(given: Mapping[str, Any]) -> str:
    """A command that is given as a list of words."""
    words = given.get("command") or given.get("cmd")
    named = [word for word in words if isinstance(word, str)] if isinstance(words, list) else []
    if len(named) > 2 and named[1] in ("-c", "-lc"):  # ["bash", "-lc", "pytest -q"]
        return named[2]
    return " ".join(named)


def _public(text: str) -> str:
    """Without private passages, before anything is taken from the middle of it."""
    if "private" not in text and "private" not in text.lower():
        return text
    if len(text) > _MOST_PRIVATE:
        return ""
    from vaultmem.notes.masking import without_private

    return without_private(text)


# --- lists of things to do -----------------------------------------------------------------------


def _planned(event: Event, given: Mapping[str, Any], name: str) -> TodoList | TodoItem | None:
    if name.startswith("task"):
        return _task(event, given)
    items = next(
        (given[n] for n in ("todos", "plan", "items") if isinstance(given.get(n), list)), None
    )
    if items is None:
        return None
    named = (item for item in items[:_MOST_ITEMS] if isinstance(item, Mapping))
    return TodoList(tuple(_item(item) for item in named if _item(item) and not _is_done(item)))


def _task(event: Event, given: Mapping[str, Any]) -> TodoItem | None:
    made = _response(event).get("task")
    made = made if isinstance(made, Mapping) else {}
    number = given.get("taskId") or given.get("task_id") or made.get("id")
    if not isinstance(number, (str, int)) or not str(number):
        return None
    return TodoItem(one_line(str(number), 40), _item(given) or _item(made), _is_done(given))


def _item(item: Mapping[str, Any]) -> str:
    return _public(
        text_in(item, "content", "subject", "step", "description", "title", "text")[:_ITEM]
    )


def _is_done(item: Mapping[str, Any]) -> bool:
    return str(item.get("status") or "").lower() in _DONE
