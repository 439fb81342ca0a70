"""What the variables of other memory systems say, for the dialects that speak as they do."""

from __future__ import annotations

import re
from typing import NamedTuple

from vaultmem.config import is_variable_true
from vaultmem.front.asker import environment


class DialectVariables(NamedTuple):
    user: str = ""  # $MCP_USER_ID
    session: str = ""  # $MEMORY_MCP_SESSION_ID
    keep_session: bool = False  # $MEMORY_MCP_SESSION_PERSIST
    resume_session: str = ""  # $MEMORY_SESSION_ID
    log_level: str = ""  # $MEMORY_LOG_LEVEL
    tracing: str = ""  # the level in $RUST_LOG, which may name it for a part: trusty_memory=trace


def dialect_variables() -> DialectVariables:
    tracing = re.search(
        r"(?:^|[=,])(trace|debug|info|warn|error)", environment().get("RUST_LOG", "")
    )
    return DialectVariables(
        user=environment().get("MCP_USER_ID", "").strip(),
        session=environment().get("MEMORY_MCP_SESSION_ID", "").strip(),
        keep_session=is_variable_true("MEMORY_MCP_SESSION_PERSIST"),
        resume_session=environment().get("MEMORY_SESSION_ID", "").strip(),
        log_level=environment().get("MEMORY_LOG_LEVEL", "").strip().lower(),
        tracing=tracing[1].replace("trace", "debug") if tracing else "",
    )
