"""What tells whether a file may have changed without reading it."""

from __future__ import annotations

import os
from typing import Final, NamedTuple

_LARGEST: Final = 2**63 - 1  # that SQLite holds
_HAS_CHANGE_TIME: Final = os.name != "nt"  # there it is when the file was made


class FileStamp(NamedTuple):
    """A file's stamp. Time and size of a file can be put back by whoever writes it (`rsync
    --inplace --times`), the change time cannot."""

    mtime_ns: int
    size: int
    inode: int
    ctime_ns: int = 0


UNSETTLED_STAMP: Final = FileStamp(0, -1, 0)  # of no file: whatever has it is looked at again


def file_stamp(found: os.stat_result) -> FileStamp:
    """Any file's stamp, also one from the year 1 or 30000, or of a file system with numbers of
    128 bits: what does not fit is bent until it does, since stamps are only compared."""
    saved, inode = found.st_mtime_ns, found.st_ino
    changed = found.st_ctime_ns if _HAS_CHANGE_TIME else 0
    if not -_LARGEST < saved < _LARGEST or not -_LARGEST < changed < _LARGEST or inode > _LARGEST:
        saved, changed = (max(-_LARGEST, min(time, _LARGEST)) for time in (saved, changed))
        inode = (inode ^ inode >> 63) & _LARGEST
    return FileStamp(saved, found.st_size, inode, changed)
