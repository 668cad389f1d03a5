"""What the service makes of what an arm does; each function runs on a stage of its own."""

import asyncio
import contextlib
from typing import Any

from armbroker.conformance.stage import OTHER, SUITE, Opened, Stage
from devices.conformance import Rig
from devices.conformance.steps import expect, expect_away
from handlers.items.settling import same
from schema.arms import Fault, Slot
from schema.messages import GravityVector, Message

OTHERS_WITHIN_S = 2.0
"""How soon another arm must be served while one is slow."""
FLAPS = 5
_AGAIN_S = 0.2
_OTHER_SLOT: Slot = ("gravity_vector", 0)


def _expect_applied(reply: dict[str, Any], *warnings: str) -> None:
    named = {warning["name"] for warning in reply["warnings"]}
    right = (reply["ok"], reply["stage"]) == (True, "applied") and set(warnings) <= named
    told = reply.get("error", reply["warnings"])
    expect(right, f"{reply['method']}: {reply['stage']}, {told} instead of {'applied', *warnings}")


def _expect_reported(stage: Stage, value: Message) -> None:
    slot = stage.rig.traits.slot
    read = stage.session.state.reported[slot]
    expect(same(slot[0], read, value, stage.tap.resolution_rad), f"{slot}: reported {read} instead of {value}")


async def adopts(stage: Stage) -> None:
    """First contact takes what is there for desired, writes nothing and tells no event."""
    state = stage.session.state
    config = await stage.document("config", lambda document: document["rev"] == 1)
    expect(not config["pending"] and not config["differs"], f"pending or differing at first contact: {config}")
    expect(state.desired == state.reported, "desired is not what was read")
    expect(not stage.tap.written, f"written at first contact: {stage.tap.written}")
    expect(not stage.events(), f"events at first contact: {stage.events()}")


async def applies(stage: Stage) -> None:
    """Each item that is asked for is written, read back, applied, told and kept."""
    for slot, example in stage.rig.traits.values.items():
        request = stage.ask(slot, example.value)
        _expect_applied(await stage.reply(request))
        event = await stage.end_of(request)
        expect(event["cause"] == "applied", f"{slot}: an event with cause {event['cause']}")
    await stage.document("config", lambda document: not document["pending"] and not document["differs"])
    expect(len(stage.tap.written) == len(stage.rig.traits.values), f"{len(stage.tap.written)} writes")


async def rounds(stage: Stage) -> None:
    """A value that the arm rounds counts as applied, with a warning."""
    rounded = stage.rig.traits.rounded
    expect(rounded is not None, "the traits name no value that the arm rounds")
    if rounded is not None:
        _expect_applied(await stage.change(*rounded), "ROUNDED")


async def clamps(stage: Stage) -> None:
    """A bound that the arm takes tighter counts as applied, with a warning, and becomes what is desired."""
    state, clamped = stage.session.state, stage.rig.traits.clamped
    expect(clamped is not None, "the traits name no value that the arm clamps")
    if clamped is not None:
        slot, value = clamped
        await stage.rig.inject(Fault("clamp"))
        _expect_applied(await stage.change(slot, value), "CLAMPED")
        expect(state.desired[slot] == state.reported[slot] != value, f"desired {state.desired[slot]} after clamping")


async def refuses(stage: Stage) -> None:
    """What the arm refuses is refused with the arm's own code, and desired goes back."""
    slot, example = stage.rig.traits.slot, stage.rig.traits.example
    before = stage.session.state.desired[slot]
    await stage.rig.inject(Fault("refuse"))
    reply = await stage.change(slot, example.value)
    kind = reply.get("error", {}).get("kind")
    expect((reply["stage"], kind) == ("refused", "arm_refused"), f"{reply['stage']}, {kind}")
    expect(stage.session.state.desired[slot] == before, "desired did not go back")
    await stage.rig.inject(Fault("none"))
    _expect_applied(await stage.change(slot, example.value))


async def sees_overwriting(stage: Stage) -> None:
    """Another writer between write and read-back is seen: the change is overwritten, reported is what is there."""
    slot, example = stage.rig.traits.slot, stage.rig.traits.example

    async def overwrite() -> None:
        await stage.rig.inject(Fault("foreign_change", slot=slot, value=example.other))

    stage.tap.before_read = overwrite
    reply = await stage.change(slot, example.value)
    kind = reply.get("error", {}).get("kind")
    expect((reply["stage"], kind) == ("refused", "overwritten"), f"{reply['stage']}, {kind}")
    _expect_reported(stage, example.other)


async def reads_back_after_a_timeout(stage: Stage) -> None:
    """A write without an answer is read back before anything else, and applied if the arm took it."""
    slot, example = stage.rig.traits.slot, stage.rig.traits.example
    await stage.rig.inject(Fault("lose_answer"))
    request = stage.ask(slot, example.value)
    event = await stage.end_of(request)
    expect(event["cause"] == "applied", f"cause {event['cause']}")
    expect(len(stage.tap.written) == 1, f"written {len(stage.tap.written)} times")
    _expect_reported(stage, example.value)


async def tells_foreign_changes(stage: Stage) -> None:
    """What another writer changes is an event with cause foreign, and differs from what is desired."""
    slot, traits = stage.rig.traits.slot, stage.rig.traits
    await stage.rig.inject(Fault("foreign_change", slot=slot, value=traits.example.other))
    event = await stage.foreign(traits.told_within_s + traits.slack_s)
    expect(event["change"]["item"] == slot[0], f"told for {event['change']['item']}")
    await stage.document("config", lambda document: bool(document["differs"]))
    _expect_reported(stage, traits.example.other)


async def survives_absence(stage: Stage) -> None:
    """An arm that is away is shown so, no change counts as applied, and what was stored is written on its return."""
    slot, traits = stage.rig.traits.slot, stage.rig.traits
    await stage.rig.inject(Fault("offline"))
    await stage.presence(online=False, ready=False, within_s=traits.told_within_s + traits.slack_s)
    request = stage.ask(slot, traits.example.value)
    reply = await stage.reply(request)
    _expect_waiting(reply, "DEVICE_DISCONNECTED")
    await stage.rig.inject(Fault("none"))
    await stage.presence(online=True, ready=True, within_s=traits.back_within_s)
    await _expect_served(stage, request, reply)


async def waits_while_moving(stage: Stage) -> None:
    """An arm that moves is shown as not ready, nothing is written, and what was stored is written afterwards."""
    slot, traits = stage.rig.traits.slot, stage.rig.traits
    await stage.rig.inject(Fault("moving"))
    await stage.presence(online=True, ready=False, within_s=traits.told_within_s + traits.slack_s)
    request = stage.ask(slot, traits.example.value)
    reply = await stage.reply(request)
    _expect_waiting(reply, "DEVICE_NOT_READY")
    expect(not stage.tap.written, "written while moving")
    await stage.rig.inject(Fault("none"))
    await stage.presence(online=True, ready=True, within_s=traits.back_within_s)
    await _expect_served(stage, request, reply)


def _expect_waiting(reply: dict[str, Any], name: str) -> None:
    """A change that cannot start is stored or refused, with the reason."""
    told = {warning["name"] for warning in reply["warnings"]} | {reply.get("error", {}).get("name")}
    expect(reply["stage"] in ("stored", "refused"), f"stage {reply['stage']} while it cannot start")
    expect(name in told, f"told {told} instead of {name}")


async def _expect_served(stage: Stage, request: str, reply: dict[str, Any]) -> None:
    """What was stored is applied now, and so is what comes next."""
    slot, example = stage.rig.traits.slot, stage.rig.traits.example
    if reply["stage"] == "stored":
        event = await stage.end_of(request)
        expect(event["cause"] == "applied", f"what was stored ended with cause {event['cause']}")
    _expect_applied(await stage.change(slot, example.other))


async def holds_another_arm(stage: Stage) -> None:
    """Another serial number under the same name is held, also after the fault, until ConfirmArm; then it is served."""
    slot, traits = stage.rig.traits.slot, stage.rig.traits
    await stage.rig.inject(Fault("swap_serial"))
    await stage.document("presence", lambda document: document["state"] == "held", traits.back_within_s)
    reply = await stage.change(slot, traits.example.value)
    expect(reply["stage"] in ("stored", "refused"), f"stage {reply['stage']} on an arm that is held")
    await stage.rig.inject(Fault("none"))
    expect(not stage.tap.written, "written to another arm")
    confirmed = await stage.reply(stage.send(SUITE, "ConfirmArm", {}))
    expect(confirmed["ok"], f"ConfirmArm: {confirmed.get('error')}")
    await stage.presence(online=True, ready=True, within_s=traits.back_within_s)
    _expect_applied(await stage.change(slot, traits.example.value))


async def tells_what_a_reboot_lost(stage: Stage) -> None:
    """What an arm lost in a reboot is a foreign change, not fought."""
    slot, traits = stage.rig.traits.slot, stage.rig.traits
    before = stage.session.state.reported[slot]
    _expect_applied(await stage.change(slot, traits.example.value))
    await stage.rig.inject(Fault("reboot"))
    await stage.foreign(traits.back_within_s)
    await stage.document("config", lambda document: bool(document["differs"]))
    _expect_reported(stage, before)
    expect(len(stage.tap.written) == 1, f"written {len(stage.tap.written)} times")


async def keeps_others_going(stage: Stage) -> None:
    """While an arm hangs others are served at once; its change ends when it answers again, and only then."""
    slot, traits = stage.rig.traits.slot, stage.rig.traits
    await stage.rig.inject(Fault("hang"))
    request = stage.ask(slot, traits.example.value)
    for value in (GravityVector(9.81), GravityVector(0.0, 9.81)):
        other = stage.ask(_OTHER_SLOT, value, OTHER)
        _expect_applied(await stage.reply(other, OTHERS_WITHIN_S))
    reply = await stage.reply(request)
    kind = reply.get("error", {}).get("kind")
    expect((reply["stage"], kind) == ("stored", "outcome_unknown"), f"{reply['stage']}, {kind} while it hangs")
    await stage.rig.inject(Fault("none"))
    event = await stage.end_of(request)
    expect(event["cause"] in ("applied", "refused"), f"cause {event['cause']}")
    _expect_applied(await stage.change(slot, traits.example.other))


async def outlives_garbage(stage: Stage) -> None:
    """Unreadable answers are no outcome: the change ends when the arm can be read again."""
    slot, traits = stage.rig.traits.slot, stage.rig.traits
    await stage.rig.inject(Fault("garbage"))
    request = stage.ask(slot, traits.example.value)
    reply = await stage.reply(request)
    expect(reply["stage"] == "stored", f"stage {reply['stage']} after garbage")
    await stage.rig.inject(Fault("none"))
    event = await stage.end_of(request)
    expect(event["cause"] in ("applied", "refused"), f"cause {event['cause']}")
    _expect_applied(await stage.change(slot, traits.example.other))


async def outlives_flapping(stage: Stage) -> None:
    """An arm whose link came and went is online, ready and served in the end; nothing is lost or doubled."""
    for _ in range(FLAPS):
        await stage.rig.inject(Fault("offline"))
        await asyncio.sleep(0)
        await stage.rig.inject(Fault("none"))
    _expect_applied(await _when_online(stage))
    seqs = [event["seq"] for event in stage.events()]
    expect(seqs == list(range(1, len(seqs) + 1)), f"events {seqs}")


async def _when_online(stage: Stage) -> dict[str, Any]:
    """The reply to the first change that is applied, however often the link is found to be down."""
    slot, example = stage.rig.traits.slot, stage.rig.traits.example
    reply: dict[str, Any] = {}
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(stage.rig.traits.back_within_s):
            while reply.get("stage") != "applied":
                await stage.presence(online=True, ready=True)
                reply = await stage.change(slot, example.value)
                await asyncio.sleep(_AGAIN_S)
    return reply


async def shuts_down(rig: Rig, opened: Opened) -> None:
    """The end of the service waits for the change under way, answers it, and closes the arm."""
    slot, example = rig.traits.slot, rig.traits.example
    async with Stage(rig, opened) as stage:
        _expect_applied(await stage.change(slot, example.value))
        under_way = asyncio.Event()

        async def tell() -> None:
            under_way.set()

        stage.tap.before_read = tell
        request = stage.ask(slot, example.other)
        await under_way.wait()
    _expect_applied(await stage.reply(request))
    await expect_away(rig.arm.read(slot), "read after the end of the service")
