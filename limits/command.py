"""CheckCommand: one command through a limiter that is set up from the effective limits; nothing is remembered."""

import enum
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from limits.errors import LimitsError
from limits.formats.urdf_records import RANGED_TYPES, JointType
from limits.intrinsic.check_mode import checks_acceleration
from limits.ros2.arrays import INTERFACES, Floats, JointValues, any_true, quantities
from limits.ros2.limiter import Limiter
from limits.ros2.limiters import joint_range_limiter, joint_soft_limiter
from limits.ros2.reasons import Reason, Reasons
from limits.ros2.records import LARGEST, SMALLEST_RANGE, JointLimits, SoftJointLimits
from limits.ros2.saturation import TrajectoryPoint
from limits.ros2.saturation_limiter import JointSaturationLimiter
from limits.stack.fold import Effective, fold
from limits.stack.joints import MAXIMA, ArmJoints, Bounds
from limits.stack.layer import Stack
from limits.tesseract.joint_safety import JointSafety
from schema.intrinsic import DynamicLimitsCheckMode

CHECK_JOINT_ACCELERATION = DynamicLimitsCheckMode.DYNAMIC_LIMITS_CHECK_MODE_CHECK_JOINT_ACCELERATION


class LimiterKind(enum.StrEnum):
    """Which limiter a command goes through."""

    RANGE = "range"
    """Each commanded quantity by the effective limits."""
    SOFT = "soft"
    """The same, slowed down towards the soft ends by JointSafety; from beyond them a joint may come back."""
    SATURATION = "saturation"
    """A trajectory point: position, velocity and acceleration together, so that the joint can stop in its range."""


class Limited(NamedTuple):
    """One number of a command that was changed, and by which limit."""

    joint: str
    quantity: str
    wanted: float
    value: float
    reason: Reason


class CommandCheck(NamedTuple):
    """The command after limiting; `reasons` has, for each quantity with a number that was changed, what acted."""

    names: tuple[str, ...]
    wanted: JointValues
    command: JointValues
    reasons: Reasons

    def limited(self) -> tuple[Limited, ...]:
        """Every number that was changed."""
        return tuple(
            Limited(
                self.names[at],
                quantity,
                float(getattr(self.wanted, quantity)[at]),
                float(getattr(self.command, quantity)[at]),
                Reason(int(codes[at])),
            )
            for quantity, codes in self.reasons.items()
            for at in map(int, np.flatnonzero(codes))
        )


class CommandChecker:
    """Checks commands of an arm in one control mode; set it up again when the effective limits change.

    Raises:
        LimitsError: the effective limits leave a joint no position.
    """

    def __init__(self, effective: Effective, mode: int | None = None) -> None:
        self.joints = effective.joints
        self._bounds = effective.at(mode)
        self._soft = soft_limits(self.joints, [layer.safeties for layer in effective.layers if layer.safeties])
        self._soft_bounds = _outside_soft_ranges(effective, mode, self._soft)
        self._limiters: dict[tuple[LimiterKind, bool], Limiter | JointSaturationLimiter] = {}
        self._limiter(LimiterKind.RANGE, accelerations=True)

    def check(
        self,
        limiter: LimiterKind,
        state: JointValues,
        command: JointValues,
        dt: float,
        check_mode: int = CHECK_JOINT_ACCELERATION,
    ) -> CommandCheck:
        """Limit one command; `dt` in seconds from the state to it, quantities as arrays of shape (n,).

        Without a last command the state stands for it. In the mode CHECK_NONE accelerations are not limited.

        Raises:
            LimitsError: `dt` is not positive and finite, sizes differ, the state forbids the command or, for a
                trajectory point, an effort or jerk is commanded; or the check mode is none.
        """
        chosen = self._limiter(limiter, accelerations=checks_acceleration(check_mode))
        if isinstance(chosen, JointSaturationLimiter):
            return self._saturate(chosen, state, command, dt)
        chosen.reset()
        done = chosen.enforce(state, command, dt)
        return CommandCheck(self.joints.names, command, done.desired, done.reasons)

    def _saturate(
        self, limiter: JointSaturationLimiter, state: JointValues, command: JointValues, dt: float
    ) -> CommandCheck:
        for quantity in ("effort", "jerk"):
            if getattr(command, quantity) is not None:
                raise LimitsError("is not part of a trajectory point", key=quantity)
        done = limiter.enforce(_point(state), _point(command), dt)
        point = done.desired
        values = JointValues(point.positions, point.velocities, acceleration=point.accelerations)
        reasons: Reasons = {}
        for quantity, wanted, value in zip(INTERFACES, quantities(command), quantities(values), strict=True):
            if wanted is not None and value is not None and any_true(changed := value != wanted):
                reasons[quantity] = done.reasons * changed.view(np.uint8)
        return CommandCheck(self.joints.names, command, values, reasons)

    def _limiter(self, kind: LimiterKind, *, accelerations: bool) -> Limiter | JointSaturationLimiter:
        """Return the limiter, made when it is first asked for."""
        found = self._limiters.get((kind, accelerations))
        if found is None:
            found = self._limiters[kind, accelerations] = self._made(kind, accelerations=accelerations)
        return found

    def _made(self, kind: LimiterKind, *, accelerations: bool) -> Limiter | JointSaturationLimiter:
        bounds = self._soft_bounds if kind is LimiterKind.SOFT else self._bounds
        records = ros_limits(self.joints, bounds if accelerations else without_acceleration(bounds))
        match kind:
            case LimiterKind.RANGE:
                return joint_range_limiter(records, self.joints.names)
            case LimiterKind.SOFT:
                return joint_soft_limiter(records, self._soft, self.joints.names)
            case _:
                return JointSaturationLimiter(records, self.joints.names)


def _outside_soft_ranges(effective: Effective, mode: int | None, soft: Sequence[SoftJointLimits]) -> Bounds:
    """The effective limits, but of joints with a soft range the positions that the layers without one leave."""
    layers = tuple(layer for layer in effective.layers if not layer.safeties)
    bounds, outer = effective.at(mode), fold(Stack(effective.joints, layers)).at(mode)
    ranged = np.array([one.has_soft_position_limits() for one in soft], dtype=bool)
    return bounds._replace(
        position_lower=np.where(ranged, outer.position_lower, bounds.position_lower),
        position_upper=np.where(ranged, outer.position_upper, bounds.position_upper),
    )


def without_acceleration(bounds: Bounds) -> Bounds:
    """The bounds with no limit of acceleration and deceleration."""
    free = np.full(bounds.acceleration.shape, np.inf)
    return bounds._replace(acceleration=free, deceleration=free)


def ros_limits(joints: ArmJoints, bounds: Bounds) -> tuple[JointLimits, ...]:
    """The bounds as records of ros2_control; an end that alone is infinite is the largest finite double."""
    return tuple(_record(kind, bounds, at) for at, kind in enumerate(joints.types))


def _record(kind: JointType, bounds: Bounds, at: int) -> JointLimits:
    lower, upper = float(bounds.position_lower[at]), float(bounds.position_upper[at])
    ranged = math.isfinite(lower) or math.isfinite(upper)
    record = JointLimits(angle_wraparound=kind is JointType.CONTINUOUS and not ranged)
    if ranged:
        ends = {"min_position": max(lower, -LARGEST), "max_position": min(upper, LARGEST)}
        record = replace(record, has_position_limits=True, **ends)
    for quantity in MAXIMA:
        most = float(getattr(bounds, quantity)[at])
        if math.isfinite(most):
            record = replace(record, **{f"has_{quantity}_limits": True, f"max_{quantity}": most})
    return record


def soft_limits(joints: ArmJoints, records: Sequence[Sequence[JointSafety | None]]) -> tuple[SoftJointLimits, ...]:
    """The soft limits of ros2_control for the JointSafety records of each joint: tightest range, smallest gains.

    Gains of 0 and a range with nothing in it are left out, as is the range of a joint that is not ranged: there the
    effective limits hold.
    """
    by_joint: list[list[JointSafety]] = [[] for _ in joints.names]
    for layer in records:
        for at, record in enumerate(layer):
            if record is not None:
                by_joint[at].append(record)
    return tuple(_soft(found, kind) for found, kind in zip(by_joint, joints.types, strict=True))


def _soft(records: list[JointSafety], kind: JointType) -> SoftJointLimits:
    gains = {
        key: min((getattr(record, key) for record in records if getattr(record, key) > 0.0), default=math.nan)
        for key in ("k_position", "k_velocity")
    }
    ranged = [
        record
        for record in records
        if kind in RANGED_TYPES and (record.k_position or record.soft_lower_limit or record.soft_upper_limit)
    ]
    lower = max((record.soft_lower_limit for record in ranged), default=math.nan)
    upper = min((record.soft_upper_limit for record in ranged), default=math.nan)
    if not upper - lower > SMALLEST_RANGE:
        return SoftJointLimits(k_velocity=gains["k_velocity"])
    return SoftJointLimits(min_position=lower, max_position=upper, **gains)


def _point(values: JointValues) -> TrajectoryPoint:
    return TrajectoryPoint(values.position, values.velocity, values.acceleration)


def joint_values(numbers: dict[str, Sequence[float]]) -> JointValues:
    """A command or state of lists by quantity, one number a joint in rad or m and per s, s², s³, N·m or N.

    Raises:
        LimitsError: a quantity that is none of a command, or what is no list of numbers.
    """
    arrays: dict[str, Floats] = {}
    for quantity, values in numbers.items():
        if quantity not in INTERFACES:
            raise LimitsError("is no quantity of a command", key=quantity, bound=INTERFACES)
        try:
            arrays[quantity] = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise LimitsError("is no list of numbers", key=quantity) from error
    return JointValues(**arrays)
