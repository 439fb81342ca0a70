from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import click

from vaultmem.base.local_time import local_time
from vaultmem.surfaces import render
from vaultmem.surfaces.cli import options, screen, tab_completion

if TYPE_CHECKING:
    from vaultmem.operations.facts import Facts, FactView
    from vaultmem.vault import Vault


@click.command()
@click.argument("subject", shell_complete=tab_completion.entities)
@click.option("--predicate", metavar="P", help="Only facts of this kind, like depends_on.")
@click.option("--as-of", metavar="DATE", help="What was true on this day.")
@click.option("--closed", "include_closed", is_flag=True, help="Also what is not true any more.")
@options.on_vault
def facts_command(subject: str, call: options.VaultCall, **wanted: Any) -> int:
    """Show what is known about SUBJECT, now or on an earlier day."""
    with call.open_vault() as opened, options.progress("Looking"):
        found = opened.facts(subject, **wanted)
        near = "" if found.facts else _near_fact_subjects(opened, subject)
    if found.facts or call.as_json:
        call.print_result(found, _print_facts)
    else:
        day = " for that day" if wanted["as_of"] else ""
        screen.say_line(f"No facts about {subject} are known{day}.{near}")
    return 0 if found.facts else 1


def _near_fact_subjects(opened: Vault, subject: str) -> str:
    from vaultmem.surfaces.cli import error_messages

    meant = error_messages.nearest_name(subject, opened.beginning("entities", subject[:1]))
    return f" Did you mean {meant}?" if meant and meant.casefold() != subject.casefold() else ""


def _print_facts(found: Facts) -> None:
    facts = found.facts
    if screen.is_for_a_person():
        click.secho(screen.one_screen_line(facts[0].subject), bold=True)
        rows = [(each.predicate, each.object, *_fact_qualifiers(each)) for each in facts]
    else:
        said = ((each, _fact_qualifiers(each)) for each in facts)
        rows = [(each.subject, each.predicate, each.object, *more) for each, more in said]
    screen.print_table(rows, ({"fg": "cyan"}, {}, screen.DIM), indent=2, give=(2, 1))


def _fact_qualifiers(fact: FactView) -> tuple[str, ...]:
    """When it holds, how sure that is, and who says so."""
    confidence = "" if fact.confidence is None else f"{fact.confidence:g}"
    words = (_fact_span(fact), confidence, fact.provenance or "")
    return (screen.tag_labels((), *words),) if screen.is_for_a_person() else words


def _fact_span(fact: FactView) -> str:
    first, last = _fact_day(fact.valid_from), _fact_day(fact.valid_to)
    if screen.is_for_a_person() and not last:
        return f"since {first}" if first else ""
    return f"{first} → {last}".strip()


def _fact_day(moment: object) -> str:
    """A day, and for a person at most the minute of it."""
    text = str(render.plain_json(moment) or "").removesuffix("T00:00:00Z")
    if screen.is_for_a_person() and isinstance(moment, dt.datetime) and len(text) > 10:
        return f"{local_time(moment):%Y-%m-%d %H:%M}"
    return text
