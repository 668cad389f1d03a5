"""Plans under kills of the service and of the MQTT server, and arms that fail: groups, rollouts, proposals, reversals.

After each harm what was told of a plan still holds; once all is at rest, `plans_checker.py` judges the whole.
"""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

from tests.campaigns.figures import Figures, play
from tests.campaigns.people import Asked, Document, Person, dice_of
from tests.campaigns.places import folders
from tests.campaigns.plans_checker import Checker, Watched, plans_of
from tests.campaigns.stage import ITEM, METHOD, MODES, PATIENCE_S, TOO_FAST, VALUES, Stage
from tests.campaigns.together import HARMS

TOGETHER = 12
"""So many harms meet one stage, then everything is judged."""
ARMS = 12
SOME_S = (0.3, 2.4)
GROUPS = {"left": range(1, 7), "right": range(7, 13), "all": range(1, ARMS + 1)}
"""The numbers of the arms of each group."""
SLOW, CAP = 4, 0.2
"""An arm that goes no faster than this: what is legal for the others may be illegal for it."""
FAULTS = ("delay", "lose_answer", "offline", "offline", "refuse", "fault")
LAST = {"proposed": ("approve", "reject"), "paused": ("reverse", "resume"), "confirming": ("resume", "reverse")}
"""What people do in the end with what waits for them."""
LATELY = 5
"""People steer one of the last so many plans."""
RULES = """\
[roles]
engineer = ["u0", "u1", "u2"]
[[rule]]
name = "slower is for everybody"
roles = ["*"]
allow = ["tighten", "fault", "rollout"]
[[rule]]
name = "engineers do and decide everything"
roles = ["engineer"]
allow = ["loosen", "steer", "approve"]
[[rule]]
name = "others loosen with a second person"
roles = ["*"]
allow = ["loosen"]
two_person = true
"""
_KILL = next(harm for harm in HARMS if harm.__name__ == "_kill")
_LOSE_SERVER = next(harm for harm in HARMS if harm.__name__ == "_lose_server")


async def _fault(stage: Stage) -> None:
    """Some arms go away for a while, refuse, answer late or not at all."""
    kind = stage.dice.choice(FAULTS)
    fault = {"fault": kind, "for_ms": stage.dice.randint(200, 2_000), "delay_ms": 100}
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(5.0):
            for arm in stage.dice.sample(stage.arms, 2):
                await stage.monitor.call(arm, "SimFault", fault)


_HARMS: tuple[Callable[[Stage], Awaitable[None]], ...] = (_KILL, _KILL, _KILL, _LOSE_SERVER, _fault)


class People:
    """Those who ask of one stage; each value of a mode is asked for once."""

    def __init__(self, stage: Stage, figures: Figures) -> None:
        self.asked: dict[str, Asked] = {}
        self._stage, self._figures = stage, figures
        self._values = {mode: stage.dice.sample(VALUES, len(VALUES)) for mode in MODES}

    async def work(self, person: Person, dice: random.Random, over: asyncio.Event) -> None:
        """Ask until it is over."""
        while not over.is_set():
            await self.ask(person, self._next(person, dice))
            await self._stage.monitor.in_step()
            await asyncio.sleep(dice.uniform(0.0, 0.3))  # the pace of the load

    async def ask(self, person: Person, asked: Asked) -> None:
        """Ask until there is an answer."""
        self.asked[asked.full_id] = asked
        reply = await person.ask(asked, PATIENCE_S)
        self._figures.count("requests")
        kind = "" if reply["ok"] else f" {reply['error']['kind']}"
        self._figures.count(f"{asked.method if asked.arm.startswith('@') else 'to one arm'}: {reply['stage']}{kind}")

    def _next(self, person: Person, dice: random.Random) -> Asked:
        """Something for one arm, for a group at once, for a group wave by wave, or what becomes of a plan."""
        kind = dice.random()
        if kind < 0.2:
            return self.request(person, dice.choice(self._stage.arms), METHOD, self._limit(dice))
        target = f"@{dice.choice(sorted(GROUPS))}"
        if kind < 0.6:
            method, params = self._change(dice)
            whole = dice.random() < 0.4
            away = dice.choice(("wait", "refuse", "skip"))
            group = {"all_or_nothing": whole, "away": away, "parallel": dice.randint(1, 8)}
            return self.request(person, target, method, params, group=group)
        if kind < 0.78:
            target = dice.choice(("@left", "@right", "@right", "@right", "@all"))
            return self.request(person, target, "Rollout", self._rollout(dice))
        told = [told.document for told in self._stage.monitor.told if told.topic == "evt/@all/plan"]
        last = {event["plan"]: event["event"] for event in told}
        proposed = [plan for plan, event in last.items() if event == "PLAN_PROPOSED"]
        live = [plan for plan, event in last.items() if event not in ("PLAN_PROPOSED", "PLAN_ENDED")]
        if proposed and dice.random() < 0.4:
            plan, action = dice.choice(proposed), dice.choice(("approve", "approve", "reject"))
        elif live and dice.random() < 0.7:
            plan, action = dice.choice(live), dice.choice(("resume", "resume", "resume", "pause", "reverse", "abort"))
        else:
            plan, action = dice.choice(sorted(last)[-LATELY:] or [1]), dice.choice(("reverse", "reverse", "abort"))
        return self.request(person, "@all", "SteerPlan", {"plan": plan, "action": action})

    def request(self, person: Person, target: str, method: str, params: Document, **fields: Document) -> Asked:
        """A request that says when it was made: it may wait at the MQTT server, and loosens."""
        at = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        full_id = f"{person.user}/{person.conn}/{person.new_id()}"
        return Asked(full_id, target, method, {"params": params, "issued_at": at, **fields}, [])

    def _limit(self, dice: random.Random) -> Document:
        mode = dice.choice(sorted(MODES))
        return {"control_mode": mode, ITEM: TOO_FAST if dice.random() < 0.05 else self._values[mode].pop()}

    def _change(self, dice: random.Random) -> tuple[str, Document]:
        if dice.random() < 0.5:
            return METHOD, self._limit(dice)
        modes = dice.sample(sorted(MODES), dice.randint(2, 3))
        return "ApplyConfig", {"items": {ITEM: {mode: self._values[mode].pop() for mode in modes}}}

    def _rollout(self, dice: random.Random) -> Document:
        method, params = self._change(dice)
        confirm = {"confirm_within_ms": 60_000} if dice.random() < 0.3 else {}
        return {
            "method": method, "params": params, "on_failure": dice.choice(("reverse", "pause")),
            "canary": dice.randint(1, 2), "waves": dice.choice(([100], [50, 100])), "soak_ms": dice.randint(0, 600),
            "max_failed": dice.choice((0, 12)), **confirm,
        }  # fmt: skip


async def finish(stage: Stage, people: People) -> None:
    """Decide what waits for people until no plan is live; `rest_s` at most."""
    engineer = stage.users[0]
    async with asyncio.timeout(stage.rest_s), stage.serving():
        while True:
            live = [plan for plan in await plans_of(stage.monitor) if plan["state"] != "ended"]
            if not live:
                return
            for plan in live:
                if plan["state"] in LAST:
                    steer = {"plan": plan["plan"], "action": stage.dice.choice(LAST[plan["state"]])}
                    await people.ask(engineer, people.request(engineer, "@all", "SteerPlan", steer))
            await asyncio.sleep(0.3)  # it is asked again, as anybody would


def _settle_in(stage: Stage) -> None:
    """Groups, an arm that is slow, and a policy, into the settings."""
    settings = stage.process.config
    settings.with_name("policy.toml").write_text(RULES, encoding="utf-8")
    text = settings.read_text(encoding="utf-8").replace("[mqtt]\n", '[mqtt]\nidentity = "server-acl"\n')
    for number in range(1, ARMS + 1):
        groups = [f'"{name}"' for name, numbers in GROUPS.items() if number in numbers and name != "all"]
        more = f"groups = [{', '.join(groups)}]\n" + (f"site_caps = {{ twist_linear = {CAP} }}\n" * (number == SLOW))
        text = text.replace(f'id = "r{number}"\n', f'id = "r{number}"\n{more}')
    text = text.replace("[[arm]]", '[policy]\nfile = "policy.toml"\n[[arm]]', 1)
    settings.write_text(text, encoding="utf-8")


async def _some(folder: Path, seed: float, harms: int, defect: str, figures: Figures) -> None:
    stage = Stage(folder, seed, arms=ARMS, defect=defect)
    _settle_in(stage)
    people, watched = People(stage, figures), Watched(stage, figures)
    async with stage.open():
        stage.start()
        await stage.online(1)
        over = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            for person in stage.users:
                tasks.create_task(people.work(person, dice_of(stage.dice.random()), over))
            for _ in range(harms):
                await asyncio.sleep(stage.dice.uniform(*SOME_S))  # the schedule
                await watched.look()
                harm = stage.dice.choice(_HARMS)
                await harm(stage)
                figures.count(harm.__name__.strip("_").replace("_", " "))
                figures.trials += 1
                await watched.look()
            over.set()
        for arm in stage.arms:
            await stage.monitor.call(arm, "SimFault", {"fault": "none"})
        await finish(stage, people)
        await stage.rest()
        await Checker(stage, people.asked, {name: _arms(numbers) for name, numbers in GROUPS.items()}, figures).judge()
        figures.expect(await stage.process.stop() == 0, "the service did not end cleanly")


def _arms(numbers: range) -> list[str]:
    return [f"r{number}" for number in numbers]


def run(trials: int, seed: int, defect: str = "") -> Figures:
    """So many harms; see `CAMPAIGNS`."""
    figures = Figures()
    for number, folder in folders(-(-trials // TOGETHER)):
        harms = min(TOGETHER, trials - number * TOGETHER)
        play(_some(folder, seed * 1000 + number, harms, defect, figures), figures)
    return figures
