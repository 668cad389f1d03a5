"""A loop that stands still is noticed."""

import asyncio

import pytest

from broker.presence.pulse import TICK_S, Pulse
from tests.virtual_plant import run


def test_a_loop_that_runs_is_never_still() -> None:
    async def scenario() -> None:
        pulse = Pulse(asyncio.get_running_loop())
        pulse.start()
        for _ in range(100):
            await asyncio.sleep(0.17)
            assert pulse.still_s() == 0
        pulse.close()
        pulse.close()

    run(scenario)


def test_a_beat_that_is_overdue_tells_for_how_long() -> None:
    async def scenario() -> None:
        pulse = Pulse(asyncio.get_running_loop())
        pulse.start()
        await asyncio.sleep(5 * TICK_S)
        pulse.close()
        last_s = pulse.last_s
        await asyncio.sleep(30.0)
        assert pulse.still_s() == pytest.approx(asyncio.get_running_loop().time() - last_s - TICK_S)
        assert pulse.still_s() > 28

    run(scenario)


def test_it_may_be_closed_before_it_begins() -> None:
    async def scenario() -> None:
        Pulse(asyncio.get_running_loop()).close()

    run(scenario)
