"""What all screens have around them, and the door for who comes without a token."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from typing import Final

from vaultmem.base.own_program import command_to_type
from vaultmem.surfaces.page.asking import PageRequest, Screen
from vaultmem.surfaces.page.markup import Markup, joined, tag

ASSETS: Final = "/page"
SCREENS: Final = (  # address, name, the key behind `g`
    ("/", "Today", "t"),
    ("/search", "Search", "s"),
    ("/review", "Review", "r"),
    ("/map", "Map", "m"),
    ("/sessions", "Sessions", "e"),
    ("/context", "Context", "c"),
    ("/health", "Health", "h"),
)
KEYS: Final = (
    ("/", "search"),
    ("j, k", "next and previous line"),
    ("Enter", "open it"),
    ("u", "undo what you did last, or the line you are on"),
    ("g, then a letter", "another screen: t s r m e c h"),
    ("Esc", "leave a field or this list"),
    ("?", "this list"),
)
MEDIA: Final = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types vaultmem"
)


@cache
def page_assets() -> dict[str, bytes]:
    """The modules, the style and the icon, by their names."""
    folder = resources.files("vaultmem.surfaces.page") / "static"
    return {
        each.name: each.read_bytes()
        for each in folder.iterdir()
        if each.name[each.name.rfind(".") :] in MEDIA
    }


@cache
def asset_address() -> str:
    """It changes with what lies behind it, so that a browser may keep what it has."""
    told = hashlib.blake2b(digest_size=6)
    for name, content in sorted(page_assets().items()):
        told.update(name.encode() + b"\0" + content)
    return f"{ASSETS}/{told.hexdigest()}"


def page_document(screen: Screen, request: PageRequest) -> str:
    vault = request.vault
    return _document(
        f"{screen.title} · {vault.root.name}",
        joined(
            (
                tag("a", "Skip to the content", href="#main", class_="skip"),
                _head(screen.at, vault.root.name, request.asked("q")),
                tag(
                    "main",
                    screen.main,
                    id="main",
                    tabindex="-1",
                    data_live="yes" if screen.live else None,
                ),
                tag("p", "", id="news", class_="hidden", role="status", aria_live="polite"),
                _keys(),
            )
        ),
        data_trusted="yes" if request.trusted else "no",
        data_read_only="yes" if request.read_only else None,
    )


def door() -> str:
    """Nothing of the vault stands in it: whoever has the token fetches that with it."""
    words = (
        tag("h1", "vaultmem"),
        tag("p", "This page opens with the link that the server printed.", id="door-words"),
        tag(
            "noscript",
            tag(
                "p",
                "A token travels as a header, which takes JavaScript. To read and search without "
                "it, serve the vault on this machine alone: "
                + command_to_type("serve --http 127.0.0.1:8765"),
            ),
        ),
        tag(
            "form",
            tag("label", "Token", for_="token"),
            tag("input", id="token", type="password", autocomplete="off", spellcheck="false"),
            tag("button", "Open"),
            id="door",
            class_="inline",
        ),
    )
    return _document("vaultmem", tag("main", *words, id="main", class_="door"), data_door="yes")


def _document(title: str, body: Markup, **of_html: str | None) -> str:
    at = asset_address()
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("title", title),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("link", rel="icon", href=f"{at}/icon.svg"),
        tag("link", rel="stylesheet", href=f"{at}/page.css"),
        tag("script", type="module", src=f"{at}/main.js"),
    )
    html = tag("html", head, tag("body", body), lang="en", **of_html)
    return f"<!doctype html>{html}"


def _head(at: str, vault: str, query: str) -> Markup:
    links = (
        tag(
            "a",
            name,
            href=address,
            aria_current="page" if address == at else None,
            data_key=key,
        )
        for address, name, key in SCREENS
    )
    search = tag(
        "form",
        tag("label", "Search memories", for_="find", class_="hidden"),
        tag(
            "input",
            id="find",
            name="q",
            type="search",
            value=query,
            placeholder="Search  /",
            autocomplete="off",
            spellcheck="false",
        ),
        tag("button", "Search", class_="quiet"),
        action="/search",
        role="search",
    )
    return tag(
        "header",
        tag("a", vault, href="/", class_="brand", title="The vault"),
        tag("nav", *links, aria_label="Screens"),
        search,
        class_="top",
    )


def _keys() -> Markup:
    rows = [(tag("dt", tag("kbd", key)), tag("dd", what)) for key, what in KEYS]
    return tag(
        "dialog",
        tag("h2", "Keys", id="keys-title"),
        tag("dl", *rows),
        tag("form", tag("button", "Close"), method="dialog"),
        id="keys",
        aria_labelledby="keys-title",
    )
