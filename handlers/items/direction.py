"""Tighter or looser: the direction of a change, found component by component against what was reported."""

import enum
import math
from operator import le

from handlers.items.parameter_checks import FLAG_OF
from handlers.state.arm_state import as_message
from handlers.state.provenance import limit_numbers
from schema.intrinsic import JointLimits
from schema.items import NUMBER_FIELDS, ConfigItem, Order, Zero
from schema.joint_items import JointParameterMap, JointSafetyGains, JointSafetyMap
from schema.messages import Message


class Direction(enum.StrEnum):
    """Which way a value goes from another one."""

    TIGHTENING = "tightening"
    LOOSENING = "loosening"
    """At least one component gets looser."""
    UNORDERED = "unordered"
    """Its values do not compare."""
    UNCHANGED = "unchanged"


_UPPER, _INTERVAL = Order.UPPER, Order.INTERVAL
LOWER_KEYS = frozenset({"min_position", "soft_lower_limit"})
"""Numbers of the ROS parameters that bound from below."""


def ceilings_of(message: Message) -> dict[str, float]:
    """The bounds that a message of an `interval` item sets, by name, so that less is tighter; what is absent is none.

    A lower end changes its sign; a soft range of 0 to 0 without k_position is none. The numbers behind a ROS flag
    count where it is on.
    """
    if isinstance(message, JointLimits):
        return {name: -number if name.startswith("min_") else number for name, number in limit_numbers(message)}
    if isinstance(message, JointSafetyMap):
        return {
            f"{joint}.{name}": value
            for joint, gains in message.joints.items()
            for name, value in safety_ceilings(gains).items()
        }
    return _parameter_ceilings(as_message(message, JointParameterMap))


def safety_ceilings(gains: JointSafetyGains) -> dict[str, float]:
    """The bounds of the record of one joint."""
    found = {"k_position": gains.k_position, "k_velocity": gains.k_velocity}
    if gains.k_position or gains.soft_lower_limit or gains.soft_upper_limit:
        found |= {"lower": -gains.soft_lower_limit, "upper": gains.soft_upper_limit}
    return found


def _parameter_ceilings(message: JointParameterMap) -> dict[str, float]:
    found = {}
    for name, value in message.parameters.items():
        joint, _, key = name.rpartition(".")
        flag = FLAG_OF.get(key)
        if flag is not None and message.parameters.get(f"{joint}.{flag}", False):
            found[name] = -float(value) if key in LOWER_KEYS else float(value)
    return found


def inside(values: dict[str, float], bounds: dict[str, float]) -> bool:
    """Whether every bound of the reference is kept; a bound that is not there any more is lifted."""
    return all(values.get(name, math.inf) <= bound for name, bound in bounds.items())


def at_or_tighter(item: ConfigItem, message: Message, reference: Message) -> bool:
    """Whether every component of `message` is at or tighter than that of `reference`; never for unordered items."""
    order = item.order
    if order is _INTERVAL:
        return inside(ceilings_of(message), ceilings_of(reference))
    if order is not _UPPER:
        return False
    name = NUMBER_FIELDS[item.key]
    value, bound = getattr(message, name), getattr(reference, name)
    if type(value) is tuple:  # an item of lists has no value that is refused, as `schema.items` has it
        return len(value) == len(bound) and all(map(le, value, bound))
    if item.zero is Zero.REFUSE:
        value, bound = value or math.inf, bound or math.inf
    return bool(value <= bound)


def is_loosening(item: ConfigItem, value: Message | None, reported: Message | None) -> bool:
    """Whether a change loosens: a Reset, an unordered item, an unknown reported value, or one looser component."""
    if value is None or reported is None:
        return True
    return not at_or_tighter(item, value, reported)


def direction_of(item: ConfigItem, value: Message | None, before: Message | None) -> Direction:
    """Which way a value of an item goes from the one before it; None is a value that nobody knows."""
    if value is not None and value == before:
        return Direction.UNCHANGED
    if item.order is Order.UNORDERED:
        return Direction.UNORDERED
    return Direction.LOOSENING if is_loosening(item, value, before) else Direction.TIGHTENING
