"""Reads the keys of all requests (`job.key_of`) at a start: most new ones are told without a query from then on."""

import sqlite3

from broker.store.digest import Keys
from broker.store.reader import BOUNDS, DAMAGED

_ALL_KEYS = "SELECT key FROM job INDEXED BY job_key WHERE key <> 0"
MOST_KEYS = 4_000_000
"""A start reads no more keys: it would take longer than the queries that they save."""


def read_keys(connection: sqlite3.Connection) -> Keys | None:
    """All keys of requests; None where there are too many, or they cannot be read."""
    known = Keys()
    try:
        low, high = connection.execute(BOUNDS).fetchone()
        if high - low >= MOST_KEYS:
            return None
        known.add(key for (key,) in connection.execute(_ALL_KEYS))
    except (*DAMAGED, TypeError):  # the last where a damaged key is no number
        return None
    return known
