"""CheckTrajectory: every point of a trajectory against the effective limits; nothing is relayed."""

from collections.abc import Mapping
from typing import Any

from handlers.methods.explain import finite
from handlers.methods.motion_params import (
    Array,
    check_mode_of,
    joint_order,
    mode_name,
    mode_of,
    refusal,
    rows,
    usable_limits,
    vector,
)
from handlers.rpc.outcome import Answer
from handlers.rpc.plain_params import integer, known_only, plain_params
from handlers.rpc.request import Request
from handlers.state.arm_state import ArmState
from limits.errors import LimitsError
from limits.stack.joints import ArmJoints
from limits.stack.law import position_laws
from limits.trajectory import Trajectory, TrajectoryViolation, check_trajectory
from schema.errors import BrokerError

LISTS = {"times": 1, "positions": 2, "velocities": 2, "accelerations": 2}
"""The params that are long lists of numbers, and how deep."""
VIOLATIONS, VIOLATIONS_MOST = 100, 1_000
"""Violations of one answer: unless told, and at most."""
_HIGHEST = 1_000_000_000


def check_trajectory_of(state: ArmState, request: Request) -> Answer:
    """Compare a trajectory with the effective limits of a mode: how many numbers are out, the first, the worst, a page.

    `times` in s, `positions`, `velocities` and `accelerations` point by point in rad or m and per s and s².
    """
    params = plain_params(request)
    known_only(params, (*LISTS, "joints", "mode", "check_mode", "skip", "limit"))
    limits, mode, check_mode = usable_limits(state), mode_of(state, params), check_mode_of(state, params)
    skip = integer(params, "skip", 0, _HIGHEST)
    limit = integer(params, "limit", VIOLATIONS, VIOLATIONS_MOST, lowest=1)
    joints = limits.joints
    trajectory = _trajectory(params, joints)
    laws = position_laws(limits.folded)
    found = check_trajectory(limits.effective(mode), trajectory, joints.names, check_mode, laws)
    shown = found.violations(skip + limit)[skip:]
    return Answer(
        {
            "within": not len(found),
            "mode": mode_name(mode),
            "check_mode": check_mode.name,
            "points": int(trajectory.times.size),
            "count": len(found),
            "first": _violation(joints, found.first),
            "worst": _violation(joints, found.worst),
            "violations": [_violation(joints, violation) for violation in shown],
            "more": skip + len(shown) < len(found),
        }
    )


def _trajectory(params: Mapping[str, object], joints: ArmJoints) -> Trajectory:
    """The trajectory of the params, joints in the order of the arm.

    Raises:
        BrokerError: malformed, wrong_joint_count, not_finite, unknown_enum, implausible_value.
    """
    order = joint_order(params, joints.names)
    for key in ("times", "positions"):
        if key not in params:
            raise BrokerError("malformed", f"params.{key}: a trajectory needs it")
    arrays: dict[str, Array] = {"times": vector(params["times"], "params.times")}
    for key in LISTS:
        if key in params and key != "times":
            arrays[key] = rows(params[key], f"params.{key}", len(order))[:, order]
    try:
        return Trajectory.of(**arrays)
    except LimitsError as error:
        raise refusal(error) from error


def _violation(joints: ArmJoints, found: TrajectoryViolation | None) -> dict[str, Any] | None:
    if found is None:
        return None
    quantity = found.check.rpartition("_")[2]
    return {
        "check": found.check,
        "point": found.point,
        "time": found.time,
        "joint": joints.names.index(found.joint) + 1,
        "joint_name": found.joint,
        "got": finite(found.value),
        "bound": finite(found.bound),
        "unit": joints.unit("position_upper" if quantity == "position" else quantity, found.joint),
        "excess": finite(found.excess),
    }
