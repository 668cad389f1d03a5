"""The one thread that writes."""

import sqlite3
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from broker.store.batch import Batch
from broker.store.errors import StoreError, store_error
from broker.store.statements import AuditHead, BatchWriter

T = TypeVar("T")


class Writer:
    """Runs one transaction after another on its own connection; after the first failure it refuses all others."""

    def __init__(self, connection: sqlite3.Connection, head: AuditHead) -> None:
        self._connection = connection
        self._batches = BatchWriter(connection, head)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store-writer")
        self._error: StoreError | None = None

    def describe(self, descriptions: dict[str, bytes]) -> None:
        """Say which descriptions of arms the file holds; before the first batch."""
        self._batches.descriptions.update(descriptions)

    def commit(self, batch: Batch) -> Future[None]:
        """Commit a batch; the future ends after the COMMIT, or with a StoreError."""
        return self._thread.submit(self._transact, lambda _: self._batches.write(batch))

    def run(self, work: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Run a short piece of work in a transaction of its own; fails with a StoreError."""
        return self._thread.submit(self._transact, work)

    def close(self) -> None:
        """Finish what was handed over, checkpoint, and close the connection; StoreError when that fails."""
        self._thread.shutdown(wait=True)
        try:
            if self._error is None:
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.Error as error:
            raise store_error(error) from error
        finally:
            self._connection.close()

    def _transact(self, work: Callable[[sqlite3.Connection], T]) -> T:
        if self._error is not None:
            raise self._error
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            result = work(self._connection)
            self._connection.execute("COMMIT")
        except Exception as error:
            self._error = store_error(error)
            if self._connection.in_transaction:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
            raise self._error from error
        return result
