"""How evenly rows begin while other requests come, and which of them ahead of the rate."""

import asyncio
from pathlib import Path
from typing import Any

from handlers.plans.rows import RowState
from tests.broker.plans.test_plans import SET, twist
from tests.virtual_plant import Plant, play

RATE = 10
ARMS = tuple(f"a{number:03}" for number in range(10 * RATE))
FLEET: dict[str, Any] = {"fleet": {"rate": RATE}}


async def others_ask(plant: Plant) -> None:
    """Let somebody else ask all the time."""
    while True:
        await plant.call(ARMS[0], "GetGravityVector", user="other")
        await asyncio.sleep(0.05)


async def took_s(plant: Plant, limit: float) -> float:
    """Until every row of a plan has its end, from the moment in which it was sent; others ask meanwhile."""
    began_s = plant.loop.time()
    number = (await plant.call("@all", SET, twist(limit), wait="stored"))["plan"]
    rows = plant.service._stage_1.plans.book.plans[number].plan
    while rows.live:  # noqa: ASYNC110 - in virtual time, and nobody announces it
        await asyncio.sleep(0.05)
    assert rows.tally.shown() == {"total": len(ARMS), "applied": len(ARMS)}
    return plant.loop.time() - began_s


def test_a_tightening_of_ten_times_the_rate_is_accepted_within_10_s_and_a_loosening_takes_its_time(
    tmp_path: Path,
) -> None:
    async def scenario(plant: Plant) -> None:
        asking = asyncio.ensure_future(others_ask(plant))
        await plant.turn(2.0)
        tightened_s = await took_s(plant, 0.1)
        again_s = await took_s(plant, 0.05)
        loosened_s = await took_s(plant, 0.2)
        asking.cancel()
        assert 8.5 <= tightened_s <= 9.5
        assert 8.5 <= again_s <= 9.5
        assert 9.7 <= loosened_s <= 10.5

    play(tmp_path, scenario, arms=ARMS, **FLEET)


def test_a_tightening_overtakes_the_rows_of_a_plan_that_loosens(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for limit in (0.2, 0.15):
            await plant.call("@all", SET, twist(limit))
        await plant.turn(5.0)
        asking = asyncio.ensure_future(others_ask(plant))
        await plant.turn(1.0)
        looser = (await plant.call("@all", SET, twist(0.25), wait="stored"))["plan"]
        await plant.turn(3.0)
        assert await took_s(plant, 0.1) <= 10.0
        asking.cancel()
        plan = plant.service._stage_1.plans.book.find(looser).plan
        assert plan.counts[RowState.WAITING] + plan.counts[RowState.REFUSED] > 0.4 * len(ARMS)

    play(tmp_path, scenario, arms=ARMS, **FLEET)
