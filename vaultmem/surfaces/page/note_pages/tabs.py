"""A note's file, its editor, its versions and its uses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from vaultmem.base.differences.text_difference import text_difference
from vaultmem.base.own_program import command_to_type
from vaultmem.errors import VaultmemError
from vaultmem.notes.masking import without_private
from vaultmem.operations.edits.hand_edits import can_be_edited_as_text
from vaultmem.surfaces.page import pieces
from vaultmem.surfaces.page.asking import PageRequest, note_address, page_address
from vaultmem.surfaces.page.markup import Child, Markup, joined, tag

if TYPE_CHECKING:
    from vaultmem.operations.results import Memory, Version

_MOST: Final = 400_000  # characters of a file on a page
_DIFFED: Final = 200_000
_ACTIONS: Final = {"current": "as it is now", "add": "made"}


def file_tab(request: PageRequest, memory: Memory) -> Markup:
    """The bytes, as far as they are text."""
    text = _for_reader(request, request.vault.source(memory.path).text)
    cut = f" The first {_MOST:,} characters are shown." if len(text) > _MOST else ""
    size = f"{len(text.encode(errors='replace')):,} bytes, version {memory.version}.{cut}"
    return joined(
        (
            tag("p", tag("code", memory.path), f" · {size}", class_="soft small"),
            tag("pre", text[:_MOST], tabindex="0", aria_label="The file", class_="answer"),
        )
    )


def _for_reader(request: PageRequest, text: str) -> str:
    """What is private is shown to the person who started the server, and to nobody else."""
    return text if request.trusted else without_private(text)


def edit_tab(request: PageRequest, memory: Memory) -> Markup:
    if not request.trusted:
        return pieces.empty("To edit, open the link that the server printed: it carries the token.")
    source = request.vault.source(memory.path)
    if not can_be_edited_as_text(source.text) or len(source.text) > _MOST:
        return pieces.empty("This file has bytes that a page cannot show, or is too long for one.")
    given = json.dumps({"ref": memory.path, "version": source.version})
    return tag(
        "form",
        tag("label", "The whole file, properties included", for_="text", class_="soft small"),
        tag("textarea", "\n" + source.text, id="text", name="text", spellcheck="true", dir="auto"),
        tag(
            "div",
            tag("button", "Save", class_="main"),
            tag("a", "Leave it", href=note_address(memory.path)),
            tag("span", "Only the lines you change are written.", class_="soft small"),
            class_="actions",
        ),
        data_deed="edit",
        data_given=given,
        data_editing="yes",
    )


# --- versions ---------------------------------------------------------------------------------


def history_tab(request: PageRequest, memory: Memory) -> Markup:
    """Every version against the one before it, the newest first."""
    found = request.vault.history(memory.path, git=True)
    texts = [_version_text(request, memory, each) for each in found.versions[:30]]
    items: list[Child] = []
    for number, version in enumerate(found.versions[:30]):
        before = texts[number + 1] if number + 1 < len(texts) else ""
        items.append(_version(request, memory, version, before, texts[number]))
    more = len(found.versions) - len(items)
    return joined(
        (
            tag("p", pieces.counted(found.number, "version"), class_="soft small"),
            tag("ol", *items, class_="versions"),
            tag("p", f"{more} older ones: {command_to_type('history')}", class_="soft")
            if more > 0
            else None,
        )
    )


def _version_text(request: PageRequest, memory: Memory, version: Version) -> str:
    try:
        text = request.vault.version_text(memory.path, version.commit or version.version)
    except VaultmemError:
        return ""
    return _for_reader(request, text)[:_DIFFED]


def _version(
    request: PageRequest, memory: Memory, version: Version, before: str, text: str
) -> Markup:
    by = f" by {version.author}" if version.author else ""
    what = version.subject or _ACTIONS.get(version.action, f"before: {version.action}")
    restore = None
    if not version.current and not request.read_only:
        wanted = version.commit or version.version
        restore = pieces.deed("restore", "Restore this", ref=memory.path, version=wanted)
    return tag(
        "li",
        tag(
            "p",
            pieces.moment(version.taken_at),
            f" · {what}{by} · {version.size:,} bytes · ",
            tag("code", (version.commit or version.version)[:12]),
            " ",
            restore,
        ),
        tag(
            "pre", *_pieces(before, text), class_="answer", tabindex="0", aria_label="What changed"
        ),
        class_="card line-version",
    )


def _pieces(before: str, after: str) -> list[Child]:
    found: list[Child] = []
    for kind, text in text_difference(before, after):
        if kind == "gone":
            found.append(tag("del", tag("span", "removed: ", class_="hidden"), text))
        elif kind == "come":
            found.append(tag("ins", tag("span", "added: ", class_="hidden"), text))
        elif kind == "left out":
            found.append(tag("span", f"⋯ {text} lines\n", class_="soft"))
        else:
            found.append(text)
    return found


# --- uses -------------------------------------------------------------------------------------


def uses_tab(request: PageRequest, memory: Memory) -> Markup:
    found = request.vault.uses(memory.path)
    if not found.times and not found.uses:
        return pieces.empty("Nobody was shown this note on this machine so far.")
    said = f"Used {pieces.counted(found.times, 'time')}"
    rows = [
        tag(
            "tr",
            tag("td", pieces.moment(each.at)),
            tag("td", each.way),
            tag("td", each.client or "a person"),
            tag(
                "td",
                tag("a", each.session, href=page_address("/sessions", id=each.session))
                if each.session
                else "",
            ),
        )
        for each in found.uses
    ]
    head = tag("tr", *(tag("th", name, scope="col") for name in ("When", "How", "By", "Session")))
    table = tag("table", tag("thead", head), tag("tbody", *rows))
    last: list[Child] = [", last ", pieces.moment(found.last)] if found.last else []
    return joined(
        (
            tag("p", said, *last, "."),
            tag("div", table, class_="scroll", tabindex="0", role="group", aria_label="Uses")
            if rows
            else None,
        )
    )
