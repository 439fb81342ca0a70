from __future__ import annotations

import contextlib
import json
import logging
import os
import shlex
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click
from ulid_transform import ulid_now

from vaultmem import config
from vaultmem.base import own_program
from vaultmem.errors import Away, InvalidInput, NotFound, Unavailable
from vaultmem.surfaces import dialects
from vaultmem.surfaces.cli import options, tab_completion
from vaultmem.surfaces.cli.quiet import is_quiet
from vaultmem.upkeep import template

if TYPE_CHECKING:
    from vaultmem.surfaces import http
    from vaultmem.surfaces.dialects import Dialect
    from vaultmem.surfaces.mcp.server import McpServer
    from vaultmem.vault import Vault

log = logging.getLogger("vaultmem")

_ARENA_MAX: Final = -8  # M_ARENA_MAX in malloc.h


@click.command()
@click.option("--http", "address", metavar="HOST:PORT", help="Serve HTTP: MCP at /mcp, and REST.")
@click.option("--read-only", is_flag=True, help="Offer no writing tools, and refuse every write.")
@click.option("--toolsets", metavar="A,B", help="Some of core, graph, session, curate.")
@click.option(
    "--dialect",
    default=dialects.NATIVE,
    show_default=True,
    metavar="NAME",
    shell_complete=tab_completion.complete_one_of(*dialects.ALL),
    help=f"Speak as another system does: {', '.join(dialects.NAMES)}.",
)
@click.option("--user", help="Only this user's notes and those of nobody.")
@click.option(
    "--project",
    shell_complete=tab_completion.projects,
    help="Only this project's notes and those of none.",
)
@click.option("--session", help="The session's id; else the client's, else a new one.")
@click.option("--palace", help="The project that calls of the dialect trusty mean by default.")
@click.option("--token-file", metavar="FILE", help="The tokens that HTTP clients must show.")
@click.option("--no-watch", is_flag=True, help="Do not follow edits made outside.")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    help="What is said on stderr; by default warnings and errors.",
)
@options.vault_to_make
def serve_command(
    vault: str | None, address: str | None, log_level: str | None, **given: Any
) -> None:
    """Serve the vault to agents over MCP, on stdin and stdout or over HTTP."""
    _heed_signals_before_serving()
    _let_server_share_memory()
    logging.basicConfig(stream=sys.stderr, format="vaultmem: %(message)s")
    log.setLevel(_server_log_level(log_level, given["dialect"]))
    dialect = _served_dialect(given, over_http=address is not None)
    root = _served_root(vault)
    settings = _served_settings(root, given)
    for remark in settings.remarks:
        log.warning("%s", remark)
    try:
        template.require_vault_there(root)
        settings.require_valid()
    except Away as error:
        if address:
            raise
        log.warning("%s", error)  # a client may start us before the drive is there
    except InvalidInput as error:
        if address:
            raise
        log.error("%s", error)  # and every call of the agent is told the same
    log.debug("loading what serves %s", root)
    given["session"] = given["session"] or config.surroundings().session or ulid_now()
    serving = _Serving(root, settings, given, dialect, address)
    if address is None or (dialect and dialect.http_beside_stdio):
        serving.serve_on_stdio()
    else:
        serving.serve_on_http()
    # Everything is closed. A model still at work in a thread would turn a usual end into a crash.
    sys.stderr.flush()
    os._exit(0)


def _heed_signals_before_serving() -> None:
    """To be asked to end while the libraries still load is no failure, and nothing is open yet.

    At once: an exception raised inside their native code would come out as another one.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os._exit(0))


def _let_server_share_memory() -> None:
    """glibc gives each thread a heap of its own, and each keeps what was freed: at 10,000 notes
    80 MB of 385. To be said before there are threads."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError, TypeError):  # only glibc can
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 2)


def _ignore_signals_when_served() -> None:
    """What is under way will not take long."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


_LEVELS: Final = {"debug": "DEBUG", "info": "INFO", "warn": "WARNING", "error": "ERROR"}


def _server_log_level(given: str | None, dialect: str) -> str:
    """--log-level, else what the dialect's own variable says."""
    variables = config.dialect_variables()
    told = {dialects.NATIVE: "", "trusty": variables.tracing}.get(dialect, variables.log_level)
    return given.upper() if given else _LEVELS.get(told.removesuffix("ing"), "WARNING")


def _served_dialect(given: dict[str, Any], *, over_http: bool) -> Dialect | None:
    """The dialect to speak; none means our own surface."""
    name = given["dialect"]
    dialects.require_known_dialect(name)
    if given["palace"] and name != "trusty":
        raise InvalidInput("--palace belongs to the dialect trusty; here --project does the same.")
    if name == dialects.NATIVE:
        return None
    if given["toolsets"]:
        raise InvalidInput("--toolsets belongs to the native surface; a dialect has its own tools.")
    flags = {flag: given[flag] or "" for flag in ("user", "project", "session", "palace")}
    started = dialects.ServerOptions(**flags, read_only=given["read_only"], over_http=over_http)
    return dialects.load_dialect(name, started)


def _served_root(vault: str | None) -> Path:
    """The vault to serve; one that was named and is not there is made from the template."""
    try:
        return config.find_vault(vault)
    except NotFound:
        from vaultmem import vault as service

        if template.is_vault_drive_awaited(Path(vault or "").expanduser()):
            return Path(vault or "").expanduser().absolute()
        plan = service.plan_vault(vault or "", git=False, examples=False)
        _ignore_signals_when_served()  # a vault is made whole
        service.make_vault(plan, git=False)
        _heed_signals_before_serving()
        if not is_quiet():
            click.echo(f"Made a new vault in {plan.root}", err=True)
        return config.find_vault(vault)


def _served_settings(root: Path, given: dict[str, Any]) -> config.Settings:
    flags = {"user": given["user"], "project": given["project"]}
    return config.load(root, flags | {"read_only": given["read_only"] or None})


def _require_servable_settings(settings: config.Settings) -> None:
    """What the server was bound to may stand in what could not be read: nothing is opened."""
    try:
        settings.require_valid()
    except InvalidInput as error:
        raise Unavailable(
            f"The vault's settings cannot be used, so nothing is read or written. {error} "
            "Tell the user to put that right and to start the server again."
        ) from None


class _Serving(NamedTuple):
    """The vault to serve, how the server was started, and what it speaks."""

    root: Path
    settings: config.Settings
    given: dict[str, Any]
    dialect: Dialect | None
    address: str | None

    def serve_on_stdio(self) -> None:
        """On stdin and stdout; where the dialect does so, on HTTP at the same time."""
        if sys.stdin.isatty() and not is_quiet():
            _say_how_to_reach_server(self.root)
        http_socket = self._served_http_socket() if self.address is not None else None
        server = self._server_to_serve(over_http=http_socket is not None)
        import anyio

        from vaultmem.surfaces.mcp import stdio

        async def talk() -> None:
            grace = self.dialect.grace_seconds if self.dialect else stdio.GRACE_SECONDS
            answered = self.dialect is None or self.dialect.answers_bad_lines
            if http_socket is None:
                await stdio.serve_stdio(server.server, server.start, grace, answered)
                return
            from vaultmem.surfaces.http import app

            stop = anyio.Event()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(app.listen_http, lambda: server, http_socket, stop, 1)
                await stdio.serve_stdio(server.server, server.start, grace, answered)
                stop.set()

        try:
            anyio.run(talk)
        finally:
            _ignore_signals_when_served()
            server.stop()

    def serve_on_http(self) -> None:
        http_socket = self._served_http_socket()
        from vaultmem.surfaces.http import app

        app.run_http(lambda: self._server_to_serve(over_http=True), http_socket)

    def _served_http_socket(self) -> http.HttpSocket:
        """Bound already: what can be refused is refused at once."""
        from vaultmem.surfaces import http

        return http.open_http_socket(
            *http.parse_http_address(self.address or ""),
            options.bound_caller(self.settings, self.given["session"]),
            self.given["token_file"],
            self.settings["http.hosts"],
            str(self.root),
            self.dialect.routes if self.dialect else (),
        )

    def _server_to_serve(self, *, over_http: bool) -> McpServer:
        from vaultmem.surfaces.mcp import server, tools

        caller_of = None
        if over_http:
            from vaultmem.surfaces import http

            caller_of = http.caller_of_request
        how = server.Options(
            read_only=self.settings["read_only"],
            toolsets=tools.parse_toolsets(self.given["toolsets"]),
            watch=not self.given["no_watch"],
        )
        if self.dialect is None:
            return server.McpServer(self._open_served_vault, how, caller_of)
        from vaultmem.surfaces.dialects import frame

        return frame.DialectServer(self._open_served_vault, how, self.dialect, caller_of)

    def _open_served_vault(self) -> Vault:
        from vaultmem.vault import Vault

        template.require_vault_there(self.root)
        settings = _served_settings(self.root, self.given)  # anew: they may have come with a drive
        _require_servable_settings(settings)
        flags = {name: settings[name] for name in ("user", "project", "read_only")}
        usual = self.dialect.settings if self.dialect else {}
        flags |= {n: v for n, v in usual.items() if settings.values[n].origin == "default"}
        caller = options.bound_caller(settings, self.given["session"])
        return Vault.open(self.root, flags, caller=caller)


def _say_how_to_reach_server(root: Path) -> None:
    launcher = own_program.own_command_from_anywhere("serve", "--vault", str(root))
    entry = {"mcpServers": {"vaultmem": {"command": launcher[0], "args": launcher[1:]}}}
    click.echo(
        f"Serving {root} over MCP; it waits for a client on stdin, Ctrl-C ends it.\n"
        "A client starts the server itself, once it is connected:\n"
        f"  vaultmem install --vault {shlex.quote(str(root))}     # lists the clients\n"
        "By hand, Claude Code learns of it with\n"
        f"  claude mcp add vaultmem -- {shlex.join(launcher)}\n"
        "and other clients with this in their configuration:\n"
        f"  {json.dumps(entry)}\n",
        err=True,
        nl=False,
    )
