"""Hashes that find what SQLite does not: changed bytes in rows, audit entries edited or taken out; known keys."""

import hashlib
from collections.abc import Iterable, Sequence
from hashlib import sha256
from struct import pack
from typing import Any

import msgspec

AUDIT_START = bytes(32)
"""What the first audit entry follows."""

_encode = msgspec.msgpack.Encoder().encode


def digest(values: Sequence[Any]) -> int:
    """62 bits of a SHA-256 of column values in order (flags as 0 and 1), as an even number that SQLite can hold.

    Raises:
        ValueError, OverflowError, TypeError: a value is none that was ever stored.
    """
    return int.from_bytes(sha256(_encode(values)).digest()[:8], "big") >> 1 & -2


def sql_digest(*values: Any) -> int:
    """`digest` as a function of SQL."""
    return digest(values)


def sql_sha256(*values: Any) -> bytes:
    """SHA-256 of column values in order, as version 3 of the file has it in its changes, as a function of SQL."""
    return hashlib.sha256(_encode(values)).digest()


def audit_hash(n: int, prev: bytes, entry: bytes) -> bytes:
    """SHA-256 of the number (8 bytes, big-endian), the hash before, and the entry."""
    return hashlib.sha256(b"%b%b%b" % (n.to_bytes(8, "big"), prev, entry)).digest()


def audit_chain(n: int, said: bytes, entries: Sequence[bytes]) -> tuple[int, bytes]:
    """The number and `audit_hash` of the last of some entries behind the one of this number and hash."""
    count = len(entries)
    numbers = pack(f">{count}Q", *range(n + 1, n + 1 + count))
    at = 0
    for entry in entries:
        said = sha256(b"%b%b%b" % (numbers[at : at + 8], said, entry)).digest()
        at += 8
    return n + count, said


SQL_FUNCTIONS = (("digest", sql_digest), ("sha256", sql_sha256))
"""What statements of this program call, by name."""


class Keys:
    """Tells most keys that no request has, without a query: each known one sets two bits of 2 MiB.

    Of a million it takes 1 new one in 80 for one that may be known, of four million 1 in 7.
    """

    _PLACES = (1 << 21) - 1
    _SPREAD, _BITS = 0x9E37_79B9_7F4A_7C15, (1 << 64) - 1
    """Spreads keys that lie together."""

    def __init__(self) -> None:
        self._bits = bytearray(self._PLACES + 1)

    def add(self, keys: Iterable[int]) -> None:
        """These are known from now on."""
        bits, places, spread, whole = self._bits, self._PLACES, self._SPREAD, self._BITS
        for key in keys:
            at = (key ^ key >> 31) * spread & whole
            bits[at >> 43] |= 1 << (at >> 40 & 7)
            bits[at >> 19 & places] |= 1 << (at >> 16 & 7)

    def maybe(self, keys: Iterable[int]) -> list[int]:
        """Those that may be known: all that are, and few others."""
        bits, places, spread, whole = self._bits, self._PLACES, self._SPREAD, self._BITS
        return [
            key
            for key in keys
            if bits[(at := (key ^ key >> 31) * spread & whole) >> 43] >> (at >> 40 & 7) & 1
            and bits[at >> 19 & places] >> (at >> 16 & 7) & 1
        ]
