"""Checks of the items that the service itself holds: they make sense, and stay inside the limits of the machine.

Only what differs from the present value is looked at, so that a limit of the machine that was tightened meanwhile
stands in no other joint's way.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from handlers.rpc.plain_params import listed
from handlers.stack.arm_limits import limits_of, vectors_of
from handlers.stack.joint_vectors import QUANTITY_OF, to_vectors
from handlers.stack.limit_layers import APPLICATION_SLOT, SAFETY_SLOT
from handlers.state.arm_state import ArmState, as_message
from handlers.state.refusals import NOTHING_CHANGED, description_of, origin, refusal
from limits.bounds import RELATIVE
from limits.errors import LimitsError
from limits.formats.urdf_records import RANGED_TYPES
from limits.intrinsic.geometry import Array
from limits.intrinsic.joint_limits import JointLimitVectors
from limits.stack.fold import Effective
from limits.stack.joints import LOWER, UPPER
from schema.envelope import Violation, Warned
from schema.errors import BrokerError
from schema.intrinsic import JointLimits
from schema.joint_items import JointSafetyGains, JointSafetyMap

RANGE, MINIMUM = "rule:range", "rule:minimum"
"""Sources of bounds that are no limit of the arm: the other end of a range, and 0."""


class Naming(NamedTuple):
    """How a request names the number of a vector: `max_velocity.values[3]`, or `update.max_velocity` of one joint."""

    single: bool = False

    def path(self, name: str, column: int) -> str:
        """The path of a number."""
        return f"update.{name}" if self.single else f"{name}.values[{column}]"


def limits_within_system(state: ArmState, message: JointLimits) -> tuple[Warned, ...]:
    """Application limits: one number a joint, ranges in order, nothing negative, nothing beyond the machine."""
    return check_limits(state, message, Naming())


def check_limits(state: ArmState, message: JointLimits, naming: Naming) -> tuple[Warned, ...]:
    """As `limits_within_system`, with the paths of another request.

    Raises:
        BrokerError: wrong_joint_count, out_of_limits.
    """
    present = as_message(state.desired[APPLICATION_SLOT], JointLimits)
    new, old = vectors_in(state, message), vectors_in(state, present)
    refuse(state, _beyond_system(state, new, old, naming))
    return ()


def vectors_in(state: ArmState, message: JointLimits) -> JointLimitVectors:
    """The vectors of application limits, one number a joint.

    Raises:
        BrokerError: wrong_joint_count.
    """
    joints = len(limits_of(state).joints.names)
    try:
        return to_vectors(message, joints)
    except LimitsError as error:
        text = f"{error.key}: {error.value} values for {joints} joints of {state.arm}. {NOTHING_CHANGED}"
        raise BrokerError("wrong_joint_count", text) from None


def refuse(state: ArmState, violations: Iterator[Violation]) -> None:
    """Refuse what is beyond a bound, lowest joint first.

    Raises:
        BrokerError: out_of_limits, if there is any violation.
    """
    found = sorted(violations, key=lambda one: one.joint)
    if found:
        raise refusal(found, origin(state, found[0].source))


def no_such_joint(state: ArmState, path: str, joint: str) -> BrokerError:
    """The refusal of a joint that the arm does not have."""
    names = limits_of(state).joints.names
    text = f"{path}: {joint[:60]!r} is no joint of {state.arm}; joints: {listed(joint, names)}. {NOTHING_CHANGED}"
    violation = Violation(path, 0.0, 0.0, "", "==", description_of(state).hard_source, joint_name=joint[:60])
    return BrokerError("unknown_enum", text, (violation,))


class Bound(NamedTuple):
    """What a number violates."""

    bound: float
    relation: str
    source: str


def _beyond_system(
    state: ArmState, new: JointLimitVectors, old: JointLimitVectors, naming: Naming
) -> Iterator[Violation]:
    """Every number that differs from the present one and breaks a rule."""
    limits = limits_of(state)
    system = limits.system
    machine = vectors_of(system)
    for name, quantity in QUANTITY_OF.items():
        values, outer = getattr(new, name), getattr(machine, name)
        nearest = _nearest(name, values, outer)
        for column in map(int, np.flatnonzero(values != getattr(old, name))):
            joint, value = limits.joints.names[column], float(values[column])
            broken = _broken(name, value, new, column) or beyond(system, quantity, joint, value)
            if broken is not None:
                yield Violation(
                    path=naming.path(name, column),
                    got=value,
                    bound=broken.bound,
                    unit=limits.joints.unit(quantity, joint),
                    relation=broken.relation,
                    source=broken.source,
                    joint=column + 1,
                    joint_name=joint,
                    suggest=float(nearest[column]) if naming.single else tuple(nearest.tolist()),
                )


def _nearest(name: str, values: Array, outer: Array) -> Array:
    """The vector with each number at its nearest legal one; ranges that are not in order stay so."""
    if name == "min_position":
        return np.maximum(values, outer)
    lowest = -np.inf if name == "max_position" else 0.0
    nearest: Array = np.clip(values, lowest, outer)
    return nearest


def _broken(name: str, value: float, new: JointLimitVectors, column: int) -> Bound | None:
    """The rule that a number breaks whatever the machine is: ranges in order, nothing negative."""
    if name == "min_position":
        upper = float(new.max_position[column])
        return Bound(upper, "<=", RANGE) if value > upper or value == math.inf else None
    if name == "max_position":
        lower = float(new.min_position[column])
        return Bound(lower, ">=", RANGE) if value < lower or value == -math.inf else None
    return Bound(0.0, ">=", MINIMUM) if value < 0.0 else None


def beyond(system: Effective, quantity: str, joint: str, value: float) -> Bound | None:
    """The limit of the machine that a number exceeds by more than a relative 1e-6."""
    bound = system.value(quantity, joint)
    slack = RELATIVE * abs(bound) if math.isfinite(bound) else 0.0
    outside = value < bound - slack if quantity == LOWER else value > bound + slack
    origin_of = system.origin(quantity, joint)
    if not outside or origin_of is None:
        return None
    return Bound(bound, ">=" if quantity == LOWER else "<=", origin_of.source)


def safety_within_system(state: ArmState, message: JointSafetyMap) -> tuple[Warned, ...]:
    """JointSafety: joints of the arm, finite numbers, gains from 0, soft ranges in order and inside the machine's.

    Gains of zero that freeze a joint are told (ZERO_GAINS).

    Raises:
        BrokerError: unknown_enum, not_finite, out_of_limits.
    """
    before = as_message(state.desired[SAFETY_SLOT], JointSafetyMap).joints
    changed = {name: gains for name, gains in message.joints.items() if before.get(name) != gains}
    joints = limits_of(state).joints
    for name in changed:
        if name not in joints.names:
            raise no_such_joint(state, f"joints.{name[:60]}", name)
    _refuse_not_finite(changed)
    refuse(state, (found for name, gains in changed.items() for found in _unsafe(state, name, gains)))
    ranged = {name for name, kind in zip(joints.names, joints.types, strict=True) if kind in RANGED_TYPES}
    frozen = [
        name for name, gains in changed.items() if not gains.k_velocity or (name in ranged and not gains.k_position)
    ]
    if not frozen:
        return ()
    text = f"k_position 0 allows no velocity, k_velocity 0 no effort: {', '.join(frozen)}"
    return (Warned("ZERO_GAINS", text, "joints"),)


def _refuse_not_finite(changed: dict[str, JointSafetyGains]) -> None:
    for name, gains in changed.items():
        for field in gains.__struct_fields__:
            if not math.isfinite(getattr(gains, field)):
                text = f"joints.{name}.{field}: {getattr(gains, field)} is not finite. {NOTHING_CHANGED}"
                raise BrokerError("not_finite", text)


def _unsafe(state: ArmState, name: str, gains: JointSafetyGains) -> Iterator[Violation]:
    """What breaks a rule in the record of a joint."""
    limits = limits_of(state)
    system, column = limits.system, limits.joints.names.index(name)
    ranged = limits.joints.types[column] in RANGED_TYPES or math.isfinite(system.value(LOWER, name))
    unit = limits.joints.unit(LOWER, name)
    lower, upper = gains.soft_lower_limit, gains.soft_upper_limit
    given = bool(gains.k_position or lower or upper)
    broken: dict[str, Bound | None] = {
        "soft_lower_limit": Bound(upper, "<=", RANGE) if lower > upper else None,
        "k_position": Bound(0.0, ">=", MINIMUM) if gains.k_position < 0.0 else None,
        "k_velocity": Bound(0.0, ">=", MINIMUM) if gains.k_velocity < 0.0 else None,
    }
    if given and ranged:
        for field, quantity, value in (("soft_lower_limit", LOWER, lower), ("soft_upper_limit", UPPER, upper)):
            broken[field] = broken.get(field) or beyond(system, quantity, name, value)
    for field, bound in broken.items():
        if bound is not None:
            yield Violation(
                path=f"joints.{name}.{field}",
                got=getattr(gains, field),
                bound=bound.bound,
                unit="" if field.startswith("k_") else unit,
                relation=bound.relation,
                source=bound.source,
                joint=column + 1,
                joint_name=name,
                suggest=bound.bound,
            )
