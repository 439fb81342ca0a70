"""What is mounted where: drives that are awaited, and drives of the network."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import Final

# Where systems mount what is plugged in, and people what they mount by hand.
_PLACES: Final = ("/media", "/run/media", "/mnt", "/Volumes")
_FSTAB: Final = Path("/etc/fstab")
_NETWORK: Final = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "fuse.rclone", "9p", "drvfs", "vboxsf"}
)


def is_drive_awaited(folder: Path, fstab: str | None = None) -> bool:
    """Of a folder that is empty or missing: it lies where a drive belongs, by the system's own
    table or by custom, and nothing is mounted there."""
    folder = Path(os.path.abspath(folder))
    mounted = next(place for place in (folder, *folder.parents) if os.path.ismount(place))
    points = [*_mount_points(_mounts_in_fstab() if fstab is None else fstab), *map(Path, _PLACES)]
    inside = [point for point in points if point in folder.parents]
    inside += [point for point in points[: -len(_PLACES)] if point == folder]
    return any(point != mounted and point not in mounted.parents for point in inside)


def network_drive(path: str, mounts: str = "") -> str:
    """The kind of network drive a path is on, or nothing; `mounts` as in /proc/mounts."""
    if not mounts:
        with contextlib.suppress(OSError):
            mounts = os.fsdecode(Path("/proc/mounts").read_bytes())
    nearest, kind = "", ""
    for line in mounts.splitlines():
        point, found = line.split(" ")[1:3]
        point = _unescaped_mount_point(point).rstrip("/")
        if f"{path}/".startswith(f"{point}/") and len(point) >= len(nearest):
            nearest, kind = point, found
    return kind if kind in _NETWORK else ""


def _mount_points(fstab: str) -> list[Path]:
    """The places in the table, but for the root of the system itself."""
    lines = (line.split() for line in fstab.splitlines() if not line.lstrip().startswith("#"))
    named = (_unescaped_mount_point(each[1]) for each in lines if len(each) > 1)
    return [Path(place) for place in named if place.startswith("/") and place != "/"]


def _unescaped_mount_point(point: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), point)


def _mounts_in_fstab() -> str:
    try:
        return _FSTAB.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
