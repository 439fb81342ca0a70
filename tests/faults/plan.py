"""One seed to one list of steps: who does what to which note, and what goes wrong meanwhile.

Nothing here looks at what came of earlier steps, so a run that failed can be tried again with
the same actions and faults in the same order.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

SERVERS: Final = 3
OWN_NOTES: Final = 8  # a person's
MEMORIES: Final = 10  # an agent's, which a person edits too
SHARED_NOTES: Final = 3  # a person's that the other laptop edits as well: never moved or deleted

# Who acts, how often, and what they do how often.
ACTIONS: Final[Mapping[str, tuple[int, Mapping[str, int]]]] = {
    "agent": (
        58,
        {
            "store": 12,
            "store by key": 8,
            "append": 10,
            "correct": 8,
            "rewrite": 7,
            "tag": 4,
            "observe": 5,
            "state": 5,
            "forget": 1,
            "recall": 8,
            "read": 3,
        },
    ),
    "person": (
        24,
        {
            "save in place": 9,
            "save by rename": 6,
            "save beside": 5,
            "insert": 4,
            "half type": 1,
            "move": 2,
            "delete": 1,
        },
    ),
    "sync program": (7, {"bring": 4, "change in place": 3, "leave a copy": 1}),
    "git": (3, {"sync": 2, "other laptop": 1}),
    "world": (
        8,
        {
            "kill": 4,
            "stop": 1,
            "fill the disk": 2,
            "make read-only": 2,
            "take away": 2,
            "take away, empty": 2,
            "delete the index": 1,
            "cut the catalog": 1,
            "overwrite the text": 1,
            "cut the text": 1,
        },
    ),
}
LASTING: Final = {"fill the disk", "make read-only", "take away", "take away, empty"}
# What may happen at one of the calls by which a server touches files.
FAULTS: Final[Mapping[str, int]] = {
    "kill": 4,
    "no space": 2,
    "read-only": 1,
    "input/output": 2,
    "short writes": 2,
    "slow": 1,
    "a person saves": 6,
    "another agent writes": 2,
}
WRITING: Final = {"store", "store by key", "append", "correct", "rewrite", "observe", "state"}


@dataclass(frozen=True)
class Fault:
    kind: str
    at: int  # the number of the call at which it strikes


@dataclass(frozen=True)
class Step:
    number: int
    actor: str
    action: str
    note: int = 0
    server: int = 0
    fault: Fault | None = None
    lasts: int = 0  # steps, of what the world does

    def __str__(self) -> str:
        who = f"{self.actor} {self.server}" if self.actor == "agent" else self.actor
        said = f"{self.number}: {who}: {self.action} ({self.note})"
        if self.fault:
            said += f", {self.fault.kind} at call {self.fault.at}"
        return said + (f", for {self.lasts} steps" if self.lasts else "")


def steps(seed: int, count: int) -> list[Step]:
    chance = random.Random(seed)
    return [_step(chance, number) for number in range(1, count + 1)]


def _step(chance: random.Random, number: int) -> Step:
    actor = _one(chance, {name: weight for name, (weight, _) in ACTIONS.items()})
    action = _one(chance, ACTIONS[actor][1])
    note, server = chance.randrange(OWN_NOTES + MEMORIES), chance.randrange(SERVERS)
    strikes, kind, at = chance.random() < 0.3, _one(chance, FAULTS), chance.randint(1, 45)
    lasts = chance.randint(2, 6) if action in LASTING else 0
    fault = (
        Fault(kind, at) if strikes and actor == "agent" and action in WRITING | {"tag"} else None
    )
    return Step(number, actor, action, note, server, fault, lasts)


def _one(chance: random.Random, weights: Mapping[str, int]) -> str:
    return chance.choices(list(weights), list(weights.values()))[0]
