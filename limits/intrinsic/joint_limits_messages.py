"""JointLimits, JointLimitsUpdate: reading, writing and applying them to vectors."""

from collections.abc import Sequence

import numpy as np

from limits.errors import LimitsError
from limits.intrinsic.geometry import Array
from limits.intrinsic.joint_limits import (
    FIELDS,
    MAX_FIELDS,
    POSITION_FIELDS,
    JointLimitVectors,
    check_joint_limits,
    check_within,
)
from schema.intrinsic import JointLimits, JointLimitsUpdate, RepeatedDouble


def _values(field: RepeatedDouble | None) -> Array:
    return np.array(() if field is None else field.values, dtype=np.float64)


def joint_limits_from_message(
    message: JointLimits, *, max_dof: int | None = None, names: Sequence[str] | None = None
) -> JointLimitVectors:
    """Vectors of a message: an absent max_* is unlimited for every joint, an absent position vector has no joint.

    `max_dof` is `FIXED_MAX_DOF` for the fixed-size variant. A vector present and empty is empty, not unlimited.

    Raises:
        LimitsError: the limits are not valid.
    """
    size = len(_values(message.min_position))
    limits = JointLimitVectors(
        _values(message.min_position),
        _values(message.max_position),
        *(
            np.full(size, np.inf) if getattr(message, name) is None else _values(getattr(message, name))
            for name in MAX_FIELDS
        ),
    )
    check_joint_limits(limits, max_dof=max_dof, names=names)
    return limits


def _written(limits: JointLimitVectors, left_out: dict[str, bool]) -> dict[str, RepeatedDouble]:
    return {
        name: RepeatedDouble(tuple(getattr(limits, name).tolist())) for name in FIELDS if not left_out.get(name, False)
    }


def joint_limits_to_message(limits: JointLimitVectors, *, compat: bool = False) -> JointLimits:
    """Message with all six vectors, infinite entries included.

    `compat` leaves out each max_* vector that has an infinite entry, which makes all its entries unlimited.
    """
    left_out = {name: compat and bool(np.isinf(getattr(limits, name)).any()) for name in MAX_FIELDS}
    return JointLimits(**_written(limits, left_out))


def joint_limits_to_update(limits: JointLimitVectors, *, compat: bool = False) -> JointLimitsUpdate:
    """Update that replaces all six vectors.

    `compat` leaves out each max_* vector with an infinite entry and each position vector of infinite entries only, so
    that it cannot lift a limit.
    """
    left_out = {name: compat and bool(np.isinf(getattr(limits, name)).any()) for name in MAX_FIELDS}
    left_out |= {name: compat and bool(np.isinf(getattr(limits, name)).all()) for name in POSITION_FIELDS}
    return JointLimitsUpdate(**_written(limits, left_out))


def merge_joint_limits(base: JointLimitVectors, update: JointLimitsUpdate) -> JointLimitVectors:
    """The base with each vector replaced that the update holds; absent and empty keep, sizes must agree.

    Only the sizes are looked at, as the reference does; `update_joint_limits` is what a service wants.

    Raises:
        LimitsError: naming the first vector of another size.
    """
    merged = {}
    for name, old in zip(FIELDS, base, strict=True):
        new = _values(getattr(update, name))
        if len(new) not in (0, len(old)):
            raise LimitsError("size differs from the limits updated", key=name, value=len(new), bound=len(old))
        merged[name] = new if len(new) else old
    return JointLimitVectors(**merged)


def update_joint_limits(
    base: JointLimitVectors,
    update: JointLimitsUpdate,
    *,
    within: JointLimitVectors | None = None,
    names: Sequence[str] | None = None,
) -> JointLimitVectors:
    """Merge, and require the outcome valid and inside `within`, by default the base: an update only tightens.

    Raises:
        LimitsError: sizes disagree, or the outcome is not valid or reaches beyond.
    """
    merged = merge_joint_limits(base, update)
    check_within(merged, base if within is None else within, names=names)
    return merged
