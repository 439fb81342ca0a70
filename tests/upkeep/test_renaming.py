"""Renaming a note and every link to it, as Obsidian does; and taking it back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Open, snapshot
from vaultmem import Vault
from vaultmem.base.own_program import command_to_type
from vaultmem.errors import InvalidInput, NotFound, ReadOnly, VaultmemError
from vaultmem.notes.note import parse

OLD, NEW = "Deploys happen on Fridays", "Deploys happen on Tuesdays"


@pytest.fixture
def corrected(vault: Vault, root: Path) -> Path:
    """A memory whose text was corrected since it was named."""
    made = vault.remember("Deploys happen on Fridays.")
    vault.update(made.memory_id, old_text="Fridays", new_text="Tuesdays")
    return root / made.path


LINKING = {
    "Forms.md": (
        f"See [[{OLD}]], [[{OLD}|on fridays]], [[{OLD}#When]], [[{OLD}#^ab12|x]] and\r\n"
        f"![[{OLD}]], [[Memories/{OLD}]], [[{OLD}.md]], [[ {OLD.lower()} ]].\r\n"
        f"| a | [[{OLD}\\|b]] |\r\n"
        f"[t]({OLD.replace(' ', '%20')}.md) [u](<Memories/{OLD}.md#When>) "
        f"[v](Memories/{OLD.replace(' ', '%20')}.md)\r\n"
    ),
    "Deep/Relative.md": f"[up](../Memories/{OLD.replace(' ', '%20')}.md)\n",
    "Properties.md": (
        f'---\nup: "[[{OLD}]]" # mine\nabout:\n  - "[[{OLD}|x]]"\n  - \'[[{OLD}]]\'\n'
        f"zip: 00123\n---\ntext\n"
    ),
    "Facts.md": f"## Facts\n\n- depends_on:: [[{OLD}]] (2026-01-28 → ; 0.9; [[{OLD}]]) ^f-7k2m\n",
    "Private.md": f"<private>my [[{OLD}]]</private>\n",
}
LEFT = {
    "Code.md": f"`[[{OLD}]]`\n\n```\n[[{OLD}]]\n```\n\\[[{OLD}]]\n",
    "Others.md": f"[[{OLD} and more]] {OLD} [[Other/{OLD}]] [x](https://a.b/{OLD}.md)\n",
    "Comment.md": f"%% [[{OLD}]] %%\n",
}
CANVAS = (
    '{"nodes":[{"id":"a","type":"file","file":"Memories/' + OLD + '.md","x":0},\n'
    '{"id":"b","type":"text","text":"caf\\u00e9 \\ud83d\\ude00 [[' + OLD + '|x]]\\/y","x":1},'
    '{"id":"c","type":"text","text":"file: ' + OLD + '"}],"edges":[]}'
)


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(text.encode())


def texts(root: Path) -> dict[str, bytes]:
    """What a person sees of the vault."""
    return {p: raw for p, (raw, _) in snapshot(root).items() if not p.startswith(".vaultmem")}


def test_answers_show_the_texts_own_words_until_it_is_renamed(
    open_vault: Open, corrected: Path
) -> None:
    vault = open_vault()
    assert corrected.stem == OLD, "agents do not rename"
    (hit,) = vault.recall("when do deploys happen", strategy="keyword").memories
    (listed,) = vault.list().memories
    (got,) = vault.get([hit.id]).memories
    assert {hit.title, listed.title, got.title} == {NEW}
    assert hit.path == listed.path == f"Memories/{OLD}.md"
    for name in (OLD, NEW, f"[[{OLD}]]"):
        assert vault.get([name]).memories[0].id == hit.id
    assert vault.recall("fridays", strategy="keyword").memories, "its file is found by its name"
    context = vault.context("when do the deploys of this week happen?")
    assert OLD not in context.context_block


def test_on_another_machine_the_title_is_known_to_be_old(
    vault: Vault, corrected: Path, open_vault: Open, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    (other / "Memories").mkdir(parents=True)
    (other / ".vaultmem").mkdir()
    (other / "Memories" / corrected.name).write_bytes(corrected.read_bytes())
    assert open_vault(at=other).list().memories[0].title == NEW


def test_doctor_offers_the_renaming(vault: Vault, corrected: Path) -> None:
    (found,) = vault.examine()
    assert found.problem == "outdated-title" and found.is_information
    assert NEW in found.message and found.fix == command_to_type(f"rename 'Memories/{OLD}.md'")
    vault.rename(OLD)
    assert not vault.examine()


def test_every_link_is_changed_and_nothing_else(vault: Vault, root: Path, corrected: Path) -> None:
    write(root, {**LINKING, **LEFT, "Map.canvas": CANVAS})
    vault.index_now()
    planned = vault.rename(OLD, dry_run=True)
    assert (root / "Map.canvas").read_bytes() == CANVAS.encode() and corrected.exists()
    done = vault.rename(OLD)
    assert (done.path, done.old_path) == (f"Memories/{NEW}.md", f"Memories/{OLD}.md")
    assert set(done.linking) == set(planned.linking) == {*LINKING, "Map.canvas"}
    assert not corrected.exists() and corrected.with_name(f"{NEW}.md").exists()
    for name, text in LINKING.items():
        encoded = text.replace(OLD.replace(" ", "%20"), NEW.replace(" ", "%20"))
        wanted = encoded.replace(OLD, NEW).replace(OLD.lower(), NEW)
        assert (root / name).read_bytes() == wanted.encode(), name
    for name, text in LEFT.items():
        assert (root / name).read_bytes() == text.encode(), name
    canvas = (root / "Map.canvas").read_text()
    assert canvas == CANVAS.replace(f"{OLD}.md", f"{NEW}.md").replace(f"[[{OLD}", f"[[{NEW}")
    json.loads(canvas)
    (found,) = vault.recall("deploys tuesdays", strategy="keyword", folder="Memories").memories
    assert (found.title, found.path) == (NEW, done.path)


def test_it_is_undone_byte_for_byte(vault: Vault, root: Path, corrected: Path) -> None:
    write(root, {**LINKING, "Map.canvas": CANVAS, "Unresolved.md": f"[[{NEW}]]\n"})
    vault.index_now()
    before = texts(root)
    vault.rename(OLD, alias=True)
    assert parse(corrected.with_name(f"{NEW}.md").read_bytes()).aliases == (OLD,)
    (root / "Facts.md").write_text((root / "Facts.md").read_text() + f"More of [[{NEW}]].\n")
    vault.undo_rename()
    after = texts(root)
    assert after.pop("Facts.md") == before.pop("Facts.md") + f"More of [[{OLD}]].\n".encode()
    assert after == before
    with pytest.raises(NotFound):
        vault.undo_rename()


def test_a_renaming_that_was_stopped_is_completed(
    vault: Vault, root: Path, corrected: Path
) -> None:
    write(root, LINKING)
    vault.index_now()
    (root / "Private.md").chmod(0o444)  # the last of them
    with pytest.raises(ReadOnly):
        vault.rename(OLD)
    assert corrected.exists() and NEW in (root / "Forms.md").read_text()
    (root / "Private.md").chmod(0o644)
    vault.rename(OLD)
    assert not corrected.exists() and NEW in (root / "Private.md").read_text()
    vault.undo_rename()
    for name, text in LINKING.items():
        assert (root / name).read_bytes() == text.encode(), name


@pytest.mark.parametrize(
    ("title", "said"),
    [
        ("a/b", "cannot be the name"),
        ("", "cannot be the name"),
        ("What: this?", "'What this' would do"),
        ("x" * 130, "cannot be the name"),
        (OLD, "has this name already"),
        ("Taken", "Else/Taken.md has this name"),
        ("taken", "Else/Taken.md has this name"),
    ],
)
def test_a_name_that_cannot_be_is_refused(
    vault: Vault, root: Path, corrected: Path, title: str, said: str
) -> None:
    write(root, {"Else/Taken.md": "text\n"})
    before = texts(root)
    with pytest.raises(InvalidInput, match=said.replace("?", r"\?")):
        vault.rename(OLD, title)
    assert texts(root) == before


def test_what_is_ambiguous_is_refused(vault: Vault, root: Path, corrected: Path) -> None:
    write(root, {f"Else/{OLD}.md": "another\n", "Linking.md": f"[[{OLD}]]\n"})
    vault.index_now()
    before = texts(root)
    with pytest.raises(InvalidInput, match="could be"):
        vault.rename(f"Memories/{OLD}.md", "Other")
    assert texts(root) == before
    (root / "Linking.md").write_text(f"[[Memories/{OLD}]] [[Else/{OLD}]]\n")
    vault.rename(f"Memories/{OLD}.md", "Other")
    assert (root / "Linking.md").read_text() == f"[[Memories/Other]] [[Else/{OLD}]]\n"


def test_a_title_that_agrees_needs_another(vault: Vault) -> None:
    vault.remember("Deploys happen on Fridays.")
    with pytest.raises(InvalidInput, match="give the new title"):
        vault.rename(OLD)


def test_a_persons_note_keeps_its_history(vault: Vault, root: Path) -> None:
    write(root, {"Rota.md": "Anna\n"})
    vault.update("Rota", old_text="Anna", new_text="Ben")
    vault.rename("Rota", "Rota of the kitchen")
    versions = vault.history("Rota of the kitchen").versions
    assert [v.action for v in versions] == ["current", "update"]
    assert (
        vault.rename("Rota of the kitchen", "ROTA of the kitchen").path == "ROTA of the kitchen.md"
    )


def test_who_may_not_see_all_links_may_not_rename(open_vault: Open, corrected: Path) -> None:
    with pytest.raises(InvalidInput):
        open_vault(project="Atlas").rename(OLD, "Other")
    with pytest.raises(VaultmemError):
        open_vault({"read_only": True}).rename(OLD, "Other")
    assert corrected.exists()
