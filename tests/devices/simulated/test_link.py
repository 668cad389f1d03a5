"""What the faults of its link do to a simulated arm, to the letter and to the second."""

import asyncio

import pytest

from devices.adapter import ArmAwayError, ArmRefusedError, ArmTimeoutError, LinkState
from schema.arms import Activity, Fault, Slot
from schema.enums import ControlMode
from schema.messages import JointSpeedSoftLimits
from tests.devices.simulated.bench import Bench, Commands, changes, link_states
from tests.devices.simulated.values import FAST, GRAVITY, SLOW, SPEEDS, assert_close


async def test_a_foreign_change_is_told_as_not_ours(rig: Bench) -> None:
    rig.inject(Fault("foreign_change", slot=SPEEDS, value=JointSpeedSoftLimits(ControlMode(4), (10.0,) * 7)))
    (told,) = changes(rig)
    assert (told.event, told.slot, told.ours) == (16, SPEEDS, False)
    read = await rig.arm.read(SPEEDS)
    assert_close(read, JointSpeedSoftLimits(ControlMode(4), (10.0,) * 7), rig.arm.resolution_rad)


async def test_a_foreign_change_that_the_arm_refuses_changes_nothing(rig: Bench) -> None:
    before = await rig.arm.read_all()
    with pytest.raises(ArmRefusedError):
        rig.inject(Fault("foreign_change", slot=SPEEDS, value=JointSpeedSoftLimits(ControlMode(4), (99.0,) * 7)))
    assert await rig.arm.read_all() == before
    assert rig.notices == []


async def test_refuse_takes_nothing_and_reads_still_answer(rig: Bench) -> None:
    before = await rig.arm.read(GRAVITY)
    rig.inject(Fault("refuse"))
    with pytest.raises(ArmRefusedError) as refusal:
        await rig.arm.write(Commands().set(GRAVITY, FAST))
    assert (refusal.value.code, refusal.value.sub_code, refusal.value.name) == (3, 1, "METHOD_FAILED")
    assert await rig.arm.read(GRAVITY) == before


@pytest.mark.parametrize(
    ("narrowed", "refuses"), [(SPEEDS, True), (("joint_speed_soft_limits", 0), True), (GRAVITY, False)]
)
async def test_refuse_can_be_narrowed_to_a_slot_or_an_item(rig: Bench, narrowed: Slot, refuses: bool) -> None:
    rig.inject(Fault("refuse", slot=narrowed))
    command = Commands().set(SPEEDS, JointSpeedSoftLimits(ControlMode(4), (10.0,) * 7))
    if refuses:
        with pytest.raises(ArmRefusedError):
            await rig.arm.write(command)
    else:
        await rig.arm.write(command)


async def test_a_lost_answer_is_a_timeout_and_the_read_back_tells(rig: Bench) -> None:
    rig.inject(Fault("lose_answer"))
    start = asyncio.get_running_loop().time()
    with pytest.raises(ArmTimeoutError):
        await rig.arm.write(Commands().set(GRAVITY, FAST))
    assert asyncio.get_running_loop().time() - start == pytest.approx(rig.deadlines.write_s)
    assert await rig.arm.read(GRAVITY) == FAST


async def test_a_delayed_answer_within_the_deadline_is_an_answer(rig: Bench) -> None:
    rig.inject(Fault("delay", delay_ms=1_500))
    start = asyncio.get_running_loop().time()
    await rig.arm.write(Commands().set(GRAVITY, FAST))
    assert asyncio.get_running_loop().time() - start >= 1.5


async def test_a_delay_beyond_the_deadline_is_a_timeout_and_takes_effect_later(rig: Bench) -> None:
    rig.inject(Fault("delay", delay_ms=6_000))
    with pytest.raises(ArmTimeoutError):
        await rig.arm.write(Commands().set(GRAVITY, FAST))
    rig.inject(Fault("none"))
    assert await rig.arm.read(GRAVITY) == FAST


async def test_the_end_of_a_delay_ends_that_of_what_is_on_its_way(rig: Bench) -> None:
    rig.inject(Fault("delay", delay_ms=3_600_000))
    with pytest.raises(ArmTimeoutError):
        await rig.arm.write(Commands().set(GRAVITY, FAST))
    rig.inject(Fault("none"))
    assert await rig.arm.read(GRAVITY) == FAST


async def test_a_hanging_arm_acts_in_order_when_the_hang_ends(rig: Bench) -> None:
    commands = Commands()
    rig.inject(Fault("hang"))
    for value in (SLOW, FAST):
        with pytest.raises(ArmTimeoutError):
            await rig.arm.write(commands.set(GRAVITY, value))
    with pytest.raises(ArmTimeoutError):
        await rig.arm.read(GRAVITY)
    assert rig.notices == []
    rig.inject(Fault("none"))
    assert await rig.arm.read(GRAVITY) == FAST
    assert [(told.event, told.ours) for told in changes(rig)] == [(2, True)] * 2


async def test_a_caller_waits_for_a_short_hang(rig: Bench) -> None:
    rig.inject(Fault("hang", for_ms=1_000))
    start = asyncio.get_running_loop().time()
    await rig.arm.write(Commands().set(GRAVITY, FAST))
    assert asyncio.get_running_loop().time() - start >= 0.999
    assert await rig.arm.read(GRAVITY) == FAST


async def test_a_write_whose_caller_gave_up_takes_effect_all_the_same(rig: Bench) -> None:
    rig.inject(Fault("hang", for_ms=1_000))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(rig.arm.write(Commands().set(GRAVITY, FAST)), 0.1)
    rig.inject(Fault("none"))
    assert await rig.arm.read(GRAVITY) == FAST


async def test_an_arm_goes_away_and_comes_back(rig: Bench) -> None:
    rig.inject(Fault("offline", for_ms=30_000))
    (gone,) = link_states(rig)
    assert (gone.online, gone.ready) == (False, False)
    assert gone.why
    for call in (rig.arm.connect, rig.arm.read_all):
        with pytest.raises(ArmAwayError):
            await call()
    with pytest.raises(ArmAwayError):
        await rig.arm.write(Commands().set(GRAVITY, FAST))
    await asyncio.sleep(31)
    assert link_states(rig) == [gone, LinkState(True, True, activity=Activity.IDLE)]
    await rig.arm.connect()
    assert await rig.arm.read(GRAVITY) != FAST


async def test_a_change_while_away_is_read_later_and_not_told(rig: Bench) -> None:
    rig.inject(Fault("offline"))
    rig.inject(Fault("foreign_change", slot=GRAVITY, value=SLOW))
    rig.inject(Fault("none"))
    assert changes(rig) == []
    assert (await rig.arm.read_all()).items[GRAVITY] == SLOW


async def test_a_write_on_its_way_when_the_link_drops_has_an_unknown_outcome(rig: Bench) -> None:
    rig.inject(Fault("hang"))
    write = asyncio.create_task(rig.arm.write(Commands().set(GRAVITY, FAST)))
    await asyncio.sleep(0.1)
    rig.inject(Fault("offline"))
    with pytest.raises(ArmTimeoutError):
        await write
    rig.inject(Fault("none"))
    assert await rig.arm.read(GRAVITY) == FAST


async def test_an_arm_that_closes_tells_nothing_more(rig: Bench) -> None:
    rig.inject(Fault("hang"))
    write = asyncio.create_task(rig.arm.write(Commands().set(GRAVITY, FAST)))
    await asyncio.sleep(0.1)
    await rig.arm.close()
    with pytest.raises(ArmTimeoutError):
        await write
    assert rig.notices == []
