"""Users that may not read every arm, and monitors that send no requests: what the service itself does with them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journey.conftest import ClientMaker
from tests.journey.running import RunningService, settings_of
from tests.mosquitto import Mosquitto

CLIENTS = {
    "*": {"reads": ["r1"], "rights": []},
    "ann": {"reads": ["r1", "r2"]},
    "wall": {"reads": ["*"], "requests": False},
}


@pytest.fixture
def small(mosquitto: Mosquitto, tmp_path: Path) -> Iterator[RunningService]:
    """A service of two arms."""
    running = RunningService(settings_of(mosquitto.url, "reading", tmp_path, ["r1", "r2"], clients=CLIENTS)).start()
    yield running
    running.stop()


async def test_who_may_not_read_an_arm_is_told_so(small: RunningService, connect: ClientMaker) -> None:
    expected = {
        ("eve", "r1"): "",
        ("eve", "r2"): "user eve may not read r2, by the settings. Nothing was changed.",
        ("ann", "r2"): "",
        ("wall", "r1"): "user wall sends no requests, by the settings. Nothing was changed.",
    }
    for (user, arm), why in expected.items():
        client = await connect(user=user, to=small)
        for method, params in (("GetGravityVector", {}), ("GetHistory", {"limit": 3}), ("GetEvents", {"after_seq": 0})):
            reply = await client.call(arm, method, params)
            assert reply.get("error", {}).get("message", "") == why, (user, arm, method)
