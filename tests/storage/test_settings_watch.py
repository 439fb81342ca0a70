"""Settings that change while a server runs: what closes does so at once, what opens waits."""

from __future__ import annotations

from pathlib import Path

from vaultmem import config
from vaultmem.storage.vault_settings.settings_watch import SettingsWatch


def test_what_closes_counts_at_once_though_the_same_save_opens_something(root: Path) -> None:
    file = root / ".vaultmem" / "config.toml"
    file.parent.mkdir()
    file.write_text('exclude = ["Diary"]\n[access]\n"Journal" = "read"\n')
    before = config.load(root)
    watch = SettingsWatch(root, lambda: config.load(root))
    assert watch.changed(before) is None
    file.write_text('exclude = ["Private"]\nread_only = true\n[access]\n"Work" = "none"\n')
    closed = watch.changed(before)
    assert closed is not None
    assert set(closed["exclude"]) == {"Diary", "Private"} and closed["read_only"]
    assert closed.access == {"Journal": "read", "Work": "none"}
    assert watch.changed(closed) is None, "nothing more, until the file has rested"
