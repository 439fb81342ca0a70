"""Who asks, and what they are bound to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks. What is pinned here no argument of a call can widen."""

    user: str = ""  # sees shared notes and this user's
    project: str = ""  # sees notes without a project and this project's
    default_project: str = ""  # of what is written without one; no pin
    session: str = ""  # session-scope notes of other sessions do not exist; a person has none
    client: str = ""  # the source of what is written without one
    read_only: bool = False
    folders: tuple[str, ...] = ()  # sees notes in these alone; none: in all of the vault

    def is_bound_to_another(self, project: str) -> bool:
        return bool(self.project and project) and project.casefold() != self.project.casefold()
