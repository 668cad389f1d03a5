"""What a simulated arm holds, takes and tells, to the letter; the suite asks less of every adapter."""

import pytest

from devices.adapter import ArmAwayError, ArmRefusedError, Command
from schema.arms import Fault, Slot, Verb
from schema.enums import ControlMode
from schema.messages import (
    ControlModeInformation,
)
from tests.devices.simulated.bench import Bench, Commands, changes
from tests.devices.simulated.values import (
    FAST,
    GRAVITY,
    MODE_SLOT,
    NOT_RESETTABLE,
    REFUSED,
    RESETTABLE,
    SLOW,
    SPEEDS,
    VALUES,
    assert_close,
)


async def test_an_arm_describes_itself(rig: Bench) -> None:
    description = await rig.arm.connect()
    joints = [joint.name for joint in description.joints]
    assert joints == [f"joint_{number}" for number in range(1, 8)]
    assert len(description.hard_limits.joint_speed_limits) == 7
    assert len(description.hard_limits.joint_acceleration_limits) == 7
    assert description.model
    assert description.serial
    assert description.firmware
    assert description.hard_source in ("hard:device", "hard:profile")


async def test_nothing_can_be_asked_of_an_arm_that_was_closed(rig: Bench) -> None:
    await rig.arm.close()
    await rig.arm.close()
    with pytest.raises(ArmAwayError):
        await rig.arm.read(GRAVITY)
    with pytest.raises(ArmAwayError):
        await rig.arm.write(Commands().set(GRAVITY, FAST))


async def test_read_all_has_every_slot_and_agrees_with_read(rig: Bench) -> None:
    snapshot = await rig.arm.read_all()
    assert set(snapshot.items) == {*VALUES, MODE_SLOT}
    for slot, value in snapshot.items.items():
        assert await rig.arm.read(slot) == value


@pytest.mark.parametrize("slot", VALUES)
async def test_what_was_set_is_read_back_and_told(rig: Bench, slot: Slot) -> None:
    value, event = VALUES[slot]
    before = await rig.arm.read_all()
    assert await rig.arm.write(Commands().set(slot, value)) is None
    read = await rig.arm.read(slot)
    assert_close(read, value, rig.arm.resolution_rad)
    after = await rig.arm.read_all()
    assert after.items == {**before.items, slot: read}
    (told,) = changes(rig)
    assert (told.event, told.slot, told.ours) == (event, slot, True)
    assert told.connection


async def test_a_value_read_back_can_be_set_again_and_stays(rig: Bench) -> None:
    commands = Commands()
    for slot, value in (await rig.arm.read_all()).items.items():
        await rig.arm.write(commands.set(slot, value))
        assert await rig.arm.read(slot) == value


async def test_setting_the_same_value_is_told_again(rig: Bench) -> None:
    commands = Commands()
    await rig.arm.write(commands.set(GRAVITY, FAST))
    await rig.arm.write(commands.set(GRAVITY, FAST))
    assert [told.event for told in changes(rig)] == [2, 2]


@pytest.mark.parametrize("slot", RESETTABLE)
async def test_a_reset_brings_the_default_back_and_is_told(rig: Bench, slot: Slot) -> None:
    value, event = VALUES[slot]
    commands = Commands()
    default = await rig.arm.read(slot)
    await rig.arm.write(commands.set(slot, value))
    assert await rig.arm.write(commands.reset(slot)) == default
    assert await rig.arm.read(slot) == default
    assert [(told.event, told.ours) for told in changes(rig)] == [(event, True)] * 2


@pytest.mark.parametrize("slot", NOT_RESETTABLE)
async def test_an_item_without_reset_refuses_it(rig: Bench, slot: Slot) -> None:
    with pytest.raises(ArmRefusedError) as refusal:
        await rig.arm.write(Commands().reset(slot))
    assert (refusal.value.code, refusal.value.sub_code) == (3, 5)


async def test_settable_modes_are_taken_and_told_as_mode_events(rig: Bench) -> None:
    commands = Commands()
    settable = (await rig.arm.connect()).modes_settable
    for mode in settable:
        wanted = ControlModeInformation(ControlMode(mode))
        await rig.arm.write(commands.set(MODE_SLOT, wanted))
        assert await rig.arm.read(MODE_SLOT) == wanted
    assert [(told.event, told.slot) for told in changes(rig)] == [(0, MODE_SLOT)] * len(settable)


@pytest.mark.parametrize("mode", sorted(set(ControlMode) - {ControlMode.UNSPECIFIED_CONTROL_MODE}))
async def test_other_modes_are_refused(rig: Bench, mode: ControlMode) -> None:
    if mode in (await rig.arm.connect()).modes_settable:
        return
    with pytest.raises(ArmRefusedError) as refusal:
        await rig.arm.write(Commands().set(MODE_SLOT, ControlModeInformation(mode)))
    assert (refusal.value.code, refusal.value.name) == (3, "UNSUPPORTED_METHOD")


@pytest.mark.parametrize("case", REFUSED)
async def test_an_arm_refuses_by_itself_and_takes_nothing(rig: Bench, case: str) -> None:
    slot, value, sub_code = REFUSED[case]
    before = await rig.arm.read_all()
    with pytest.raises(ArmRefusedError) as refusal:
        await rig.arm.write(Commands().set(slot, value))
    assert (refusal.value.code, refusal.value.sub_code) == (3, sub_code)
    assert str(refusal.value)
    assert await rig.arm.read_all() == before
    assert rig.notices == []


async def test_a_mode_without_limit_cannot_be_read(rig: Bench) -> None:
    with pytest.raises(ArmRefusedError) as refusal:
        await rig.arm.read(("joint_acceleration_soft_limits", 2))
    assert (refusal.value.code, refusal.value.sub_code) == (3, 1)


async def test_a_command_older_than_the_last_is_refused(rig: Bench) -> None:
    await rig.arm.write(Command(7, 5, Verb.SET, GRAVITY, FAST))
    for pair in ((7, 4), (6, 99)):
        with pytest.raises(ArmRefusedError):
            await rig.arm.write(Command(*pair, Verb.SET, GRAVITY, SLOW))
    assert await rig.arm.read(GRAVITY) == FAST
    await rig.arm.write(Command(8, 1, Verb.SET, GRAVITY, SLOW))
    assert await rig.arm.read(GRAVITY) == SLOW


async def test_the_same_command_is_answered_again_and_not_carried_out_again(rig: Bench) -> None:
    command = Command(7, 1, Verb.SET, GRAVITY, FAST)
    await rig.arm.write(command)
    rig.inject(Fault("foreign_change", slot=GRAVITY, value=SLOW))
    assert await rig.arm.write(command) is None
    assert await rig.arm.read(GRAVITY) == SLOW
    assert [told.ours for told in changes(rig)] == [True, False]


async def test_the_same_reset_is_answered_with_the_same_value(rig: Bench) -> None:
    command = Command(7, 1, Verb.RESET, GRAVITY, None)
    default = await rig.arm.write(command)
    rig.inject(Fault("foreign_change", slot=GRAVITY, value=SLOW))
    assert await rig.arm.write(command) == default
    assert await rig.arm.read(GRAVITY) == SLOW


async def test_the_same_refused_command_is_refused_again(rig: Bench) -> None:
    rig.inject(Fault("refuse"))
    command = Command(7, 1, Verb.SET, GRAVITY, FAST)
    with pytest.raises(ArmRefusedError) as first:
        await rig.arm.write(command)
    rig.inject(Fault("none"))
    with pytest.raises(ArmRefusedError) as again:
        await rig.arm.write(command)
    assert (again.value.code, again.value.sub_code) == (first.value.code, first.value.sub_code)


async def test_an_arm_keeps_values_serial_number_and_fence_over_a_restart(rig: Bench) -> None:
    await rig.arm.write(Command(7, 3, Verb.SET, GRAVITY, FAST))
    for number, (slot, (value, _)) in enumerate(VALUES.items(), 4):
        await rig.arm.write(Command(7, number, Verb.SET, slot, value))
    serial, before = (await rig.arm.connect()).serial, await rig.arm.read_all()
    last = Command(8, 1, Verb.RESET, SPEEDS, None)
    default = await rig.arm.write(last)
    await rig.reopen()
    assert (await rig.connect()).serial == serial
    assert (await rig.arm.read_all()).items == {**before.items, SPEEDS: default}
    assert await rig.arm.write(last) == default
    with pytest.raises(ArmRefusedError):
        await rig.arm.write(Command(8, 0, Verb.SET, GRAVITY, SLOW))
    assert rig.notices == []


async def test_the_methods_of_an_arm_are_named(rig: Bench) -> None:
    assert {"SetGravityVector", "GetControlMode", "Unsubscribe"} <= rig.arm.methods
