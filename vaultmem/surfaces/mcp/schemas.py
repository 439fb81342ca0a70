"""What a tool is, and the words that its schemas are made of.

Schemas are written by hand, because the whole list is read by a model again and again:
a word that does not help it choose or call is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from vaultmem.vault import Vault

Arguments = Mapping[str, Any]


@dataclass(frozen=True)
class Tool:
    name: str
    toolset: str
    description: str
    takes: Mapping[str, Any]  # the input schema's properties
    answers: Mapping[str, str]  # the answer's top-level fields and their types
    run: Callable[[Vault, Arguments], Any]
    needs: tuple[str, ...] = ()  # required arguments
    writes: bool = False
    destroys: bool = False  # changes or hides what was there, although it can be restored
    always: bool = False  # stays in the model's sight where tools are loaded on demand

    @property
    def schema(self) -> dict[str, Any]:
        required = {"required": list(self.needs)} if self.needs else {}
        return {"type": "object", "properties": self.takes, **required}

    def listing(self) -> dict[str, Any]:
        """The tool as `tools/list` shows it."""
        output = {name: {"type": kind} for name, kind in self.answers.items()}
        told = {"outputSchema": {"type": "object", "properties": output}} if output else {}
        hints = {"destructiveHint": self.destroys} if self.writes else {"readOnlyHint": True}
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.schema,
            **told,
            "annotations": hints,
            **({"_meta": {"anthropic/alwaysLoad": True}} if self.always else {}),
        }


# --- words of the schemas ----------------------------------------------------------------

TEXT: Final = {"type": "string"}
TEXTS: Final = {"type": "array", "items": TEXT}
FLAG: Final = {"type": "boolean"}
NUMBER: Final = {"type": "integer"}  # within the bounds of `limits`, which say themselves
SHARE: Final = {"type": "number", "minimum": 0, "maximum": 1}
ENTITIES: Final = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"name": TEXT, "type": TEXT, "relationship": TEXT},
        "required": ["name", "type", "relationship"],
    },
}
LIKE_STORED: Final = {  # entities once more; that tool is always in sight
    "type": "array",
    "items": {"type": "object"},
    "description": "as in store_memory",
}


def text_schema(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def number_schema(description: str) -> dict[str, Any]:
    return {**NUMBER, "description": description}


def whole_schema(low: int, high: int | None = None, **more: Any) -> dict[str, Any]:
    bound = {"minimum": low} | ({} if high is None else {"maximum": high})
    return {"type": "integer", **bound, **more}


def one_of_schema(*words: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "enum": list(words), **more}


def some_of_schema(*words: str) -> dict[str, Any]:
    one = one_of_schema(*words)
    return {"oneOf": [one, {"type": "array", "items": one}]}


SCOPES: Final = ("session", "project", "user")
TYPES: Final = ("episodic", "semantic", "procedural")
