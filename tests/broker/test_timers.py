"""Many times on one timer of the event loop."""

import asyncio
from collections.abc import Awaitable, Callable

from broker.timers import Timers
from tests.devices.virtual_loop import VirtualLoop


def play(scenario: Callable[[Timers, list[tuple[str, float]]], Awaitable[None]]) -> list[tuple[str, float]]:
    """Run a scenario in virtual time; what was called, and when."""
    called: list[tuple[str, float]] = []

    async def whole() -> None:
        timers = Timers(asyncio.get_running_loop())
        await scenario(timers, called)
        timers.close()
        await asyncio.sleep(1000.0)

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(whole())
    return called


def note(called: list[tuple[str, float]], name: str) -> None:
    """Note a call and its time."""
    called.append((name, asyncio.get_running_loop().time()))


def test_each_is_called_when_it_is_due_in_order() -> None:
    async def scenario(timers: Timers, called: list[tuple[str, float]]) -> None:
        for name, after_s in (("b", 10.0), ("c", 10.0), ("a", 2.0), ("d", 11.0)):
            timers.put(after_s, note, called, name)
        await asyncio.sleep(10.5)
        timers.put(0.25, note, called, "e")
        await asyncio.sleep(5.0)

    assert play(scenario) == [("a", 2.0), ("b", 10.0), ("c", 10.0), ("e", 10.75), ("d", 11.0)]


def test_what_is_dropped_is_not_called_and_not_kept() -> None:
    async def scenario(timers: Timers, called: list[tuple[str, float]]) -> None:
        timers.put(20.0, note, called, "kept")
        for _ in range(1000):
            timers.drop(timers.put(10.0, note, called, "dropped"))
        assert len(timers) <= 2 * 66
        late = timers.put(1.0, note, called, "called")
        await asyncio.sleep(1.0)
        for _ in range(200):
            timers.drop(late)
        await asyncio.sleep(30.0)
        assert len(timers) == 0

    assert play(scenario) == [("called", 1.0), ("kept", 20.0)]


def test_one_that_is_called_may_put_and_drop_others() -> None:
    async def scenario(timers: Timers, called: list[tuple[str, float]]) -> None:
        last = timers.put(3.0, note, called, "never")

        def first() -> None:
            timers.drop(last)
            timers.put(0.0, note, called, "second")
            for _ in range(100):
                timers.drop(timers.put(5.0, note, called, "never"))

        timers.put(1.0, first)
        await asyncio.sleep(10.0)

    assert play(scenario) == [("second", 1.0)]


def test_after_the_end_nothing_is_called() -> None:
    async def scenario(timers: Timers, called: list[tuple[str, float]]) -> None:
        timers.put(1.0, note, called, "never")

    assert play(scenario) == []
