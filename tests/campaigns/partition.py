"""The network between service and MQTT server fails: cut, refused, half open, held in one direction or in both."""

import asyncio
from pathlib import Path

from tests.campaigns.checker import Checker
from tests.campaigns.figures import Figures, play
from tests.campaigns.places import folders
from tests.campaigns.stage import Stage
from tests.tcp_proxy import TcpProxy

TOGETHER = 20
"""So many partitions meet one stage, then everything is judged."""
SHORT_S, LONG_S, LONG = (0.05, 2.0), (4.0, 12.0), 0.1
"""How long one lasts, and how many of them are long."""
KINDS = ("reset", "refused", "to the server", "from the server", "both ways", "half open")


async def _harm(stage: Stage, proxy: TcpProxy, figures: Figures) -> None:
    kind, dice = stage.dice.choice(KINDS), stage.dice
    for_s = dice.uniform(*(LONG_S if dice.random() < LONG else SHORT_S))
    if kind in ("reset", "refused"):
        proxy.refusing = kind == "refused"
        proxy.cut()
    if kind in ("to the server", "both ways", "half open"):
        proxy.forwarding.clear()
    if kind in ("from the server", "both ways"):
        proxy.answering.clear()
    await asyncio.sleep(for_s)
    proxy.refusing = False
    if kind == "half open":
        proxy.cut()  # and nothing that was kept back ever arrives
    proxy.forwarding.set()
    proxy.answering.set()
    figures.count(f"partitions {kind}")
    figures.count("seconds apart", round(for_s, 1))


async def _some(folder: Path, seed: float, harms: int, defect: str, figures: Figures) -> None:
    stage = Stage(folder, seed, defect=defect, proxied=True)
    async with stage.open():
        stage.start()
        await stage.online(1)
        if stage.proxy is None:
            raise RuntimeError("there is no proxy")
        async with stage.load():
            for _ in range(harms):
                await asyncio.sleep(stage.dice.uniform(0.2, 1.0))
                await _harm(stage, stage.proxy, figures)
                figures.trials += 1
        try:
            await stage.rest()
        except TimeoutError:
            figures.expect(False, "the service did not come to rest")
            return
        await Checker(stage, figures).judge()
        figures.expect(await stage.process.stop() == 0, "the service did not end cleanly")


def run(trials: int, seed: int, defect: str = "") -> Figures:
    """So many partitions; see `CAMPAIGNS`."""
    figures = Figures()
    for number, folder in folders(-(-trials // TOGETHER)):
        harms = min(TOGETHER, trials - number * TOGETHER)
        play(_some(folder, seed * 1000 + number, harms, defect, figures), figures)
    return figures
