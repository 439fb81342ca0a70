"""The memory tool of Anthropic's SDK (`memory_20250818`), kept as notes in a vault.

from vaultmem.anthropic import VaultMemoryTool

with VaultMemoryTool("~/MyVault") as memory:
    client.beta.messages.run_tools(tools=[memory], …)
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

try:
    from anthropic.lib.tools import ToolError
    from anthropic.tools.memory import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool
except ImportError as error:
    raise ImportError(
        "vaultmem.anthropic needs Anthropic's SDK, 2.8 or newer: pip install 'vaultmem-mcp[anthropic]'"
    ) from error
from anyio import to_thread

from vaultmem.operations.caller import Caller
from vaultmem.operations.memory_files.memory_files import explained_failure
from vaultmem.vault import Vault

if TYPE_CHECKING:
    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )


class _OpenedVault:
    """A vault that is given open stays so; one that is named is closed with the tool."""

    def __init__(self, vault: Vault | str | Path, caller: Caller | None) -> None:
        self._mine = None if isinstance(vault, Vault) else Vault.open(vault)
        opened = vault if isinstance(vault, Vault) else self._mine
        assert opened is not None
        who = caller or opened.caller
        self._files = opened.for_caller(who).memory_files

    def run(self, command: str, **given: Any) -> str:
        try:
            said: str = getattr(self._files, command)(**given)
        except Exception as error:  # the edge: a model reads a sentence, whatever happened
            raise ToolError(explained_failure(error)) from error
        return said

    def close(self) -> None:
        if self._mine is not None:
            self._mine.close()


class VaultMemoryTool(BetaAbstractMemoryTool):
    def __init__(
        self,
        vault: Vault | str | Path,
        *,
        caller: Caller | None = None,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._opened = _OpenedVault(vault, caller)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._opened.close()

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        return self._opened.run("view", path=command.path, view_range=command.view_range)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        return self._opened.run("create", path=command.path, file_text=command.file_text)

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        words = {"old_str": command.old_str, "new_str": command.new_str}
        return self._opened.run("str_replace", path=command.path, **words)

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        line, text = command.insert_line, command.insert_text
        return self._opened.run("insert", path=command.path, insert_line=line, insert_text=text)

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        return self._opened.run("delete", path=command.path)

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        return self._opened.run("rename", old_path=command.old_path, new_path=command.new_path)

    def clear_all_memory(self) -> str:
        return self._opened.run("clear")


class VaultAsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for the asynchronous client; the work is done in a thread."""

    def __init__(
        self,
        vault: Vault | str | Path,
        *,
        caller: Caller | None = None,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._tool = VaultMemoryTool(vault, caller=caller)

    def close(self) -> None:
        self._tool.close()

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        return await to_thread.run_sync(partial(self._tool.view, command))

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        return await to_thread.run_sync(partial(self._tool.create, command))

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        return await to_thread.run_sync(partial(self._tool.str_replace, command))

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        return await to_thread.run_sync(partial(self._tool.insert, command))

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        return await to_thread.run_sync(partial(self._tool.delete, command))

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        return await to_thread.run_sync(partial(self._tool.rename, command))

    async def clear_all_memory(self) -> str:
        return await to_thread.run_sync(self._tool.clear_all_memory)
