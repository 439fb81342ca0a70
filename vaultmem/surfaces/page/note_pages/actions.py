"""What a person can do with a note: each a button, or a small form behind one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vaultmem.surfaces.page import pieces
from vaultmem.surfaces.page.asking import PageRequest
from vaultmem.surfaces.page.markup import Child, Markup, joined, tag

if TYPE_CHECKING:
    from vaultmem.operations.results import Memory


def actions(request: PageRequest, memory: Memory) -> Markup:
    if request.read_only:
        return joined([])
    ref, version = memory.path, memory.version
    made: list[Child] = []
    if memory.forgotten:
        made.append(pieces.deed("restore", "Take it back", kind="main", ref=ref))
    else:
        reason = tag("input", name="reason", placeholder="why, if you like", autocomplete="off")
        made.append(
            _form("forget", "Forget", tag("label", "Reason", reason), ref=ref, version=version)
        )
    tags = tag("input", name="tags", placeholder="auth, -old", autocomplete="off")
    made.append(
        _form(
            "tag", "Tag", tag("label", "Add, or remove with a dash", tags), ref=ref, version=version
        )
    )
    project = tag("input", name="project", value=memory.project or "", autocomplete="off")
    made.append(
        _form("move", "Project", tag("label", "Empty for none", project), ref=ref, version=version)
    )
    if memory.scope in ("session", "project"):
        wider = "project" if memory.scope == "session" else "user"
        made.append(
            pieces.deed("promote", f"Promote to {wider}", ref=ref, scope=wider, version=version)
        )
    made.append(_copy(memory))
    return tag("div", *made, class_="actions")


def _form(deed: str, name: str, field: Markup, **given: Any) -> Markup:
    import json

    form = tag(
        "form",
        field,
        tag("button", name),
        class_="inline card",
        data_deed=deed,
        data_given=json.dumps(given, ensure_ascii=False),
    )
    return tag("details", tag("summary", name), form, class_="with-token", id=f"do-{deed}")


def _copy(memory: Memory) -> Markup:
    name = memory.path.rpartition("/")[2].removesuffix(".md")
    return tag(
        "button", "Copy wikilink", type="button", data_copy=f"[[{name}]]", class_="quiet with-token"
    )
