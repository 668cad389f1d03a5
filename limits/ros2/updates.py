"""Parameters of a running node that change the limits of a joint."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import asdict, replace

from limits.ros2.keys import FLAG_KEYS, HARD_KEYS, HAS_SOFT_LIMITS, SOFT_KEYS, WRAPAROUND, parameter_name
from limits.ros2.records import JointLimits, SoftJointLimits
from limits.ros2.store import ParameterValue
from limits.ros2.validity import NUMBERS, SOFT_FIELDS

_Record = JointLimits | SoftJointLimits
_Fields = dict[str, bool | float]


class Parameter(NamedTuple):
    """A parameter that was set: its full name and its new value."""

    name: str
    value: ParameterValue


def check_for_limits_update(
    joint_name: str, parameters: Sequence[Parameter], limits: JointLimits, *, compat: bool = False
) -> tuple[bool, JointLimits]:
    """Return whether the limits changed, and the limits after it: first all numbers, then the flags, in order.

    Values of a wrong type are skipped. A flag cannot be switched on without its number, nor for an empty range,
    nor wraparound while position limits are on: it is switched off then. In compat the first result is that of
    the reference, which does not always tell whether something changed.
    """
    fields: _Fields = asdict(limits)
    changed = False
    given = _own(joint_name, parameters, HARD_KEYS)
    for key, value in given:
        if key not in FLAG_KEYS and isinstance(value, float):
            changed = fields[key] != value
            fields[key] = value
    for key, value in given:
        if key in FLAG_KEYS and isinstance(value, bool):
            allowed = _may_switch_on(key, fields)
            fields[key] = value and allowed
            if key == "has_position_limits":
                changed |= fields[key] is True
            else:
                changed |= allowed or not value
    result = replace(limits, **fields)
    return changed if compat else _differ(limits, result), result


def check_for_soft_limits_update(
    joint_name: str, parameters: Sequence[Parameter], limits: SoftJointLimits, *, compat: bool = False
) -> tuple[bool, SoftJointLimits]:
    """Return whether the soft limits changed, and the soft limits after it.

    `has_soft_limits` set to false leaves all as it was. Values of a wrong type are skipped. In compat the first
    result tells about the last number only, as the reference does.
    """
    given = _own(joint_name, parameters, SOFT_KEYS)
    if any(key == HAS_SOFT_LIMITS and value is False for key, value in given):
        return False, limits
    fields: _Fields = asdict(limits)
    changed = False
    for key, value in given:
        if key != HAS_SOFT_LIMITS and isinstance(value, float):
            field = SOFT_FIELDS[key]
            changed = fields[field] != value
            fields[field] = value
    result = replace(limits, **fields)
    return changed if compat else _differ(limits, result), result


def _own(joint: str, parameters: Sequence[Parameter], keys: Sequence[str]) -> list[tuple[str, ParameterValue]]:
    """Return the keys and values of this joint, in order."""
    wanted = {parameter_name(joint, key): key for key in keys}
    return [(wanted[name], value) for name, value in parameters if name in wanted]


def _may_switch_on(key: str, fields: _Fields) -> bool:
    """Tell whether a flag may become true beside the numbers and flags there are."""
    if key == WRAPAROUND:
        return not fields["has_position_limits"]
    if key == "has_position_limits":
        return fields["min_position"] < fields["max_position"]
    (number,) = NUMBERS[key.removeprefix("has_").removesuffix("_limits")]
    return not math.isnan(fields[number])


def _differ(before: _Record, after: _Record) -> bool:
    """Tell whether two records differ; NaN equals NaN."""
    pairs = zip(asdict(before).values(), asdict(after).values(), strict=True)
    return any(old != new and not (math.isnan(old) and math.isnan(new)) for old, new in pairs)
