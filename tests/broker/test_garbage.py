import asyncio
import gc
import weakref
from collections.abc import Iterator

import pytest

from broker.garbage import LOOK_S, MANY, ShortCollections


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
    assert len(kept) > 10 * max(looked_at)


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
