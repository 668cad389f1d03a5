"""`armbroker watch` on a running service: events of before, and those of a user or an item."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from typing import Any

from tests.journey.conftest import ClientMaker
from tests.journey.running import RunningService
from tests.links import PATIENCE_S
from tests.mosquitto import ROOT


async def watched(service: RunningService, count: int, *arguments: str) -> list[dict[str, Any]]:
    """The first events that a watch shows."""
    command = ("watch", *arguments, "--json", "--mqtt", service.settings.mqtt.url, "--root", service.settings.root)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "armbroker", *command, stdout=PIPE, stderr=PIPE, cwd=ROOT
    )
    found: list[dict[str, Any]] = []
    try:
        assert process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            while len(found) < count:
                line = json.loads(await process.stdout.readline())
                assert line["type"] == "event" or not ({"--by", "--item"} & set(arguments)) or line["name"] == "svc"
                if line["type"] == "event":
                    found.append(line["event"])
    finally:
        process.kill()
        await process.communicate()
    return found


async def test_events_of_before_come_first_and_once(service: RunningService, arm: str, connect: ClientMaker) -> None:
    alice, carl = await connect(user="alice"), await connect(user="carl")
    for user, mass in ((alice, 0.5), (carl, 0.75), (alice, 1.0)):
        await user.call(arm, "SetPayloadInformation", {"payload_mass": mass})
    await carl.call(arm, "SetGravityVector", {"x": 0, "y": 0, "z": -9.7})
    everything = await watched(service, 4, arm, "--since", "1h")
    assert [event["seq"] for event in everything] == [1, 2, 3, 4]
    by_carl = await watched(service, 2, arm, "--since", "1h", "--by", "carl")
    assert [event["seq"] for event in by_carl] == [2, 4]
    of_payload = asyncio.create_task(watched(service, 4, arm, "--since", "1h", "--item", "payload_information"))
    await alice.call(arm, "SetPayloadInformation", {"payload_mass": 1.25})
    assert [event["seq"] for event in await of_payload] == [1, 2, 3, 5]


async def test_what_cannot_be_asked_is_told(service: RunningService) -> None:
    for arguments, why in (
        (("--since", "1h"), "--since needs ARM"),
        (("r1", "--since", "soon"), "'soon' is no time"),
        (("r1", "--item", "payload"), "--item: 'payload' is no item"),
    ):
        command = ("watch", *arguments, "--mqtt", service.settings.mqtt.url)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "armbroker", *command, stdout=PIPE, stderr=PIPE, cwd=ROOT
        )
        _, told = await asyncio.wait_for(process.communicate(), PATIENCE_S)
        assert process.returncode == 2
        assert why in told.decode()
