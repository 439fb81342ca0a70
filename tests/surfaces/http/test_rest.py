"""The REST routes over a real vault: answers, wrong questions, and the OpenAPI document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import snapshot
from tests.surfaces.http.site import Site, path_of, serving
from vaultmem import __version__
from vaultmem.surfaces.http import routes
from vaultmem.vault import Vault

ID = "01KE6Q8Z4R9M2N4P6R7S8T9VWX"
ROTATE = f"""---
id: {ID}
type: semantic
scope: project
project: Atlas
tags:
  - auth
created: 2026-01-05T09:40:00
---
Refresh tokens rotate every 24 hours; the old token stays valid for 5 minutes.
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vault")
    (folder / ".vaultmem").mkdir()
    (folder / "Memories" / "Atlas").mkdir(parents=True)
    (folder / "Memories" / "Atlas" / "Tokens rotate.md").write_text(ROTATE, encoding="utf-8")
    (folder / "Ünïcode & more?.md").write_text("Tokens of affection.\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def session(root: Path) -> dict[str, str]:
    with Vault.open(root) as vault:
        started = vault.start_session(title="Debugging")
        observed = [
            vault.log(text, session_id=started.session_id, type="decision").observation_id
            for text in ("First thing.", "Second thing.", "Third thing.")
        ]
        vault.index_now()
        vault.embed_all()
    return {"session_id": started.session_id, "second": observed[1]}


@pytest.fixture(scope="module")
def site(root: Path, session: dict[str, str]) -> Iterator[Site]:
    with serving(root) as running:
        yield running


def titles(answer: Any) -> list[str]:
    return [memory["title"] for memory in answer.json["memories"]]


# --- answers ------------------------------------------------------------------------------


def test_search_finds_by_words_and_by_meaning(site: Site) -> None:
    assert titles(site.get("/search?q=refresh+tokens&strategy=keyword"))[0] == "Tokens rotate"
    assert "Tokens rotate" in titles(site.get("/search?q=how+long+do+credentials+live"))


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("", {"Tokens rotate", "Ünïcode & more?"}),
        ("&limit=1", 1),
        ("&project=Atlas", {"Tokens rotate"}),
        ("&tag=auth", {"Tokens rotate"}),
        ("&tag=nothing&tag=auth", {"Tokens rotate"}),
        ("&scope=project", {"Tokens rotate"}),
        ("&type=semantic&type=episodic&project=Atlas", {"Tokens rotate"}),
        ("&type=procedural", set()),
        ("&after=2026-01-01&before=2026-01-31", {"Tokens rotate"}),
        ("&after=&before=&project=&tag=&type=", {"Tokens rotate", "Ünïcode & more?"}),
    ],
)
def test_search_narrows(site: Site, asked: str, found: Any) -> None:
    got = titles(site.get(f"/search?q=tokens&strategy=keyword{asked}"))
    assert len(got) == found if isinstance(found, int) else set(got) == found


def test_search_answers_with_the_contract_s_fields(site: Site) -> None:
    answer = site.get("/search?q=refresh&strategy=keyword").json
    hit = answer["memories"][0]
    assert {"id", "title", "path", "content", "whole", "tags"} <= set(hit)
    assert not {"snippet", "why", "type"} & set(hit)  # said twice, or the default
    assert hit["created_at"] == "2026-01-05T09:40:00Z"
    assert 0 <= hit["relevance_score"] <= 1
    whole = site.get("/search?q=refresh&strategy=keyword&detail=full").json
    assert {"type", "scope", "snippet", "access_count"} <= set(whole["memories"][0])
    assert {"revision", "pending", "skipped"} <= set(whole["index"])


@pytest.mark.parametrize(
    "ref", [ID, f"memory:{ID}", "Tokens rotate", "Memories/Atlas/Tokens rotate.md"]
)
def test_a_memory_by_id_path_or_title(site: Site, ref: str) -> None:
    memory = site.get(path_of(ref)).json
    assert memory["id"] == ID
    assert memory["content"].startswith("Refresh tokens rotate")


def test_a_path_with_slashes_and_strange_signs(site: Site) -> None:
    assert site.get("/memories/Memories/Atlas/Tokens%20rotate.md").json["id"] == ID
    memory = site.get(path_of("Ünïcode & more?.md")).json
    assert memory["content"] == "Tokens of affection."


@pytest.mark.parametrize(
    "ref", ["nothing", "../secret", "/etc/passwd", ".vaultmem/config.toml", "\0"]
)
def test_what_is_not_a_memory_is_not_found(site: Site, ref: str) -> None:
    answer = site.get(path_of(ref))
    assert answer.status in (400, 404)
    assert answer.json["error"] in ("not_found", "outside_vault", "invalid_input")


def test_the_timeline_around_an_observation(site: Site, session: dict[str, str]) -> None:
    around = site.get(f"/timeline?observation_id={session['second']}&before=1&after=0").json
    assert [each["content"] for each in around["observations"]] == ["First thing.", "Second thing."]
    whole = site.get(f"/timeline?session_id={session['session_id']}").json["observations"]
    assert len(whole) == 3
    assert {each["session_id"] for each in whole} == {session["session_id"]}


def test_the_context_block(site: Site) -> None:
    answer = site.get("/inject?q=token+rotation&project=Atlas").json
    assert "Refresh tokens rotate" in answer["context_block"]
    assert answer["tokens_used"] <= 2000
    assert site.get("/inject").status == 200


def test_status_and_health(site: Site) -> None:
    assert site.get("/status").json["index"]["notes"] >= 2
    assert site.get("/health").json == {"status": "ok", "version": __version__}


def test_head_has_the_headers_alone(site: Site) -> None:
    answer = site.ask("HEAD", "/health")
    assert (answer.status, answer.body) == (200, b"")


def test_reading_over_http_writes_no_note(site: Site, root: Path) -> None:
    def notes() -> dict[str, tuple[bytes, int]]:
        return {k: v for k, v in snapshot(root).items() if not k.startswith(".vaultmem")}

    before = notes()
    for route in routes.ROUTES:
        site.get(route.try_it or route.path)
    assert notes() == before


# --- wrong questions ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/search", "needs q"),
        ("/search?q=", "needs q"),
        ("/search?q=x&limit=0", "limit must be a whole number between 1 and 100"),
        ("/search?q=x&limit=101", "limit must be"),
        ("/search?q=x&limit=ten", "limit must be"),
        ("/search?q=x&limit=1.5", "limit must be"),
        ("/search?q=x&limit=1_0", "limit must be"),
        ("/search?q=x&limit=" + "9" * 5000, "limit must be"),
        ("/search?q=x&strategy=magic", "strategy must be one of hybrid"),
        ("/search?q=x&scope=world", "must be one of session, project, user"),
        ("/search?q=x&after=yesterday", "after must be a date"),
        ("/search?q=x&after=2026-02-01&before=2026-01-01", "backwards"),
        ("/search?q=x&colour=red", "no argument 'colour'"),
        ("/search?q=x&colour=", "no argument 'colour'"),
        ("/search?q=x&tags=a", "did you mean tag"),
        ("/search?q=x&q=y", "takes q once"),
        ("/timeline?before=-1", "before must be"),
        ("/inject?max_tokens=5", "max_tokens must be"),
        ("/status?verbose=1", "no argument 'verbose'"),
        ("/health?x=1", "no argument 'x'"),
    ],
)
def test_a_wrong_question_gets_a_sentence(site: Site, path: str, says: str) -> None:
    answer = site.get(path)
    assert answer.status == 400
    assert answer.json["error"] == "invalid_input"
    assert says in answer.json["message"]
    assert len(answer.body) < 1000


def test_a_hostile_question_is_only_text(site: Site) -> None:
    for q in (
        "(" * 3000,
        "%00",
        "it's",
        "foo:bar",
        "%22",
        "*",
        "%F0%9F%A6%89",
        "%ff%fe",
        "a" * 9000,
    ):
        answer = site.get(f"/search?q={q}&strategy=keyword")
        assert answer.status in (200, 400)


def test_a_vault_that_cannot_be_opened_is_said(tmp_path: Path) -> None:
    with serving(tmp_path / "missing") as site:
        assert site.get("/health").status == 200
        answer = site.get("/search?q=x")
        assert answer.status == 404
        assert "vaultmem init" in answer.json["message"]


# --- the document -------------------------------------------------------------------------


def test_every_route_of_the_document_answers_as_it_says(
    site: Site, session: dict[str, str]
) -> None:
    values = {"q": "tokens", "id": ID, "session_id": session["session_id"]}
    document = site.get("/openapi.json").json
    for path, operations in document["paths"].items():
        (operation,) = operations.values()
        needed = {
            each["name"]: values[each["name"]]
            for each in operation["parameters"]
            if each["required"] or each["name"] == "session_id"
        }
        query = "&".join(f"{k}={v}" for k, v in needed.items() if f"{{{k}}}" not in path)
        answer = site.get(path.format(**needed) + (f"?{query}" if query else ""))
        assert answer.status == 200, path
        ((media, content),) = operation["responses"]["200"]["content"].items()
        assert answer.headers["content-type"].startswith(media)
        if media == "application/json":
            schema = content["schema"]
            assert set(schema["required"]) <= set(answer.json), path
            for name, field in schema["properties"].items():
                assert _is_of(answer.json[name], field["type"]), (path, name)


def _is_of(value: Any, kind: str) -> bool:
    kinds: dict[str, Any] = {
        "string": str,
        "integer": int,
        "number": (int, float),
        "boolean": bool,
        "array": list,
        "object": dict,
    }
    return isinstance(value, kinds[kind])


def test_the_document_has_the_shape_of_openapi(site: Site) -> None:
    document = site.get("/openapi.json").json
    assert document["openapi"].startswith("3.1")
    assert set(document) <= {"openapi", "info", "paths", "components", "security"}
    assert document["info"]["version"] == __version__
    assert "security" not in document  # no token is wanted here
    names = [operations["get"]["operationId"] for operations in document["paths"].values()]
    assert len(set(names)) == len(names)
    for path, operations in document["paths"].items():
        assert path.startswith("/")
        operation = operations["get"]
        assert operation["summary"]
        in_path = {each["name"] for each in operation["parameters"] if each["in"] == "path"}
        assert in_path == set(re.findall(r"\{(\w+)\}", path))
        for parameter in operation["parameters"]:
            assert set(parameter) == {"name", "in", "required", "description", "schema"}
            assert parameter["required"] or parameter["in"] == "query"
        for status, response in operation["responses"].items():
            assert re.fullmatch(r"[1-5]\d\d", status)
            assert response["description"]
            (content,) = response["content"].values()
            assert status == "200" or content["schema"] == {"$ref": "#/components/schemas/Problem"}


def test_a_documented_parameter_is_accepted_and_its_bounds_hold(site: Site) -> None:
    for route in routes.ROUTES:
        for name, schema in route.takes.items():
            if schema["type"] != "integer":
                continue
            needed = "&".join(f"{need}=x" for need in route.needs)
            for value in (schema["minimum"] - 1, schema["maximum"] + 1):
                answer = site.get(f"{route.path}?{needed}&{name}={value}".replace("?&", "?"))
                assert answer.status == 400
                assert f"{name} must be" in answer.json["message"]


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "img", "link", "iframe")
        self.found += [value or "" for name, value in attrs if name in ("href", "src")]


def test_the_page_is_whole_in_itself(site: Site) -> None:
    answer = site.get("/docs")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    links = _Links()
    links.feed(answer.body.decode())
    assert links.found == ["/openapi.json"]
    for route in routes.ROUTES:
        assert f"GET {route.path}" in answer.body.decode()
