"""Matrixd, Quaternion, Pose and Affine3d as arrays: reading, writing, composing."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from limits.errors import LimitsError
from schema.intrinsic import Affine3d, Matrixd, Point, Pose, Quaternion

Array = npt.NDArray[np.float64]

MAX_DIMENSION = 2048
"""Rows and columns of a matrix are 1 to this."""

UNIT_TOLERANCE = 32 * float(np.finfo(np.float64).eps)
"""How far the squared norm of a quaternion may be from 1."""

NORMALIZE_TOLERANCE = 1e-3
"""How far it may be when the reader normalises."""


class RigidTransform(NamedTuple):
    """A rotation followed by a translation."""

    position: Array
    """x, y, z in metres."""
    orientation: Array
    """x, y, z, w of the unit quaternion; its sign is kept."""


IDENTITY = RigidTransform(np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))


def almost_equals(a: float, b: float, tolerance: float) -> bool:
    """Equal; or both at most `tolerance` in magnitude; or apart by at most it, absolute or relative. NaN: never."""
    if a == b:
        return True
    if not (math.isfinite(a) and math.isfinite(b)):
        return False
    largest = max(abs(a), abs(b))
    return largest <= tolerance or abs(a - b) <= max(tolerance, tolerance * largest)


def matrix_from_message(message: Matrixd, *, key: str = "matrix") -> Array:
    """Rows x cols array from the column-major values.

    Raises:
        LimitsError: rows or cols outside 1 to 2048, or another number of values than rows * cols.
    """
    for name, size in (("rows", message.rows), ("cols", message.cols)):
        if not 1 <= size <= MAX_DIMENSION:
            raise LimitsError("size out of range", key=f"{key}.{name}", value=size, bound=(1, MAX_DIMENSION))
    count = message.rows * message.cols
    if len(message.values) != count:
        raise LimitsError("wrong number of values", key=f"{key}.values", value=len(message.values), bound=count)
    return np.array(message.values, dtype=np.float64).reshape(message.rows, message.cols, order="F")


def matrix_to_message(matrix: Array) -> Matrixd:
    """Column-major message of a two-dimensional array."""
    rows, cols = matrix.shape
    return Matrixd(rows=rows, cols=cols, values=tuple(matrix.flatten(order="F").tolist()))


def point_to_array(point: Point | None) -> Array:
    """x, y, z; zeros when absent."""
    return np.zeros(3) if point is None else np.array([point.x, point.y, point.z])


def point_from_array(values: Array) -> Point:
    """Message of x, y, z."""
    x, y, z = values.tolist()
    return Point(x=x, y=y, z=z)


def unit_vector(axis: Point, *, joint: str | None = None) -> Point:
    """The direction of a joint's axis, with length 1.

    Raises:
        LimitsError: the axis is zero or not finite.
    """
    length = math.hypot(axis.x, axis.y, axis.z)
    if not (length > 0 and math.isfinite(length)):
        raise LimitsError("no direction", joint=joint, key="axis", value=(axis.x, axis.y, axis.z))
    return Point(x=axis.x / length, y=axis.y / length, z=axis.z / length)


def _unit_quaternion(message: Quaternion | None, *, normalize: bool, compat: bool, key: str) -> Array:
    found = message or Quaternion()
    values = np.array([found.x, found.y, found.z, found.w])
    norm = float(values @ values)
    if abs(norm - 1.0) <= UNIT_TOLERANCE:
        return values
    tolerance = NORMALIZE_TOLERANCE if normalize else UNIT_TOLERANCE
    if not (almost_equals(norm, 1.0, tolerance) if compat else abs(norm - 1.0) <= tolerance):
        raise LimitsError("not a unit quaternion: squared norm off 1", key=key, value=norm, bound=tolerance)
    return values / math.sqrt(norm)


def pose_from_message(
    message: Pose, *, normalize: bool = False, compat: bool = False, key: str = "pose"
) -> RigidTransform:
    """Transform of a pose that is present; an absent position is zero, an absent orientation is an error.

    With `normalize` a quaternion whose squared norm is within 1e-3 of 1 is scaled to it; one that is a unit already is
    kept bit for bit. `compat` compares as `almost_equals` does, so beyond 1 relative to the norm, and takes infinite
    positions, and NaN ones when normalising.

    Raises:
        LimitsError: the quaternion is none, or the position is not finite.
    """
    orientation = _unit_quaternion(message.orientation, normalize=normalize, compat=compat, key=f"{key}.orientation")
    position = point_to_array(message.position)
    refused = ~np.isfinite(position)
    if compat:
        refused = np.isnan(position) & (not normalize)
    if refused.any():
        raise LimitsError("not a finite position", key=f"{key}.position", value=position.tolist())
    return RigidTransform(position, orientation)


def pose_to_message(transform: RigidTransform) -> Pose:
    """Message with both fields present."""
    x, y, z, w = transform.orientation.tolist()
    return Pose(position=point_from_array(transform.position), orientation=Quaternion(x=x, y=y, z=z, w=w))


def rotation_matrix(orientation: Array) -> Array:
    """3x3 rotation matrix of a unit quaternion x, y, z, w."""
    x, y, z, w = orientation.tolist()
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def compose(a: RigidTransform, b: RigidTransform) -> RigidTransform:
    """First b, then a."""
    u, v = a.orientation[:3], b.orientation[:3]
    aw, bw = a.orientation[3], b.orientation[3]
    vector = aw * v + bw * u + np.cross(u, v)
    orientation = np.append(vector, aw * bw - u @ v)
    return RigidTransform(a.position + rotation_matrix(a.orientation) @ b.position, orientation)


def invert(a: RigidTransform) -> RigidTransform:
    """The transform that undoes a."""
    return RigidTransform(
        -(rotation_matrix(a.orientation).T @ a.position), a.orientation * np.array([-1.0, -1.0, -1.0, 1.0])
    )


def affine_from_message(message: Affine3d, *, compat: bool = False) -> Array:
    """3x4 array: linear part and translation; an absent translation is zero, an absent linear part an error.

    The linear part may scale and shear and is taken as it is. `compat` takes numbers that are not finite.

    Raises:
        LimitsError: the linear part is not 3x3, or a number is not finite.
    """
    linear = matrix_from_message(message.linear or Matrixd(), key="linear")
    if linear.shape != (3, 3):
        raise LimitsError("not 3x3", key="linear", value=linear.shape, bound=(3, 3))
    affine = np.column_stack([linear, point_to_array(message.translation)])
    if not (compat or np.isfinite(affine).all()):
        raise LimitsError("not finite", key="affine", value=affine.tolist())
    return affine


def affine_to_message(affine: Array) -> Affine3d:
    """Message of a 3x4 array, both fields present."""
    return Affine3d(linear=matrix_to_message(affine[:, :3]), translation=point_from_array(affine[:, 3]))


def compose_affine(a: Array, b: Array) -> Array:
    """First b, then a; both 3x4."""
    return np.column_stack([a[:, :3] @ b[:, :3], a[:, :3] @ b[:, 3] + a[:, 3]])
