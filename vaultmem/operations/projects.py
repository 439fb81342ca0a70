"""Projects: what notes say they belong to, and the note that describes each."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Final

from ulid_transform import ulid_now

from vaultmem.errors import AlreadyExists, InvalidInput, NotFound, VaultmemError
from vaultmem.limits import bounded
from vaultmem.notes.attributes import MEMORY_TYPES
from vaultmem.notes.edit import ReplaceBody, edited_note, stamped_note
from vaultmem.notes.file_names import name_key, safe_name
from vaultmem.notes.frontmatter import WritableValue
from vaultmem.notes.note import Note
from vaultmem.operations.input import now_utc
from vaultmem.operations.results import Project, Projects, content_of, note_identity
from vaultmem.operations.writing import WritingGroup

PROJECT: Final = "project"  # the kind of note that says what a project is
_SAID: Final = 300  # characters of a note that has its name


class ProjectNotes(WritingGroup):
    def projects(self) -> Projects:
        """Every project that some note names, by name."""
        counts = self._project_counts()
        names = sorted((name for name, _ in counts.values()), key=str.casefold)
        return Projects(tuple(self._described_project(*counts[name.casefold()]) for name in names))

    @bounded()
    def project(self, name: str) -> Project:
        found = self._project_counts().get(self._project_name(name).casefold())
        if found is None:
            raise NotFound(f"There is no project {name!r}.")
        return self._described_project(*found)

    def _project_counts(self) -> dict[str, tuple[str, int]]:
        """Names in their most usual spelling, with the number of memories."""
        self._view.gaps.warnings()
        counts = self._view.gaps.counts
        memories: dict[str, int] = {}
        for name, count in counts("project", self._view.filters(type=MEMORY_TYPES)).items():
            memories[name.casefold()] = memories.get(name.casefold(), 0) + count
        found: dict[str, tuple[str, int]] = {}
        everything = self._view.filters(include_forgotten=True)
        for name in counts("project", everything):  # most used first
            if name:
                found.setdefault(name.casefold(), (name, memories.get(name.casefold(), 0)))
        return found

    @bounded()
    def make_project(self, name: str, description: str = "") -> Project:
        """Give a project a note of its own, so that it is known before it has memories."""
        self._writing.require_writable()
        name = self._project_name(name)
        text = self._input.clean_text(description, "The description").strip()
        self._view.gaps.require_none()
        with self._writing.key_lock():
            try:
                known = self.project(name)
            except NotFound:
                known = Project(name, 0, "")
            if not known.path:
                self._create_project_note(known.name, text)
            elif text and not known.description:
                self._add_project_description(self._view.store.note(known.path), text)
            elif text not in ("", known.description):
                raise AlreadyExists(f"The project {known.name!r} exists, with another description.")
        return self.project(name)

    def folder_of(self, project: Project) -> Path:
        """Where most of its notes are: the folder for its memories, or while it has none there the
        one that its note is in."""
        root = self._view.root
        places = [project.folder, (project.path or "").rpartition("/")[0], ""]
        return next(root / place for place in places if (root / place).is_dir())

    def _add_project_description(self, note: Note, text: str) -> None:
        """Put a description before what the note says already."""

        def change(current: Note) -> Note:
            new = text.replace("\n", current.newline) + current.newline
            rest = current.newline + current.body if current.body.strip() else ""
            after = edited_note(current, ReplaceBody(new + rest, as_it_is=True))
            return stamped_note(current, after, now_utc())

        self._writing.rewrite_note(note, "update", change)

    def _create_project_note(self, name: str, text: str) -> None:
        values: dict[str, WritableValue] = {
            "id": ulid_now(),
            "type": "entity",
            "project": name,
            "user": self._view.caller.user,
            "kind": PROJECT,
            "aliases": [] if safe_name(name) == name else [name],
            "source": self._view.caller.client,
            "created": now_utc(),
        }
        folder = self._view.settings["folders.entities"]
        self._writing.create_note(folder, name, values, f"{text}\n" if text else "")

    def _project_name(self, name: str) -> str:
        plain = self._input.property_line(name, "A project's name", 100)
        if not plain or plain.startswith("[["):  # a link would name another project
            raise InvalidInput(f"{plain!r} cannot be the name of a project.")
        if self._view.caller.project and plain.casefold() != self._view.caller.project.casefold():
            raise NotFound(f"There is no project {name!r}.")
        return plain

    def _described_project(self, name: str, memories: int) -> Project:
        """The project with what its own note says of it."""
        folder = self._writing.memory_folder("project", name)
        about = self._view.filters(type="entity", kind=PROJECT, project=name)
        rows, _ = self._view.gaps.select(about, "created")
        known = Project(name, memories, folder)
        try:
            note = self._view.store.note(rows[-1].path)
        except (IndexError, NotFound):  # it has none, or no longer
            return replace(known, description=self._said_of_project(name))
        if not self._view.is_visible(note):
            return known
        said = f"\n{content_of(note)}".partition("\n## ")[0].strip()
        return replace(known, description=said, id=note_identity(note), path=note.path)

    def _said_of_project(self, name: str) -> str:
        """The first words of the one note that has the project's name, as people have it."""
        found = []
        for path in dict.fromkeys(self._view.gaps.paths_named(name_key(name))):
            with contextlib.suppress(VaultmemError):
                found.append(self._view.store.note(path))
        found = [note for note in found if self._view.is_visible(note)]
        if len(found) != 1:
            return ""
        (note,) = found
        words = (line for line in content_of(note).splitlines() if not line.startswith("#"))
        return " ".join(" ".join(words).split())[:_SAID].strip()
