"""The migration to version 9: the indexes of an arm's changes and events begin with an era (see `job`)."""

from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import msgspec

_SEAL = 8


def _opened(blob: Any) -> Any:
    """The values of a blob of a job; None of a damaged one, which stays as it is."""
    if not isinstance(blob, bytes) or blake2b(blob[:-_SEAL], digest_size=_SEAL).digest() != blob[-_SEAL:]:
        return None
    return msgspec.msgpack.decode(blob[:-_SEAL])


def _sealed(values: Any) -> bytes:
    body = msgspec.msgpack.encode(values)
    return body + blake2b(body, digest_size=_SEAL).digest()


def _accepted(blob: Any, era: int) -> Any:
    values = _opened(blob)
    return blob if values is None else _sealed([*values, era])


def _ended(blob: Any, era: int) -> Any:
    values = _opened(blob)
    if values is None or values[9] is None:
        return blob
    return _sealed([*values[:9], [*values[9], era], *values[10:]])


ERAS_FUNCTIONS: tuple[tuple[str, Callable[..., Any]], ...] = (("v9_accepted", _accepted), ("v9_ended", _ended))


def _later(given: str, column: str, blob: str) -> str:
    """What was given out of the order of the numbers gets the era of what was given before it."""
    return f"""UPDATE job SET {column} = later.era, {blob} = v9_{blob}({blob}, later.era) FROM (
            SELECT n AS number, max(n) OVER (PARTITION BY arm ORDER BY {given}, n) >> 10 AS era FROM job
            WHERE {given} > 0
        ) AS later WHERE n = later.number AND later.era <> {column}"""  # noqa: S608 - constants


ERAS_MIGRATION = (
    "ALTER TABLE job ADD COLUMN rev_era INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE job ADD COLUMN seq_era INTEGER NOT NULL DEFAULT 0",
    "DROP INDEX job_revision",
    "DROP INDEX job_event",
    """UPDATE job SET rev_era = CASE WHEN rev > 0 THEN n >> 10 ELSE 0 END,
        seq_era = CASE WHEN seq > 0 THEN n >> 10 ELSE 0 END WHERE n > 1023""",
    _later("rev", "rev_era", "accepted"),
    _later("seq", "seq_era", "ended"),
    "CREATE INDEX job_revision ON job (rev_era, arm, rev, item) WHERE rev > 0",
    "CREATE INDEX job_event ON job (seq_era, arm, seq) WHERE seq > 0",
)
