"""Notes that were replaced: what they say, what others say about them, what their names say."""

from __future__ import annotations

import datetime as dt
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem.notes.note import parse
from vaultmem.notes.replacement import Replacement, replaced_names, replacement


def said(text: str, path: str = "Rule.md") -> Replacement | None:
    return replacement(parse(text.encode(), path))


def by(text: str, path: str = "Rule.md") -> str | None:
    found = said(text, path)
    return None if found is None else found.by


REPLACED = {
    '---\nsuperseded_by: "[[New rule]]"\n---\nText.': "New rule",
    '---\nreplaced_by:\n  - "[[New rule|the new one]]"\n---\nText.': "New rule",
    "---\nReplaced_By: New rule\n---\nText.": "New rule",
    '---\nersetzt_durch: "[[Neu]]"\n---\nText.': "Neu",
    '---\nsubstituído_por: "[[Nova]]"\n---\nTexto.': "Nova",
    "---\nstatus: superseded\n---\nText.": "",
    "---\nstatus: Outdated\n---\nMoved to [[New rule]].": "New rule",
    "---\nstatus: veraltet\n---\nText.": "",
    "---\nstatus: desatualizado\n---\nTexto.": "",
    "---\ndeprecated: true\n---\nText.": "",
    "---\narchived: 2026-05-01\n---\nText.": "",
    "---\ntags: [rule, outdated]\n---\nText.": "",
    "Superseded by [[New rule]].": "New rule",
    "**Superseded by [[New rule]]**\n\nText.": "New rule",
    "> [!warning] Replaced by [[New rule]]\n\nText.": "New rule",
    "> [!warning]\n> This note was replaced by [[New rule#Since May]].": "New rule",
    "# Rule\n\nThis rule has been superseded by [[New rule]] in May.\n\nText.": "New rule",
    "(Replaced by [[New rule]].) Text.": "New rule",
    "Moved to [[New rule]]": "New rule",
    "See [[New rule]] instead.": "New rule",
    "OUTDATED: see [[New rule]].\n\nText.": "New rule",
    "Deprecated.": "",
    "No longer valid since we moved.": "",
    "This is no longer used.": "",
    "Ersetzt durch [[Neu]].": "Neu",
    "Diese Regel wurde durch [[Neu]] abgelöst.": "Neu",
    "Veraltet, siehe [[Neu]].": "Neu",
    "Diese Notiz ist veraltet.": "",
    "Gilt nicht mehr.": "",
    "Siehe stattdessen [[Neu]].": "Neu",
    "Substituída por [[Nova]].": "Nova",
    "Esta nota está desatualizada.": "",
    "Já não é válido.": "",
    "Movido para [[Nova]].": "Nova",
}

HOLDS = [
    "",
    "Rates are 560 a day.",
    "---\nstatus: active\n---\nText.",
    "---\nstatus: done\n---\nText.",
    "---\ndeprecated: false\n---\nText.",
    "---\nsuperseded_by:\n---\nText.",
    "Replaces [[Old rule]].",
    "Ersetzt [[Alt]].",
    "Substitui [[Antiga]].",
    "She was replaced by [[Anna]] as treasurer.",
    "The old server was replaced by [[Atlas]].",
    "He moved to Lisbon in March.",
    "Moved to Lisbon.",
    "I no longer cough after rehearsals.",
    "The old price is no longer valid for them.",
    "Outdated drivers are the usual reason.",
    "Deprecated calls are listed in [[Calls]].",
    "Use [[Atlas]] for levels.",
    "See [[Atlas]].",
    "`Superseded by [[New rule]]` is what to write.",
    "```\nSuperseded by [[New rule]].\n```\n",
    "UPDATE 2026-05: 45 minutes now.",
    "Text. " * 200 + "\n\nSuperseded by [[New rule]].",
]


@pytest.mark.parametrize("text", REPLACED)
def test_a_note_that_says_it_was_replaced(text: str) -> None:
    assert by(text) == REPLACED[text]


@pytest.mark.parametrize("text", HOLDS)
def test_a_note_that_holds(text: str) -> None:
    assert said(text) is None


@pytest.mark.parametrize(
    ("title", "old"),
    [("Address (old)", True), ("Adresse (veraltet)", True), ("Old bikes", False), ("Alt", False)],
)
def test_a_name_that_says_so(title: str, old: bool) -> None:
    assert (said("Text.", f"{title}.md") is not None) == old


@pytest.mark.parametrize(
    "text",
    [
        "---\nstatus: superseded\nsuperseded_on: 2026-05-06\n---\nText.",
        "---\ndeprecated: 2026-05-06\n---\nText.",
        "---\nvalid_until: 2026-05-06\n---\nText.",
        "Superseded by [[New rule]] on 2026-05-06.",
        "Ersetzt durch [[Neu]] am 06.05.2026.",
    ],
)
def test_since_when(text: str) -> None:
    found = said(text)
    assert found is not None and found.since == dt.date(2026, 5, 6)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Replaces [[Old rule]]. The rest.", ("Old rule",)),
        ("The reason is cost. Replaces [[Old rule]].", ("Old rule",)),
        ("This decision supersedes [[Old rule|the old one]].", ("Old rule",)),
        ("Umzug im Mai. Ersetzt [[Alt]]. Offen bleibt viel.", ("Alt",)),
        ("Diese Regel löst [[Alt]] ab.", ("Alt",)),
        ("Substitui [[Antiga]].", ("Antiga",)),
        ('---\nsupersedes: ["[[A]]", "[[B]]"]\n---\nText.', ("A", "B")),
        ('---\nreplaces: "[[A]]"\n---\nReplaces [[A]].', ("A",)),
        ("A new chain replaces [[Chain]] every year.", ()),
        ("From now on endnotes. The rule in [[Citation style]] is obsolete.", ("Citation style",)),
        ("Since May [[Old rota]] is no longer in use.", ("Old rota",)),
        ("[[Alt]] gilt nicht mehr.", ("Alt",)),
        ("[[Anna]] is retired now, and [[Grandpa]] is dead.", ()),
        ("[[Bob]] is in the office.", ()),
        ("Superseded by [[New rule]].", ()),
        ("`Replaces [[Old rule]]`", ()),
    ],
)
def test_a_note_that_says_what_it_replaced(text: str, names: tuple[str, ...]) -> None:
    assert replaced_names(parse(text.encode(), "Rule.md")) == names


@given(st.text(max_size=300))
def test_whatever_stands_there_is_read(text: str) -> None:
    note = parse(text.encode("utf-8", "ignore"), "Note.md")
    replacement(note)
    replaced_names(note)


@pytest.mark.parametrize(
    "part", ["> ", "(", "this is ", "superseded by [[", ". Replaces ", "v1.", "* "]
)
def test_hostile_texts_take_no_time(part: str) -> None:
    note = parse((part * 10_000).encode(), "Note.md")
    started = time.process_time()
    replacement(note)
    replaced_names(note)
    assert time.process_time() - started < 0.5
