"""Ends of overrides and batches under kills of the service, of the MQTT server, locks, and arms that go away.

No value stays looser than its ground after the end of an override, once the arm can be reached, though somebody may
hold it; once nobody does a payload is what is in force: judged by the events and the journal of the arms, with rules of
its own.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.campaigns import joints
from tests.campaigns.figures import Figures, play
from tests.campaigns.people import Asked, Document, Person, dice_of
from tests.campaigns.places import folders
from tests.campaigns.stage import ITEM, LOAD, LOAD_METHOD, MASS, METHOD, MODES, PATIENCE_S, Stage
from tests.campaigns.together import HARMS
from tests.grounds import NO_MODE, Checker

TOGETHER = 12
"""So many harms meet one stage, then everything is judged."""
SOME_S = (0.2, 1.6)
VALUES = tuple(round(0.05 * number, 2) for number in range(1, 10))
MASSES = (0.5, 1.0, 1.5, 2.0)
FIRST, FIRST_MASS = 0.5, 0.0
"""What a fresh arm has."""
HELD_S = (1.0, 4.0)
JOINTS = 0.2
"""The share of changes that are of joints."""
OF_LOCKS = ("ARM_HELD", "ARM_RELEASED")
"""Events that no document of the configuration tells of."""
HOLDER = 0
"""Who holds all arms at the end."""
ENDS_MS = (1_000, 1_500, 2_500, 4_000)
FAULTS = ("delay", "lose_answer", "offline", "offline")
SLACK = 1e-3
WHOLE = "control_configuration"
TOOK_EFFECT = ("applied", "rounded", "clamped", "unchanged")
RETRY_S = 60.0
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
    if kind < 0.2:
        method, fields = METHOD, {"params": {"control_mode": mode, ITEM: dice.choice(VALUES)}, **ends}
    elif kind < 0.2 + JOINTS:
        method, params = joints.asked(dice)
        fields = {"params": params, **ends}
    elif kind < 0.45:
        method, fields = LOAD_METHOD, {"params": {MASS: dice.choice(MASSES)}, **ends}
    elif kind < 0.85:
        items: Document = {ITEM: {mode: dice.choice(VALUES), other: dice.choice(VALUES)}}
        if dice.random() < 0.6:
            items[LOAD] = {MASS: dice.choice(MASSES)}
        method, fields = "ApplyConfig", {"params": {"items": items}, **ends}
    elif kind < 0.93:
        method, fields = "EndOverride", {"params": {"all": True, "keep": dice.random() < 0.3}}
    elif kind < 0.97:
        method, fields = "HoldArm", {"params": {"reason": "work", "until": _later(dice.uniform(*HELD_S))}}
    else:
        method, fields = "ReleaseArm", {"params": {}}
    return Asked(f"{person.user}/{person.conn}/{person.new_id()}", arm, method, fields, [])


def _later(seconds: float) -> str:
    """So many seconds from now."""
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


async def _work(stage: Stage, person: Person, dice: random.Random, over: asyncio.Event, figures: Figures) -> None:
    while not over.is_set():
        reply = await person.ask(_next(person, dice, stage.arms), PATIENCE_S)
        figures.count("requests")
        figures.count("took effect" if reply["ok"] else f"refused: {reply['error']['kind']}")
        await stage.monitor.in_step()
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


async def _until(stage: Stage, wanted: Callable[[Document], bool]) -> None:
    """Wait until the configuration of every arm is as wanted, as its documents tell."""
    async with asyncio.timeout(stage.rest_s + RETRY_S), stage.serving():
        for arm in stage.arms:
            while True:
                told = [event["seq"] for event in await _events(stage, arm) if event["event"] not in OF_LOCKS]
                config = [told for told in stage.monitor.told if told.topic == f"state/{arm}/config"][-1].document
                if config["seq"] >= max(told, default=0) and wanted(config):
                    break
                await asyncio.sleep(0.2)


def _is_tight(config: Document) -> bool:
    """Whether no override is live, and none that is over owes more than what loosens or has no order."""
    return all(
        one["state"] not in ("live", "covered") and one["direction"] != "loosening"
        for one in config.get("overrides", ())
    )


def _is_over(config: Document) -> bool:
    """Whether no override is live or owes its return, and nothing waits."""
    return not config.get("overrides") and not config["pending"]


async def _judge(stage: Stage, figures: Figures, *, held: bool) -> None:
    """Compare what the arms took last with what the events say is to be there."""
    last = {}
    for taken in stage.taken():
        last[taken.place] = taken.number
    for arm in stage.arms:
        checker = Checker((*MODES, NO_MODE))
        events = await _events(stage, arm)
        for event in events:
            checker.take(event)
        for mode in MODES:
            bound, has = checker.in_force(mode), last.get((arm, mode), FIRST)
            if bound is not None:
                where = f"{arm} {mode}{', held' if held else ''}"
                figures.expect(has <= bound * (1.0 + SLACK), f"{where}: it has {has}, the ground is {bound}")
                figures.count("values judged under a lock" if held else "values judged")
        await _judge_joints(stage, arm, events, figures, held=held)
        if not held:
            _judge_all(arm, events, checker, last.get((arm, LOAD), FIRST_MASS), figures)
            await _judge_returns(stage, arm, events, figures)


async def _judge_joints(stage: Stage, arm: str, events: list[Document], figures: Figures, *, held: bool) -> None:
    """Compare the speeds of joints with what the events say is to be there; under a lock they may be tighter."""
    checker = joints.JointChecker()
    for event in events:
        checker.take(event)
    limits = (await stage.monitor.call(arm, "GetJointLimits", {}))["result"]
    for joint, ground in checker.ground.items():
        has = joints.speed(limits, joint)
        ok = has <= ground * (1.0 + SLACK) if held else abs(has - ground) <= SLACK * ground
        figures.expect(ok, f"{arm} joint {joint}{', held' if held else ''}: it has {has}, the ground is {ground}")
        figures.count("speeds of joints judged under a lock" if held else "speeds of joints judged")
        if not held:
            live = checker.live[joint]
            figures.expect(not live, f"{arm} joint {joint}: the end of {live} was never told")


def _judge_all(arm: str, events: list[Document], checker: Checker, mass: float, figures: Figures) -> None:
    """Nothing keeps anything from its end any more."""
    figures.expect([event["seq"] for event in events] == list(range(1, len(events) + 1)), f"{arm}: a seq is missing")
    figures.expect(not checker.twice, f"{arm}: ends that were told twice: {checker.twice}")
    figures.count("overrides ended", checker.ended)
    for mode, live in checker.live.items():
        figures.expect(not live, f"{arm} {mode or LOAD}: the end of {live} was never told")
    bound = checker.in_force(NO_MODE)
    if bound is not None and NO_MODE not in checker.foreign | checker.left and not any(map(_misses_payload, events)):
        figures.expect(abs(mass - bound) <= SLACK, f"{arm}: its payload is {mass}, the ground is {bound}")
        figures.count("payloads judged")


def _misses_payload(event: Document) -> bool:
    """Whether a payload did not become what somebody wished for: what has no order is then led back by nobody."""
    if event["event"] != "CHANGE_NOT_APPLIED":
        return False
    return LOAD in (event.get("details") or {}).get("items", ()) or (event["change"] or {}).get("item") == LOAD


async def _judge_returns(stage: Stage, arm: str, events: list[Document], figures: Figures) -> None:
    """Count the returns, and those of one override in several revisions without a failure or a late step."""
    ends = Counter(event["rev"] for event in events if event["event"] == "OVERRIDE_ENDED")
    found: dict[int, list[Document]] = {}
    below: Document = {}
    while True:
        page = (await stage.monitor.call(arm, "GetHistory", {"limit": 100, **below}))["result"]
        for entry in page["changes"]:
            if "returned_from" in entry:
                found.setdefault(entry["returned_from"], []).append(entry)
        if not page["more"]:
            break
        below = {"before_rev": min(entry["rev"] for entry in page["changes"])}
    for rev, entries in found.items():
        failed = sum(entry["outcome"] not in TOOK_EFFECT for entry in entries)
        figures.count("went back in several revisions", len(entries) > ends[rev] + failed)
        figures.count("returns", len(entries))
        figures.count("returns of several values", sum(entry["item"] == WHOLE for entry in entries))


async def _take(stage: Stage, holder: Person, arm: str) -> None:
    """Hold an arm as soon as nobody else does."""
    async with asyncio.timeout(stage.rest_s):
        while not (await holder.call(arm, "HoldArm", {"reason": "judged"}))["ok"]:  # noqa: ASYNC110 - asked from outside
            await asyncio.sleep(0.2)


async def _some(folder: Path, seed: float, harms: int, defect: str, figures: Figures) -> None:
    stage = Stage(folder, seed, defect=defect)
    stage.weighs = True
    async with stage.open():
        stage.start()
        await stage.online(1)
        over = asyncio.Event()
        async with stage.serving(), asyncio.TaskGroup() as tasks:
            for person in stage.users:
                tasks.create_task(_work(stage, person, dice_of(stage.dice.random()), over, figures))
            for _ in range(harms):
                await asyncio.sleep(stage.dice.uniform(*SOME_S))  # the schedule
                harm = stage.dice.choice(_HARMS)
                await harm(stage)
                figures.count(harm.__name__.strip("_").replace("_", " "))
                figures.trials += 1
            over.set()
        holder = stage.users[HOLDER]
        for arm in stage.arms:
            await stage.monitor.call(arm, "SimFault", {"fault": "none"})
            await _take(stage, holder, arm)
        await _until(stage, _is_tight)
        await _judge(stage, figures, held=True)
        for arm in stage.arms:
            await holder.call(arm, "ReleaseArm", {})
        await _until(stage, _is_over)
        await _judge(stage, figures, held=False)
        figures.expect(await stage.process.stop() == 0, "the service did not end cleanly")


def run(trials: int, seed: int, defect: str = "") -> Figures:
    """So many harms; see `CAMPAIGNS`."""
    figures = Figures()
    for number, folder in folders(-(-trials // TOGETHER)):
        harms = min(TOGETHER, trials - number * TOGETHER)
        play(_some(folder, seed * 1000 + number, harms, defect, figures), figures)
    return figures
