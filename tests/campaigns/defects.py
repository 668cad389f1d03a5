"""Defects for positive controls: the service with one of its rules broken from outside, which a campaign must catch.

`python -m tests.campaigns.defects run ...` is `armbroker run ...` with the defect that `ARMBROKER_TEST_DEFECT` names.
"""

import asyncio
import os
import sqlite3
from collections.abc import Callable
from typing import Any

import msgspec

from armbroker.__main__ import main
from broker.accept.known_ids import KnownIds
from broker.accept.rates import Rates
from broker.clock import Clock
from broker.link.mqtt5_connection import Connection
from broker.plans.book import PlanBook
from broker.plans.live import Live
from broker.presence.rivals import Rivals
from broker.publish.outbox import Outbox
from broker.publish.readback import ReadBack
from broker.record.replies import Replies
from broker.settle.contact.fences import Fences
from broker.settle.overrides.returns import Returns
from broker.store import audit, history, job, late, repair, schema, scrub, seals, service_row
from broker.store.batch import Batch
from broker.store.group_commit import GroupCommit
from broker.store.writer import Writer
from handlers.overrides import stack
from handlers.plans.rows import Row

VARIABLE = "ARMBROKER_TEST_DEFECT"
_LATE_S = 2.0


def _commit_late() -> None:
    """What is told is committed only after a while."""
    honest = GroupCommit.flush_soon
    waiting: set[GroupCommit] = set()

    def commit(store: GroupCommit) -> None:
        waiting.discard(store)
        honest(store)

    def flush(store: GroupCommit) -> None:
        if store not in waiting:
            waiting.add(store)
            asyncio.get_running_loop().call_later(_LATE_S, commit, store)

    def at_once(_: Batch, callback: Callable[[], None]) -> None:
        asyncio.get_running_loop().call_soon(callback)

    def give_at_once(replies: Replies, *reply: Any) -> None:
        asyncio.get_running_loop().call_soon(replies.give, *reply)

    setattr(GroupCommit, "flush_soon", flush)  # noqa: B010 - a defect that is put in from outside
    setattr(Batch, "on_commit", at_once)  # noqa: B010 - likewise
    setattr(Replies, "give_then", give_at_once)  # noqa: B010 - likewise


def _strict_reader() -> None:
    """A message that cannot be read ends the connection, as it does with a client that is only right."""

    def give_up(connection: Connection, body: bytes, head: int, error: Exception) -> None:
        connection.abort(f"malformed packet 0x{head:02x} of {len(body)} bytes: {error}")

    setattr(Connection, "_pass_over", give_up)  # noqa: B010 - a defect that is put in from outside


def _believe_rows() -> None:
    """No row is compared with its hash."""
    setattr(seals.Sealed, "agrees", lambda *_: True)  # noqa: B010 - a defect that is put in from outside
    for module in (audit, late, repair, scrub, service_row):
        setattr(module, "agrees", lambda *_: True)  # noqa: B010 - likewise
    setattr(job, "opened", lambda blob: msgspec.msgpack.decode(blob[:-8]) if blob else None)  # noqa: B010 - likewise


def _sync_off() -> None:
    """The database is never synced."""
    pragmas = tuple((name, "OFF", 0) if name == "synchronous" else (name, *rest) for name, *rest in schema.PRAGMAS)
    setattr(schema, "PRAGMAS", pragmas)  # noqa: B010 - a defect that is put in from outside


def _believe_disk() -> None:
    """A write that the disk refused is taken for done."""

    def transact(writer: Writer, work: Callable[[], Any]) -> Any:
        connection = writer._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            result = work()
            connection.execute("COMMIT")
        except sqlite3.Error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            return None
        return result

    setattr(Writer, "_transact", transact)  # noqa: B010 - a defect that is put in from outside


def _loss_unseen() -> None:
    """A store is compared neither with its anchor nor with what arms know."""
    setattr(history, "_missing", lambda *_: "")  # noqa: B010 - a defect that is put in from outside
    setattr(Fences, "ahead", lambda *_: "")  # noqa: B010 - likewise


def _epochs_again() -> None:
    """A restored store goes on in the epochs that it had."""
    setattr(Batch, "raise_epoch", lambda *_: None)  # noqa: B010 - a defect that is put in from outside
    setattr(Fences, "go_above", lambda *_: None)  # noqa: B010 - likewise


def _clock_believed() -> None:
    """Service time is the machine's time, or the last one that was told if that is later."""

    def now_us(clock: Clock) -> int:
        clock._last_us = max(clock._last_us, clock.wall_us())
        return clock._last_us

    setattr(Clock, "now_us", now_us)  # noqa: B010 - a defect that is put in from outside
    setattr(Clock, "for_deleting", lambda clock: (clock.now_us(), 0))  # noqa: B010 - likewise


def _alone() -> None:
    """A service believes that it is the only one."""
    setattr(Rivals, "first", lambda *_: None)  # noqa: B010 - a defect that is put in from outside
    setattr(Rivals, "_has_to_end", lambda *_: False)  # noqa: B010 - likewise


def _owe_nothing() -> None:
    """Events and replies that a lost connection swallowed are not sent again."""

    def forget(outbox: Outbox) -> None:
        owed = [publication for publication in reversed(outbox._under_way) if publication.retain]
        outbox._waiting.extendleft(owed)
        outbox._under_way.clear()

    setattr(Outbox, "_put_back", forget)  # noqa: B010 - a defect that is put in from outside


def _forget_ids() -> None:
    """No request is known by its id."""
    setattr(KnownIds, "find", lambda *_: None)  # noqa: B010 - a defect that is put in from outside


def _never_read_back() -> None:
    """What is retained is compared at the start and never again: a session that is present is taken for a proof."""
    honest = ReadBack.ask

    def ask(readback: ReadBack) -> None:
        if not readback.readings:
            honest(readback)

    setattr(ReadBack, "ask", ask)  # noqa: B010 - a defect that is put in from outside


def _admit_all() -> None:
    """Nobody ever asks for too much."""
    setattr(Rates, "admits", lambda *_, **__: True)  # noqa: B010 - a defect that is put in from outside


def _return_nothing() -> None:
    """The end of an override is told, and nothing is written."""
    setattr(Returns, "begin", lambda *_: None)  # noqa: B010 - a defect that is put in from outside
    setattr(Returns, "resume", lambda *_: None)  # noqa: B010 - likewise
    setattr(stack, "cut", lambda overrides, rev, *_, honest=stack.cut: honest(overrides, rev))  # noqa: B010


def _approval_unstored() -> None:
    """Of a plan that a second person approved nothing more is stored."""
    honest = PlanBook.put

    def put(book: PlanBook, live: Live) -> None:
        if not live.plan.progress.approved_by:
            honest(book, live)

    setattr(PlanBook, "put", put)  # noqa: B010 - a defect that is put in from outside


def _rows_unstored() -> None:
    """What becomes of the rows of plans is not stored."""

    def put_row(book: PlanBook, live: Live, row: Row, **now: Any) -> Row:
        row = live.plan.change(row, **now)
        if row.final and not live.dry and not live.plan.live and live.plan.tally.final:
            book.put(live)
        return row

    setattr(PlanBook, "put_row", put_row)  # noqa: B010 - a defect that is put in from outside


DEFECTS: dict[str, Callable[[], None]] = {
    "clock_believed": _clock_believed,
    "commit_late": _commit_late,
    "never_read_back": _never_read_back,
    "admit_all": _admit_all,
    "strict_reader": _strict_reader,
    "believe_rows": _believe_rows,
    "sync_off": _sync_off,
    "believe_disk": _believe_disk,
    "epochs_again": _epochs_again,
    "loss_unseen": _loss_unseen,
    "alone": _alone,
    "forget_ids": _forget_ids,
    "owe_nothing": _owe_nothing,
    "return_nothing": _return_nothing,
    "approval_unstored": _approval_unstored,
    "rows_unstored": _rows_unstored,
}
"""Each breaks one rule, by name."""


if __name__ == "__main__":
    DEFECTS[os.environ[VARIABLE]]()
    main()
