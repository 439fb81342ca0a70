"""What an agent will be given: at the start of a session in a project, and for a prompt."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from vaultmem.surfaces.page import pieces
from vaultmem.surfaces.page.asking import PageRequest, Screen
from vaultmem.surfaces.page.markup import Markup, joined, tag

if TYPE_CHECKING:
    from vaultmem.operations.context.contexts import ContextBlock

_USUAL: Final = 2_000
_LEAST, _MOST = 100, 8_000


def context_screen(request: PageRequest) -> Screen:
    folder, prompt = request.asked("folder"), request.asked("prompt")
    budget = max(_LEAST, request.number("tokens", _USUAL, _MOST))
    project = PurePath(folder.replace("\\", "/")).name if folder else ""
    vault = request.vault
    if project and not vault.caller.is_bound_to_another(project):
        vault = vault.for_caller(replace(vault.caller, default_project=project))
    asked = replace(request, vault=vault)
    main = joined(
        (
            tag("h1", "Context"),
            tag(
                "p",
                "What an agent is told without asking, and what it gets when it asks with "
                "get_memory_context. Nothing is counted as used by looking at it here.",
                class_="soft",
            ),
            _form(folder, prompt, budget),
            _blocks(asked, prompt, budget),
        )
    )
    return Screen("Context", main, "/context")


def _form(folder: str, prompt: str, budget: int) -> Markup:
    return tag(
        "form",
        tag(
            "label",
            "Folder or project",
            tag("input", name="folder", value=folder, placeholder="~/atlas"),
        ),
        tag(
            "label",
            "Prompt",
            tag("input", name="prompt", value=prompt, placeholder="fix the login"),
        ),
        tag(
            "label",
            "Budget in tokens",
            tag("input", name="tokens", type="number", value=budget, min=_LEAST, max=_MOST),
        ),
        tag("button", "Show"),
        action="/context",
        class_="filters",
        aria_label="For whom",
    )


def _blocks(request: PageRequest, prompt: str, budget: int) -> Markup:
    start = request.vault.reminder("", "")
    parts = [_block("When a session starts", "put there by the hook", start, None)]
    if prompt:
        said = request.vault.reminder(prompt, "")
        parts.append(_block("Before this prompt", "put there by the hook", said, None))
        whole = request.vault.context(prompt, max_tokens=budget, counted=False)
        parts.append(_block("When the agent asks", "get_memory_context", whole, budget))
    return joined(parts)


def _block(title: str, how: str, block: ContextBlock, budget: int | None) -> Markup:
    used = f"{pieces.counted(block.memories_used, 'memory', 'memories')}, {pieces.counted(block.tokens_used, 'token')}"
    measure = None
    if budget:
        meter = tag(
            "meter",
            f"{block.tokens_used} of {budget}",
            min=0,
            max=budget,
            value=block.tokens_used,
            aria_label="Tokens used of the budget",
        )
        measure = joined((" of ", f"{budget:,} ", meter))
    text = block.context_block.strip()
    said = (
        tag("pre", text, class_="answer", tabindex="0", aria_label=title)
        if text
        else pieces.empty(block.message or "Silence: there is nothing to say, and nothing is said.")
    )
    cut = " Shortened to fit." if block.truncated else ""
    return tag(
        "section",
        tag("h2", title),
        tag("p", f"{how} · {used}", measure, cut, class_="soft small"),
        said,
    )
