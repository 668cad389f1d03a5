"""Limit sets from and to the formats without names: JointLimits of intrinsic_proto, KinematicLimits of Kinova."""

import json
import math
from collections.abc import Sequence

import numpy as np

from limits.conversion.limit_set import JointNumbers, LimitedJoint, LimitSet, counted_names, number_or_none
from limits.errors import LimitsError
from limits.formats.intrinsic_files import read_joint_limits, write_joint_limits
from limits.intrinsic.joint_limits import JointLimitVectors, vectors
from limits.kinova_limits import KinovaNumbers, from_kinematic_limits, to_kinematic_limits
from limits.stack.joints import refuse_twice
from limits.stack.sources import OF_VECTORS
from schema.codecs.plain import to_plain
from schema.codecs.proto_json import ProtoJsonError, decode_json
from schema.enums import ControlMode
from schema.messages import KinematicLimits


def limits_from_vectors(data: bytes, names: Sequence[str] | None = None, file: str | None = None) -> LimitSet:
    """The limits of a JointLimits file; joints without names given are counted.

    Raises:
        LimitsError: see `read_joint_limits`; not one name a joint.
    """
    found = read_joint_limits(data, file)
    called = given_or_counted(names, found.size, file)
    joints = [LimitedJoint(name=name, limits=numbers_at(found, index)) for index, name in enumerate(called)]
    return LimitSet(joints=tuple(joints), named=False)


def limits_to_vectors(limits: LimitSet, *, as_json: bool = False) -> bytes:
    """A JointLimits file with these limits."""
    columns = {
        field: [_finite(getattr(joint.limits, key), field) for joint in limits.joints]
        for field, key in OF_VECTORS.items()
    }
    return write_joint_limits(vectors(**columns), json=as_json)


def limits_from_kinova(data: bytes, names: Sequence[str] | None = None, file: str | None = None) -> LimitSet:
    """The limits of a KinematicLimits message as JSON, in either spelling; joints without names given are counted.

    Raises:
        LimitsError: no JSON of the message, lists of different lengths, or see `from_kinematic_limits`.
    """
    try:
        message = decode_json(data, KinematicLimits)
    except ProtoJsonError as error:
        raise LimitsError(f"is no KinematicLimits: {error}", file=file) from error
    count = max(len(message.joint_speed_limits), len(message.joint_acceleration_limits), len(names or ()))
    numbers = from_kinematic_limits(message, count, file=file)
    called = given_or_counted(names, count, file)
    joints = tuple(
        LimitedJoint(
            name=name,
            limits=JointNumbers(velocity=number_or_none(float(v)), acceleration=number_or_none(float(a))),
        )
        for name, v, a in zip(called, numbers.velocity, numbers.acceleration, strict=True)
    )
    return LimitSet(
        joints=joints,
        named=False,
        mode=ControlMode(message.control_mode),
        twist_linear=number_or_none(numbers.twist_linear),
        twist_angular=number_or_none(numbers.twist_angular),
    )


def limits_to_kinova(limits: LimitSet) -> bytes:
    """A KinematicLimits message as JSON, in degrees as float32; a list with an unlimited joint stays empty.

    Raises:
        LimitsError: a limit that the mode does not take, or that is 0 where that means none.
    """
    numbers = KinovaNumbers(
        math.inf if limits.twist_linear is None else limits.twist_linear,
        math.inf if limits.twist_angular is None else limits.twist_angular,
        np.array([_finite(joint.limits.velocity, "velocity") for joint in limits.joints], dtype=np.float64),
        np.array([_finite(joint.limits.acceleration, "acceleration") for joint in limits.joints], dtype=np.float64),
    )
    message = to_kinematic_limits(numbers, limits.mode)
    return json.dumps(to_plain(message), indent=2).encode() + b"\n"


def numbers_at(found: JointLimitVectors, index: int) -> JointNumbers:
    """The numbers of one joint."""
    values = {key: number_or_none(float(getattr(found, field)[index])) for field, key in OF_VECTORS.items()}
    return JointNumbers(**values)


def given_or_counted(names: Sequence[str] | None, count: int, file: str | None) -> Sequence[str]:
    """The names given, else counted ones.

    Raises:
        LimitsError: not one name a joint, or one of them twice.
    """
    called = counted_names(count) if names is None else names
    if len(called) != count:
        raise LimitsError("names and joints differ in count", file=file, key="names", value=len(called), bound=count)
    refuse_twice(called, file)
    return called


def _finite(value: float | None, key: str) -> float:
    """The number, infinite where there is no limit."""
    if value is not None:
        return value + 0.0
    return -math.inf if key == "min_position" else math.inf
