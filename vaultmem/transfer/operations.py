"""What a vault offers about moving. The work behind it is loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from vaultmem.desk import Desk

if TYPE_CHECKING:
    from vaultmem.moving.arrivals import Imported
    from vaultmem.moving.outgoing import Exported

Progress = Callable[[int, int], None]


class Moving(Desk):
    def import_(
        self,
        source: str,
        path: str | Path,
        *,
        into: str | None = None,
        project: str | None = None,
        files: bool = False,
        again: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> Imported:
        """Make notes of what another system keeps; running it again adds only what is new.

        `source` is one of SOURCES, or "auto" for what the path looks like. `into` is the folder
        for files that are copied, `project` the home of what has none, `files` takes other files
        than notes along, `again` brings back what was imported once and removed here since.
        """
        from vaultmem.moving import sources
        from vaultmem.moving.arrivals import Arrivals

        if not dry_run:
            self._require_writable()
        opened = sources.opened(self.store.root, source, Path(path), into=into, files=files)
        return Arrivals(self._parts, self.caller).bring(
            opened.source,
            opened.reading,
            opened.records,
            project=project or "",
            again=again,
            dry_run=dry_run,
            progress=progress,
        )

    def export(
        self,
        target: str,
        path: str | Path,
        *,
        project: str | None = None,
        type: str | None = None,
        scope: str | None = None,
        tag: str | None = None,
        force: bool = False,
        progress: Progress | None = None,
    ) -> Exported:
        """Write the notes to a file outside of the vault; `target` is one of TARGETS."""
        from vaultmem.moving.outgoing import Outgoing, Wanted

        wanted = Wanted(project or "", type or "", scope or "", tag or "")
        outgoing = Outgoing(self._parts, self.caller, wanted, progress)
        return outgoing.write(target, Path(path), force=force)

    def export_lines(
        self,
        *,
        project: str | None = None,
        type: str | None = None,
        scope: str | None = None,
        tag: str | None = None,
    ) -> Iterator[str]:
        """What `export jsonl` writes, line by line."""
        from vaultmem.moving.outgoing import Outgoing, Wanted

        wanted = Wanted(project or "", type or "", scope or "", tag or "")
        return Outgoing(self._parts, self.caller, wanted, None).lines()
