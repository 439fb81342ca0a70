"""How a server was asked to serve a vault: what it is bound to, and what it speaks."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ulid_transform import ulid_now

from vaultmem import config
from vaultmem.errors import Away, InvalidInput, Unavailable
from vaultmem.surfaces import dialects
from vaultmem.surfaces.cli import new_vault
from vaultmem.surfaces.dialects.variables import dialect_variables
from vaultmem.upkeep import template

if TYPE_CHECKING:
    from vaultmem.operations.caller import Caller
    from vaultmem.surfaces.dialects import Dialect
    from vaultmem.surfaces.mcp.followed_vault import MakeLife
    from vaultmem.surfaces.mcp.server import McpServer
    from vaultmem.vault import Vault

log = logging.getLogger("vaultmem")

_LEVELS: Final = {"debug": "DEBUG", "info": "INFO", "warn": "WARNING", "error": "ERROR"}


def server_log_level(given: str | None, dialect: str) -> str:
    """--log-level, else what the dialect's own variable says, or its file."""
    variables = dialect_variables()
    told = {dialects.NATIVE: "", "trusty": variables.tracing}.get(dialect, variables.log_level)
    if dialect == "surreal" and not given:
        from vaultmem.surfaces.dialects.surreal.configuration import surreal_configuration

        told = surreal_configuration().log_level
    return given.upper() if given else _LEVELS.get(told.removesuffix("ing"), "WARNING")


def served_dialect(given: dict[str, Any], *, over_http: bool) -> Dialect | None:
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


def served_settings(root: Path, given: dict[str, Any]) -> config.Settings:
    flags = {"user": given["user"], "project": given["project"]}
    return config.load(root, flags | {"read_only": given["read_only"] or None})


def require_servable_settings(settings: config.Settings) -> None:
    """What the server was bound to may stand in what could not be read: nothing is opened."""
    try:
        settings.require_valid()
    except InvalidInput as error:
        raise Unavailable(
            f"The vault's settings cannot be used, so nothing is read or written. {error} "
            "Tell the user to put that right and to start the server again."
        ) from None


def prepared_serving(
    root: Path, given: dict[str, Any], dialect: Dialect | None, *, at_once: bool
) -> Serving:
    """What stands in the way is raised where the vault is needed `at_once`; else it is told, and
    every call is told the same."""
    settings = served_settings(root, given)
    for remark in settings.remarks:
        log.warning("%s", remark)
    try:
        if dialect is None or dialect.has_vault:
            new_vault.require_no_lost_vault(root)
            template.require_vault_there(root)
        settings.require_valid()
    except Away as error:
        if at_once:
            raise
        log.warning("%s", error)  # a client may start us before the drive is there
    except InvalidInput as error:
        if at_once:
            raise
        log.error("%s", error)
    session = given["session"] or config.surroundings().session or ulid_now()
    return Serving(root, settings, {**given, "session": session}, dialect)


class Serving(NamedTuple):
    """The vault to serve, how the server was started, and what it speaks."""

    root: Path
    settings: config.Settings
    given: dict[str, Any]
    dialect: Dialect | None

    def server(self, *, over_http: bool, life: MakeLife | None = None) -> McpServer:
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
            return server.McpServer(self.open_vault, how, caller_of, life)
        from vaultmem.surfaces.dialects import frame

        made = frame.DialectServer(self.open_vault, how, self.dialect, caller_of, life)
        self.dialect.server_made(made.own_vault, self.root, self.given["session"])
        return made

    def open_vault(self) -> Vault:
        from vaultmem.vault import Vault

        template.require_vault_there(self.root)
        settings = served_settings(self.root, self.given)  # anew: they may have come with a drive
        require_servable_settings(settings)
        flags = {name: settings[name] for name in ("user", "project", "read_only")}
        usual = self.dialect.settings if self.dialect else {}
        flags |= {n: v for n, v in usual.items() if settings.values[n].origin == "default"}
        return Vault.open(self.root, flags, caller=self.caller(settings))

    def caller(self, settings: config.Settings) -> Caller:
        from vaultmem.surfaces.cli import options

        return options.bound_caller(settings, self.given["session"])
