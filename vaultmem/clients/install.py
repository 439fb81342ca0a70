"""Connecting a client, disconnecting it, and looking which ones are connected."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from vaultmem import config
from vaultmem.base.own_program import PROGRAM
from vaultmem.clients import claude_version, instructions, our_entry, settings_edit, settings_file
from vaultmem.clients.catalogue import (
    ANY_AGENT,
    CLIENTS,
    Client,
    claude_code_settings,
    is_client_here,
)
from vaultmem.clients.instructions import adding_instructions, removing_instructions
from vaultmem.clients.our_entry import EntryOptions
from vaultmem.clients.settings_file import Edit, Outcome, SettingsBackup, SettingsChange
from vaultmem.errors import InvalidInput, VaultmemError

_PLUGIN: Final = "vaultmem@"

Removal = Callable[[Path, bytes], settings_edit.CleanedSettings | None]


@dataclass(frozen=True, slots=True)
class ClientChange:
    client: Client
    outcomes: tuple[Outcome, ...]
    notes: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        return any(outcome.changed for outcome in self.outcomes)


@dataclass(frozen=True, slots=True)
class ClientState:
    client: str
    title: str
    state: str  # connected, here, absent, unreadable
    file: str
    vault: str = ""
    problem: str = ""
    more: Mapping[str, str] = field(default_factory=dict)  # further entries, and their vaults


# --- connecting ----------------------------------------------------------------------------


def install_client(
    client: Client,
    wanted: EntryOptions,
    *,
    file: Path | None = None,
    hooks: bool | None = None,
    told: Sequence[Path] = (),
    dry_run: bool = False,
) -> ClientChange:
    """Hooks come with Claude Code unless they are declined, or would go beyond what is allowed; a block
    in files of instructions (`told`) only where it is asked for, or where there is one."""
    if hooks and (client.name != "claude-code" or file):
        raise InvalidInput("--hooks belongs to Claude Code's own settings; leave it out here.")
    if hooks and wanted.is_second:
        raise InvalidInput("Hooks speak for one vault, the one without --name; leave --hooks out.")
    if hooks and wanted.is_narrowed:
        raise InvalidInput(
            "Hooks know no --read-only and no --project. Set read_only or project in the vault's "
            ".vaultmem/config.toml instead, which binds them too."
        )
    places = config.places()
    settings = client.file(places) if file is None else file
    steps = [SettingsChange("server", settings, _install_server_edit(settings, client, wanted))]
    version = None
    if client.name == "claude-code" and file is None:
        if hooks or (hooks is None and _are_hooks_due(wanted, places)):
            place = claude_code_settings(places)
            version = claude_version.claude_version(places, client.file(places))
            steps.append(
                SettingsChange("hooks", place, _install_hooks_edit(place, wanted, version))
            )
    files = [*told, *([] if file or wanted.is_second else _instructions_with_block(client, places))]
    steps += [adding_instructions(f, wanted.vault, places.home) for f in dict.fromkeys(files)]
    outcomes = _run_install_changes(steps, dry_run)
    notes = [
        *_install_notes_on_json(client, outcomes),
        *_install_notes_on_claude(client, file, hooks, wanted, places),
        *_install_notes_on_version(version),
    ]
    return ClientChange(client, outcomes, tuple(notes))


def _instructions_with_block(client: Client, places: config.Places) -> list[Path]:
    """The client's own file of instructions, if it has our block in it."""
    usual = instructions.usual_instructions(client.name, places)
    has_it = usual and instructions.has_block(settings_file.read_settings_file(usual))
    return [usual] if usual and has_it else []


def tell_agent(files: Sequence[Path], vault: Path | None, *, dry_run: bool = False) -> ClientChange:
    """The block alone, for an agent that has only files of instructions; without a vault, out of
    them."""
    home = config.places().home
    steps = [
        adding_instructions(file, vault, home) if vault else removing_instructions(file)
        for file in files
    ]
    return ClientChange(ANY_AGENT, _run_install_changes(steps, dry_run))


def _are_hooks_due(wanted: EntryOptions, places: config.Places) -> bool:
    return not (wanted.is_narrowed or wanted.is_second or _is_claude_plugin_installed(places))


def _run_install_changes(steps: list[SettingsChange], dry_run: bool) -> tuple[Outcome, ...]:
    """First all are tried: what cannot be done is refused before anything is written."""
    tried = tuple(map(settings_file.preview_settings_change, steps))
    return tried if dry_run else tuple(map(settings_file.apply_settings_change, steps))


def _install_server_edit(file: Path, client: Client, wanted: EntryOptions) -> Edit:
    server = our_entry.server_entry(client, wanted)
    return lambda raw: settings_edit.add_server(file, raw or b"", client, server, wanted.name)


def _install_hooks_edit(
    file: Path, wanted: EntryOptions, version: claude_version.Version | None
) -> Edit:
    asks = version is not None and version >= claude_version.ASKS_SERVERS
    groups = our_entry.hook_entries(wanted.vault, by_server=asks)

    def edit(raw: bytes | None) -> bytes:
        try:
            return settings_edit.add_hooks(file, raw or b"", groups)
        except InvalidInput as error:
            raise InvalidInput(f"{error.message} Or leave hooks out with --no-hooks.") from None

    return edit


def _is_claude_plugin_installed(places: config.Places) -> bool:
    """Whether our plugin is on in Claude Code: it brings its own server and hooks."""
    place = claude_code_settings(places)
    try:
        raw = settings_file.read_settings_file(place) or b""
        plugins = settings_edit.read_json_settings(place, raw, ("hooks",)).get("enabledPlugins")
    except VaultmemError:
        return False
    return isinstance(plugins, dict) and any(
        on and name.startswith(_PLUGIN) for name, on in plugins.items()
    )


def _install_notes_on_json(client: Client, outcomes: tuple[Outcome, ...]) -> Iterator[str]:
    for outcome in outcomes:
        if client.strict and outcome.after and not settings_edit.is_plain_json(outcome.after):
            yield (
                f"{client.title} reads plain JSON: it may not accept the comments or trailing "
                f"commas in {outcome.path}."
            )


def _install_notes_on_claude(
    client: Client,
    file: Path | None,
    hooks: bool | None,
    wanted: EntryOptions,
    places: config.Places,
) -> Iterator[str]:
    if client.name != "claude-code" or file is not None:
        return
    if _is_claude_plugin_installed(places):
        yield "The vaultmem plugin is on in Claude Code and does the same; one of the two is enough."
    elif hooks is None and wanted.is_narrowed and not wanted.is_second:
        yield "Hooks were left out: they know no --read-only and no --project."


def _install_notes_on_version(version: claude_version.Version | None) -> Iterator[str]:
    needed = claude_version.ASKS_SERVERS
    if version is not None and version < needed:
        here, new = (".".join(map(str, each)) for each in (version, needed))
        yield (
            f"Claude Code {here} starts a program for each hook. From {new} on its hooks ask the "
            "connected server, which is quicker: update it, then install again."
        )


# --- disconnecting -------------------------------------------------------------------------


def uninstall_client(
    client: Client,
    *,
    name: str = PROGRAM,
    file: Path | None = None,
    told: Sequence[Path] = (),
    dry_run: bool = False,
) -> ClientChange:
    """What it takes out, and the backups that nobody needs any more."""
    places = config.places()
    settings = client.file(places) if file is None else file
    removals: list[tuple[str, Path, Removal]] = [
        (
            "server",
            settings,
            lambda place, raw: settings_edit.remove_server(place, raw, client, name),
        )
    ]
    if client.name == "claude-code" and file is None and name == PROGRAM:
        removals.append(("hooks", claude_code_settings(places), settings_edit.remove_hooks))
    steps = [SettingsChange(what, p, _uninstall_edit(p, remove)) for what, p, remove in removals]
    files = [*told, *([] if file or name != PROGRAM else _instructions_with_block(client, places))]
    steps += map(removing_instructions, dict.fromkeys(files))
    outcomes = _run_install_changes(steps, dry_run)
    cleared = (
        _without_needless_backups(outcome, remove, dry_run)
        for outcome, (_, _, remove) in zip(outcomes, removals, strict=False)
    )
    return ClientChange(client, (*cleared, *outcomes[len(removals) :]))


def _uninstall_edit(file: Path, remove: Removal) -> Edit:
    return lambda raw: raw and _uninstalled_settings(file, raw, remove(file, raw))


def _uninstalled_settings(
    file: Path, raw: bytes, left: settings_edit.CleanedSettings | None
) -> bytes | None:
    """What the file was before we came, where its backup tells; a file that we made goes."""
    if left is None:
        return raw
    earlier = settings_file.settings_backups(file)
    for known in (left.bare, left.emptied):
        if known in earlier:
            return known
    return None if left.ours and not file.is_symlink() else left.bare


def _without_needless_backups(outcome: Outcome, remove: Removal, dry_run: bool) -> Outcome:
    """A backup goes if the file says all that it says, apart from what was ours."""
    backups = []
    for file in settings_file.settings_backup_files(outcome.path):
        raw = settings_file.read_settings_backup(file)
        backup = SettingsBackup(file, _need_of_backup(outcome, raw, remove))
        if backup.goes and not dry_run:
            settings_file.remove_settings_backup(file, raw)
        backups.append(backup)
    gone = {backup.path for backup in backups if backup.goes}
    kept = None if outcome.backup in gone else outcome.backup
    return replace(outcome, backup=kept, backups=tuple(backups))


def _need_of_backup(outcome: Outcome, raw: bytes | None, remove: Removal) -> str:
    if raw is None:
        return "it cannot be read"
    if raw == outcome.after:
        return ""
    try:
        left = remove(outcome.path, raw)
    except VaultmemError:
        return "it cannot be understood"
    if left is not None and (left.ours or outcome.after in (left.bare, left.emptied)):
        return ""
    return "it holds something that the settings do not"


# --- looking -------------------------------------------------------------------------------


def clients_overview() -> list[ClientState]:
    places = config.places()
    return [_client_state(client, places) for client in CLIENTS.values()]


def _client_state(client: Client, places: config.Places) -> ClientState:
    file = client.file(places)
    known: dict[str, Any] = {"client": client.name, "title": client.title, "file": str(file)}
    try:
        raw = settings_file.read_settings_file(file) or b""
        found = settings_edit.servers_in(file, raw, client)
    except VaultmemError as error:
        return ClientState(**known, state="unreadable", problem=error.message)
    if found:
        vaults = {name: our_entry.vault_of_entry(entry) for name, entry in found.items()}
        return ClientState(**known, state="connected", vault=vaults.pop(PROGRAM, ""), more=vaults)
    return ClientState(**known, state="here" if is_client_here(client, places) else "absent")
