"""The numbers of a value that ceilings bound, by quantity."""

import math
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from handlers.items.parameter_checks import FLAG_OF
from handlers.items.parameter_checks import QUANTITIES as OF_PARAMETER
from handlers.stack.limit_layers import OF_SOFT
from handlers.state.arm_state import as_message
from handlers.state.provenance import numbers_of
from limits.bounds import RELATIVE
from limits.ros2.keys import parameter_name, split_name
from limits.stack.joints import LOWER, QUANTITIES, TWIST_QUANTITIES, UPPER, ArmJoints
from schema.intrinsic import JointLimits
from schema.items import NUMBER_FIELDS, ConfigItem
from schema.joint_items import JointParameterMap, JointSafetyGains, JointSafetyMap
from schema.messages import Message

PAYLOAD_MASS, TOOL_MASS = "payload_mass", "tool_mass"
MASSES: Mapping[str, str] = {"payload_information": PAYLOAD_MASS, "tool_configuration": TOOL_MASS}
"""The item and field of each mass, kg."""
CEILINGS = (*QUANTITIES, *MASSES.values())
"""What ceilings may name."""
_OF_VECTOR = {
    "min_position": (LOWER,),
    "max_position": (UPPER,),
    "max_velocity": ("velocity",),
    "max_acceleration": ("acceleration", "deceleration"),
    "max_jerk": ("jerk",),
    "max_effort": ("effort",),
}
_OF_SAFETY = {"soft_lower_limit": LOWER, "soft_upper_limit": UPPER}
_NO_GAINS = JointSafetyGains()


class Number(NamedTuple):
    """One number of a value: what it bounds, where it stands, and itself in the unit of the request.

    `joint` from 1 and `name` say whose it is, where it is a joint's; `scale` makes it one in the units of ceilings;
    `whole` is the list that it stands in, if any.
    """

    quantities: tuple[str, ...]
    path: str
    value: float
    unit: str
    scale: float = 1.0
    joint: int = 0
    name: str = ""
    whole: tuple[float, ...] = ()


def quantities_of(item: ConfigItem) -> frozenset[str]:
    """Everything that values of an item bound."""
    if item.hard:
        return frozenset(OF_SOFT[item.hard])
    if item.key in MASSES:
        return frozenset({MASSES[item.key]})
    if item.record is JointLimits:
        return frozenset(quantity for quantities in _OF_VECTOR.values() for quantity in quantities)
    if item.record is JointSafetyMap:
        return frozenset(_OF_SAFETY.values())
    return frozenset(OF_PARAMETER.values()) if item.record is JointParameterMap else frozenset()


def bounded(
    item: ConfigItem, value: Message, references: Collection[Message], joints: ArmJoints | None = None
) -> Iterator[Number]:
    """The numbers of a value that ceilings bound: of joint items those that are other than in one of `references`.

    `joints` are those of the arm; without them numbers have neither units nor names of joints.
    """
    for number in _found(item, value, references):
        quantity, name = number.quantities[0], number.name
        if joints is None or item.key in MASSES or quantity in TWIST_QUANTITIES:
            yield number
            continue
        name = name or joints.names[number.joint - 1]
        unit = number.unit or joints.unit(quantity, name)
        yield number._replace(name=name, joint=joints.places[name] + 1, unit=unit)


def _found(item: ConfigItem, value: Message, references: Collection[Message]) -> Iterator[Number]:
    if item.hard:
        yield from _of_arm(item, value)
    elif item.key in MASSES:
        name = MASSES[item.key]
        yield Number((name,), name, getattr(value, name), "kg")
    elif item.kept_by_service:
        changed = _changed(value, references)
        if item.record is JointLimits:
            yield from _of_limits(as_message(value, JointLimits), changed)
        elif item.record is JointSafetyMap:
            yield from _of_safety(as_message(value, JointSafetyMap), changed)
        else:
            yield from _of_parameters(as_message(value, JointParameterMap), changed)


def _of_arm(item: ConfigItem, value: Message) -> Iterator[Number]:
    field, quantity = NUMBER_FIELDS[item.key], item.quantity
    unit, scale = ("", 1.0) if quantity is None else (quantity.unit, math.radians(1.0) if quantity.angular else 1.0)
    found: Any = getattr(value, field)
    if not isinstance(found, tuple):
        yield Number(OF_SOFT[item.hard], field, found, unit, scale)
        return
    for index, number in enumerate(found):
        yield Number(OF_SOFT[item.hard], f"{field}[{index}]", number, unit, scale, index + 1, whole=found)


def _changed(value: Message, references: Collection[Message]) -> list[str]:
    """The parts of a joint item that are other than in some reference, there or gone."""
    parts = numbers_of(value)
    others = [numbers_of(reference) for reference in references]
    names = dict.fromkeys((*parts, *(name for other in others for name in other)))
    return [name for name in names if not others or any(parts.get(name) != other.get(name) for other in others)]


def _of_limits(value: JointLimits, changed: Collection[str]) -> Iterator[Number]:
    for part in changed:
        name, _, index = part.rstrip("]").partition("[")
        none = -math.inf if name == "min_position" else math.inf
        vector = getattr(value, name)
        whole = vector.values if vector is not None else ()
        number = whole[int(index)] if int(index) < len(whole) else none
        yield Number(_OF_VECTOR[name], f"{name}.values[{index}]", number, "", joint=int(index) + 1, whole=whole)


def _of_safety(value: JointSafetyMap, changed: Collection[str]) -> Iterator[Number]:
    for joint in changed:
        gains = value.joints.get(joint, _NO_GAINS)
        given = bool(gains.k_position or gains.soft_lower_limit or gains.soft_upper_limit)
        for field, quantity in _OF_SAFETY.items():
            none = -math.inf if quantity == LOWER else math.inf
            number = getattr(gains, field) if given else none
            yield Number((quantity,), f"joints.{joint}.{field}", number, "", name=joint)


def _of_parameters(value: JointParameterMap, changed: Collection[str]) -> Iterator[Number]:
    """Numbers whose flag is on, and none where it is not: of each number, or flag, that changed."""
    touched = dict.fromkeys((joint, FLAG_OF.get(key, key)) for joint, key in map(split_name, changed))
    for joint, flag in touched:
        on = bool(value.parameters.get(parameter_name(joint, flag), False))
        for key, of in FLAG_OF.items():
            if of != flag or key not in OF_PARAMETER:
                continue
            quantity, name = OF_PARAMETER[key], parameter_name(joint, key)
            none = -math.inf if quantity == LOWER else math.inf
            number = float(value.parameters.get(name, none)) if on else none
            yield Number((quantity,), f"parameters.{name}", number, "", name=joint)


def nearest(number: Number, ceilings: Mapping[str, float]) -> float | tuple[float, ...]:
    """The value of its field that ceilings allow, nearest to it."""
    if not number.whole:
        return _kept(number, ceilings)
    return tuple(_kept(number._replace(value=each), ceilings) for each in number.whole)


def _kept(number: Number, ceilings: Mapping[str, float]) -> float:
    bound = beyond(number, ceilings)
    return number.value if bound is None else bound


def beyond(number: Number, ceilings: Mapping[str, float]) -> float | None:
    """The tightest ceiling that a number exceeds by more than a relative 1e-6, in the unit of the request."""
    found = []
    for quantity in number.quantities:
        ceiling = ceilings.get(quantity)
        if ceiling is None:
            continue
        slack, value = RELATIVE * abs(ceiling), number.value * number.scale
        if value < ceiling - slack if quantity == LOWER else value > ceiling + slack:
            found.append(ceiling / number.scale)
    return min(found, default=None)
