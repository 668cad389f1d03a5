"""The store as the service sees it."""

import asyncio
import os
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path

from broker.store.audit import audit_head, write_anchor
from broker.store.batch import Batch
from broker.store.errors import StoreBrokenError, StoreError, store_error
from broker.store.load import load
from broker.store.lock import DirectoryLock
from broker.store.reader import Reader
from broker.store.retention import RULES, steps
from broker.store.rows import Loaded, Purged, RequestRow
from broker.store.schema import connect, migrate
from broker.store.scrub import WHOLE_BYTES, Scrub, check_at_start
from broker.store.writer import Writer

FILE = "store.sqlite3"
"""Name of the file in the store's directory."""
_PROBE_BYTES = 1024 * 1024


class Store(Reader):
    """One directory's store. Made by `open`; everything but the writer thread runs on the event loop's thread.

    Rows go into `batch`, then `flush_soon` is called. What is read is what is committed, except that requests are found
    as soon as they are in a batch.
    """

    def __init__(self, path: Path, lock: DirectoryLock, writer: Writer, now: Callable[[], int]) -> None:
        super().__init__(path)
        self._path = path
        self._lock = lock
        self._writer = writer
        self._now = now
        self._batch = Batch()
        self._committing: Batch | None = None
        self._commit: Future[None] | None = None
        self._scheduled = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._failed: asyncio.Future[None] | None = None
        self._error: StoreError | None = None
        self._scrub = Scrub(path, self._report)
        self._unchecked = False

    @classmethod
    def open(cls, directory: Path, now: Callable[[], int], *, whole_bytes: int = WHOLE_BYTES) -> "Store":
        """Lock, create or migrate, check and try the store; blocks. `now` gives µs since 1970.

        A file above `whole_bytes` is checked in part now, and as a whole in the background
        once the event loop runs.

        Raises:
            StoreLockedError: another process holds the directory.
            StoreVersionError: not our file, or a newer one.
            StoreFullError: it cannot be written.
            StoreBrokenError: a setting or a check failed.
        """
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = DirectoryLock(directory)
        connection: sqlite3.Connection | None = None
        path = directory / FILE
        try:
            connection = connect(path)
            migrate(connection, path)
            whole = check_at_start(connection, path, whole_bytes)
            _write_probe(connection, directory)
            head = audit_head(connection)
            write_anchor(directory, head)
            store = cls(path, lock, Writer(connection, head), now)
        except (StoreError, sqlite3.Error, OSError) as error:
            if connection is not None:
                connection.close()
            lock.release()
            raise store_error(error) from error
        store._unchecked = not whole
        return store

    def load(self) -> Loaded:
        """Begin a new epoch and read what the service needs; blocks, once, before anything is written."""
        loaded = self._writer.run(load).result()
        self._writer.describe({row.arm: row.description for row in loaded.arms})
        return loaded

    @property
    def batch(self) -> Batch:
        """The open batch."""
        return self._batch

    def flush_soon(self) -> None:
        """Commit the open batch: at the end of this turn of the event loop, or when the present commit ends."""
        if self._scheduled:
            return
        self._scheduled = True
        if self._committing is None:
            self._running_loop().call_soon(self._hand_over)

    @property
    def failed(self) -> "asyncio.Future[None]":
        """Ends with the StoreError after which nothing more is committed."""
        if self._failed is None:
            self._failed = self._running_loop().create_future()
            if self._error is not None:
                self._failed.set_exception(self._error)
        return self._failed

    def known(self, user: str, conn: str, request_id: str) -> RequestRow | None:
        """The request of that name with its latest outcome, committed or not."""
        for batch in self._uncommitted():
            n = batch.request_numbers.get((user, conn, request_id))
            if n is not None:
                return self._latest(batch.requests[n])
        row = self.find(user, conn, request_id)
        return None if row is None else self._latest(row)

    def request(self, n: int) -> RequestRow | None:
        """The request of that number with its latest outcome, committed or not."""
        for batch in self._uncommitted():
            if n in batch.requests:
                return self._latest(batch.requests[n])
        row = super().request(n)
        return None if row is None else self._latest(row)

    def test_write(self) -> bool:
        """Whether the disk takes a write again, tried on a connection of its own; False for good on a broken store."""
        if isinstance(self._error, StoreBrokenError):
            return False
        try:
            connection = connect(self._path)
        except (StoreError, sqlite3.Error):
            return False
        try:
            _write_probe(connection, self._path.parent)
        except (sqlite3.Error, OSError):
            return False
        finally:
            connection.close()
        return True

    async def purge(self, now_us: int) -> Purged:
        """Remove what need not be kept any longer, in small transactions between the others, and anchor the audit.

        Raises:
            StoreError: the store failed.
        """
        removed = dict.fromkeys(("request", "event", "change"), 0)
        try:
            for rule in RULES:
                for step in steps(rule, now_us):
                    count = await asyncio.wrap_future(self._writer.run(step))
                    if count is None:
                        break
                    removed[rule.table] += count
            await asyncio.to_thread(write_anchor, self._path.parent, self.audit_head())
        except (StoreError, OSError) as error:
            self._fail(store_error(error))
            raise store_error(error) from error
        return Purged(requests=removed["request"], events=removed["event"], changes=removed["change"])

    def scrub(self) -> None:
        """Check the whole file in the background, unless that is going on; what it finds ends `failed`."""
        if not self._scrub.running:
            self._scrub = Scrub(self._path, self._report)
            self._scrub.start()

    def close(self) -> None:
        """Commit what is open, call back, mark a clean end and close; blocks. A failed store is only closed."""
        self._scrub.stop()
        while self._error is None and (self._commit is not None or self._batch.due):
            if self._commit is None:
                self._hand_over()
            else:
                self._commit.exception()
                self._ended(self._commit)
        if self._error is None:
            self._writer.run(partial(_mark_clean, self._now())).result()
            write_anchor(self._path.parent, self.audit_head())
        super().close()
        self._writer.close()
        self._lock.release()

    def _hand_over(self) -> None:
        self._scheduled = False
        if self._commit is not None or self._error is not None or not self._batch.due:
            return
        self._committing, self._batch = self._batch, Batch()
        self._commit = self._writer.commit(self._committing)
        self._commit.add_done_callback(self._tell_loop)

    def _tell_loop(self, commit: "Future[None]") -> None:
        """Runs in the writer thread."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed: close() waits for the commit itself
                self._loop.call_soon_threadsafe(self._ended, commit)

    def _ended(self, commit: "Future[None]") -> None:
        if commit is not self._commit or self._committing is None:
            return
        callbacks = self._committing.callbacks
        self._committing = self._commit = None
        error = commit.exception()
        if error is not None:
            self._fail(store_error(error))
            return
        if self._scheduled:
            self._hand_over()
        try:
            for callback in callbacks:
                callback()
        except Exception as failure:
            self._fail(StoreBrokenError(f"a callback failed: {failure!r}"))
            raise

    def _fail(self, error: StoreError) -> None:
        if self._error is None:
            self._error = error
            if self._failed is not None:
                self._failed.set_exception(error)

    def _report(self, error: StoreError) -> None:
        """Runs in the thread of the scrub."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed: the next start finds it again
                self._loop.call_soon_threadsafe(self._fail, error)

    def _uncommitted(self) -> Iterator[Batch]:
        if self._committing is not None:
            yield self._committing
        yield self._batch

    def _latest(self, row: RequestRow) -> RequestRow:
        for batch in self._uncommitted():
            row = batch.latest(row)
        return row

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            if self._unchecked:
                self.scrub()
        return self._loop


def _mark_clean(now_us: int, connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE service SET clean = 1, last_time_us = max(last_time_us, ?)", (now_us,))


def _write_probe(connection: sqlite3.Connection, directory: Path) -> None:
    """Write as much as a busy moment would, and one row; sqlite3.Error or OSError when that fails."""
    probe = directory / "store.probe"
    try:
        with probe.open("wb") as file:
            file.write(bytes(_PROBE_BYTES))
            file.flush()
            os.fsync(file.fileno())
    finally:
        probe.unlink(missing_ok=True)
    connection.execute("UPDATE service SET test_writes = test_writes + 1")
