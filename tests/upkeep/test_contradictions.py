"""What cannot both hold, by words alone; and what only looks as if."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem.upkeep.consolidation.contradictions import contradiction, keeps_apart
from vaultmem.upkeep.consolidation.statements import says_all, says_same, statement, statement_stems

CONTRADICTING = [
    (
        "The staging database runs PostgreSQL 14 on port 5432.",
        "The staging database runs PostgreSQL 16 on port 5432.",
    ),
    (
        "Deploys go out on Tuesdays at 10:00 after the stand-up.",
        "Deploys go out on Thursdays at 10:00 after the stand-up.",
    ),
    ("Use npm for the web client.", "Use pnpm for the web client."),
    ("Anna is the on-call lead for payments.", "Bruno is the on-call lead for payments."),
    ("The lead for payments is Anna.", "The lead for payments is Bruno."),
    (
        "The API rate limit is 100 requests per minute.",
        "The API rate limit is 250 requests per minute.",
    ),
    ("The API allows 100 requests per minute.", "The API rate limit is 250 requests per minute."),
    ("Dark mode is enabled by default.", "Dark mode is no longer enabled by default."),
    ("Dark mode is enabled by default.", "Dark mode is disabled by default."),
    ("The feature flag new-checkout is on.", "The feature flag new-checkout is off."),
    ("The importer does not support XML.", "The importer supports XML files."),
    (
        "The importer times out when the CSV has more than 50,000 rows.",
        "The importer reads CSV files in chunks of 1,000 rows now, so large files no longer time out.",
    ),
    ("Prefer tabs over spaces for indentation.", "Prefer spaces over tabs for indentation."),
    ("Logs are kept for 30 days.", "Logs are kept for 14 days."),
    ("Use tabs for indentation.", "Do not use tabs for indentation."),
    ("We deploy to Frankfurt.", "We deploy to Dublin."),
    ("The backup starts at 2 am.", "The backup starts at 03:00."),
    ("Use PostgreSQL for storage.", "Use SQLite for storage."),
    ("The release is planned for 2026-02-01.", "The release is planned for 2026-03-01."),
    ("The team meeting is on Monday.", "The team meeting is on Wednesday."),
    ("Refresh tokens rotate every 24 hours.", "Refresh tokens are rotated every 12 hours."),
    ("The project uses Python 3.11.", "The project uses Python 3.12."),
    ("The user is vegetarian.", "The user is not vegetarian."),
    ("Always squash commits before merging.", "Never squash commits before merging."),
    ("The server is hosted in Frankfurt.", "The server is hosted in Helsinki."),
    ("Anna works remotely on Fridays.", "Anna no longer works remotely on Fridays."),
    ("The user prefers tea.", "The user prefers coffee."),
    ("The deploy key expires in March.", "The deploy key expires in June."),
    (
        "Feature flags are stored in Redis.",
        "Feature flags are not stored in Redis but in the database.",
    ),
    ("Code reviews need two approvals.", "Code reviews need one approval."),
    ("Das Treffen ist am Montag um 10:00.", "Das Treffen ist am Montag um 11:00."),
    ("We use Redis for caching.", "We use Memcached instead of Redis for caching."),
]
BOTH_HOLD = [
    ("The staging database runs PostgreSQL 14.", "The production database runs PostgreSQL 16."),
    (
        "The rate limit for uploads is 10 MB per minute.",
        "The rate limit for downloads is 20 MB per minute.",
    ),
    ("Room 1 has a window.", "Room 2 has a window."),
    ("Fixed 3 bugs in the importer.", "Fixed 5 bugs in the importer."),
    (
        "Updated the changelog before the release of 2.4.",
        "Updated the changelog before the release of 2.5.",
    ),
    ("Anna likes tea.", "Bruno likes tea."),
    ("The web client uses React.", "The web client uses Vite."),
    (
        "The gateway verifies tokens with RS256 so that it needs no private key.",
        "The private key of the gateway lies in Vault.",
    ),
    (
        "Refresh tokens rotate every 24 hours; the old token stays valid for a five minute grace period.",
        "The refresh tokens are rotated every 24 hours, and the old token remains valid for five minutes.",
    ),
    ("Logs are kept for 30 days.", "Logs are kept for 30 days in Loki."),
    (
        "Backups of the orders database are made nightly at 02:00.",
        "The nightly backup of the orders database starts at 02:00.",
    ),
    (
        "Three retries with exponential backoff.",
        "Payment retries use exponential backoff with 3 retries.",
    ),
    (
        "The user prefers short commit messages in the imperative.",
        "The user prefers commit messages in the imperative.",
    ),
    ("Deadlines: 5 seconds for reads.", "Deadlines: 10 seconds for writes."),
    ("The tests do not need a network.", "The tests need two cores."),
    ("The museum is open on Mondays.", "The café is open on Tuesdays."),
    (
        "Ran the tests with -n 2 before committing, as always on this machine.",
        "Again: run the tests with -n 2 before each commit.",
    ),
    ("Marta has 2 cats.", "Marta has 3 dogs."),
    ("On 2026-01-05 the build took 12 minutes.", "On 2026-01-09 the build took 14 minutes."),
    ("The importer reads CSV.", "The importer reads XML."),
    ("The build machine has 8 cores and 32 GB of memory.", "The build machine has 8 cores."),
    ("Use black for formatting.", "Use ruff for linting."),
    ("Step 2 takes 10 minutes.", "Step 3 takes 20 minutes."),
    ("Harbour plan 1: the mooring is paid.", "Harbour plan 2: the mooring is paid."),
    ("About two a month.", "About 4 € a month."),
    ("Cold.", "Drink water, not cold."),
    ("Bring slippers and a change of shirt.", "He does not want to change it."),
]
SAME = [
    ("Refresh tokens rotate every 24 hours.", "The refresh tokens are rotated every 24 hours."),
    ("The nightly backup starts at 2 am.", "The nightly backup starts at 02:00."),
    ("Three retries with backoff.", "3 retries with backoff."),
]


@pytest.mark.parametrize(("first", "second"), CONTRADICTING)
def test_what_cannot_both_hold(first: str, second: str) -> None:
    a, b = statement(first), statement(second)
    found, back = contradiction(a, b), contradiction(b, a)
    assert found is not None
    assert (found.second, found.first) == back
    assert found.first in first and found.second in second
    assert not says_same(a, b)


@pytest.mark.parametrize(("first", "second"), BOTH_HOLD)
def test_what_can_both_hold(first: str, second: str) -> None:
    assert contradiction(statement(first), statement(second)) is None
    assert contradiction(statement(second), statement(first)) is None


@pytest.mark.parametrize(("first", "second"), SAME)
def test_what_is_the_same(first: str, second: str) -> None:
    assert says_same(statement(first), statement(second))


def test_values_of_one_thing_are_kept_apart_even_where_both_may_hold() -> None:
    uploads, downloads = map(
        statement,
        ("The limit for uploads is 10 MB a minute.", "The limit for downloads is 20 MB a minute."),
    )
    assert contradiction(uploads, downloads) is None
    assert keeps_apart(uploads, downloads)


texts = st.one_of(
    st.text(max_size=80), st.sampled_from([text for pair in CONTRADICTING for text in pair])
)


@given(texts, texts)
def test_nothing_contradicts_itself_and_the_order_does_not_matter(first: str, second: str) -> None:
    a, b = statement(first), statement(second)
    assert contradiction(a, a) is None
    assert says_all(a, a)
    assert (contradiction(a, b) is None) == (contradiction(b, a) is None)
    assert a.all_stems <= statement_stems(first)


@pytest.mark.parametrize("piece", ["1.", "1,", "-a", "a.", "not ", "is on ", "v1", "( ", "’s"])
def test_long_sentences_take_no_longer(piece: str) -> None:
    started = time.process_time()
    a, b = statement(piece * 20_000), statement(piece * 20_000 + "x")
    contradiction(a, b)
    assert time.process_time() - started < 1
