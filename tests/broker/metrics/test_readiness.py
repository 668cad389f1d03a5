"""Each reason for which a service is not ready is told, and goes away."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from broker.accept.turnstile import REPLIES_MOST
from broker.metrics.readiness import BEHIND_MOST
from broker.publish.outbox import Publication
from broker.store.errors import StoreFullError
from tests.virtual_plant import Plant, play

Happening = Callable[[Plant], Awaitable[None]]


async def lost(plant: Plant) -> None:
    plant.link.lose()


async def failed(plant: Plant) -> None:
    plant.store._error = StoreFullError("no room")


async def full(plant: Plant) -> None:
    plant.store.reserve.full, plant.store.reserve._looked_s = True, float("inf")


async def doubt(plant: Plant) -> None:
    plant.service._presence._begin_to_doubt()


async def behind(plant: Plant) -> None:
    turnstile = plant.service._stage_1.turnstile
    turnstile._picking = plant.loop.call_later(3600.0, turnstile._pick)
    for number in range(BEHIND_MOST + 1):
        plant.send("r1", "GetGravityVector", user=f"u{number}")
    await plant.turn(0.1)


async def unheard(plant: Plant) -> None:
    plant.link.silent = True
    for _ in range(REPLIES_MOST):
        plant.service._outbox.send(Publication("armbroker/v1/res/u/c/x", b""))


@pytest.mark.parametrize(
    ("happening", "text"),
    [
        (lost, "it is not connected to the MQTT server"),
        (failed, "the store failed: no room"),
        (full, "the disk of the store is full: changes are refused"),
        (doubt, "it has to make sure that no other service took its place"),
        (behind, f"{BEHIND_MOST + 1} requests wait for their turn, more than {BEHIND_MOST}"),
        (unheard, f"{REPLIES_MOST} publications wait for the MQTT server: nothing is decided meanwhile"),
    ],
)
def test_reasons(tmp_path: Path, happening: Happening, text: str) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.turn(5.0)
        assert plant.service.reading.obstacles == []
        await happening(plant)
        assert plant.service.reading.obstacles == [text]
        plant.store._error = None

    play(tmp_path, scenario)
