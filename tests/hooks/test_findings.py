"""What is said to be decided or found out, and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hooks.test_session_hooks import edits, happens, note_of
from vaultmem import Vault
from vaultmem.operations.agent_work.findings import findings_of_answer, findings_of_prompt

DECIDED = (
    "We decided to count the grace period from first use.",
    "I chose SQLite over Postgres because it needs no server.",
    "Decision: keep the old endpoint until May.",
    "I've opted for a queue of ten rows.",
    "Wir haben uns für RS256 entschieden.",
    "Decidimos manter o formato antigo.",
    "Nous avons choisi de garder l'ancien format.",
    "我们决定用PostgreSQL数据库，因为它稳定。",
)
FOUND_OUT = (
    "The root cause is a loop that stops one row early.",
    "It turned out that the proxy strips the header.",
    "The failure was caused by a missing lock.",
    "I found that the cache is never cleared.",
    "Die Ursache war eine fehlende Sperre.",
    "原因是连接池太小，请求都在等待。",
)
NEITHER = (
    "Should we decide to use Postgres?",
    "If we chose SQLite, it would need no server.",
    "I have not decided anything yet about the queue and whether it stays.",
    "The test covers the last row.",
    "I read src/export.py and ran the tests.",
    "Perhaps the problem is the cache.",
)


@pytest.mark.parametrize(
    ("sentences", "kind"), [(DECIDED, "decision"), (FOUND_OUT, "discovery"), (NEITHER, "")]
)
def test_what_an_answer_says_plainly(sentences: tuple[str, ...], kind: str) -> None:
    for sentence in sentences:
        found = findings_of_answer(f"## Done\n\n- **{sentence}**\n\n```\n{sentence}\n```\n")
        assert [each.kind for each in found] == ([kind] if kind else []), sentence
        assert not findings_of_answer(f"As the old plan says:\n\n> {sentence}\n"), "quoted"


@pytest.mark.parametrize(
    ("prompt", "count"),
    [
        ("Ok, let's use COPY instead of INSERT.", 1),
        ("from now on every migration has a test", 1),
        ("We decided to keep the old endpoint.", 1),
        ("yes. and let's store ISBN-13 only from now on, convert on import", 1),
        ("no, keep the old name", 1),
        ("I'd rather stay with SQLite", 1),
        ("make it a cookie instead of a header", 1),
        ("Never touch the migrations by hand.", 1),
        ("ab jetzt nur noch kleine Commits", 1),
        ("keep going", 0),
        ("never mind, it works now", 0),
        ("let's make a test for it", 0),
        ("Use the old parser instead", 1),
        ("The problem is that users are logged out", 0),
        ("let's see what happens", 0),
        ("Should we use COPY?", 0),
    ],
)
def test_what_a_person_decides(prompt: str, count: int) -> None:
    assert len(findings_of_prompt(prompt)) == count


def test_a_note_of_a_session_tells_what_was_decided_and_learned(vault: Vault, root: Path) -> None:
    happens(vault, "UserPromptSubmit", prompt="Make the importer faster")
    happens(vault, "Stop", last_assistant_message="We decided to wait for the data team here.")
    assert not list(root.rglob("Sessions/**/*.md")), "what is said alone begins no note"
    edits(vault, "/home/me/Atlas/src/importer.py")
    happens(vault, "UserPromptSubmit", prompt="Let's use COPY, my token is ghp_" + "aB3d" * 9)
    answer = (
        "The importer is eight times faster.\n\n- The root cause was one commit for each row.\n"
        "- I chose batches of 500 <private>for ACME</private> rows.\n"
    )
    for _ in range(2):
        happens(vault, "Stop", last_assistant_message=answer)
    text = note_of(root).read_text()
    assert (
        "- Decided: We decided to wait for the data team here; "
        "Let's use COPY, my token is [redacted: github token]; I chose batches" in text
    )
    assert "- Learned: The root cause was one commit for each row\n" in text
    assert "- Ended: The importer is eight times faster." in text
    assert text.count(" discovery: ") == 1 and text.count(" decision: ") == 3
    assert "ACME" not in text and "ghp_" not in text


def test_an_answer_of_findings_is_told_once(vault: Vault, root: Path) -> None:
    """Also where they are its first sentences: the summary tells them after later answers."""
    edits(vault, "/home/me/Atlas/src/importer.py")
    long = "because " + "it reads every row of the table again for each book, and " * 5 + "so on"
    answer = (
        "Books are imported again. The cause was a filter for digits. I decided to check the sum, "
        f"{long}. All 134 tests pass."
    )
    for said in (answer, "Both editions are merged."):
        happens(vault, "Stop", last_assistant_message=said)
    text = note_of(root).read_text()
    assert "- Decided: I decided to check the sum" in text
    assert "- Learned: The cause was a filter for digits\n" in text
    assert "- Ended: Both editions are merged." in text
    assert "ending: Books are imported again. All 134 tests pass. ^" not in text  # replaced
    assert text.count("filter for digits") == 2 and text.count(" ending: ") == 1


def test_findings_are_left_out_where_settings_say_so(root: Path) -> None:
    with Vault.open(root, {"hooks.keep": ["request", "edit", "ending"]}) as vault:
        happens(vault, "UserPromptSubmit", prompt="Make the importer faster")
        edits(vault, "/home/me/Atlas/src/importer.py")
        happens(vault, "Stop", last_assistant_message="It is faster.\n\n- I chose batches of 500.")
        assert "I chose" not in note_of(root).read_text()
