"""Lets the disk of the store fail: an I/O error once, or no room for a while, at the n-th write or sync.

After an error the service has to end by itself and to be started again, as a supervisor does; while the disk is full it
goes on, and writes when there is room again. What was answered is judged in the end.
"""

import asyncio
from pathlib import Path

from broker.store.store import FILE
from tests.campaigns.checker import Checker
from tests.campaigns.figures import Figures, play
from tests.campaigns.places import folders
from tests.campaigns.stage import Stage

CALLS = {"pwrite64": 500, "fdatasync": 60}
"""System call, and the highest number of it that is chosen."""
TOGETHER = 20
LIFE_S, ANSWERED = 6.0, 20
"""How long a service lives whose disk was full, or whose chosen call has not come: that has answered so much, too."""
FULL = 40
"""So many writes in a row meet a full disk."""


async def _some(folder: Path, seed: float, trials: int, defect: str, figures: Figures) -> None:
    stage = Stage(folder, seed, defect=defect)
    stage.process.data.mkdir()
    async with stage.open():
        stage.start()
        await stage.online(1)
        await stage.process.stop()
        async with stage.load():
            for _ in range(trials):
                full = stage.dice.random() < 0.3
                call = "pwrite64" if full else stage.dice.choice(list(CALLS))
                number = 1 + int(CALLS[call] ** stage.dice.random())
                stage.start(prefix=_strace(stage.process.data, call, number, full=full))
                figures.count(await _ended(stage, full=full))
                stage.kill()
                figures.trials += 1
            stage.start()
            await stage.online(1)
        await stage.rest()
        await Checker(stage, figures).judge()
        figures.expect(await stage.process.stop() == 0, "the service did not end cleanly")


def _strace(data: Path, call: str, number: int, *, full: bool) -> list[str]:
    when = f"error=ENOSPC:when={number}..{number + FULL}" if full else f"error=EIO:when={number}"
    files = [word for name in (FILE, f"{FILE}-wal") for word in ("-P", str(data / name))]
    return ["strace", "-f", "-qqq", "-o", "/dev/null", *files, "-e", f"trace={call}", "-e", f"inject={call}:{when}"]


async def _ended(stage: Stage, *, full: bool) -> str:
    """How the service took it; a run after a full disk shortens the arms' journal, so that it is read meanwhile."""
    ended = asyncio.create_task(stage.process.exit_code())
    loop, before = asyncio.get_running_loop(), stage.answers
    over, at_last = loop.time() + LIFE_S, loop.time() + stage.rest_s / 4
    while not ended.done() and loop.time() < (over if full or stage.answers >= before + ANSWERED else at_last):
        stage.taken()
        await asyncio.wait({ended}, timeout=0.02)
    if ended.done():
        return f"ended with {ended.result()}"
    ended.cancel()
    return "went on, full" if full else "went on"


def run(trials: int, seed: int, defect: str = "") -> Figures:
    """So many failures; see `CAMPAIGNS`."""
    figures = Figures()
    for number, folder in folders(-(-trials // TOGETHER)):
        failures = min(TOGETHER, trials - number * TOGETHER)
        play(_some(folder, seed * 1000 + number, failures, defect, figures), figures)
    return figures
