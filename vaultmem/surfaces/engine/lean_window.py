"""A window of the native surface: what clients mostly say is answered without the MCP library,
which takes half a second to load and milliseconds for each message. It hears the rest."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from vaultmem.front.replies import NATIVE, Replies
from vaultmem.surfaces import answers
from vaultmem.surfaces.engine import plain_messages
from vaultmem.surfaces.engine.call_threads import CallThreads, Work
from vaultmem.surfaces.mcp import hook_tool, resources, tool_calls, tools
from vaultmem.surfaces.mcp.lines import BLANK
from vaultmem.surfaces.mcp.schemas import Tool

if TYPE_CHECKING:
    from vaultmem.surfaces.engine.callers import Visitor
    from vaultmem.surfaces.engine.rest_of_window import RestOfWindow
    from vaultmem.surfaces.engine.shared_vault import SharedVault, WindowVault
    from vaultmem.surfaces.serving import Serving
    from vaultmem.vault import Vault

log = logging.getLogger("vaultmem")

_INVALID_PARAMS, _INTERNAL_ERROR = -32602, -32603
_THEIR_FAULT: Final = ("not_found", "invalid_input", "outside_vault")


class _UnderWay:
    __slots__ = ("is_cancelled",)

    def __init__(self) -> None:
        self.is_cancelled = False


class LeanWindow:
    """`begin_library` is given what a server of the library has to hear first, and the ids of what
    was answered of it; it returns who hears the rest."""

    def __init__(
        self,
        visitor: Visitor,
        how: Serving,
        life: Callable[[Callable[[], None]], WindowVault],
        shared: SharedVault,
        begin_library: Callable[[list[bytes], list[Any]], RestOfWindow],
    ) -> None:
        self._visitor, self._shared = visitor, shared
        self.life = life(self.tell_changed)
        self._begin_library = begin_library
        self._toolsets = tools.parse_toolsets(how.given["toolsets"])
        self._read_only = bool(how.settings["read_only"])
        self._replies = Replies(NATIVE, self._toolsets, self._read_only)
        self._threads = CallThreads(visitor.lines(), self._take)
        self._version = ""  # that a handshake agreed upon
        self._client = ""
        self._said: list[bytes] = []  # the handshake
        self._greeting_id: Any = None
        self._is_greeted = False
        self._library: RestOfWindow | None = None
        self._under_way: dict[str, _UnderWay] = {}

    def serve(self, grace: float) -> None:
        self._threads.run(grace)

    def end(self) -> None:
        self._threads.end()

    # --- what the client says ----------------------------------------------------------------

    def _take(self, line: bytes) -> Work | None:
        if not line.strip(BLANK):
            return None
        message = plain_messages.plain_message(line)
        if message is None:
            self._leave_to_library(line)
            return None
        if "id" not in message:
            self._take_notification(message, line)
            return None
        method, id_ = message["method"], message["id"]
        if method == "initialize":
            return self._take_greeting(message, line)
        if self._version:
            if found := self._replies.to(message, self._version):
                return partial(self._send, plain_messages.known_reply_line(id_, found[0]))
            if work := self._work_for(method, message):
                return self._begun(id_, work)
        self._leave_to_library(line)
        return None

    def _take_greeting(self, message: dict[str, Any], line: bytes) -> Work | None:
        found = self._replies.to(message, "")
        if found is None or self._said or self._library:
            self._leave_to_library(line)
            return None
        self._version, self._said, self._greeting_id = found[1], [line], message["id"]
        self._client = message["params"]["clientInfo"]["name"]
        self._visitor.know_client(self._client)
        self._send(plain_messages.known_reply_line(message["id"], found[0]))
        self.life.start_following()
        return None

    def _take_notification(self, message: dict[str, Any], line: bytes) -> None:
        method = message["method"]
        if method == "notifications/cancelled":
            id_ = plain_messages.cancelled_id(message)
            if id_ is None:
                self._leave_to_library(line)
                return
            if found := self._under_way.get(str(id_)):
                found.is_cancelled = True
        elif method == "notifications/initialized" and self._library is None:
            if message.get("params") or not self._version or self._is_greeted:
                self._leave_to_library(line)
                return
            self._is_greeted = True
            self._said.append(line)
        if self._library is not None:
            self._library.add(line)

    def _leave_to_library(self, line: bytes) -> None:
        """It hears the handshake first; its answer to that is not passed on."""
        if self._library is None:
            answered = [self._greeting_id] if self._said else []
            self._library = self._begin_library(self._said, answered)
        self._library.add(line)

    # --- what is answered --------------------------------------------------------------------

    def _work_for(self, method: str, message: dict[str, Any]) -> Callable[[], bytes] | None:
        id_ = message["id"]
        if method == "tools/call":
            call = plain_messages.tool_call(message)
            if call is None or call.name == tools.CONSOLIDATE:  # it may ask the client's model
                return None
            if call.name == hook_tool.NAME:
                return partial(self._answer_event, id_, call.given)
            return partial(self._answer_call, id_, call)
        if method == "resources/list":
            cursor = plain_messages.listing_cursor(message)
            return partial(self._answer_list, id_, *cursor) if cursor else None
        if method == "resources/templates/list" and not message.get("params"):
            made = {"resourceTemplates": resources.TEMPLATES}
            result = plain_messages.listing_result(made, "resourceTemplates")
            return lambda: plain_messages.reply_line(id_, result)
        return None

    def _begun(self, id_: Any, work: Callable[[], bytes]) -> Work:
        mine = self._under_way[str(id_)] = _UnderWay()
        library = self._library

        def run() -> None:
            try:
                if library is not None:
                    library.await_heard()
                line = work()
            finally:
                if self._under_way.get(str(id_)) is mine:
                    del self._under_way[str(id_)]
            if not mine.is_cancelled:  # who cancels does not await an answer
                self._send(line)
            self.life.start_following()

        return run

    def _send(self, line: bytes) -> None:
        try:
            self._visitor.send(line)
        except OSError:
            log.debug("the client no longer reads")
            self._threads.end()

    def _vault(self) -> Vault:
        return tool_calls.view_for_client(
            self.life.vault, lambda vault: vault.caller, self._client, read_only=self._read_only
        )

    def _answer_call(self, id_: Any, call: plain_messages.ToolCall) -> bytes:
        tool = tools.BY_NAME.get(call.name)
        if tool is None:
            message = tool_calls.no_such_tool(call.name)
            return plain_messages.error_line(id_, _INVALID_PARAMS, message)
        try:
            result = self._result(tool, call.given)
        except Exception as error:  # the edge: an agent gets a sentence, never a traceback
            result = answers.failure_answer(error)
        return plain_messages.reply_line(id_, plain_messages.tool_result(result))

    def _result(self, tool: Tool, given: dict[str, Any]) -> dict[str, Any]:
        checked = tool_calls.checked_call(tool, given, self._toolsets, read_only=self._read_only)
        turns = self._shared.writing_turns if tool.writes else self._shared.turns
        with turns.turn():
            return tool_calls.answer_of(tool, self._vault(), checked)

    def _answer_list(self, id_: Any, cursor: str | None) -> bytes:
        try:
            with self._shared.turns.turn():
                made = resources.list_resources(self._vault(), cursor)
        except Exception as error:  # the edge
            told = answers.error_answer(error)
            code = _INVALID_PARAMS if told["error"] in _THEIR_FAULT else _INTERNAL_ERROR
            return plain_messages.error_line(id_, code, told["message"], told)
        return plain_messages.reply_line(id_, plain_messages.listing_result(made, "resources"))

    def _answer_event(self, id_: Any, given: dict[str, Any]) -> bytes:
        text = hook_tool.said_in_time(self._vault, given)
        return plain_messages.reply_line(
            id_, plain_messages.tool_result(hook_tool.hook_result(text))
        )

    # --- what the client is told -------------------------------------------------------------

    def tell_changed(self) -> None:
        """From any thread. Once the library hears the client, it tells it as well."""
        if self._is_greeted and self._library is None:
            self._shared.tell_soon(self._tell)

    def _tell(self) -> None:
        self._visitor.tell_client(plain_messages.LIST_CHANGED)
