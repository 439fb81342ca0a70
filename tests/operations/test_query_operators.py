"""Query operators: what is one, what they demand, and that nothing else changes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.surfaces.mcp.harness import new_vault
from vaultmem.recall import file_scan
from vaultmem.recall.query_operators import query_operators
from vaultmem.vault import Vault

PROMPTS = Path(__file__).parents[2] / "scripts" / "evaluation" / "prompts"
NOTES = {
    "Auth/Tokens.md": "---\ntags: [auth/tokens]\n---\nThe grace period of tokens is five minutes.\n",
    "Auth/Period.md": "---\ntags: [auth]\n---\nGrace comes to tokens, period. A certificate is new.\n",
    "Auth/Staging.md": "Tokens on staging have no grace period; certification is off.\n",
    "Café/Menü.md": "Une période de GRÂCE\nperiod: not these words.\n",
    "Café/Secret.md": "Tokens. <private>the grace period of my own</private> %%certifiable%%\n",
    "How/Deploy.md": "---\ntype: procedural\ntags: [auth, ops]\n---\nDeploy the tokens first.\n",
    "塔.md": "東京タワーの高さは三百三十三メートル。\n",
}
FOUND = {  # by a question in keywords: these notes, in whatever order
    '"grace period" tokens': {"Tokens", "Staging", "Menü"},
    'tokens "grace period" -staging': {"Tokens", "Menü"},
    '-"grace period" tokens tag:auth': {"Period", "Deploy"},
    "certifica*": {"Period", "Staging"},
    "certificat* -certification": {"Period"},
    "tag:auth": {"Tokens", "Period", "Deploy"},
    "tag:#AUTH/tokens": {"Tokens"},
    "tag:auth tag:ops": {"Deploy"},
    "tokens -tag:auth": {"Staging", "Secret"},
    "path:Auth/ tokens": {"Tokens", "Period", "Staging"},
    'path:"café" tokens': {"Secret"},
    "type:procedural": {"Deploy"},
    "tokens -type:procedural path:how": set(),
    '"grâce period"': {"Tokens", "Staging", "Menü"},
    '"東京タワー"': {"塔"},
    '"nothing says this"': set(),
}
WORDS = (  # which are asked as they stand
    'who said "hell is other people"',
    "git commit -am tokens",
    "find . -name tokens --verbose",
    "what does -draft do?",
    "const char* vs char* const",
    "**bold** tokens",
    "type:string in typescript",
    "path:/usr/local/bin tokens",
    "a well-known follow-up - and more",
    'grace "" period',
)
QUIET = {"typing.quiet_seconds": 0.0}
HOSTILE = st.text(
    st.sampled_from('"*:-()[]{}\\/^~+!&|?<>\0\ud800 \n\t') | st.sampled_from("tagphye東"),
    max_size=60,
)


def _filled(root: Path) -> Path:
    new_vault(root)
    for page in root.glob("*.md"):
        page.unlink()
    for path, text in NOTES.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    with Vault.open(_filled(tmp_path_factory.mktemp("operators") / "vault"), QUIET) as opened:
        yield opened


def titles(vault: Vault, query: str, strategy: str = "keyword") -> set[str]:
    return {memory.title for memory in vault.recall(query, strategy=strategy, limit=50).memories}


@pytest.mark.parametrize("query", FOUND)
def test_what_operators_find(vault: Vault, query: str) -> None:
    assert titles(vault, query) == FOUND[query]
    assert titles(vault, query, "hybrid") == FOUND[query], "nor by meaning alone"


def test_the_same_by_looking_through_the_files(tmp_path: Path) -> None:
    root = _filled(tmp_path / "vault")
    (root / ".vaultmem/index").write_text("a file where the folder should be")
    with Vault.open(root) as broken:
        assert broken.recall("tokens", strategy="keyword").strategy_used == "scan"
        for query, expected in FOUND.items():
            assert titles(broken, query) == expected, query


def test_the_passage_with_the_phrase_is_shown_and_pages_go_on(vault: Vault) -> None:
    path = vault.root / "Long.md"
    parts = [
        f"## Part {i}\n\nTokens, tokens, tokens and grace. {'More words. ' * 60}" for i in range(9)
    ]
    path.write_text("\n\n".join([*parts, "## Last\n\nAt the end the lynx grace stood still."]))
    vault.index_now()
    (found,) = vault.recall('tokens "lynx grace"', strategy="keyword").memories
    assert found.title == "Long" and "lynx grace" in found.content
    whole = vault.recall("tag:auth", limit=50)
    assert whole.total_matched == 3
    pages = [vault.recall("tag:auth", limit=1, offset=i).memories[0].title for i in range(3)]
    assert pages == [memory.title for memory in whole.memories]
    path.unlink()


def test_a_phrase_that_nobody_wrote_is_said_to_be_missing(vault: Vault) -> None:
    alone = vault.recall('"nothing says this"', strategy="keyword")
    assert not alone.memories and alone.warnings[0].startswith("phrase_not_found")
    among = vault.recall('tokens "nothing says this"', strategy="keyword")
    assert among.memories and "searched by its words" in among.warnings[0]


def test_an_ordinary_question_is_asked_as_it_stands(vault: Vault) -> None:
    for query in WORDS:
        asked = query_operators(query, lambda: ("semantic",))
        assert asked.demands == () and asked.words == query
        told = (
            vault.recall(query, strategy="keyword"),
            vault.recall(query, strategy="keyword", operators=False),
        )
        first, second = ([(m.id, m.content, m.relevance_score) for m in t.memories] for t in told)
        assert first == second
    prompts = [line for file in PROMPTS.glob("*.txt") for line in file.read_text().splitlines()]
    taken = [line for line in prompts if query_operators(line, lambda: ("semantic",)).demands]
    assert len(prompts) > 5_000 and len(taken) <= 3, taken


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(HOSTILE)
@example('"' * 300)
@example("(" * 3_000 + "tag:")
@example('-"' * 200 + "x*" * 200)
@example('tag:"" path:"a type:" -"" *')
@example('"grace period" OR (tokens AND NOT body:x) ^2 ~1 [a TO b]')
def test_no_text_breaks_it(vault: Vault, text: str) -> None:
    asked = query_operators(text, lambda: ("semantic",))
    assert asked.demands or asked.words == text
    assert all(each.value for each in asked.demands)
    if "\0" not in text and "\ud800" not in text:
        found = vault.recall(text, strategy="keyword", limit=5)
        assert not any(re.search("Traceback|tantivy", warning) for warning in found.warnings)
        file_scan.ask(vault.parts.store, asked.lookup, vault.view.filters(), limit=5, offset=0)
