"""Parts of values: laid over what is there, compared one by one."""

import math
from collections.abc import Mapping

from handlers.items.direction import LOWER_KEYS, at_or_tighter, inside, safety_ceilings
from handlers.items.parameter_checks import FLAG_OF
from handlers.stack.arm_limits import limits_of
from handlers.stack.joint_vectors import UNLIMITED
from handlers.state.arm_state import ArmState, as_message
from handlers.state.places import OF_SLOT, Given, Part, Place, parts_given
from handlers.state.provenance import PARTED
from schema.arms import Slot
from schema.intrinsic import JointLimits, RepeatedDouble
from schema.items import ITEMS
from schema.joint_items import JointParameterMap, JointSafetyGains, JointSafetyMap
from schema.messages import Message

_FLAGS = frozenset(FLAG_OF.values())
_LIMITS, _PARAMETERS = "joint_limits", "joint_parameters"


def put(state: ArmState, slot: Slot, base: Message, given: Mapping[Place, Given]) -> Message:
    """What a slot holds with what is given to it: the whole, or parts laid over `base`."""
    whole = given.get(slot)
    if isinstance(whole, Message):
        return whole
    return laid(state, base, parts_given(slot, given)) if type(base) in PARTED else base


def laid(state: ArmState, base: Message, parts: Mapping[str, Part]) -> Message:
    """A value of an item with parts, some of them replaced; None takes one away."""
    if not parts:
        return base
    if isinstance(base, JointLimits):
        return _laid_limits(state, base, parts)
    if isinstance(base, JointSafetyMap):
        gains = {**base.joints, **parts}
        return JointSafetyMap({name: part for name, part in gains.items() if isinstance(part, JointSafetyGains)})
    known = {**as_message(base, JointParameterMap).parameters, **parts}
    return JointParameterMap({name: part for name, part in known.items() if isinstance(part, float | bool)})


def _laid_limits(state: ArmState, base: JointLimits, parts: Mapping[str, Part]) -> JointLimits:
    """Lists of all joints; one that limits no joint is left out."""
    lists = {
        name: list(field.values) for name in JointLimits.__struct_fields__ if (field := getattr(base, name)) is not None
    }
    for part, number in parts.items():
        name, _, index = part.rstrip("]").partition("[")
        if name not in lists:
            lists[name] = [UNLIMITED[name]] * len(limits_of(state).joints.names)
        lists[name][int(index)] = number if isinstance(number, float) else UNLIMITED[name]
    limiting = {name: tuple(numbers) for name, numbers in lists.items() if set(numbers) != {UNLIMITED[name]}}
    return JointLimits(**{name: RepeatedDouble(numbers) for name, numbers in limiting.items()})


def place_at_or_tighter(place: Place, one: Given, other: Given) -> bool:
    """Whether the value of a place is at or tighter than another one; a number behind a ROS flag as if that were on.

    Never for items without an order.
    """
    if isinstance(one, Message) and isinstance(other, Message) and len(place) == OF_SLOT:
        return at_or_tighter(ITEMS[place[0]], one, other)
    return inside(_ceilings(place, one), _ceilings(place, other))


def _ceilings(place: Place, part: Given) -> dict[str, float]:
    """The bounds that a part sets, so that less is tighter; what bounds nothing sets none."""
    if isinstance(part, JointSafetyGains):
        return safety_ceilings(part)
    sign = _sign(place)
    if not sign or part is False or not isinstance(part, float | bool):
        return {}
    return {"": sign * part}


def _sign(place: Place) -> float:
    """1 where less is tighter, -1 where more is, 0 where a part bounds nothing."""
    name = str(place[-1])
    if place[0] == _LIMITS:
        return -1.0 if name.startswith("min_") else 1.0
    key = name.rpartition(".")[2]
    if key in _FLAGS:
        return -1.0
    return 0.0 if key not in FLAG_OF else -1.0 if key in LOWER_KEYS else 1.0


def tighter_part(place: Place, one: Part, other: Part) -> Part:
    """The tighter of two values of a part, number by number; one that is not there bounds nothing."""
    if isinstance(one, JointSafetyGains) and isinstance(other, JointSafetyGains):
        return _tighter_gains(one, other)
    if one is None or other is None:
        return other if one is None else one
    return one if place_at_or_tighter(place, one, other) else other


def _tighter_gains(one: JointSafetyGains, other: JointSafetyGains) -> JointSafetyGains:
    left, right = safety_ceilings(one), safety_ceilings(other)
    least = {name: min(left.get(name, math.inf), right.get(name, math.inf)) for name in (*left, *right)}
    return JointSafetyGains(
        soft_upper_limit=least.get("upper", 0.0), soft_lower_limit=0.0 - least.get("lower", 0.0),
        k_position=least["k_position"], k_velocity=least["k_velocity"],
    )  # fmt: skip
