"""What kind of memory a note is: its properties, and where it has none, its place in the vault."""

from __future__ import annotations

from collections.abc import Mapping

from vaultmem.config import Settings
from vaultmem.note import Note


def attributes_of(note: Note, settings: Settings) -> Mapping[str, str]:
    """The property is the authority, the folder only the default."""
    scope = note.string("scope")
    project = _plain(note.string("project"))
    if not project and scope in ("", "project"):  # promoted to its user, it left the project
        project = _project_folder(note.path, settings)
    return {
        "type": note.string("type") or _type_by_folder(note.path, settings),
        "scope": scope or ("project" if project else "user"),
        "project": project,
        **{name: _plain(note.string(name)) for name in ("user", "room", "session", "kind")},
    }


def _plain(value: str) -> str:
    """`[[Atlas]]` and `[[Atlas|the project]]` name the project Atlas."""
    if value.startswith("[[") and value.endswith("]]"):
        return value[2:-2].partition("|")[0].strip()
    return value


def _project_folder(path: str, settings: Settings) -> str:
    top = settings["folders.memories"].strip("/") + "/"
    inner = path.removeprefix(top) if path.startswith(top) else ""
    return inner.partition("/")[0] if "/" in inner else ""


def _type_by_folder(path: str, settings: Settings) -> str:
    for name, kind in (("entities", "entity"), ("sessions", "session")):
        if path.startswith(settings[f"folders.{name}"].strip("/") + "/"):
            return kind
    return "semantic"
