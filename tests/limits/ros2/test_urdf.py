import math

from limits.formats.urdf import read_urdf
from limits.ros2.records import JointLimits, SoftJointLimits
from limits.ros2.urdf import find_joint, get_urdf_limits, get_urdf_soft_limits

TEXT = """<robot name="r"><link name="a"/><link name="b"/><link name="c"/>
<joint name="slide" type="prismatic"><parent link="a"/><child link="b"/>
<limit lower="-0.5" upper="1" effort="12" velocity="1.25"/>
<safety_controller k_velocity="30" k_position="15" soft_lower_limit="-0.4" soft_upper_limit="0.9"/></joint>
<joint name="spin" type="continuous"><parent link="b"/><child link="c"/><limit effort="2" velocity="3"/></joint>
</robot>"""


def test_a_joint_with_two_ends() -> None:
    joint = find_joint(read_urdf(TEXT), "slide")
    found, limits = get_urdf_limits(joint, JointLimits(has_acceleration_limits=True, max_acceleration=9.0))
    assert found
    assert (limits.has_position_limits, limits.min_position, limits.max_position) == (True, -0.5, 1.0)
    assert (limits.max_velocity, limits.max_effort) == (1.25, 12.0)
    assert (limits.has_acceleration_limits, limits.max_acceleration) == (False, 9.0)
    expected = SoftJointLimits(min_position=-0.4, max_position=0.9, k_position=15.0, k_velocity=30.0)
    assert get_urdf_soft_limits(joint, SoftJointLimits()) == (True, expected)


def test_a_continuous_joint_wraps_and_has_no_ends() -> None:
    joint = find_joint(read_urdf(TEXT), "spin")
    _, limits = get_urdf_limits(joint, JointLimits())
    assert (limits.has_position_limits, limits.angle_wraparound) == (False, True)
    assert math.isnan(limits.max_position)
    assert get_urdf_soft_limits(joint, SoftJointLimits(k_velocity=1.0)) == (False, SoftJointLimits(k_velocity=1.0))


def test_a_joint_that_is_not_there_changes_nothing() -> None:
    joint = find_joint(read_urdf(TEXT), "nowhere")
    assert joint is None
    assert get_urdf_limits(joint, JointLimits(max_effort=1.0))[0] is False
