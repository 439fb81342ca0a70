"""The way to an engine by a socket in the file system, in a folder that is its owner's alone."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from socket import socket

    from vaultmem.front.engine_place import EnginePlace

_MAC_OWN_LEVEL, _MAC_PEER = 0, 1  # SOL_LOCAL, LOCAL_PEERCRED
_PEER_BYTES = 128


def reached(place: EnginePlace) -> socket | None:
    """None where nobody listens; OSError where it cannot be told."""
    import _socket

    link = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        link.setblocking(False)
        link.connect(place.socket)
    except (FileNotFoundError, ConnectionRefusedError, BlockingIOError):
        link.close()
        return None
    except OSError:
        link.close()
        raise
    return link  # type: ignore[return-value]


def opening(place: EnginePlace, hello: bytes) -> tuple[bytes, Callable[[bytes], bytes] | None]:
    """What is said first, and what then follows the engine's first line; here nothing does."""
    return hello, None


# --- for an engine -------------------------------------------------------------------------


def listening(place: EnginePlace) -> tuple[socket, bytes]:
    """The socket, bound, and the secret that opens it; here the folder is enough of one."""
    import socket as sockets

    door = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
    try:
        door.bind(place.socket)
        os.chmod(place.socket, 0o600)
    except OSError:
        door.close()
        raise
    return door, b""


def is_owner(link: socket, secret: bytes) -> bool:
    """Whether the process at the other end is of our own user."""
    import socket as sockets

    if hasattr(sockets, "SO_PEERCRED"):
        raw = link.getsockopt(sockets.SOL_SOCKET, sockets.SO_PEERCRED, 12)  # pid, uid, gid
        return int.from_bytes(raw[4:8], sys.byteorder) == os.getuid()
    if sys.platform == "darwin":
        raw = link.getsockopt(_MAC_OWN_LEVEL, _MAC_PEER, _PEER_BYTES)  # version, uid, groups
        return int.from_bytes(raw[4:8], sys.byteorder) == os.getuid()
    return True  # the folder is the user's alone
