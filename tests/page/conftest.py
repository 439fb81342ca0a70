"""One vault, one server in a process of its own and one browser for all tests of the web page.

Whatever the page asks of another origin, every word on the browser's console and every report of
its content security policy fails the test during which it happened.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, clean_environment
from tests.page import people

BROWSER = ROOT / ".browser"
SHELL = BROWSER / "usr/lib/chromium/chromium-headless-shell"
LIBRARIES = BROWSER / "usr/lib/x86_64-linux-gnu"
_REPORTS = """
window.reports = [];
document.addEventListener("securitypolicyviolation",
  (event) => window.reports.push(`${event.violatedDirective} ${event.blockedURI}`));
"""


@dataclass
class Served:
    """A process that serves the page of a vault."""

    process: subprocess.Popen[str]
    link: str

    @property
    def address(self) -> str:
        return self.link.partition("/#")[0]

    @property
    def token(self) -> str:
        return self.link.rpartition("token=")[2]

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)
        assert self.process.stdout is not None
        self.process.stdout.close()


def serve_page(vault: Path, home: Path, *more: str, **variables: str) -> Served:
    environment = clean_environment(home) | people.engine_of(home) | variables
    command = [sys.executable, "-m", "vaultmem", "look", "--no-browser", "--vault", str(vault)]
    process = subprocess.Popen(
        [*command, *more],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    return Served(process, process.stdout.readline().strip())


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("page")


@pytest.fixture(scope="session")
def vault(home: Path) -> Path:
    folder = home / "Brain"
    people.fill(folder)
    return folder


@pytest.fixture(scope="session")
def served(vault: Path, home: Path) -> Iterator[Served]:
    running = serve_page(vault, home)
    yield running
    running.stop()


@pytest.fixture(scope="session")
def hostile(home: Path) -> Path:
    """A vault of hostile notes, too long for a model to read in a test."""
    folder = home / "Hostile"
    people.fill_with_hostile_notes(folder)
    return folder


@pytest.fixture(scope="session")
def read_only(hostile: Path, home: Path) -> Iterator[Served]:
    running = serve_page(hostile, home, "--read-only", VAULTMEM_MODEL="off")
    yield running
    running.stop()


@pytest.fixture(scope="module")  # its loop runs in this thread, where others begin their own
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        own = playwright.chromium.executable_path
        program = SHELL if SHELL.exists() else Path(own)
        if not program.exists():
            missing = "No browser is here: scripts/run install-browser"
            pytest.fail(missing) if os.environ.get("CI") == "true" else pytest.skip(missing)
        libraries = f"{LIBRARIES}:{LIBRARIES / 'pulseaudio'}"
        started = playwright.chromium.launch(
            executable_path=str(program),
            args=["--no-sandbox", "--disable-gpu"],
            env={**os.environ, "LD_LIBRARY_PATH": libraries} if program == SHELL else None,
        )
        yield started
        started.close()


@dataclass
class Watched:
    """What pages did that they must not do."""

    origin: str
    faults: list[str] = field(default_factory=list)
    expected: tuple[str, ...] = ()  # words of faults that a test provokes

    def watch(self, page: Any) -> None:
        page.on("request", self._request)
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("console", self._console)

    def _request(self, request: Any) -> None:
        if not request.url.startswith(self.origin):
            self.faults.append(f"asked of another origin: {request.url}")

    def _console(self, said: Any) -> None:
        if not any(word in said.text for word in self.expected):
            self.faults.append(f"console: {said.type} {said.text}")


@pytest.fixture
def open_page(browser: Any, served: Served) -> Iterator[Callable[..., Any]]:
    """A tab in a browser of its own, at an address of the page, after it came in by the link."""
    contexts: list[Any] = []
    pages: list[Any] = []
    watched = Watched(served.address)

    def call(
        path: str = "/", *, of: Served = served, context: Any = None, expected: tuple[str, ...] = (),
        **how: Any,
    ) -> Any:  # fmt: skip
        watched.expected += expected
        watched.origin = of.address
        if context is None:
            context = browser.new_context(**how)
            context.add_init_script(_REPORTS)
            context.set_default_timeout(30_000)
            contexts.append(context)
        page = context.new_page()
        pages.append(page)
        watched.watch(page)
        fragment = of.link.rpartition("/")[2]
        page.goto(f"{of.address}{path}{fragment}")
        page.wait_for_selector("html[data-token] .top")
        return page

    yield call
    reports = [
        report
        for page in pages
        if not page.is_closed()
        for report in page.evaluate("window.reports || []")
    ]
    for context in contexts:
        context.close()
    assert watched.faults == []
    assert reports == []
