"""How much memories weigh: what their notes say of their importance, raised by use and by being
pinned, and lowered where they have faded. Nothing of it is ever written into a note."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from vaultmem.limits import KINDS, bounded
from vaultmem.operations.results import DEFAULT_IMPORTANCE
from vaultmem.operations.view import View

PINNED: Final = frozenset(("pinned", "identity"))  # tags
_PIN: Final = 0.95
_RAISED: Final = 0.4  # at most, by use
_USUAL_USES: Final = 5  # being found now and then says nothing
_HALF: Final = 10  # uses beyond that, for half of what use can raise
_LOOKED_THROUGH: Final = 5_000  # memories; of more, those that their notes call important
_PLACES: Final = 2


class Weighable(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def importance(self) -> float | None: ...
    @property
    def tags(self) -> tuple[str, ...]: ...


class Weights:
    def __init__(self, view: View) -> None:
        self._view = view

    @bounded(room=KINDS)
    def weighed(
        self,
        *,
        project: str | None = None,
        type: str | Sequence[str] | None = None,
        room: str | Sequence[str] | None = None,
        tag: str | None = None,
        limit: int = 50,
    ) -> dict[str, float]:
        """The weightiest memories by their ids, and of equal ones the newest first."""
        filters = self._view.filters(project=project, type=type, room=room, tags=tag)
        self._view.gaps.warnings()
        most = max(_LOOKED_THROUGH, 2 * limit)
        rows, _ = self._view.gaps.select(filters, "importance", most)
        weights = self.of(rows)
        ranked = sorted(weights, key=lambda name: -weights[name])
        return {name: weights[name] for name in ranked[:limit]}

    def of(self, memories: Sequence[Weighable]) -> dict[str, float]:
        names = [memory.id or memory.path for memory in memories]
        used, faded = self._view.parts.usage.of(names), self._view.parts.fading.of(names)
        return {
            name: _weight(memory, used[name].count if name in used else 0, faded.get(name, 1.0))
            for memory, name in zip(memories, names, strict=True)
        }


def is_pinned(memory: Weighable) -> bool:
    return not PINNED.isdisjoint(tag.casefold() for tag in memory.tags)


def _weight(memory: Weighable, uses: int, left: float) -> float:
    said = DEFAULT_IMPORTANCE if memory.importance is None else memory.importance
    if is_pinned(memory):
        return round(max(_PIN, said), _PLACES)
    raised: float = _RAISED * (1 - 2.0 ** (-max(0, uses - _USUAL_USES) / _HALF))
    return round(min(1.0, max(0.0, said * left + raised)), _PLACES)
