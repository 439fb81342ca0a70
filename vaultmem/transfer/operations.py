"""What a vault offers about moving. The work behind it is loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from vaultmem.limits import WORD, Flag, bounded
from vaultmem.operations.writing import WritingGroup
from vaultmem.transfer import Progress

if TYPE_CHECKING:
    from vaultmem.transfer.exporting import Exported, Exporting
    from vaultmem.transfer.importing import Imported


class Transfer(WritingGroup):
    @bounded(source=WORD, files=Flag())
    def import_(
        self,
        source: str,
        path: str | Path | None = None,
        *,
        into: str | None = None,
        project: str | None = None,
        files: bool = False,
        again: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> Imported:
        """Make notes of what another system keeps; running it again adds only what is new.

        `source` is one of SOURCES, or "auto" for what the path looks like. Without a `path` it is
        where the source's program keeps its transcripts on this machine. `into` is the folder
        for files that are copied, `project` the home of what has none, `files` takes other files
        than notes along, `again` brings back what was imported once and removed here since.
        """
        from vaultmem.transfer import sources
        from vaultmem.transfer.importing import Importing

        if not dry_run:
            self._writing.require_writable()
        opened = sources.opened_source(
            self._view.store.root,
            source,
            Path(path) if path is not None else sources.usual_place(source),
            self._view.settings,
            into=into,
            files=files,
        )
        return Importing(self._view, self._writing, self._input).import_records(
            opened, project=project or "", again=again, dry_run=dry_run, progress=progress
        )

    @bounded(type=WORD, scope=WORD)
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
        outgoing = self._transfer_exporting(project, type, scope, tag, progress=progress)
        return outgoing.write_export(target, Path(path), force=force)

    @bounded(type=WORD, scope=WORD)
    def export_lines(
        self,
        *,
        project: str | None = None,
        type: str | None = None,
        scope: str | None = None,
        tag: str | None = None,
    ) -> Iterator[str]:
        """What `export jsonl` writes, line by line."""
        return self._transfer_exporting(project, type, scope, tag).exported_lines()

    def _transfer_exporting(
        self, *wanted: str | None, progress: Progress | None = None
    ) -> Exporting:
        from vaultmem.transfer.exporting import ExportFilter, Exporting

        return Exporting(self._view, ExportFilter(*(each or "" for each in wanted)), progress)
