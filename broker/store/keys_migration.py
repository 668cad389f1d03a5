"""The migration to version 10: keys of ids that count lie together (see `job.key_of`)."""

from collections.abc import Callable
from typing import Any

from broker.store.job import KEY, key_of, opened, sealed


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


KEYS_FUNCTIONS: tuple[tuple[str, Callable[..., Any]], ...] = (("counted_key", _key), ("counted_accepted", _accepted))

KEYS_MIGRATION = (
    "DROP INDEX job_key",
    "UPDATE job SET key = counted_key(key, accepted), accepted = counted_accepted(key, accepted) WHERE key <> 0",
    "CREATE INDEX job_key ON job (key) WHERE key <> 0",
)
