"""Storing again under a key: what the store before wrote gives way, a person's words stay."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Open
from vaultmem import errors
from vaultmem.notes.masking import without_private
from vaultmem.operations.caller import Caller
from vaultmem.operations.new_memories import restatement
from vaultmem.surfaces.dialects.keyed_entries import KeyedEntries
from vaultmem.vault import Vault

TEXT = "Tea at four.\n\nCake at five.\n\nHome at six."


def stored(vault: Vault, root: Path, text: str = TEXT) -> Path:
    return root / vault.remember(text, key="day", tags=["plan"]).path


def body(file: Path) -> str:
    return file.read_text().split("---\n", 2)[2]


def test_what_the_last_store_wrote_is_replaced(vault: Vault, root: Path) -> None:
    file = stored(vault, root)
    done = vault.remember("Tea at two.", key="day")
    assert not done.created and not done.warnings and body(file) == "Tea at two.\n"
    assert vault.remember("Tea at two.", key="day").version == done.version


def test_what_a_person_added_stays(vault: Vault, root: Path) -> None:
    file = stored(vault, root)
    file.write_text(
        file.read_text().replace("Cake at five.", "Cake at five.\n\nBring a knife, says a person.")
        + "\n<private>The guest is Ada.</private>\n"
    )
    new = TEXT.replace("Tea at four", "Tea at two").replace("Home at six", "Home at nine")
    done = vault.remember(new, key="day")
    assert done.warnings[0].startswith("merged: ")
    assert body(file) == (
        "Tea at two.\n\nCake at five.\n\nBring a knife, says a person.\n\nHome at nine.\n\n"
        "<private>The guest is Ada.</private>\n"
    )
    done = vault.remember("Only tea.", key="day")
    assert "Only tea." in body(file) and "Cake" not in body(file) and "Home" not in body(file)
    assert "Bring a knife, says a person." in body(file) and "Ada" in body(file)


def test_where_both_changed_the_same_it_is_a_conflict(vault: Vault, root: Path) -> None:
    file = stored(vault, root)
    text = file.read_text().replace("Tea at four.", "Tea at four, or coffee.")
    file.write_text(text)
    with pytest.raises(errors.Conflict) as refused:
        vault.remember(TEXT.replace("Tea at four", "Tea at two"), key="day")
    assert "or coffee" in refused.value.text and "store_memory" in str(refused.value)
    assert file.read_text() == text
    vault.remember("Tea at two.", key="day", expected_version=refused.value.version)
    assert body(file) == "Tea at two.\n"
    vault.remember("Tea at three.", key="day")
    assert body(file) == "Tea at three.\n"


def test_private_words_are_never_replaced_unseen(vault: Vault, root: Path) -> None:
    file = stored(vault, root)
    text = file.read_text().replace("four.", "four. <private>With Ada.</private>")
    file.write_text(text)
    with pytest.raises(errors.Conflict) as refused:
        vault.remember("Tea at two.", key="day")
    with pytest.raises(errors.InvalidInput, match="private passages"):
        vault.remember("Tea at two.", key="day", expected_version=refused.value.version)
    assert file.read_text() == text


def test_without_knowing_what_was_stored_a_persons_words_are_assumed(
    open_vault: Open, root: Path
) -> None:
    """On another machine, say, to which git brought the note."""
    vault = open_vault()
    file = stored(vault, root)
    for kept in (root / ".vaultmem" / "local" / "stored").iterdir():
        kept.unlink()
    text = file.read_text()
    with pytest.raises(errors.Conflict) as refused:
        vault.remember("Tea at two.", key="day")
    assert file.read_text() == text
    vault.remember(TEXT, key="day")  # the same words: now they are known
    vault.remember("Tea at two.", key="day")
    assert body(file) == "Tea at two.\n"
    with pytest.raises(errors.Conflict):
        vault.remember("x", key="day", expected_version=refused.value.version)
    with pytest.raises(errors.InvalidInput, match="goes with a key"):
        vault.remember("x", expected_version=refused.value.version)
    with pytest.raises(errors.NotFound):
        vault.remember("x", key="night", expected_version=refused.value.version)


def test_an_agents_other_changes_are_not_replaced_unseen(vault: Vault, root: Path) -> None:
    file = stored(vault, root)
    (read,) = vault.get(["day"]).memories
    vault.update("day", append="One more thing.")
    vault.remember(TEXT.replace("four", "two"), key="day")
    assert body(file) == TEXT.replace("four", "two") + "\n\nOne more thing.\n"
    with pytest.raises(errors.Conflict):
        vault.remember("x", key="day", expected_version=read.version)


def test_properties_that_were_not_given_stay(vault: Vault, root: Path) -> None:
    made = vault.remember("Tea.", key="day", source="a book", importance=0.9)
    agent = vault.for_caller(Caller(client="an-agent"))
    agent.remember("More tea.", key="day")
    (read,) = vault.get([made.memory_id]).memories
    assert (read.source, read.importance, read.content) == ("a book", 0.9, "More tea.")


def test_a_system_of_keys_alone_goes_on_and_takes_back_its_own_tags(
    vault: Vault, root: Path
) -> None:
    made = KeyedEntries(vault).put_entry("day", "Tea at four.", tags=["a", "b"])
    file = root / made.path
    file.write_text(
        file.read_text().replace("- b\n", "- b\n  - mine\n").replace("four.", "four, or coffee.")
    )
    KeyedEntries(vault).put_entry("day", "Tea at two.", tags=["b", "c"])
    (read,) = vault.get(["day"]).memories
    assert set(read.tags) == {"b", "c", "mine"}
    assert read.content == "Tea at two.\nTea at four, or coffee."
    KeyedEntries(vault).put_entry("day", "Tea at one.", tags=["c"])
    (read,) = vault.get(["day"]).memories
    assert read.content == "Tea at one.\n\nTea at four, or coffee."
    assert set(read.tags) == {"c", "mine"}
    KeyedEntries(vault).put_entry("day", "Tea at noon.")
    assert (
        KeyedEntries(vault).keyed_entry("day").content == "Tea at noon.\n\nTea at four, or coffee."
    )


def test_what_lasts_for_a_session_leaves_no_copy(open_vault: Open, root: Path) -> None:
    vault = open_vault(session="s-1")
    KeyedEntries(vault).put_entry("day", "A platypus.", scope="session")
    KeyedEntries(vault).put_entry("day", "Another platypus.", scope="session")
    assert (
        KeyedEntries(vault).keyed_entry("day", scopes=("session",)).content == "Another platypus."
    )
    vault.end_session()
    kept = [f for f in (root / ".vaultmem" / "local" / "stored").glob("*") if f.is_file()]
    assert not kept


# --- whatever was written ---------------------------------------------------------------------

LINES = ["Tea.", "Cake.", "Home.", "", "- one", "- two", "## Head", "> said", "`x`", "Tea. Cake."]
OWN = ["By hand.", "", "<private>", "secret", "</private>", "- mine", "<private>secret</private>"]
agents = st.lists(st.sampled_from(LINES), min_size=1, max_size=8).map("\n".join)


@given(last=agents, new=agents, seed=st.integers(0, 10_000), crlf=st.booleans(), both=st.booleans())
def test_every_line_of_a_person_is_kept_or_nothing_is_written(
    last: str, new: str, seed: int, crlf: bool, both: bool
) -> None:
    chance = random.Random(seed)
    lines = last.split("\n")
    for _ in range(chance.randrange(5)):
        lines.insert(chance.randrange(len(lines) + 1), chance.choice(OWN))
    now = "\n".join(lines) + "\n"
    now = now.replace("\n", "\r\n") if crlf else now
    after = restatement.merged_restatement(last, now, new, both=both)
    if after is None:
        return
    for own in ("By hand.", "- mine", "secret"):
        assert after.count(own) >= now.count(own)
    assert without_private(after).count("secret") <= without_private(now).count("secret")
    if lines == last.split("\n") and "<private>" not in now:
        assert after.split() == new.split()
