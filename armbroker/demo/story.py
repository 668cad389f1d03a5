"""The script of the demo. Arms: left (Gen3, 7 joints), right (Gen3, 6 joints), lite (Gen3 lite)."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from armbroker.client import ReplyDocument
from armbroker.demo.stage import Stage, StoryError, expect

MODELS = {"left": "gen3_7dof", "right": "gen3_6dof", "lite": "gen3_lite"}
"""The arms of the demo."""

HANG_MS = 2_000
HEADROOM = 0.5
"""An arm that is not delayed answers within this share of the time that the other hangs."""


class Step(NamedTuple):
    """One step: what it shows, and how."""

    title: str
    play: Callable[[Stage], Awaitable[None]]


def _warnings(reply: ReplyDocument) -> set[str]:
    return {warning["name"] for warning in reply["warnings"]}


def _kind(reply: ReplyDocument) -> str:
    return "" if reply["ok"] else reply["error"]["kind"]


async def read_limits(stage: Stage) -> None:
    """Every mode has its own limits."""
    limits = await stage.show_limits("left")
    expect("modes that take limits", len(limits), 5)


async def tighten(stage: Stage) -> None:
    """A legal change is applied, read back and announced."""
    params = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.2}
    reply = await stage.send("left", "SetTwistLinearSoftLimit", params, reason="people nearby while teaching")
    expect("stage", reply["stage"], "applied")
    event = await stage.event("left", "TWIST_LINEAR_SOFT_LIMIT_CHANGED", "applied")
    expect("before and after in the event", (event["change"]["before"], event["change"]["after"]), (0.5, 0.2))
    limits = await stage.show_limits("left", "CARTESIAN_JOYSTICK")
    expect("limit read back", limits["CARTESIAN_JOYSTICK"]["twist_linear"], 0.2)


async def refuse_and_suggest(stage: Stage) -> None:
    """A refusal names each joint, its bound, and the nearest legal value, which is then taken."""
    field = "joint_speed_soft_limits"
    params = {"control_mode": "ANGULAR_JOYSTICK", field: [80.0] * 7}
    reply = await stage.send("left", "SetJointSpeedSoftLimits", params)
    expect("kind", _kind(reply), "out_of_limits")
    violations = reply["error"].get("violations", [])
    for violation in violations:
        text = f"{violation['path']}: {violation['got']:g} {violation['relation']} {violation['bound']:g} is not so"
        stage.screen.say(f"     {text} ({violation['source']})")
    expect("joints named", [violation.get("joint") for violation in violations], [5, 6, 7])
    reply = await stage.send("left", "SetJointSpeedSoftLimits", {**params, field: violations[0].get("suggest")})
    expect("stage of the suggestion", reply["stage"], "applied")
    await stage.event("left", "JOINT_SPEED_SOFT_LIMITS_CHANGED", "applied")


async def doubt_the_unit(stage: Stage) -> None:
    """Radians where degrees belong are noticed, and refused where the sender says what they are."""
    params = {"control_mode": "CARTESIAN_JOYSTICK", "twist_angular_soft_limit": 0.87}
    reply = await stage.send("right", "SetTwistAngularSoftLimit", params, dry_run=True)
    expect("UNIT_SUSPECT warned", "UNIT_SUSPECT" in _warnings(reply), wanted=True)
    reply = await stage.send("right", "SetTwistAngularSoftLimit", params, unit="rad")
    expect("kind", _kind(reply), "unit_mismatch")


async def dry_run(stage: Stage) -> None:
    """A dry run checks everything and changes nothing."""
    before = await stage.send("right", "GetPayloadInformation")
    reply = await stage.send("right", "SetPayloadInformation", {"payload_mass": 1.5}, dry_run=True)
    expect("stage", reply["stage"], "checked")
    after = await stage.send("right", "GetPayloadInformation")
    expect("payload and revision", (after["result"], after["rev"]), (before["result"], before["rev"]))


async def limits_per_mode(stage: Stage) -> None:
    """A limit holds for one mode; a mode that takes none says so."""
    params = {"control_mode": "ANGULAR_TRAJECTORY", "joint_speed_soft_limits": [20.0] * 6}
    before = await stage.show_limits("lite", "ANGULAR_JOYSTICK", "ANGULAR_TRAJECTORY")
    expect("stage", (await stage.send("lite", "SetJointSpeedSoftLimits", params))["stage"], "applied")
    await stage.event("lite", "JOINT_SPEED_SOFT_LIMITS_CHANGED", "applied")
    after = await stage.show_limits("lite", "ANGULAR_JOYSTICK", "ANGULAR_TRAJECTORY")
    expect("limits of the other mode", after["ANGULAR_JOYSTICK"], before["ANGULAR_JOYSTICK"])
    reply = await stage.send("lite", "GetKinematicSoftLimits", {"control_mode": "FORCE_CONTROL"})
    expect("kind", _kind(reply), "mode_without_limit")


async def foreign_change(stage: Stage) -> None:
    """What another writer changes at the arm itself is noticed and told."""
    value = {"x": 0.0, "y": 0.0, "z": -9.8}
    await stage.send("right", "SimFault", {"fault": "foreign_change", "item": "gravity_vector", "value": value})
    await stage.event("right", "GRAVITY_VECTOR_CHANGED", "foreign")
    reply = await stage.send("right", "GetGravityVector")
    expect("desired is told apart from reported", "desired" in reply, wanted=True)


async def hang(stage: Stage) -> None:
    """An arm that hangs delays nobody else."""
    expect("fault", (await stage.send("left", "SimFault", {"fault": "hang", "for_ms": HANG_MS}))["ok"], wanted=True)
    clock = asyncio.get_running_loop().time
    begun = clock()
    down = {"x": 0.0, "y": 0.0, "z": -9.8}
    async with asyncio.TaskGroup() as tasks:
        hanging = tasks.create_task(stage.send("left", "SetGravityVector", down))
        expect("stage", (await stage.send("lite", "SetGravityVector", down))["stage"], "applied")
        took = clock() - begun
        stage.screen.say(f"     lite answered after {took * 1000:.0f} ms, while left hangs for {HANG_MS} ms")
        if hanging.done() or took > HANG_MS / 1000 * HEADROOM:
            raise StoryError("lite was delayed by left")
    expect("stage once left goes on", hanging.result()["stage"], "applied")


async def send_twice(stage: Stage) -> None:
    """The same id is acted upon once, however often it is sent."""
    request_id = f"demo-{secrets.token_hex(4)}"
    params = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.25}
    first = await stage.send("lite", "SetTwistLinearSoftLimit", params, id=request_id)
    again = await stage.send("lite", "SetTwistLinearSoftLimit", params, id=request_id)
    expect("duplicate, revision", (again.get("duplicate"), again["rev"]), (True, first["rev"]))
    await stage.event("lite", "TWIST_LINEAR_SOFT_LIMIT_CHANGED", "applied")
    expect("events", stage.count("lite", "TWIST_LINEAR_SOFT_LIMIT_CHANGED"), 1)
    other = {**params, "twist_linear_soft_limit": 0.1}
    expect("kind", _kind(await stage.send("lite", "SetTwistLinearSoftLimit", other, id=request_id)), "id_reused")


async def control_mode(stage: Stage) -> None:
    """The control mode is requested, read back and announced the same way."""
    reply = await stage.send("lite", "SetControlMode", {"control_mode": "CARTESIAN_JOYSTICK"})
    expect("stage", reply["stage"], "applied")
    await stage.event("lite", "CONTROL_MODE_CHANGED", "applied")
    reply = await stage.send("lite", "GetControlMode")
    expect("mode", reply["result"]["control_mode"], "CARTESIAN_JOYSTICK")


async def history(stage: Stage) -> None:
    """Who changed what, when, and what became of it."""
    reply = await stage.send("left", "GetHistory", {"limit": 10})
    changes = reply["result"]["changes"]
    for change in changes:
        slot = f"[{change['slot']}]" if change["slot"] else ""
        by = f"{change['by']['user']}/{change['by']['connection']}"
        reason = f", {change['reason']}" if change["reason"] else ""
        stage.screen.say(f"     rev {change['rev']} {change['item']}{slot} {change['outcome']} by {by}{reason}")
    items = {change["item"] for change in changes}
    expect("limits changed", items >= {"twist_linear_soft_limit", "joint_speed_soft_limits"}, wanted=True)


STORY = (
    Step("What may the left arm do? Every control mode has its own limits.", read_limits),
    Step("A tighter limit: checked, stored, written, read back, announced.", tighten),
    Step("Too fast for three joints: refused, with the nearest legal value, which is then taken.", refuse_and_suggest),
    Step("Radians where degrees belong.", doubt_the_unit),
    Step("A dry run: checked, nothing changed.", dry_run),
    Step("A limit of one mode leaves the other modes alone.", limits_per_mode),
    Step("Another writer changes the right arm behind our back.", foreign_change),
    Step("The left arm hangs; the others are not delayed.", hang),
    Step("The same request sent twice is acted upon once.", send_twice),
    Step("Another control mode.", control_mode),
    Step("Who did what to the left arm?", history),
)
"""The steps in order."""
