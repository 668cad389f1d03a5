"""The steps that behaviours are made of; each raises `FailedError` with what went wrong."""

import asyncio
import math
from collections.abc import Awaitable, Iterator
from typing import Any

from devices.adapter import ArmAwayError, ArmError, ArmRefusedError, ArmTimeoutError, Command
from devices.conformance.rig import FailedError, Rig
from schema.arms import Description, Fault, Slot, Verb
from schema.messages import Message

_RELATIVE = 1e-6
_RETRY_S = 0.05


def expect(condition: object, text: str) -> None:
    """Fail with a text unless a condition holds."""
    if not condition:
        raise FailedError(text)


class Commands:
    """Numbers commands as the service does, above all that the arm was ever given."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.cmd_seq = 0

    @classmethod
    async def of(cls, rig: Rig) -> "Commands":
        """Connect, and begin a new epoch."""
        return cls((await rig.arm.connect()).fence[0] + 1)

    def set(self, slot: Slot, value: Message) -> Command:
        """The next command: set a slot."""
        self.cmd_seq += 1
        return Command(self.epoch, self.cmd_seq, Verb.SET, slot, value)

    def reset(self, slot: Slot) -> Command:
        """The next command: reset a slot."""
        self.cmd_seq += 1
        return Command(self.epoch, self.cmd_seq, Verb.RESET, slot, None)


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """All scalars of a message, with where they stand."""
    if isinstance(value, Message):
        value = {name: getattr(value, name) for name in value.__struct_fields__}
    elif isinstance(value, tuple):
        value = dict(enumerate(value))
    if not isinstance(value, dict):
        yield path, value
        return
    for name, inner in sorted(value.items()):
        yield from _leaves(inner, f"{path}.{name}")


def is_close(read: Message, wanted: Message, resolution_rad: float) -> bool:
    """Whether a value read is the wanted one within an arm's resolution; angles in degrees."""
    if type(read) is not type(wanted):
        return False
    left, right = dict(_leaves(read)), dict(_leaves(wanted))
    allowed = math.degrees(resolution_rad)
    return left.keys() == right.keys() and all(
        math.isclose(value, right[path], rel_tol=_RELATIVE, abs_tol=allowed)
        if isinstance(value, float)
        else value == right[path]
        for path, value in left.items()
    )


async def expect_read(rig: Rig, *wanted: Message, slot: Slot | None = None) -> Message:
    """Read a slot (the rig's own) and expect one of the values; returns what was read."""
    slot = slot or rig.traits.slot
    read = await rig.arm.read(slot)
    expect(
        any(is_close(read, value, rig.arm.resolution_rad) for value in wanted),
        f"{slot}: read {read} instead of {' or '.join(map(str, wanted))}",
    )
    return read


async def expect_refusal(call: Awaitable[object], what: str, sub_code: int | None = None) -> ArmRefusedError:
    """Expect that the arm refuses; returns the refusal."""
    try:
        answer = await call
    except ArmRefusedError as refusal:
        expect(str(refusal), f"{what}: refused without a text")
        right = sub_code in (None, refusal.sub_code)
        expect(right, f"{what}: refused with sub code {refusal.sub_code} instead of {sub_code}")
        return refusal
    raise FailedError(f"{what}: answered {answer} instead of refusing")


async def expect_timeout(rig: Rig, call: Awaitable[object], deadline_s: float, what: str) -> ArmTimeoutError:
    """Expect that no answer comes, and that the adapter says so in time; returns what it raised."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    try:
        answer = await call
    except ArmTimeoutError as error:
        took_s = loop.time() - begun
        late = took_s > deadline_s + rig.traits.slack_s
        expect(not late, f"{what}: gave up after {took_s:.1f} s instead of {deadline_s:g} s")
        return error
    raise FailedError(f"{what}: answered {answer} instead of no answer")


async def expect_away(call: Awaitable[object], what: str) -> None:
    """Expect that the link is known to be down."""
    try:
        answer = await call
    except ArmAwayError:
        return
    raise FailedError(f"{what}: answered {answer} without a link")


async def end_faults(rig: Rig) -> Description:
    """End all faults and wait until the arm answers."""
    await rig.inject(Fault("none"))
    return await reach(rig)


async def reach(rig: Rig) -> Description:
    """Connect and read as the service does, again and again until the arm answers; what it is."""
    why: ArmError | None = None
    try:
        async with asyncio.timeout(rig.traits.back_within_s):
            while True:
                try:
                    description = await rig.arm.connect()
                    await rig.arm.read(rig.traits.slot)
                except ArmRefusedError:
                    raise
                except ArmError as error:
                    why = error
                    await asyncio.sleep(_RETRY_S)
                else:
                    return description
    except TimeoutError:
        raise FailedError(f"not back within {rig.traits.back_within_s:g} s: {why}") from None
