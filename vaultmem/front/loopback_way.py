"""The way to an engine by a port of this machine alone, where there is no socket in the file system.

Anybody on the machine can reach a port, and may get the one that an engine had before. So a file
that only its owner can read names the port and a secret, and both ends prove that they know it
before anything else is said. The secret itself never goes over the port.
"""

from __future__ import annotations

import os

from vaultmem.base.processes import lock_call
from vaultmem.front.own_hash import keyed_hash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from socket import socket

    from vaultmem.front.engine_place import EnginePlace

HOST = "127.0.0.1"
SECONDS = 10.0  # for the proof, as for a greeting
_REACH_SECONDS = 1.0
_FILE_BYTES = 200
_SECRET_BYTES = 32
_ONCE_BYTES = 32  # of hexadecimal digits, like the proofs
_PROOF_BYTES = 64


class _Unproven(OSError):
    """Whoever is at the other end does not know the secret."""


def reached(place: EnginePlace) -> socket | None:
    """None where nobody listens; OSError where it cannot be told."""
    import _socket

    port = _port_and_secret(place)[0]
    if not port or not _is_engine_alive(place):
        return None
    link = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    try:
        link.settimeout(_REACH_SECONDS)
        link.connect((HOST, port))
        link.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
        link.setblocking(False)
    except (ConnectionRefusedError, TimeoutError):
        link.close()
        return None
    except OSError:
        link.close()
        raise
    return link  # type: ignore[return-value]


def opening(place: EnginePlace, hello: bytes) -> tuple[bytes, Callable[[bytes], bytes] | None]:
    """What is said first, and what then follows the engine's first line."""
    secret = _port_and_secret(place)[1]
    mine = os.urandom(_ONCE_BYTES // 2).hex().encode()

    def after(line: bytes) -> bytes:
        theirs, _, proof = line.partition(b" ")
        if not secret or not _are_same(proof, _proof(secret, b"engine", mine, theirs)):
            raise _Unproven("whoever listens at its port is not the engine")
        return _proof(secret, b"window", mine, theirs) + b"\n" + hello

    return mine + b"\n", after


def _port_and_secret(place: EnginePlace) -> tuple[int, bytes]:
    """What the engine wrote down; nothing where it did not, or where the file is not only ours."""
    try:
        file = os.open(place.socket, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        return 0, b""
    try:
        found = os.fstat(file)
        if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & 0o077):
            raise _Unproven(f"{place.socket} is open to others")
        port, _, secret = os.read(file, _FILE_BYTES).strip().partition(b" ")
    finally:
        os.close(file)
    return (int(port), secret) if port.isdigit() else (0, b"")


def _is_engine_alive(place: EnginePlace) -> bool:
    """Its port may be somebody else's by now, and asking a closed one takes seconds on Windows."""
    held = lock_call.locked_file(place.lock)
    if held >= 0:
        os.close(held)
    return held < 0


def _proof(secret: bytes, end: bytes, *once: bytes) -> bytes:
    return keyed_hash(secret, b" ".join((end, *once))).encode()


def _are_same(one: bytes, other: bytes) -> bool:
    """In a time that says nothing of where they differ."""
    difference = len(one) ^ len(other)
    for mine, theirs in zip(one, other):  # noqa: B905 (the lengths are compared above)
        difference |= mine ^ theirs
    return difference == 0


# --- for an engine -------------------------------------------------------------------------


def listening(place: EnginePlace) -> tuple[socket, bytes]:
    """The socket, bound, and the secret that opens it."""
    import socket as sockets

    secret = os.urandom(_SECRET_BYTES // 2).hex().encode()
    door = sockets.socket(sockets.AF_INET, sockets.SOCK_STREAM)
    try:
        if alone := getattr(sockets, "SO_EXCLUSIVEADDRUSE", 0):  # Windows lets others share it
            door.setsockopt(sockets.SOL_SOCKET, alone, 1)
        door.bind((HOST, 0))
        _write_down(place, door.getsockname()[1], secret)
    except OSError:
        door.close()
        raise
    return door, secret


def _write_down(place: EnginePlace, port: int, secret: bytes) -> None:
    """At one stroke: nobody reads half of it."""
    new = f"{place.socket}.new"
    if os.path.lexists(new):
        os.unlink(new)
    file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(file, b"%d %s\n" % (port, secret))
    finally:
        os.close(file)
    os.replace(new, place.socket)


def is_owner(link: socket, secret: bytes) -> bool:
    """Whether the process at the other end could read our file; it learns that we wrote it."""
    import hmac
    import socket as sockets

    link.settimeout(SECONDS)
    link.setsockopt(sockets.IPPROTO_TCP, sockets.TCP_NODELAY, 1)
    theirs = _exactly(link, _ONCE_BYTES + 1).rstrip(b"\n")
    mine = os.urandom(_ONCE_BYTES // 2).hex().encode()
    link.sendall(mine + b" " + _proof(secret, b"engine", theirs, mine) + b"\n")
    proof = _exactly(link, _PROOF_BYTES + 1).rstrip(b"\n")
    link.settimeout(None)
    return hmac.compare_digest(proof, _proof(secret, b"window", theirs, mine))


def _exactly(link: socket, number: int) -> bytes:
    """What comes after it is somebody else's to read."""
    found = b""
    while len(found) < number:
        piece = link.recv(number - len(found))
        if not piece:
            raise _Unproven("it ended")
        found += piece
    return found
