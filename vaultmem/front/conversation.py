"""What a client and its server have said so far, as much of it as another server needs to go on:
the handshake, what is under way, what the client wants to be told."""

from __future__ import annotations

from vaultmem.front import plain_json, replies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from vaultmem.front.replies import Replies

LINE_BYTES = 16_000_000  # with its end, as the server has it; what is longer is refused unread
_MARK = b"\xef\xbb\xbf"  # of byte order, before the first letter
_ID_AT = len('{"jsonrpc":"2.0","id":')
_CANCELLED = "notifications/cancelled"
_INITIALIZED = "notifications/initialized"
_LISTEN = "subscriptions/listen"
_SUBSCRIBE, _UNSUBSCRIBE = "resources/subscribe", "resources/unsubscribe"


def key_of(id_: object) -> str:
    """1 and "1" are two ids; empty where the server's reply does not name it."""
    if isinstance(id_, bool) or not isinstance(id_, (str, int)):
        return ""
    return plain_json.written(_whole(id_) if isinstance(id_, str) else id_)


def _whole(text: str) -> str:
    """As the server writes half of a surrogate pair."""
    if text.isascii():
        return text
    return "".join("\ufffd" if "\ud800" <= each <= "\udfff" else each for each in text)


class Request:
    __slots__ = ("key", "line", "reads", "tool")

    def __init__(self, key: str, line: bytes, reads: bool, tool: str = "") -> None:
        self.key, self.line, self.reads, self.tool = key, line, reads, tool


class Conversation:
    """Lines come without their end. A client may give two requests the same id, and gets two
    replies."""

    def __init__(self, known: Replies, in_turn: bool) -> None:
        self._known = known
        self._in_turn = in_turn  # each request waits for the reply to the one before
        self._version = ""
        self._greeting: Request | None = None
        self._greeted: bytes = b""  # what the client says when it has heard the reply
        self._lasting: dict[str, Request] = {}  # subscriptions by what they are for
        self._under_way: list[Request] = []
        self.dropped: list[str] = []  # requests whose replies the client has, or does not await

    @property
    def is_something_under_way(self) -> bool:
        return bool(self._under_way)

    def know_read_only(self, read_only: bool) -> None:
        self._known.read_only = self._known.read_only or read_only

    # --- from the client -----------------------------------------------------------------

    def reply_at_once(self, line: bytes) -> tuple[bytes, bool]:
        """What the client can be told now, and whether the server has to hear the line at all."""
        message = _message_on(line)
        if message is None:
            return b"", True
        if "id" not in message:
            self._take_notification(message, line)
            return b"", True
        return self._take_request(message, line)

    def _take_notification(self, message: dict[str, Any], line: bytes) -> None:
        if message["method"] == _INITIALIZED:
            self._greeted = line
        elif message["method"] == _CANCELLED and isinstance(message.get("params"), dict):
            key = key_of(message["params"].get("requestId"))
            self._forget(key)
            self._lasting.pop(_LISTEN + key, None)

    def _take_request(self, message: dict[str, Any], line: bytes) -> tuple[bytes, bool]:
        id_, method = message["id"], message["method"]
        key = key_of(id_)
        if not key:
            return b"", True
        found = None
        if replies.is_plain_id(id_) and not (self._in_turn and self._under_way):
            found = self._known.to(message, self._version)
        if method == "initialize":
            self._greeting = Request(key, line, reads=True)
            self._version = found[1] if found else ""
            if found:
                self.dropped.append(key)
        if found is None:
            self._remember_request(message, key, line)
            return b"", True
        reply = f'{{"jsonrpc":"2.0","id":{key},"result":{found[0]}}}\n'
        return reply.encode(), method == "initialize"

    def _remember_request(self, message: dict[str, Any], key: str, line: bytes) -> None:
        method, params = message["method"], message.get("params")
        params = params if isinstance(params, dict) else {}
        tool = str(params.get("name")) if method == "tools/call" else ""
        request = Request(key, line, reads=tool not in self._known.writing, tool=tool)
        if method == _LISTEN:
            self._lasting[_LISTEN + key] = request
            return
        if method == "initialize":
            self._greeting = request
        elif method == _SUBSCRIBE:
            self._lasting[f"{params.get('uri')}"] = request
        elif method == _UNSUBSCRIBE:
            self._lasting.pop(f"{params.get('uri')}", None)
        self._under_way.append(request)

    def _forget(self, key: str) -> None:
        for number, request in enumerate(self._under_way):
            if request.key == key:
                del self._under_way[number]
                return

    # --- from the server -----------------------------------------------------------------

    def take_reply(self, line: bytes) -> bool:
        """Whether the client is to get this line."""
        if not line.startswith(b'{"jsonrpc":"2.0","id":'):
            return True
        text = line.decode()
        try:
            id_, end = plain_json.value_at(text, _ID_AT)
        except ValueError:
            return True
        if not text.startswith((',"result"', ',"error"'), end):
            return True  # the server asks the client
        key = key_of(id_)
        if key in self.dropped:
            self.dropped.remove(key)
            return False
        self._forget(key)
        self._lasting.pop(_LISTEN + key, None)
        return True

    # --- to another server ---------------------------------------------------------------

    def begin_anew(self) -> tuple[list[bytes], list[bytes]]:
        """The server is gone. What the next one has to hear, and what the client is told now:
        what may have written something is not asked twice."""
        said_before = [self._greeting] if self._greeting else []
        said_before += self._lasting.values()
        heard_before = [each for each in said_before if each not in self._under_way]
        self.dropped = [
            each.key for each in heard_before if self._lasting.get(_LISTEN + each.key) is not each
        ]
        lost = [
            self._known.lost(each.key, each.tool, each.line)
            for each in self._under_way
            if not each.reads
        ]
        self._under_way = [each for each in self._under_way if each.reads]
        again = [each.line for each in said_before]
        if self._greeted:
            again.insert(1 if self._greeting else 0, self._greeted)
        again += [each.line for each in self._under_way if each not in said_before]
        return again, lost


def _message_on(line: bytes) -> dict[str, Any] | None:
    """What the server would take for a request or a notification."""
    if len(line) >= LINE_BYTES:
        return None
    try:
        text = line.strip(plain_json.BLANK.encode()).removeprefix(_MARK).decode()
        message = plain_json.parsed(text)
    except ValueError:
        return None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return None
    return message if isinstance(message.get("method"), str) else None
