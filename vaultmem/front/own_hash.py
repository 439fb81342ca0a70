"""A hash by the part of the standard library that is written in C: the module takes long to load."""

from __future__ import annotations

try:
    from _blake2 import blake2b as _hash
except ImportError:  # another Python
    from hashlib import blake2b as _hash


def short_hash(told: bytes) -> str:
    return _hash(told, digest_size=10).hexdigest()


def keyed_hash(key: bytes, told: bytes) -> str:
    return _hash(told, key=key, digest_size=32).hexdigest()
