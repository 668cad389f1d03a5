"""The store as the service sees it."""

import asyncio
import os
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path

from broker.store.anchor import AnchorFile
from broker.store.archive import forget_archived, write_archives
from broker.store.checkpoints import Checkpoints
from broker.store.copies import remove_old
from broker.store.errors import StoreBrokenError, StoreError, store_error
from broker.store.group_commit import GroupCommit
from broker.store.history import Lost, check_history, kept_anchor, own_anchor
from broker.store.late import put_back
from broker.store.load import load
from broker.store.lock import DirectoryLock
from broker.store.old_plans import forget_plans
from broker.store.rename import due_in, rename_arms
from broker.store.reserve import Reserve
from broker.store.restored import accept_lost_history
from broker.store.retention import FORGET, REMOVE, RULES, steps
from broker.store.rows import Loaded, Purged
from broker.store.schema import connect, migrate
from broker.store.scrub import WHOLE_BYTES, Scrub, Surveyed, check_at_start
from broker.store.service_row import mend_service
from broker.store.statements import UNDER_WAY
from broker.store.vacuum import give_back, rewrite, shrinkable
from broker.store.writer import Writer

FILE = "store.sqlite3"
"""Name of the file in the store's directory."""
NO_RENAMES: Mapping[str, str] = {}
UNREADABLE = (StoreError, sqlite3.Error, OSError, UnicodeDecodeError)
"""What reading a file may raise that is damaged, locked or not there; the last where SQLite quotes what is no text."""
_PROBE_BYTES = 1024 * 1024
_PROBE_SHARE = 4
"""A probe takes at most this part of the reserve."""


class Store(GroupCommit):
    """One directory's store. Made by `open`; everything but the writer thread runs on the event loop's thread."""

    def __init__(
        self,
        path: Path,
        lock: DirectoryLock,
        writer: Writer,
        anchor: AnchorFile,
        reserve: Reserve,
        now: Callable[[], int],
        surveyed: Surveyed,
    ) -> None:
        super().__init__(path, writer)
        self._path = path
        self._lock = lock
        self._anchor = anchor
        self.reserve = reserve
        anchor.report = self._fail_from_thread
        self._now = now
        self._scrub = self._new_scrub()
        self._checkpoints = Checkpoints(
            path, lambda: writer.commits, writer.tell_next, self._finish_log_soon, self._fail_from_thread
        )
        self._surveyed = surveyed
        self._closed = False

    @classmethod
    def open(
        cls, directory: Path, now: Callable[[], int], *, whole_bytes: int = WHOLE_BYTES, accept_lost: bool = False,
        reserve_bytes: int = 0, renames: Mapping[str, str] = NO_RENAMES,
    ) -> "Store":  # fmt: skip
        """Lock, create or migrate, check and try the store; blocks. `now` gives µs since 1970.

        A file above `whole_bytes` is checked in part now, and as a whole in the background once the event loop runs.
        `accept_lost`: somebody decided to go on with a store that knows less than it did. See Reserve, rename_arms.

        Raises:
            StoreLockedError: another process holds the directory.
            StoreVersionError: not our file, or a newer one.
            StoreFullError: it cannot be written.
            HistoryLostError: it knows less than the anchor beside it.
            RenameRefusedError: an arm cannot go on under another name.
            StoreBrokenError: a setting or a check failed.
        """
        lock = DirectoryLock(directory)
        connection: sqlite3.Connection | None = None
        path = directory / FILE
        try:
            reserve = Reserve(directory, reserve_bytes)
            generation, lost = check_history(directory, path, accept=accept_lost)
            connection = connect(path)
            migrate(connection, path)
            shrinkable(connection, path)
            surveyed = check_at_start(connection, path, whole_bytes)
            surveyed.damages.extend([*put_back(connection), *mend_service(connection, kept_anchor(directory))])
            _write_probe(connection, directory, reserve.size)
            _follow_people(connection, lost, renames, now(), surveyed)
            own = own_anchor(connection)
            anchor = AnchorFile(directory, own, generation)
            writer = Writer(connection, own, anchor.keep, reserve.give_up)
            store = cls(path, lock, writer, anchor, reserve, now, surveyed)
        except UNREADABLE as error:
            if connection is not None:
                connection.close()
            lock.release()
            raise store_error(error, no_room=_no_room(directory)) from error
        return store

    def load(self, *, blame: bool = True) -> Loaded:
        """Begin a new epoch and read what the service needs; blocks, once, before anything is written.

        With `blame` a start after an unclean end is counted on every open change.

        Raises:
            StoreError: it cannot be read or written.
        """
        work = partial(load, surveyed=self._surveyed, blame=blame)
        loaded = self._writer.run_here(work)
        under_way = (row.n for row in loaded.open_changes if row.state in UNDER_WAY)
        self._writer.begin({row.arm: row.description for row in loaded.arms}, under_way)
        return loaded

    def renames_due(self, renames: Mapping[str, str]) -> dict[str, str]:
        """Those of `renames` that the next opening carries out; blocks.

        Raises:
            RenameRefusedError: it would be refused.
            sqlite3.Error: the file cannot be read.
        """
        return due_in(self._path, renames)

    def test_write(self) -> bool:
        """Whether the disk takes a write again, tried on a connection of its own; False for good on a broken store."""
        if isinstance(self._error, StoreBrokenError):
            return False
        try:
            connection = connect(self._path)
        except (StoreError, sqlite3.Error):
            return False
        try:
            _write_probe(connection, self._path.parent, self.reserve.size)
        except (sqlite3.Error, OSError):
            return False
        finally:
            connection.close()
        return True

    async def purge(self, now_us: int, sure_since_us: int = 0) -> Purged:
        """Remove what need not be kept any longer, in small transactions between the others, and shrink the file.

        Ages are known since `sure_since_us` only.

        Raises:
            StoreError: the store failed.
        """
        removed = dict.fromkeys(RULES, 0)
        try:
            for rule in RULES:
                for step in steps(rule, now_us, sure_since_us):
                    count = await asyncio.wrap_future(self._writer.run(step))
                    if count is None:
                        break
                    removed[rule] += count
            while await asyncio.wrap_future(self._writer.run(partial(forget_plans, now_us, sure_since_us))):
                pass
            await self.archive(now_us)
            while await asyncio.wrap_future(self._writer.run(give_back)):
                pass
            remove_old(self._path, now_us / 1e6, sure_since_us / 1e6)
        except (StoreError, OSError, sqlite3.Error) as error:
            self._fail(store_error(error))
            raise store_error(error) from error
        return Purged(forgotten=removed[FORGET], removed=removed[REMOVE])

    async def archive(self, now_us: int) -> None:
        """Put the audit of months that are over into files, and remove it here.

        Raises:
            StoreError, OSError, sqlite3.Error: something cannot be read or written.
        """
        last = await asyncio.to_thread(write_archives, self._path, now_us)
        while last is not None and await asyncio.wrap_future(self._writer.run(partial(forget_archived, last))) > 0:
            pass

    def scrub(self) -> None:
        """Check the whole file in the background, unless that is going on; damaged rows are told, pages `failed`."""
        if not self._scrub.running:
            self._scrub = self._new_scrub()
            self._scrub.start()

    def _new_scrub(self) -> Scrub:
        return Scrub(self._path, self._fail_from_thread, self._tell_from_thread)

    def close(self, *, clean: bool = True) -> None:
        """Commit what is open, call back, mark the end as clean if it is, and close; blocks; harmless when closed.

        A failed store is only closed.
        """
        if self._closed:
            return
        self._closed = True
        self._scrub.stop()
        self._checkpoints.stop()
        self._drain()
        self._stop()
        if self._error is None and clean:
            self._writer.end(partial(_mark_clean, self._now())).result()
        super().close()
        try:
            self._writer.close()
            self._anchor.close()
        except OSError as error:
            raise store_error(error) from error
        finally:
            self._lock.release()

    def _loop_runs(self) -> None:
        self._checkpoints.start()
        if not self._surveyed.whole:
            self.scrub()


def _mark_clean(now_us: int, connection: sqlite3.Connection) -> None:
    connection.execute(
        "UPDATE service SET clean = 1, last_time_us = max(last_time_us, ?1), "
        "hash = digest(one, epoch, max(last_time_us, ?1), 1, store, commits)",
        (now_us,),
    )


def _follow_people(
    connection: sqlite3.Connection, lost: Lost | None, renames: Mapping[str, str], now_us: int, surveyed: Surveyed
) -> None:
    """Go on with what was lost, and under other names, as somebody decided."""
    if lost is not None:
        accept_lost_history(connection, lost, now_us)
    rename_arms(connection, renames, now_us, surveyed.damages)


def _no_room(directory: Path) -> bool:
    """Whether the disk has no room for the least that a start writes."""
    try:
        return shutil.disk_usage(directory).free < _PROBE_BYTES
    except OSError:
        return False


def _write_probe(connection: sqlite3.Connection, directory: Path, reserve_bytes: int) -> None:
    """Write as much as a busy moment would, and one row; sqlite3.Error or OSError when that fails."""
    probe = directory / "store.probe"
    try:
        with probe.open("wb") as file:
            file.write(bytes(min(_PROBE_BYTES, reserve_bytes // _PROBE_SHARE) or _PROBE_BYTES))
            file.flush()
            os.fsync(file.fileno())
    finally:
        probe.unlink(missing_ok=True)
    connection.execute("UPDATE service SET test_writes = test_writes + 1")


def vacuum(directory: Path) -> None:
    """Write the file of a store that nobody uses anew, without gaps; it shrinks by itself from then on.

    Raises:
        StoreError: another process holds it, or it cannot be read or written.
    """
    lock = DirectoryLock(directory)
    try:
        with closing(connect(directory / FILE)) as connection:
            rewrite(connection)
    except (sqlite3.Error, OSError) as error:
        raise store_error(error) from error
    finally:
        lock.release()
