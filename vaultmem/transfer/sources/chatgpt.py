"""ChatGPT's data export: conversations, each a tree of messages of which one path is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from vaultmem.transfer.sources.json_stream import export_items
from vaultmem.transfer.sources.opening import OpenedExport
from vaultmem.transfer.sources.records import (
    Record,
    TalkRecord,
    TalkTurn,
    mapping_value,
    moment_value,
    text_value,
)

EXPECTED: Final = "ChatGPT's export: the zip itself, its folder, or its conversations.json"
NAMES: Final = r"(?:[^/]*/)*conversations(?:-\d+)?\.json"  # large exports come in several
_ROLES: Final = ("user", "assistant", "tool")
_TALK: Final = ("text", "multimodal_text", "code", "execution_output")
_UNSEEN: Final = "messages that ChatGPT does not show (thoughts, searches, instructions)"


def read_export(reading: OpenedExport) -> Iterator[Record]:
    for number, item in export_items(reading, NAMES):
        chat = mapping_value(item)
        name = text_value(chat.get("title")) or f"conversation {number}"
        if not isinstance(chat.get("mapping"), dict):
            reading.leave(name, "it is no conversation: it has no messages")
        elif said := tuple(_chatgpt_turns(chat, reading)):
            yield _chatgpt_talk(chat, said)
        else:
            reading.passed["conversations without a message"] += 1


def _chatgpt_talk(chat: Mapping[str, Any], said: tuple[TalkTurn, ...]) -> TalkRecord:
    first = next((each.at for each in said if each.at), None)
    updated = moment_value(chat.get("update_time"))
    id_ = text_value(chat.get("conversation_id")) or text_value(chat.get("id"))
    return TalkRecord(
        # One without an id is known by its first message, which stays when it goes on.
        id=id_.strip() or said[0].id,
        title=text_value(chat.get("title")).strip(),
        said=said,
        source="chatgpt",
        created=moment_value(chat.get("create_time")) or first or updated,
        updated=updated,
    )


def _chatgpt_turns(chat: Mapping[str, Any], reading: OpenedExport) -> Iterator[TalkTurn]:
    for node in _chatgpt_path(chat):
        message = mapping_value(node.get("message"))
        if not message:
            continue
        kind = text_value(mapping_value(message.get("author")).get("role"))
        said = (
            _chatgpt_text(message) if kind in _ROLES and not _is_hidden_in_chatgpt(message) else ""
        )
        if not said.strip():
            reading.passed[_UNSEEN] += 1
            continue
        id_ = text_value(message.get("id")) or text_value(node.get("id"))
        yield TalkTurn(id_, kind, said, moment_value(message.get("create_time")))


def _chatgpt_path(chat: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """From the root to the message that the person saw last. Trees may be cut or run in a
    circle: then it is the part that can be walked."""
    nodes: Mapping[str, Any] = chat["mapping"]
    at = text_value(chat.get("current_node"))
    if at not in nodes:  # then the newest that nothing follows; of a mere circle the newest of all
        parents = {text_value(mapping_value(node).get("parent")) for node in nodes.values()}
        leaves = [name for name in nodes if name not in parents] or list(nodes)
        at = max(leaves, key=lambda name: _chatgpt_time(mapping_value(nodes[name])), default="")
    walked: dict[str, Mapping[str, Any]] = {}
    while at in nodes and at not in walked:
        walked[at] = mapping_value(nodes[at])
        at = text_value(walked[at].get("parent"))
    return list(walked.values())[::-1]


def _chatgpt_time(node: Mapping[str, Any]) -> float:
    found = moment_value(mapping_value(node.get("message")).get("create_time"))
    return found.timestamp() if found else 0.0


def _is_hidden_in_chatgpt(message: Mapping[str, Any]) -> bool:
    meta = mapping_value(message.get("metadata"))
    return bool(meta.get("is_visually_hidden_from_conversation")) or message.get("weight") == 0


def _chatgpt_text(message: Mapping[str, Any]) -> str:
    content = mapping_value(message.get("content"))
    kind = text_value(content.get("content_type")) or "text"
    if kind not in _TALK:
        return ""
    given = content.get("parts")
    if not isinstance(given, list):
        return text_value(content.get("text"))
    return "\n".join(filter(None, map(_chatgpt_part, given)))


def _chatgpt_part(part: Any) -> str:
    if not isinstance(part, dict):
        return text_value(part)
    said = text_value(part.get("text"))  # what was spoken
    kind = text_value(part.get("content_type")).partition("_asset_pointer")[0]
    return said or (f"[{kind}]" if kind else "")
