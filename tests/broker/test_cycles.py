"""What is done with is freed at once: what a collection of garbage found in use is looked at by no later one."""

import gc
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.traffic import KINDS, Kind, Traffic
from tests.virtual_plant import Plant, play

ARMS = tuple(f"r{number}" for number in range(10))
TIMES = 3


@pytest.fixture
def by_count_alone() -> Iterator[None]:
    """Nothing is freed but by its reference count."""
    gc.collect()
    gc.disable()
    yield
    gc.set_debug(0)
    gc.garbage.clear()
    gc.enable()


def found() -> Counter[str]:
    """What only a collection finds, by type."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.collect()
    types = Counter(type(each).__name__ for each in gc.garbage)
    gc.set_debug(0)
    gc.garbage.clear()
    gc.collect()
    return types


async def _changes(traffic: Traffic) -> None:
    await traffic.sets(40)


@pytest.mark.usefixtures("by_count_alone")
@pytest.mark.parametrize("kind", [_changes, *KINDS.values()], ids=["changes", *KINDS])
def test_nothing_that_happens_leaves_garbage_behind(tmp_path: Path, kind: Kind) -> None:
    async def scenario(plant: Plant) -> None:
        traffic = Traffic(plant, ARMS)

        async def times(count: int) -> None:
            for _ in range(count):
                await kind(traffic)
                traffic.forget()

        await times(2)  # what is made once leaves something behind
        found()
        await times(TIMES)
        assert found() == Counter()

    play(tmp_path, scenario, arms=ARMS)


@pytest.mark.usefixtures("by_count_alone")
def test_a_circle_is_found() -> None:
    circle: list[object] = []
    circle.append(circle)
    del circle
    assert found() == Counter({"list": 1})
