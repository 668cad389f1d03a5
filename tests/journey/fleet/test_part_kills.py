"""A service that is killed again and again leads each overridden part back to its ground, and keeps the others."""

import asyncio
import random
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.journey.client import Client
from tests.journey.fleet.killing import kill_while
from tests.journey.processes import ServiceProcess, online
from tests.mosquitto import Mosquitto

KILLS = 5
PATIENCE_S = 1.0
SEED = 20261201
GROUND = 0.5

pytestmark = pytest.mark.flaky(reruns=0)


class Fitter:
    """Sets the limit of the speed of a joint, the same request with the same id until there is a reply."""

    def __init__(self, client: Client, joint: int, valid_for_ms: int = 0) -> None:
        self._client, self._joint, self._valid_for_ms = client, joint, valid_for_ms
        self.last = GROUND
        self.progress: asyncio.Queue[int] = asyncio.Queue()
        """Told of each change that was answered."""
        self.stop = False

    async def work(self) -> None:
        """Set another limit again and again."""
        number = 0
        while not self.stop:
            number += 1
            await self.limit(0.2 + (number % 50) / 100, number, self._valid_for_ms)
            self.progress.put_nowait(number)

    async def limit(self, limit: float, number: int, valid_for_ms: int = 0) -> None:
        """Set one, for a time if told."""
        params = {"joint": f"joint_{self._joint}", "update": {"max_velocity": limit}}
        request: dict[str, Any] = {"id": f"{self._joint}-{number}", "params": params}
        request |= {"valid_for_ms": valid_for_ms} if valid_for_ms else {}
        while True:
            await self._client.send("r1", "SetJointLimit", request)
            try:
                async with asyncio.timeout(PATIENCE_S):
                    reply = await self._client.reply(request["id"])
            except TimeoutError:
                continue
            error = reply.get("error") or {}
            if error.get("retry") == "same_id" or not reply["final"]:
                continue
            if reply["ok"]:
                self.last = limit
                return
            assert error["kind"] in ("expired", "no_room"), reply
            return


async def test_ruling_23_killed_at_any_moment_each_part_has_what_it_should_have(
    mosquitto: Mosquitto, tmp_path: Path
) -> None:
    chance = random.Random(SEED)  # noqa: S311 - trials that can be repeated
    service = ServiceProcess(mosquitto, tmp_path, "partkills", ["r1"]).start()
    async with AsyncExitStack() as stack:
        watcher = await stack.enter_async_context(Client(mosquitto.port, service.root, "watch", "watch"))
        await watcher.subscribe("svc/#", "state/r1/#")
        await online(watcher, 1)
        one, two = [
            await stack.enter_async_context(Client(mosquitto.port, service.root, name, name)) for name in ("one", "two")
        ]
        timed, lasting = Fitter(one, 1, valid_for_ms=1_000), Fitter(two, 2)
        await timed.limit(GROUND, 0)
        await kill_while(service, watcher, (timed, lasting), KILLS, chance)
        try:
            since = (await one.call("r1", "GetHistory", {"limit": 1}))["rev"]
            await watcher.document("state/r1/config", lambda each: each["rev"] >= since and not each.get("overrides"))
            limits = (await one.change("r1", "GetJointLimits"))["result"]["max_velocity"]["values"]
            assert [round(number, 6) for number in limits[:2]] == [GROUND, round(lasting.last, 6)]
            ground = await one.call("r1", "GetJointLimits", {}, view="ground")
            assert ground["result"]["max_velocity"]["values"] == limits
        finally:
            service.kill()
