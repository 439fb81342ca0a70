"""An agent's life-cycle events: what each one means, and what memory should do about it.

Claude Code's events and the generic form (`{"event": …, "payload": {…}}`) are read alike. The
decisions are made from the event and the settings alone; `answer` carries them out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from vaultmem.operations.agent_work import prompt_words
from vaultmem.operations.agent_work.actions import (
    Action,
    Ask,
    End,
    Inject,
    Log,
    Remember,
    Reply,
    Stopped,
)
from vaultmem.operations.agent_work.payload import Event, last_part, one_line

if TYPE_CHECKING:
    from vaultmem.config import Settings

EVENTS: Final = (
    *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure"),
    *("PreCompact", "PostCompact", "Stop", "SubagentStop", "SessionEnd"),
)
_BY_NAME: Final = {name.lower(): name for name in EVENTS}
_LINE, _SUMMARY = 200, 20_000  # characters
_OF_TALK: Final = frozenset(("request", "finding", "open", "ending"))


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
            yield from _asked(event, kept, inject)
        case "PostToolUse" | "PostToolUseFailure":
            from vaultmem.operations.agent_work.tool_use import tool_action

            if action := tool_action(event, kept):
                yield action
        case "PostCompact":
            summary = _plain_summary(event.text("compact_summary", "summary"))
            if summary and "compact" in kept:
                yield Remember(summary)
        case "Stop" | "SubagentStop":
            yield from _answered(event, kept)
        case "SessionEnd":
            yield End()


def _asked(event: Event, kept: Sequence[str], inject: Sequence[str]) -> Iterator[Action]:
    prompt = event.text("prompt", "user_prompt", "userPrompt", "text", "content", "message")
    telling = bool(prompt_words.content_words(prompt)) and event.text("source") != "system"
    if event.text("source") != "system" and not event.agent:
        if telling and not _OF_TALK.isdisjoint(kept):
            yield Ask(prompt, "finding" in kept)
        elif prompt.strip() and "open" in kept:
            yield Reply()
    if telling and "prompt" in inject:
        yield Inject(prompt)
    if prompt and "prompt" in kept:
        yield Log("prompt", f"Asked: {one_line(prompt, _LINE)}")


def _answered(event: Event, kept: Sequence[str]) -> Iterator[Action]:
    """What a sub-agent says ends nothing."""
    said, ends = event.answer, event.name == "Stop"
    if said and "answer" in kept and not event.details.get("stop_hook_active"):
        yield Log("answer", f"Answered: {one_line(said, _LINE)}")
    if ends and not (_OF_TALK - {"request"}).isdisjoint(kept):
        ending = "ending" in kept and "answer" not in kept
        yield Stopped(said, ending, "open" in kept, "finding" in kept)


def _plain_summary(text: str) -> str:
    """What a client says about a session it made shorter, without its thoughts on the way."""
    before, _, thoughts = text[: 8 * _SUMMARY].partition("<analysis>")
    text = before + (thoughts.partition("</analysis>")[2] or thoughts)
    text = re.sub(r"</?summary>|[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]", "", text).strip()
    return text if len(text) <= _SUMMARY else text[:_SUMMARY].rpartition("\n")[0] + "\n…"
