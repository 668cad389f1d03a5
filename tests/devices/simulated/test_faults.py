"""The faults that begin anew, garble, halve or bar; those of the link are in the conformance suite."""

import asyncio
import os

import pytest

from devices.adapter import (
    ArmAwayError,
    ArmRefusedError,
    ArmTimeoutError,
    ArmUnreadableError,
    Command,
    LinkState,
    Notice,
)
from devices.simulated.arm import AWAY_MS
from limits.kinova_models import MODELS
from schema.arms import Activity, Fault, Slot, Verb
from schema.enums import ControlMode
from schema.messages import (
    GravityVector,
    JointSpeeds,
    JointSpeedSoftLimits,
    LinearTwist,
    Message,
    PayloadInformation,
    TwistAngularSoftLimit,
    TwistLinearSoftLimit,
)
from tests.devices.simulated.bench import Bench

GRAVITY: Slot = ("gravity_vector", 0)
PAYLOAD: Slot = ("payload_information", 0)
TWIST: Slot = ("twist_linear_soft_limit", 5)
CARTESIAN = ControlMode.CARTESIAN_TRAJECTORY
MOVING = LinkState(True, False, "simulated fault: moving", Activity.MOVING)
IDLE = LinkState(True, True, activity=Activity.IDLE)
DEFAULT = MODELS["gen3_7dof"].gravity


def set_gravity(number: int, x: float) -> Command:
    return Command(1, number, Verb.SET, GRAVITY, GravityVector(x))


async def test_garbage_makes_every_answer_unreadable_and_writes_are_acted_upon(rig: Bench) -> None:
    arm = rig.arm
    arm.inject(Fault("garbage"))
    for call in (arm.read(GRAVITY), arm.read_all(), arm.connect(), arm.write(set_gravity(1, 2.0))):
        with pytest.raises(ArmUnreadableError):
            await call
    with pytest.raises(ArmUnreadableError):
        await arm.write(Command(1, 2, Verb.SET, TWIST, TwistLinearSoftLimit(CARTESIAN, 9.0)))
    arm.inject(Fault("none"))
    assert await arm.read(GRAVITY) == GravityVector(2.0)
    with pytest.raises(ArmRefusedError):
        await arm.write(Command(1, 2, Verb.SET, TWIST, TwistLinearSoftLimit(CARTESIAN, 9.0)))


async def test_garbage_reaches_an_arm_without_latency(rig: Bench) -> None:
    arm = rig._fleet.arm("r13", "gen3_7dof", {"latency_ms": 0})
    await arm.connect()
    arm.inject(Fault("garbage", for_ms=100))
    with pytest.raises(ArmUnreadableError):
        await arm.read(GRAVITY)
    await asyncio.sleep(1)
    assert await arm.read(GRAVITY) == DEFAULT
    await arm.close()


@pytest.mark.parametrize(
    ("slot", "wanted", "kept"),
    [
        (TWIST, TwistLinearSoftLimit(CARTESIAN, 0.3), TwistLinearSoftLimit(CARTESIAN, 0.15)),
        (
            ("joint_speed_soft_limits", 5),
            JointSpeedSoftLimits(CARTESIAN, (60.0,) * 7),
            JointSpeedSoftLimits(CARTESIAN, (30.00007,) * 7),
        ),
        (("desired_linear_twist", 0), LinearTwist(0.2), LinearTwist(0.1)),
        (("desired_joint_speeds", 0), JointSpeeds((0.0,) * 7), JointSpeeds((0.0,) * 7)),
        (GRAVITY, GravityVector(9.81), GravityVector(9.81)),
        (PAYLOAD, PayloadInformation(1.0), PayloadInformation(1.0)),
    ],
)
async def test_clamp_takes_half_of_a_bound_and_the_whole_of_other_items(
    rig: Bench, slot: Slot, wanted: Message, kept: Message
) -> None:
    rig.arm.inject(Fault("clamp"))
    assert await rig.arm.write(Command(1, 1, Verb.SET, slot, wanted)) is None
    assert await rig.arm.read(slot) == kept


async def test_clamp_refuses_what_is_too_much_and_takes_the_least_step_whole(rig: Bench) -> None:
    arm = rig.arm
    arm.inject(Fault("clamp"))
    with pytest.raises(ArmRefusedError, match="above the hard limit"):
        await arm.write(Command(1, 1, Verb.SET, TWIST, TwistLinearSoftLimit(CARTESIAN, 0.9)))
    least = TwistAngularSoftLimit(CARTESIAN, 0.0057295780)
    await arm.write(Command(1, 2, Verb.SET, ("twist_angular_soft_limit", 5), least))
    assert await arm.read(("twist_angular_soft_limit", 5)) == TwistAngularSoftLimit(CARTESIAN, 0.005729578)


async def test_clamp_leaves_resets_alone(rig: Bench) -> None:
    arm = rig.arm
    default = await arm.read(TWIST)
    arm.inject(Fault("clamp"))
    assert await arm.write(Command(1, 1, Verb.RESET, TWIST, None)) == default


@pytest.mark.parametrize("fault", ["local", "fault"])
async def test_an_arm_in_local_control_or_in_fault_says_so_and_takes_nothing(rig: Bench, fault: str) -> None:
    arm = rig.arm
    arm.inject(Fault("moving"))
    arm.inject(Fault(fault))
    with pytest.raises(ArmRefusedError) as refusal:
        await arm.write(set_gravity(1, 2.0))
    assert (refusal.value.sub_code, refusal.value.name) == (51, "DEVICE_NOT_READY")
    assert await arm.read(GRAVITY) == DEFAULT
    arm.inject(Fault("none"))
    assert rig.notices == [MOVING, LinkState(True, False, f"simulated fault: {fault}", Activity(fault)), IDLE]


async def test_an_arm_in_fault_says_so_when_its_link_comes_back(rig: Bench) -> None:
    rig.arm.inject(Fault("fault"))
    rig.arm.inject(Fault("offline", for_ms=1_000))
    await asyncio.sleep(2)
    told = LinkState(True, False, "simulated fault: fault", Activity.FAULT)
    assert rig.notices == [told, LinkState(False, False, "simulated fault: offline"), told]


async def test_a_moving_arm_refuses_and_answers_reads(rig: Bench) -> None:
    arm = rig.arm
    arm.inject(Fault("moving", for_ms=30_000))
    assert rig.notices == [MOVING]
    for _ in range(2):
        with pytest.raises(ArmRefusedError) as refusal:
            await arm.write(set_gravity(1, 2.0))
        assert (refusal.value.code, refusal.value.sub_code) == (3, 18)
        assert refusal.value.name == "ROBOT_MOVEMENT_IN_PROGRESS"
    assert await arm.read(GRAVITY) == DEFAULT
    await arm.connect()
    assert rig.notices[1:] == [MOVING]
    await asyncio.sleep(31)
    assert rig.notices[2:] == [IDLE]
    await arm.write(set_gravity(2, 2.0))
    assert await arm.read(GRAVITY) == GravityVector(2.0)


async def test_an_arm_that_moves_when_its_link_comes_back_is_not_ready(rig: Bench) -> None:
    rig.arm.inject(Fault("offline", for_ms=1_000))
    rig.arm.inject(Fault("moving"))
    await asyncio.sleep(2)
    assert rig.notices[0] == LinkState(False, False, "simulated fault: offline")
    assert rig.notices[-1] == MOVING


@pytest.mark.parametrize(("for_ms", "away_s"), [(0, AWAY_MS / 1000), (7_000, 7.0)])
@pytest.mark.parametrize("fault", ["reboot", "swap_serial"])
async def test_an_arm_that_begins_anew_is_away_for_a_time(rig: Bench, fault: str, for_ms: int, away_s: float) -> None:
    loop = asyncio.get_running_loop()
    begun, back = loop.time(), asyncio.Event()

    def hear(notice: Notice) -> None:
        rig.notices.append(notice)
        if notice == IDLE:
            back.set()

    rig.arm.watch(hear)
    rig.arm.inject(Fault(fault, for_ms=for_ms))
    assert rig.notices == [LinkState(False, False, f"simulated fault: {fault}")]
    with pytest.raises(ArmAwayError):
        await rig.arm.connect()
    await back.wait()
    assert loop.time() - begun == pytest.approx(away_s)


async def test_a_reboot_brings_the_values_of_the_last_start_back(rig: Bench) -> None:
    arm = rig.arm
    await arm.write(set_gravity(1, 2.0))
    await rig.reopen()
    arm = rig.arm
    await arm.write(set_gravity(2, 3.0))
    await arm.write(Command(1, 3, Verb.SET, PAYLOAD, PayloadInformation(1.0)))
    payload = (await arm.connect()).payload_max
    arm.inject(Fault("reboot"))
    arm.inject(Fault("none"))
    assert await arm.read(GRAVITY) == GravityVector(2.0)
    assert await arm.read(PAYLOAD) != PayloadInformation(1.0)
    await rig.reopen()
    arm = rig.arm
    assert await arm.read(GRAVITY) == GravityVector(2.0)
    description = await arm.connect()
    assert (description.payload_max, description.fence) == (payload, (1, 3))


async def test_a_reboot_forgets_what_was_on_its_way(rig: Bench) -> None:
    arm = rig.arm
    arm.inject(Fault("hang"))
    writes = [asyncio.create_task(arm.write(set_gravity(number, 2.0))) for number in (1, 2)]
    await asyncio.sleep(0.1)
    arm.inject(Fault("reboot"))
    for write in writes:
        with pytest.raises(ArmTimeoutError):
            await write
    arm.inject(Fault("none"))
    assert await arm.read(GRAVITY) == DEFAULT
    assert (await arm.connect()).fence == (0, 0)


async def test_a_reboot_while_working_takes_calls_at_once_when_it_is_back(rig: Bench) -> None:
    arm = rig.arm
    arm.inject(Fault("hang"))
    with pytest.raises(ArmTimeoutError):
        await arm.read(GRAVITY)
    write = asyncio.create_task(arm.write(set_gravity(1, 2.0)))
    await asyncio.sleep(0.1)
    arm.inject(Fault("reboot"))
    arm.inject(Fault("none"))
    assert await arm.read(GRAVITY) == DEFAULT
    with pytest.raises(ArmTimeoutError):
        await write


async def test_a_swapped_arm_is_another_one_for_good(rig: Bench) -> None:
    arm = rig.arm
    serials = [(await arm.connect()).serial]
    await arm.write(set_gravity(1, 2.0))
    for _ in range(2):
        arm.inject(Fault("swap_serial"))
        arm.inject(Fault("none"))
        description = await arm.connect()
        assert description.fence == (0, 0)
        assert await arm.read(GRAVITY) == DEFAULT
        serials.append(description.serial)
    assert len(set(serials)) == 3
    await arm.write(set_gravity(5, 3.0))
    for _ in range(2):
        await rig.reopen()
        arm = rig.arm
        assert (await arm.connect()).serial == serials[-1]
        assert await arm.read(GRAVITY) == GravityVector(3.0)


async def test_an_arm_whose_memory_cannot_be_written_does_not_begin_anew(rig: Bench) -> None:
    arm, store = rig.arm, rig._fleet._store
    await arm.write(set_gravity(1, 2.0))
    serial = (await rig.connect()).serial
    journal, store._journal = store._journal, os.open("/dev/full", os.O_WRONLY)
    for fault in ("reboot", "swap_serial"):
        with pytest.raises(ArmRefusedError, match="No space left"):
            arm.inject(Fault(fault))
    os.close(store._journal)
    store._journal = journal
    assert [notice for notice in rig.notices if isinstance(notice, LinkState)] == []
    assert (await arm.connect()).serial == serial
    assert await arm.read(GRAVITY) == GravityVector(2.0)
