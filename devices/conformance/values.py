"""Behaviours of an arm that is well: contact, values, refusals."""

from devices.adapter import ArmChange
from devices.conformance.rig import Rig
from devices.conformance.steps import Commands, expect, expect_away, expect_read, expect_refusal, is_close
from schema.arms import Slot
from schema.enums import ControlMode
from schema.messages import ControlModeInformation

MODE_SLOT: Slot = ("control_mode", 0)


async def connects(rig: Rig) -> None:
    """An arm tells what it is, the same at each connect."""
    first, again = await rig.arm.connect(), await rig.arm.connect()
    for name in ("model", "serial", "firmware", "joints"):
        expect(getattr(first, name), f"no {name}")
    names = [joint.name for joint in first.joints]
    expect(len(set(names)) == len(names), f"joints with one name: {names}")
    limits = first.hard_limits
    for list_name in ("joint_speed_limits", "joint_acceleration_limits"):
        count = len(getattr(limits, list_name))
        expect(count in (0, len(names)), f"{list_name} has {count} values for {len(names)} joints")
    expect(first.hard_source in ("", "hard:device", "hard:profile"), f"hard_source {first.hard_source!r}")
    expect(first == again, f"another description at the second connect: {again} instead of {first}")


async def reads_all(rig: Rig) -> None:
    """Everything that the arm holds is read at once, and agrees with what is read one by one."""
    items = (await rig.arm.read_all()).items
    expect({key for key, _ in items} == rig.arm.items, f"read {sorted(items)}, items are {sorted(rig.arm.items)}")
    missing = rig.traits.values.keys() - items.keys()
    expect(not missing, f"not read: {sorted(missing)}")
    for slot, value in items.items():
        read = await rig.arm.read(slot)
        expect(read == value, f"{slot}: read {read} alone and {value} among all")


async def writes_each(rig: Rig) -> None:
    """What is set is read back within the resolution, changes nothing else, and is not told as another writer's."""
    commands = await Commands.of(rig)
    for slot, example in rig.traits.values.items():
        for value in (example.value, example.other):
            before = (await rig.arm.read_all()).items
            answer = await rig.arm.write(commands.set(slot, value))
            expect(answer is None, f"{slot}: a set answered {answer}")
            read = await expect_read(rig, value, slot=slot)
            after = (await rig.arm.read_all()).items
            expect(after == {**before, slot: read}, f"{slot}: setting it changed something else")
    expect(not rig.heard.foreign, f"our writes were told as another writer's: {rig.heard.foreign}")
    for change in rig.heard.changes:
        _expect_event(rig, change)


def _expect_event(rig: Rig, change: ArmChange) -> None:
    """The number of an event is the one of its slot."""
    if change.slot is None:
        return
    example = rig.traits.values.get(change.slot)
    wrong = example is None or example.event not in (None, change.event)
    expect(not wrong, f"{change.slot}: told with event {change.event}")


async def takes_back_what_it_reads(rig: Rig) -> None:
    """A value that was read can be set again and stays as it is."""
    commands = await Commands.of(rig)
    for slot, value in (await rig.arm.read_all()).items.items():
        if slot in rig.traits.values:
            await rig.arm.write(commands.set(slot, value))
            read = await rig.arm.read(slot)
            expect(read == value, f"{slot}: {value} became {read} when it was set again")


async def resets(rig: Rig) -> None:
    """A reset brings the default back and returns it; an item without reset refuses one."""
    commands = await Commands.of(rig)
    for slot, example in rig.traits.values.items():
        default = await rig.arm.read(slot)
        if slot[0] in rig.traits.resettable:
            await rig.arm.write(commands.set(slot, example.value))
            answer = await rig.arm.write(commands.reset(slot))
            expect(answer == default, f"{slot}: the reset answered {answer} instead of {default}")
            await expect_read(rig, default, slot=slot)
        else:
            await expect_refusal(rig.arm.write(commands.reset(slot)), f"reset of {slot}")
            await expect_read(rig, default, slot=slot)


async def takes_modes(rig: Rig) -> None:
    """The modes that the arm lists are taken, all others are refused."""
    commands = await Commands.of(rig)
    settable = (await rig.arm.connect()).modes_settable
    for mode in ControlMode:
        wanted = ControlModeInformation(mode)
        if mode in settable:
            await rig.arm.write(commands.set(MODE_SLOT, wanted))
            await expect_read(rig, wanted, slot=MODE_SLOT)
        else:
            await expect_refusal(rig.arm.write(commands.set(MODE_SLOT, wanted)), f"mode {mode.name}")
    expect(not rig.heard.foreign, f"our modes were told as another writer's: {rig.heard.foreign}")


async def refuses_by_itself(rig: Rig) -> None:
    """What the arm does not take it refuses, and nothing changes."""
    commands = await Commands.of(rig)
    before = (await rig.arm.read_all()).items
    for name, case in rig.traits.refused.items():
        await expect_refusal(rig.arm.write(commands.set(case.slot, case.value)), name, case.sub_code)
    expect((await rig.arm.read_all()).items == before, "a refused value changed something")
    expect(not rig.heard.changes, f"told of what was refused: {rig.heard.changes}")


async def rounds_within_its_resolution(rig: Rig) -> None:
    """A value between two steps is kept as the nearest."""
    commands = await Commands.of(rig)
    expect(rig.traits.rounded is not None, "the traits name no value that the arm rounds")
    if rig.traits.rounded is not None:
        slot, wanted = rig.traits.rounded
        await rig.arm.write(commands.set(slot, wanted))
        read = await expect_read(rig, wanted, slot=slot)
        expect(read != wanted, f"{slot}: {wanted} was not rounded")
        expect(is_close(read, wanted, rig.arm.resolution_rad / 2), f"{slot}: {wanted} became {read}, not the nearest")


async def shuts_down(rig: Rig) -> None:
    """A closed arm tells nothing more, answers nothing, and can be closed again."""
    commands = await Commands.of(rig)
    slot, example = rig.traits.slot, rig.traits.example
    await rig.arm.write(commands.set(slot, example.value))
    await rig.arm.close()
    told = len(rig.heard.notices)
    await rig.arm.close()
    await expect_away(rig.arm.read(slot), "read of a closed arm")
    await expect_away(rig.arm.write(commands.set(slot, example.other)), "write to a closed arm")
    await rig.reopen()
    await rig.arm.connect()
    await expect_read(rig, example.value)
    new = [notice for notice in rig.heard.notices[told:] if isinstance(notice, ArmChange)]
    expect(not new, f"told after it was closed: {new}")
