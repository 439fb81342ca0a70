"""What memory may do about an agent's event."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Inject:
    """Put memories before the agent: at the start, or those that a prompt is about."""

    prompt: str = ""


@dataclass(frozen=True, slots=True)
class Log:
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Ask:
    """Keep in mind what a person asked for; the first request names the journal."""

    prompt: str
    findings: bool = True


@dataclass(frozen=True, slots=True)
class Reply:
    """A person goes on, in words that ask for nothing: what they were asked has its answer."""


@dataclass(frozen=True, slots=True)
class FileChange:
    path: str
    new: bool = False


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """How a command ended. What passed is worth a line where it is `telling`, or failed before."""

    command: str
    failed: bool
    told: str = ""
    kind: str = "command"
    telling: bool = False


@dataclass(frozen=True, slots=True)
class TodoList:
    """All that is open on the agent's list."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TodoItem:
    """One item of a list whose items have numbers; done ones have no text any more."""

    number: str
    text: str = ""
    done: bool = False


@dataclass(frozen=True, slots=True)
class Stopped:
    """The agent's answer, and what of it is to be kept."""

    answer: str
    ending: bool = True
    open: bool = True
    findings: bool = True


@dataclass(frozen=True, slots=True)
class Remember:
    text: str


@dataclass(frozen=True, slots=True)
class End:
    pass


Action = (
    Inject
    | Log
    | Ask
    | Reply
    | FileChange
    | CommandEnd
    | TodoList
    | TodoItem
    | Stopped
    | Remember
    | End
)
