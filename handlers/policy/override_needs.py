"""What it needs to end an override, to give it another end, or to keep what it gave."""

from collections.abc import Iterator

from handlers.items.direction import Direction
from handlers.overrides.stack import direction, gives_way
from handlers.policy.needs import Need
from handlers.policy.quantities import bounded
from handlers.policy.rights import PolicyRight
from handlers.stack.arm_limits import limits_of
from handlers.state.arm_state import ArmState
from handlers.state.overrides import Override, Overrides
from schema.arms import Slot
from schema.items import ITEMS, slot_path
from schema.messages import Message


def extending(state: ArmState, overrides: Overrides, override: Override, until_us: int) -> Iterator[Need]:
    """Another end, earlier or later, counted from when the override began."""
    if until_us <= override.until_us:
        yield from ending(state, overrides, override, keep=False)
    elif direction(overrides, override) is Direction.TIGHTENING:
        yield from _tightening(state, override)
    else:
        for slot, value in override.values.items():
            yield _loosening(state, slot, value, until_us - override.since_us)


def ending(state: ArmState, overrides: Overrides, override: Override, *, keep: bool) -> Iterator[Need]:
    """The end now; `keep`: what it gave is for good then.

    An end that leaves anything looser than it loosens, now or once what covers it has ended, whatever it is itself.
    """
    if direction(overrides, override) is Direction.TIGHTENING if keep else gives_way(overrides, override):
        yield from _tightening(state, override)
        return
    for slot, value in override.values.items():
        yield _loosening(state, slot, value if keep else _below(overrides, override, slot), 0)


def _tightening(state: ArmState, override: Override) -> Iterator[Need]:
    for slot in override.values:
        yield Need(PolicyRight.TIGHTEN, state.arm, slot[0], slot_path(slot))


def _loosening(state: ArmState, slot: Slot, value: Message, lasts_us: int) -> Need:
    item = ITEMS[slot[0]]
    numbers = tuple(bounded(item, value, (), limits_of(state).joints))
    return Need(PolicyRight.LOOSEN, state.arm, item.key, slot_path(slot), numbers, lasts_us=lasts_us)


def _below(overrides: Overrides, override: Override, slot: Slot) -> Message:
    """What is in force without it."""
    others = [one for one in overrides.of(slot) if one.rev != override.rev]
    return others[-1].values[slot] if others else overrides.grounds[slot]
