"""The web page in a real browser: every screen, every key, two tabs, hostile notes."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import clean_environment
from tests.page import people
from tests.page.conftest import Served, serve_page
from tests.waiting import until
from vaultmem.surfaces.page.screens import VIEWS

Open = Callable[..., Any]
NOTE = "/note/Memories/Atlas/Refresh%20tokens%20rotate%20every%2024%20hours.md"
SCREENS = {
    **{address: address for address in VIEWS if address != "/note"},
    "/search": "/search?q=grace+period",
    "/map": "/map?at=TokenValidator&hops=2",
    "/context": "/context?folder=Atlas&prompt=fix+the+refresh+tokens",
    "note": NOTE,
    "note, history": f"{NOTE}?tab=history",
    "note, edit": f"{NOTE}?tab=edit",
    "note, uses": f"{NOTE}?tab=uses",
    "note, file": f"{NOTE}?tab=file",
    "a note that is not there": "/note/Nowhere",
}


def line_of(page: Any, words: str) -> Any:
    return page.locator(".line", has_text=words).first


# --- for everyone -----------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_screen_keeps_anybody_out(open_page: Open, scheme: str) -> None:
    """axe finds nothing, nothing is wider than a narrow screen, and nothing moves."""
    from axe_playwright_python.sync_playwright import Axe

    page = open_page(color_scheme=scheme, reduced_motion="reduce", expected=("404",))
    base = page.url.rstrip("/")
    for name, address in SCREENS.items():
        page.set_viewport_size({"width": 1200, "height": 800})
        page.goto(base + address)
        page.wait_for_selector("html[data-token] .top")
        found = Axe().run(page).response["violations"]
        told = [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found]
        assert told == [], name
        page.set_viewport_size({"width": 320, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, name


def test_nothing_moves_and_little_is_fetched(open_page: Open) -> None:
    page = open_page()
    page.add_init_script(
        "window.moved = 0; new PerformanceObserver((list) => list.getEntries().forEach("
        "(each) => window.moved += each.value)).observe({type: 'layout-shift', buffered: true})"
    )
    sizes: list[int] = []
    page.on("requestfinished", lambda request: sizes.append(request.sizes()["responseBodySize"]))
    page.reload()
    page.wait_for_selector(".line")
    page.wait_for_load_state("load")
    assert page.evaluate("window.moved") < 0.001
    assert sum(sizes) < 60_000


def test_all_by_keys(open_page: Open) -> None:
    page = open_page()
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog:not([open])", state="attached")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    first = page.locator(".line").first
    assert first.evaluate("(line) => line === document.activeElement")
    page.keyboard.press("Enter")
    page.wait_for_url("**/note/**")
    for key, address in (("s", "/search"), ("m", "/map"), ("h", "/health"), ("t", "/")):
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.wait_for_url(f"**{address}")
    page.keyboard.press("/")
    page.keyboard.type("frozen")
    page.wait_for_selector(".hit")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/note/**")
    page.go_back()
    page.wait_for_selector(".hit")
    assert page.locator("#find").input_value() == "frozen"


# --- what happened ----------------------------------------------------------------------------


def test_today_says_who_did_what_and_takes_it_back(open_page: Open, vault: Path) -> None:
    page = open_page()
    changed = line_of(page, "30 November")
    assert "claude-code" in changed.inner_text()
    assert "changed" in changed.inner_text()
    assert "the end of the month" in changed.locator("del").inner_text()
    stored = page.locator(".line", has_text=people.FROZEN).first
    file = next(vault.glob("Memories/Atlas/Deploys are frozen*.md"))
    stored.focus()
    page.keyboard.press("u")
    page.locator("#toast", has_text="Undone").wait_for()
    until(lambda: not file.exists())
    page.keyboard.press("u")  # and that as well
    until(file.exists)
    assert people.FROZEN in file.read_text()


def test_news_come_by_themselves_to_all_tabs_by_one_stream(
    open_page: Open, vault: Path, browser: Any
) -> None:
    page = open_page()
    streams: list[str] = []
    page.context.on(
        "request", lambda request: streams.append(request.url) if "/news" in request.url else None
    )
    other = open_page(context=page.context)
    note = vault / "From the editor.md"
    note.write_text("Saved a moment ago by a person.\n", encoding="utf-8")
    for tab in (other, page):
        tab.bring_to_front()
        line_of(tab, "From the editor").wait_for()
    assert len(streams) <= 1
    assert "A person" in line_of(page, "From the editor").inner_text()


def test_the_sentence_of_health_knows_connected_agents(
    open_page: Open, vault: Path, home: Path
) -> None:
    page = open_page()
    assert "No agent connected" in page.locator("#pulse").inner_text()
    environment = clean_environment(home) | people.engine_of(home)
    command = [sys.executable, "-m", "vaultmem", "serve", "--vault", str(vault)]
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "tried-client", "version": "1"},
        },
    }
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "list_tags"}}
    window = subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert window.stdin and window.stdout
    for said in (hello, {"jsonrpc": "2.0", "method": "notifications/initialized"}, listing):
        window.stdin.write(json.dumps(said) + "\n")
        window.stdin.flush()
    for _ in range(2):
        window.stdout.readline()

    def is_told() -> bool:
        page.reload()
        return "1 agent connected" in str(page.locator("#pulse").inner_text())

    try:
        until(is_told)
        page.goto(page.url.rstrip("/") + "/health")
        page.locator("td", has_text="tried-client").wait_for()
    finally:
        window.stdin.close()
        window.wait(30)
        window.stdout.close()


# --- finding ----------------------------------------------------------------------------------


def test_search_answers_while_one_types_and_says_why(open_page: Open) -> None:
    page = open_page()
    page.locator("#find").press_sequentially("grace period")
    hit = page.locator(".hit", has_text="Refresh tokens rotate").first
    hit.wait_for()
    page.get_by_text("by words and meaning").wait_for()
    assert page.url.endswith("/search?q=grace+period")
    assert hit.locator("mark").count() >= 2
    hit.locator("summary").click()
    why = hit.locator(".why")
    assert "Words and their weight" in why.inner_text()
    assert "Meaning" in why.inner_text()


def test_search_shows_what_an_agent_gets_to_the_letter(open_page: Open, served: Served) -> None:
    page = open_page("/search?q=rotate+tokens&agents_view=1")
    shown = page.locator("pre.answer").inner_text()
    said = _called(served, "recall_memories", {"query": "rotate tokens"})
    assert shown.strip() == said.strip()
    page.goto(page.url.replace("rotate+tokens", "wombats+in+orbit"))
    page.locator("pre.answer", has_text="Nothing known about this").wait_for()


def test_filters_stand_in_the_address(open_page: Open) -> None:
    page = open_page("/search?q=proxy&agent=cursor")
    assert page.locator(".hit", has_text="importer").count() == 0
    page.goto(page.url.replace("agent=cursor", "agent=claude-code"))
    page.locator(".hit", has_text="importer").first.wait_for()
    page.goto(page.url.replace("q=proxy&agent=claude-code", "q=emojis"))
    assert page.locator(".hit", has_text="Anna prefers").count() == 0
    page.locator("#filters summary").click()
    page.locator("[name=forgotten]").check()
    page.locator(".hit", has_text="Anna prefers").first.wait_for()
    assert "forgotten=1" in page.url


# --- one note ---------------------------------------------------------------------------------


def test_an_edit_is_a_splice_and_a_conflict_shows_both_texts(open_page: Open, vault: Path) -> None:
    file = vault / "Crlf.md"
    page = open_page("/note/Crlf.md?tab=edit", expected=("409",))
    box = page.locator("textarea#text")
    box.fill(box.input_value().replace("two", "two and a half"))
    page.get_by_role("button", name="Save").click()
    page.locator("#toast", has_text="Saved").wait_for()
    assert file.read_bytes() == b"# Lines\r\n\r\none\r\ntwo and a half\r\nthree\r\n"

    page.goto(page.url.partition("?")[0] + "?tab=edit")
    box = page.locator("textarea#text")
    box.fill(box.input_value().replace("three", "four"))
    file.write_bytes(b"# Lines\r\n\r\nby somebody else\r\n")
    page.get_by_role("button", name="Save").click()
    conflict = page.locator(".conflict")
    conflict.wait_for()
    assert "by somebody else" in conflict.locator("textarea").input_value()
    assert "four" in box.input_value()
    assert b"somebody else" in file.read_bytes()
    box.fill("# Lines\n\nby both\n")
    page.get_by_role("button", name="Save").click()
    until(lambda: b"by both" in file.read_bytes())
    page.goto(page.url.partition("?")[0] + "?tab=history")
    page.locator("ins", has_text="both").first.wait_for()


def test_a_note_is_forgotten_tagged_moved_and_taken_back(open_page: Open, vault: Path) -> None:
    page = open_page(NOTE)
    file = vault / "Memories/Atlas/Refresh tokens rotate every 24 hours.md"
    before = file.read_text()

    def do(name: str, field: str, words: str) -> None:
        page.locator(f"#do-{name} summary").click()
        page.locator(f"#do-{name} [name={field}]").fill(words)
        page.locator(f"#do-{name} button").click()
        page.locator("#toast").wait_for()

    do("tag", "tags", "keep, -auth/tokens")
    page.get_by_role("link", name="#keep").wait_for()
    page.locator("#toast button").click()
    until(lambda: file.read_text() == before)
    page.get_by_role("link", name="#keep").wait_for(state="detached")
    do("move", "project", "Zeus")
    until(lambda: "Zeus" in file.read_text())
    page.get_by_role("link", name="Zeus").wait_for()
    page.keyboard.press("u")
    until(lambda: file.read_text() == before)
    page.get_by_role("link", name="Zeus").wait_for(state="detached")
    do("forget", "reason", "Tried")
    page.locator(".forgotten", has_text="Tried").wait_for()
    page.get_by_role("button", name="Take it back").click()
    until(lambda: "forgotten" not in file.read_text())
    link = page.get_by_role("link", name="Open in Obsidian").get_attribute("href")
    assert link.startswith("obsidian://open?vault=Brain&file=Memories%2FAtlas%2FRefresh")


@pytest.mark.parametrize("path", ["/note/Hostile%20%3Cb%3Enote%3C.md", "/note/Huge.md"])
def test_a_hostile_note_is_text(open_page: Open, read_only: Served, path: str) -> None:
    page = open_page(path, of=read_only)
    for tab in ("", "?tab=file", "?tab=history"):
        page.goto(page.url.partition("?")[0] + tab)
        page.wait_for_selector("html[data-token] .top")
        assert page.evaluate("window.hurt") is None
        assert page.locator("main script, main style, main iframe, main img").count() == 0
        bad = "main [href^='javascript'], main [href^='data'], main [href^='//']"
        assert page.locator(bad).count() == 0
    page.goto(f"{page.url.partition('/note')[0]}/search?q=hurt+hostile")
    page.wait_for_selector("html[data-token] .top")
    assert page.evaluate("window.hurt") is None


def test_the_map_is_the_same_each_time_and_is_walked(open_page: Open) -> None:
    page = open_page("/map?at=TokenValidator")
    drawn = page.locator("svg").inner_html()
    page.reload()
    page.wait_for_selector("svg")
    assert page.locator("svg").inner_html() == drawn
    names = page.locator("svg a title").all_text_contents()
    listed = page.locator(".map section").inner_text()
    assert all(name in listed for name in names)
    page.locator("svg a", has=page.locator("title", has_text="Keychain")).focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/map?at=*Keychain*")


def test_other_scripts_are_right(open_page: Open) -> None:
    page = open_page("/search?q=数据库")
    page.locator(".hit", has_text="多语言").first.wait_for()
    page.goto(page.url.partition("/search")[0] + "/note/Memories/多语言.md")
    assert page.locator(".text p").first.get_attribute("dir") == "auto"


def test_review_is_decided_by_keys(open_page: Open, vault: Path) -> None:
    page = open_page("/review")
    marmots, otters = (line_of(page, text) for text in people.PROPOSED)
    page.keyboard.press("j")
    page.keyboard.press("s")  # not now: the other one comes first
    assert people.PROPOSED[1] in page.locator(".line").first.inner_text()
    marmots.focus()
    page.keyboard.press("a")
    page.locator("#toast", has_text="Accepted").wait_for()
    marmots.wait_for(state="detached")
    until(lambda: list(vault.glob("Memories/Marmots whistle*.md")))
    otters.focus()
    page.keyboard.press("r")
    page.locator("#toast", has_text="Rejected").wait_for()
    otters.wait_for(state="detached")
    page.keyboard.press("u")
    otters.wait_for()


# --- who may ----------------------------------------------------------------------------------


def test_a_wrong_or_missing_token_is_said_plainly(
    browser: Any, served: Served, open_page: Open
) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{served.address}/#token=wrong-wrong-wrong-wrong")
    page.locator("#trouble", has_text="The token is wrong").wait_for()
    assert page.locator(".line").count() == 0
    page.locator("#token").fill(served.token)
    page.keyboard.press("Enter")
    page.locator(".line").first.wait_for()
    assert served.token not in page.url
    context.close()


def test_read_only_has_no_buttons_and_refuses(open_page: Open, read_only: Served) -> None:
    for path in ("/", "/note/Calm.md", "/review"):
        page = open_page(path, of=read_only)
        assert page.locator(".deed, [data-deed]").count() == 0
        page.close()
    status, told = _done(read_only, "forget", {"ref": "Calm"})
    assert (status, told["error"]) == (403, "read_only")


def test_a_page_outlives_its_server(open_page: Open, hostile: Path, home: Path) -> None:
    first = serve_page(hostile, home, "--read-only", VAULTMEM_MODEL="off")
    port = first.address.rpartition(":")[2]
    page = open_page(of=first, expected=("ERR_", "Failed to load"))
    first.process.kill()
    first.stop()
    page.locator("#trouble", has_text="does not answer").wait_for()
    again = serve_page(
        hostile, home, "--read-only", "--http", f"127.0.0.1:{port}", VAULTMEM_MODEL="off"
    )
    try:
        page.reload()
        page.locator("#trouble", has_text="The token is wrong").wait_for()
        page.goto(again.link)
        page.reload()
        page.wait_for_selector(".line")
        assert page.locator("#trouble").count() == 0
    finally:
        again.stop()


def _done(served: Served, deed: str, given: Any) -> tuple[int, Any]:
    request = urllib.request.Request(
        f"{served.address}/do/{deed}",
        json.dumps(given).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {served.token}"},
    )
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def _called(served: Served, tool: str, arguments: Any) -> str:
    """What an agent gets from the same server, on the newest protocol's single request."""
    said = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "page-test", "version": "1"},
        },
    }
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {served.token}",
    }

    def posted(message: Any) -> tuple[Any, str]:
        request = urllib.request.Request(
            f"{served.address}/mcp", json.dumps(message).encode(), headers
        )
        with urllib.request.urlopen(request) as answer:
            return answer.headers, answer.read().decode()

    got, _ = posted(said)
    headers["Mcp-Session-Id"] = got["mcp-session-id"]
    posted({"jsonrpc": "2.0", "method": "notifications/initialized"})
    call = {"name": tool, "arguments": arguments}
    _, text = posted({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call})
    data = next(line[6:] for line in text.splitlines() if line.startswith("data: {"))
    return str(json.loads(data)["result"]["content"][0]["text"])
