"""A change says what it replaces: the rest of a note stays, and what nobody read stays too."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Open
from vaultmem import errors
from vaultmem.vault import Vault

LONG = "# Auth\n\n" + "\n\n".join(
    f"## Part {n}\n\n" + f"Sentence number {n} speaks of the marmot at length. " * 30
    for n in range(12)
)
TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


def put(root: Path, name: str, text: str) -> Path:
    file = root / name
    file.write_bytes(text.encode())
    return file


# --- some of it -------------------------------------------------------------------------------


def test_a_passage_is_corrected_and_the_rest_of_the_note_is_there(vault: Vault, root: Path) -> None:
    file = put(root, "Auth.md", f"{LONG}\n\nTokens live for 24 hours.\n")
    (hit, *_) = vault.recall("how long do tokens live", strategy="keyword").memories
    assert not hit.whole
    done = vault.update(hit.id, old_text="live for 24 hours", new_text="live for 12 hours")
    assert done.updated_fields == ("content",)
    assert file.read_text() == f"{LONG}\n\nTokens live for 12 hours.\n"
    done = vault.update(hit.id, append="They are signed.", section=hit.heading)
    assert file.read_text() == f"{LONG}\n\nTokens live for 12 hours.\n\nThey are signed.\n"
    done = vault.update(hit.id, append="The end.", importance=0.9)
    assert done.updated_fields == ("content", "importance")
    assert file.read_text().endswith("They are signed.\n\nThe end.\n")


def test_what_does_not_stand_there_once_is_answered_with_what_does(
    vault: Vault, root: Path
) -> None:
    before = put(root, "Auth.md", LONG).read_bytes()
    for more, said in (
        ({"old_text": "of the marmot", "new_text": "x"}, "more than 4 times"),
        ({"old_text": "of the marmoset", "new_text": "x"}, "Near it come:\n- line"),
        ({"append": "x", "section": "Part"}, "It has: Auth (line 1); Auth › Part 0 (line 3)"),
    ):
        with pytest.raises(errors.InvalidInput) as refused:
            vault.update("Auth", **more)
        assert said in str(refused.value)
    assert (root / "Auth.md").read_bytes() == before


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"old_text": "a"}, "Give both"),
        ({"new_text": "a"}, "Give both"),
        ({"old_text": "", "new_text": "a"}, "Give both"),
        ({"old_text": "a", "new_text": "b", "append": "c"}, "four ways"),
        ({"content": "a", "append": "c"}, "four ways"),
        ({"section": "A", "content": "c"}, "section says where to append"),
        ({"append": "  "}, "nothing to remember"),
    ],
)
def test_one_way_at_a_time(vault: Vault, given: dict[str, str], said: str) -> None:
    made = vault.remember("A marmot.")
    with pytest.raises(errors.InvalidInput, match=said):
        vault.update(made.memory_id, **given)


def test_a_change_is_made_on_the_text_as_it_is_then(vault: Vault, root: Path) -> None:
    """A person may save between the look and the write; the quotation decides."""
    made = vault.remember("A marmot lives here.")
    file = root / made.path
    file.write_text(file.read_text() + "By hand.\n")
    vault.update(made.memory_id, old_text="A marmot", new_text="An old marmot")
    assert file.read_text().endswith("An old marmot lives here.\nBy hand.\n")
    with pytest.raises(errors.Conflict):
        vault.update(made.memory_id, old_text="old", new_text="x", expected_version=made.version)


def test_a_persons_own_secret_is_not_redacted_on_the_way_back(vault: Vault, root: Path) -> None:
    file = put(root, "Deploy.md", f"The key is {TOKEN} and the host is marmot.\n")
    before = file.read_bytes()
    (found,) = vault.get(["Deploy"]).memories
    with pytest.raises(errors.InvalidInput, match="would be redacted"):
        vault.update("Deploy", old_text=found.content, new_text=f"{found.content} It is old.")
    with pytest.raises(errors.InvalidInput, match="would be redacted"):
        vault.update("Deploy", content=f"{found.content} x", expected_version=found.version)
    assert file.read_bytes() == before
    vault.update("Deploy", old_text="the host is marmot", new_text="the host is lemur")
    assert file.read_text() == f"The key is {TOKEN} and the host is lemur.\n"
    done = vault.update("Deploy", append=f"Another: {TOKEN.replace('a', 'z')}")
    assert done.warnings and "[redacted" in file.read_text()


# --- all of it --------------------------------------------------------------------------------


def test_a_long_note_is_replaced_by_one_who_has_read_it_whole(vault: Vault, root: Path) -> None:
    file = put(root, "Auth.md", LONG)
    vault.recall("marmot", strategy="keyword")
    with pytest.raises(errors.InvalidInput, match="more text than one passage") as refused:
        vault.update("Auth", content="Short.")
    assert "old_text and new_text" in str(refused.value) and "get_memories" in str(refused.value)
    (listed,) = vault.list().memories
    with pytest.raises(errors.InvalidInput, match="came with a part"):
        vault.update("Auth", content="Short.", expected_version=listed.version)
    tagged = vault.tag("Auth", add=["x"], expected_version=listed.version)
    with pytest.raises(errors.InvalidInput, match="came with a part"):
        vault.update("Auth", content="Short.", expected_version=tagged.version)
    assert LONG in file.read_text()
    (read,) = vault.get(["Auth"]).memories
    done = vault.update("Auth", content="Short.", expected_version=read.version)
    assert file.read_text().endswith("---\nShort.\n") and done.updated_fields == ("content",)


def test_a_version_of_a_whole_reading_outlives_the_process(open_vault: Open, root: Path) -> None:
    file = put(root, "Auth.md", LONG)
    (read,) = open_vault().get(["Auth"]).memories
    open_vault().update("Auth", content="Short.", expected_version=read.version)
    assert file.read_text() == "Short.\n"


def test_a_passage_that_is_all_there_is_needs_no_version(vault: Vault, root: Path) -> None:
    file = put(root, "Tea.md", "Tea at four.\n")
    (hit,) = vault.recall("tea", strategy="keyword").memories
    assert hit.whole and hit.content == "Tea at four."
    vault.update(hit.id, content="Tea at five.")
    assert file.read_text() == "Tea at five.\n"
    vault.update(hit.id, content="Tea at six.")  # it wrote what is there
    file.write_text("Tea at six.\nAnd cake, says a person.\n")
    with pytest.raises(errors.Conflict) as refused:
        vault.update(hit.id, content="Tea at seven.")
    assert "And cake, says a person." in refused.value.text
    vault.update(hit.id, content="Tea at seven.", expected_version=refused.value.version)
    assert file.read_text() == "Tea at seven.\n"


def test_a_note_that_grew_beyond_a_passage_is_a_conflict(vault: Vault, root: Path) -> None:
    made = vault.remember("Tea at four.")
    file = root / made.path
    file.write_text(file.read_text() + f"\n{LONG}\n")
    with pytest.raises(errors.Conflict) as refused:
        vault.update(made.memory_id, content="Tea at five.")
    assert LONG in refused.value.text


def test_what_was_never_read_is_not_replaced(open_vault: Open, root: Path) -> None:
    file = put(root, "Tea.md", "Tea at four.\n")
    with pytest.raises(errors.Conflict) as refused:
        open_vault().update("Tea", content="Tea at five.")
    assert "Tea at four." in refused.value.text and file.read_text() == "Tea at four.\n"
    one, other = open_vault(user="one"), open_vault(user="other")
    made = open_vault().remember("Tea at six.")
    one.update(made.memory_id, content="Tea at seven.")  # an agent's text, all of it
    other.recall("tea seven", strategy="keyword")
    one.update(made.memory_id, content="Tea at eight.")
    with pytest.raises(errors.Conflict):  # it has changed since this caller saw it
        other.update(made.memory_id, content="Tea at nine.")


def test_changes_of_properties_are_no_changes_of_the_text(vault: Vault, root: Path) -> None:
    made = vault.remember("Tea at four.")
    file = root / made.path
    file.write_text(file.read_text().replace("type: semantic", "type: semantic\nmood: calm"))
    vault.tag(made.memory_id, add=["tea"])
    vault.update(made.memory_id, content="Tea at five.")
    assert "mood: calm" in file.read_text() and file.read_text().endswith("\nTea at five.\n")


def test_entities_and_journals_keep_what_nobody_read(vault: Vault, root: Path) -> None:
    vault.assert_fact("Gateway", "signs_with", "RS256")
    vault.assert_fact("Gateway", "runs_on", "Linux", multi=True)
    logged = vault.log("A decision about the gateway.", type="decision")
    vault.log("Another one.")
    for ref in ("Gateway", logged.path):
        before = (root / f"Entities/{ref}.md" if ref == "Gateway" else root / ref).read_bytes()
        vault.recall("gateway", strategy="keyword")
        with pytest.raises((errors.InvalidInput, errors.Conflict)):
            vault.update(ref, content="All gone.")
        after = (root / f"Entities/{ref}.md" if ref == "Gateway" else root / ref).read_bytes()
        assert after == before
    (seen,) = vault.get([logged.observation_id]).memories
    with pytest.raises(errors.Conflict):  # an observation is not its journal
        vault.update(logged.path, content="All gone.", expected_version=seen.version)


def test_recall_says_of_every_hit_whether_it_is_whole(vault: Vault, root: Path) -> None:
    put(root, "Short.md", "A capybara.\n")
    put(root, "Headed.md", "# Capybara\n\nA capybara under a heading.\n")
    put(root, "Long.md", LONG.replace("marmot", "capybara"))
    put(root, "Comment.md", "A capybara. %% hidden %%\n")
    put(root, "Secret.md", "A capybara. <private>hidden</private>\n")
    vault.log("A capybara was seen.")
    vault.log("A capybara was seen again. " + "It swam. " * 400)
    entry = "- **09:00:00** note: A capybara without an id.\n- **09:00:01** note: Another. ^o1\n"
    put(root, "Journal.md", f"---\ntype: session\n---\n## Log\n\n{entry}")
    found = vault.recall("capybara", strategy="keyword", limit=50).memories
    whole = {hit.path if hit.type != "episodic" else hit.content[:20] for hit in found if hit.whole}
    assert whole - {"Another."} == {"Short.md", "A capybara was seen."}  # a neighbour, found or not
    for hit in found:
        if hit.whole and hit.type != "episodic":
            assert hit.content == (root / hit.path).read_text().strip()


def test_private_passages_stay_whatever_is_changed(vault: Vault, root: Path) -> None:
    text = "Tea at four.\n<private>\nThe guest is Ada.\n</private>\nCake at five.\n"
    file = put(root, "Tea.md", text)
    (read,) = vault.get(["Tea"]).memories
    for change in (
        {"content": "All new.", "expected_version": read.version},
        {"old_text": "Ada", "new_text": "Eve"},
        {"old_text": "Tea at four.\n\nCake", "new_text": "x"},
    ):
        with pytest.raises(errors.InvalidInput) as refused:
            vault.update("Tea", **change)
        assert "Ada" not in str(refused.value).replace("'Ada'", "")
    assert file.read_text() == text
    vault.update("Tea", old_text="Cake at five.", new_text="Cake at six.")
    vault.update("Tea", append="Done.")
    assert file.read_text() == text.replace("five", "six") + "\nDone.\n"


# --- going back -------------------------------------------------------------------------------


def test_going_back_over_a_persons_text_is_told(vault: Vault, root: Path) -> None:
    made = vault.remember("First.")
    vault.update(made.memory_id, content="Second.")
    plain = vault.restore(made.memory_id)
    assert not plain.warnings and plain.replaced
    vault.update(made.memory_id, append="Third.")
    file = root / made.path
    file.write_text(file.read_text() + "By hand.\n")
    done = vault.restore(made.memory_id)
    assert "By hand." not in file.read_text()
    assert done.replaced and done.replaced in done.warnings[0]
    vault.restore(made.memory_id, done.replaced)
    assert file.read_text().endswith("Third.\nBy hand.\n")
    with pytest.raises(errors.Conflict):  # what came back was not read
        vault.update(made.memory_id, content="Fourth.")


def test_a_summary_that_a_person_changed_is_not_replaced(vault: Vault, root: Path) -> None:
    logged = vault.log("The gateway was moved.", type="decision")
    session, file = logged.session_id, root / logged.path
    vault.end_session(session_id=session, summary="We moved the gateway.")
    vault.end_session(session_id=session, summary="We moved the gateway at noon.")
    assert "gateway.\n" not in file.read_text().partition("## Summary")[2]
    file.write_text(file.read_text().replace("at noon.", "at noon, in a storm."))
    vault.end_session(session_id=session, summary="All is well.")
    said = file.read_text().partition("## Summary")[2]
    assert said.strip() == "We moved the gateway at noon, in a storm.\n\nAll is well."
