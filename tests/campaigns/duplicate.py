"""Requests that come more than once: repeats, redeliveries after a cut, copies that overtake one another."""

import asyncio
from pathlib import Path

from tests.campaigns.checker import Checker
from tests.campaigns.figures import Figures, play
from tests.campaigns.people import Asked, Person
from tests.campaigns.places import folders
from tests.campaigns.stage import PATIENCE_S, Stage

TOGETHER = 200
"""So many doubled requests meet one stage, then everything is judged."""
COPIES = (2, 3, 4)
AT_ONCE = 5
"""Requests of one person whose copies are mixed."""
CUT = 0.2
"""How often the service's connection is cut while copies are under way: what was not acknowledged comes again."""


async def _doubled(stage: Stage, person: Person, count: int, figures: Figures) -> None:
    """Publish copies of some requests in any order, then wait for the reply to each."""
    asked = [stage.next_request(person) for _ in range(count)]
    copies = [one for one in asked for _ in range(stage.dice.choice(COPIES))]
    stage.dice.shuffle(copies)
    figures.trials += len(asked)
    figures.count("copies", len(copies))
    for copy in copies:
        await _send(person, copy)
    if stage.dice.random() < CUT and stage.proxy is not None:
        stage.proxy.cut()
        figures.count("cuts")
    for one in asked:
        await person.ask(one, PATIENCE_S)


async def _send(person: Person, asked: Asked) -> None:
    request = {"id": asked.full_id.rpartition("/")[2], **asked.fields}
    while not await person.send(asked.arm, asked.method, request):
        pass


async def _some(folder: Path, seed: float, count: int, defect: str, figures: Figures) -> None:
    stage = Stage(folder, seed, defect=defect, proxied=True)
    async with stage.open():
        stage.start()
        await stage.online(1)
        left = count
        while left > 0:
            parts = [min(AT_ONCE, max(0, left - number * AT_ONCE)) for number in range(len(stage.users))]
            try:
                async with asyncio.timeout(stage.rest_s):
                    await asyncio.gather(
                        *(_doubled(stage, one, part, figures) for one, part in zip(stage.users, parts, strict=True))
                    )
            except TimeoutError:
                figures.expect(False, f"no reply to a request within {stage.rest_s:g} s: {stage.process.log[-300:]}")
                return
            left -= sum(parts)
        await stage.rest()
        await Checker(stage, figures).judge()
        figures.expect(await stage.process.stop() == 0, "the service did not end cleanly")


def run(trials: int, seed: int, defect: str = "") -> Figures:
    """So many requests, each sent several times; see `CAMPAIGNS`."""
    figures = Figures()
    for number, folder in folders(-(-trials // TOGETHER)):
        count = min(TOGETHER, trials - number * TOGETHER)
        play(_some(folder, seed * 1000 + number, count, defect, figures), figures)
    return figures
