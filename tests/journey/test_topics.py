"""Roots, quality of service, and requests that were retained before the service came."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journey.client import Client
from tests.journey.conftest import ClientMaker
from tests.journey.running import RunningService, settings_of
from tests.mosquitto import Mosquitto

SET = "SetTwistLinearSoftLimit"
VALUE = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.25}


@pytest.mark.parametrize("qos", [0, 1, 2])
async def test_requests_may_come_at_any_quality(connect: ClientMaker, arm: str, qos: int) -> None:
    client = await connect(f"evt/{arm}/#", f"state/{arm}/config")
    await client.send(arm, SET, {"id": "1", "params": VALUE}, qos=qos)
    assert (await client.reply("1"))["stage"] == "applied"
    event = await client.take_topic(f"evt/{arm}/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED")
    document = await client.take_topic(f"state/{arm}/config")
    assert (event.qos, document.qos) == (1, 1)


async def test_a_root_may_have_five_levels(connect: ClientMaker, start_service: ClientMaker) -> None:
    own = start_service("r1", root="plant.9/hall-2/cell_3/line/armbroker")
    client = await connect("evt/#", to=own)
    assert client.root == "plant.9/hall-2/cell_3/line/armbroker/v1"
    reply = await client.change("r1", SET, VALUE)
    event = await client.take_topic("evt/r1/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED")
    assert event.document["seq"] == reply["seq"]


@pytest.fixture
def unstarted(mosquitto: Mosquitto, tmp_path: Path) -> Iterator[RunningService]:
    """A service that was never there before and is not there yet."""
    service = RunningService(settings_of(mosquitto.url, "retained-before", tmp_path / "data", ["r1"]))
    yield service
    service.stop()


async def test_a_request_retained_before_the_service_came_is_not_carried_out(unstarted: RunningService) -> None:
    async with Client(unstarted.port, unstarted.root, "alice", "alice-before") as client:
        await client.send("r1", SET, {"id": "stale", "params": VALUE}, retain=True)
        unstarted.start()
        reply = await client.call("r1", "GetKinematicSoftLimits", {"control_mode": "CARTESIAN_JOYSTICK"})
        assert reply["rev"] == 1
        assert client.inbox == []
        await client.publish(f"req/alice/alice-before/r1/{SET}", b"", retain=True)
        await client.call("r1", "WhoAmI")
        assert client.inbox == []
