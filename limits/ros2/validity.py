"""What the default behaviour asks of a record before it acts on it; compat asks nothing."""

import math

from limits.errors import LimitsError
from limits.formats.diagnostics import Diagnostic
from limits.ros2.records import SMALLEST_RANGE, JointLimits, SoftJointLimits

NUMBERS: dict[str, tuple[str, ...]] = {
    "position": ("min_position", "max_position"),
    "velocity": ("max_velocity",),
    "acceleration": ("max_acceleration",),
    "deceleration": ("max_deceleration",),
    "jerk": ("max_jerk",),
    "effort": ("max_effort",),
}
"""The numbers behind each flag `has_<quantity>_limits`, in the order of the parameters."""


def check_limits(limits: JointLimits, joint: str, file: str | None = None) -> None:
    """Refuse hard limits that make no sense; numbers behind a flag that is off may be anything.

    Raises:
        LimitsError: an enabled number is NaN or infinite, a maximum is negative, or the range is inverted.
    """
    for quantity, keys in NUMBERS.items():
        if not getattr(limits, f"has_{quantity}_limits"):
            continue
        for key in keys:
            value = getattr(limits, key)
            if not math.isfinite(value):
                raise LimitsError(
                    f"has_{quantity}_limits is true, so it must be finite", file=file, joint=joint, key=key, value=value
                )
            if quantity != "position" and value < 0.0:
                raise LimitsError("is negative", file=file, joint=joint, key=key, value=value, bound=0.0)
    if limits.has_position_limits and limits.min_position > limits.max_position:
        raise LimitsError(
            "is above max_position",
            file=file,
            joint=joint,
            key="min_position",
            value=limits.min_position,
            bound=limits.max_position,
        )


def check_soft_limits(soft: SoftJointLimits, joint: str, file: str | None = None) -> None:
    """Refuse soft limits that make no sense; a number that is not given is NaN.

    Raises:
        LimitsError: a number is infinite, a gain is negative, one end stands alone, or the range is empty.
    """
    for key in ("soft_lower_limit", "soft_upper_limit", "k_position", "k_velocity"):
        value = getattr(soft, SOFT_FIELDS[key])
        if math.isinf(value):
            raise LimitsError("must be finite", file=file, joint=joint, key=key, value=value)
        if key.startswith("k_") and value < 0.0:
            raise LimitsError("a gain is not negative", file=file, joint=joint, key=key, value=value, bound=0.0)
    lower, upper = soft.min_position, soft.max_position
    if math.isnan(lower) != math.isnan(upper):
        key = "soft_lower_limit" if math.isnan(lower) else "soft_upper_limit"
        raise LimitsError("the other end of the soft range is given, this one is not", file=file, joint=joint, key=key)
    if upper - lower <= SMALLEST_RANGE:
        raise LimitsError(
            "the soft range is empty", file=file, joint=joint, key="soft_lower_limit", value=lower, bound=upper
        )


SOFT_FIELDS: dict[str, str] = {
    "k_position": "k_position",
    "k_velocity": "k_velocity",
    "soft_lower_limit": "min_position",
    "soft_upper_limit": "max_position",
}
"""The parameter keys of a soft record and the fields they fill."""


def clip_to_hard(
    soft: SoftJointLimits, hard: JointLimits, joint: str, file: str | None = None
) -> tuple[SoftJointLimits, tuple[Diagnostic, ...]]:
    """Return the soft limits inside the hard range, and what is doubtful: ends that were moved, gains of 0.

    Raises:
        LimitsError: the soft range is malformed, or lies wholly outside the hard one.
    """
    check_soft_limits(soft, joint, file)
    notes = [
        Diagnostic(joint, key, 0.0, reason)
        for key, reason in (
            ("k_position", "is 0, so it does not slow the joint down towards the soft ends"),
            ("k_velocity", "is 0, so it does not limit the effort"),
        )
        if getattr(soft, key) == 0.0
    ]
    if not hard.has_position_limits or not soft.has_soft_position_limits():
        return soft, tuple(notes)
    if soft.min_position > hard.max_position or soft.max_position < hard.min_position:
        raise LimitsError(
            "the soft range lies outside the hard range",
            file=file,
            joint=joint,
            key="soft_lower_limit",
            value=(soft.min_position, soft.max_position),
            bound=(hard.min_position, hard.max_position),
        )
    lower, upper = max(soft.min_position, hard.min_position), min(soft.max_position, hard.max_position)
    for key, given, used in (
        ("soft_lower_limit", soft.min_position, lower),
        ("soft_upper_limit", soft.max_position, upper),
    ):
        if given != used:
            notes.append(Diagnostic(joint, key, given, f"is outside the hard range; {used!r} is used"))
    clipped = SoftJointLimits(
        min_position=lower, max_position=upper, k_position=soft.k_position, k_velocity=soft.k_velocity
    )
    return clipped, tuple(notes)
