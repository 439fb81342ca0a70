"""When a note was made, by what it says itself and by what its file tells."""

from __future__ import annotations

import datetime as dt

import pytest

from tests.clocks import TOKYO, clock_of
from vaultmem.notes.note import parse
from vaultmem.storage.creation import BY_COMMIT, BY_FILE, creation_by_file, creation_told


def told(path: str, properties: str = "") -> str:
    head = f"---\n{properties}\n---\n" if properties else ""
    with clock_of(TOKYO):
        found = creation_told(parse(f"{head}Text\n".encode(), path))
        moment = dt.datetime.fromtimestamp(found.seconds).isoformat() if found else "nothing"
    return moment.removesuffix("T00:00:00")


@pytest.mark.parametrize(
    ("path", "properties", "expected"),
    [
        (
            "2020-02-02 Plan.md",
            "created: 2026-01-05T09:40:00\ndate: 2021-03-03",
            "2026-01-05T09:40:00",
        ),
        ("2020-02-02 Plan.md", "date: 2021-03-03", "2020-02-02"),
        ("Plan.md", "date: 2021-03-03", "2021-03-03"),
        ("Plan.md", "date: 2021-03-03T10:15", "2021-03-03T10:15:00"),
        ("Plan.md", 'date: "[[2021-03-03]]"', "2021-03-03"),
        ("Plan.md", "created: 05.01.2026", "2026-01-05"),
        ("Daily/2026-11-18.md", "", "2026-11-18"),
        ("20261118.md", "", "2026-11-18"),
        ("2026-11-18 2130 Standup.md", "", "2026-11-18T21:30:00"),
        ("2026-11-18T21-30-05.md", "", "2026-11-18T21:30:05"),
        ("202611182130 Zettel.md", "", "2026-11-18T21:30:00"),
        ("20261118213005 Zettel.md", "", "2026-11-18T21:30:05"),
        ("2026-11-18 7500 users.md", "", "2026-11-18"),
        ("2026-13-45 Plan.md", "", "nothing"),
        ("Plan for 2027.md", "", "nothing"),
        ("Plan.md", "created: soon", "nothing"),
    ],
)
def test_what_a_note_says_of_itself(path: str, properties: str, expected: str) -> None:
    assert told(path, properties) == expected


def test_what_its_file_tells() -> None:
    second = 1_000_000_000
    assert creation_by_file(5, 9 * second, 12 * second) == (5, BY_COMMIT)
    assert creation_by_file(None, 9 * second, 12 * second) == (9, BY_FILE)
    assert creation_by_file(None, 0, 12 * second) == (12, BY_FILE)
    assert creation_by_file(None, 9 * second, 3 * second) == (3, BY_FILE)  # a copy, made later
