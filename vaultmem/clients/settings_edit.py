"""A client's settings with vaultmem in them, and without: bytes to bytes, nothing is written here.

Every result is read again before it counts: what is ours must be there or gone, and all the
rest must be what it was.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from vaultmem.base import small_files
from vaultmem.base.own_program import PROGRAM
from vaultmem.clients import json_edit, toml_edit
from vaultmem.clients.catalogue import Client
from vaultmem.clients.our_entry import is_our_hook, starts_vaultmem
from vaultmem.errors import InvalidInput

_BOM: Final = "\ufeff"
_UNTOUCHED: Final = "Nothing was changed."


@dataclass(frozen=True, slots=True)
class CleanedSettings:
    """A file without us: as it is without what we alone filled, or with that left empty."""

    bare: bytes
    emptied: bytes
    ours: bool  # nothing else was ever in it: install made it

    @classmethod
    def of(cls, raw: bytes, bare: str, emptied: str, fresh: str) -> CleanedSettings:
        mark = raw[:3] if raw.startswith(_BOM.encode()) else b""
        ours = raw == fresh.encode(errors="replace")
        return cls(mark + bare.encode(), mark + emptied.encode(), ours)


# --- servers -------------------------------------------------------------------------------


def add_server(
    file: Path, raw: bytes, client: Client, wanted: Mapping[str, Any], name: str = PROGRAM
) -> bytes:
    """The entry gets what is wanted; what else a person put into it stays."""
    text = _settings_text(file, raw)
    data = read_settings(file, raw, client, name)
    there = _servers_in_settings(file, data, client).get(name)
    if there is not None and not starts_vaultmem(there):
        raise _foreign_entry_error(file, client, name)
    if there is not None and dict(there) | dict(wanted) == there:
        return raw
    expected = _settings_with(data, (client.under, name), {**(there or {}), **wanted})
    if client.toml:
        edited = toml_edit.set_toml_table(text, (client.under, name), wanted)
    elif not text.strip():
        edited = json_edit.fresh_json(expected)
    elif there is None:
        edited = json_edit.set_json_value(text, (client.under, name), dict(wanted))
    else:
        edited = text
        for key, value in wanted.items():
            edited = json_edit.set_json_value(edited, (client.under, name, key), value)
    by_hand = _fresh_settings(client, wanted, name)
    return _checked_settings_edit(file, raw, edited, client.toml, expected, by_hand=by_hand)


def remove_server(
    file: Path, raw: bytes, client: Client, name: str = PROGRAM
) -> CleanedSettings | None:
    """Nothing where there is nothing of ours."""
    data = read_settings(file, raw, client, name)
    servers = _servers_in_settings(file, data, client)
    if name not in servers:
        return None
    if not starts_vaultmem(servers[name]):
        raise _foreign_entry_error(file, client, name)
    text = _settings_text(file, raw)
    path = (client.under, name)
    if client.toml:
        bare = emptied = toml_edit.remove_toml_table(text, path)
    else:
        emptied = json_edit.remove_json_value(text, path)
        bare = json_edit.remove_json_value(emptied, path[:1]) if len(servers) == 1 else emptied
    expected = _settings_without(data, path if len(servers) > 1 else path[:1])
    _checked_settings_edit(file, raw, bare, client.toml, expected, empty_too=client.under)
    only_ours = servers[name].keys() <= {"type", "command", "args"}
    return CleanedSettings.of(
        raw, bare, emptied, _fresh_settings(client, servers[name], name) if only_ours else ""
    )


def _fresh_settings(client: Client, entry: Mapping[str, Any], name: str) -> str:
    """A file with nothing in it but the entry."""
    if client.toml:
        return toml_edit.set_toml_table("", (client.under, name), entry)
    return json_edit.fresh_json({client.under: {name: dict(entry)}})


def read_settings(file: Path, raw: bytes, client: Client, name: str = PROGRAM) -> dict[str, Any]:
    """What the settings say; a sentence about what is wrong where they cannot be read."""
    if not client.toml:
        return read_json_settings(file, raw, (client.under, name))
    try:
        return small_files.parse_toml(_settings_text(file, raw))
    except ValueError as error:
        raise _broken_settings_error(file, "TOML", str(error).rstrip(".")) from None


def servers_in(file: Path, raw: bytes, client: Client) -> dict[str, Mapping[str, Any]]:
    """The entries that start vaultmem, by their names."""
    found = _servers_in_settings(file, read_settings(file, raw, client), client)
    return {name: entry for name, entry in found.items() if starts_vaultmem(entry)}


def _servers_in_settings(file: Path, data: Mapping[str, Any], client: Client) -> Mapping[str, Any]:
    servers = data.get(client.under, {})
    if not isinstance(servers, Mapping):
        raise InvalidInput(
            f"In {file} {client.under!r} is not a group of servers. {_UNTOUCHED} "
            "Put that right, then try again."
        )
    return servers


def _foreign_entry_error(file: Path, client: Client, name: str) -> InvalidInput:
    return InvalidInput(
        f"{client.title} has an entry named {name!r} that does not start this program "
        f"({file}). It may be someone's own, so it stays. Rename or remove it, then try again."
    )


# --- hooks ---------------------------------------------------------------------------------


def add_hooks(file: Path, raw: bytes, wanted: Mapping[str, Mapping[str, Any]]) -> bytes:
    """Each event gets our group behind the others'; older ones of ours go."""
    text = _settings_text(file, raw)
    data = read_json_settings(file, raw, ("hooks",))
    found = our_hooks_in_settings(file, data)
    if found == {event: [dict(group)] for event, group in wanted.items()}:
        return raw
    left, _, expected = _settings_without_hooks(file, text, data) if found else (text, text, data)
    edited = left if left.strip() else "{}\n"
    for event, group in wanted.items():
        edited = json_edit.append_json_item(edited, ("hooks", event), dict(group))
        before = expected.get("hooks", {}).get(event, [])
        expected = _settings_with(expected, ("hooks", event), [*before, dict(group)])
    return _checked_settings_edit(file, raw, edited, False, expected)


def remove_hooks(file: Path, raw: bytes) -> CleanedSettings | None:
    data = read_json_settings(file, raw, ("hooks",))
    found = our_hooks_in_settings(file, data)
    if not found:
        return None
    bare, emptied, expected = _settings_without_hooks(file, _settings_text(file, raw), data)
    _checked_settings_edit(file, raw, bare, False, expected)
    return CleanedSettings.of(raw, bare, emptied, json_edit.fresh_json({"hooks": data["hooks"]}))


def our_hooks_in_settings(file: Path, data: Mapping[str, Any]) -> dict[str, list[Any]]:
    """For each event the groups that hold a hook of ours."""
    found = {
        event: [g for g in groups if any(map(is_our_hook, _hook_handlers_in_settings(g)))]
        for event, groups in _hook_events_in_settings(file, data).items()
    }
    return {event: groups for event, groups in found.items() if groups}


def _hook_events_in_settings(file: Path, data: Mapping[str, Any]) -> dict[str, list[Any]]:
    events = data.get("hooks", {})
    if not isinstance(events, dict) or not all(isinstance(v, list) for v in events.values()):
        raise InvalidInput(
            f"In {file} 'hooks' is not a group of lists. {_UNTOUCHED} "
            "Put that right, then try again."
        )
    return events


def _hook_handlers_in_settings(group: Any) -> list[Any]:
    handlers = group.get("hooks") if isinstance(group, dict) else None
    return handlers if isinstance(handlers, list) else []


def _settings_without_hooks(
    file: Path, text: str, data: Mapping[str, Any]
) -> tuple[str, str, Mapping[str, Any]]:
    """The text without our hooks, the same with what they leave empty, and what it says then."""
    emptied, plain = text, data
    for place in _hook_places_in_settings(file, data):
        emptied, plain = (
            json_edit.remove_json_value(emptied, place),
            _settings_without(plain, place),
        )
    bare = emptied
    for place in (*(("hooks", event) for event in our_hooks_in_settings(file, data)), ("hooks",)):
        if not _settings_value_at(plain, place):
            bare, plain = json_edit.remove_json_value(bare, place), _settings_without(plain, place)
    return bare, emptied, plain


def _hook_places_in_settings(
    file: Path, data: Mapping[str, Any]
) -> Iterator[tuple[json_edit.Step, ...]]:
    """From the back, so that places further ahead stay right."""
    for event, groups in _hook_events_in_settings(file, data).items():
        for at in reversed(range(len(groups))):
            handlers = _hook_handlers_in_settings(groups[at])
            ours = [n for n, handler in enumerate(handlers) if is_our_hook(handler)]
            if ours and len(ours) == len(handlers):
                yield "hooks", event, at
            else:
                yield from (("hooks", event, at, "hooks", n) for n in reversed(ours))


# --- reading and checking ------------------------------------------------------------------


def _settings_text(file: Path, raw: bytes) -> str:
    try:
        return raw.decode("utf-8").removeprefix(_BOM)
    except UnicodeDecodeError:
        raise InvalidInput(
            f"{file} is not written in UTF-8. {_UNTOUCHED} Save it as UTF-8, then try again."
        ) from None


def read_json_settings(file: Path, raw: bytes, path: tuple[str, ...]) -> dict[str, Any]:
    text = _settings_text(file, raw)
    if not text.strip():
        return {}
    try:
        root = json_edit.parse_jsonc(text)
    except json_edit.MalformedJson as error:
        raise _broken_settings_error(file, "JSON", f"{error.where}: {error.what}") from None
    if not isinstance(root.plain, dict):
        raise _broken_settings_error(file, "settings", "it holds no object")
    if json_edit.is_key_repeated(root, path):
        raise _broken_settings_error(
            file, "settings", f"{path[0]!r} or what is in it is there twice"
        )
    plain: dict[str, Any] = root.plain
    return plain


def _broken_settings_error(file: Path, kind: str, why: str) -> InvalidInput:
    return InvalidInput(
        f"{file} cannot be read as {kind}: {why}. {_UNTOUCHED} Put that right, then try again."
    )


def is_plain_json(raw: bytes) -> bool:
    """Without comments and trailing commas."""
    try:
        json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return False
    return True


def _checked_settings_edit(
    file: Path,
    raw: bytes,
    edited: str,
    toml: bool,
    expected: Mapping[str, Any],
    *,
    empty_too: str = "",
    by_hand: str = "",
) -> bytes:
    parse: Callable[[str], Any] = (
        small_files.parse_toml if toml else lambda text: json_edit.parse_jsonc(text).plain
    )
    try:
        found = parse(edited) if edited.strip() else {}
    except ValueError:
        found = None
    if found != expected and found != {**expected, empty_too: {}}:
        raise InvalidInput(
            f"{file} is written in a way that cannot be edited without touching the rest. "
            f"{_UNTOUCHED} Make the change by hand{':' if by_hand else '.'}\n\n{by_hand}".rstrip()
        )
    mark = raw[:3] if raw.startswith(_BOM.encode()) else b""
    return mark + edited.encode()


def _settings_value_at(data: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        data = data.get(step) if isinstance(data, dict) else None
    return data


def _settings_with(data: Mapping[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    inner = value if len(path) == 1 else _settings_with(data.get(path[0], {}), path[1:], value)
    return {**data, path[0]: inner}


def _settings_without(data: Any, path: Sequence[json_edit.Step]) -> Any:
    step, rest = path[0], path[1:]
    inner = _settings_without(data[step], rest) if rest else None
    if isinstance(data, list):
        return [inner if n == step else each for n, each in enumerate(data) if rest or n != step]
    return {key: inner if key == step else data[key] for key in data if rest or key != step}
