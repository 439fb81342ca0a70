"""Nobody comes in who should not: Host, Origin, token and size, on every route."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.surfaces.http.site import LAPTOP, PHONE, Site, serving, status_of, token_file
from vaultmem.errors import InvalidInput, Unavailable
from vaultmem.operations.caller import Caller
from vaultmem.surfaces import http as surface
from vaultmem.surfaces.http import app, guard, routes

REST = [route.try_it or route.path for route in routes.ROUTES]
EVERYWHERE = [*REST, "/mcp", "/nowhere", "/"]
FIELDS = {"error", "message", "retry_possible", "degraded"}
MIB = 1024 * 1024


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with serving(tmp_path_factory.mktemp("vault"), hosts=("memory.example",)) as running:
        yield running


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("locked")
    text = f'[tokens.laptop]\ntoken = "{LAPTOP}"\n[tokens.phone]\ntoken = "{PHONE}"\n'
    with serving(folder, token_file(folder, text)) as running:
        yield running


# --- Host ---------------------------------------------------------------------------------


def with_host(site: Site, path: str, host: bytes) -> bytes:
    request = b"GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (path.encode(), host)
    return site.raw(request)


@pytest.mark.parametrize("path", EVERYWHERE)
def test_another_host_name_is_refused_on_every_route(site: Site, path: str) -> None:
    received = with_host(site, path, b"evil.example:%d" % site.port)
    assert status_of(received) == 421
    assert b'"error"' in received


@pytest.mark.parametrize(
    "host",
    [
        "localhost.evil.example:{port}",
        "127.0.0.1.evil.example:{port}",
        "evil.example",
        "localhost@evil.example:{port}",
        "localhost:{port}@evil.example",
        "localhost:{port}:80",
        "localhost:x",
        "localhost/evil",
        "127.0.0.2",
        "192.168.1.5:{port}",
        "[::2]:{port}",
        "",
    ],
)
def test_what_only_looks_like_our_name_is_refused(site: Site, host: str) -> None:
    received = with_host(site, "/health", host.format(port=site.port).encode())
    assert status_of(received) in (400, 421)


@pytest.mark.parametrize(
    "host", ["localhost:{port}", "LOCALHOST", "127.0.0.1:{port}", "[::1]:{port}", "memory.example"]
)
def test_our_own_names_are_answered(site: Site, host: str) -> None:
    received = with_host(site, "/health", host.format(port=site.port).encode())
    assert status_of(received) == 200


def test_no_host_and_two_hosts_are_refused(site: Site) -> None:
    assert status_of(site.raw(b"GET /health HTTP/1.0\r\n\r\n")) == 421
    both = b"GET /health HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n"
    assert status_of(site.raw(both)) == 400


# --- Origin -------------------------------------------------------------------------------


@pytest.mark.parametrize("path", EVERYWHERE)
def test_a_page_of_another_site_is_refused_on_every_route(site: Site, path: str) -> None:
    answer = site.get(path, Origin="https://evil.example")
    assert answer.status == 403
    assert set(answer.json) == FIELDS
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "http://evil.example:{port}",
        "http://localhost:1",
        "http://localhost",
        "http://localhost:{port}.evil.example",
        "http://localhost:{port}@evil.example",
        "https://127.0.0.1.evil.example:{port}",
        "file://localhost:{port}",
        "chrome-extension://localhost:{port}",
        "localhost:{port}",
    ],
)
def test_an_origin_that_is_not_ours_is_refused(site: Site, origin: str) -> None:
    assert site.get("/health", Origin=origin.format(port=site.port)).status == 403


@pytest.mark.parametrize(
    "origin", ["http://localhost:{port}", "http://127.0.0.1:{port}", "https://memory.example"]
)
def test_our_own_pages_are_answered(site: Site, origin: str) -> None:
    assert site.get("/health", Origin=origin.format(port=site.port)).status == 200


def test_a_picture_or_script_in_another_page_gets_nothing(site: Site) -> None:
    """Such requests of a browser carry no Origin, but say where they come from."""
    assert site.get("/health", Sec_Fetch_Site="cross-site").status == 403
    assert site.get("/health", Sec_Fetch_Site="same-site").status == 403
    assert site.get("/health", Sec_Fetch_Site="none").status == 200


def test_there_is_no_cors(site: Site) -> None:
    asked = {"Origin": f"http://localhost:{site.port}", "Access_Control_Request_Method": "GET"}
    answer = site.ask("OPTIONS", "/search", **asked)
    assert answer.status == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]


# --- tokens -------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [path for path in EVERYWHERE if path != "/health"])
def test_every_route_wants_a_token(locked: Site, path: str) -> None:
    for token in ("", "wrong-token-0123456789", LAPTOP[:-1], LAPTOP + "x"):
        answer = locked.get(path, token)
        assert answer.status == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.json["error"] == "unauthorized"
        assert set(answer.json) == FIELDS
        assert LAPTOP[:-1] not in answer.body.decode()


def test_health_tells_only_that_it_is_up(locked: Site) -> None:
    answer = locked.get("/health")
    assert answer.status == 200
    assert set(answer.json) == {"status", "version"}
    assert answer.json["status"] == "ok"
    for wrong in ("/health/", "/health%2f..%2fopenapi.json", "/health/../openapi.json", "//health"):
        assert locked.get(wrong).status == 401


@pytest.mark.parametrize("header", [f"Bearer {LAPTOP}", f"bearer {PHONE}", f"BEARER   {LAPTOP} "])
def test_a_known_token_comes_in(locked: Site, header: str) -> None:
    assert locked.get("/openapi.json", Authorization=header).status == 200


@pytest.mark.parametrize(
    "header", [f"Basic {LAPTOP}", LAPTOP, "Bearer", f"Bearer {LAPTOP} {PHONE}"]
)
def test_a_token_said_in_another_way_does_not(locked: Site, header: str) -> None:
    assert locked.get("/openapi.json", Authorization=header).status == 401


def test_two_tokens_in_one_request_are_refused(locked: Site) -> None:
    lines = [b"GET /openapi.json HTTP/1.1", b"Host: localhost", b"Connection: close"]
    lines += [b"Authorization: Bearer " + token.encode() for token in (LAPTOP, PHONE)]
    assert status_of(locked.raw(b"\r\n".join(lines) + b"\r\n\r\n")) == 401


def test_a_token_in_the_address_does_not_count(locked: Site) -> None:
    assert locked.get(f"/openapi.json?token={LAPTOP}&access_token={LAPTOP}").status == 401


def test_host_and_origin_are_looked_at_with_a_token_too(locked: Site) -> None:
    assert locked.get("/status", LAPTOP, Host="evil.example").status == 421
    assert locked.get("/status", LAPTOP, Origin="https://evil.example").status == 403


# --- where it may be served ---------------------------------------------------------------


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_other_machines_are_served_with_a_token_only(host: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="--token-file"):
        surface.open_http_socket(host, 0, Caller(), None, (), "")
    http_socket = surface.open_http_socket(
        host, 0, Caller(), str(token_file(tmp_path, LAPTOP, "t")), (), ""
    )
    http_socket.socket.close()


def test_the_address_a_connection_arrived_at_is_a_right_host() -> None:
    policy = guard.Policy(Caller(), hosts=guard.host_names(["https://Memory.Example:8443/"]))

    def refused(host: str, arrived: str) -> bool:
        headers = [(b"host", host.encode())]
        scope = {"headers": headers, "server": (arrived, 8765), "path": "/health"}
        return policy.refusal(scope) is not None

    assert not refused("192.168.1.5:8765", "192.168.1.5")
    assert not refused("192.168.1.5:8765", "::ffff:192.168.1.5")
    assert not refused("[fe80::1]:8765", "fe80::1")
    assert not refused("memory.example", "192.168.1.5")
    assert refused("192.168.1.6:8765", "192.168.1.5")
    assert refused("evil.example:8765", "192.168.1.5")


def test_a_port_in_use_is_a_sentence() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(Unavailable, match=f"127.0.0.1:{port} .* another port") as failed:
            surface.open_http_socket("127.0.0.1", port, Caller(), None, (), "")
    assert failed.value.exit_code == 3


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8765", ("127.0.0.1", 8765)),
        ("9000", ("127.0.0.1", 9000)),
        (":0", ("127.0.0.1", 0)),
        ("localhost", ("localhost", 8765)),
        ("[::1]:80", ("::1", 80)),
        ("memory.example:443", ("memory.example", 443)),
    ],
)
def test_addresses_as_people_write_them(text: str, address: tuple[str, int]) -> None:
    assert surface.parse_http_address(text) == address


@pytest.mark.parametrize(
    "text", ["", "a:b", "localhost:70000", "::1", "http://localhost:1", "a b:1"]
)
def test_what_is_no_address_is_said(text: str) -> None:
    with pytest.raises(InvalidInput):
        surface.parse_http_address(text)


def test_an_unknown_name_to_serve_on_is_said() -> None:
    with pytest.raises(InvalidInput, match="knows no address"):
        surface.open_http_socket("no-such-host.invalid", 0, Caller(), None, (), "")


# --- size and time ------------------------------------------------------------------------

POST = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def test_a_large_body_is_refused_before_it_is_sent(site: Site) -> None:
    received = site.raw(POST + b"Content-Length: %d\r\n\r\n" % (4 * MIB + 1))
    assert status_of(received) == 413
    assert b"4 MiB" in received


@pytest.mark.parametrize("path", [b"/mcp", b"/search?q=x", b"/health", b"/nowhere"])
def test_a_large_body_in_pieces_is_refused_too(site: Site, path: bytes) -> None:
    start = POST.replace(b"/mcp", path) + b"Transfer-Encoding: chunked\r\n\r\n"
    piece = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    assert status_of(site.raw(start + piece * 65)) == 413


def test_a_body_without_end_does_not_keep_the_server(site: Site) -> None:
    """The answer comes, and then the connection is closed although the client goes on."""
    with socket.create_connection(("127.0.0.1", site.port), timeout=30) as connection:
        connection.sendall(POST + b"Transfer-Encoding: chunked\r\n\r\n")
        piece = b"10000\r\n" + b"x" * 65536 + b"\r\n"
        with pytest.raises((ConnectionError, TimeoutError)):
            for _ in range(1_000_000):
                connection.sendall(piece)


def test_the_largest_body_that_is_allowed_comes_through(site: Site) -> None:
    answer = site.ask("POST", "/health", body=b"x" * 4 * MIB)
    assert answer.status == 405  # refused for its method, not for its size


def test_a_client_that_sends_its_whole_body_can_read_why_not(locked: Site) -> None:
    assert locked.ask("POST", "/mcp", body=b"x" * 3 * MIB).status == 401
    assert locked.ask("POST", "/mcp", LAPTOP, body=b"x" * 5 * MIB).status == 413


def test_a_body_that_does_not_come_is_not_waited_for(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.2)
    monkeypatch.setattr(guard, "LINGER_SECONDS", 0.2)
    assert status_of(site.raw(POST + b"Content-Length: 10\r\n\r\nabc")) == 408


@pytest.mark.parametrize("said", [b"", b"GET /health HTTP/1.1\r\nHost: loc"])
def test_a_request_that_does_not_come_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    monkeypatch.setattr(app, "HEAD_SECONDS", 0.2)
    with serving(tmp_path) as site:
        assert site.raw(said) == b""
        again = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
        assert status_of(site.raw(again + said)) == 200


# --- what is told about the server --------------------------------------------------------


def test_no_banner_and_nothing_for_caches_or_other_pages(site: Site) -> None:
    for path in ("/health", "/docs", "/nowhere"):
        headers = site.get(path).headers
        assert "server" not in headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert "default-src 'none'" in headers["content-security-policy"]


@pytest.mark.parametrize("path", ["/", "/nowhere", "/search/", "/memories", "/docs/x", "/../etc"])
def test_an_unknown_route_is_said(site: Site, path: str) -> None:
    answer = site.get(path)
    assert answer.status == 404
    assert answer.headers["content-type"] == "application/json"
    assert answer.json["error"] == "not_found"
    assert set(answer.json) == FIELDS


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
@pytest.mark.parametrize("path", REST)
def test_a_wrong_method_is_said(site: Site, path: str, method: str) -> None:
    answer = site.ask(method, path)
    assert answer.status == 405
    assert "GET" in answer.headers["allow"]
    assert set(answer.json) == FIELDS


@pytest.mark.parametrize(
    "sent", [b"\x16\x03\x01\x02\x00\x01\r\n\r\n", b"hello\r\n\r\n", b"A" * 99_999]
)
def test_what_is_not_http_gets_an_answer_and_no_more(site: Site, sent: bytes) -> None:
    received = site.raw(sent)
    assert status_of(received) == 400
    assert b'"error"' in received


def test_websockets_are_not_served(site: Site) -> None:
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Key": "eHh4"}
    assert site.get("/mcp", Origin="https://evil.example", **upgrade).status == 403
