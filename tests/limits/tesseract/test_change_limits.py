import math

import pytest

from limits.errors import LimitsError
from limits.formats.urdf_records import JointType
from limits.tesseract.change_limits import (
    BAD_VALUE,
    NO_SUCH_LIMITED_JOINT,
    NOT_MOVABLE,
    LimitedJoint,
    LimitKind,
    LimitValue,
    change_limits,
    limit_kind,
)
from limits.tesseract.joint_limits import JointLimits

LIMITS = JointLimits(lower=-1.0, upper=1.0, effort=10.0, velocity=2.0, acceleration=1.0, jerk=1000.0)
JOINTS = {
    "arm": LimitedJoint(type=JointType.REVOLUTE, limits=LIMITS),
    "slide": LimitedJoint(type=JointType.PRISMATIC, limits=LIMITS),
    "wrist": LimitedJoint(type=JointType.FIXED),
    "odd": LimitedJoint(type=JointType.FLOATING, limits=LIMITS),
}


def test_a_command_changes_all_named_joints_and_counts_once() -> None:
    changed = change_limits(JOINTS, LimitKind.POSITION, {"arm": (-0.5, 0.5), "slide": (0.0, 0.1)})
    assert changed.revision_delta == 1
    found = [changed.joints[name].limits for name in ("arm", "slide")]
    assert [(limits.lower, limits.upper) for limits in found if limits] == [(-0.5, 0.5), (0.0, 0.1)]
    assert changed.joints["odd"] == JOINTS["odd"]
    assert JOINTS["arm"].limits == LIMITS


@pytest.mark.parametrize("kind", [LimitKind.VELOCITY, LimitKind.ACCELERATION])
def test_velocity_and_acceleration(kind: LimitKind) -> None:
    limits = change_limits(JOINTS, kind, {"arm": 0.25}).joints["arm"].limits
    assert getattr(limits, kind.value) == 0.25


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (LimitKind.POSITION, (1.0, 1.0)),
        (LimitKind.POSITION, (math.nan, 1.0)),
        (LimitKind.POSITION, (0.0, math.inf)),
        (LimitKind.POSITION, 1.0),
        (LimitKind.VELOCITY, (0.0, 1.0)),
        (LimitKind.VELOCITY, 0.0),
        (LimitKind.ACCELERATION, math.inf),
        (LimitKind.ACCELERATION, math.nan),
    ],
)
def test_a_bad_value_is_found_before_an_unknown_joint(kind: LimitKind, value: LimitValue) -> None:
    with pytest.raises(LimitsError) as caught:
        change_limits(JOINTS, kind, {"ghost": (0.0, 1.0) if kind is LimitKind.POSITION else 1.0, "arm": value})
    assert (caught.value.reason, caught.value.joint, caught.value.value) == (BAD_VALUE, "arm", value)
    assert caught.value.bound is not None


@pytest.mark.parametrize(
    ("name", "reason"), [("ghost", NO_SUCH_LIMITED_JOINT), ("wrist", NO_SUCH_LIMITED_JOINT), ("odd", NOT_MOVABLE)]
)
def test_a_joint_that_cannot_be_limited_is_refused(name: str, reason: str) -> None:
    with pytest.raises(LimitsError) as caught:
        change_limits(JOINTS, LimitKind.VELOCITY, {"arm": 1.0, name: 1.0})
    assert (caught.value.joint, caught.value.reason) == (name, reason)
    assert JOINTS["arm"].limits == LIMITS


def test_there_is_no_command_for_jerk_or_effort() -> None:
    assert limit_kind("velocity") is LimitKind.VELOCITY
    for name in ("jerk", "effort"):
        with pytest.raises(LimitsError, match="no command") as caught:
            limit_kind(name)
        assert caught.value.value == name
