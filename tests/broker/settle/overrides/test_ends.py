"""Ends of overrides: two clocks, one timer, in slices."""

import asyncio
from typing import Any

import pytest

from broker.clock import Clock
from broker.settle.overrides.ends import LOOK_S, Ends
from tests.devices.virtual_loop import VirtualLoop

START_US = 1_800_000_000_000_000


class Watch:
    """Ends on clocks that a test holds, and what rang."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.ahead_us = 0
        self.rang: list[tuple[int, float]] = []
        self.clock = Clock(lambda: START_US + int(loop.time() * 1e6) + self.ahead_us, loop.time)
        self.clock.now_us()
        self.ends = Ends(self.clock, loop, lambda _, rev: self.rang.append((rev, round(loop.time(), 3))))

    def put(self, rev: int, after_s: float, *, rank: int = 0) -> None:
        """One that is over after so long on both clocks."""
        session: Any = None
        at_us = START_US + int((self.loop.time() + after_s) * 1e6)
        self.ends.put(session, rev, at_us, self.loop.time() + after_s, rank)


def played(scenario: Any) -> Watch:
    """Run a scenario in virtual time."""
    found: list[Watch] = []

    async def whole() -> None:
        found.append(Watch(asyncio.get_running_loop()))
        await scenario(found[0])
        found[0].ends.close()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(whole())
    return found[0]


def test_each_is_rung_for_on_both_clocks_in_its_time() -> None:
    async def scenario(watch: Watch) -> None:
        watch.put(2, 20.0)
        watch.put(1, 5.0)
        await asyncio.sleep(60.0)
        assert len(watch.ends) == 0

    assert played(scenario).rang == [(1, 5.0), (1, 5.0), (2, 20.0), (2, 20.0)]


def test_of_those_of_one_moment_the_lower_rank_is_first() -> None:
    async def scenario(watch: Watch) -> None:
        watch.put(1, 5.0, rank=1)
        watch.put(2, 5.0)
        await asyncio.sleep(6.0)

    assert [rev for rev, _ in played(scenario).rang[:2]] == [2, 1]


def test_service_time_that_is_set_forward_is_noticed_soon() -> None:
    async def scenario(watch: Watch) -> None:
        watch.put(1, 100.0)
        await asyncio.sleep(1.0)
        watch.ahead_us = 9_000_000
        await asyncio.sleep(91.5)

    ((rev, at_s),) = played(scenario).rang
    assert (rev, 91.0 <= at_s <= 91.0 + LOOK_S) == (1, True)


def test_ten_thousand_have_one_timer_which_looks_rarely() -> None:
    looks = [0]

    async def scenario(watch: Watch) -> None:
        for rev in range(10_000):
            watch.put(rev, 3_600.0 + rev)
        honest = watch.ends.look

        def look() -> None:
            looks[0] += 1
            honest()

        watch.ends.look = look  # type: ignore[method-assign]
        handles = [handle for handle in watch.loop._scheduled if not handle.cancelled()]  # type: ignore[attr-defined]
        assert len(handles) == 1
        await asyncio.sleep(600.0)

    watch = played(scenario)
    assert watch.rang == []
    assert looks[0] <= 600.0 / LOOK_S + 1


@pytest.mark.parametrize("closed", [True, False])
def test_nobody_is_rung_for_after_the_end(closed: bool) -> None:
    async def scenario(watch: Watch) -> None:
        watch.put(1, 5.0)
        if closed:
            watch.ends.close()
        else:
            await asyncio.sleep(0.0)
            watch.ends._by_time.clear()
            watch.ends._by_seconds.clear()
        await asyncio.sleep(30.0)

    assert played(scenario).rang == []
