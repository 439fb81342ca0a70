from __future__ import annotations

from tests.git.conftest import clones, home

__all__ = ["clones", "home"]
