"""Everything at once: a seeded schedule of kills, lost links, frozen processes, lost MQTT servers and faulty arms."""

import asyncio
import contextlib
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.campaigns.checker import Checker
from tests.campaigns.figures import Figures, play
from tests.campaigns.places import folders
from tests.campaigns.stage import Stage

TOGETHER = 25
"""So many harms meet one stage, then everything is judged."""
SOME_S = (0.05, 1.5)
FAULTS = ("delay", "hang", "lose_answer", "offline", "refuse")


async def _kill(stage: Stage) -> None:
    """The service dies and is started again."""
    stage.kill()
    stage.start()


async def _freeze(stage: Stage) -> None:
    """The service stands still for a while."""
    stage.process.signal(signal.SIGSTOP)
    await asyncio.sleep(stage.dice.uniform(*SOME_S))
    stage.process.signal(signal.SIGCONT)


async def _cut(stage: Stage) -> None:
    """The service's connections are reset."""
    if stage.proxy is not None:
        stage.proxy.cut()


async def _hold(stage: Stage) -> None:
    """What the service sends is kept back for a while."""
    if stage.proxy is not None:
        stage.proxy.forwarding.clear()
        await asyncio.sleep(stage.dice.uniform(*SOME_S))
        stage.proxy.forwarding.set()


async def _lose_server(stage: Stage) -> None:
    """The MQTT server dies with all that it had, and comes back."""
    stage.server.stop(signal.SIGKILL)
    await asyncio.sleep(stage.dice.uniform(0.0, 0.5))
    stage.server.start()


async def _fault(stage: Stage) -> None:
    """An arm behaves badly for a while."""
    fault = {"fault": stage.dice.choice(FAULTS), "for_ms": stage.dice.randint(50, 1500), "delay_ms": 100}
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(5.0):
            await stage.monitor.call(stage.dice.choice(stage.arms), "SimFault", fault)


HARMS: tuple[Callable[[Stage], Awaitable[None]], ...] = (
    _kill,
    _kill,
    _freeze,
    _cut,
    _hold,
    _lose_server,
    _fault,
    _fault,
)


async def _some(folder: Path, seed: float, harms: int, defect: str, figures: Figures) -> None:
    stage = Stage(folder, seed, defect=defect, proxied=True)
    async with stage.open():
        stage.start()
        await stage.online(1)
        async with stage.load():
            for _ in range(harms):
                await asyncio.sleep(stage.dice.uniform(*SOME_S))  # the schedule
                harm = stage.dice.choice(HARMS)
                await harm(stage)
                figures.count(harm.__name__.strip("_").replace("_", " "))
                figures.trials += 1
        async with asyncio.timeout(stage.rest_s), stage.serving():
            await _calm(stage)
        await stage.rest()
        await Checker(stage, figures, forgetful=True).judge()
        figures.expect(await stage.process.stop() == 0, "the service did not end cleanly")


async def _calm(stage: Stage) -> None:
    """No arm has a fault any longer."""
    for arm in stage.arms:
        await stage.monitor.call(arm, "SimFault", {"fault": "none"})


def run(trials: int, seed: int, defect: str = "") -> Figures:
    """So many harms; see `CAMPAIGNS`."""
    figures = Figures()
    for number, folder in folders(-(-trials // TOGETHER)):
        harms = min(TOGETHER, trials - number * TOGETHER)
        play(_some(folder, seed * 1000 + number, harms, defect, figures), figures)
    return figures
