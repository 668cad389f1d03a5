"""JointSafety of tesseract: the soft range and the gains of a joint's safety controller."""

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from limits.formats.urdf_checks import check_safety
from limits.formats.urdf_records import UrdfSafety

MAX_DIFF = 1e-6
"""Absolute difference up to which tesseract calls two numbers equal."""
MAX_REL_DIFF = float(np.finfo(np.float64).eps)
"""Difference relative to the larger magnitude up to which tesseract calls two numbers equal."""


class JointSafety(msgspec.Struct, frozen=True, kw_only=True):
    """Safety controller of a joint; keyword-only, because the original's order puts the upper limit first.

    Attributes:
        soft_upper_limit: upper end of the soft range, rad or m.
        soft_lower_limit: lower end of the soft range, rad or m.
        k_position: from distance to velocity bound, 1/s.
        k_velocity: from velocity to effort bound, N·m·s/rad or N·s/m.

    `==` compares exactly; `joint_safety_equal` compares as the original does.
    """

    soft_upper_limit: float = 0.0
    soft_lower_limit: float = 0.0
    k_position: float = 0.0
    k_velocity: float = 0.0

    def clear(self) -> "JointSafety":
        """Return the cleared record: four zeros."""
        return JointSafety()


def almost_equal(
    a: ArrayLike, b: ArrayLike, max_diff: ArrayLike = MAX_DIFF, max_rel_diff: ArrayLike = MAX_REL_DIFF
) -> NDArray[np.bool_]:
    """Compare number by number as tesseract does: |a-b| at most `max_diff`, or `max_rel_diff` of the larger magnitude.

    Not transitive. NaN equals nothing; an infinity does not equal itself (the difference is NaN), but everything else.
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        difference = np.abs(first - second)
        largest = np.maximum(np.abs(first), np.abs(second))
        return np.asarray((difference <= max_diff) | (difference <= largest * max_rel_diff))


def joint_safety_equal(a: JointSafety, b: JointSafety) -> bool:
    """Compare two records as the original's `==` does: all four numbers `almost_equal`."""
    return bool(almost_equal(msgspec.structs.astuple(a), msgspec.structs.astuple(b)).all())


def check_joint_safety(safety: JointSafety, *, joint: str | None = None, file: str | None = None) -> None:
    """Refuse a record that no controller should run.

    Raises:
        LimitsError: a number that is not finite, a negative gain, or a soft range whose ends are exchanged.
    """
    check_safety(UrdfSafety(**msgspec.structs.asdict(safety)), joint=joint, file=file)


def joint_safety_from_urdf(safety: UrdfSafety) -> JointSafety:
    """The record of a `<safety_controller>` element; what the element leaves out is 0, as the format says."""
    given = {name: value for name, value in msgspec.structs.asdict(safety).items() if value is not None}
    return JointSafety(**given)


def joint_safety_to_urdf(safety: JointSafety) -> UrdfSafety:
    """The `<safety_controller>` element of a record, all four attributes given."""
    return UrdfSafety(**msgspec.structs.asdict(safety))
