"""This machine's log of what happened, while several write it."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path
from typing import Any

from vaultmem.base.own_path import OwnPath
from vaultmem.storage.local_state.activity import ActivityLog, NoteEvent

_WRITERS, _LOGS = 4, 50


def write(folder: Path, name: str, begin: Any) -> None:
    for number in range(_LOGS):
        log = ActivityLog(OwnPath.of(folder) / f"{number}.db")
        begin.wait()
        log.record(NoteEvent(time.time(), "stored", f"{name}.md", name, client="cursor"))
        log.close()


def test_whoever_makes_the_log_together_loses_no_line(tmp_path: Path) -> None:
    """Windows that start at once all find no file, and SQLite lets one of them make it."""
    processes = multiprocessing.get_context("spawn")
    begin = processes.Barrier(_WRITERS)
    writers = [
        processes.Process(target=write, args=(tmp_path, str(number), begin))
        for number in range(_WRITERS)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    for number in range(_LOGS):
        log = ActivityLog(OwnPath.of(tmp_path) / f"{number}.db")
        assert len(log.since(0)) == _WRITERS, number
        log.close()
