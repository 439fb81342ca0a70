"""How large an operation's arguments may be: one table of bounds.

Operations take their arguments through `bounded`, so that Python, commands, tools, dialects and
HTTP share the bounds and the sentences. A bound is far above what anybody needs and far below
what makes a call slow or an answer endless.
"""

from __future__ import annotations

import datetime as dt
import functools
import itertools
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sized
from types import MappingProxyType
from typing import Any, Final, NamedTuple, ParamSpec, Protocol, TypeVar

from vaultmem.errors import InvalidInput

P = ParamSpec("P")
T = TypeVar("T")

LONG: Final = 1_000_000  # characters of a memory
SHOWN: Final = 100_000  # characters of an answer: what clients let a model see, 25,000 tokens
MOST_DEPTH: Final = 20  # of objects and lists in one another
STRATEGIES: Final = ("hybrid", "keyword", "vector", "graph")  # of recall
DETAILS: Final = ("brief", "normal", "full")  # of an answer
CONSOLIDATIONS: Final = ("summarize", "extract_patterns", "full")
_SHOWN: Final = 60  # characters of a wrong value that a sentence repeats


def shown_wrong_value(value: object) -> str:
    text = repr(value[: 4 * _SHOWN] if isinstance(value, str) else value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _value_beyond_limits(name: str, kind: str, value: object) -> InvalidInput:
    return InvalidInput(f"{name} must be {kind}, not {shown_wrong_value(value)}.")


class Bound(Protocol):
    def bounded_value(self, name: str, value: Any) -> Any:
        """The value, as operations take it; InvalidInput says what is wrong with it."""

    @property
    def bound_in_words(self) -> str:
        """What is allowed, for a reader."""


class Text(NamedTuple):
    most: int  # characters
    advice: str = "Make it shorter."

    def bounded_value(self, name: str, value: Any) -> str:
        if not isinstance(value, str):
            raise _value_beyond_limits(name, "text", value)
        if len(value) > self.most:
            size = f"{len(value):,} characters, and {self.most:,} are the most"
            raise InvalidInput(f"{name} has {size}. {self.advice}")
        if "\0" in value:
            raise InvalidInput(f"{name} has the character NUL in it, which no text needs.")
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                reason = "half a character (a lone surrogate) in it"
                raise InvalidInput(f"{name} has {reason}.") from None
        return value

    @property
    def bound_in_words(self) -> str:
        return f"{self.most:,} characters"


class Several(NamedTuple):
    """A list of things of one kind; where `alone`, one of them stands for a list of it."""

    most: int
    each: Bound
    alone: bool = False

    def bounded_value(self, name: str, value: Any) -> Any:
        if self.alone and isinstance(value, str):
            return [self.each.bounded_value(name, value)]
        if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
            raise _value_beyond_limits(name, "a list", value)
        items = list(itertools.islice(value, self.most + 1))
        if len(items) > self.most:
            count = f"{len(value):,}" if isinstance(value, Sized) else "more"
            raise InvalidInput(
                f"{name} has {count} items, and {self.most:,} are the most. Give fewer at a time."
            )
        return [self.each.bounded_value(f"{name}[{i}]", item) for i, item in enumerate(items)]

    @property
    def bound_in_words(self) -> str:
        return f"{self.most:,}, each {self.each.bound_in_words}"


class Whole(NamedTuple):
    low: int
    high: int

    def bounded_value(self, name: str, value: Any) -> int:
        number = value if isinstance(value, (int, float)) else math.nan
        if isinstance(value, bool) or not self.low <= number <= self.high or number != int(number):
            raise _value_beyond_limits(name, self.bound_in_words, value)
        return int(number)

    @property
    def bound_in_words(self) -> str:
        return f"a whole number from {self.low:,} to {self.high:,}"


class Number(NamedTuple):
    low: float
    high: float

    def bounded_value(self, name: str, value: Any) -> float:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not self.low <= value <= self.high:
            raise _value_beyond_limits(name, self.bound_in_words, value)
        return float(value)

    @property
    def bound_in_words(self) -> str:
        return f"a number from {self.low:g} to {self.high:g}"


class Flag:
    bound_in_words = "true or false"

    def bounded_value(self, name: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise _value_beyond_limits(name, self.bound_in_words, value)
        return value


class Day:
    """A date or a moment, as text or as Python has it."""

    bound_in_words = "a date of 100 characters"

    def bounded_value(self, name: str, value: Any) -> Any:
        return value if isinstance(value, dt.date) else Text(100).bounded_value(name, value)


class FilePath:
    """A file or folder of this machine; its name may be of any bytes but NUL."""

    bound_in_words = "a path of 4,096 characters"

    def bounded_value(self, name: str, value: Any) -> Any:
        if not isinstance(value, (str, os.PathLike)):
            raise _value_beyond_limits(name, "a path", value)
        written = str(value)
        if len(written) > 4096 or "\0" in written:
            raise _value_beyond_limits(name, self.bound_in_words, value)
        return value


class Fields(NamedTuple):
    """An object with known fields; or with any, each a value of a property."""

    known: Mapping[str, Bound] = MappingProxyType({})
    most: int = 50
    also_text: Text | None = None  # what may stand in place of the object

    def bounded_value(self, name: str, value: Any) -> Any:
        if self.also_text is not None and isinstance(value, str):
            return self.also_text.bounded_value(name, value)
        if not isinstance(value, Mapping):
            raise _value_beyond_limits(name, "an object", value)
        if len(value) > self.most:
            size = f"{len(value):,} names in it, and {self.most:,} are the most"
            raise InvalidInput(f"{name} has {size}. Give fewer at a time.")
        made = {}
        for key, item in value.items():
            named = f"{name}.{NAME.bounded_value(f'A name in {name}', key)}"
            bound = self.known.get(key, PROPERTY)
            made[key] = None if item is None else bound.bounded_value(named, item)
        return made

    @property
    def bound_in_words(self) -> str:
        inner = (f"`{name}` {bound.bound_in_words}" for name, bound in self.known.items())
        return "; ".join(inner) or f"{self.most} names, each {PROPERTY.bound_in_words}"


class Json(NamedTuple):
    """Whatever JSON can say, within a size and a depth."""

    most: int = LONG  # characters of its texts, and things in it

    def bounded_value(self, name: str, value: Any) -> Any:
        level, left = [value], self.most
        for _ in range(MOST_DEPTH):
            left -= sum(len(each) if isinstance(each, (str, list, dict)) else 1 for each in level)
            if left < 0:
                raise InvalidInput(f"{name} is larger than {self.most:,} characters.")
            level = [inner for each in level for inner in _nested_values_to_limit(each)]
            if not level:
                return value
        raise InvalidInput(f"{name} is nested more than {MOST_DEPTH} levels deep.")

    @property
    def bound_in_words(self) -> str:
        return f"{self.most:,} characters, {MOST_DEPTH} levels"


def _nested_values_to_limit(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return itertools.chain(value.keys(), value.values())
    return value if isinstance(value, (list, tuple)) else ()


class _Scalar:
    bound_in_words = "10,000 characters, or a number up to 10^15"

    def bounded_value(self, name: str, value: Any) -> Any:
        if isinstance(value, str):
            return Text(10_000).bounded_value(name, value)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            Number(-1e15, 1e15).bounded_value(name, value)
        return value  # what is neither is refused where it would be written, in words of its own


class Property:
    """A property's value: a text, a number, true or false, a date, or a list of those."""

    bound_in_words = f"{_Scalar.bound_in_words}, or 100 of those"

    def bounded_value(self, name: str, value: Any) -> Any:
        bound = Several(100, _Scalar()) if isinstance(value, (list, tuple)) else _Scalar()
        return bound.bounded_value(name, value)


class Anything:
    """What no caller from outside can give."""

    bound_in_words = "anything"

    def bounded_value(self, name: str, value: Any) -> Any:
        return value


# --- the table -------------------------------------------------------------------------------

NAME: Final = Text(200)
PROPERTY: Final = Property()
WORD: Final = Text(100)
_LINE: Final = Text(500)
_WHICH: Final = Text(4_096, "Name a memory by its id, its path or its title.")  # as long as a path
QUESTION: Final = Text(10_000, "Ask with the words that matter.")
_MEMORY: Final = Text(
    LONG,
    "A memory is a note, not a file: store what matters in it, and name the file as its source.",
)
TASK: Final = Text(2_000, "A task is one line; write the rest below it, or into a note of its own.")
_TAGS: Final = Several(100, WORD, alone=True)
KINDS: Final = Several(20, WORD, alone=True)
_VECTOR: Final = Several(65_536, Number(-3.4e38, 3.4e38))
_SHARE: Final = Number(0, 1)
COUNT: Final = Whole(0, 1_000)
_FLAG: Final = Flag()
_DAY: Final = Day()
_ENTITY: Final = Fields({"name": NAME, "type": WORD, "relationship": WORD})
_ENTITIES: Final = Several(50, _ENTITY)
OURS: Final = Anything()

TABLE: Final[Mapping[str, Bound]] = {
    # which memories
    **dict.fromkeys(("memory_id", "id", "observation_id", "drawer_id", "note"), _WHICH),
    "ids": Several(100, _WHICH),
    **dict.fromkeys(("expected_version", "version", "wanted", "item"), WORD),
    # what they say
    **dict.fromkeys(("content", "text", "fact", "summary", "description"), _MEMORY),
    **dict.fromkeys(("append", "old_text", "new_text"), _MEMORY),
    **dict.fromkeys(("file_text", "old_str", "new_str", "insert_text"), _MEMORY),
    **dict.fromkeys(("title", "section"), Text(300)),
    **dict.fromkeys(("key", "reason", "provenance"), _LINE),
    **dict.fromkeys(("tags", "add", "remove", "add_tags", "remove_tags"), _TAGS),
    **dict.fromkeys(("related_entities", "add_entities", "related_entities.add"), _ENTITIES),
    "remove_entities": Several(50, NAME),
    "source": Fields(
        {"tool": _LINE, "file": _WHICH, "conversation_turn": Whole(0, 10**9)},
        also_text=_LINE,
    ),
    "metadata": Fields(),
    **dict.fromkeys(("vector", "embedding", "query_embedding"), _VECTOR),
    # whose they are, and where
    **dict.fromkeys(("project", "room", "palace", "tag", "user", "user_id"), WORD),
    "session_id": NAME,
    "folder": _WHICH,
    "made_by": _WHICH,
    "made_in": _WHICH,
    "into": _WHICH,
    **dict.fromkeys(("by", "since"), WORD),
    # of what kind
    **dict.fromkeys(("scope", "scopes", "type", "sections"), KINDS),
    **dict.fromkeys(("target_scope", "strategy", "order", "profile", "direction"), WORD),
    **dict.fromkeys(("kind", "side", "what", "target", "event", "detail", "command"), WORD),
    # questions
    **dict.fromkeys(("query", "q", "task", "task_description", "question"), QUESTION),
    **dict.fromkeys(("files", "files_in_context"), Several(100, _WHICH)),
    **dict.fromkeys(("start", "prefix", "value"), _WHICH),
    **dict.fromkeys(("entity", "subject"), _WHICH),
    "predicate": NAME,
    "object": Text(2_000),
    "relationship_type": WORD,
    "relationship": WORD,
    "name": NAME,
    **dict.fromkeys(("after", "before", "valid_from", "valid_to", "as_of"), _DAY),
    "older_than": _DAY,
    # numbers
    **dict.fromkeys(("importance", "min_importance", "confidence"), _SHARE),
    "limit": Whole(1, 1_000),
    "top_k": COUNT,
    "window": COUNT,
    "related": COUNT,
    "offset": Whole(0, 10**9),
    "insert_line": Whole(-(10**9), 10**9),
    "view_range": Several(10, Whole(-(10**9), 10**9)),
    "depth": Whole(1, 3),
    "max_tokens": Whole(100, 8_000),
    "quiet_seconds": Number(0, 3_600),
    "conversation_turn": Whole(0, 10**9),
    # yes or no
    **dict.fromkeys(("include_forgotten", "include_closed", "include_memories", "alias"), _FLAG),
    **dict.fromkeys(("multi", "own", "explain", "counted", "dry_run", "keep", "git"), _FLAG),
    **dict.fromkeys(("done", "operators"), _FLAG),
    **dict.fromkeys(("oldest_first", "leave_conflicts", "diffs", "secrets", "again"), _FLAG),
    **dict.fromkeys(
        ("force", "rebuild", "shown_whole", "keys_alone", "names_similar", "floor", "to_change"),
        _FLAG,
    ),
    # events and files
    "payload": Json(),
    **dict.fromkeys(("path", "old_path", "new_path"), FilePath()),
    **dict.fromkeys(("progress", "prose", "prompt", "session", "until"), OURS),
}


def bounded_client_name(given: str) -> str:
    """What a program calls itself, as a note may have it as its source."""
    plain = given[: 4 * WORD.most].encode(errors="replace").decode()
    return " ".join(c for c in plain.split() if c.isprintable())[: WORD.most]


def is_bound_for(bound: Bound, value: object) -> bool:
    """Whether the value is of the kind that the bound is about: names mean one thing here and
    another there, and then the operation decides."""
    if isinstance(bound, (Text, Day, FilePath)):
        return isinstance(value, str)
    if isinstance(bound, Several):
        objects = isinstance(value, list) and any(isinstance(each, dict) for each in value)
        return isinstance(value, list) and (objects <= isinstance(bound.each, Fields))
    if isinstance(bound, (Whole, Number)):
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if isinstance(bound, Fields):
        return isinstance(value, dict)
    return isinstance(bound, Json)


def bounded(**special: Bound) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """An operation whose arguments are within their bounds. None counts as not given."""

    def wrapped(operation: Callable[P, T]) -> Callable[P, T]:
        code = operation.__code__
        names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
        if unknown := [name for name in names if name not in TABLE]:
            raise TypeError(f"{operation.__name__} takes {unknown}: give each a bound in TABLE")
        bounds = {name: special.get(name) or TABLE[name] for name in names}
        places = names[: code.co_argcount - 1]
        usual = _defaults_of_limited_operation(operation, places)

        def one(name: str, value: Any) -> Any:
            if value is None and name in usual:
                return usual[name]
            return bounds[name].bounded_value(name, value) if name in bounds else value

        @functools.wraps(operation)
        def call(*args: P.args, **named: P.kwargs) -> T:
            itself, *given = args
            checked = map(one, (*places, *[""] * len(given)), given)
            kept = {name: one(name, value) for name, value in named.items()}
            return operation(itself, *checked, **kept)  # type: ignore[arg-type]

        call.bounds = bounds  # type: ignore[attr-defined]
        return call

    return wrapped


def _defaults_of_limited_operation(operation: Any, places: tuple[str, ...]) -> dict[str, Any]:
    behind = operation.__defaults__ or ()
    usual = dict(zip(places[len(places) - len(behind) :], behind, strict=True))
    return usual | (operation.__kwdefaults__ or {})
