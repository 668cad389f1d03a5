import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limits.conversion.convert import Base, Converted, LossyError, convert
from limits.conversion.formats import Format
from limits.conversion.limit_set import JointNumbers, LimitedJoint, LimitSet, differences
from limits.conversion.reading import detect_format, read_limits
from limits.errors import LimitsError
from limits.formats.diagnostics import diagnostic_lines
from limits.formats.urdf_records import JointType
from limits.tesseract.joint_safety import JointSafety
from tests.limits.conversion import sets

HOLDS = [
    (Format.URDF, sets.URDF),
    (Format.ROS, sets.ROS),
    (Format.SKELETON, sets.SKELETON),
    (Format.JOINT_LIMITS, sets.JOINT_LIMITS),
    (Format.KINOVA, sets.KINOVA),
    (Format.KINOVA, sets.CARTESIAN),
]


@pytest.mark.parametrize(("kind", "limits"), HOLDS)
@pytest.mark.parametrize("as_json", [False, True])
def test_what_a_format_can_hold_comes_back(kind: Format, limits: LimitSet, as_json: bool) -> None:
    converted = convert(limits, kind, as_json=as_json)
    assert converted.lost == ()
    back = read_limits(converted.data, kind)
    assert differences(limits, back, 1e-6 if kind is Format.KINOVA else 0.0) == ()
    assert [joint.name for joint in back.joints] == [joint.name for joint in limits.joints]
    assert convert(back, kind, as_json=as_json).data == converted.data


@pytest.mark.parametrize(("kind", "limits"), HOLDS)
def test_text_files_tell_their_format(kind: Format, limits: LimitSet) -> None:
    assert detect_format(convert(limits, kind, as_json=True).data) is kind


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"{",
        b"[]",
        b"hello",
        b'{"links": [], "minPosition": {}}',
        convert(sets.JOINT_LIMITS, Format.JOINT_LIMITS).data,
    ],
)
def test_other_files_do_not(data: bytes) -> None:
    with pytest.raises(LimitsError, match="name it"):
        read_limits(data, file="x")


def lost(limits: LimitSet, kind: Format) -> list[str]:
    return [str(one) for one in convert(limits, kind, lossy=True).lost]


@pytest.mark.parametrize(
    ("limits", "kind", "expected"),
    [
        (sets.URDF, Format.ROS, ["type of joint slide (prismatic)", "mimic of joint finger (2.0 * shoulder + 0.0)"]),
        (
            sets.ROS,
            Format.SKELETON,
            [
                "deceleration of joint shoulder (4.0)",
                "safety.soft_upper_limit of joint shoulder (0.5)",
                "safety.soft_lower_limit of joint shoulder (-0.5)",
                "safety.k_position of joint shoulder (10.0)",
                "safety.k_velocity of joint shoulder (5.0)",
                "wraparound of joint wrist (yes)",
            ],
        ),
        (
            sets.SKELETON,
            Format.URDF,
            [
                f"soft.{key} of joint shoulder ({value})"
                for key, value in (
                    ("position_lower", -0.5),
                    ("position_upper", 0.5),
                    ("velocity", 1.0),
                    ("acceleration", 3.0),
                    ("jerk", 5.0),
                    ("effort", 6.0),
                )
            ],
        ),
        (
            sets.CARTESIAN,
            Format.URDF,
            ["twist_linear (0.5)", "twist_angular (1.25)", "control_mode (CARTESIAN_JOYSTICK)"],
        ),
        (sets.KINOVA, Format.ROS, ["control_mode (ANGULAR_JOYSTICK)"]),
    ],
)
def test_what_is_lost_is_named(limits: LimitSet, kind: Format, expected: list[str]) -> None:
    assert lost(limits, kind) == expected
    with pytest.raises(LossyError) as caught:
        convert(limits, kind, file="arm.x")
    assert [str(one) for one in caught.value.lost] == expected
    assert (caught.value.file, caught.value.key, caught.value.holder) == ("arm.x", "lossy", f"{kind} cannot hold")
    assert all(f"{kind} cannot hold: {one}" in str(caught.value).splitlines()[n] for n, one in enumerate(expected))


@pytest.mark.parametrize(("kind", "limits"), HOLDS)
def test_a_mark_before_a_text_does_no_harm(kind: Format, limits: LimitSet) -> None:
    data = convert(limits, kind, as_json=True).data
    assert read_limits(b"\xef\xbb\xbf" + data) == read_limits(data)


def test_names_are_lost_in_formats_without_them() -> None:
    assert lost(sets.ROS, Format.JOINT_LIMITS)[0] == "names (shoulder, elbow, wrist)"
    assert "names" not in lost(sets.JOINT_LIMITS, Format.KINOVA)[0]


def test_a_list_with_an_unlimited_joint_is_lost_as_a_whole() -> None:
    limits = LimitSet(
        joints=(LimitedJoint(name="joint_1", limits=JointNumbers(velocity=1.0)), LimitedJoint(name="joint_2"))
    )
    assert lost(limits, Format.KINOVA) == ["velocity of joint joint_1 (1.0)"]


def test_a_number_that_changes_is_told_with_both_values() -> None:
    tiny = LimitSet(joints=(LimitedJoint(name="joint_1", limits=JointNumbers(velocity=1e-50)),))
    assert lost(tiny, Format.KINOVA) == ["velocity of joint joint_1 (1e-50 becomes 0.0)"]


def test_names_can_be_given_for_formats_without_them() -> None:
    data = convert(sets.KINOVA, Format.KINOVA).data
    limits = read_limits(data, names=["a", "b"])
    assert [joint.name for joint in limits.joints] == ["a", "b"]
    for names, reason in ((["a"], "differ|needs"), (["a", "a"], "twice")):
        with pytest.raises(LimitsError, match=reason):
            read_limits(data, names=names)
    with pytest.raises(LimitsError, match="of its own"):
        read_limits(convert(sets.ROS, Format.ROS).data, names=["a"])
    vectors = convert(sets.JOINT_LIMITS, Format.JOINT_LIMITS).data
    with pytest.raises(LimitsError, match="count"):
        read_limits(vectors, Format.JOINT_LIMITS, names=["a"])


@pytest.mark.parametrize("kind", [Format.URDF, Format.SKELETON])
def test_limits_are_put_into_a_file_and_what_they_do_not_say_stays(kind: Format) -> None:
    base = sets.URDF if kind is Format.URDF else sets.SKELETON
    into = convert(base, kind).data
    slower = LimitSet(joints=(LimitedJoint(name="slide", limits=JointNumbers(velocity=0.25)),))
    converted = convert(slower, kind, into=Base(into))
    assert converted.lost == ()
    changed = differences(read_limits(into, kind), read_limits(converted.data, kind))
    expected = {("slide", "velocity", 2.0, 0.25)}
    assert {tuple(one) for one in changed} == expected


def test_soft_limits_and_safety_are_put_in_too() -> None:
    soft = LimitSet(joints=(LimitedJoint(name="slide", soft=JointNumbers(velocity=0.5)),))
    into = convert(sets.SKELETON, Format.SKELETON).data
    (slide,) = [
        one
        for one in read_limits(convert(soft, Format.SKELETON, into=Base(into)).data, Format.SKELETON).joints
        if one.name == "slide"
    ]
    assert slide.soft is not None
    assert slide.soft.velocity == 0.5
    guard = LimitSet(joints=(LimitedJoint(name="slide", safety=sets.SAFETY),))
    into = convert(sets.URDF, Format.URDF).data
    (slide,) = [
        one for one in read_limits(convert(guard, Format.URDF, into=Base(into)).data).joints if one.name == "slide"
    ]
    assert slide.safety == sets.SAFETY


def test_positions_do_not_fit_into_a_continuous_joint() -> None:
    ranged = LimitSet(joints=(LimitedJoint(name="wrist", limits=JointNumbers(position_upper=1.0)),))
    with pytest.raises(LimitsError, match=r"position_upper of joint wrist \(1.0\)"):
        convert(ranged, Format.URDF, into=Base(convert(sets.URDF, Format.URDF).data))


@pytest.mark.parametrize(
    ("limits", "kind", "into", "reason"),
    [
        (sets.ROS, Format.ROS, b"x", "nothing but limits"),
        (sets.CARTESIAN, Format.ROS, None, "no joint"),
        (sets.ROS, Format.URDF, convert(sets.URDF, Format.URDF).data, "elbow.*: there is no such joint"),
        (
            sets.ROS,
            Format.URDF,
            "<?xml version='1.0' encoding='latin-1'?><robot name='é'><link name='a'/></robot>".encode("latin-1"),
            "not one of its joints",
        ),
        (
            LimitSet(joints=()),
            Format.URDF,
            "<?xml version='1.0' encoding='latin-1'?><robot name='é'><link name='a'/></robot>".encode("latin-1"),
            "UTF-8",
        ),
        (sets.ROS, Format.SKELETON, convert(sets.SKELETON, Format.SKELETON).data, "elbow.*: there is no such joint"),
        (LimitSet(joints=()), Format.SKELETON, b"{", "no JSON"),
        (LimitSet(joints=(LimitedJoint(name="a", type=JointType.PLANAR),)), Format.SKELETON, None, r"type.*\(planar\)"),
        (LimitSet(joints=(), twist_linear=0.0), Format.KINOVA, None, "means no limit"),
    ],
)
def test_what_cannot_be_written_is_refused(limits: LimitSet, kind: Format, into: bytes | None, reason: str) -> None:
    with pytest.raises(LimitsError, match=reason):
        convert(limits, kind, into=None if into is None else Base(into))


@pytest.mark.parametrize(
    ("data", "kind", "reason"),
    [
        (b"\xff", Format.ROS, "UTF-8"),
        (b"a:\n  ros__parameters:\n    x: 1\n", Format.ROS, "no joint limits"),
        (
            b"cell: {joint_limits: {j: {lower: -1.5, upper: 1.5}}}",
            Format.ROS,
            r"names that ROS does not read \(got \['lower",
        ),
        (b'{"control_mode": "NONE"}', Format.KINOVA, "no KinematicLimits"),
        (b"nonsense", Format.KINOVA, "no KinematicLimits"),
        (b'{"control_mode": "IDLE"}', Format.KINOVA, "no soft limits"),
        (b'{"joint_speed_limits": [1], "joint_acceleration_limits": [1, 2]}', Format.KINOVA, "one number a joint"),
    ],
)
def test_what_cannot_be_read_is_refused(data: bytes, kind: Format, reason: str) -> None:
    with pytest.raises(LimitsError, match=reason) as caught:
        read_limits(data, kind, file="f")
    assert caught.value.file == "f"


def test_the_node_of_ros_parameters_can_be_named() -> None:
    converted = convert(sets.ROS, Format.ROS, node="driver")
    assert converted.data.startswith(b"driver:")
    assert read_limits(converted.data, node="driver") == read_limits(converted.data)
    with pytest.raises(LimitsError, match="no parameters"):
        read_limits(converted.data, node="other")


def test_a_skeleton_tells_its_dependencies() -> None:
    document = json.loads(convert(sets.SKELETON, Format.SKELETON, as_json=True).data)
    document["joints"][2]["linearDependency"] = {"alphaSelf": 1.0, "alphaLeading": {"1": 0.5}}
    data = json.dumps(document).encode()
    assert "linear_dependency of joint free (0.5 * shoulder + 1.0 * free)" in lost(read_limits(data), Format.URDF)
    slower = LimitSet(joints=(LimitedJoint(name="free", limits=JointNumbers(velocity=0.25)),))
    assert read_limits(convert(slower, Format.SKELETON, into=Base(data)).data, Format.SKELETON).joints[2].depends


NUMBER = st.none() | st.floats(0.0, 1e6, allow_subnormal=False)


@given(
    st.lists(
        st.builds(
            JointNumbers,
            position_upper=NUMBER,
            velocity=NUMBER,
            acceleration=NUMBER,
            deceleration=NUMBER,
            jerk=NUMBER,
            effort=NUMBER,
        ),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from(Format),
)
def test_nothing_is_lost_unnoticed(numbers: list[JointNumbers], kind: Format) -> None:
    joints = tuple(LimitedJoint(name=f"joint_{index + 1}", limits=one) for index, one in enumerate(numbers))
    limits = LimitSet(joints=joints)
    converted: Converted = convert(limits, kind, lossy=True)
    back = read_limits(converted.data, kind, names=None)
    told = {(one.joint, one.key) for one in converted.lost}
    for before, after in zip(joints, back.joints, strict=False):
        for key in ("position_upper", "velocity", "acceleration", "jerk", "effort"):
            old, new = getattr(before.limits, key), getattr(after.limits, key)
            rounded = kind is Format.KINOVA and None not in (old, new)
            same = old == new or (rounded and math.isclose(old, new, rel_tol=1e-6))
            assert same != ((before.name, key) in told)


def told(data: bytes, kind: Format) -> tuple[str, ...]:
    return diagnostic_lines(read_limits(data, kind).notes)


def test_doubts_are_told_in_words() -> None:
    urdf = b"""<robot name="r"><link name="a"/><link name="b"/><transmission/><sensor/>
      <joint name="j" type="revolute"><parent link="a"/><child link="b"/><limit velocity="0" effort="1" upper="1"/>
      </joint></robot>"""
    assert told(urdf, Format.URDF) == (
        "sensor: this element was not read; limits it holds are not known",
        "joint j, lower: is left out and counts as 0",
        "joint j, velocity: is 0, so the joint cannot move (got 0.0)",
    )
    ros = b"d:\n  ros__parameters:\n    joint_limits.j.max_velocity: 1.0\n"
    assert "max_velocity: does not count" in told(ros, Format.ROS)[0]
    assert told(convert(sets.KINOVA, Format.KINOVA).data, Format.KINOVA) == ()
    frozen = LimitSet(joints=(LimitedJoint(name="a", limits=JointNumbers(velocity=0.0)),))
    (warning,) = told(convert(frozen, Format.SKELETON).data, Format.SKELETON)
    assert "velocity is absent or 0" in warning


WITHOUT_FLAGS = b"""joint_limits:
  hip: {has_velocity_limits: true, max_velocity: 1.1, max_jerk: 55.5, soft_lower_limit: -0.75}
  knee: {has_effort_limits: false, max_effort: 9.5, min_position: -0.6, max_position: 0.65}
"""


@pytest.mark.parametrize("kind", Format)
def test_numbers_without_their_flag_are_lost_in_every_format(kind: Format) -> None:
    limits = read_limits(WITHOUT_FLAGS)
    absent = "k_position and k_velocity and soft_upper_limit"
    expected = [
        "max_jerk of joint hip (55.5): does not count, because has_jerk_limits is not given",
        f"soft_lower_limit of joint hip (-0.75): does not count, because {absent} of the soft limits are not given",
        "min_position of joint knee (-0.6): does not count, because has_position_limits is not given",
        "max_position of joint knee (0.65): does not count, because has_position_limits is not given",
    ]
    assert lost(limits, kind)[:4] == expected
    with pytest.raises(LossyError) as caught:
        convert(limits, kind)
    assert [str(one) for one in caught.value.lost[:4]] == expected


def test_what_a_base_does_not_have_is_lost_and_the_rest_is_put_in() -> None:
    base = b"""<robot name="r"><link name="a"/><link name="b"/><link name="c"/>
      <joint name="r7_tilt" type="continuous"><parent link="a"/><child link="b"/>
      <limit velocity="3" effort="1"/></joint>
      <joint name="mount" type="fixed"><parent link="b"/><child link="c"/></joint></robot>"""
    joints = [LimitedJoint(name=name, limits=JointNumbers(velocity=0.75)) for name in ("tilt", "mount", "claw")]
    limits = LimitSet(joints=tuple(joints))
    with pytest.raises(LossyError, match=r"arm.urdf cannot take: velocity of joint mount \(0.75\): the joint is fixed"):
        convert(limits, Format.URDF, into=Base(base, "arm.urdf"), file="l.yaml")
    converted = convert(limits, Format.URDF, into=Base(base, "arm.urdf"), lossy=True)
    assert [(one.joint, one.key, one.reason) for one in converted.lost] == [
        ("mount", "velocity", "the joint is fixed there"),
        ("claw", "velocity", "there is no such joint"),
    ]
    assert converted.notes == ("joint tilt is put into r7_tilt",)
    assert converted.data == base.replace(b'<limit velocity="3" effort="1"/>', b'<limit effort="1.0" velocity="0.75"/>')
    with pytest.raises(LimitsError, match=r"l\.yaml, joints: not one of its joints is there"):
        convert(LimitSet(joints=tuple(joints[2:])), Format.URDF, into=Base(base), lossy=True, file="l.yaml")


def test_joints_without_names_are_put_in_by_their_order() -> None:
    two = LimitSet(joints=sets.URDF.joints[:2])
    converted = convert(sets.KINOVA, Format.URDF, into=Base(convert(two, Format.URDF).data), lossy=True)
    assert [joint.limits.velocity for joint in read_limits(converted.data).joints] == [0.5, 0.0]
    with pytest.raises(LimitsError, match=r"not one of its joints is there.*no names, give them some"):
        convert(sets.KINOVA, Format.URDF, into=Base(convert(sets.URDF, Format.URDF).data), lossy=True)
    named = read_limits(convert(sets.KINOVA, Format.KINOVA).data, names=["slide", "shoulder"])
    converted = convert(named, Format.URDF, into=Base(convert(two, Format.URDF).data), lossy=True)
    assert [joint.limits.velocity for joint in read_limits(converted.data).joints] == [0.0, pytest.approx(0.5)]


def test_types_that_a_skeleton_does_not_have_are_left_out() -> None:
    limits = LimitSet(
        joints=(
            LimitedJoint(name="base", type=JointType.PLANAR, limits=JointNumbers(velocity=0.3)),
            LimitedJoint(name="lift", type=JointType.PRISMATIC, limits=JointNumbers(velocity=0.2)),
        )
    )
    assert lost(limits, Format.SKELETON) == ["velocity of joint base (0.3)", "type of joint base (planar)"]
    back = read_limits(convert(limits, Format.SKELETON, lossy=True, as_json=True).data)
    assert [joint.name for joint in back.joints] == ["lift"]


def test_a_gain_without_a_soft_range_is_lost_in_ros() -> None:
    wrist = LimitedJoint(name="wrist", type=JointType.CONTINUOUS, safety=JointSafety(k_velocity=2.5))
    assert lost(LimitSet(joints=(wrist,)), Format.ROS) == ["safety.k_velocity of joint wrist (2.5)"]
    elbow = LimitedJoint(name="elbow", safety=JointSafety(k_velocity=2.5))
    assert lost(LimitSet(joints=(elbow,)), Format.ROS) == [
        "safety.k_position of joint elbow (0.0)",
        "safety.k_velocity of joint elbow (2.5)",
    ]


def test_a_new_urdf_with_accelerations_is_of_version_1_2() -> None:
    assert convert(sets.URDF, Format.URDF).data.startswith(b'<robot name="arm" version="1.2">')
    slow = LimitSet(joints=(LimitedJoint(name="a", limits=JointNumbers(velocity=1.0)),))
    assert convert(slow, Format.URDF).data.startswith(b'<robot name="arm">')


def test_a_urdf_keeps_its_version_and_what_older_readers_pass_over_is_told() -> None:
    base = convert(LimitSet(joints=(LimitedJoint(name="a"), LimitedJoint(name="b"))), Format.URDF).data
    numbers = JointNumbers(acceleration=2.5, jerk=80.0)
    limits = LimitSet(joints=(LimitedJoint(name="a", limits=numbers), LimitedJoint(name="b", limits=numbers)))
    converted = convert(limits, Format.URDF, into=Base(base))
    assert converted.notes[0].startswith("readers of URDF 1.0 pass over acceleration and jerk of a, b: ")
    assert b"version" not in converted.data
    newer = base.replace(b'"arm"', b'"arm" version="1.2"')
    assert convert(limits, Format.URDF, into=Base(newer)).notes == ()


def test_limits_of_ros2_control_are_lost_elsewhere() -> None:
    urdf = b"""<robot name="r"><link name="a"/><link name="b"/>
      <joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>
      <ros2_control name="s" type="system"><joint name="j"><command_interface name="velocity">
      <param name="min">-0.9</param><param name="max">0.8</param></command_interface></joint></ros2_control></robot>"""
    limits = read_limits(urdf)
    assert limits.joints[0].control == JointNumbers(velocity=0.8)
    assert lost(limits, Format.ROS) == ["ros2_control.velocity of joint j (0.8)"]
    assert convert(limits, Format.URDF, into=Base(urdf)).data == urdf


@pytest.mark.parametrize("kind", [Format.ROS, Format.JOINT_LIMITS, Format.URDF])
def test_a_zero_with_a_sign_is_written_as_zero(kind: Format) -> None:
    numbers = JointNumbers(position_lower=-0.5, position_upper=-0.0, velocity=-0.0)
    data = convert(LimitSet(joints=(LimitedJoint(name="joint_1", limits=numbers),)), kind, as_json=True).data
    assert not re.search(rb"-0(\.0)?\b(?!\.)", data), data


def test_a_zero_with_a_sign_is_told_as_zero() -> None:
    limits = LimitSet(joints=(LimitedJoint(name="j", soft=JointNumbers(position_lower=-0.0)),))
    assert lost(limits, Format.URDF) == ["soft.position_lower of joint j (0.0)"]
