from __future__ import annotations

from pathlib import Path

from peers import CannotRun, Peer, node_environment


class Adapter(Peer):
    """Only why it is not measured: to be filled it needs the network, and what it keeps are not
    notes."""

    name = "claude-mem"

    def install(self, env: Path) -> str:
        node_environment(env, "claude-mem@13.25.3")
        raise CannotRun(
            "keeps what a model over the network made of agents' sessions, and its worker does not "
            "become ready without the network; none of its tools stores a note"
        )
