"""Take the pictures of the web page anew, light and dark, from a vault made for them (needs the browser).

scripts/run install-browser --fonts installs what they are taken with.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from playwright.sync_api import sync_playwright

from tests.page import people
from tests.page.conftest import LIBRARIES, SHELL, serve_page

PICTURES = ROOT / "docs" / "pictures"
SCREENS = {
    "today": "/",
    "search": "/search?q=refresh+tokens",
    "map": "/map?at=TokenValidator&hops=2",
}
SIZE = {"width": 1100, "height": 700}
SHOWN = ("today-light", "today-dark", "search-light", "map-light")


def main() -> int:
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        people.fill(home / "Brain")
        served = serve_page(home / "Brain", home)
        try:
            for scheme in ("light", "dark"):
                _take(served.address, served.link, scheme)
        finally:
            served.stop()
    print(f"Wrote {PICTURES.relative_to(ROOT)}", file=sys.stderr)
    return 0


def _take(address: str, link: str, scheme: str) -> None:
    libraries = f"{LIBRARIES}:{LIBRARIES / 'pulseaudio'}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(SHELL),
            args=["--no-sandbox", "--disable-gpu"],
            env={**os.environ, "LD_LIBRARY_PATH": libraries},
        )
        page = browser.new_page(color_scheme=scheme, viewport=SIZE)  # type: ignore[arg-type]
        page.goto(link)
        page.wait_for_selector(".line")
        for name, screen in SCREENS.items():
            if f"{name}-{scheme}" in SHOWN:
                page.goto(address + screen)
                page.wait_for_selector("html[data-token] .top")
                page.wait_for_timeout(500)
                page.screenshot(path=str(PICTURES / f"{name}-{scheme}.png"))
        browser.close()


if __name__ == "__main__":
    sys.exit(main())
