"""Tasks: which lines are some, where a new one goes, which one is meant by a text."""

from __future__ import annotations

import datetime as dt

import pytest

from vaultmem.errors import InvalidInput, NotFound, VaultmemError
from vaultmem.notes.daily.tasks import tasks_in
from vaultmem.notes.edit import AddTask, MarkTask, edit_note
from vaultmem.notes.note import parse

DAY = dt.date(2026, 11, 18)


def added(text: str, task: str = "new", section: str = "") -> str:
    return edit_note(parse(text.encode()), AddTask(task, section)).decode()


def marked(text: str, task: str, *, done: bool = True, section: str = "") -> str:
    return edit_note(parse(text.encode()), MarkTask(task, done, DAY, section)).decode()


def refused(text: str, task: str, *, done: bool = True, kind: type[VaultmemError]) -> str:
    with pytest.raises(kind) as error:
        marked(text, task, done=done)
    return str(error.value)


# --- which lines are tasks --------------------------------------------------------------------


def test_every_box_in_a_list_is_a_task_and_nothing_else() -> None:
    body = (
        "- [ ] dash\n* [x] star\n+ [X] plus\n1. [/] number\n2) [-] bracket\n"
        "\t- [ ] nested ^id-1\n> - [ ] quoted\n> [!todo] x\n> > * [ ] deeper\n- [ ]\n"
        "- [] none\n- [ ]none\n-[ ] none\n[ ] none\n- [xx] none\n- [a](b) none\n- text [ ] none\n"
    )
    assert [(task.mark, task.text) for task in tasks_in(body)] == [
        (" ", "dash"), ("x", "star"), ("X", "plus"), ("/", "number"), ("-", "bracket"),
        (" ", "nested"), (" ", "quoted"), (" ", "deeper"), (" ", ""),
    ]  # fmt: skip
    assert [task.line for task in tasks_in(body)] == [1, 2, 3, 4, 5, 6, 7, 9, 10]
    assert tasks_in(body)[5].block == "id-1"


@pytest.mark.parametrize(
    "text",
    [
        "```\n- [ ] hidden\n```\n", "~~~\n- [ ] hidden\n", "- a\n  ```\n  - [ ] hidden\n  ```\n",
        "%%\n- [ ] hidden\n%%\n", "<!-- \n- [ ] hidden\n-->\n", "text\n\n    - [ ] hidden\n",
        "<private>\n- [ ] hidden\n</private>\n", "$$\n- [ ] hidden\n$$\n",
        "---\na: |\n  - [ ] hidden\n---\n",
    ],
)  # fmt: skip
def test_what_stands_in_code_or_is_hidden_is_no_task(text: str) -> None:
    told = refused(f"{text}\n\n- [ ] shown\n", "hidden", kind=NotFound)
    assert "hidden" not in told.replace("'hidden'", "")


def test_what_is_private_in_a_task_is_not_shown() -> None:
    text = "- [ ] call <private>Anna</private> back\n- [ ] call back\n"
    told = refused(text, "call", kind=InvalidInput)
    assert "Anna" not in told
    refused(text, "Anna", kind=NotFound)


# --- adding -----------------------------------------------------------------------------------

PLACES = {
    "to nothing": ("", "- [ ] new\n"),
    "to a text": ("Text.\n", "Text.\n\n- [ ] new\n"),
    "to a text without an end of line": ("Text.", "Text.\n\n- [ ] new\n"),
    "behind a list, with its sign": ("* one\n* two\n", "* one\n* two\n* [ ] new\n"),
    "behind a list of numbers": ("1. one\n", "1. one\n- [ ] new\n"),
    "with the sign of a list before": ("+ one\n\nText.\n", "+ one\n\nText.\n\n+ [ ] new\n"),
    "behind the last task": ("- [x] a\n\nText.\n", "- [x] a\n- [ ] new\n\nText.\n"),
    "with that one's sign and gap": ("*   [ ] a\n", "*   [ ] a\n*   [ ] new\n"),
    "with the next number": ("8. [ ] a\n9. [ ] b\n", "8. [ ] a\n9. [ ] b\n10. [ ] new\n"),
    "behind what is nested": (
        "- [ ] a\n\t- [ ] b\n\n  more of a\n\nText.\n",
        "- [ ] a\n\t- [ ] b\n\n  more of a\n- [ ] new\n\nText.\n",
    ),
    "behind a line that goes on": ("- [ ] a\ngoes on\n", "- [ ] a\ngoes on\n- [ ] new\n"),
    "before a heading": ("- [ ] a\n# H\n", "- [ ] a\n- [ ] new\n# H\n"),
    "in the place for it": ("## Tasks\n\n- [ ]\n\n## Log\n", "## Tasks\n\n- [ ] new\n\n## Log\n"),
    "in the place with a blank": ("- [x] a\n- [ ] \n", "- [x] a\n- [ ] new\n"),
    "under a heading for tasks": (
        "## ✅ Tasks\n\n## Log\n\n- x\n",
        "## ✅ Tasks\n\n- [ ] new\n\n## Log\n\n- x\n",
    ),
    "behind those under a heading for tasks": (
        "## Tasks\n\n- [ ] a\n\n## Log\n\n- [ ] b\n",
        "## Tasks\n\n- [ ] a\n- [ ] new\n\n## Log\n\n- [ ] b\n",
    ),
    "behind others, where that heading has none": (
        "## Tasks\n\n## Log\n\n- [ ] b\n",
        "## Tasks\n\n## Log\n\n- [ ] b\n- [ ] new\n",
    ),
    "not behind one in a quote": ("> - [ ] a\n", "> - [ ] a\n\n- [ ] new\n"),
    "with blanks kept": ("- [ ] a  \n\n\n\n", "- [ ] a  \n- [ ] new\n\n\n\n"),
    "with the ends of its lines": ("\ufeff- [ ] a\r\n", "\ufeff- [ ] a\r\n- [ ] new\r\n"),
    "behind a table": ("|a|\n|-|\n|b|\n", "|a|\n|-|\n|b|\n\n- [ ] new\n"),
    "behind code": ("```\n- [ ] c\n```\n", "```\n- [ ] c\n```\n\n- [ ] new\n"),
}  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_a_task_is_added(place: str) -> None:
    before, after = PLACES[place]
    assert added(before) == after


def test_a_section_has_its_own_tasks() -> None:
    note = "- [ ] top\n\n# A\n\n- [ ] a\n\n## B\n\nText.\n\n# C\n"
    assert added(note, section="A") == note.replace("- [ ] a\n", "- [ ] a\n- [ ] new\n")
    assert added(note, section="A › B") == note.replace("Text.\n", "Text.\n\n- [ ] new\n")
    assert added(note, section="C") == f"{note}\n- [ ] new\n"
    with pytest.raises(InvalidInput, match=r"no section 'D'. It has: A \(line 3\)"):
        added(note, section="D")


@pytest.mark.parametrize("given", ["- [ ] new", "* [x] new", "[ ] new", "- new", "  new  "])
def test_a_task_may_be_given_as_a_line(given: str) -> None:
    assert added("", given) == "- [ ] new\n"


@pytest.mark.parametrize("given", ["", "  ", "- [ ] ", "a\nb", "a\r\nb"])
def test_a_task_is_one_line_with_words(given: str) -> None:
    with pytest.raises(InvalidInput):
        added("", given)


@pytest.mark.parametrize("before", ["```\nopen", "%% open", "<private>open"])
def test_no_task_is_added_where_it_would_be_hidden(before: str) -> None:
    if before.startswith("%%"):
        assert added(before) == "%% open\n\n- [ ] new\n"  # a comment that never ends is none
        return
    with pytest.raises(InvalidInput, match="Nothing was written"):
        added(before)


# --- checking ---------------------------------------------------------------------------------

NOTE = """\
## House

- [ ] Call the landlord #home 📅 2026-11-20 ^call
  - [ ] about the key
- [/] Half done
- [x] Old one
* [ ] Pay the rent

## Work

- [ ] Call the bank
- [ ] Pay the rent
"""
CHECKED = {
    "call the landlord": "Call the landlord",
    "Call the landlord #home 📅 2026-11-20": "Call the landlord",
    "- [ ] Call the landlord #home 📅 2026-11-20 ^call": "Call the landlord",
    "^call": "Call the landlord",
    "landlord": "Call the landlord",
    "ABOUT  THE KEY": "about the key",
    "bank": "Call the bank",
}


@pytest.mark.parametrize("text", CHECKED)
def test_a_task_is_meant_by_its_text_or_a_part_of_it(text: str) -> None:
    line = f"- [ ] {CHECKED[text]}"
    after = NOTE.replace(line, line.replace("[ ]", "[x]"))
    assert marked(NOTE, text) == after
    assert marked(after, text) == after, "it is checked already"
    assert marked(after, text, done=False) == NOTE


def test_several_that_could_be_meant_are_named() -> None:
    told = refused(NOTE, "Pay the rent", kind=InvalidInput)
    assert "[ ] Pay the rent (line 7)" in told and "[ ] Pay the rent (line 12)" in told
    assert marked(NOTE, "Pay the rent", section="Work") == NOTE.replace("- [ ] Pay", "- [x] Pay")
    assert marked(NOTE.replace("* [ ]", "* [x]"), "rent").endswith("- [x] Pay the rent\n")
    assert "Near it come: [ ] Call the bank" in refused(NOTE, "bank robbery", kind=NotFound)


def test_a_mark_of_ones_own_is_kept_unless_it_was_seen() -> None:
    for done in (True, False):
        told = refused(NOTE, "half", done=done, kind=InvalidInput)
        assert "[/], which was kept" in told and told.endswith("[/] Half done")
    assert marked(NOTE, "[/] Half done") == NOTE.replace("[/]", "[x]")
    assert marked(NOTE, "- [/] half", done=False) == NOTE.replace("[/]", "[ ]")
    both = "- [-] a\n- [ ] a\n"
    assert marked(both, "a") == "- [-] a\n- [x] a\n"


def test_the_date_of_the_tasks_plugin_goes_where_the_note_has_it() -> None:
    plain = "- [x] a\n- [ ] b ^id\n"
    assert marked(plain, "b") == "- [x] a\n- [x] b ^id\n"
    dated = "- [x] a ✅ 2026-01-01\n- [ ] b 📅 2026-12-01 ^id  \n- [ ] c  \n"
    assert marked(dated, "b") == dated.replace(
        "[ ] b 📅 2026-12-01 ^id", "[x] b 📅 2026-12-01 ✅ 2026-11-18 ^id"
    )
    assert marked(marked(dated, "b"), "b", done=False) == dated
    assert marked(dated, "c") == dated.replace("[ ] c  ", "[x] c ✅ 2026-11-18  ")
    assert marked(dated, "a", done=False) == dated.replace("[x] a ✅ 2026-01-01", "[ ] a")
    assert marked("- [ ] b\n\n```\n- [x] a ✅ 2026-01-01\n```\n", "b").startswith("- [x] b\n")


def test_a_task_in_a_quote_is_checked_there() -> None:
    assert marked("> [!todo] T\r\n> - [ ] a\r\n", "a") == "> [!todo] T\r\n> - [x] a\r\n"
