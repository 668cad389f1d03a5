"""A service that is killed again and again keeps every version that it answered, and gives no number twice."""

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
NAMES = ("weld", "glue")

pytestmark = pytest.mark.flaky(reruns=0)


class Cook:
    """Puts, deletes and applies recipes, the same request with the same id until there is a reply."""

    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        self._name = name
        self.answered: dict[int, str] = {}
        """The digest of each version that was answered since the last deletion."""
        self._given: set[int] = set()
        self.progress: asyncio.Queue[int] = asyncio.Queue()
        """Told of each recipe that was put and applied."""
        self.stop = False
        self.applied = ""

    async def work(self) -> None:
        number = 0
        while not self.stop:
            number += 1
            items = {"payload_information": {"payload_mass": number / 1_000}}
            made = (await self._ask("@all", "PutRecipe", {"name": self._name, "items": items}, number))["result"]
            assert made["version"] not in self._given, made
            self._given.add(made["version"])
            self.answered[made["version"]] = made["digest"]
            reply = await self._ask("r1", "ApplyRecipe", {"recipe": self._name, "version": made["version"]}, number)
            if reply["ok"]:
                self.applied = f"{self._name}@{made['version']}"
            if number % 7 == 0:
                await self._ask("@all", "DeleteRecipe", {"name": self._name}, number)
                self.answered = {}
            self.progress.put_nowait(number)

    async def _ask(self, arm: str, method: str, params: dict[str, Any], number: int) -> dict[str, Any]:
        request: dict[str, Any] = {"id": f"{self._name}-{method}-{number}", "params": params}
        while True:
            await self._client.send(arm, method, request)
            try:
                async with asyncio.timeout(PATIENCE_S):
                    reply = await self._client.reply(request["id"])
            except TimeoutError:
                continue
            error = reply.get("error") or {}
            if error.get("retry") != "same_id" and reply["final"]:
                return reply


def label(config: dict[str, Any]) -> str:
    """The recipe that a config document names."""
    recipe = config.get("recipe")
    return "" if recipe is None else f"{recipe['name']}@{recipe['version']}"


async def test_killed_between_any_two_moments_it_loses_no_version_and_gives_no_number_twice(
    mosquitto: Mosquitto, tmp_path: Path
) -> None:
    chance = random.Random(SEED)  # noqa: S311 - trials that can be repeated
    service = ServiceProcess(mosquitto, tmp_path, "recipekills", ["r1"]).start()
    async with AsyncExitStack() as stack:
        watcher = await stack.enter_async_context(Client(mosquitto.port, service.root, "watch", "watch"))
        await watcher.subscribe("svc/#", "state/r1/#")
        await online(watcher, 1)
        clients = [await stack.enter_async_context(Client(mosquitto.port, service.root, name, name)) for name in NAMES]
        cooks = [Cook(client, name) for client, name in zip(clients, NAMES, strict=True)]
        await kill_while(service, watcher, cooks, KILLS, chance)
        try:
            for cook, name in zip(cooks, NAMES, strict=True):
                for version, digest in cook.answered.items():
                    found = await clients[0].call("@all", "GetRecipe", {"name": name, "version": version})
                    assert found["ok"], (found, name, version)
                    assert found["result"]["digest"] == digest
            page = (await clients[0].change("@all", "ListRecipes"))["result"]["recipes"]
            held = {f"{one['name']}@{one['version']}" for one in page if one["arms"]}
            lasts = {cook.applied for cook in cooks}
            assert len(held) <= 1
            assert held <= lasts
            document = await watcher.document("state/r1/config", lambda each: label(each) in (held or lasts))
            assert document["recipe"]["drift"] == []
        finally:
            service.kill()
