"""Kills at any step lose nothing and leave nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.surfaces.engine.machine import machine_in
from tests.surfaces.engine.storm import Storm
from tests.waiting import until

STEPS = 60


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_is_lost_and_nothing_left(tmp_path: Path, seed: int) -> None:
    with machine_in(tmp_path, idle_minutes=0) as machine:
        storm = Storm(machine, seed)
        for _ in range(STEPS):
            storm.step()
        storm.end()
        assert storm.promised
        until(lambda: not machine.engines())
        assert not machine.doors() or storm.done["kill_engine"]
        assert machine.run("doctor", "--verify", VAULTMEM_ENGINE="off").returncode == 0
