"""Proposals and their approvals under kills of the service and of the MQTT server.

What a second person approved takes effect once, with both names; what it rejected never does. Either is what every
later repeat of the request is told, and no plan waits any more that somebody decided.
"""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from tests.campaigns.figures import Figures, play
from tests.campaigns.people import Asked, Document, Person
from tests.campaigns.places import folders
from tests.campaigns.stage import ITEM, METHOD, PATIENCE_S, Stage
from tests.campaigns.together import HARMS

TOGETHER = 12
"""So many proposals are decided on one stage."""
MODE, LOW = "CARTESIAN_JOYSTICK", 0.05
VALUES = tuple(round(0.1 + 0.01 * number, 2) for number in range(30))
SOON_S = 0.04
RULES = """\
[roles]
engineer = ["u0", "u1"]
[[rule]]
name = "slower is for everybody"
roles = ["*"]
allow = ["tighten"]
[[rule]]
name = "engineers loosen with a second person"
roles = ["engineer"]
allow = ["loosen"]
two_person = true
[[rule]]
name = "engineers approve"
roles = ["engineer"]
allow = ["approve"]
"""
_HARMS = tuple(harm for harm in HARMS if harm.__name__ in ("_kill", "_lose_server"))


def _new(person: Person, arm: str, method: str, params: Document) -> Asked:
    """A request that says when it was made: it may wait at the MQTT server, and loosens."""
    at = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    return Asked(
        f"{person.user}/{person.conn}/{person.new_id()}", arm, method, {"params": params, "issued_at": at}, []
    )  # fmt: skip


async def _harmed(stage: Stage, person: Person, asked: Asked, figures: Figures) -> Document:
    """The reply to a request, while something goes wrong beside it."""
    asking = asyncio.create_task(person.ask(asked, PATIENCE_S))
    await asyncio.sleep(stage.dice.uniform(0.0, SOON_S))  # the schedule
    if stage.dice.random() < 0.8:
        harm = stage.dice.choice((_HARMS[0], *_HARMS))
        await harm(stage)
        figures.count(harm.__name__.strip("_").replace("_", " "))
    return await asking


async def _ended(stage: Stage, plan: int) -> Document:
    """A plan once it has ended, or as it is when there was time enough for that."""
    until_s = asyncio.get_running_loop().time() + stage.rest_s / 2
    while True:
        found: Document = (await stage.monitor.call("@all", "GetPlan", {"plan": plan}))["result"]
        if found["state"] == "ended" or asyncio.get_running_loop().time() > until_s:
            return found
        await asyncio.sleep(0.1)  # it is asked again, as anybody would


async def _one(stage: Stage, number: int, figures: Figures) -> None:
    """One proposal, decided and judged."""
    first, second = stage.users[:2]
    arm, limit = stage.dice.choice(stage.arms), VALUES[number % len(VALUES)]
    await first.ask(_new(first, arm, METHOD, {"control_mode": MODE, ITEM: LOW}), PATIENCE_S)
    asked = _new(first, arm, METHOD, {"control_mode": MODE, ITEM: limit})
    proposed = await _harmed(stage, first, asked, figures)
    figures.expect(proposed.get("plan"), f"{asked.full_id}: no proposal: {proposed}")
    if not proposed.get("plan"):
        return
    plan, action = int(proposed["plan"]), "approve" if stage.dice.random() < 0.75 else "reject"
    decided = await _harmed(stage, second, _new(second, "@all", "SteerPlan", {"plan": plan, "action": action}), figures)
    figures.expect(decided["ok"], f"{asked.full_id}: {action} failed: {decided}")
    done = f"{action.removesuffix('e')}ed"
    figures.count(done)
    found = await _ended(stage, plan)
    figures.expect(found["state"] == "ended", f"plan {plan} is {found['state']} after it was {done}")
    last = await first.ask(asked, PATIENCE_S)
    history = (await stage.monitor.call(arm, "GetHistory", {"limit": 50}))["result"]["changes"]
    mine = [entry for entry in history if entry["request_id"] == asked.full_id]
    if action == "reject":
        figures.expect(not mine, f"{asked.full_id}: it was rejected and took effect")
        figures.expect(not last["ok"] and last["error"]["kind"] == "not_permitted", f"{asked.full_id}: told {last}")
        return
    whose = [(entry["outcome"], entry.get("approved_by"), entry.get("plan")) for entry in mine]
    figures.expect(whose == [("applied", second.user, plan)], f"{asked.full_id}: approved, and there is {whose}")
    figures.expect(last["ok"] and last["stage"] == "applied", f"{asked.full_id}: told {last}")


async def _some(folder: Path, seed: float, proposals: int, defect: str, figures: Figures) -> None:
    stage = Stage(folder, seed, users=2, defect=defect, latency_ms=0)
    settings = stage.process.config
    settings.with_name("policy.toml").write_text(RULES, encoding="utf-8")
    proven = settings.read_text(encoding="utf-8").replace("[mqtt]\n", '[mqtt]\nidentity = "server-acl"\n')
    settings.write_text(proven + '\n[policy]\nfile = "policy.toml"\n', encoding="utf-8")
    async with stage.open():
        stage.start()
        await stage.online(1)
        for number in range(proposals):
            async with asyncio.timeout(stage.rest_s), stage.serving():
                await _one(stage, number, figures)
            figures.trials += 1
        figures.expect(await stage.process.stop() == 0, "the service did not end cleanly")


def run(trials: int, seed: int, defect: str = "") -> Figures:
    """So many proposals; see `CAMPAIGNS`."""
    figures = Figures()
    for number, folder in folders(-(-trials // TOGETHER)):
        proposals = min(TOGETHER, trials - number * TOGETHER)
        play(_some(folder, seed * 1000 + number, proposals, defect, figures), figures)
    return figures
