"""A tightening override stands: others may not loosen what it bounds while it is in force."""

from handlers.items.direction import Direction
from handlers.items.parts import place_at_or_tighter
from handlers.overrides.stack import direction
from handlers.state.arm_state import ArmState
from handlers.state.overrides import Override
from handlers.state.places import given_at, is_of
from handlers.state.refusals import NOTHING_CHANGED
from schema.arms import Slot
from schema.codecs.times import format_time
from schema.errors import BrokerError
from schema.messages import Message


def standing(
    state: ArmState, user: str, slot: Slot, value: Message | None, named: frozenset[str] | None = None
) -> Override | None:
    """The tightening override of another user that is in force and that a change of its place is looser than.

    Those of the user do not hide it. `value` None stands for a Reset, which may be anything; `named` are the parts
    that a change is of, None: all.
    """
    overrides = state.overrides
    if overrides is None:
        return None
    for place in overrides.places(slot):
        if not is_of(place, named):
            continue
        others = next((one for one in reversed(overrides.of(place)) if one.by.user != user), None)
        if others is None or direction(overrides, others) is not Direction.TIGHTENING:
            continue
        if value is None or not place_at_or_tighter(place, given_at(place, value), others.values[place]):
            return others
    return None


def check_standing(
    state: ArmState, user: str, slot: Slot, value: Message | None, named: frozenset[str] | None = None
) -> None:
    """Refuse what a tightening override of somebody else keeps from being looser.

    Raises:
        BrokerError: held.
    """
    if (bars := standing(state, user, slot, value, named)) is not None:
        raise kept_by(state, bars)


def kept_by(state: ArmState, override: Override) -> BrokerError:
    """The refusal that a standing override gives: who, which revision, until when."""
    by = override.by
    who = by.user if by.proven else f"{by.user} (not proven)"
    end = format_time(override.until_us)
    why = f": {override.reason}" if override.reason else ""
    text = f"{state.arm} is kept tighter by {who}, revision {override.rev}, until {end}{why}; EndOverride ends that"
    return BrokerError("held", f"{text}. {NOTHING_CHANGED}")
