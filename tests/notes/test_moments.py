"""What a note's dates stand for, wherever it is read."""

from __future__ import annotations

import datetime as dt

import pytest
from ulid_transform import ulid_at_time

from tests.clocks import LOS_ANGELES, TOKYO, clock_of
from vaultmem.notes.attributes import note_day
from vaultmem.notes.edit import note_from_nothing
from vaultmem.notes.note import Note, parse
from vaultmem.notes.passages import day_above_passage

EVENING = dt.datetime(
    2026, 11, 19, 5, 30, 12, tzinfo=dt.UTC
)  # 21:30 in Los Angeles, the day before
ZONES = [LOS_ANGELES, TOKYO, "UTC", "Asia/Kathmandu", "Pacific/Kiritimati"]


def made_at(moment: dt.datetime, **more: dt.datetime) -> Note:
    ulid = ulid_at_time(moment.timestamp() - 0.01)
    raw = note_from_nothing({"id": ulid, "created": moment, **more}, "Text\n").raw
    return parse(raw, "Note.md")


def older_note(moment: dt.datetime, **more: str) -> Note:
    """As it was written before: in UTC."""
    lines = {
        "id": ulid_at_time(moment.timestamp()),
        "created": f"{moment:%Y-%m-%dT%H:%M:%S}",
        **more,
    }
    head = "".join(f"{name}: {value}\n" for name, value in lines.items())
    return parse(f"---\n{head}---\nText\n".encode(), "Note.md")


@pytest.mark.parametrize("reader", ZONES)
@pytest.mark.parametrize("writer", ZONES)
def test_a_note_is_read_as_it_was_meant_in_every_zone(writer: str, reader: str) -> None:
    with clock_of(writer):
        note = made_at(EVENING)
    with clock_of(reader):
        assert parse(note.raw, "Note.md").created == EVENING


def test_a_note_carries_the_time_of_the_clock_on_the_wall() -> None:
    with clock_of(LOS_ANGELES):
        note = made_at(EVENING)
        assert note.string("created") == "2026-11-18T21:30:12"
        assert note_day(note) == dt.date(2026, 11, 18)
        assert day_above_passage(note) == "18 November 2026"
    with clock_of(TOKYO):
        assert made_at(EVENING).string("created") == "2026-11-19T14:30:12"
        assert note_day(parse(note.raw)) == dt.date(2026, 11, 18)  # whoever wrote it lived that day


@pytest.mark.parametrize("reader", ZONES)
def test_an_older_note_is_read_as_utc(reader: str) -> None:
    with clock_of(reader):
        note = older_note(EVENING, updated="2026-11-20T01:00:00")
        assert note.created == EVENING
        assert note.updated == dt.datetime(2026, 11, 20, 1, tzinfo=dt.UTC)


def test_an_older_note_and_journal_are_of_the_local_day() -> None:
    with clock_of(LOS_ANGELES):
        note = older_note(EVENING)
        assert note_day(note) == dt.date(2026, 11, 18)
        journal = parse(note.raw, "Sessions/2026/2026-11-19 0530 Session.md")
        assert note_day(journal) == dt.date(2026, 11, 18)
        named = parse(b"Text\n", "2026-11-19 0530 Session.md")
        assert note_day(named) == dt.date(2026, 11, 19)


@pytest.mark.parametrize("moment", ["2026-11-01T08:30:00Z", "2026-11-01T09:30:00Z"])
def test_the_hour_that_comes_twice_is_told_apart(moment: str) -> None:
    meant = dt.datetime.fromisoformat(moment)
    with clock_of(LOS_ANGELES):
        note = made_at(meant)
        assert note.string("created") == "2026-11-01T01:30:00"
        assert note.created == meant


def test_a_change_in_winter_of_what_was_made_in_summer() -> None:
    summer, winter = EVENING.replace(month=7), EVENING
    with clock_of(LOS_ANGELES):
        note = made_at(summer, updated=winter)
        assert note.string("updated") == "2026-11-18T21:30:12"
        assert note.updated == winter


def test_an_older_note_that_is_edited_now_has_the_moment_of_the_edit() -> None:
    for zone in (LOS_ANGELES, TOKYO):
        with clock_of(zone):
            edited = EVENING + dt.timedelta(hours=2)
            stamp = f"{edited.astimezone():%Y-%m-%dT%H:%M:%S}"
            note = older_note(EVENING, updated=stamp)
            assert note.updated_by(edited + dt.timedelta(seconds=1)) == edited


def test_what_is_no_moment_of_the_id_is_local() -> None:
    with clock_of(TOKYO):
        note = parse(b"---\nid: 01KE6Q8Z4R9M2N4P6R7S8T9VWX\ncreated: 2020-05-01T10:00:00\n---\n")
        assert note.created == dt.datetime(2020, 5, 1, 1, tzinfo=dt.UTC)
        assert note.written_zone is None
        exact = parse(b"---\ncreated: 2020-05-01T10:00:00Z\n---\n")
        assert exact.created == dt.datetime(2020, 5, 1, 10, tzinfo=dt.UTC)
