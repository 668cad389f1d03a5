"""The adapter of arms that speak MQTT, on a bus in memory and in virtual time."""

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from devices.adapter import (
    ArmAwayError,
    ArmChange,
    ArmRefusedError,
    ArmTimeoutError,
    ArmUnreadableError,
    Command,
    LinkState,
    Notice,
    Reread,
)
from devices.mqtt_agent import MqttAgentArm
from devices.mqtt_agent.arm import MESSAGES_MOST, UNHEARD_S
from schema.arms import Activity, Slot, Verb
from schema.enums import ControlMode
from schema.messages import GravityVector, JointSpeedSoftLimits, Message, TwistLinearSoftLimit
from tests.devices.mqtt_agent.memory_bus import MemoryBus
from tests.devices.mqtt_agent.messages import ITEMS, birth, report

GRAVITY: Slot = ("gravity_vector", 0)
DOWN = GravityVector(0.0, 0.0, -9.81)
PLAIN = {"x": 0, "y": 0, "z": -9.81}


class Bench:
    """One adapter, its bus, and what it told."""

    def __init__(self) -> None:
        self.bus = MemoryBus()
        self.notices: list[Notice] = []
        self.arm = MqttAgentArm("r12", self.bus)
        self.arm.watch(self.notices.append)
        self.bus.answer_probes("r12")

    def say(self, leaf: str, said: object, *, retain: bool | None = None) -> None:
        self.bus.say("r12", leaf, said, retain=retain)

    async def connected(self, session: int = 1, **changes: Any) -> "Bench":
        self.say("birth", birth(session, **changes))
        await self.arm.connect()
        return self

    async def asked(self, call: Awaitable[Any]) -> "tuple[asyncio.Task[Any], dict[str, Any]]":
        """Begin a call; its task, and the command it sent."""
        count = len(self.bus.published)
        task = asyncio.ensure_future(call)
        await asyncio.sleep(0)
        (published,) = self.bus.published[count:]
        assert isinstance(task, asyncio.Task)
        return task, published.document

    @property
    def links(self) -> list[LinkState]:
        return [notice for notice in self.notices if isinstance(notice, LinkState)]


def gravity(epoch: int = 4, cmd_seq: int = 1, value: Message | None = DOWN) -> Command:
    return Command(epoch, cmd_seq, Verb.SET if value is not None else Verb.RESET, GRAVITY, value)


async def test_an_arm_is_described_by_its_birth() -> None:
    bench = await Bench().connected()
    description = await bench.arm.connect()
    assert (description.model, description.serial, description.firmware) == ("two", "S1", "1.0")
    assert [(joint.name, joint.type) for joint in description.joints] == [("a", "revolute"), ("b", "prismatic")]
    assert description.hard_limits.joint_speed_limits == (80.0, 70.0)
    assert description.fence == (3, 9)
    assert description.modes_settable == (int(ControlMode.IDLE),)
    assert bench.arm.resolution_rad == 0.0001
    assert bench.notices == []


async def test_an_arm_that_is_there_has_to_answer() -> None:
    bench = Bench()
    bench.bus.agents.clear()
    bench.say("birth", birth())
    with pytest.raises(ArmTimeoutError):
        await bench.arm.connect()
    connecting, document = await bench.asked(bench.arm.connect())
    error = {"code": 3, "sub_code": 3, "name": "INVALID_PARAM"}
    bench.say("ack", {"session": 1, "read": document["read"], "fence": [0, 0], "ok": False, "error": error})
    with pytest.raises(ArmTimeoutError):
        await connecting
    bench.say("death", {"session": 1})
    assert bench.notices == []
    bench.say("birth", birth(2))
    assert bench.notices == [LinkState(online=True, ready=True)]


async def test_what_an_arm_can_do_is_what_its_birth_says() -> None:
    bench = await Bench().connected(methods=["GetGravityVector", "FlyToTheMoon"], resolution_rad=0)
    assert bench.arm.methods == {"GetGravityVector"}
    assert bench.arm.resolution_rad == 0


async def test_a_connect_waits_for_a_birth_that_may_be_on_its_way() -> None:
    bench = Bench()
    connecting = asyncio.create_task(bench.arm.connect())
    await asyncio.sleep(1.0)
    bench.say("birth", birth())
    assert (await connecting).serial == "S1"


async def test_a_connect_waits_so_long_once_and_not_for_each_try() -> None:
    bench, loop = Bench(), asyncio.get_running_loop()
    for took_s in (2.0, 0.0):
        began = loop.time()
        with pytest.raises(ArmAwayError):
            await bench.arm.connect()
        assert loop.time() - began == pytest.approx(took_s)
    bench.say("birth", birth())
    assert bench.notices == [LinkState(online=True, ready=True)]
    assert (await bench.arm.connect()).serial == "S1"


async def test_without_a_server_an_arm_is_away() -> None:
    bench = Bench()
    bench.bus.lose()
    with pytest.raises(ArmAwayError):
        await bench.arm.connect()


async def test_a_write_goes_with_its_number_and_expiry_and_waits_for_its_answer() -> None:
    bench = await Bench().connected()
    task, document = await bench.asked(bench.arm.write(gravity(4, 9)))
    assert document == {
        "session": 1, "epoch": 4, "cmd_seq": 9, "verb": "set", "item": "gravity_vector",
        "value": {"x": 0.0, "y": 0.0, "z": -9.81}, "expires_in_ms": 5000,
    }  # fmt: skip
    assert bench.bus.published[-1].expiry_s == 5
    bench.say("ack", {"session": 1, "epoch": 4, "cmd_seq": 9, "fence": [3, 9], "ok": True})
    assert await task is None


async def test_a_slot_with_a_mode_holds_the_bare_value() -> None:
    bench = await Bench().connected()
    slot, limit = ("twist_linear_soft_limit", 2), TwistLinearSoftLimit(ControlMode.CARTESIAN_JOYSTICK, 0.2)
    task, document = await bench.asked(bench.arm.write(Command(4, 1, Verb.SET, slot, limit)))
    assert (document["slot"], document["value"]) == ("CARTESIAN_JOYSTICK", 0.2)
    task.cancel()
    task, document = await bench.asked(bench.arm.read(slot))
    assert document == {
        "session": 1, "read": 2, "verb": "read", "item": slot[0], "slot": "CARTESIAN_JOYSTICK", "expires_in_ms": 2000
    }  # fmt: skip
    bench.say("ack", {"session": 1, "read": 2, "fence": [3, 9], "ok": True, "value": 0.25})
    assert await task == TwistLinearSoftLimit(ControlMode.CARTESIAN_JOYSTICK, 0.25)


async def test_a_reset_returns_what_the_arm_took() -> None:
    bench = await Bench().connected()
    task, document = await bench.asked(bench.arm.write(gravity(value=None)))
    assert "value" not in document
    bench.say("ack", {"session": 1, "epoch": 4, "cmd_seq": 1, "fence": [3, 9], "ok": True, "value": PLAIN})
    assert await task == DOWN


async def test_everything_is_read_at_once() -> None:
    bench = await Bench().connected()
    task, document = await bench.asked(bench.arm.read_all())
    assert document == {"session": 1, "read": 2, "verb": "read_all", "expires_in_ms": 2000}
    newer = {"item": "grip_force", "value": 3}
    bench.say("ack", {"session": 1, "read": 2, "fence": [3, 9], "ok": True, "items": [*ITEMS, newer], "took_ms": 3})
    assert len((await task).items) == len(ITEMS)


async def test_a_refusal_comes_with_its_numbers() -> None:
    bench = await Bench().connected()
    task, _ = await bench.asked(bench.arm.write(gravity()))
    error = {"code": 3, "sub_code": 48, "name": "VALUE_IS_ABOVE_MAXIMUM", "text": "too\nmuch"}
    bench.say("ack", {"session": 1, "epoch": 4, "cmd_seq": 1, "fence": [3, 9], "ok": False, "error": error})
    with pytest.raises(ArmRefusedError, match=r"too.much") as refusal:
        await task
    assert (refusal.value.code, refusal.value.sub_code, refusal.value.name) == (3, 48, "VALUE_IS_ABOVE_MAXIMUM")


async def test_an_arm_behind_a_gateway_can_be_out_of_reach() -> None:
    bench = await Bench().connected()
    task, _ = await bench.asked(bench.arm.write(gravity()))
    error = {"code": 3, "sub_code": 50, "name": "DEVICE_DISCONNECTED"}
    bench.say("ack", {"session": 1, "epoch": 4, "cmd_seq": 1, "fence": [3, 9], "ok": False, "error": error})
    with pytest.raises(ArmAwayError):
        await task


async def test_no_answer_is_a_timeout_and_a_late_answer_is_dropped() -> None:
    bench, loop = await Bench().connected(), asyncio.get_running_loop()
    began = loop.time()
    with pytest.raises(ArmTimeoutError):
        await bench.arm.write(gravity())
    assert loop.time() - began == pytest.approx(5.0)
    bench.say("ack", {"session": 1, "epoch": 4, "cmd_seq": 1, "fence": [3, 9], "ok": True})
    task, document = await bench.asked(bench.arm.read(GRAVITY))
    bench.say("ack", {"session": 1, "read": document["read"], "fence": [3, 9], "ok": True, "value": PLAIN})
    assert await task == DOWN


@pytest.mark.parametrize(
    "stray",
    [
        {"session": 2, "epoch": 4, "cmd_seq": 1, "fence": [3, 9], "ok": True},
        {"session": 1, "epoch": 4, "cmd_seq": 2, "fence": [3, 9], "ok": True},
        {"session": 1, "epoch": 3, "cmd_seq": 1, "fence": [3, 9], "ok": True},
        {"session": 1, "read": 4, "fence": [3, 9], "ok": True, "value": PLAIN},
    ],
)
async def test_the_answer_to_something_else_is_dropped(stray: dict[str, Any]) -> None:
    bench = await Bench().connected()
    task, _ = await bench.asked(bench.arm.write(gravity()))
    bench.say("ack", stray)
    await asyncio.sleep(1.0)
    assert not task.done()
    for _ in range(2):
        bench.say("ack", {"session": 1, "epoch": 4, "cmd_seq": 1, "fence": [3, 9], "ok": True})
    assert await task is None


async def test_what_lay_on_the_server_is_no_answer_and_no_report() -> None:
    bench = await Bench().connected()
    bench.bus.lose()
    for leaf, said in (
        ("ack", {"session": 1, "read": 2, "fence": [3, 9], "ok": True, "value": PLAIN}),
        ("report", report(1, 1)),
    ):
        bench.say(leaf, said, retain=True)
    bench.bus.restore()
    await bench.arm.connect()
    assert not [notice for notice in bench.notices if isinstance(notice, ArmChange)]


GARBAGE = [
    b"",
    b"\xff\xfe",
    b"[]",
    b"null",
    b'{"session":1,"session":2}',
    b"[" * 10_000,
    b'{"session":1,"read":2,"fence":[1,1],"ok":true,"value":NaN}',
    {"session": "1", "read": 2, "fence": [3, 9], "ok": True},
    {"session": 1, "read": 2, "fence": [3, 9], "ok": "yes"},
    {"session": 1, "fence": [3, 9], "ok": True},
    {"session": 1, "read": 2, "epoch": 1, "cmd_seq": 1, "fence": [3, 9], "ok": True},
    {"session": 1, "read": 2, "fence": [3, 9], "ok": False},
    {"session": 1, "read": 2, "fence": [3, 9], "ok": True, "error": {"code": 3, "sub_code": 1, "name": "X"}},
    {"session": 1, "read": 2, "fence": [3, 9], "ok": True},
    {"session": 1, "read": 2, "fence": [3, 9], "ok": True, "value": {"x": 0, "y": 0}},
    {"session": 1, "read": 2, "fence": [3, 9], "ok": True, "value": {"x": 0, "y": 0, "z": "9"}},
    {"session": 1, "read": 2, "fence": [3, 9], "ok": True, "value": {"x": 0, "y": 0, "z": 1e39}},
    {"session": 1, "read": 2, "fence": [3, 9], "ok": True, "value": {"x": 0, "y": 0, "z": 0, "w": 0}},
    {"session": 2**63, "read": 2, "fence": [3, 9], "ok": True, "value": PLAIN},
    {"session": 1, "read": 2, "fence": [3, 9], "ok": True, "value": PLAIN, "more": "x" * 70_000},
]


@pytest.mark.parametrize("said", GARBAGE, ids=lambda said: str(said)[:40])
async def test_an_answer_that_cannot_be_read_is_none(said: object) -> None:
    bench = await Bench().connected()
    task, _ = await bench.asked(bench.arm.read(GRAVITY))
    bench.say("ack", said)
    with pytest.raises(ArmUnreadableError):
        await task
    task, document = await bench.asked(bench.arm.read(GRAVITY))
    bench.say("ack", {"session": 1, "read": document["read"], "fence": [3, 9], "ok": True, "value": PLAIN})
    assert await task == DOWN


@pytest.mark.parametrize(
    "items",
    [None, [], ITEMS[1:], [*ITEMS, ITEMS[0]], [*ITEMS[1:], {"item": "gravity_vector", "slot": "IDLE", "value": PLAIN}]],
)
async def test_a_reading_of_everything_has_every_slot_once(items: Any) -> None:
    bench = await Bench().connected()
    task, _ = await bench.asked(bench.arm.read_all())
    bench.say("ack", {"session": 1, "read": 2, "fence": [3, 9], "ok": True, "items": items})
    with pytest.raises(ArmUnreadableError):
        await task


async def test_a_mode_without_a_name_stays_a_number() -> None:
    bench = await Bench().connected()
    bench.bus.agents.clear()
    task, _ = await bench.asked(bench.arm.read(("control_mode", 0)))
    bench.say("ack", {"session": 1, "read": 2, "fence": [3, 9], "ok": True, "value": {"control_mode": 99}})
    assert (await task).control_mode == 99


async def test_what_no_arm_has_is_refused_without_asking() -> None:
    bench = await Bench().connected()
    speeds = JointSpeedSoftLimits(ControlMode.ANGULAR_TRAJECTORY, (1.0, 1.0))
    for slot, value, sub_code in (
        (("joint_limits", 0), DOWN, 5),
        (("joint_speed_soft_limits", 0), speeds, 1),
        (("joint_speed_soft_limits", 1), speeds, 3),
        (("joint_speed_soft_limits", 1), DOWN, 3),
    ):
        with pytest.raises(ArmRefusedError) as refusal:
            await bench.arm.write(Command(4, 1, Verb.SET, slot, value))
        assert refusal.value.sub_code == sub_code
    with pytest.raises(ArmRefusedError):
        await bench.arm.read(("joint_acceleration_soft_limits", 2))
    assert len(bench.bus.published) == 1


async def test_a_death_ends_the_session_and_what_is_under_way() -> None:
    bench = await Bench().connected()
    task, _ = await bench.asked(bench.arm.write(gravity()))
    bench.say("death", {"session": 1})
    with pytest.raises(ArmTimeoutError):
        await task
    assert [(link.online, bool(link.why)) for link in bench.links] == [(False, True)]
    with pytest.raises(ArmAwayError):
        await bench.arm.read(GRAVITY)


async def test_a_late_death_ends_nothing() -> None:
    bench = await Bench().connected(5)
    bench.say("death", {"session": 4})
    assert bench.notices == []
    assert (await bench.arm.connect()).serial == "S1"


async def test_a_session_that_ended_does_not_come_back() -> None:
    bench = await Bench().connected(5)
    bench.say("death", {"session": 5})
    for session in (5, 4, 1):
        bench.say("birth", birth(session))
    with pytest.raises(ArmAwayError):
        await bench.arm.connect()
    bench.say("birth", birth(6))
    assert [link.online for link in bench.links] == [False, True]


async def test_a_death_of_a_session_never_heard_of_ends_those_before() -> None:
    bench = await Bench().connected(5)
    bench.say("death", {"session": 9})
    assert [link.online for link in bench.links] == [False]


async def test_an_old_birth_changes_nothing() -> None:
    bench = await Bench().connected(5)
    bench.say("birth", birth(4, serial="S0"))
    assert bench.notices == []
    assert (await bench.arm.connect()).serial == "S1"


async def test_a_new_session_is_lost_and_found() -> None:
    bench = await Bench().connected(5)
    task, _ = await bench.asked(bench.arm.write(gravity()))
    bench.say("birth", birth(6, serial="S2"))
    with pytest.raises(ArmTimeoutError):
        await task
    assert [(link.online, link.ready) for link in bench.links] == [(False, False), (True, True)]
    assert (await bench.arm.connect()).serial == "S2"


async def test_the_same_birth_again_changes_nothing() -> None:
    bench = await Bench().connected()
    bench.say("birth", birth(at="2026-11-30T09:12:04Z", fence=[9, 9]))
    assert bench.notices == []
    assert (await bench.arm.connect()).fence == (9, 9)


async def test_an_arm_that_becomes_another_in_one_session_is_lost_and_found() -> None:
    bench = await Bench().connected()
    bench.say("birth", birth(serial="S2"))
    assert [link.online for link in bench.links] == [False, True]


async def test_readiness_is_told_by_report_and_by_birth() -> None:
    bench = await Bench().connected()
    bench.say("report", {"session": 1, "n": 1, "ready": False, "why": "moving"})
    bench.say("birth", birth(ready=False, why="moving"))
    bench.say("birth", birth())
    assert bench.notices == [LinkState(online=True, ready=False, why="moving"), LinkState(online=True, ready=True)]


async def test_what_an_arm_does_is_told_at_each_connect_by_report_and_by_birth() -> None:
    bench = await Bench().connected(activity="idle")
    bench.say("report", {"session": 1, "n": 1, "ready": True, "activity": "moving"})
    bench.say("birth", birth(activity="moving"))
    bench.say("birth", birth())
    assert [link.activity for link in bench.links] == [Activity.IDLE, Activity.MOVING, Activity.UNKNOWN]
    assert all(link.ready for link in bench.links)


async def test_an_arm_that_is_not_ready_is_told_so_at_each_connect() -> None:
    bench = await Bench().connected(ready=False, why="local control")
    assert bench.notices == [LinkState(online=True, ready=False, why="local control")]


async def test_a_birth_that_cannot_be_read_is_none() -> None:
    bench = await Bench().connected()
    bench.say("birth", birth(joints=[]))
    assert [link.online for link in bench.links] == [False]
    with pytest.raises(ArmUnreadableError, match="joints"):
        await bench.arm.connect()
    bench.say("birth", birth())
    assert [link.online for link in bench.links] == [False, True]


async def test_a_birth_that_cannot_be_read_ends_the_waiting() -> None:
    bench = Bench()
    connecting = asyncio.create_task(bench.arm.connect())
    await asyncio.sleep(0.5)
    bench.say("birth", b"?")
    with pytest.raises(ArmUnreadableError):
        await connecting
    assert asyncio.get_running_loop().time() == pytest.approx(0.5)


async def test_a_birth_taken_back_ends_the_arm_and_its_numbers() -> None:
    bench = await Bench().connected(7)
    bench.say("birth", b"")
    bench.say("birth", birth(1))
    assert [link.online for link in bench.links] == [False, True]


async def test_a_death_that_cannot_be_read_or_was_taken_back_ends_nothing() -> None:
    bench = await Bench().connected()
    for said in (b"", b"?", {"session": 0}, {}):
        bench.say("death", said, retain=False)
    assert bench.notices == []


async def test_without_the_server_nobody_is_there_until_it_says_so_again() -> None:
    bench = await Bench().connected(3)
    task, _ = await bench.asked(bench.arm.write(gravity()))
    bench.bus.lose()
    with pytest.raises(ArmTimeoutError):
        await task
    bench.bus.restore()
    assert [link.online for link in bench.links] == [False, True]
    bench.bus.lose()
    bench.say("death", {"session": 3})
    bench.bus.restore()
    assert [link.online for link in bench.links] == [False, True, False]


async def test_a_server_that_lost_its_store_may_forget_an_arm() -> None:
    bench = await Bench().connected(3)
    bench.bus.lose()
    bench.bus.say("r12", "birth", b"", retain=True)
    bench.bus.restore()
    bench.say("birth", birth(2))
    with pytest.raises(ArmAwayError):
        await bench.arm.connect()
    bench.say("birth", birth(4))
    assert (await bench.arm.connect()).serial == "S1"


async def test_changes_are_told() -> None:
    bench = await Bench().connected()
    bench.say("report", report(1, 1))
    bench.say("report", report(1, 2, ours=True, connection=""))
    slot = {"item": "joint_speed_soft_limits", "slot": "ANGULAR_JOYSTICK", "event": "JOINT_SPEED_SOFT_LIMITS_CHANGED"}
    bench.say("report", report(1, 3, **slot, value=[1, 2]))
    bench.say("report", report(1, 4, event="CONTROL_MODE_CHANGED", item="control_mode"))
    bench.say("report", {"session": 1, "n": 5, "event": "CONTROL_CONFIGURATION_FACTORY_RESTORED"})
    assert bench.notices == [
        ArmChange(2, GRAVITY, ours=False, connection="pendant"),
        ArmChange(2, GRAVITY, ours=True),
        ArmChange(16, ("joint_speed_soft_limits", 1), ours=False, connection="pendant"),
        ArmChange(0, ("control_mode", 0), ours=False, connection="pendant"),
        ArmChange(10, None, ours=False),
    ]


async def test_a_replayed_report_is_dropped() -> None:
    bench = await Bench().connected(5)
    bench.say("report", report(5, 1))
    for session, n in ((5, 1), (4, 1), (4, 2), (6, 1)):
        bench.say("report", report(session, n))
    assert len(bench.notices) == 1


async def test_a_gap_has_everything_read_again() -> None:
    bench = await Bench().connected()
    bench.say("report", report(1, 1))
    bench.say("report", report(1, 4))
    await asyncio.sleep(0.1)
    assert [type(notice) for notice in bench.notices] == [ArmChange, ArmChange, Reread]
    assert bench.notices[-1] == Reread("reports 2 to 3 were lost")


async def test_reports_before_the_service_came_are_no_gap() -> None:
    bench = Bench()
    bench.bus.lose()
    bench.say("birth", birth())
    bench.bus.restore()
    await bench.arm.connect()
    bench.say("report", report(1, 40))
    bench.say("report", report(1, 41))
    await asyncio.sleep(5.0)
    assert [type(notice) for notice in bench.notices] == [ArmChange, ArmChange]


BAD_REPORTS = [
    b"?",
    {"session": 1, "n": 1},
    report(1, 1, event="NO_SUCH_EVENT"),
    report(1, 1, item="tool_configuration"),
    report(1, 1, item="no_item"),
    report(1, 1, slot="IDLE"),
    report(1, 1, event="ANGLE_UNIT_CHANGED"),
    report(1, 0),
    report(1, 1, ours="yes"),
]


@pytest.mark.parametrize("said", BAD_REPORTS, ids=lambda said: str(said)[:60])
async def test_a_report_that_cannot_be_read_may_have_been_any(said: object) -> None:
    bench = await Bench().connected()
    bench.say("report", said)
    await asyncio.sleep(0.1)
    assert bench.notices == [Reread("a report cannot be read")]


async def test_everything_is_read_once_a_second_at_most() -> None:
    bench = await Bench().connected()
    for n in range(1, 101, 2):
        bench.say("report", report(1, n + 1))
        await asyncio.sleep(0.1)
    await asyncio.sleep(5.0)
    rereads = [notice for notice in bench.notices if isinstance(notice, Reread)]
    assert 4 <= len(rereads) <= 7


async def test_an_arm_that_says_too_much_is_not_heard_for_a_while() -> None:
    bench = await Bench().connected()
    for n in range(1, 3 * MESSAGES_MOST):
        bench.say("report", report(1, n))
    assert MESSAGES_MOST - 2 <= len(bench.notices) <= MESSAGES_MOST
    assert [link.online for link in bench.links] == [False]
    bench.say("birth", birth(2))
    await asyncio.sleep(UNHEARD_S + 0.1)
    assert [link.online for link in bench.links] == [False, True]
    bench.say("report", report(2, 300))
    await asyncio.sleep(5.0)
    assert bench.notices[-1] == ArmChange(2, GRAVITY, ours=False, connection="pendant")


async def test_an_arm_that_died_while_it_was_not_heard_is_gone() -> None:
    bench = await Bench().connected()
    for n in range(1, 2 * MESSAGES_MOST):
        bench.say("report", report(1, n))
    bench.say("death", {"session": 1})
    await asyncio.sleep(UNHEARD_S + 0.1)
    assert [link.online for link in bench.links] == [False]


async def test_a_closed_adapter_says_and_hears_nothing() -> None:
    bench = await Bench().connected()
    bench.say("report", report(1, 3))
    bench.say("report", report(1, 9))
    task, _ = await bench.asked(bench.arm.write(gravity()))
    await bench.arm.close()
    await bench.arm.close()
    with pytest.raises(ArmTimeoutError):
        await task
    told = len(bench.notices)
    bench.say("birth", birth(9))
    with pytest.raises(ArmAwayError):
        await bench.arm.connect()
    await asyncio.sleep(10.0)
    assert len(bench.notices) == told
