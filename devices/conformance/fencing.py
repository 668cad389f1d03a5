"""Behaviours that keep old and doubled commands from an arm."""

from devices.adapter import Command
from devices.conformance.rig import Rig
from devices.conformance.steps import Commands, expect, expect_read, expect_refusal
from schema.arms import Fault, Verb
from schema.messages import Message


async def _epoch(rig: Rig) -> int:
    """An epoch above all that the arm knows."""
    return (await Commands.of(rig)).epoch + 1


def _set(epoch: int, cmd_seq: int, rig: Rig, value: Message) -> Command:
    return Command(epoch, cmd_seq, Verb.SET, rig.traits.slot, value)


async def refuses_older_commands(rig: Rig) -> None:
    """A command with a lower (epoch, cmd_seq) than the last is refused; a higher epoch begins anew."""
    epoch, example = await _epoch(rig), rig.traits.example
    await rig.arm.write(_set(epoch, 5, rig, example.value))
    for pair in ((epoch, 4), (epoch - 1, 99)):
        await expect_refusal(rig.arm.write(_set(*pair, rig, example.other)), f"command {pair} after {(epoch, 5)}", 1)
    await expect_read(rig, example.value)
    await rig.arm.write(_set(epoch + 1, 1, rig, example.other))
    await expect_read(rig, example.other)


async def answers_the_same_command_again(rig: Rig) -> None:
    """A command that was answered is answered again, and not carried out again."""
    epoch, example = await _epoch(rig), rig.traits.example
    command = _set(epoch, 1, rig, example.value)
    await rig.arm.write(command)
    await rig.inject(Fault("foreign_change", slot=rig.traits.slot, value=example.other))
    answer = await rig.arm.write(command)
    expect(answer is None, f"the same command answered {answer}")
    await expect_read(rig, example.other)


async def answers_the_same_reset_again(rig: Rig) -> None:
    """A reset that was answered is answered with the same value, and not carried out again."""
    epoch = await _epoch(rig)
    slot = next(slot for slot in rig.traits.values if slot[0] in rig.traits.resettable)
    command = Command(epoch, 1, Verb.RESET, slot, None)
    default = await rig.arm.write(command)
    expect(default is not None, "a reset answered nothing")
    other = rig.traits.values[slot].other
    await rig.inject(Fault("foreign_change", slot=slot, value=other))
    answer = await rig.arm.write(command)
    expect(answer == default, f"the same reset answered {answer} instead of {default}")
    await expect_read(rig, other, slot=slot)


async def refuses_the_same_command_again(rig: Rig) -> None:
    """A command that was refused is refused again with the same code."""
    epoch = await _epoch(rig)
    case = next(iter(rig.traits.refused.values()))
    command = Command(epoch, 1, Verb.SET, case.slot, case.value)
    first = await expect_refusal(rig.arm.write(command), "a value that the arm refuses")
    again = await expect_refusal(rig.arm.write(command), "the same command")
    same = (first.code, first.sub_code) == (again.code, again.sub_code)
    expect(same, f"refused first with {first.code}/{first.sub_code}, then with {again.code}/{again.sub_code}")


async def remembers_over_a_restart(rig: Rig) -> None:
    """After a restart of the service values, serial number and fence are as before, and nothing is told."""
    serial, epoch = (await rig.arm.connect()).serial, await _epoch(rig)
    example = rig.traits.example
    last = _set(epoch, 5, rig, example.value)
    await rig.arm.write(last)
    told = len(rig.heard.changes)
    await rig.reopen()
    description = await rig.arm.connect()
    expect(description.serial == serial, f"serial number {description.serial!r} instead of {serial!r}")
    expect(description.fence in ((0, 0), (epoch, 5)), f"fence {description.fence} instead of {(epoch, 5)}")
    await expect_read(rig, example.value)
    expect(not rig.heard.changes[told:], f"told after a restart: {rig.heard.changes[told:]}")
    await expect_refusal(rig.arm.write(_set(epoch, 4, rig, example.other)), "an older command", 1)
    answer = await rig.arm.write(last)
    expect(answer is None, f"the same command answered {answer}")
    await rig.arm.write(_set(epoch, 6, rig, example.other))
    await expect_read(rig, example.other)
