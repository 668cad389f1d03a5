"""Kills the service at random times under load, in a fourth of the trials while it starts."""

import asyncio
from pathlib import Path

from tests.campaigns.checker import Checker
from tests.campaigns.figures import Figures, play
from tests.campaigns.places import folders
from tests.campaigns.stage import Stage

TOGETHER = 25
"""So many kills meet one store, then everything is judged."""
IN_START = 0.25
ANSWERED = 8
"""So many were answered before a kill, at most: on a slow machine, too, it has something to lose."""


async def _some(folder: Path, seed: float, kills: int, defect: str, figures: Figures) -> None:
    stage = Stage(folder, seed, defect=defect)
    async with stage.open():
        epoch = 0
        async with stage.load():
            for _ in range(kills):
                stage.start()
                if stage.dice.random() < IN_START:
                    await asyncio.sleep(stage.dice.uniform(0.3, 1.2))  # the moment of the kill
                    figures.count("kills before it was heard of")
                else:
                    epoch = await stage.online(epoch + 1)
                    await stage.answered(stage.dice.randint(0, ANSWERED))
                    await asyncio.sleep(stage.dice.uniform(0.0, 1.0))  # likewise
                stage.kill()
                figures.trials += 1
            stage.start()
            await stage.online(epoch + 1)
        await stage.rest()
        await Checker(stage, figures).judge()
        figures.expect(await stage.process.stop() == 0, "the service did not end cleanly")


def run(trials: int, seed: int, defect: str = "") -> Figures:
    """So many kills; see `CAMPAIGNS`."""
    figures = Figures()
    for number, folder in folders(-(-trials // TOGETHER)):
        kills = min(TOGETHER, trials - number * TOGETHER)
        play(_some(folder, seed * 1000 + number, kills, defect, figures), figures)
    return figures
