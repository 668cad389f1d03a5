"""What is done with is freed at once: what a collection of garbage found in use is looked at by no later one."""

import gc
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.traffic import KINDS, Kind, Traffic
from tests.virtual_plant import Plant, play

ARMS = tuple(f"r{number}" for number in range(10))
TIMES, TRIES = 3, 3
"""What a kind leaves behind it leaves at each try; what runs the tests leaves something now and then."""


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
        left = []
        for _ in range(TRIES):
            await times(TIMES)
            left.append(found())
            if not left[-1]:
                return
        pytest.fail(f"garbage each time: {left}")

    play(tmp_path, scenario, arms=ARMS)


class Circle:
    """Holds itself."""

    def __init__(self) -> None:
        self.itself = self


@pytest.mark.usefixtures("by_count_alone")
def test_a_circle_is_found() -> None:
    Circle()
    assert found()["Circle"] == 1
