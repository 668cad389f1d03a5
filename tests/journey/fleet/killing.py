"""Kills of a service while its users make progress."""

import asyncio
import random
from collections.abc import Sequence
from typing import Protocol

from tests.journey.client import Client
from tests.journey.processes import ServiceProcess, online


class Worker(Protocol):
    """Somebody who asks without end, until told to stop."""

    progress: asyncio.Queue[int]
    stop: bool

    async def work(self) -> None:
        """Ask, and put a number into `progress` each time that something came of it."""


async def kill_while(
    service: ServiceProcess, watcher: Client, workers: Sequence[Worker], kills: int, chance: random.Random
) -> None:
    """Kill and start the service so often, each time after every worker made some progress; then stop them."""
    async with asyncio.TaskGroup() as tasks:
        for worker in workers:
            tasks.create_task(worker.work())
        for epoch in range(2, kills + 2):
            for worker in workers:
                while not worker.progress.empty():
                    worker.progress.get_nowait()
                for _ in range(3):
                    await worker.progress.get()
            await asyncio.sleep(chance.random() * 0.05)
            service.kill()
            service.start()
            await online(watcher, epoch)
        for worker in workers:
            worker.stop = True
