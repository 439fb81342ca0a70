from __future__ import annotations

import json
import logging
import os
import shlex
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from vaultmem import config
from vaultmem.base import own_program
from vaultmem.base.own_program import command_to_type
from vaultmem.base.system_calls import share_memory_of_threads
from vaultmem.front import way_in
from vaultmem.surfaces import serving
from vaultmem.surfaces.cli import new_vault
from vaultmem.surfaces.cli.quiet import is_quiet
from vaultmem.surfaces.cli.serve_options import serve_options
from vaultmem.upkeep import template

if TYPE_CHECKING:
    from vaultmem.surfaces import http
    from vaultmem.surfaces.mcp.stdio import HeardBefore
    from vaultmem.surfaces.serving import Serving

log = logging.getLogger("vaultmem")


@click.command()
@serve_options
def serve_command(
    vault: str | None, address: str | None, log_level: str | None, **given: Any
) -> None:
    """Serve the vault to agents over MCP, on stdin and stdout or over HTTP."""
    _heed_signals_before_serving()
    share_memory_of_threads()
    logging.basicConfig(stream=sys.stderr, format="vaultmem: %(message)s")
    log.setLevel(serving.server_log_level(log_level, given["dialect"]))
    dialect = serving.served_dialect(given, over_http=address is not None)
    own = dialect.place_to_serve(vault or "") if dialect else None
    create = given.pop("create") or own is not None
    if own is not None and dialect and not dialect.has_vault:
        root = own  # nothing is served from there
    else:
        root = _served_root(str(own) if own else vault, create=create)
    log.debug("loading what serves %s", root)
    given["session"] = given["session"] or _session_of_window()
    prepared = serving.prepared_serving(root, given, dialect, at_once=address is not None)
    served = Served(prepared, address)
    if address is None or (dialect and dialect.http_beside_stdio):
        served.serve_on_stdio()
    else:
        served.serve_on_http()
    # Everything is closed. A model still at work in a thread would turn a usual end into a crash.
    sys.stderr.flush()
    os._exit(0)


def _heed_signals_before_serving() -> None:
    """To be asked to end while the libraries still load is no failure, and nothing is open yet.

    At once: an exception raised inside their native code would come out as another one.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os._exit(0))


def _ignore_signals_when_served() -> None:
    """What is under way will not take long."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


def _served_root(vault: str | None, *, create: bool) -> Path:
    """The vault to serve; one that was named and is not there is made from the template."""
    named = Path(vault or "").expanduser().absolute()
    if vault and not named.exists() and template.is_vault_drive_awaited(named):
        return named
    root, missing = new_vault.vault_or_new(vault, create=create)
    if not missing:
        return root
    _ignore_signals_when_served()  # a vault is made whole
    new_vault.make_new_vault(root)
    _heed_signals_before_serving()
    return config.find_vault(vault)


class Served(NamedTuple):
    """What is served, and where it is reached."""

    how: Serving
    address: str | None

    def serve_on_stdio(self) -> None:
        """On stdin and stdout; where the dialect does so, on HTTP at the same time."""
        if sys.stdin.isatty() and not is_quiet():
            _say_how_to_reach_server(self.how.root)
        http_socket = self._served_http_socket() if self.address is not None else None
        server = self.how.server(over_http=http_socket is not None)
        before = _heard_by_window()
        import anyio

        from vaultmem.surfaces.mcp import line_pipe, stdio

        async def talk() -> None:
            grace = self.how.dialect.grace_seconds if self.how.dialect else line_pipe.GRACE_SECONDS
            answered = self.how.dialect is None or self.how.dialect.answers_bad_lines
            if http_socket is None:
                await stdio.serve_stdio(server.server, server.start, grace, answered, before)
                return
            from vaultmem.surfaces.http import app

            stop = anyio.Event()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(app.listen_http, lambda: server, http_socket, stop, 1)
                await stdio.serve_stdio(server.server, server.start, grace, answered, before)
                stop.set()

        try:
            anyio.run(talk)
        finally:
            _ignore_signals_when_served()
            server.stop()

    def serve_on_http(self) -> None:
        from vaultmem.surfaces.http import RunToken, page_link

        if self.how.dialect is not None:
            self._serve_http_socket(self._served_http_socket())
            return
        token = "" if self.how.given["token_file"] else page_link.new_run_token()
        http_socket = self._served_http_socket(RunToken(token))
        with page_link.link_put_down(self.how.root, http_socket.url, self._token_to_find(token)):
            link = page_link.page_link(http_socket.url, token)
            self._serve_http_socket(replace(http_socket, link=link))

    def serve_page(self, show: Callable[[str], None]) -> None:
        """Nobody comes in without the token of this run, not even to read."""
        from vaultmem.surfaces.http import RunToken, page_link

        token = page_link.new_run_token()
        http_socket = self._served_http_socket(RunToken(token, is_needed=True))
        with page_link.link_put_down(self.how.root, http_socket.url, self._token_to_find(token)):
            show(page_link.page_link(http_socket.url, token))
            self._serve_http_socket(http_socket)

    def _token_to_find(self, token: str) -> str:
        """A server that shows less than all is not the one that `look` looks for."""
        narrowed = any(self.how.given[name] for name in ("read_only", "user", "project"))
        return "" if narrowed else token

    def _serve_http_socket(self, http_socket: http.HttpSocket) -> None:
        from vaultmem.surfaces.engine import hosting
        from vaultmem.surfaces.http import app

        has_vault = self.how.dialect is None or self.how.dialect.has_vault
        host = hosting.hosting_engine(self.how) if has_vault else None
        life = host.life if host else None
        app.run_http(lambda: self.how.server(over_http=True, life=life), http_socket)

    def _served_http_socket(self, page: http.RunToken | None = None) -> http.HttpSocket:
        """Bound already: what can be refused is refused at once."""
        from vaultmem.surfaces import http

        return http.open_http_socket(
            *http.parse_http_address(self.address or ""),
            self.how.caller(self.how.settings),
            self.how.given["token_file"],
            self.how.settings["http.hosts"],
            str(self.how.root),
            self.how.dialect.routes if self.how.dialect else (),
            page,
        )


def _heard_by_window() -> HeardBefore:
    """What a window took in before it had to leave its client to us."""
    from vaultmem.surfaces.mcp.stdio import HeardBefore

    said = [HeardBefore(each.said, each.answered) for each in way_in.left]
    return said[0] if said else HeardBefore()


def _session_of_window() -> str | None:
    """The one that an engine began for it: what was stored in it stays to be found."""
    return next((each.session for each in way_in.left if each.session), None)


def _say_how_to_reach_server(root: Path) -> None:
    launcher = own_program.own_command_from_anywhere("serve", "--vault", str(root))
    entry = {"mcpServers": {"vaultmem": {"command": launcher[0], "args": launcher[1:]}}}
    click.echo(
        f"Serving {root} over MCP; it waits for a client on stdin, Ctrl-C ends it.\n"
        "A client starts the server itself, once it is connected:\n"
        f"  {command_to_type('install')} --vault {shlex.quote(str(root))}     # lists the clients\n"
        "By hand, Claude Code learns of it with\n"
        f"  claude mcp add vaultmem -- {shlex.join(launcher)}\n"
        "and other clients with this in their configuration:\n"
        f"  {json.dumps(entry)}\n",
        err=True,
        nl=False,
    )
