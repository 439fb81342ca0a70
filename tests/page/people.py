"""What two agents and a person left in the vault that the page is tried with."""

from __future__ import annotations

import tempfile
import zlib
from pathlib import Path

from vaultmem import Vault
from vaultmem.operations.caller import Caller
from vaultmem.vault import make_vault, plan_vault

CLAUDE = Caller(client="claude-code", session="01KE6RC3Z01CAWBEB2YEA387MB")
CURSOR = Caller(client="cursor", session="cursor-7")
STAGING = (
    "The staging database moved to eu-west-1; the old host answers until the end of the month."
)
FROZEN = "Deploys are frozen on Fridays, since nobody is there to roll back."
IMPORTER = "Run the importer with batches of 500; larger ones time out behind the proxy."
EMOJIS = "Anna prefers short answers without emojis."
BOTH_WAYS = "部署在星期二进行，数据库在周一备份。 שלום עולם"

HOSTILE = """---
tags: [hostile]
title: "</title><script>window.hurt = 1</script>"
---
# <img src=x onerror="window.hurt = 2">

<script>window.hurt = 3</script> <svg onload="window.hurt = 4"><style>body { display: none }</style>

[click](javascript:window.hurt=5) [data](data:text/html,<script>window.hurt=6</script>)
![picture](https://elsewhere.invalid/pixel.png) <iframe src="https://elsewhere.invalid/"></iframe>
[[<b onclick=alert(1)>|"><script>window.hurt = 7</script>]] [x](//elsewhere.invalid/y)
"""


PROPOSED = ("Marmots whistle at noon.", "Otters hold hands while they sleep.")


def engine_of(home: Path) -> dict[str, str]:
    """An engine of its own, in a folder with a short path."""
    folder = Path(tempfile.gettempdir()) / f"vp-{zlib.crc32(str(home).encode()):x}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return {"VAULTMEM_ENGINE": "", "XDG_RUNTIME_DIR": str(folder)}


def fill(folder: Path) -> None:
    make_vault(plan_vault(str(folder), git=False, examples=True), git=False)
    (folder / "Crlf.md").write_bytes(b"# Lines\r\n\r\none\r\ntwo\r\nthree\r\n")
    (folder / ".vaultmem/config.toml").write_text('[review]\nnew = true\nclients = ["codex"]\n')
    flags = {"typing.quiet_seconds": 0.0}
    with Vault.open(folder, flags) as vault:
        claude, cursor = vault.for_caller(CLAUDE), vault.for_caller(CURSOR)
        staging = claude.remember(STAGING, tags=["infra"], project="Atlas", scope="project")
        cursor.remember(FROZEN, tags=["deploy"], project="Atlas", scope="project")
        claude.update(staging.memory_id, old_text="the end of the month", new_text="30 November")
        emojis = claude.remember(EMOJIS, tags=["preference"])
        cursor.forget(emojis.memory_id, reason="She said the opposite")
        claude.remember(IMPORTER, type="procedural", tags=["importer"])
        vault.remember(BOTH_WAYS, title="多语言")
        for text in PROPOSED:
            vault.for_caller(Caller(client="codex", session="codex-1")).remember(text)
        claude.log("The proxy closes connections after 30 seconds", type="finding")
        vault.embed_all()


def fill_with_hostile_notes(folder: Path) -> None:
    (folder / ".vaultmem").mkdir(parents=True)
    (folder / "Hostile <b>note<").with_suffix(".md").write_text(HOSTILE, encoding="utf-8")
    (folder / "Huge.md").write_text(
        "x" * 300_000 + "\n\n" + " ".join(f"[[Note {n}]]" for n in range(10_000)), encoding="utf-8"
    )
    (folder / "Calm.md").write_text("A calm note about [[Tea]].\n", encoding="utf-8")
    with Vault.open(folder, {"model": "off", "typing.quiet_seconds": 0.0}) as vault:
        vault.for_caller(CLAUDE).remember(FROZEN)
