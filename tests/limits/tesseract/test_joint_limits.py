from limits.formats.urdf_records import JointType, UrdfJoint, UrdfLimit
from limits.tesseract.joint_limits import JointLimits, joint_limits_equal, joint_limits_from_urdf, joint_limits_of

FULL = UrdfLimit(lower=-1.0, upper=2.0, effort=3.0, velocity=4.0, acceleration=5.0, deceleration=6.0, jerk=7.0)


def joint(kind: JointType, limit: UrdfLimit | None = None) -> UrdfJoint:
    return UrdfJoint(name="j", type=kind, parent="a", child="b", limit=limit)


def test_what_is_given_is_kept() -> None:
    wanted = JointLimits(lower=-1.0, upper=2.0, effort=3.0, velocity=4.0, acceleration=5.0, jerk=7.0)
    assert joint_limits_from_urdf(FULL) == wanted


def test_defaults_of_what_is_left_out() -> None:
    wanted = JointLimits(effort=3.0, velocity=4.0, acceleration=2.0, jerk=1000.0)
    assert joint_limits_from_urdf(UrdfLimit(effort=3.0, velocity=4.0)) == wanted
    assert joint_limits_from_urdf(UrdfLimit()) == JointLimits(jerk=1000.0)


def test_a_continuous_joint_without_limit_gets_zeros() -> None:
    assert joint_limits_of(joint(JointType.CONTINUOUS)) == JointLimits()
    assert joint_limits_of(joint(JointType.FIXED)) is None
    assert joint_limits_of(joint(JointType.REVOLUTE, FULL)) == joint_limits_from_urdf(FULL)


def test_equality_has_a_tolerance() -> None:
    assert joint_limits_equal(JointLimits(jerk=1.0), JointLimits(jerk=1.0 + 5e-7))
    assert not joint_limits_equal(JointLimits(jerk=1.0), JointLimits(jerk=1.0 + 5e-6))
