"""Group commit: rows gather in a batch while the one before it is written."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from operator import itemgetter
from pathlib import Path
from typing import Any

from broker.histogram import Counted, Histogram
from broker.store.batch import Batch, RequestKey
from broker.store.errors import StoreBrokenError, StoreError, store_error
from broker.store.job import KEY, key_of
from broker.store.keys import read_keys
from broker.store.plan_reader import PlanReader
from broker.store.rows import Damage, RequestRow
from broker.store.statements import made_of
from broker.store.way import Way
from broker.store.writer import Done, Writer

MANY = 256
"""Requests, changes and ends of these in a batch that is committed on the loop's thread, at most."""
QUICK_S = 0.002
"""How long commits wait on average while the disk is quick."""
SLOW_S = 0.005
"""A commit that waited longer is slow, whatever others did."""
KEEP_OFF = 16
"""So many commits after a slow one are left to the thread."""
_WEIGHT = 0.2
_KEY = itemgetter(KEY)


class Pace:
    """How long the last commits waited: an average in which newer ones count more; unknown at first, which is slow.

    Their own work is not counted: it has to be done on either thread. In the writer's thread a commit also waits for
    the event loop to let go of the interpreter: there it tells that the disk is quicker than was thought, but not that
    it is slower.
    """

    def __init__(self) -> None:
        self._usual_s = SLOW_S
        self._keep_off = 0

    def waited(self, seconds: float, *, here: bool) -> None:
        """A commit waited so long, without the way to the thread and back, if it was not done `here`."""
        if here or seconds < self._usual_s:
            self._usual_s += _WEIGHT * (seconds - self._usual_s)
        if here and seconds > SLOW_S:
            self._keep_off = KEEP_OFF
        elif self._keep_off:
            self._keep_off -= 1

    @property
    def quick(self) -> bool:
        """Whether waiting for the next commit keeps nobody else waiting for long."""
        return not self._keep_off and self._usual_s < QUICK_S


_LATER_S = 0.05
FOLD = 256
"""Commits whose times are kept before they are counted."""
DEEPEST = 3
"""So many commits on the loop's thread may follow each other without a turn of the event loop."""


class GroupCommit(PlanReader):
    """Hands batches to the writer, one at a time, and calls back on the event loop; for the loop's thread.

    Rows go into `batch`, then `flush_soon` is called. What is read is what is committed, except that requests are found
    as soon as they are in a batch.
    """

    def __init__(self, path: Path, writer: Writer) -> None:
        super().__init__(path)
        self._writer = writer
        self._keys = read_keys(self._connection)
        """Those of all requests that are handed over; None: each has to be looked for."""
        self.batch = Batch()
        """The open batch."""
        self._published: dict[str, int] = {}
        """Marks that nobody waits for."""
        self._committing: Batch | None = None
        self.way = Way(self._uncommitted, self.committed)
        """For what gives way to those who wait for a commit."""
        self._commit: Future[None] | Done | None = None
        self._scheduled = self._holding = False
        self._pace = Pace()
        self._depth = 0
        self.begin_telling: Callable[[], None] = lambda: None
        self.tell: Callable[[list[Any]], None] = lambda _: None
        self.end_telling: Callable[[], None] = lambda: None
        self.all_told: Callable[[], None] = lambda: None
        """Called around the callbacks of a commit, with what it has to tell, and after those of all that were done in
        one turn; set by the composition root."""
        self._stopped = False
        self._later: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._failed: asyncio.Future[None] | None = None
        self._error: StoreError | None = None
        self._begun_s = 0.0
        self.committed_s = 0.0
        """When the last commit ended, in seconds of the loop's clock."""
        self._commits, self._took_s = Histogram(), list[float]()
        """How long commits took; those that are not counted yet."""

    def flush_soon(self) -> None:
        """Commit the open batch: at the end of this turn of the event loop, or when the present commit ends."""
        if self._scheduled:
            return
        self._scheduled = True
        if self._committing is None and not self._holding:
            self._running_loop().call_soon(self._hand_over)

    def hold(self) -> None:
        """Hand nothing over until `release`: more is about to be put into the batch."""
        self._running_loop()
        self._holding = True

    def release(self) -> None:
        """Hand over at once what was to be committed soon."""
        self._holding = False
        if self._scheduled and self._commit is None:
            self._hand_over()

    def mark_published(self, arm: str, seq: int) -> None:
        """The MQTT server took the arm's events up to `seq`; committed within 50 ms, for all arms at once."""
        self._published[arm] = seq
        if self._later is None:
            self.flush_later()

    def flush_later(self) -> None:
        """Commit the open batch within 50 ms: for marks that nobody waits for."""
        if self._later is None:
            self._later = self._running_loop().call_later(_LATER_S, self._flush_now)

    def _flush_now(self) -> None:
        self._later = None
        self._mark()
        self.flush_soon()

    def _mark(self) -> None:
        """Put the marks that were gathered into the open batch."""
        for arm, seq in self._published.items():
            self.batch.mark_published(arm, seq)
        self._published = {}

    @property
    def settled(self) -> bool:
        """Whether everything that was put into a batch is committed; never again once the store failed."""
        return self._error is None and self._committing is None and not self.batch.due

    @property
    def commits(self) -> Counted:
        """How long commits took, from the hand-over to the writer until the loop knows of the end."""
        self._fold()
        return self._commits.counted

    def _fold(self) -> None:
        took_s, self._took_s = self._took_s, []
        self._commits.add_all(took_s)

    async def committed(self) -> None:
        """Return once everything that was put into a batch is committed; never, if that fails."""
        if self.settled:
            return
        done = asyncio.Event()
        self.batch.on_commit(done.set)
        self.flush_soon()
        await done.wait()

    @property
    def committing(self) -> bool:
        """Whether a batch is being written now."""
        return self._commit is not None

    @property
    def error(self) -> StoreError | None:
        """The error after which nothing more is committed."""
        return self._error

    @property
    def failed(self) -> "asyncio.Future[None]":
        """Ends with the StoreError after which nothing more is committed."""
        if self._failed is None or self._failed.cancelled():
            self._failed = self._running_loop().create_future()
            if self._error is not None:
                self._failed.set_exception(self._error)
        return self._failed

    def known(self, user: str, conn: str, request_id: str) -> RequestRow | None:
        """The request of that name with its latest outcome, committed or not."""
        row = self.known_uncommitted((user, conn, request_id))
        new = self._keys is not None and not self._keys.maybe((key_of(user, conn, request_id),))
        new = new and not self._is_left(user, conn, request_id)
        if row is None and not new and (row := self.find(user, conn, request_id)) is not None:
            row = self._latest(row)
        return row

    def unused(self, names: Iterable[RequestKey]) -> dict[RequestKey, int]:
        """Those of some requests that are surely none yet, committed or not, and `job.key_of` of each."""
        asked = {key_of(*name): name for name in names}
        maybe = asked if self._keys is None else self._keys.maybe(asked)
        used = self.used(maybe) if maybe else ()
        opened, committing = self.batch.request_numbers, self._committing
        under_way = {} if committing is None else committing.request_numbers
        found = {
            name: key for key, name in asked.items() if key not in used and name not in opened and name not in under_way
        }
        return {name: key for name, key in found.items() if not self._is_left(*name)} if self._left else found

    def known_uncommitted(self, key: RequestKey) -> RequestRow | None:
        """As `known`, where nothing that is committed has that name."""
        n = self.batch.request_numbers.get(key)
        if n is not None:
            return self._latest(self.batch.requests[n])
        committing = self._committing
        n = None if committing is None else committing.request_numbers.get(key)
        return None if committing is None or n is None else self._latest(committing.requests[n])

    def request(self, n: int) -> RequestRow | None:
        """The request of that number with its latest outcome, committed or not."""
        for batch in self._uncommitted():
            if n in batch.requests:
                return self._latest(batch.requests[n])
        row = super().request(n)
        return None if row is None else self._latest(row)

    def _drain(self) -> None:
        """Commit everything and call back at once; blocks."""
        self._mark()
        while self._error is None and (self._commit is not None or self.batch.due):
            if self._commit is None:
                self._hand_over()
            else:
                self._commit.exception()
                self._ended(self._commit)

    def _stop(self) -> None:
        """Commit nothing more, whatever is still called."""
        self._stopped = True
        if self._later is not None:
            self._later.cancel()

    def _hand_over(self) -> None:
        if self._commit is not None:  # what is scheduled goes when that ends
            return
        self._scheduled = False
        if self._stopped or self._error is not None or not self.batch.due:
            return
        here = self._goes_here()
        batch, self._begun_s = self.batch, self._now_s()
        try:
            batch.make_rows()
            made = batch.made = made_of(batch, self._writer.head, self._writer.newest)
        except Exception as error:  # noqa: BLE001 - whatever it was, what was decided cannot be stored
            self._fail(store_error(error))
            return
        if self._keys is not None:
            self._keys.add(map(_KEY, made.new.values()))
        self._committing, self.batch = batch, Batch()
        done = self._commit = self._writer.commit_here(batch) if here else None
        if done is not None:
            self._ended(done)
        else:
            self._commit = commit = self._writer.commit(batch)
            commit.add_done_callback(self._tell_loop)

    def _tell_loop(self, commit: "Future[None]") -> None:
        """Runs in the writer thread."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed: close() waits for the commit itself
                self._loop.call_soon_threadsafe(self._ended, commit)

    def _ended(self, commit: "Future[None] | Done") -> None:
        if commit is not self._commit or self._committing is None:
            return
        batch = self._committing
        self._committing = self._commit = None
        error = commit.exception()
        if error is not None:
            self._fail(store_error(error))
            return
        self.committed_s = self._now_s()
        self._took_s.append(self.committed_s - self._begun_s)
        if len(self._took_s) >= FOLD:
            self._fold()
        self._pace.waited(self._writer.waited_s, here=type(commit) is Done)
        try:
            self._call_back(batch)
        except Exception as failure:  # noqa: BLE001 - whatever it was, memory and store no longer agree
            broken = StoreBrokenError(f"a callback failed: {failure!r}")
            broken.__cause__ = failure
            self._fail(broken)

    def _call_back(self, batch: Batch) -> None:
        """What goes on at once comes first, and into the next batch; while that is written the others are told."""
        self._holding = True
        self._depth += 1
        for callback in batch.first_callbacks:
            callback()
        here = self._goes_here()
        if not here:
            self.release()
        self.begin_telling()
        for callback in batch.callbacks:
            callback()
        if batch.tellings:
            self.tell(batch.tellings)
        self.end_telling()
        if here:  # what it has to tell follows what this one had
            self.release()
        self._depth -= 1
        if not self._depth:
            self.all_told()

    def _goes_here(self) -> bool:
        """Whether the next batch is committed on the thread of the event loop."""
        return self._pace.quick and self._depth < DEEPEST and self.batch.few(MANY)

    def _fail(self, error: StoreError) -> None:
        if self._error is None:
            self._error = error
            if self._failed is not None and not self._failed.done():
                self._failed.set_exception(error)
                self._failed.exception()  # a run that ends before it looks has the error from elsewhere

    def _uncommitted(self) -> Iterator[Batch]:
        if self._committing is not None:
            yield self._committing
        yield self.batch

    def _latest(self, row: RequestRow) -> RequestRow:
        for batch in self._uncommitted():
            row = batch.latest(row)
        return row

    def _fail_from_thread(self, error: StoreError) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed: the next start finds it again
                self._loop.call_soon_threadsafe(self._fail, error)

    def _tell_from_thread(self, damage: Damage) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed: the next check finds it again
                self._loop.call_soon_threadsafe(self.on_damage, damage)

    def _finish_log_soon(self) -> None:
        """Runs in a thread: the loop's own hands everything to the writer."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed: the end copies the log
                self._loop.call_soon_threadsafe(self._finish_log)

    def _finish_log(self) -> None:
        if not self._stopped and self._error is None:
            self._writer.checkpoint()

    def _now_s(self) -> float:
        """The loop's clock; 0 where no event loop is met yet."""
        return 0.0 if self._loop is None else self._loop.time()

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._loop_runs()
        return self._loop

    def _loop_runs(self) -> None:
        """Called once, when the event loop is first met."""
