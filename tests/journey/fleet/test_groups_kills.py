"""A service that is killed again and again leaves no gap among the events of the fleet, and retains right summaries."""

import asyncio
import random
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.journey.client import Client
from tests.journey.processes import ServiceProcess, online
from tests.mosquitto import Mosquitto

KILLS = 4
PATIENCE_S = 1.0
SEED = 20261201

pytestmark = pytest.mark.flaky(reruns=0)


class Lead:
    """Changes both arms at once, each request with the same id until there is a last reply."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.answered: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.stop = False

    async def work(self) -> None:
        for number in count(1):
            if self.stop:
                return
            params = {"payload_mass": number / 1_000}
            request: dict[str, Any] = {"id": f"lead-{number}", "params": params}
            while True:
                await self._client.send("@cell-4", "SetPayloadInformation", request)
                try:
                    async with asyncio.timeout(PATIENCE_S):
                        reply = await self._client.reply(request["id"])
                except TimeoutError:
                    continue
                if (reply.get("error") or {}).get("retry") != "same_id":
                    break
            self.answered.put_nowait(reply)


async def all_events(client: Client) -> list[dict[str, Any]]:
    """All events of the fleet, page by page."""
    events: list[dict[str, Any]] = []
    while True:
        after = events[-1]["seq"] if events else 0
        page = (await client.change("@all", "GetEvents", {"after_seq": after, "limit": 100}))["result"]
        events += page["events"]
        if not page["more"]:
            return events


async def test_killed_between_any_two_moments_the_fleet_tells_all_in_order(
    mosquitto: Mosquitto, tmp_path: Path
) -> None:
    chance = random.Random(SEED)  # noqa: S311 - trials that can be repeated
    service = ServiceProcess(mosquitto, tmp_path, "groupkills", ["r1", "r2"])
    text = service.config.read_text().replace('model = "gen3_7dof"\n', 'model = "gen3_7dof"\ngroups = ["cell-4"]\n')
    service.config.write_text(text)
    service.start()
    async with AsyncExitStack() as stack:
        watcher = await stack.enter_async_context(Client(mosquitto.port, service.root, "watch", "watch"))
        await watcher.subscribe("svc/#", "evt/@all/#", "state/+/fleet")
        await online(watcher, 1)
        client = await stack.enter_async_context(Client(mosquitto.port, service.root, "lead", "lead"))
        lead = Lead(client)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(lead.work())
                for epoch in range(2, KILLS + 2):
                    for _ in range(4):
                        await lead.answered.get()
                    await asyncio.sleep(chance.random() * 0.05)
                    service.kill()
                    service.start()
                    await online(watcher, epoch)
                lead.stop = True
            events = await all_events(client)
            assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
            assert [event["prev"] for event in events] == list(range(len(events))), "they are all of one topic"
            last = events[-1]["seq"]
            await watcher.take(
                lambda message: message.topic.startswith("evt/@all/") and message.document["seq"] == last
            )
            told = {event["seq"]: event for event in watcher.events("@all/")}
            assert told.keys() >= set(range(1, last))
            assert all(told[event["seq"]] == event for event in events[:-1])
            await watcher.document("state/@cell-4/fleet", lambda each: each["online"] == 2 and each["plans"] == [])
        finally:
            service.kill()
