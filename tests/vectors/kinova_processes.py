"""Runs a Kinova case whose arms are processes of their own: real workers, fake arms, a whole service."""

import contextlib
import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec

from schema.items import ITEMS
from tests.devices.kortex.plant import ArmProcess, workers_of
from tests.journey.client import Client
from tests.journey.running import RunningService, settings_of
from tests.mosquitto import Mosquitto
from tests.vectors.kinova_records import record_of

Case = dict[str, Any]


@contextlib.asynccontextmanager
async def stage(case: Case, arms: list[str]) -> AsyncIterator[tuple[Client, dict[str, ArmProcess]]]:
    """A service of Kinova arms under control, and a client that hears every event."""
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as stack:
        folder = Path(place)
        server = Mosquitto(folder).start()
        stack.callback(server.stop)
        fakes = {arm: ArmProcess(folder / arm, case["model"]).start() for arm in arms}
        for fake in fakes.values():
            stack.callback(fake.kill)
        settings = settings_of(server.url, "processes", folder / "data", arms)
        kortex = tuple(
            msgspec.structs.replace(
                arm,
                adapter="kortex",
                model=case["model"],
                authority="control",
                options=fakes[arm.id].options(folder / f"{arm.id}.password"),
            )
            for arm in settings.arm
        )
        service = RunningService(msgspec.structs.replace(settings, arm=kortex)).start()
        stack.callback(service.stop)
        async with Client(server.port, service.root, "alice", "alice-1") as client:
            await client.subscribe("evt/#", "state/+/presence")
            for arm in arms:
                await client.document(f"state/{arm}/presence", lambda document: document["state"] == "online")
            yield client, fakes


async def run(case: Case, arms: list[str]) -> tuple[dict[str, list[Case]], int]:
    """Take the steps of a case of events; the events by arm, and how many worker processes there were.

    Before each step the arm tells something that cannot be read, which must not end the link.
    """
    async with stage(case, arms) as (client, fakes):
        for step in case["steps"]:
            fakes[step["arm"]].tell("bad_event")
            for item, value in step["reads"].items():
                fakes[step["arm"]].change(item, record_of(value, ITEMS[item].record))
        for step in case["steps"]:
            topic = f"evt/{step['arm']}/config/{step['notify']['event']}"
            client.inbox.append(await client.take_topic(topic))
        return {arm: client.events(f"{arm}/") for arm in arms}, len(workers_of(os.getpid()))
