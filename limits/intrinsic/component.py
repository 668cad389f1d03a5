"""The world's kinematics component: one joint with system and application limits, and how they are read and changed."""

import enum
import math
from typing import NamedTuple

import msgspec

from limits.errors import LimitsError
from limits.intrinsic.geometry import unit_vector
from schema.fields import Double
from schema.intrinsic import JointLimitUpdate, LimitPair, Point
from schema.messages import Message

APPLICATION_FACTOR = 0.95
"""Share of a system velocity, acceleration or jerk that an application may use."""

SCALARS = ("velocity", "acceleration", "jerk", "effort")
UNLIMITED_PAIR = LimitPair(lower=-math.inf, upper=math.inf)


class MotionType(enum.IntEnum):
    """Kind of motion; one higher than `schema.intrinsic.JointType`."""

    MOTION_TYPE_UNDEFINED = 0
    MOTION_TYPE_REVOLUTE = 1
    MOTION_TYPE_PRISMATIC = 2
    MOTION_TYPE_FIXED = 3


class ComponentLimits(Message, frozen=True):
    """Limits of one joint; an absent scalar is 0 and freezes, absent position limits are none."""

    velocity: Double = 0.0
    acceleration: Double = 0.0
    jerk: Double = 0.0
    fixed_limits: LimitPair | None = None
    effort: Double = 0.0


class Component(Message, frozen=True):
    """The joint: motion, current value, hard (system) and soft (application) limits, axis."""

    motion_type: MotionType | int = MotionType.MOTION_TYPE_UNDEFINED
    raw_value: Double | None = None
    system_limits: ComponentLimits | None = None
    axis: Point | None = None
    application_limits: ComponentLimits | None = None


UNLIMITED = ComponentLimits(
    velocity=math.inf, acceleration=math.inf, jerk=math.inf, fixed_limits=UNLIMITED_PAIR, effort=math.inf
)


def check_component_limits(
    limits: ComponentLimits, *, key: str, joint: str | None = None, compat: bool = False
) -> None:
    """Require ordered bounds and scalars of at least 0; NaN passes in `compat` only.

    Raises:
        LimitsError: naming the field.
    """
    pair = limits.fixed_limits
    if pair is not None and not (pair.lower <= pair.upper or (compat and not pair.lower > pair.upper)):
        raise LimitsError(
            "bounds leave no position", joint=joint, key=f"{key}.lower", value=pair.lower, bound=pair.upper
        )
    for name in SCALARS:
        value = getattr(limits, name)
        if value < 0 or not (compat or value >= 0):
            raise LimitsError("negative or not a number", joint=joint, key=f"{key}.{name}", value=value, bound=0.0)


def check_application_within(
    system: ComponentLimits, application: ComponentLimits, *, joint: str | None = None
) -> None:
    """Require application limits inside the system's; positions only where both have them. NaN is not looked for.

    Raises:
        LimitsError: naming the field and the system's bound.
    """
    inner, outer = application.fixed_limits, system.fixed_limits
    pairs = [(name, getattr(application, name), getattr(system, name)) for name in SCALARS]
    if inner is not None and outer is not None:
        pairs += [("lower", -inner.lower, -outer.lower), ("upper", inner.upper, outer.upper)]
    for name, value, bound in pairs:
        if value > bound:
            sign = -1.0 if name == "lower" else 1.0
            raise LimitsError(
                "beyond the system limit",
                joint=joint,
                key=f"application_limits.{name}",
                value=sign * value,
                bound=sign * bound,
            )


def check_component(component: Component, *, joint: str | None = None) -> None:
    """Require valid limits, application inside system, and a current value inside the application's bounds.

    Raises:
        LimitsError: naming the field.
    """
    system, application = component.system_limits, component.application_limits
    for key, limits in (("system_limits", system), ("application_limits", application)):
        if limits is not None:
            check_component_limits(limits, key=key, joint=joint)
    if application is None:
        return
    if system is not None:
        check_application_within(system, application, joint=joint)
    pair, value = application.fixed_limits, component.raw_value
    if pair is not None and value is not None and not pair.lower <= value <= pair.upper:
        raise LimitsError(
            "outside the application limits", joint=joint, key="raw_value", value=value, bound=(pair.lower, pair.upper)
        )


def _axis(component: Component, joint: str | None) -> Point:
    if component.axis is None or component.motion_type == MotionType.MOTION_TYPE_FIXED:
        return Point(z=1.0)
    return unit_vector(component.axis, joint=joint)


def _scalars(limits: ComponentLimits, instead_of_infinite: ComponentLimits) -> dict[str, float]:
    """The four scalars, infinite ones replaced; NaN and -0.0 become 0, the frozen joint."""
    values = {name: getattr(limits, name) for name in SCALARS}
    return {
        name: max(0.0, getattr(instead_of_infinite, name) if value == math.inf else value)
        for name, value in values.items()
    }


def _raw_value(component: Component, pair: LimitPair) -> float:
    value = component.raw_value
    if value is None:
        return 0.0 if pair.lower <= 0.0 <= pair.upper else pair.lower + 0.5 * (pair.upper - pair.lower)
    if value < pair.lower:
        return pair.lower
    return min(value, pair.upper)


def normalize_component(component: Component, *, joint: str | None = None, compat: bool = False) -> Component:
    """Component with every field given: limits filled, axis of length 1, current value inside the application's bounds.

    Absent system limits are unlimited, absent application limits those of the system, and so are absent application
    positions. An absent value is 0, or else the middle of the bounds: the lower one and half of the width, which is NaN
    without a lower end and infinite without an upper one. `compat` clamps a value that is outside, takes the system's
    scalar for an infinite application one, and lets NaN and infinity through; all of it is refused otherwise.

    Raises:
        LimitsError: naming the field.
    """
    motion = component.motion_type
    if motion not in set(MotionType) or motion == MotionType.MOTION_TYPE_UNDEFINED:
        raise LimitsError("undefined motion", joint=joint, key="motion_type", value=int(motion))
    if not compat:
        check_component(component, joint=joint)
    axis = _axis(component, joint)
    given = component.system_limits or UNLIMITED
    for key, limits in (("system_limits", given), ("application_limits", component.application_limits)):
        if limits is not None:
            check_component_limits(limits, key=key, joint=joint, compat=True)
    system = ComponentLimits(fixed_limits=given.fixed_limits or UNLIMITED_PAIR, **_scalars(given, given))
    wanted = component.application_limits or system
    application = ComponentLimits(fixed_limits=wanted.fixed_limits or system.fixed_limits, **_scalars(wanted, system))
    check_application_within(system, application, joint=joint)
    value = _raw_value(component, application.fixed_limits or UNLIMITED_PAIR)
    if not (compat or (math.isfinite(value) and component.raw_value in (None, value))):
        raise LimitsError(
            "no finite value within the bounds",
            joint=joint,
            key="raw_value",
            value=component.raw_value,
            bound=application.fixed_limits,
        )
    return Component(
        motion_type=MotionType(motion), raw_value=value, system_limits=system, axis=axis, application_limits=application
    )


def apply_joint_limit_update(
    limits: ComponentLimits, update: JointLimitUpdate, *, joint: str | None = None, compat: bool = False
) -> ComponentLimits:
    """Limits with each number of the update written; an absent one keeps, zero freezes.

    In `compat` the outcome is not looked at (NaN, inverted bounds), and one bound given to a joint without positions
    makes the other one 0. Otherwise the outcome must be valid, and such a joint needs both bounds.

    Raises:
        LimitsError: naming the field.
    """
    written: dict[str, object] = {}
    for name in SCALARS:
        value = getattr(update, f"max_{name}")
        if value is not None:
            if value < 0:
                raise LimitsError("negative", joint=joint, key=f"max_{name}", value=value, bound=0.0)
            written[name] = value
    low, high = update.min_position, update.max_position
    if (low, high) != (None, None):
        old = limits.fixed_limits
        if old is None and None in (low, high) and not compat:
            raise LimitsError("the joint has no positions: give both", joint=joint, key="min_position, max_position")
        old = old or LimitPair()
        written["fixed_limits"] = LimitPair(
            lower=old.lower if low is None else low, upper=old.upper if high is None else high
        )
    updated = msgspec.structs.replace(limits, **written)
    if not compat:
        check_component_limits(updated, key="limits", joint=joint)
    return updated


class LimitChoice(NamedTuple):
    """One kind of limit of one joint: the hard and the soft value."""

    system: float
    application: float


def set_limit(
    limits: LimitChoice,
    which: str,
    value: float,
    *,
    kind: str = "velocity",
    enforce: bool = True,
    joint: str | None = None,
    compat: bool = False,
) -> LimitChoice:
    """Set the `system` or `application` value of a `kind` of limit; enforced, application stays within its share.

    The share is the whole for effort, 0.95 for the others. A value between the share and the whole is refused; in
    `compat` the share is stored instead (for `system` that is more than was asked), and NaN is stored.

    Raises:
        LimitsError: the value is negative, not a number, or beyond the other limit.
    """
    key = f"{which}_limits.{kind}"
    if value < 0 or (math.isnan(value) and not compat):
        raise LimitsError("negative or not a number", joint=joint, key=key, value=value, bound=0.0)
    factor = 1.0 if kind == "effort" else APPLICATION_FACTOR
    wanted = limits._replace(**{which: value})
    if not enforce or not wanted.application > factor * wanted.system:
        return wanted
    nearest = factor * wanted.system if which == "application" else wanted.application / factor
    if wanted.application > wanted.system or not compat:
        raise LimitsError("application limit beyond its share", joint=joint, key=key, value=value, bound=nearest)
    return limits._replace(**{which: nearest})
