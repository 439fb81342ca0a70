"""Bundles in the Open Knowledge Format 0.2: what goes out conforms, what comes in stays as it is."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from vaultmem.errors import InvalidInput
from vaultmem.vault import Vault

FENCED = re.compile(r"\A---\n(.*?)^---\n(.*)\Z", re.DOTALL | re.MULTILINE)
ENTRY = re.compile(r"\* \[[^\]]+\]\([^)\s]+\)( - .+)?")
LINK = re.compile(r"\]\((/[^)\s#]+)")


def require_conformant(bundle: Path) -> dict[str, dict[str, Any]]:
    """The three rules of the specification's chapter 11, and the shapes of chapter 5."""
    concepts: dict[str, dict[str, Any]] = {}
    for file in sorted(bundle.rglob("*.md")):
        text, path = file.read_text("utf-8"), file.relative_to(bundle).as_posix()
        found = FENCED.match(text.replace("\r\n", "\n"))
        assert file.name != "log.md"
        if file.name == "index.md":
            assert (found is not None) == (path == "index.md"), path
            if found:
                assert yaml.safe_load(found[1]) == {"okf_version": "0.2"}
            body = found[2] if found else text
            entries = [line for line in body.splitlines() if line.startswith("* ")]
            assert entries and all(map(ENTRY.fullmatch, entries)), body
            continue
        assert found, path
        concepts[path] = yaml.safe_load(found[1])
        kind = concepts[path]["type"]
        assert isinstance(kind, str) and kind.strip(), path
        assert concepts[path]["generated"]["by"].strip()
        assert all(source["resource"] for source in concepts[path].get("sources", ()))
        assert concepts[path].get("status", "stable") in ("draft", "stable", "deprecated")
        for target in LINK.findall(found[2]):
            assert (bundle / target.lstrip("/").replace("%20", " ")).exists(), (path, target)
    return concepts


def exported(vault: Vault, away: Path) -> tuple[Any, Path]:
    done = vault.export("okf", away / "bundle.zip")
    with zipfile.ZipFile(away / "bundle.zip") as archive:
        archive.extractall(away / "bundle")
    return done, away / "bundle"


def test_a_vault_goes_out_as_a_conformant_bundle(vault: Vault, root: Path, away: Path) -> None:
    first = vault.remember("Tokens rotate daily. <private>not this</private>", tags=["auth"])
    vault.forget(vault.remember("An old port.").memory_id)
    (root / "Own.md").write_bytes(
        b"---\r\ntype:\r\ntags: x # mine\r\nzip: 00123\r\n---\r\nSee [[Deep note|it]] and [[Deep note#Why]], "
        b"![[Deep note]], `[[Deep note]]`, [[Nowhere]].\r\n"
    )
    (root / "Sub").mkdir()
    (root / "Sub/Deep note.md").write_text("# Why\n\nNo properties [at all].\n")
    (root / "Sub/log.md").write_text("a note that is called so\n")
    (root / "List.md").write_text('---\ntype: [a, b]\nderived_from: "[[Own]]"\n---\nx\n')
    (root / "Broken.md").write_text("---\na: [\n---\nx\n")
    before = {file: file.read_bytes() for file in root.rglob("*.md")}
    vault.parts.reconciler.everything()
    done, bundle = exported(vault, away)
    assert {file: file.read_bytes() for file in root.rglob("*.md")} == before
    assert [left.what for left in done.left_out] == ["Broken.md"]
    concepts = require_conformant(bundle)
    assert len(concepts) == done.notes == 6
    own = (bundle / "Own.md").read_bytes()
    assert b"tags: x # mine\r\nzip: 00123\r\n" in own and b"`[[Deep note]]`, [[Nowhere]]" in own
    assert b"[it](/Sub/Deep%20note.md)" in own and b"(/Sub/Deep%20note.md#Why)" in own
    assert concepts["List.md"]["sources"] == [{"resource": "/Own.md"}]
    assert concepts["Sub/Deep note.md"]["title"] == "Deep note"
    assert (bundle / "Sub/log 2.md").exists()
    assert [c.get("status") for c in concepts.values()].count("deprecated") == 1
    memory = next(c for c in concepts.values() if c.get("id") == first.memory_id)
    assert re.fullmatch(r"\d{4}(-\d\d){2}T(\d\d:){2}\d\dZ", memory["generated"]["at"])
    assert "not this" not in "".join(f.read_text() for f in bundle.rglob("*.md"))
    again = vault.import_("okf", bundle, into="Back")
    assert again.left == 0 and not list(root.glob("Back/**/index.md"))


def test_a_bundle_comes_in_as_it_is(vault: Vault, root: Path, away: Path) -> None:
    raw = (
        b"---\ntype: BigQuery Table\ntitle: Customer Orders\n"
        b"generated: { by: reference_agent/2, at: 2026-05-28T14:30:00Z }\n"
        b"verified: { by: human:ada, at: 2026-06-25T09:00:00Z }\n"
        b"sources:\n  - id: s\n    resource: https://example.com/s\n---\n\n# Schema\n\n"
        b"One row per customer order. See [customers](/tables/customers.md).[^s]\n"
    )
    (away / "bundle/tables").mkdir(parents=True)
    (away / "bundle/tables/orders.md").write_bytes(raw)
    (away / "bundle/tables/customers.md").write_bytes(b"---\ntype: Table\n---\nPeople who buy.\n")
    (away / "bundle/index.md").write_text('---\nokf_version: "0.2"\n---\n\n# Tables\n')
    (away / "bundle/log.md").write_text("# Log\n\n## 2026-05-22\n* **Update**: x\n")
    done = vault.import_("auto", away / "bundle")
    assert (done.added, done.left) == (2, 0)
    assert (root / "bundle/tables/orders.md").read_bytes() == raw
    assert not (root / "bundle/index.md").exists() and not (root / "bundle/log.md").exists()
    assert vault.recall("customer order row").memories[0].path == "bundle/tables/orders.md"
    assert vault.import_("okf", away / "bundle").here == 2
    (away / "plain").mkdir()
    (away / "plain/a.md").write_text("no type")
    with pytest.raises(InvalidInput, match="Open Knowledge"):
        vault.import_("okf", away / "plain")
