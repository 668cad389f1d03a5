"""Kills the service at a chosen system call: the n-th write to a file, sync, or send of any of its threads."""

import asyncio
from pathlib import Path

from tests.campaigns.checker import Checker
from tests.campaigns.figures import Figures, play
from tests.campaigns.places import folders
from tests.campaigns.stage import Stage

CALLS = {"pwrite64": 900, "fdatasync": 90, "sendto": 350, "write": 60}
"""System call, and the highest number of it that is chosen."""
TOGETHER = 20
PATIENCE_S = 20.0
"""If the chosen call has not come by then, the service is killed where it stands."""


async def _some(folder: Path, seed: float, kills: int, defect: str, figures: Figures) -> None:
    stage = Stage(folder, seed, defect=defect)
    async with stage.open():
        async with stage.load():
            for _ in range(kills):
                call = stage.dice.choice(list(CALLS))
                number = 1 + int(
                    CALLS[call] ** stage.dice.random()
                )  # early ones, those of a start, as often as late ones
                stage.start(prefix=_strace(call, number))
                figures.count(f"kills at {call}", await _ended(stage))
                stage.kill()
                figures.trials += 1
            stage.start()
            await stage.online(1)
        await stage.rest()
        await Checker(stage, figures).judge()
        figures.expect(await stage.process.stop() == 0, "the service did not end cleanly")


def _strace(call: str, number: int) -> list[str]:
    inject = f"inject={call}:signal=SIGKILL:when={number}"
    return ["strace", "-f", "-qqq", "-o", "/dev/null", "-e", f"trace={call}", "-e", inject]


async def _ended(stage: Stage) -> int:
    """1 once the service died of its call, 0 when the time for it is over."""
    try:
        await asyncio.wait_for(stage.process.exit_code(), PATIENCE_S)
    except TimeoutError:
        return 0
    return 1


def run(trials: int, seed: int, defect: str = "") -> Figures:
    """So many kills; see `CAMPAIGNS`."""
    figures = Figures()
    for number, folder in folders(-(-trials // TOGETHER)):
        kills = min(TOGETHER, trials - number * TOGETHER)
        play(_some(folder, seed * 1000 + number, kills, defect, figures), figures)
    return figures
