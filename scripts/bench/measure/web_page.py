"""What the web page costs: its screens without a browser, and in one what a person waits for.

    scripts/bench/run web_page [--notes 10000] [--vault FOLDER]

Screens are processor time, the best of several, since a machine may have much else to do. In the
browser it is the clock: the first paint, words of an answer behind the last key, an edit on the
disk that is seen on the screen, and how far things move while the page loads.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(HERE), str(Path(__file__).parents[1])]

from playwright.sync_api import sync_playwright

from measure.generated_vaults import make_vault
from tests.page.conftest import LIBRARIES, SHELL, serve_page
from vaultmem import Vault
from vaultmem.surfaces.page.asking import PageRequest
from vaultmem.surfaces.page.screens import shown_screen

WORDS = "billing cache"
SCREENS = ("/", "/search", "/map", "/review", "/sessions", "/context", "/health")


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--notes", type=int, default=10_000)
    options.add_argument("--vault", type=Path, help="one that is there")
    options.add_argument("--rounds", type=int, default=7)
    given = options.parse_args()
    os.environ["VAULTMEM_MODEL"] = "off"
    with contextlib.ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        vault = given.vault or home / "Brain"
        if not given.vault:
            make_vault(vault, given.notes)
            (vault / ".vaultmem").mkdir(exist_ok=True)
        with Vault.open(vault) as opened:
            opened.index_now()
            entity = _most_linked(opened)
            for address in SCREENS:
                _tell_screen(opened, address, {"q": WORDS, "how": "words", "at": entity})
        _in_a_browser(vault, home, given.rounds)


def _most_linked(vault: Vault) -> str:
    found = vault.search_graph(include_memories=False, limit=1).entities
    return (found[0].path or found[0].name) if found else ""


def _tell_screen(vault: Vault, address: str, query: dict[str, str]) -> None:
    seconds, size = [], 0
    for _ in range(7):
        start = time.process_time()
        text, _ = shown_screen(address, PageRequest(vault, "", query, trusted=True))
        seconds.append(time.process_time() - start)
        size = len(text.encode())
    print(f"{address:10} {min(seconds) * 1000:6.0f} ms  {size / 1000:5.0f} kB")


def _in_a_browser(vault: Path, home: Path, rounds: int) -> None:
    served = serve_page(vault, home, VAULTMEM_MODEL="off")
    libraries = f"{LIBRARIES}:{LIBRARIES / 'pulseaudio'}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(SHELL),
            args=["--no-sandbox", "--disable-gpu"],
            env={**os.environ, "LD_LIBRARY_PATH": libraries},
        )
        page = browser.new_page()
        page.goto(served.link)
        page.wait_for_selector(".top")
        _tell("first paint", [_first_paint(page) for _ in range(rounds)])
        _tell("an answer behind the key", [_answered(page, n) for n in range(rounds)])
        page.goto(served.address)
        page.wait_for_selector("html[data-token] .top")
        _tell("an edit on the screen", [_edit_seen(page, vault, n) for n in range(rounds)])
        browser.close()
    served.stop()


def _tell(what: str, milliseconds: list[float]) -> None:
    print(
        f"{what}: {median(milliseconds):.0f} ms ({min(milliseconds):.0f} to {max(milliseconds):.0f})"
    )


def _first_paint(page: Any) -> float:
    page.reload()
    page.wait_for_selector("html[data-token] .top")
    script = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime || 0"
    return float(page.evaluate(script))


def _answered(page: Any, number: int) -> float:
    page.locator("#find").fill(WORDS[: 4 + number])
    page.wait_for_selector(".hits, .empty", state="attached")
    start = time.perf_counter()
    with page.expect_response(lambda answer: "how=words" in answer.url) as answer:
        page.keyboard.press("End")
        page.keyboard.type("a")
    assert answer.value.ok
    return (time.perf_counter() - start) * 1000


def _edit_seen(page: Any, vault: Path, number: int) -> float:
    name = f"Edited by hand {number} {os.getpid()}"
    start = time.perf_counter()
    (vault / f"{name}.md").write_text("Saved just now.\n", encoding="utf-8")
    page.locator(".line", has_text=name).first.wait_for()
    return (time.perf_counter() - start) * 1000


if __name__ == "__main__":
    main()
