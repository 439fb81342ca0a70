"""The SurrealDB memory plugin: its ten tools and four resources, on a vault or another server.

Its document gives four modes of deployment, a Markdown file that configures it, and what happens
while the store cannot be reached; all of that is here, and nowhere else in the program.
"""

from __future__ import annotations

import contextlib
import contextvars
import datetime as dt
import logging
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ulid_transform import ulid_now

from vaultmem.errors import InvalidInput, NotFound, StorageFull, Unavailable
from vaultmem.surfaces import answers
from vaultmem.surfaces.dialects import (
    INVALID_PARAMS,
    ClientConnection,
    Dialect,
    DialectCall,
    DialectError,
    DialectTool,
    Resources,
    ServerOptions,
)
from vaultmem.surfaces.dialects.surreal import memories, overviews
from vaultmem.surfaces.dialects.surreal.calls import (
    SERVER_NAME,
    Refusal,
    SurrealCall,
    SurrealStore,
    Unreachable,
)
from vaultmem.surfaces.dialects.surreal.configuration import (
    path_of_database,
    remote_address,
    surreal_configuration,
)
from vaultmem.surfaces.dialects.surreal.connection import StoreConnection
from vaultmem.surfaces.dialects.surreal.schemas import RESOURCES, TOOLS
from vaultmem.surfaces.dialects.surreal.session_starts import note_session_start
from vaultmem.surfaces.dialects.surreal.shapes import (
    plain_surreal_session,
    pretty_surreal_json,
)
from vaultmem.surfaces.dialects.surreal.vault_store import SessionFull, VaultStore

if TYPE_CHECKING:
    from vaultmem.operations.caller import Caller
    from vaultmem.surfaces.dialects.surreal.remote import RemoteServer
    from vaultmem.surfaces.mcp.followed_vault import Life, MakeLife, Opened
    from vaultmem.upkeep.passing_vault import PassingVault
    from vaultmem.vault import Vault

log = logging.getLogger("vaultmem")

_READING: Final = frozenset(
    ("recall_memories", "search_knowledge_graph", "get_memory_status", "get_memory_context")
)
_MODES: Final = {
    "embedded-memory": "in-memory",
    "embedded-file": "file-backed",
    "local-server": "local-server",
    "remote": "remote",
    "": "file-backed",
}
_AT_ONCE: Final = 8  # reads that work at the same time
_WORDS_FIRST: Final = 0.5  # of the time limit, after which words alone are looked for as well


class SurrealDialect(Dialect):
    name = "surreal"
    server_info: Mapping[str, Any] = {"name": SERVER_NAME, "version": "0.1.0"}
    capabilities: Mapping[str, Any] = {"tools": {}, "resources": {"subscribe": True}}

    def __init__(self, started: ServerOptions) -> None:
        super().__init__(started)
        self.configuration = surreal_configuration()
        self.settings: dict[str, Any] = {"sessions.keep": True}  # a database keeps them too
        if (model := self.configuration.embedding_model) and not self.is_remote:
            self.settings["model"] = model
        self._began = dt.datetime.now(dt.UTC).replace(microsecond=0)
        self._run: dict[str, Any] = {
            **memories.RUN,
            **overviews.RUN,
            "get_memory_status": partial(overviews.surreal_status, self._began),
        }
        self.resources = Resources(
            listing=lambda vault, cursor: {},
            read=partial(overviews.read_surreal_resource, self._began),
            subscribe=True,
        )
        self.tools = tuple(
            DialectTool(listing, self._run[listing["name"]], listing["name"] not in _READING)
            for listing in TOOLS
        )
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="surreal-read")
        self.has_vault = not self.is_remote
        self._is_told = False
        self._folder = ""
        self._changed: Callable[[], None] = lambda: None
        self._session = ""
        self._passing: PassingVault | None = None
        self._vaults = VaultStore(self._run, self.configuration.most_of_session)
        self._remote: RemoteServer | None = self._remote_server() if self.is_remote else None
        self._connection: StoreConnection | None = None

    # --- where the memories are --------------------------------------------------------------

    @property
    def is_remote(self) -> bool:
        return self.configuration.mode == "remote"

    def _remote_server(self) -> RemoteServer:
        from vaultmem.surfaces.dialects.surreal.remote import RemoteServer

        made = self.configuration
        if not made.remote_url:
            raise InvalidInput(
                "The mode remote needs the address of a vaultmem server: set MEMORY_REMOTE_URL, or "
                "remote_url in the configuration file."
            )
        if self.started.user or self.started.project:
            raise InvalidInput(
                "In the mode remote the other server says whose memories these are: its token "
                "names the user and the project. Leave --user and --project out."
            )
        return RemoteServer(remote_address(made.remote_url), made.token)

    def place_to_serve(self, named: str) -> Path | None:
        """The folder to serve, where the configuration says so."""
        self._tell_configuration(named)
        mode = self.configuration.mode
        if mode == "embedded-memory":
            from vaultmem.upkeep.passing_vault import PassingVault

            self._passing = PassingVault()
            return self._passing.root
        if mode == "remote":
            return self._store_connection().queue.folder
        if self.configuration.db_path and not named and mode != "local-server":
            return path_of_database(self.configuration)
        return None

    def _tell_configuration(self, named: str) -> None:
        made, self._is_told = self.configuration, True
        for warning in made.warnings:
            log.warning("%s", warning)
        for remark in made.remarks:
            log.info("%s", remark)
        if named and made.mode in ("embedded-memory", "remote"):
            log.warning("--vault %s has no effect in the mode %s.", named, made.mode)
        elif made.db_path and (named or made.mode == "local-server"):
            log.warning(
                "The database path %s has no effect: %s names the vault.",
                made.db_path,
                "--vault" if named else "the mode local-server",
            )
        if self._remote is not None and self._remote.shows_password:
            log.warning(
                "The token for %s goes over the network unencrypted; use https.",
                self._remote.place,
            )
        if made.mode:
            log.info("Deployment mode: %s", made.mode)

    def caller_of_connection(self, known: Caller, connected: ClientConnection) -> Caller:
        if self.started.session:
            return known
        named = connected.session if connected.over_http else ""
        resumed = (named or self.variables.resume_session).removeprefix("session:")
        return replace(known, session=resumed or known.session)

    # --- calls -------------------------------------------------------------------------------

    def run_call(self, asked: DialectCall) -> Any:
        tool, writes = asked.tool.name, asked.tool.writes
        key = str(asked.meta.get("vaultmem/key", ""))[:100] if writes else ""
        call = SurrealCall(
            tool,
            asked.given,
            key=key or (ulid_now() if writes else ""),
            session=self._session_of(asked),
            client=asked.client,
            caller=_bound_caller(asked.caller),
        )
        connection = self._store_connection()
        do = partial(self._carry_out, call, asked.open_vault, keyed=bool(key))
        try:
            if writes:
                return connection.write(call, do)
            found = self._read_in_time(call, do, asked.open_vault)
            return self._status_of_connection(found) if tool == "get_memory_status" else found
        except Refusal as error:
            return error
        except Unreachable as error:
            raise Unavailable(str(error)) from None

    def _carry_out(
        self, call: SurrealCall, open_vault: Callable[[], Vault], *, keyed: bool
    ) -> dict[str, Any]:
        if self._remote is not None:
            done = self._remote.perform(call)
            if call.key:
                self._changed()
            return done
        once = call if keyed else call._replace(key="")
        return dict(answers.plain_answer(self._vaults.perform_for(once, open_vault)))

    def _session_of(self, asked: DialectCall) -> str:
        named = asked.connected.session if asked.connected.over_http else ""
        if asked.caller is not None and not self.is_remote:
            return self.caller_of_connection(asked.caller, asked.connected).session
        return (named or self._session).removeprefix("session:")

    def _store_connection(self) -> StoreConnection:
        if self._connection is None:
            store: SurrealStore = self._remote or self._vaults
            place = self._remote.place if self._remote else self._folder or "vault"
            self._connection = StoreConnection(store, place, near=self._remote is None)
        return self._connection

    # --- reads that take too long --------------------------------------------------------------

    def _read_in_time(
        self, call: SurrealCall, do: Callable[[], Any], open_vault: Callable[[], Vault]
    ) -> dict[str, Any]:
        """Whatever is there when the time is over."""
        connection, seconds = self._store_connection(), self.configuration.query_seconds
        whole = self._aside(lambda: connection.read(call, do))
        with contextlib.suppress(TimeoutError):
            return whole.result(seconds * _WORDS_FIRST)
        words: Future[dict[str, Any]] | None = None
        if call.tool == "recall_memories" and self._remote is None:
            by_words = call._replace(given={**call.given, "strategy": "keyword"})
            words = self._aside(partial(self._carry_out, by_words, open_vault, keyed=False))
        with contextlib.suppress(TimeoutError):
            return whole.result(seconds * (1 - _WORDS_FIRST))
        told = connection.timed_out(call)
        if words is not None and words.done() and words.exception() is None:
            return words.result() | {n: told[n] for n in ("warning", "warnings")}
        return told

    def _aside(self, work: Callable[[], dict[str, Any]]) -> Future[dict[str, Any]]:
        """Threads that stay: each has its own connection to the index."""
        return self._threads.submit(contextvars.copy_context().run, work)

    def _status_of_connection(self, told: dict[str, Any]) -> dict[str, Any]:
        """get_memory_status says how the memories are reached, whether they are or not."""
        connection = self._store_connection()
        known = dict(told.get("connection") or {})
        mode = _MODES[self.configuration.mode]
        shown = {"status": "connected", **known, "mode": mode, "path": connection.place}
        if connection.reason or told.get("degraded"):
            shown["status"] = "degraded"
        if not known:
            shown["uptime_seconds"] = int((dt.datetime.now(dt.UTC) - self._began).total_seconds())
            told = told | {"current_session": {"session_id": plain_surreal_session(self._session)}}
        return {**told, "connection": shown, **connection.told_status()}

    # --- resources -----------------------------------------------------------------------------

    def list_resources(self, open_vault: Callable[[], Vault], cursor: str | None) -> Any:
        return {"resources": [dict(each) for each in RESOURCES]}

    def read_resource(self, uri: str, asked: DialectCall) -> tuple[str, str]:
        connection = self._store_connection()
        if not any(each["uri"] == uri for each in RESOURCES):
            raise NotFound(f"There is no resource {uri}; resources/list names those there are.")
        if uri == "memory://status":
            tool = next(tool for tool in self.tools if tool.name == "get_memory_status")
            told = self.run_call(replace(asked, tool=tool))
            return "application/json", pretty_surreal_json(told)
        if self._remote is None:
            return super().read_resource(uri, asked)
        if not connection.reason:
            try:
                return self._remote.read(uri, self._session_of(asked))
            except (Unreachable, DialectError) as error:
                raise Unavailable(str(error)) from None
        raise Unavailable(connection.reason)

    # --- life ----------------------------------------------------------------------------------

    def life_without_vault(self) -> MakeLife | None:
        return self._life_elsewhere if self.is_remote else None

    def _life_elsewhere(self, opened: Opened, changed: Callable[[], None]) -> Life:
        self._changed = changed
        return _NoVault()

    def server_made(self, open_vault: Callable[[], Vault], root: Path, session: str) -> None:
        self._vaults.provide = open_vault
        self._folder = "" if self.is_remote else str(root)
        named = self.started.session or self.variables.resume_session or session
        self._session = named.removeprefix("session:")
        if self._remote is not None:
            self._remote.session = self._session
        if not self._is_told:  # a window of the vault's engine
            self._tell_configuration("")
        self._store_connection().begin()

    def vault_opened(self, vault: Vault) -> None:
        note_session_start(vault, self._began)
        self._store_connection().settings = vault.settings

    def server_ended(self, vault: Vault) -> None:
        """A short summary; what was stored for the session stays, since it may be resumed."""
        if vault.caller.read_only or vault.settings["read_only"]:
            return
        told = vault.session_summary()
        if told.memories_stored or told.observations:
            lines = [
                f"- Memories stored: {told.memories_stored}{overviews.surreal_counts_by_type(told)}",
                f"- Memories recalled: {told.queries} queries, {told.memories_served} memories",
                *([f"- Key topics: {', '.join(told.topics)}"] if told.topics else []),
            ]
            vault.end_session(summary="\n".join(lines), keep=True)
            if self.configuration.consolidates_at_end:
                vault.consolidate(session_id=told.session_id)

    def server_stopping(self) -> None:
        if self._connection is not None:
            self._connection.end()
        if self._remote is not None:
            self._remote.close()

    def server_stopped(self) -> None:
        if self._passing is not None:
            self._passing.remove()

    # --- results -------------------------------------------------------------------------------

    def success_result(self, tool: DialectTool, value: Any) -> dict[str, Any]:
        if isinstance(value, Refusal):
            return _error_result(value.told)
        return {"content": [{"type": "text", "text": pretty_surreal_json(value)}]}

    def failure_result(self, tool: str, error: Exception) -> dict[str, Any]:
        told = answers.error_answer(error)
        if isinstance(error, InvalidInput):
            raise DialectError(INVALID_PARAMS, told["message"], told)
        if isinstance(error, SessionFull):
            told |= {"current_size": f"{error.stored} memories", "limit": f"{error.most} memories"}
        elif isinstance(error, StorageFull) and self._folder:
            disk = shutil.disk_usage(self._folder)
            told |= {"current_size": f"{disk.used} bytes", "limit": f"{disk.total} bytes"}
        return _error_result(told)


def _error_result(told: Mapping[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": pretty_surreal_json(told)}], "isError": True}


def _bound_caller(caller: Caller | None) -> dict[str, str] | None:
    """Whom the request itself names; who started the server is known when it is carried out."""
    if caller is None:
        return None
    names = ("user", "project", "default_project")
    return {name: getattr(caller, name) for name in names}


class _NoVault:
    """The life of a server whose memories are elsewhere."""

    in_use = None

    def vault(self) -> Vault:
        raise Unavailable("The memories are on another server; there is no vault here.")

    def start_following(self) -> None:
        """There are no files to follow."""

    def stop_following(self) -> None:
        """Nothing is open."""
