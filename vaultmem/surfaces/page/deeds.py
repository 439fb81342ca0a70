"""What the page changes: each deed is an operation, and says how it is undone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any, Final

from vaultmem.errors import InvalidInput, NotFound
from vaultmem.surfaces.page.asking import PageRequest, note_address

Given = Mapping[str, Any]


def performed(name: str, request: PageRequest, given: Given) -> dict[str, Any]:
    """`message` for the person, `undo` if there is a way back, `go` where to look next."""
    deed = DEEDS.get(name)
    if deed is None:
        raise NotFound(f"This page does nothing called {name[:40]}.")
    return deed(request, given)


def _undo(request: PageRequest, given: Given) -> dict[str, Any]:
    done = request.vault.undo(_text(given, "ref"), _text(given, "version") or None)
    if item := _text(given, "item"):
        request.vault.reopen(item)
    told: dict[str, Any] = {"message": f"Undone: {done.path}"}
    if done.version is None:
        return told | {"undo": _back("restore", ref=done.memory_id)}
    return told | {"undo": _back("undo", ref=done.memory_id, version=done.version)}


def _restore(request: PageRequest, given: Given) -> dict[str, Any]:
    done = request.vault.restore(_text(given, "ref"), _text(given, "version") or None)
    back = _back("undo", ref=done.memory_id, version=done.version) if done.replaced else None
    return {"message": f"Restored: {done.path}", "undo": back}


def _forget(request: PageRequest, given: Given) -> dict[str, Any]:
    done = request.vault.forget(
        _text(given, "ref", needed=True),
        reason=_text(given, "reason").strip() or None,
        expected_version=_text(given, "version") or None,
    )
    told = _changed(f"Forgotten: {done.path}", done.memory_id, done.version)
    return _decided(request, given, told)


def _tag(request: PageRequest, given: Given) -> dict[str, Any]:
    """`auth, -old`: add the one, take the other away."""
    words = [each.strip().replace("#", "") for each in _text(given, "tags").split(",")]
    words = [word for word in words if word.strip("-")]
    done = request.vault.tag(
        _text(given, "ref", needed=True),
        add=[word for word in words if not word.startswith("-")],
        remove=[word[1:] for word in words if word.startswith("-")],
        expected_version=_text(given, "version") or None,
    )
    return _changed(f"Tagged: {done.path}", done.memory_id, done.version)


def _move(request: PageRequest, given: Given) -> dict[str, Any]:
    project = _text(given, "project").strip()
    done = request.vault.assign_project(
        _text(given, "ref", needed=True),
        project,
        expected_version=_text(given, "version") or None,
    )
    where = f"Moved to {project}" if project else "Belongs to no project now"
    return _changed(f"{where}: {done.path}", done.memory_id, done.version)


def _promote(request: PageRequest, given: Given) -> dict[str, Any]:
    done = request.vault.promote(
        _text(given, "ref", needed=True),
        _text(given, "scope", needed=True),
        expected_version=_text(given, "version") or None,
    )
    told = _changed(f"Promoted: {done.path}", done.memory_id, done.version)
    return told | {"go": note_address(done.path)}


def _edit(request: PageRequest, given: Given) -> dict[str, Any]:
    ref = _text(given, "ref", needed=True)
    before = _text(given, "version", needed=True)
    done = request.vault.edit_text(ref, _text(given, "text"), before)
    if not done.updated_fields:
        return {"message": "Nothing was changed.", "go": note_address(done.path)}
    told = _changed(f"Saved: {done.path}", done.memory_id, done.version)
    return told | {"go": note_address(done.path)}


# --- decisions --------------------------------------------------------------------------------


def _accept(request: PageRequest, given: Given) -> dict[str, Any]:
    item = _text(given, "item", needed=True)
    done = request.vault.accept(item)
    return {"message": f"Accepted: {done.path}", "undo": _back("reconsider", item=item)}


def _reject(request: PageRequest, given: Given) -> dict[str, Any]:
    item = _text(given, "item", needed=True)
    done = request.vault.reject(item, reason=_text(given, "reason") or None)
    return {"message": f"Rejected: {done.path}", "undo": _back("reconsider", item=item)}


def _reconsider(request: PageRequest, given: Given) -> dict[str, Any]:
    done = request.vault.reconsider(_text(given, "item", needed=True))
    return {"message": f"Proposed again: {done.path}"}


def _approve(request: PageRequest, given: Given) -> dict[str, Any]:
    done = request.vault.approve(_text(given, "item", needed=True))
    return {
        "message": f"{done.path} is replaced by {done.superseded_by}",
        "undo": _back("undo", ref=done.path),
    }


def _dismiss(request: PageRequest, given: Given) -> dict[str, Any]:
    item = _text(given, "item", needed=True)
    request.vault.dismiss(item)
    return {"message": "It stays as it is.", "undo": _back("reopen", item=item)}


def _reopen(request: PageRequest, given: Given) -> dict[str, Any]:
    request.vault.reopen(_text(given, "item", needed=True))
    return {"message": "It is to be decided again."}


def _supersede(request: PageRequest, given: Given) -> dict[str, Any]:
    done = request.vault.supersede(
        _text(given, "ref", needed=True), _text(given, "by", needed=True)
    )
    told = _changed(f"{done.path} is replaced by {done.by}", done.memory_id, done.version)
    return _decided(request, given, told)


def _decided(request: PageRequest, given: Given, told: dict[str, Any]) -> dict[str, Any]:
    """What was on the list for review is ticked with it, and both are taken back together."""
    if item := _text(given, "item"):
        request.vault.dismiss(item)
        told["undo"]["given"]["item"] = item
    return told


def _resolve(request: PageRequest, given: Given) -> dict[str, Any]:
    done = request.vault.resolve(_text(given, "note", needed=True), _text(given, "side"))
    more = f" {done.next}" if done.next else ""
    return {"message": f"Settled: {done.path}.{more}"}


def _end_fact(request: PageRequest, given: Given) -> dict[str, Any]:
    subject = _text(given, "subject", needed=True)
    request.vault.assert_fact(
        subject,
        _text(given, "predicate", needed=True),
        _text(given, "object", needed=True),
        valid_to=dt.datetime.now(dt.UTC),
        multi=True,
    )
    version = request.vault.source(subject).version
    return _changed("The fact has ended.", subject, version)


def _look_for_review(request: PageRequest, given: Given) -> dict[str, Any]:
    found = request.vault.upkeep()
    counts = (
        (found.contradictions, "contradiction"),
        (found.near_duplicates, "double"),
        (found.stale, "stale memory"),
    )
    said = ", ".join(
        f"{number} {name}{'s' if number != 1 and name[-1] != 'y' else ''}"
        for number, name in counts
    )
    return {"message": f"Looked through all memories: {said}."}


def _changed(message: str, ref: str, version: str) -> dict[str, Any]:
    return {"message": message, "undo": _back("undo", ref=ref, version=version)}


def _back(name: str, **given: Any) -> dict[str, Any]:
    return {"deed": name, "given": given}


def _text(given: Given, name: str, *, needed: bool = False) -> str:
    value = given.get(name)
    if value is None:
        value = ""
    if not isinstance(value, str) or (needed and not value.strip()):
        raise InvalidInput(f"{name} is missing, or is no text.")
    return value


DEEDS: Final[Mapping[str, Callable[[PageRequest, Given], dict[str, Any]]]] = {
    "undo": _undo,
    "restore": _restore,
    "forget": _forget,
    "tag": _tag,
    "move": _move,
    "promote": _promote,
    "edit": _edit,
    "accept": _accept,
    "reject": _reject,
    "reconsider": _reconsider,
    "approve": _approve,
    "dismiss": _dismiss,
    "reopen": _reopen,
    "supersede": _supersede,
    "resolve": _resolve,
    "end_fact": _end_fact,
    "look_for_review": _look_for_review,
}
