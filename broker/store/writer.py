"""The one thread that writes."""

import sqlite3
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from time import monotonic, thread_time
from typing import Any, NamedTuple, TypeVar

from broker.store.anchor import Anchor
from broker.store.batch import Batch
from broker.store.errors import StoreError, StoreFullError, store_error
from broker.store.schema import BUSY_MS
from broker.store.statements import BatchWriter
from broker.store.tables import AuditHead

T = TypeVar("T")
W = TypeVar("W")
Keep = Callable[[Anchor], None]
"""Anchors a commit outside the file, before anybody is told of it."""


class Done(NamedTuple):
    """A commit that ended at once, and what it failed with."""

    error: StoreError | None = None

    def exception(self) -> StoreError | None:
        """See `Future.exception`."""
        return self.error


DONE = Done()


class Writer:
    """Runs one transaction after another on its own connection; after the first failure it refuses all others.

    `known` is what the file knows. On a full disk `make_room` is asked, and the transaction done again if it made some.
    """

    def __init__(
        self, connection: sqlite3.Connection, known: Anchor, keep: Keep = lambda _: None,
        make_room: Callable[[], bool] = lambda: False,
    ) -> None:  # fmt: skip
        self._make_room = make_room
        self._connection = connection
        self._batches = BatchWriter(connection)
        self._batches.commits = known.commits
        self._keep = keep
        self._store, self._epoch = known[:2]
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store-writer")
        self._error: StoreError | None = None
        self._last: Future[Any] | None = None
        self._waits_ms = BUSY_MS
        self._next: Callable[[], None] | None = None
        self.waited_s = 0.0
        """How long the last transaction waited, for the disk above all: what it took without its own CPU."""

    def begin(self, descriptions: dict[str, bytes], under_way: Iterable[int]) -> None:
        """Say which descriptions of arms, and which changes under way, the file holds; before the first batch."""
        self._batches.begin(descriptions, under_way)

    @property
    def head(self) -> AuditHead:
        """The last entry of the audit, of all that was handed over and is done."""
        return self._batches.head

    @property
    def newest(self) -> int:
        """The highest number of a job, as `head`."""
        return self._batches.newest

    @property
    def commits(self) -> int:
        """Number of the last transaction."""
        return self._batches.commits

    def commit(self, batch: Batch) -> Future[None]:
        """Commit a batch; the future ends after the COMMIT, or with a StoreError."""
        self._last = done = self._thread.submit(self._transact, self._write, batch)
        return done

    def commit_here(self, batch: Batch) -> Done | None:
        """As `commit`, on the calling thread; None where that would wait for others, or might take long."""
        if (self._last is not None and not self._last.done()) or not self._batches.is_brief(batch):
            return None
        if self._error is None and not self._begin_at_once():
            return None
        try:
            self._transact(self._write, batch)
        except StoreError as error:
            return Done(error)
        return DONE

    def _begin_at_once(self) -> bool:
        """Begin a transaction unless somebody else has the lock of the file."""
        try:
            self._wait_for_locks(0)
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error:
            return False
        return True

    def _wait_for_locks(self, milliseconds: int) -> None:
        """Wait so long at most for whoever has the lock of the file, from now on."""
        if milliseconds != self._waits_ms:
            self._connection.execute(f"PRAGMA busy_timeout = {milliseconds}").fetchall()
            self._waits_ms = milliseconds

    def run(self, work: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Run a short piece of work in a transaction of its own; fails with a StoreError."""
        done: Future[T] = self._thread.submit(self._transact, self._work, work)
        self._last = done
        return done

    def run_here(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """As `run`, on the calling thread, while nothing is handed over; a StoreError where it fails.

        What a thread made and let go of may stay with it, as free memory that nobody else gets.
        """
        return self._transact(self._work, work)

    def end(self, work: Callable[[sqlite3.Connection], None]) -> Future[None]:
        """As `run`, and write what is late: the last transaction of a clean end."""
        done = self._thread.submit(self._transact, self._end, work)
        self._last = done
        return done

    def tell_next(self, call: Callable[[], None]) -> None:
        """Call after the next transaction, once, in the thread that does it; from any thread."""
        self._next = call

    def checkpoint(self) -> None:
        """Copy the rest of the log into the file before anything else is committed."""
        self._last = self._thread.submit(self._checkpoint)

    def close(self) -> None:
        """Finish what was handed over, checkpoint, and close the connection; StoreError when that fails.

        Waits for nobody who reads: a backup may take minutes, and the log is copied by the next start, too.
        """
        self._thread.shutdown(wait=True)
        try:
            if self._error is None:
                self._wait_for_locks(0)
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.Error as error:
            raise store_error(error) from error
        finally:
            self._connection.close()

    def _write(self, batch: Batch) -> None:
        self._batches.write(batch)
        if batch.epochs:
            self._epoch = max(self._epoch, *batch.epochs)

    def _work(self, work: Callable[[sqlite3.Connection], T]) -> T:
        result = work(self._connection)
        self._batches.count()
        (self._epoch,) = self._connection.execute("SELECT epoch FROM service").fetchone()
        return result

    def _end(self, work: Callable[[sqlite3.Connection], None]) -> None:
        self._work(work)
        self._batches.write_late()

    def _checkpoint(self) -> None:
        with suppress(sqlite3.Error):  # what fails here fails again where it is told
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def _transact(self, work: Callable[[W], T], what: W) -> T:
        if self._error is not None:
            raise self._error
        begun_s = monotonic() - thread_time()
        try:
            try:
                result = self._once(work, what)
            except Exception as error:
                if not isinstance(store_error(error), StoreFullError) or not self._make_room():
                    raise
                result = self._once(work, what)
            done = self._batches
            self._keep(Anchor(self._store, self._epoch, done.commits, done.newest, done.newest, *done.head))
            self.waited_s = monotonic() - thread_time() - begun_s
            if self._next is not None:
                call, self._next = self._next, None
                call()
        except Exception as error:
            self._error = store_error(error)
            raise self._error from error
        return result

    def _once(self, work: Callable[[W], T], what: W) -> T:
        """One transaction; nothing of it happened when it fails."""
        self._batches.mark()
        try:
            if not self._connection.in_transaction:
                self._wait_for_locks(BUSY_MS)
                self._connection.execute("BEGIN IMMEDIATE")
            result = work(what)
            self._connection.execute("COMMIT")
        except Exception:
            self._batches.take_back()
            if self._connection.in_transaction:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
            raise
        return result
