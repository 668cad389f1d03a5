"""Ends of overrides and batches under kills of the service, of the MQTT server, and arms that go away.

No value stays looser than its ground after the end of an override, once the arm can be reached: judged by the events
and by the journal of the arms, with rules of its own.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.campaigns.figures import Figures, play
from tests.campaigns.people import Asked, Document, Person, dice_of
from tests.campaigns.places import folders
from tests.campaigns.stage import ITEM, METHOD, MODES, PATIENCE_S, REST_S, Stage
from tests.campaigns.together import HARMS
from tests.grounds import Checker

TOGETHER = 12
"""So many harms meet one stage, then everything is judged."""
SOME_S = (0.2, 1.6)
VALUES = tuple(round(0.05 * number, 2) for number in range(1, 10))
FIRST = 0.5
"""What a fresh arm has."""
ENDS_MS = (1_000, 1_500, 2_500, 4_000)
FAULTS = ("delay", "lose_answer", "offline", "offline")
SLACK = 1e-3
RETRIES_S = REST_S + 60.0
"""A return that an arm refused is tried again after a minute."""


async def _fault(stage: Stage) -> None:
    """An arm goes away for a while, or answers late or not at all."""
    fault = {"fault": stage.dice.choice(FAULTS), "for_ms": stage.dice.randint(200, 2_500), "delay_ms": 100}
    try:
        async with asyncio.timeout(5.0):
            await stage.monitor.call(stage.dice.choice(stage.arms), "SimFault", fault)
    except TimeoutError:
        return


_KILL = next(harm for harm in HARMS if harm.__name__ == "_kill")
_LOSE_SERVER = next(harm for harm in HARMS if harm.__name__ == "_lose_server")
_HARMS: tuple[Callable[[Stage], Awaitable[None]], ...] = (_KILL, _KILL, _KILL, _LOSE_SERVER, _fault, _fault)


def _next(person: Person, dice: random.Random, arms: list[str]) -> Asked:
    """A limit for a time or for good, of one slot or two, or the end of what is live."""
    arm, (mode, other) = dice.choice(arms), dice.sample(sorted(MODES), 2)
    ends: Document = {"valid_for_ms": dice.choice(ENDS_MS)} if dice.random() < 0.75 else {}
    kind = dice.random()
    if kind < 0.6:
        method, fields = METHOD, {"params": {"control_mode": mode, ITEM: dice.choice(VALUES)}, **ends}
    elif kind < 0.9:
        items = {ITEM: {mode: dice.choice(VALUES), other: dice.choice(VALUES)}}
        method, fields = "ApplyConfig", {"params": {"items": items}, **ends}
    else:
        method, fields = "EndOverride", {"params": {"all": True, "keep": dice.random() < 0.3}}
    return Asked(f"{person.user}/{person.conn}/{person.new_id()}", arm, method, fields, [])


async def _work(stage: Stage, person: Person, dice: random.Random, over: asyncio.Event, figures: Figures) -> None:
    while not over.is_set():
        reply = await person.ask(_next(person, dice, stage.arms), PATIENCE_S)
        figures.count("requests")
        figures.count("took effect" if reply["ok"] else f"refused: {reply['error']['kind']}")
        await asyncio.sleep(dice.uniform(0.0, 0.1))  # the pace of the load


async def _events(stage: Stage, arm: str) -> list[Document]:
    """Everything that was told of an arm, in its order."""
    found: list[Document] = []
    while True:
        after = found[-1]["seq"] if found else 0
        page = (await stage.monitor.call(arm, "GetEvents", {"after_seq": after}))["result"]
        found += page["events"]
        if not page["more"]:
            return found


async def _until_over(stage: Stage) -> None:
    """Wait until no override is live or owes its return, as the documents tell."""
    async with asyncio.timeout(RETRIES_S), stage.serving():
        for arm in stage.arms:
            while True:
                await stage.rest()
                config = [told for told in stage.monitor.told if told.topic == f"state/{arm}/config"][-1]
                if not config.document.get("overrides"):
                    break
                await asyncio.sleep(0.2)


async def _judge(stage: Stage, figures: Figures) -> None:
    """Compare what the arms took last with what the events say is to be there."""
    last = {}
    for taken in stage.taken():
        last[taken.place] = taken.number
    for arm in stage.arms:
        checker = Checker(MODES)
        events = await _events(stage, arm)
        figures.expect(
            [event["seq"] for event in events] == list(range(1, len(events) + 1)), f"{arm}: a seq is missing"
        )
        for event in events:
            checker.take(event)
        figures.expect(not checker.twice, f"{arm}: ends that were told twice: {checker.twice}")
        figures.count("overrides ended", checker.ended)
        for mode in MODES:
            bound, has = checker.in_force(mode), last.get((arm, mode), FIRST)
            figures.expect(not checker.live[mode], f"{arm} {mode}: the end of {checker.live[mode]} was never told")
            if bound is not None:
                figures.expect(has <= bound * (1.0 + SLACK), f"{arm} {mode}: it has {has}, the ground is {bound}")
                figures.count("values judged")


async def _some(folder: Path, seed: float, harms: int, defect: str, figures: Figures) -> None:
    stage = Stage(folder, seed, defect=defect)
    async with stage.open():
        stage.start()
        await stage.online(1)
        over = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            for person in stage.users:
                tasks.create_task(_work(stage, person, dice_of(stage.dice.random()), over, figures))
            for _ in range(harms):
                await asyncio.sleep(stage.dice.uniform(*SOME_S))  # the schedule
                harm = stage.dice.choice(_HARMS)
                await harm(stage)
                figures.count(harm.__name__.strip("_").replace("_", " "))
                figures.trials += 1
            over.set()
        for arm in stage.arms:
            await stage.monitor.call(arm, "SimFault", {"fault": "none"})
        await _until_over(stage)
        await _judge(stage, figures)
        figures.expect(await stage.process.stop() == 0, "the service did not end cleanly")


def run(trials: int, seed: int, defect: str = "") -> Figures:
    """So many harms; see `CAMPAIGNS`."""
    figures = Figures()
    for number, folder in folders(-(-trials // TOGETHER)):
        harms = min(TOGETHER, trials - number * TOGETHER)
        play(_some(folder, seed * 1000 + number, harms, defect, figures), figures)
    return figures
