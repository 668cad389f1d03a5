from collections.abc import Awaitable, Callable, Iterable
from random import Random

import pytest

from broker.store import job
from broker.store.eras import ascending, descending
from broker.store.rows import ChangeRow, EventRow, RequestRow
from broker.store.store import Store
from tests.broker.store.random_jobs import ARMS, KEYS, Jobs, filled

TOP = 2**64
COMMITS = 60
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


def test_the_pieces_of_eras_are_all_eras_in_order() -> None:
    for eras in ((0, 0), (3, 3), (2, 5000), (0, 6)):
        up, down = list(ascending(eras)), list(descending(eras))
        assert [e for first, last in up for e in range(first, last + 1)] == [*range(eras[0], eras[1] + 1)]
        assert [e for first, last in down for e in range(last, first - 1, -1)] == [*range(eras[1], eras[0] - 1, -1)]
        assert len(up) == len(down) < 16
    assert [*ascending((0, -1)), *descending((0, -1))] == []


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
    """Hundreds of steps of SQLite's machine for the newest change and the newest event."""
    steps = 0

    def step() -> int:
        nonlocal steps
        steps += 1
        return 0

    store._connection.set_progress_handler(step, 1)
    try:
        assert len(store.history(arm, 0, TOP, None, 1).changes) == 1
        assert [event.seq for event in store.events(arm, head - 1, 5, TOP).events] == [head]
    finally:
        store._connection.set_progress_handler(None, 1)
    return steps


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
