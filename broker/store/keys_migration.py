"""The migration to version 10: keys of ids that count lie together (see `job.key_of`)."""

import sqlite3
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import msgspec

from broker.store import meta_keys
from broker.store.job import KEY, key_of, opened, sealed
from broker.store.seals import agrees, all_rows, selected
from broker.store.tables import META


def old_key_of(user: str, conn: str, request_id: str) -> int:
    """What a request was found by up to version 9: a damaged one, whose name nobody can read, still is."""
    name = f"{user}/{conn}/{request_id}".encode("utf-8", "backslashreplace")
    return int.from_bytes(blake2b(name, digest_size=8).digest(), "big") >> 1 | 1


def left_keys(connection: sqlite3.Connection) -> frozenset[int]:
    """The old keys of requests that were damaged then."""
    query = f"SELECT {selected(META)} FROM meta WHERE key = ?"  # noqa: S608 - constants
    for values in all_rows(connection, query, (meta_keys.LEFT_KEYS,)):
        if agrees(META, values):
            return frozenset(msgspec.json.decode(values[1], type=list[int]))
    return frozenset()


def _named(key: Any, blob: Any) -> Any:
    """The values of a row that is what was written, with its new key; None of one that is damaged, or has no key."""
    values = opened(blob)
    if values is None or values[KEY] != key or values[9] is None:
        return None
    values[KEY] = key_of(values[6], values[7], values[9][0])
    return values


def _key(key: Any, blob: Any) -> Any:
    values = _named(key, blob)
    return key if values is None else values[KEY]


def _accepted(key: Any, blob: Any) -> Any:
    values = _named(key, blob)
    return blob if values is None else bytes(sealed(values))


def _left(key: Any, blob: Any) -> bool:
    return _named(key, blob) is None


KEYS_FUNCTIONS: tuple[tuple[str, Callable[..., Any]], ...] = (
    ("counted_key", _key), ("counted_accepted", _accepted), ("not_counted", _left),
)  # fmt: skip

KEYS_MIGRATION = (
    "DROP INDEX job_key",
    """INSERT INTO meta SELECT 'left_keys', json_group_array(key), digest('left_keys', json_group_array(key)) FROM job
        WHERE key <> 0 AND not_counted(key, accepted) HAVING count(*)""",
    "UPDATE job SET key = counted_key(key, accepted), accepted = counted_accepted(key, accepted) WHERE key <> 0",
    "CREATE INDEX job_key ON job (key) WHERE key <> 0",
)
