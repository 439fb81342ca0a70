"""Dialects: the surfaces of other memory systems, served literally on a vault.

A dialect is one thin module: it declares names, schemas and shapes as that system's document
gives them, and turns each call into an operation of the vault. It stores and searches nothing
itself. `frame` serves it over the same transports as the native surface.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vaultmem.errors import InvalidInput
from vaultmem.surfaces import answers, arguments
from vaultmem.surfaces.dialects.variables import dialect_variables

if TYPE_CHECKING:
    from vaultmem.operations.caller import Caller
    from vaultmem.surfaces.http.routes import Rest
    from vaultmem.surfaces.mcp.followed_vault import MakeLife
    from vaultmem.vault import Vault

NAMES: Final = ("evolution", "memory-mcp", "surreal", "trusty", "trae", "memory-tool")
NATIVE: Final = "native"  # our own surface, which is none
ALL: Final = (NATIVE, *NAMES)
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603

Given = Mapping[str, Any]


class DialectError(Exception):
    """Answered as a JSON-RPC error with exactly this code and text."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


@dataclass(frozen=True)
class ServerOptions:
    """How the server was started: the flags as given, empty where they were not."""

    user: str = ""
    project: str = ""
    session: str = ""
    palace: str = ""
    read_only: bool = False
    over_http: bool = False


@dataclass(frozen=True)
class ClientConnection:
    """What a client says about itself when it connects."""

    client: str = ""
    session: str = ""  # clientInfo.extra.sessionId
    over_http: bool = False
    number: int = 0  # 0 where a protocol has no connections


@dataclass(frozen=True)
class DialectTool:
    listing: Mapping[str, Any]  # literally as tools/list shows it
    run: Callable[[Any, Given], Any]  # (vault, arguments) -> what `success` is given
    writes: bool = False
    connects: bool = False  # it says something about the connection

    @property
    def name(self) -> str:
        return str(self.listing["name"])

    @property
    def schema(self) -> Mapping[str, Any]:
        schema: Mapping[str, Any] = self.listing["inputSchema"]
        return schema


def tool_listing(
    name: str, description: str, takes: Mapping[str, Any], *needs: str
) -> dict[str, Any]:
    """As most systems list a tool: what it needs is left out where it needs nothing."""
    required = {"required": list(needs)} if needs else {}
    schema = {"type": "object", "properties": takes, **required}
    return {"name": name, "description": description, "inputSchema": schema}


def dialect_tool(
    run: Callable[[Any, Given], Any], *listed: Any, writes: bool = False
) -> DialectTool:
    return DialectTool(tool_listing(*listed), run, writes)


def picked_fields(result: object, *names: str) -> dict[str, Any]:
    """Of a result, what another system shows under the same names."""
    return {name: getattr(result, name) for name in names}


def count_given(given: Given, name: str, usual: int) -> int:
    return min(1000, max(1, int(given.get(name) or usual)))


@dataclass(frozen=True)
class Resources:
    listing: Callable[[Any, str | None], Mapping[str, Any]]  # (vault, cursor) -> the result
    read: Callable[[Any, str], tuple[str, str]]  # (vault, uri) -> media type and text
    templates: Sequence[Mapping[str, Any]] = ()
    subscribe: bool = False


@dataclass(frozen=True)
class DialectCall:
    """A call as it came, before anything was opened for it."""

    tool: DialectTool
    given: Given
    open_vault: Callable[[], Vault]  # as whoever calls may see it
    meta: Mapping[str, Any]
    connected: ClientConnection
    caller: Caller | None = None  # where the request itself says who it is

    @property
    def client(self) -> str:
        return self.connected.client


class Dialect:
    """What the frame asks of a dialect; most of it has a usual answer."""

    name = ""
    server_info: Mapping[str, Any] = {}  # literally, in the answer to initialize
    capabilities: Mapping[str, Any] = {}  # literally, too
    instructions = ""
    tools: Sequence[DialectTool] = ()
    resources: Resources | None = None
    routes: Sequence[Rest] = ()  # with --http; each takes the place of the native one on its path
    settings: Mapping[str, Any] = {}  # what the vault's settings are where nobody set them
    http_beside_stdio = False  # else --http means HTTP alone
    answers_bad_lines = True  # False: a line that is not JSON is told to stderr alone
    grace_seconds = 10.0  # for what still runs when the end comes

    def __init__(self, started: ServerOptions) -> None:
        self.started = started
        self.variables = dialect_variables()

    # --- who asks ------------------------------------------------------------------------

    def caller_of_connection(self, known: Caller, connected: ClientConnection) -> Caller:
        """Who speaks on a connection. No argument of a call ever reaches this."""
        return known

    # --- calls ---------------------------------------------------------------------------

    def checked_call(self, tool: DialectTool, given: Given) -> Given:
        """The arguments that the tool knows, checked; unknown ones are ignored."""
        known = {name: given[name] for name in tool.schema["properties"] if name in given}
        return arguments.checked_arguments(tool.name, tool.schema, known)

    def run_call(self, asked: DialectCall) -> Any:
        """In a thread; what comes back is given to `success_result`."""
        return asked.tool.run(asked.open_vault(), asked.given)

    def list_resources(
        self, open_vault: Callable[[], Vault], cursor: str | None
    ) -> Mapping[str, Any]:
        assert self.resources is not None
        return self.resources.listing(open_vault(), cursor)

    def read_resource(self, uri: str, asked: DialectCall) -> tuple[str, str]:
        assert self.resources is not None
        return self.resources.read(asked.open_vault(), uri)

    def success_result(self, tool: DialectTool, value: Any) -> dict[str, Any]:
        """The result of a call: one line of JSON text."""
        text = answers.answer_text(value)
        return answers.text_result(text, is_error=False)

    def failure_result(self, tool: str, error: Exception) -> dict[str, Any]:
        """The result of a call that failed; or raise a Refusal."""
        text = answers.answer_text(answers.error_answer(error))
        return answers.text_result(text, is_error=True)

    def unknown_tool(self, name: str) -> dict[str, Any]:
        raise DialectError(INVALID_PARAMS, f"Unknown tool: {name[:100]}")

    def unknown_method(self, method: str) -> str:
        return f"Method not found: {method[:100]}"

    # --- life ----------------------------------------------------------------------------

    has_vault = True  # False: the memories are on another server

    def place_to_serve(self, named: str) -> Path | None:
        """The vault to serve, where the dialect's own configuration says so; it is made where
        it is not there. `named` is what the command line says."""
        return None

    def life_without_vault(self) -> MakeLife | None:
        """Where the memories are elsewhere."""
        return None

    def server_made(self, open_vault: Callable[[], Vault], root: Path, session: str) -> None:
        """A server was made that opens its vault so, for whoever started it."""

    def server_stopping(self) -> None:
        """The server ends, and the vault can still be asked."""

    def server_stopped(self) -> None:
        """The vault is closed."""

    def vault_opened(self, vault: Vault) -> None:
        """The vault was opened, before anything is asked of it."""

    def connection_after(self, connected: ClientConnection, given: Given) -> ClientConnection:
        """What is known of a connection after a call of a tool that `connects`."""
        return connected

    def vault_served(self, vault: Vault, connected: ClientConnection) -> None:
        """A connection is about to ask the vault something; the vault is as that client sees it."""

    def client_disconnected(self, vault: Vault) -> None:
        """A client of the handshake era left; the vault is as that client saw it."""

    def connection_ended(self, vault: Vault, connected: ClientConnection) -> None:
        self.client_disconnected(vault)

    def server_ended(self, vault: Vault) -> None:
        """The server ends; the vault is about to be closed."""


def require_known_dialect(name: str) -> None:
    if name not in ALL:
        raise InvalidInput(f"There is no dialect {name!r}; there are: {', '.join(ALL)}.")


def load_dialect(name: str, started: ServerOptions) -> Dialect:
    """The dialect `memory-mcp` is the class `MemoryMcpDialect` of the module `memory_mcp`."""
    require_known_dialect(name)
    module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    made: Dialect = getattr(module, f"{name.title().replace('-', '')}Dialect")(started)
    return made
