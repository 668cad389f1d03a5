"""Behaviours of an arm when it, its link or another writer gets in the way."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from functools import partial

from devices.adapter import ArmAwayError, ArmError, ArmTimeoutError, ArmUnreadableError
from devices.conformance.rig import FailedError, Heard, Rig
from devices.conformance.steps import (
    Commands,
    end_faults,
    expect,
    expect_away,
    expect_read,
    expect_refusal,
    expect_timeout,
    reach,
)
from schema.arms import Activity, Fault
from schema.messages import Message

FLAPS = 5
CLOSES_WITHIN_S = 10.0


def _foreign_change(rig: Rig, value: Message) -> Fault:
    return Fault("foreign_change", slot=rig.traits.slot, value=value)


def _has_foreign(count: int, heard: Heard) -> bool:
    return len(heard.foreign) >= count


def _is_offline(heard: Heard) -> bool:
    return bool(heard.links) and not heard.links[-1].online


async def _until_offline(rig: Rig) -> None:
    """Wait until the link is told to be down."""
    await rig.heard.until(_is_offline, rig.traits.told_within_s, "LinkState(online=False)")
    expect(rig.heard.links[-1].why, "the link is told to be down without a reason")
    expect(not rig.heard.links[-1].ready, "the link is told to be down and the arm to be ready")


async def tells_foreign_changes(rig: Rig) -> None:
    """What another writer changes is told as not ours, in time, and is read."""
    slot, example = rig.traits.slot, rig.traits.example
    await rig.arm.read_all()
    for count, value in enumerate((example.other, example.value), 1):
        await rig.inject(_foreign_change(rig, value))
        await rig.heard.until(
            partial(_has_foreign, count),
            rig.traits.told_within_s,
            f"foreign change {count} of {slot}",
        )
        expect(rig.heard.foreign[-1].slot in (slot, None), f"told for {rig.heard.foreign[-1].slot} instead of {slot}")
        await expect_read(rig, value)


async def refuses_and_keeps(rig: Rig) -> None:
    """An arm that refuses takes nothing, and still answers reads."""
    commands = await Commands.of(rig)
    before = await rig.arm.read(rig.traits.slot)
    await rig.inject(Fault("refuse"))
    command = commands.set(rig.traits.slot, rig.traits.example.value)
    first = await expect_refusal(rig.arm.write(command), "a refused write")
    await expect_read(rig, before)
    await rig.inject(Fault("none"))
    again = await expect_refusal(rig.arm.write(command), "the same command after the fault")
    same = (first.code, first.sub_code) == (again.code, again.sub_code)
    expect(same, f"refused first with {first.code}/{first.sub_code}, then with {again.code}/{again.sub_code}")


async def times_out_and_reads_back(rig: Rig) -> None:
    """A write whose answer is lost ends as a timeout, and the read-back tells what the arm took."""
    commands = await Commands.of(rig)
    wanted = rig.traits.example.value
    await rig.inject(Fault("lose_answer"))
    write = rig.arm.write(commands.set(rig.traits.slot, wanted))
    await expect_timeout(rig, write, rig.arm.deadlines.write_s, "a write whose answer is lost")
    await expect_read(rig, wanted)


async def waits_for_slow_answers(rig: Rig) -> None:
    """An answer within the deadline is an answer; one beyond it is a timeout."""
    commands = await Commands.of(rig)
    slot, example, write_s = rig.traits.slot, rig.traits.example, rig.arm.deadlines.write_s
    await rig.inject(Fault("delay", delay_ms=int(write_s * 300)))
    await rig.arm.write(commands.set(slot, example.value))
    await rig.inject(Fault("delay", delay_ms=int(write_s * 3_000)))
    write = rig.arm.write(commands.set(slot, example.other))
    await expect_timeout(rig, write, write_s, "a write to a slow arm")
    await end_faults(rig)
    await expect_read(rig, example.other, example.value)


async def hangs(rig: Rig) -> None:
    """While an arm hangs, every call ends at its deadline; afterwards it answers again."""
    commands = await Commands.of(rig)
    slot, example, deadlines = rig.traits.slot, rig.traits.example, rig.arm.deadlines
    before = await rig.arm.read(slot)
    await rig.inject(Fault("hang"))
    for value in (example.value, example.other):
        write = rig.arm.write(commands.set(slot, value))
        await _expect_no_answer(rig, write, deadlines.write_s)
    await _expect_no_answer(rig, rig.arm.read(slot), deadlines.read_s)
    await _expect_no_answer(rig, rig.arm.read_all(), deadlines.read_s)
    await end_faults(rig)
    await expect_read(rig, before, example.value, example.other)
    await rig.arm.write(commands.set(slot, example.value))
    await expect_read(rig, example.value)


async def _expect_no_answer(rig: Rig, call: Awaitable[object], deadline_s: float) -> None:
    """Expect a timeout, or that the link was given up meanwhile."""
    with contextlib.suppress(ArmAwayError):
        await expect_timeout(rig, call, deadline_s, "a call to a hanging arm")


async def survives_given_up_writes(rig: Rig) -> None:
    """A write that its caller cancels was sent or not; the next calls work."""
    commands = await Commands.of(rig)
    slot, example = rig.traits.slot, rig.traits.example
    before = await rig.arm.read(slot)
    await rig.inject(Fault("hang"))
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(rig.arm.deadlines.write_s / 10):
            await rig.arm.write(commands.set(slot, example.value))
            raise FailedError("a hanging arm answered a write")
    await end_faults(rig)
    await expect_read(rig, before, example.value)
    await rig.arm.write(commands.set(slot, example.other))
    await expect_read(rig, example.other)


async def sees_garbage(rig: Rig) -> None:
    """An answer that cannot be read is no answer and no value; the adapter goes on."""
    commands = await Commands.of(rig)
    slot, example = rig.traits.slot, rig.traits.example
    before = await rig.arm.read(slot)
    await rig.inject(Fault("garbage"))
    command = commands.set(slot, example.value)
    calls: tuple[Callable[[], Awaitable[object]], ...] = (
        partial(rig.arm.read, slot),
        rig.arm.read_all,
        partial(rig.arm.write, command),
    )
    for call in calls:
        try:
            answer = await call()
        except ArmUnreadableError as error:
            expect(str(error), "unreadable without a text")
        else:
            raise FailedError(f"garbage was read as {answer}")
    await end_faults(rig)
    await expect_read(rig, before, example.value)
    await rig.arm.write(commands.set(slot, example.other))
    await expect_read(rig, example.other)


async def goes_away_and_comes_back(rig: Rig) -> None:
    """A lost link is told, calls fail at once without one, and nothing is lost when it is back."""
    commands = await Commands.of(rig)
    slot, example = rig.traits.slot, rig.traits.example
    await rig.arm.write(commands.set(slot, example.value))
    await rig.inject(Fault("offline"))
    await _until_offline(rig)
    await expect_away(rig.arm.read(slot), "read")
    await expect_away(rig.arm.read_all(), "read_all")
    await expect_away(rig.arm.write(commands.set(slot, example.other)), "write")
    try:
        await rig.arm.connect()
    except (ArmAwayError, ArmTimeoutError):
        pass
    else:
        raise FailedError("connected without a link")
    await end_faults(rig)
    await expect_read(rig, example.value)
    await rig.arm.write(commands.set(slot, example.other))
    await expect_read(rig, example.other)


async def reads_changes_made_while_away(rig: Rig) -> None:
    """What another writer changed while the link was down is read when it is back."""
    await rig.arm.read_all()
    await rig.inject(Fault("offline"))
    await _until_offline(rig)
    await rig.inject(_foreign_change(rig, rig.traits.example.value))
    await end_faults(rig)
    await expect_read(rig, rig.traits.example.value)


async def loses_the_link_during_a_write(rig: Rig) -> None:
    """A write under way when the link drops has an unknown outcome, or none; it never counts as done."""
    commands = await Commands.of(rig)
    before = await rig.arm.read(rig.traits.slot)
    wanted = rig.traits.example.value
    await rig.inject(Fault("hang"))
    write = asyncio.ensure_future(rig.arm.write(commands.set(rig.traits.slot, wanted)))
    await asyncio.sleep(0)
    await rig.inject(Fault("offline"))
    await _expect_no_answer(rig, write, rig.arm.deadlines.write_s)
    await end_faults(rig)
    await expect_read(rig, before, wanted)


async def flaps(rig: Rig) -> None:
    """A link that comes and goes leaves the arm reachable, and told to be so."""
    commands = await Commands.of(rig)
    for _ in range(FLAPS):
        await rig.inject(Fault("offline"))
        await rig.inject(Fault("none"))
    await reach(rig)
    await rig.heard.until(lambda heard: not _is_offline(heard), rig.traits.back_within_s, "LinkState(online=True)")
    await reach(rig)
    await rig.arm.write(commands.set(rig.traits.slot, rig.traits.example.value))
    await expect_read(rig, rig.traits.example.value)


async def tells_another_serial_number(rig: Rig) -> None:
    """Another arm in the same place is known by its serial number when the link is back."""
    serial = (await rig.arm.connect()).serial
    await rig.inject(Fault("swap_serial"))
    await _until_offline(rig)
    swapped = (await reach(rig)).serial
    expect(swapped not in ("", serial), f"serial number {swapped!r} after the swap, {serial!r} before")


async def reboots_with_old_values(rig: Rig) -> None:
    """An arm that comes back with the values of its last start is the same arm, and they are read."""
    description = await rig.arm.connect()
    commands = await Commands.of(rig)
    before = await rig.arm.read(rig.traits.slot)
    await rig.arm.write(commands.set(rig.traits.slot, rig.traits.example.value))
    await rig.inject(Fault("reboot"))
    await _until_offline(rig)
    again = await reach(rig)
    expect(again.serial == description.serial, f"serial number {again.serial!r} instead of {description.serial!r}")
    await expect_read(rig, before)


async def moves(rig: Rig) -> None:
    """An arm that moves, or is in local control, is told as not ready, refuses writes and answers reads."""
    commands = await Commands.of(rig)
    slot, example = rig.traits.slot, rig.traits.example
    before = await rig.arm.read(slot)
    await rig.inject(Fault("moving"))
    not_ready = "LinkState(online=True, ready=False)"
    within_s = rig.traits.told_within_s
    await rig.heard.until(_is_not_ready, within_s, not_ready)
    expect(rig.heard.links[-1].why, "told as not ready without a reason")
    _expect_activity(rig, Activity.MOVING, Activity.LOCAL)
    await expect_refusal(rig.arm.write(commands.set(slot, example.value)), "a write while moving")
    await expect_read(rig, before)
    told = len(rig.heard.links)
    await rig.arm.connect()
    await rig.heard.until(lambda heard: len(heard.links) > told, within_s, f"{not_ready} at connect")
    expect(not rig.heard.links[-1].ready, "told as ready at connect")
    _expect_activity(rig, Activity.MOVING, Activity.LOCAL)
    await rig.inject(Fault("none"))
    await rig.heard.until(lambda heard: heard.links[-1].ready, rig.traits.told_within_s, "LinkState(ready=True)")
    _expect_rest(rig)
    await rig.arm.write(commands.set(slot, example.value))
    await expect_read(rig, example.value)


async def breaks_down(rig: Rig) -> None:
    """An arm in fault is told as not ready and, where its adapter can tell, as in fault; reads are answered."""
    before = await rig.arm.read(rig.traits.slot)
    await rig.inject(Fault("fault"))
    within_s = rig.traits.told_within_s
    await rig.heard.until(_is_not_ready, within_s, "LinkState(online=True, ready=False)")
    expect(rig.heard.links[-1].why, "told as not ready without a reason")
    _expect_activity(rig, Activity.FAULT)
    await expect_read(rig, before)
    await end_faults(rig)
    await rig.heard.until(lambda heard: heard.links[-1].ready, rig.traits.back_within_s, "LinkState(ready=True)")
    _expect_rest(rig)


def _is_not_ready(heard: Heard) -> bool:
    """Whether the arm was told last to be there and to take no change."""
    return [(link.online, link.ready) for link in heard.links[-1:]] == [(True, False)]


def _expect_activity(rig: Rig, *wanted: Activity) -> None:
    """What the arm was told last to do is one of these, as far as its adapter says that it can tell them."""
    told, known = rig.heard.links[-1].activity, rig.traits.activities.intersection(wanted)
    text = f"told as {told.value} instead of {' or '.join(one.value for one in wanted)}"
    expect(told in (known or {Activity.UNKNOWN}), text)


def _expect_rest(rig: Rig) -> None:
    """The arm, which is ready, was told last to be idle, or it cannot be known."""
    told = rig.heard.links[-1].activity
    expect(told in (Activity.IDLE, Activity.UNKNOWN), f"told as {told.value} instead of idle")


async def shuts_down_during_a_write(rig: Rig) -> None:
    """A write under way when the adapter is closed ends, the close too, and nothing is told afterwards."""
    commands = await Commands.of(rig)
    await rig.inject(Fault("hang"))
    write = asyncio.ensure_future(rig.arm.write(commands.set(rig.traits.slot, rig.traits.example.value)))
    await asyncio.sleep(0)
    try:
        async with asyncio.timeout(CLOSES_WITHIN_S):
            await rig.arm.close()
            told = len(rig.heard.notices)
            await write
    except TimeoutError:
        raise FailedError(f"not closed within {CLOSES_WITHIN_S:g} s") from None
    except ArmError as error:
        unknown = isinstance(error, ArmTimeoutError | ArmAwayError)
        expect(unknown, f"the write ended with {error!r}")
    else:
        raise FailedError("the write counts as done")
    await expect_away(rig.arm.read(rig.traits.slot), "read of a closed arm")
    expect(len(rig.heard.notices) == told, f"told after it was closed: {rig.heard.notices[told:]}")
