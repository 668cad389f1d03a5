"""Hashes that find what SQLite does not: changed bytes in rows, and audit entries edited or taken out."""

import hashlib
from typing import Any

import msgspec

from broker.store.rows import ChangeRow, ChangeUpdate

AUDIT_START = bytes(32)
"""What the first audit entry follows."""

STATE_COLUMNS: tuple[str, ...] = ChangeUpdate.__struct_fields__
FIXED_COLUMNS = tuple(
    name for name in ChangeRow.__struct_fields__ if name == "n" or name not in {*STATE_COLUMNS, "starts"}
)
"""Columns of a change that never change after they were written."""

_encode = msgspec.msgpack.Encoder().encode


def row_hash(values: tuple[Any, ...]) -> bytes:
    """SHA-256 of column values in order; flags as 0 and 1."""
    return hashlib.sha256(_encode(values)).digest()


def audit_hash(n: int, prev: bytes, entry: bytes) -> bytes:
    """SHA-256 of the number (8 bytes, big-endian), the hash before, and the entry."""
    return hashlib.sha256(b"%b%b%b" % (n.to_bytes(8, "big"), prev, entry)).digest()
