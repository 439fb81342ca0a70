"""ChatGPT's data export: conversations, each a tree of messages of which one path is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from vaultmem.transfer.sources.json_stream import values
from vaultmem.transfer.sources.opening import OpenedExport, parts
from vaultmem.transfer.sources.records import Record, TalkRecord, TalkTurn, mapping, text, when

EXPECTED: Final = "ChatGPT's export: the zip itself, its folder, or its conversations.json"
NAMES: Final = r"(?:[^/]*/)*conversations(?:-\d+)?\.json"  # large exports come in several
_ROLES: Final = ("user", "assistant", "tool")
_TALK: Final = ("text", "multimodal_text", "code", "execution_output")
_UNSEEN: Final = "messages that ChatGPT does not show (thoughts, searches, instructions)"


def read(reading: OpenedExport) -> Iterator[Record]:
    found = parts(reading.path, NAMES)
    reading.size += sum(part.size for part in found)
    for part in found:
        for number, item in enumerate(values(part, reading), 1):
            chat = mapping(item)
            name = text(chat.get("title")) or f"conversation {number}"
            if not isinstance(chat.get("mapping"), dict):
                reading.leave(name, "it is no conversation: it has no messages")
            elif said := tuple(_messages(chat, reading)):
                yield _talk(chat, said)
            else:
                reading.passed["conversations without a message"] += 1


def _talk(chat: Mapping[str, Any], said: tuple[TalkTurn, ...]) -> TalkRecord:
    first = next((each.at for each in said if each.at), None)
    id_ = text(chat.get("conversation_id")) or text(chat.get("id"))
    return TalkRecord(
        # One without an id is known by its first message, which stays when it goes on.
        id=id_.strip() or said[0].id,
        title=text(chat.get("title")).strip(),
        said=said,
        source="chatgpt",
        created=when(chat.get("create_time")) or first or when(chat.get("update_time")),
        updated=when(chat.get("update_time")),
    )


def _messages(chat: Mapping[str, Any], reading: OpenedExport) -> Iterator[TalkTurn]:
    for node in _path(chat):
        message = mapping(node.get("message"))
        if not message:
            continue
        kind = text(mapping(message.get("author")).get("role"))
        said = _text(message) if kind in _ROLES and not _hidden(message) else ""
        if not said.strip():
            reading.passed[_UNSEEN] += 1
            continue
        id_ = text(message.get("id")) or text(node.get("id"))
        yield TalkTurn(id_, kind, said, when(message.get("create_time")))


def _path(chat: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """From the root to the message that the person saw last. Trees may be cut or run in a
    circle: then it is the part that can be walked."""
    nodes: Mapping[str, Any] = chat["mapping"]
    at = text(chat.get("current_node"))
    if at not in nodes:
        at = _last_leaf(nodes)
    walked: dict[str, Mapping[str, Any]] = {}
    while at in nodes and at not in walked:
        walked[at] = mapping(nodes[at])
        at = text(walked[at].get("parent"))
    return list(walked.values())[::-1]


def _last_leaf(nodes: Mapping[str, Any]) -> str:
    """The newest message that nothing follows; of a mere circle the newest of all."""
    parents = {text(mapping(node).get("parent")) for node in nodes.values()}
    leaves = [name for name in nodes if name not in parents] or list(nodes)
    return max(leaves, key=lambda name: _time(mapping(nodes[name])), default="")


def _time(node: Mapping[str, Any]) -> float:
    found = when(mapping(node.get("message")).get("create_time"))
    return found.timestamp() if found else 0.0


def _hidden(message: Mapping[str, Any]) -> bool:
    meta = mapping(message.get("metadata"))
    return bool(meta.get("is_visually_hidden_from_conversation")) or message.get("weight") == 0


def _text(message: Mapping[str, Any]) -> str:
    content = mapping(message.get("content"))
    kind = text(content.get("content_type")) or "text"
    if kind not in _TALK:
        return ""
    given = content.get("parts")
    if not isinstance(given, list):
        return text(content.get("text"))
    return "\n".join(filter(None, map(_part, given)))


def _part(part: Any) -> str:
    if not isinstance(part, dict):
        return text(part)
    said = text(part.get("text"))  # what was spoken
    kind = text(part.get("content_type")).partition("_asset_pointer")[0]
    return said or (f"[{kind}]" if kind else "")
