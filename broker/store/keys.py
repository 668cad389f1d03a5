"""The keys of requests (`job.key_of`), kept in memory: most new ones are told without a query."""

import sqlite3
from collections.abc import Iterable

from broker.store.reader import BOUNDS, DAMAGED

_ALL_KEYS = "SELECT key FROM job INDEXED BY job_key WHERE key <> 0"
MOST_KEYS = 4_000_000
"""A start reads no more keys: it would take longer than the queries that they save."""


class Keys:
    """Tells most keys that no request has, without a query: each known one sets two bits of 2 MiB.

    Of a million it takes 1 new one in 80 for one that may be known, of four million 1 in 7.
    """

    _PLACES = (1 << 21) - 1

    def __init__(self) -> None:
        self._bits = bytearray(self._PLACES + 1)

    def add(self, keys: Iterable[int]) -> None:
        """These are known from now on."""
        bits, places = self._bits, self._PLACES
        for key in keys:
            bits[key >> 4 & places] |= 1 << (key >> 1 & 7)
            bits[key >> 32 & places] |= 1 << (key >> 29 & 7)

    def maybe(self, keys: Iterable[int]) -> list[int]:
        """Those that may be known: all that are, and few others."""
        bits, places = self._bits, self._PLACES
        return [
            key
            for key in keys
            if bits[key >> 4 & places] >> (key >> 1 & 7) & 1 and bits[key >> 32 & places] >> (key >> 29 & 7) & 1
        ]


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
