"""Titles taken from texts, and how it is told that a text says something else now."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem.notes.file_names import MOST_NAME_BYTES, safe_name
from vaultmem.notes.naming.derived_titles import derived_title
from vaultmem.notes.naming.title_origin import is_derived, marked_id, new_id, shown_title

LONG = "Die Waschmaschine im Keller darf nur zwischen 8 und 20 Uhr und nicht am Sonntag wegen der"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# A heading\n\ntext", "A heading"),
        ("- First item. Second sentence.", "First item"),
        ("**Bold** start", "Bold start"),
        ("- [ ] Buy **milk** and ==bread== #todo ^ab12", "Buy milk and bread"),
        ("> [!warning] Never deploy on Friday\n> It breaks.", "Never deploy on Friday"),
        ("> [!note]\n> The cat is called Mimi.", "The cat is called Mimi"),
        ("See [[Other note|that one]] and [[F/Name#Head]]", "See that one and Name"),
        ("[[Rota]] #team", "About Rota"),
        ("Read [the docs](https://a.b/c_(d)) first", "Read the docs first"),
        ("![[picture.png]]\nThe picture shows a cat.", "The picture shows a cat"),
        ("\n\n---\nreal text", "real text"),
        ("---\ntags: [a]\n---\nReal text. More.", "Real text"),
        ("%%draft%% The text.", "The text"),
        ("Setext heading\n=====\ntext", "Setext heading"),
        ("***", "Memory"),
        ("2026-11-18\nMet Bob.", "2026-11-18 Met Bob"),
        ("2026-11-18 #reading\n\n*Columns* by Ann", "2026-11-18 Columns by Ann"),
        ("#reading #data\n\nAgainst dashboards.", "Against dashboards"),
        ("#reading #data", "reading data"),
        ("Note:\nThe cat is out.", "Note: The cat is out"),
        ("42", "42"),
        ("snake_case_name stays", "snake_case_name stays"),
        ("`foo_bar()` returns `None`.", "foo_bar() returns None"),
    ],
)
def test_the_first_words_without_markdown(text: str, title: str) -> None:
    assert derived_title(text) == title


def test_code_is_a_title_only_where_nothing_else_is_said() -> None:
    code = "```sh\n$ git worktree add ../wt\n```\n"
    assert derived_title(code + "`fatal` means a forgotten tree.") == "fatal means a forgotten tree"
    assert derived_title(code) == "git worktree add ../wt"


def test_addresses_are_shortened() -> None:
    address = "https://www.example.org/en/latest/installation.html?x=1#top"
    assert derived_title(address) == "example.org installation"
    found = derived_title("See https://github.com/a/b/issues/12 for the bug.")
    assert found == "See github.com issues 12 for the bug"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Der Termin am 3. Mai fiel aus. Schade.", "Der Termin am 3. Mai fiel aus"),
        ("z.B. werden Umlaute sortiert. Neu.", "z.B. werden Umlaute sortiert"),
        ("Dr. Smith works at St. Mary's. He is nice.", "Dr. Smith works at St. Mary's"),
        ("Version 2.4.1 was released. Then 2.5.", "Version 2.4.1 was released"),
        ("Yes. We deploy on Fridays. Often.", "Yes. We deploy on Fridays"),
        ("一つ目の文。二つ目の文。", "一つ目の文"),
    ],
)
def test_sentences_end_where_they_do(text: str, title: str) -> None:
    assert derived_title(text) == title


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (
            "Refresh tokens rotate every 24 hours; the old token stays valid for a 5 minute grace",
            "Refresh tokens rotate every 24 hours",
        ),
        (
            "Refresh tokens rotate every 24 hours and the old token stays valid for\na 5 minute grace",
            "Refresh tokens rotate every 24 hours and the old token stays valid",
        ),
        (
            "The meeting with all of the Atlas project's team was moved from Monday to the other day",
            "The meeting with all of the Atlas project's team was moved from Monday",
        ),
        (LONG, "Die Waschmaschine im Keller darf nur zwischen 8 und 20 Uhr und nicht am Sonntag"),
        (
            "We sign all tokens of the gateway with one algorithm (RS256, because of the others, or so)",
            "We sign all tokens of the gateway with one algorithm",
        ),
        (
            "Before a push to the branch that the others use run `git rebase --autosquash origin/main`",
            "Before a push to the branch that the others use run",
        ),
        (
            "我们决定使用 Redis 7.2 作为会话缓存层，因为它支持主从复制和哨兵模式，而且运维团队已经有经验了",
            "我们决定使用 Redis 7.2 作为会话缓存层",
        ),
    ],
)
def test_what_is_too_long_ends_well(text: str, title: str) -> None:
    assert derived_title(text) == title


@pytest.mark.parametrize("sign", ["👨‍👩‍👧‍👦", "🇩🇪", "👍🏽", "e\u0301\u0302", "❤️"])
def test_no_sign_is_halved(sign: str) -> None:
    title = derived_title(sign * 60)
    assert title and set(title.split(sign)) == {""} and len(title.encode()) <= 80


def test_names_and_numbers_among_chinese_are_not_halved() -> None:
    text = "把所有的会话缓存都迁移到新的集群里面去然后再删掉旧的Redis20269集群"
    assert derived_title(text).endswith("旧的")


@given(st.text(max_size=400))
def test_any_text_gives_one_title_that_is_a_safe_name_and_its_own(text: str) -> None:
    title = derived_title(text)
    assert title == derived_title(text)
    assert title == title.strip() and 0 < len(title.encode()) <= 80
    name = safe_name(title)
    assert len(name.encode()) <= MOST_NAME_BYTES
    assert shown_title(name, new_id(title), text) == name


# --- corrected texts -----------------------------------------------------------------------


def test_an_id_tells_whether_the_title_was_taken_from_the_text() -> None:
    made = new_id("Deploys: on Fridays?")
    assert len(made) == 26 and is_derived(made, safe_name("Deploys: on Fridays?"))
    assert is_derived(made, "Deploys on Fridays 2"), "the second of that name"
    assert not is_derived(made, "Deploys"), "renamed"
    assert not is_derived(new_id(), "Deploys on Fridays"), "given"
    assert not is_derived("", "x") and not is_derived("an id of somebody else's", "x")
    assert marked_id(made, "x") == marked_id(made.lower(), "x")


CORRECTED = "Deploys happen on Tuesdays, not Fridays."


def test_a_title_taken_from_an_earlier_text_is_not_shown() -> None:
    title = "Deploys happen on Fridays"
    assert shown_title(title, new_id(title), CORRECTED) == CORRECTED.rstrip(".")
    assert shown_title(f"{title} 2", new_id(title), CORRECTED) == CORRECTED.rstrip(".")
    assert shown_title(title, new_id(), CORRECTED) == title, "it was given"
    assert shown_title("Deploys in general", new_id(title), CORRECTED) == "Deploys in general"
    assert shown_title(title, new_id(title), "") == title, "there are no words to show"


@pytest.mark.parametrize(
    "text",
    [
        "Deploys happen on Fridays. Not on holidays.",
        "# Deployment\n\n- Tests run first.\n- Deploys happen on **Fridays**!",
        "deploys happen on fridays",
    ],
)
def test_a_title_that_the_text_still_says_is_shown(text: str) -> None:
    title = "Deploys happen on Fridays"
    assert shown_title(title, new_id(title), text) == title


OLDER = "01KE6Q8Z4R9M2N4P6R7S8T9VWX"  # made before ids told anything


@pytest.mark.parametrize(
    ("title", "text", "shown"),
    [
        ("Deploys happen on Fridays", "Deploys happen on Tuesdays.", "Deploys happen on Tuesdays"),
        ("The standup is at 9 every day", "The standup is at 10 every day.", ""),
        ("Deploys happen on Fridays", "Deploys happen on Tuesdays, not Fridays.", None),
        ("Rota", "Monday Anna, Tuesday Ben, Wednesday Carla.", None),
        ("Deploy rule for Atlas", "The deploy rule for Atlas is: Tuesdays.", None),
        ("Atlas API rate limits", "Atlas API limits are 100 a minute.", None),
        ("Meeting notes for Atlas", "Meeting notes for Beacon and Atlas.", None),
    ],
)
def test_of_an_older_note_only_a_plain_correction_is_believed(
    title: str, text: str, shown: str | None
) -> None:
    expected = title if shown is None else shown or text.rstrip(".")
    assert shown_title(title, OLDER, text) == expected
