"""Two services on one root: one is told to end before it does anything, and the other one serves on."""

import asyncio
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from armbroker.cli.exits import Exit
from tests.journey.client import Client
from tests.journey.processes import ServiceProcess, online
from tests.mosquitto import Mosquitto

SET = "SetTwistLinearSoftLimit"
VALUE = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.25}
_numbers = count()

Pair = Callable[[bool], tuple[ServiceProcess, ServiceProcess]]


@pytest.fixture
def pair(mosquitto: Mosquitto, tmp_path: Path) -> Iterator[Pair]:
    """A function that makes two services of one root on two stores: with one client id and instance, or not."""
    made: list[ServiceProcess] = []

    def make(same: bool) -> tuple[ServiceProcess, ServiceProcess]:
        name = f"two{next(_numbers)}"
        for folder in ("one", "two"):
            (tmp_path / folder).mkdir()
            made.append(ServiceProcess(mosquitto, tmp_path / folder, name, ("r1",)))
        one, two = made
        if not same:
            text = two.config.read_text().replace(f'client_id = "service-{name}"', f'client_id = "other-{name}"')
            two.config.write_text(f'instance = "other"\n{text}')
        return one, two

    yield make
    for each in made:
        each.kill()


@pytest.mark.parametrize("same", [True, False], ids=["same client id", "other client id"])
async def test_the_second_one_ends_and_no_request_is_answered_twice(pair: Pair, *, same: bool) -> None:
    one, two = pair(same)
    one.start()
    async with Client(one.port, one.root, "ann", f"ann-{next(_numbers)}") as client:
        await client.subscribe("svc/+", "evt/#")
        await online(client, 1)
        assert (await client.change("r1", SET, VALUE))["stage"] == "applied"
        two.start()
        assert await two.exit_code() == Exit.NO_SERVER
        assert "another service serves the same root" in two.log
        assert '"started"' not in two.log
        await client.change("r1", SET, {**VALUE, "twist_linear_soft_limit": 0.125})
        assert len(client.events("r1")) == 2
        assert not [message for message in client.inbox if message.topic.startswith("res/")]
        assert await one.stop() == Exit.OK


async def test_who_takes_over_ends_the_other_and_gets_the_requests(pair: Pair) -> None:
    one, two = pair(False)
    one.start()
    async with Client(one.port, one.root, "ann", f"ann-{next(_numbers)}") as client:
        await client.subscribe("svc/+")
        await online(client, 1)
        two.start(arguments=["--take-over"])
        assert await one.exit_code() == Exit.NO_SERVER
        await client.document("svc/other", lambda document: document["state"] == "online")
        assert (await client.change("r1", "GetGravityVector"))["ok"]
        one.start()
        assert await one.exit_code() == Exit.NO_SERVER
        assert await two.stop() == Exit.OK


async def test_of_two_that_start_at_once_one_stays(pair: Pair) -> None:
    one, two = pair(False)
    one.start()
    two.start()
    ends = {asyncio.create_task(each.exit_code()): each for each in (one, two)}
    done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    assert [task.result() for task in done] == [Exit.NO_SERVER]
    (stays,) = {one, two} - {ends[task] for task in done}
    async with Client(one.port, one.root, "ann", f"ann-{next(_numbers)}") as client:
        await client.subscribe("svc/+")
        await online(client, 1) if stays is one else await client.document(
            "svc/other", lambda document: document["state"] == "online"
        )
        assert (await client.change("r1", "GetGravityVector"))["ok"]
    assert await stays.stop() == Exit.OK
    await asyncio.wait(ends)


async def test_after_a_kill_the_same_store_serves_again_at_once(pair: Pair) -> None:
    one, two = pair(True)
    one.start()
    async with Client(one.port, one.root, "ann", f"ann-{next(_numbers)}") as client:
        await client.subscribe("svc/+")
        first = await client.document("svc/main", lambda document: document["state"] == "online")
        one.kill()
        await client.document("svc/main", lambda document: document["state"] == "offline")
        one.start()
        second = await client.document(
            "svc/main", lambda each: each["state"] == "online" and each["start"] != first["start"]
        )
        assert second["epoch"] == first["epoch"] + 1
        assert "waiting_for_another_service" not in one.log
        one.kill()
        await client.document("svc/main", lambda document: document["state"] == "offline")
        two.start()
        starts = (first["start"], second["start"])
        await client.document("svc/main", lambda each: each["state"] == "online" and each["start"] not in starts)
        assert "waiting_for_another_service" not in two.log
        assert await two.stop() == Exit.OK
