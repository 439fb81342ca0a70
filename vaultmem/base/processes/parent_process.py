"""The program that started this one. It is looked at before anything else is loaded: one that
dies while we start leaves us to another process, which would be taken for it later on."""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False  # typing itself takes a while to load, and everything begins here
if TYPE_CHECKING:
    from typing import Final

FIRST_PARENT: Final = os.getppid()
_PATIENCE: Final = 10.0  # seconds in which a client says its first word

_begun = time.monotonic()


def is_parent_gone(*, heard: bool) -> bool:
    """Whether nobody is there for whom we run; `heard` says that the client has spoken."""
    if _adopted or os.getppid() != FIRST_PARENT:
        return True
    return _perhaps_adopted and not heard and time.monotonic() - _begun > _PATIENCE


def _had_parent_gone_at_start() -> bool:
    """Whether even the first parent seen cannot be the one that started us: a process is in its
    parent's session, unless it leads one of its own."""
    try:
        session = os.getsid(0)
        return session not in (os.getpid(), os.getsid(FIRST_PARENT))
    except (AttributeError, OSError):  # no sessions here, or none of our business
        return False


def _may_parent_be_gone() -> bool:
    """In a container the first process may have started us, or may have taken us in from the same
    session. Shells that a person types into, and programs made to be first, start others as
    leaders of a group."""
    return FIRST_PARENT == 1 and os.getpgrp() != os.getpid()


_adopted = _had_parent_gone_at_start()
_perhaps_adopted = hasattr(os, "getpgrp") and _may_parent_be_gone()
