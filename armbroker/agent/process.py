"""A process of agents: one simulated arm behind each, all of them remembered in one directory."""

import asyncio
import contextlib
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import structlog

from armbroker.agent.connection import AgentConnection, AgentLogin
from armbroker.agent.faults import Bender, Misbehaviour, obey_input
from armbroker.agent.numbers import SessionNumbers
from devices.simulated import SimulatedArm, SimulatedFleet, SimulatedStore

log = structlog.get_logger()

GOODBYE_S = 5.0
"""How long an end waits for the MQTT server to take the goodbyes."""


class AgentSettings(NamedTuple):
    """Which arms, of which model, remembered where; `faults` lets them misbehave as standard input says."""

    arms: tuple[str, ...]
    model: str
    directory: Path
    login: AgentLogin
    latency_ms: float = 25.0
    faults: bool = False


async def serve(settings: AgentSettings) -> None:
    """Run the agents until SIGTERM or SIGINT; each says goodbye.

    Raises:
        ArmError: the model is unknown, or the directory is in use.
        OSError: the directory cannot be used.
        ValueError: its session number cannot be read.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    with (
        contextlib.closing(SimulatedFleet(SimulatedStore(settings.directory))) as fleet,
        contextlib.closing(SessionNumbers(settings.directory)) as numbers,
    ):
        arms = {name: fleet.arm(name, settings.model, {"latency_ms": settings.latency_ms}) for name in settings.arms}
        try:
            await _serve(settings, arms, numbers, stop)
        finally:
            for arm in arms.values():
                await arm.close()


async def _serve(
    settings: AgentSettings, arms: Mapping[str, SimulatedArm], numbers: SessionNumbers, stop: asyncio.Event
) -> None:
    """Run the agents of these arms until `stop`."""
    benders = {name: Bender() for name in arms}
    agents = {
        name: AgentConnection(name, arm, settings.login, numbers, bend=benders[name].bend) for name, arm in arms.items()
    }
    log.info("agents_started", arms=len(agents))
    tasks = {asyncio.create_task(agent.serve(stop), name=name) for name, agent in agents.items()}
    obeying: asyncio.Task[None] | None = None
    if settings.faults:
        misbehaviour = Misbehaviour(arms, benders, lambda name, said: agents[name].say(said))
        obeying = asyncio.create_task(obey_input(misbehaviour))
    try:
        await _until(stop, tasks)
    finally:
        if obeying is not None:
            obeying.cancel()


async def _until(stop: asyncio.Event, tasks: set[asyncio.Task[None]]) -> None:
    """Wait for `stop` and the goodbyes; raises what ended an agent before."""
    stopped = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({stopped, *tasks}, return_when=asyncio.FIRST_COMPLETED)
        if stop.is_set():
            await asyncio.wait(tasks, timeout=GOODBYE_S)
    finally:
        for task in (stopped, *tasks):
            task.cancel()
        await asyncio.wait({stopped, *tasks})
    for task in tasks:
        if not task.cancelled():
            task.result()
