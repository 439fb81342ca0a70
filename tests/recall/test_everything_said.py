"""Everything that a note says is found by words: a table of notes, questions and what must come."""

from __future__ import annotations

import time
from typing import NamedTuple

import pytest

from tests.world import World
from vaultmem.base.text_forms import folded, with_other_forms
from vaultmem.index import Filters
from vaultmem.recall.recall import Hit, Recall

FILLER = {
    f"Filler/{number}.md": text
    for number, text in enumerate(
        (
            "The bakery on the corner opens at seven and sells rye bread.",
            "Winter tyres are in the cellar; they are changed in October.",
            "Notes on a book about rivers, mills and the people who ran them.",
            "The server in the cellar hums; its fan was replaced last year.",
            "A list of films to watch: westerns, comedies, one documentary.",
            "Running shoes wear out after eight hundred kilometres or so.",
            "Der Zug nach Hamburg fährt um acht und hält in Lüneburg.",
            "La piscine du quartier est fermée pendant les vacances.",
            "图书馆星期一不开门，星期二到晚上九点。",
            "The quick overview of the garden: beans, peas, two apple trees.",
        )
    )
}


class Case(NamedTuple):
    note: str
    question: str
    shows: str = ""  # what the passage of the first hit has in it


def recalled(world: World, question: str, limit: int = 5) -> list[Hit]:
    return (
        Recall(world.store, world.index, lambda: None)
        .ask(question, strategy="keyword", floor=False, limit=limit)
        .hits
    )


def fill(world: World, notes: dict[str, str]) -> None:
    for path, text in {**FILLER, **notes}.items():
        world.put(path, text)
    world.sync.everything()


MEETING = """\
---
id: 01KE6Q8Z4R9M2N4P6R7S8T9VWX
created: 2026-01-05T09:40:00
attendees: [Ana, Ben]
role: SRE
status: waiting
url: https://intranet.example/wiki/rollout
budget: 48500
due: 2026-03-05
places:
  - Utrecht
  - Ghent
aliases: [Kick-off]
---
We agreed on the order of the steps.
"""
STRUCTURES = """\
# Boiler

> [!warning] Frost protection
> Never empty the circuit below zero.

| part | supplier |
|---|---|
| valve | Danfoss |

The pump is loud.[^1] ![[diagram.png|wiring of the thermostat]] [manual](https://example.org/b.pdf)

[^1]: Grundfos says that is normal.

```ini
pressure_limit = 1.8
```

- [ ] order the gasket
"""
CODE = """\
Call getUserName before the request. It lives in src/foo/bar.py next to MAX_RETRY_COUNT.
It fails with `ECONNREFUSED 127.0.0.1:5432` since version 2.4.1.
"""

PROPERTIES = [
    Case(MEETING, "who attended: Ana and Ben", "attendees: [Ana, Ben]"),
    Case(MEETING, "attendees", "attendees: [Ana, Ben]"),
    Case(MEETING, "SRE", "role: SRE"),
    Case(MEETING, "status waiting", "status: waiting"),
    Case(MEETING, "intranet wiki rollout", "url: https://intranet.example/wiki/rollout"),
    Case(MEETING, "48500", "budget: 48500"),
    Case(MEETING, "due 5 March 2026", "due: 2026-03-05"),
    Case(MEETING, "Ghent", "  - Ghent"),
    Case(MEETING, "kick-off"),
]
TEXTS = [
    Case(STRUCTURES, "frost protection", "Frost protection"),
    Case(STRUCTURES, "empty the circuit", "Never empty"),
    Case(STRUCTURES, "danfoss valve", "Danfoss"),
    Case(STRUCTURES, "grundfos", "Grundfos"),
    Case(STRUCTURES, "wiring thermostat", "wiring of the thermostat"),
    Case(STRUCTURES, "pressure limit", "pressure_limit"),
    Case(STRUCTURES, "gasket", "gasket"),
    Case(STRUCTURES, "boiler"),
]
NAMES = [
    Case(CODE, "get user name"),
    Case(CODE, "getUserName"),
    Case(CODE, "getusername"),
    Case(CODE, "bar.py"),
    Case(CODE, "foo bar"),
    Case(CODE, "src/foo/bar.py"),
    Case(CODE, "max retry count"),
    Case(CODE, "maxRetryCount"),
    Case(CODE, "ECONNREFUSED"),
    Case(CODE, "connection refused 127.0.0.1"),
    Case(CODE, "version 2.4.1"),
    Case(CODE, "v2.4"),
    Case("Written in C++ at first.", "C++"),
    Case("Ported to C# later.", "C#"),
    Case("It needs .NET to run.", "dotnet"),
    Case("It needs .NET to run.", ".NET"),
    Case("The page runs on node.js now.", "nodejs"),
    Case("The page runs on nodejs now.", "node.js"),
    Case("Call me at +49 170 1234567.", "0170 1234567"),
    Case("Call me at +49 170 1234567.", "01701234567"),
]
DATES = [
    Case(note, question)
    for note in ("Moved in on 2026-03-05.", "Moved in on March 5, 2026.", "Moved in 05.03.2026")
    for question in ("5 March 2026", "March 5", "05.03.2026", "2026-03-05", "5. März", "3/5/2026")
]
LANGUAGES = [
    Case("Rezept für Apfelstrudel mit Zimt.", "strudel"),
    Case("Die Haftpflichtversicherung läuft aus.", "Versicherung"),
    Case("Die Versicherung für das Haus.", "Hausversicherung"),
    Case("Die Straße ist gesperrt.", "strasse"),
    Case("In München gemietet.", "Muenchen"),
    Case("In Muenchen gemietet.", "München"),
    Case("Meet at the café.", "cafe"),
    Case("Meet at the cafe\u0301.", "café"),
    Case("HSK四级考试", "HSK"),
    Case("学习Python爬虫", "python"),
    Case("学习Python爬虫", "爬虫"),
    Case("Ｆｕｌｌ ｗｉｄｔｈ ＡＢＣ", "width abc"),
    Case("ｶﾀｶﾅのメモ", "カタカナ"),
    Case("서울에서 만났다", "서울"),
    Case("猫が好き", "猫"),
    Case("Ёлка стоит в углу", "елка"),
    Case("مَرْحَبًا بك", "مرحبا"),
    Case("שָׁלוֹם", "שלום"),
    Case("Καλημέρα", "καλημερα"),
]
TYPOS = [
    Case("The Kubernetes cluster is old.", "kuberntes"),
    Case("Ask the accountant about it.", "acountant"),
    Case("Ask the accountant about it.", "accuontant"),
]


@pytest.mark.parametrize("case", [*PROPERTIES, *TEXTS, *NAMES, *DATES, *LANGUAGES, *TYPOS], ids=str)
def test_what_a_note_says_is_found(world: World, case: Case) -> None:
    fill(world, {"Wanted.md": case.note})
    hits = recalled(world, case.question)
    assert hits and hits[0].row.path == "Wanted.md"
    assert case.shows in hits[0].passage


# --- what comes first -------------------------------------------------------------------------


def first(world: World, question: str) -> str:
    return recalled(world, question)[0].row.path


def test_all_rare_words_together_come_before_some_of_them(world: World) -> None:
    fill(
        world,
        {
            "restic.md": "restic keeps the snapshots. restic is fast. restic restores well.",
            "prunes.md": "Prunes and other dried fruit: prunes keep for a year.",
            "sundays.md": "Sundays are for the family; on Sundays nobody works.",
            "Backups.md": "# Backups\n\nThe job with restic prunes old snapshots on Sundays at four.",
            "restic prunes.md": "Something that is said elsewhere.",
        },
    )
    assert first(world, "restic prunes sundays") == "Backups.md"


def test_words_in_the_order_of_the_question_come_first_in_chinese(world: World) -> None:
    fill(
        world,
        {"a.md": "记忆系统在本地运行", "b.md": "系统很慢，记忆也不好", "c.md": "忆起统一的系统"},
    )
    assert first(world, "记忆系统") == "a.md"


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("what about the team and how they would do it: keychain", "Keychain.md"),
        ("wo ist denn der Schlüssel für das Haus", "Schluessel.md"),
        ("où est la clé de la maison", "Cle.md"),
        ("dónde está la llave de la casa", "Llave.md"),
        ("onde está a chave da casa", "Chave.md"),
        ("dov'è la chiave della casa", "Chiave.md"),
        ("waar is de sleutel van het huis", "Sleutel.md"),
    ],
)
def test_function_words_find_nothing_beside_others(world: World, question: str, path: str) -> None:
    """In a vault of twenty notes the common words are rare as well."""
    wanted = {
        "Keychain.md": "They moved to that keychain by hand.",
        "Schluessel.md": "Schlüssel: liegt bei Oma.",
        "Cle.md": "Clé: chez Paul.",
        "Llave.md": "Llave: con Marta.",
        "Chave.md": "Chave: com Rui.",
        "Chiave.md": "Chiave: da Piero.",
        "Sleutel.md": "Sleutel: bij Jan.",
    }
    noise = {
        "en.md": "What about them? How would they do it and where is it, of the how and the what.",
        "de.md": "Wo ist denn der, die, das: für den ist es das.",
        "fr.md": "Où est la, de la, que la, est-ce que.",
        "es.md": "Dónde está la de la, que está con la.",
        "pt.md": "Onde está a da, que está com a da.",
        "it.md": "Dov'è la della, che è con la della.",
        "nl.md": "Waar is de van het, dat is van de het.",
    }
    fill(world, {**wanted, **noise})
    hits = [hit.row.path for hit in recalled(world, question, 20)]
    assert hits[0] == path
    assert not set(hits).intersection(noise)


def test_function_words_alone_are_looked_for(world: World) -> None:
    fill(world, {"song.md": "To be or not to be"})
    assert first(world, "to be or not to be") == "song.md"


# --- and what is not found --------------------------------------------------------------------


def test_properties_of_our_own_are_not_what_a_note_says(world: World) -> None:
    fill(
        world,
        {
            "ours.md": "---\nid: 01KE6Q8Z4R9M2N4P6R7S8T9VWX\ntype: semantic\nsource: claude-code\n"
            "importance: 0.7\ncreated: 2026-01-05T09:40:00\n---\nThe mill is closed.\n"
        },
    )
    assert recalled(world, "claude-code semantic importance") == []
    assert [hit.whole for hit in recalled(world, "mill closed")[:1]] == [True]


def test_private_properties_are_neither_found_nor_shown(world: World) -> None:
    fill(
        world,
        {
            "p.md": "---\nrole: gardener\npin: <private>4711 zanzibar</private>\n"
            "other: <private>\nmore: yonder</private>\n---\nText.\n"
        },
    )
    assert recalled(world, "zanzibar") == []
    assert recalled(world, "yonder") == []
    assert recalled(world, "gardener")[0].passage == "role: gardener"


def test_a_property_that_changed_is_shown_as_it_is_now(world: World) -> None:
    fill(world, {"n.md": "---\nrole: gardener\n---\nText.\n"})
    world.put("n.md", "---\nrole: gardener and cook\nid: X\n---\nText.\n")
    assert recalled(world, "gardener")[0].passage == "role: gardener and cook"


def test_a_long_list_of_properties_is_cut_like_any_text(world: World) -> None:
    rows = "\n".join(f"  - person number {n} of {n * 7919}" for n in range(120))
    fill(world, {"n.md": f"---\nguests:\n{rows}\n---\nText.\n"})
    hit = recalled(world, "839414")[0]
    assert "person number 106 of 839414" in hit.passage
    assert "person number 5 of" not in hit.passage


@pytest.mark.parametrize("question", ["mils", "4712", "standing"])
def test_a_word_that_is_there_or_short_or_a_number_has_no_slips(
    world: World, question: str
) -> None:
    notes = {"a.md": "4711 understanding", "b.md": "standing room"}
    fill(world, notes)
    found = [hit.row.path for hit in recalled(world, question)]
    assert found == (["b.md"] if question == "standing" else [])


# --- what other notes call it -----------------------------------------------------------------


def test_a_note_is_found_by_what_others_call_it(world: World) -> None:
    fill(
        world,
        {
            "People/Kowalski.md": "Lives in Graz. Born in 1971.",
            "Diary.md": "Long day. Met [[Kowalski|the plumber with the moustache]] and paid him.",
            "Other.md": "See [our landlady](People/Frau%20Nemec.md) about it.",
            "People/Frau Nemec.md": "Third floor.",
        },
    )
    for question, path in (
        ("plumber with moustache", "People/Kowalski.md"),
        ("landlady", "People/Frau Nemec.md"),
    ):
        found = {hit.row.path: hit for hit in recalled(world, question)}
        assert path in found
    assert found["People/Frau Nemec.md"].passage == "Third floor."
    world.put("Diary.md", "Long day. Met [[Kowalski|the electrician]] and paid him.")
    world.sync.these(["Diary.md"])
    assert recalled(world, "plumber with moustache") == []
    assert "People/Kowalski.md" in {hit.row.path for hit in recalled(world, "electrician")}


def test_links_of_notes_that_one_may_not_see_say_nothing(world: World) -> None:
    fill(
        world,
        {
            "Shared.md": "A note for everybody.",
            "Hers.md": "---\nuser: ana\n---\nIt is [[Shared|the secret orchard]].",
            "Orchard.md": "An orchard by the river.",
        },
    )
    asked = Recall(world.store, world.index, lambda: None)
    for user, seen in (("ana", True), ("ben", False)):
        hits = asked.ask("secret orchard", strategy="keyword", filters=Filters(user=user)).hits
        assert ("Shared.md" in [hit.row.path for hit in hits]) is seen


def test_an_ambiguous_link_lends_its_text_to_nobody(world: World) -> None:
    fill(
        world,
        {"a/Plan.md": "One.", "b/Plan.md": "Two.", "c.md": "[[Plan|the grand scheme]] is due."},
    )
    assert [hit.row.path for hit in recalled(world, "grand scheme")] == ["c.md"]


@pytest.mark.parametrize("piece", ["1", "1-", "1.", "aA", ".ab", "ä", "5 May 2026 ", "1年", "c# "])
def test_other_forms_of_a_long_text_take_no_longer_than_its_length(piece: str) -> None:
    def seconds(size: int) -> float:
        started = time.process_time()
        with_other_forms([folded(piece * (size // len(piece)))])
        return time.process_time() - started

    assert seconds(400_000) < 2 + 30 * seconds(40_000)


def test_a_long_question_is_looked_for_by_what_stands_somewhere(world: World) -> None:
    world.put("Noted.md", "The lantern festival was moved to the harbour.")
    world.put("Other.md", "Nothing of that kind.")
    world.sync.everything()
    unknown = " ".join(f"unheard{number}" for number in range(200))
    assert world.find(f"{unknown} lantern harbour") == ["Noted.md"]
    pairs = "".join(chr(0x5000 + number) for number in range(300))
    world.put("Chinese.md", "元宵节我们去看灯笼。")
    world.sync.everything()
    assert world.find(f"{pairs}，我想看灯笼") == ["Chinese.md"]


def test_chinese_that_shares_only_single_signs_is_ranked_by_them(world: World) -> None:
    world.put("Needle.md", "打疫苗的时候哭了。")
    world.put("Lake.md", "周末去湖边划船。")
    world.sync.everything()
    assert world.find("明天要打针")[:1] == ["Needle.md"]
