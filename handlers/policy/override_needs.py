"""What it needs to end an override, to give it another end, or to keep what it gave."""

from collections.abc import Iterator, Mapping

from handlers.items.direction import Direction
from handlers.items.parts import put
from handlers.overrides.stack import below, direction, gives_way
from handlers.policy.needs import Need
from handlers.policy.quantities import bounded
from handlers.policy.rights import PolicyRight
from handlers.stack.arm_limits import limits_of
from handlers.state.arm_state import ArmState
from handlers.state.overrides import Override, Overrides
from handlers.state.places import Given, Place, by_slot
from schema.items import ITEMS, slot_path


def extending(state: ArmState, overrides: Overrides, override: Override, until_us: int) -> Iterator[Need]:
    """Another end, earlier or later, counted from when the override began."""
    if until_us <= override.until_us:
        yield from ending(state, overrides, override, keep=False)
    elif direction(overrides, override) is Direction.TIGHTENING:
        yield from _tightening(state, override)
    else:
        yield from _loosening(state, override.values, until_us - override.since_us)


def ending(state: ArmState, overrides: Overrides, override: Override, *, keep: bool) -> Iterator[Need]:
    """The end now; `keep`: what it gave is for good then.

    An end that leaves anything looser than it loosens, now or once what covers it has ended, whatever it is itself.
    """
    if direction(overrides, override) is Direction.TIGHTENING if keep else gives_way(overrides, override):
        yield from _tightening(state, override)
        return
    without = {place: below(overrides, override, place) for place in override.values}
    yield from _loosening(state, override.values if keep else without, 0)


def _tightening(state: ArmState, override: Override) -> Iterator[Need]:
    for slot in by_slot(override.values):
        yield Need(PolicyRight.TIGHTEN, state.arm, slot[0], slot_path(slot))


def _loosening(state: ArmState, given: Mapping[Place, Given], lasts_us: int) -> Iterator[Need]:
    for slot, places in by_slot(given).items():
        item, reported = ITEMS[slot[0]], state.reported[slot]
        value = put(state, slot, reported, given)
        others = (reported, put(state, slot, value, dict.fromkeys(places))) if item.kept_by_service else ()
        numbers = tuple(bounded(item, value, others, limits_of(state).joints))
        yield Need(PolicyRight.LOOSEN, state.arm, item.key, slot_path(slot), numbers, lasts_us=lasts_us)
