"""What becomes of a store that goes on from an earlier time than it had reached.

Its arms went on without it: nothing that it wanted then is sent to them unless somebody confirms it, and its numbers go
on in an epoch above all that may have been told.
"""

import os
import pwd
import sqlite3
from typing import Any, NamedTuple

import msgspec

from broker.life import State
from broker.store.batch import Batch
from broker.store.history import Lost
from broker.store.meta_keys import RECIPE_FLOOR, RECIPE_TOP
from broker.store.repair import open_jobs
from broker.store.rows import ChangeUpdate
from broker.store.statements import BatchWriter
from broker.store.transaction import transaction

RESTORED_KEY = "restored/"
"""What the key of an arm begins with in the small values: the value is the newest revision that was restored."""
FENCE_KEY = "fence/"
"""The same of the highest command that others gave the arm, as far as it is known."""
EPOCHS_APART = 1_000
"""How far the epoch is raised above the highest that is known: more starts than that were hardly forgotten."""

_REVS = """SELECT arm.arm, max(arm.rev, coalesce(given.rev, 0)) FROM arm LEFT JOIN (
        SELECT arm, max(rev) AS rev FROM job WHERE rev > 0 GROUP BY arm
    ) AS given ON given.arm = arm.arm"""


class KnownFence(NamedTuple):
    """The highest (epoch, cmd_seq) of others that an arm told of, and whether it is held for that."""

    fence: tuple[int, int]
    held: bool


def operator() -> str:
    """Who runs this process, for the audit."""
    uid = os.getuid()
    try:
        return f"{pwd.getpwuid(uid).pw_name} ({uid})"
    except KeyError:
        return str(uid)


def go_on_from_here(connection: sqlite3.Connection, epoch: int, now_us: int, **entry: Any) -> int:
    """Raise the epoch above `epoch` and the file's own, hold what waits, write an audit entry; the new epoch.

    What its arms were given in the epochs that are passed over is known to be lost.
    One transaction; modes, Resets and what restores an arm are never started after a restart anyway.
    """
    (own,) = connection.execute("SELECT epoch FROM service").fetchone()
    raised: int = max(own, epoch) + EPOCHS_APART
    batch = Batch()
    for change in filter(None, (change for _, change in open_jobs(connection))):
        if change.state != State.HELD and change.verb == "set" and change.key != "control_mode":
            batch.update_change(ChangeUpdate(n=change.n, state=State.HELD, after=change.after))
    for arm, rev in connection.execute(_REVS).fetchall():
        batch.set_meta(RESTORED_KEY + arm, str(rev))
        batch.set_meta(FENCE_KEY + arm, msgspec.json.encode(KnownFence((raised, 0), held=False)).decode())
    batch.set_meta(RECIPE_FLOOR, str(_versions_given(connection) + EPOCHS_APART))
    batch.raise_epoch(raised)
    batch.audit(msgspec.json.encode({"at": now_us, **entry, "by": operator(), "epoch": raised}))
    with transaction(connection):
        batch.last_time_us = now_us
        BatchWriter(connection).write(batch)
    return raised


def _versions_given(connection: sqlite3.Connection) -> int:
    """The highest version of a recipe that the file knows of."""
    known = "SELECT max(CAST(value AS INTEGER)) FROM meta WHERE key IN (?, ?)"
    (told,) = connection.execute(known, (RECIPE_TOP, RECIPE_FLOOR)).fetchone()
    (there,) = connection.execute("SELECT max(version) FROM recipe").fetchone()
    return max(told or 0, there or 0)


def accept_lost_history(connection: sqlite3.Connection, lost: Lost, now_us: int) -> None:
    """Go on with a store that knows less than it did, because somebody said so."""
    go_on_from_here(connection, lost.epoch, now_us, decision="lost_history_accepted", reason=lost.why)
