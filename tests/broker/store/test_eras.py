import os
import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from typing import TypeVar

import pytest

from broker.store import job
from broker.store.errors import RowDamagedError
from broker.store.reader import Reader
from broker.store.rows import ChangeRow, EventRow, RequestRow
from broker.store.store import Store
from tests.broker.store.random_jobs import ARMS, KEYS, Jobs, filled

TOP = 2**64
Page = TypeVar("Page")
COMMITS, HOT = 60, 12_000
KNOWN, NEW, MANY, FRAME = 20_000, 36, 100, 24 + 4096
Committed = Callable[[Store], Awaitable[None]]


@pytest.fixture(params=range(6))
async def placed(
    request: pytest.FixtureRequest, reopen: Callable[[], Store], committed: Committed
) -> tuple[Store, Jobs, Random]:
    random, store = Random(request.param), reopen()  # noqa: S311 - jobs
    store.load()
    jobs = await filled(store, random, COMMITS, committed)
    assert job.era_of(jobs.n) > 3
    return store, jobs, random


def numbers(changes: Iterable[object]) -> list[int]:
    return [change.rev for change in changes]  # type: ignore[attr-defined]


async def test_the_history_is_found_whatever_the_order_of_numbers(placed: tuple[Store, Jobs, Random]) -> None:
    store, jobs, random = placed
    for arm in ARMS:
        for key in (None, *KEYS):
            of_key = [rev for rev, _, item in jobs.changes[arm] if key in (None, item)]
            for _ in range(12):
                after, before = sorted(random.sample(range(len(jobs.changes[arm]) + 2), 2))
                limit = random.randrange(1, 12)
                expected = sorted((rev for rev in of_key if after < rev < before), reverse=True)
                page = store.history(arm, after, before, key, limit)
                assert numbers(page.changes) == expected[:limit]
                assert (page.more, page.missing) == (len(expected) > limit, [])
            for after in (0, random.randrange(len(jobs.changes[arm]) + 2)):
                expected = sorted(rev for rev in of_key if rev > after)
                assert key is None or numbers(store.later(arm, after, key, 5).changes) == expected[:5]
            for before in (TOP // 4, random.randrange(1, len(jobs.changes[arm]) + 2)):
                expected = sorted((rev for rev in of_key if rev < before), reverse=True)
                assert key is None or numbers(store.firsts(arm, before, key, 5).changes) == expected[:5]
        assert store.oldest_rev(arm) == 1


async def test_events_are_found_whatever_the_order_of_numbers(placed: tuple[Store, Jobs, Random]) -> None:
    store, jobs, random = placed
    for arm in ARMS:
        seqs = [seq for seq, _ in jobs.events[arm]]
        for after in (0, len(seqs), *random.sample(seqs, 8)):
            limit = random.randrange(1, 12)
            page = store.events(arm, after, limit, TOP)
            assert [(event.seq, event.n) for event in page.events] == jobs.events[arm][after : after + limit]
            assert (page.first_seq, page.head_seq, page.missing) == (1, len(seqs), [])
            assert page.more == (len(seqs) > after + limit)


async def test_rows_stay_whole_under_another_name_and_when_they_are_shortened(
    placed: tuple[Store, Jobs, Random],
) -> None:
    store, jobs, _ = placed
    query = f"SELECT {job.SELECT} FROM job"  # noqa: S608 - constants
    rows = [job.Job(values) for values in store._connection.execute(query).fetchall()]
    assert all(row.whole for row in rows)
    assert len({row._values[job.REV_ERA] for row in rows}) > 3
    assert any(row._values[job.SEQ_ERA] > job.era_of(row.n) for row in rows)
    assert any(row._values[job.REV_ERA] > job.era_of(row.n) for row in rows)
    for row in rows:
        assert _rewritten(row.renamed("other")).whole
        if row.n not in jobs.waiting and row.change() is not None:
            left = _rewritten(row.shortened())
            assert left.whole
            assert left.past() == row.past()
    assert all(not job.Job(_moved(row, at)).whole for row in rows for at in (job.REV_ERA, job.SEQ_ERA))


def _rewritten(values: tuple[object, ...]) -> job.Job:
    *rest, n = values
    return job.Job((n, *(bytes(value) if isinstance(value, bytearray) else value for value in rest)))


def _moved(row: job.Job, at: int) -> tuple[object, ...]:
    values = [*row._values]
    values[at] ^= 1
    return tuple(values)


async def test_what_is_near_the_end_costs_the_same_however_many_eras_there_are(
    reopen: Callable[[], Store], committed: Committed
) -> None:
    store, random = reopen(), Random(1)  # noqa: S311 - jobs
    store.load()
    jobs = await filled(store, random, COMMITS, committed)
    arm, head = ARMS[0], len(jobs.events[ARMS[0]])
    few = _steps(store, arm, head)
    jobs.n += 2_000 << 10
    for commit in range(COMMITS):
        for n in random.sample(sorted(jobs.waiting), min(len(jobs.waiting), 2)):
            jobs.end(store, n)
        jobs.accept(store, random)
        jobs.n += 1024 if commit % 3 == 0 else 1
        await committed(store)
    assert job.era_of(jobs.n) > 2_000
    many = _steps(store, arm, len(jobs.events[arm]))
    assert many < 2 * few


def _steps(store: Store, arm: str, head: int) -> int:
    """Steps of SQLite's machine for the newest change and the newest event."""
    for_history, page = _steps_of(store, lambda: store.history(arm, 0, TOP, None, 1))
    assert len(page.changes) == 1
    for_events, found = _steps_of(store, lambda: store.events(arm, head - 1, 5, TOP))
    assert [event.seq for event in found.events] == [head]
    return for_history + for_events


async def test_what_an_arm_was_busy_with_long_ago_is_found_in_few_steps(
    reopen: Callable[[], Store], make_change: Callable[..., ChangeRow]
) -> None:
    """A thousand jobs an era, and none since: not all of them are looked at for the newest."""
    store = reopen()
    for n in range(1, HOT + 1):
        store.batch.add_change(make_change(n))
        if n % 1024 == 0:
            store._drain()
    for n in range(HOT + 1, HOT + 200 * 1024, 1024):
        store.batch.add_change(make_change(n, arm="arm2", rev=n))
        store._drain()
    steps, page = _steps_of(store, lambda: store.history("arm1", 0, TOP, None, 20))
    assert numbers(page.changes) == [*range(HOT, HOT - 20, -1)]
    assert steps < 5 * HOT
    for after in (HOT - 3, HOT):
        steps, page = _steps_of(store, lambda: store.history("arm1", after, TOP, "never", 20))  # noqa: B023 - at once
        assert (page.changes, page.more) == ([], False)
        assert steps < 5 * HOT


def _steps_of(store: Store, read: Callable[[], Page]) -> tuple[int, Page]:
    """Steps of SQLite's machine for a read, and what it found."""
    steps = 0

    def step() -> int:
        nonlocal steps
        steps += 1
        return 0

    store._connection.set_progress_handler(step, 1)
    try:
        page = read()
    finally:
        store._connection.set_progress_handler(None, 1)
    return steps, page


async def test_a_number_far_away_keeps_no_read_busy(
    reopen: Callable[[], Store], make_change: Callable[..., ChangeRow], make_event: Callable[..., EventRow]
) -> None:
    store = reopen()
    for rev, n in enumerate((1, 2, 2**50, 2**50 + 1), start=1):
        store.batch.add_change(make_change(n, rev=rev))
        store.batch.add_event(make_event(rev, n=n))
        store._drain()
    store._connection.set_progress_handler(lambda: 1, 20_000)  # ends what goes on
    assert numbers(store.history("arm1", 0, TOP, None, 20).changes) == [4, 3, 2, 1]
    assert numbers(store.later("arm1", 1, "gravity_vector", 20).changes) == [2, 3, 4]
    assert numbers(store.firsts("arm1", 4, "gravity_vector", 20).changes) == [3, 2, 1]
    assert [event.seq for event in store.events("arm1", 1, 20, TOP).events] == [2, 3, 4]
    assert (store.oldest_rev("arm1"), store.oldest_rev("arm2")) == (1, 0)


async def test_the_first_entry_of_a_revision_is_the_same_in_whatever_eras_there_are_others(
    reopen: Callable[[], Store], make_change: Callable[..., ChangeRow]
) -> None:
    """Acts of administration stand at the revision that they found, some of them much later."""
    store, n, first = reopen(), 0, dict[int, int]()
    for rev in range(1, 7):
        for act in range(4):
            n += 700
            store.batch.add_change(make_change(n, rev=rev, reason=str(act)))
            first.setdefault(rev, n)
            store._drain()
    for limit in range(1, 8):
        told, below, more = [], 7, True
        while more:
            page = store.firsts("arm1", below, "gravity_vector", limit)
            told += [(change.rev, change.reason) for change in page.changes]
            below, more = page.changes[-1].rev, page.more
        assert told == [(rev, "0") for rev in range(6, 0, -1)]
    assert [change.reason for change in store.history("arm1", 0, TOP, None, 20).changes] == ["3", "2", "1", "0"] * 5


async def test_an_entry_of_a_row_that_is_gone_hides_no_other(
    reopen: Callable[[], Store], make_change: Callable[..., ChangeRow], make_event: Callable[..., EventRow]
) -> None:
    store = reopen()
    for rev, n in enumerate((1, 2, 3000), start=1):
        store.batch.add_change(make_change(n, rev=rev))
        store.batch.add_event(make_event(rev, n=n))
        store._drain()
    store.close()
    _lose_row(store._path, 3000)
    with closing(Reader(store._path)) as damaged:
        page = damaged.history("arm1", 0, TOP, None, 20)
        assert (numbers(page.changes), page.missing) == ([2, 1], [3])
        events = damaged.events("arm1", 0, 20, TOP)
        assert ([event.seq for event in events.events], events.missing) == ([1, 2], [(3, 3)])


def _lose_row(path: Path, n: int) -> None:
    """Remove a job while the indexes by eras count for none, so that they keep their entries."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for before, after in ((" > 0", " > 99"), (" > 99", " > 0")):
            connection.execute("PRAGMA writable_schema = ON")
            changed = "UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE name IN ('job_revision', 'job_event')"
            connection.execute(changed, (before, after))
            connection.execute("PRAGMA writable_schema = RESET")
            connection.execute("DELETE FROM job WHERE n = ?", (n,))


async def test_events_are_read_again_after_an_error_of_the_disk(
    reopen: Callable[[], Store], make_event: Callable[..., EventRow]
) -> None:
    """Whatever became of the transaction in which they were read."""
    store = reopen()
    for seq in range(1, 2_000):
        store.batch.add_event(make_event(seq))
    store.close()
    with closing(Reader(store._path)) as reading:
        assert len(reading.events("arm1", 0, 1, TOP).events) == 1
        with _unreadable(store._path), pytest.raises(RowDamagedError):
            reading.events("arm1", 1_000, 500, TOP)
        assert len(reading.events("arm1", 1_000, 500, TOP).events) == 500


@contextmanager
def _unreadable(path: Path) -> Iterator[None]:
    """Whoever has a file open finds a directory there."""
    known = [int(link.name) for link in Path("/proc/self/fd").iterdir() if link.exists() and link.samefile(path)]
    kept = [os.dup(one) for one in known]
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        for one in known:
            os.dup2(directory, one)
        yield
    finally:
        for one, before in zip(known, kept, strict=True):
            os.dup2(before, one)
        for one in (*kept, directory):
            os.close(one)


def test_new_jobs_of_many_arms_write_few_pages(
    reopen: Callable[[], Store], make_request: Callable[..., RequestRow], make_change: Callable[..., ChangeRow]
) -> None:
    """Where many jobs are known already, and each arm has its place in what is found by arm."""
    store = reopen()
    for n in range(1, KNOWN + 1):
        _put(store, n, make_request, make_change)
        if n % 500 == 0:
            store._drain()
    store = reopen()
    store.load()
    log = store._path.with_name(f"{store._path.name}-wal")
    before = log.stat().st_size
    for n in range(KNOWN + 1, KNOWN + NEW + 1):
        _put(store, n, make_request, make_change)
    store._drain()
    pages = (log.stat().st_size - before) / FRAME
    assert pages < 1.7 * NEW  # of which one each is of the index of keys


def _put(store: Store, n: int, make_request: Callable[..., RequestRow], make_change: Callable[..., ChangeRow]) -> None:
    """A request with its change and event, arm by arm."""
    arm, rev = f"arm{n % MANY}", n // MANY + 1
    store.batch.add_request(make_request(n, arm=arm, reply_open=False))
    store.batch.add_change(make_change(n, arm=arm, rev=rev))
    event = EventRow(n=n, arm=arm, seq=rev, epoch=1, prev=rev - 1, rev=rev, at_us=n, topic="config/X", body=b"")
    store.batch.add_event(event)
