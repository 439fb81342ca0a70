"""The places of a template for daily notes."""

from __future__ import annotations

import datetime as dt
import time

import pytest

from vaultmem.notes.daily.template import TemplateValues, filled_template, has_foreign_commands

NOW = dt.datetime(2026, 1, 31, 21, 5, 9, tzinfo=dt.timezone(dt.timedelta(hours=-8)))
CORE = TemplateValues(NOW, "2026-01-31")
PERIODIC = CORE._replace(date_format="D MMM", other_days=True)


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("# {{title}}", "# 2026-01-31"),
        ("{{date}} {{time}}", "2026-01-31 21:05"),
        ("{{DATE}} {{ Time }}", "2026-01-31 21:05"),
        ("{{date:dddd, MMMM Do}}", "Saturday, January 31st"),
        ("{{time:h:mm A}}", "9:05 PM"),
        ('created: "{{date:YYYY-MM-DD}}T{{time:HH:mm:ss}}"', 'created: "2026-01-31T21:05:09"'),
        ("{{time:YYYY}} {{date:HH}}", "2026 21"),
        ("{{date:gggg-[W]ww}}", "2026-W05"),
        ("{{date+1d}} {{yesterday}} {{tomorrow}}", "{{date+1d}} {{yesterday}} {{tomorrow}}"),
        ("{{ name }} {{}} {{date", "{{ name }} {{}} {{date"),
        ("<% tp.date.now() %>", "<% tp.date.now() %>"),
        ("\r\n{{date}}\r\n", "\r\n2026-01-31\r\n"),
    ],
)
def test_obsidians_own_places(text: str, filled: str) -> None:
    assert filled_template(text, CORE) == filled


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{{date}}", "31 Jan"),
        ("{{yesterday}} {{tomorrow}}", "30 Jan 1 Feb"),
        ("{{date+1d:YYYY-MM-DD}} {{date-1w:YYYY-MM-DD}}", "2026-02-01 2026-01-24"),
        ("{{date+1m:YYYY-MM-DD}} {{date-1y:YYYY}}", "2026-02-28 2025"),
        ("{{date-2q:YYYY-MM}} {{time+4h:HH:mm}}", "2025-07 01:05"),
        ("{{date+99999y:YYYY}}", "{{date+99999y:YYYY}}"),
    ],
)
def test_the_other_days_of_periodic_notes(text: str, filled: str) -> None:
    assert filled_template(text, PERIODIC) == filled


def test_commands_of_another_program_are_seen() -> None:
    assert has_foreign_commands("<%* await tp.file.rename() %>")
    assert not has_foreign_commands("5 <% 6")


def test_a_hostile_template_takes_no_time() -> None:
    text = "{{date" * 50_000 + "{{ date " + " " * 100_000 + "<%" * 50_000
    began = time.process_time()
    assert filled_template(text, PERIODIC) == text and not has_foreign_commands(text)
    assert time.process_time() - began < 2
