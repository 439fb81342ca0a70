"""The machine under the measurements: what it is, what a process takes of it."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import os
import platform
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vaultmem.base.telemetry import SWITCHES

ROOT = Path(__file__).parents[3]
PROC = Path("/proc")
LIBRARIES = ("tantivy", "fastembed", "onnxruntime", "usearch", "numpy", "mcp")
_MAPPING = re.compile(r"[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \S+\s*(.*)")


def about() -> dict[str, Any]:
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: importlib.metadata.version(name) for name in LIBRARIES},
    }


def moment() -> dict[str, Any]:
    """When and on what code something was measured, and how busy the machine was."""
    return {
        "date": dt.datetime.now(dt.UTC).strftime("%Y-%m-%d"),
        "commit": _commit(),
        "load": round(os.getloadavg()[0], 1),
    }


def _processor() -> str:
    info = PROC / "cpuinfo"
    text = info.read_text() if info.exists() else ""
    named = re.search(r"model name\s*:\s*(.+)", text)
    return named.group(1) if named else platform.processor()


def _commit() -> str:
    git = ["git", "-C", str(ROOT)]
    done = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "vaultmem"])
    return (done.stdout.strip() or "unknown") + ("+" if changed.returncode == 1 else "")


# --- memory and handles ---------------------------------------------------------------------


@dataclass(frozen=True)
class Memory:
    """Of a process and its children, in MB. `own` is what is resident without mapped files of
    its index, which belong to the system's cache; `pss` shares pages among all who map them."""

    own: float
    pss: float


def memory(pid: int, index: Path, *, alone: bool = False) -> Memory | None:
    if not PROC.exists():
        return None
    own = pss = 0
    for each in [pid] if alone else family(pid):
        try:
            text = (PROC / str(each) / "smaps").read_text()
        except OSError:  # it ended meanwhile
            continue
        mine, shared = _mapped(text, str(index))
        own, pss = own + mine, pss + shared
    return Memory(own / 1024, pss / 1024)


def _mapped(smaps: str, index: str) -> tuple[int, int]:
    own = pss = 0
    counts = True
    for line in smaps.splitlines():
        if line.startswith("Rss:") and counts:
            own += int(line.split()[1])
        elif line.startswith("Pss:"):
            pss += int(line.split()[1])
        elif found := _MAPPING.fullmatch(line):
            counts = not found.group(1).startswith(index)
    return own, pss


def family(pid: int) -> Iterator[int]:
    """A process and all that it started."""
    yield pid
    for task in (PROC / str(pid) / "task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:
            continue
        for child in children:
            yield from family(int(child))


def handles(pid: int) -> int:
    return sum(len(list((PROC / str(each) / "fd").iterdir())) for each in family(pid))


def threads(pid: int) -> int:
    return sum(len(list((PROC / str(each) / "task").iterdir())) for each in family(pid))


# --- files ----------------------------------------------------------------------------------


def size_of(folder: Path, pattern: str = "*") -> int:
    return sum(file.lstat().st_size for file in folder.rglob(pattern) if file.is_file())


def libraries(python: Path) -> list[Path]:
    """What a Python environment is made of: its own folder, and the library it stands on."""
    base = python.resolve().parent.parent / "lib"
    inner = [folder for folder in base.glob("python3*") if folder.is_dir()]
    return [python.parent.parent, *inner]


def put_out_of_cache(*folders: Path) -> None:
    """The next reader has to go to the disk. Files that another process has mapped stay."""
    if not hasattr(os, "posix_fadvise"):
        return
    os.sync()
    for folder in folders:
        for file in [folder] if folder.is_file() else folder.rglob("*"):
            try:
                handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW)
            except OSError:
                continue
            try:
                os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(handle)


def clean_environment(home: Path, **more: str) -> dict[str, str]:
    """A home of its own, and nothing of ours: a peer must not find our settings, nor we its."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    identity = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "Me"), ("EMAIL", "me@localhost"))
    }
    offline = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "GIT_CONFIG_NOSYSTEM": "1"}
    quiet = {**SWITCHES, "DO_NOT_TRACK": "1", "ANONYMIZED_TELEMETRY": "False"}  # peers have more
    return kept | identity | offline | quiet | {"HOME": str(home), "NO_COLOR": "1"} | more
