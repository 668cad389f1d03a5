import asyncio
import gc
import weakref
from collections.abc import Iterator

import pytest

from broker.garbage import (
    GROWN,
    LOOK_S,
    MANY,
    MUCH,
    QUIET_S,
    SETTLED_S,
    WORKED_S,
    Growth,
    ShortCollections,
    look_again,
)
from tests.devices.virtual_loop import VirtualLoop


class Node:
    def __init__(self) -> None:
        self.own = self


@pytest.fixture
def interpreter() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)


@pytest.mark.usefixtures("interpreter")
def test_what_a_long_collection_found_in_use_is_not_looked_at_again() -> None:
    short = ShortCollections(long_s=-1.0)
    short.begin()
    try:
        kept = [[n] for n in range(10_000)]
        lost = weakref.ref(Node())
        gc.collect()
        assert lost() is None
        looked_at = {id(each) for each in gc.get_objects()}
        assert not any(id(each) in looked_at for each in kept)
        assert len(gc.get_objects(generation=2)) < len(kept)
    finally:
        short.end()
    assert short.on_collection not in gc.callbacks


@pytest.mark.usefixtures("interpreter")
def test_after_a_short_collection_everything_is_looked_at_again() -> None:
    short = ShortCollections(long_s=3600.0)
    short.begin()
    try:
        frozen = gc.get_freeze_count()
        kept = [[n] for n in range(10_000)]
        gc.collect()
        gc.collect(0)
        assert gc.get_freeze_count() <= frozen
        assert len(gc.get_objects(generation=2)) >= len(kept)
    finally:
        short.end()


@pytest.mark.usefixtures("interpreter")
def test_no_collection_looks_at_more_than_was_made_since_the_last_few() -> None:
    """However much there was before."""
    before = [[n] for n in range(400_000)]
    gc.collect()
    looked_at: list[int] = []

    def look(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            looked_at.append(sum(len(gc.get_objects(young)) for young in range(info["generation"] + 1)))

    short = ShortCollections(long_s=-1.0)
    short.begin()
    gc.callbacks.append(look)
    try:
        kept = [[n] for n in range(300_000)]
    finally:
        gc.callbacks.remove(look)
        short.end()
    assert len(before) > len(kept) > 10 * max(looked_at)


@pytest.mark.usefixtures("interpreter")
async def test_what_gathers_while_as_much_is_freed_is_looked_at_before_it_is_much() -> None:
    short, kept = ShortCollections(), list[list[int]]()

    async def work() -> str:
        gc.disable()  # as where what is freed counts against it
        kept.extend([n] for n in range(2 * MANY))
        while len(gc.get_objects()) > MANY:  # noqa: ASYNC110 - nobody announces it
            await asyncio.sleep(LOOK_S / 10)
        return "done"

    short.begin()
    try:
        assert await asyncio.wait_for(short.around(work()), 60.0) == "done"
    finally:
        gc.enable()
        short.end()
    assert len(kept) == 2 * MANY


@pytest.mark.usefixtures("interpreter")
def test_nothing_is_counted_where_nobody_worked() -> None:
    worked_s = [0.0]
    short, seen = ShortCollections(worked=lambda: worked_s[0]), list[bool]()

    async def work() -> None:
        gc.disable()
        await asyncio.sleep(LOOK_S / 2)
        kept = [[n] for n in range(2 * MANY)]
        for _ in range(2):
            await asyncio.sleep(10 * LOOK_S)
            seen.append(len(gc.get_objects()) < len(kept))
            worked_s[0] += WORKED_S

    short.begin()
    try:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(short.around(work()))
    finally:
        gc.enable()
        short.end()
    assert seen == [False, True]


@pytest.mark.usefixtures("interpreter")
def test_what_was_in_use_is_looked_at_again_when_it_is_asked_for() -> None:
    short = ShortCollections(long_s=-1.0)
    short.begin()
    try:
        node = Node()
        kept = weakref.ref(node)
        gc.collect()  # and freezes
        del node
        gc.collect()
        assert kept() is not None
        assert look_again() > 0
        assert kept() is None
        assert not gc.get_objects(generation=2)
    finally:
        short.end()


class Process:
    """How much memory there is, and how much was made."""

    def __init__(self) -> None:
        self.used, self.made = 1_000, 0


@pytest.mark.parametrize(
    ("times", "quiet", "asks"),
    [
        (1.0, True, False),
        (GROWN, True, False),
        (GROWN + 0.1, True, True),
        (MUCH, False, False),
        (MUCH + 0.1, False, True),
    ],
)
def test_memory_that_grew_is_looked_through_when_it_is_quiet_and_if_it_is_much_in_any_case(
    times: float, quiet: bool, asks: bool
) -> None:
    process = Process()
    growth = Growth(lambda: process.used, lambda: process.made)
    process.used, process.made = int(process.used * times), 0 if quiet else 1
    assert growth.asks() is asks


def test_growth_counts_from_the_last_look_on() -> None:
    process = Process()
    growth = Growth(lambda: process.used, lambda: process.made)
    process.used = 1_600
    assert growth.asks()
    assert not growth.asks()
    process.used = 2_300
    assert not growth.asks()
    process.used = 2_500
    assert growth.asks()


def test_memory_and_what_is_made_are_those_of_this_process() -> None:
    growth = Growth()
    gc.collect(0)
    assert not growth.asks()


@pytest.mark.usefixtures("interpreter")
def test_memory_is_looked_through_while_work_goes_on() -> None:
    process, gone = Process(), list[bool]()
    short = ShortCollections(growth=lambda: Growth(lambda: process.used, lambda: process.made))

    async def work() -> None:
        node = Node()
        lost = weakref.ref(node)
        gc.freeze()
        del node
        process.used = 10_000  # a start, which is no growth
        await asyncio.sleep(SETTLED_S + 2 * QUIET_S)
        gone.append(lost() is None)
        process.used *= 2
        await asyncio.sleep(2 * QUIET_S)
        gone.append(lost() is None)

    short.begin()
    try:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(short.around(work()))
    finally:
        short.end()
    assert gone == [False, True]
