"""Install the browser that the tests of the web page use, beside the checkout, where it is not there.

On Debian its chromium-headless-shell is unpacked without being installed, which takes no rights;
elsewhere Playwright fetches one. Nothing outside of this checkout is changed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PLACE: Final = ROOT / ".browser"
SHELL: Final = PLACE / "usr/lib/chromium/chromium-headless-shell"
PACKAGES: Final = (
    *("chromium-common", "chromium-headless-shell", "libopenh264-7", "libdouble-conversion3"),
    *("libopus0", "libharfbuzz-subset0", "libxnvctrl0", "libpulse0", "libflac12", "libminizip1"),
    *("libsndfile1", "libasyncns0", "libogg0", "libvorbis0a", "libvorbisenc2", "libmp3lame0"),
    "libmpg123-0",
)
FONT: Final = "fonts-noto-cjk"  # 60 MB, for pictures alone: --fonts


def main() -> int:
    if SHELL.exists() and not ("--fonts" in sys.argv and not _has_font()):
        return 0
    if shutil.which("apt-get") and shutil.which("dpkg-deb"):
        wanted = [*PACKAGES, *([FONT] if "--fonts" in sys.argv else [])]
        if _unpack(wanted):
            return 0
    done = _run(sys.executable, "-m", "playwright", "install", "--only-shell", "chromium")
    if not done:
        print("No browser could be installed; the tests of the web page need one.", file=sys.stderr)
    return 0 if done else 1


def _has_font() -> bool:
    return (PLACE / "usr/share/fonts/opentype/noto").is_dir()


def _unpack(packages: list[str]) -> bool:
    """Aside, and moved to its place when it is whole."""
    print("Fetching a browser for the tests, once …", file=sys.stderr)
    aside = PLACE.with_name(f".browser.{os.getpid()}")
    debs = aside / "debs"
    debs.mkdir(parents=True)
    try:
        if not (_download(packages, debs, []) or _download_with_own_lists(packages, aside, debs)):
            return False
        for deb in debs.glob("*.deb"):
            if not _run("dpkg-deb", "-x", str(deb), str(aside / "root")):
                return False
        if PLACE.exists():
            shutil.rmtree(PLACE)
        (aside / "root").rename(PLACE)
        return SHELL.exists()
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _download_with_own_lists(packages: list[str], aside: Path, debs: Path) -> bool:
    """Where the system has no lists of packages, or old ones."""
    lists, cache = aside / "lists", aside / "cache"
    for folder in (lists / "partial", cache / "archives" / "partial"):
        folder.mkdir(parents=True)
    own = ["-o", f"Dir::State::lists={lists}", "-o", f"Dir::Cache={cache}"]
    return _run("apt-get", *own, "-qq", "update") and _download(packages, debs, own)


def _download(packages: list[str], debs: Path, options: list[str]) -> bool:
    return _run("apt-get", *options, "-qq", "download", *packages, cwd=debs)


def _run(*command: str, cwd: Path | None = None) -> bool:
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
