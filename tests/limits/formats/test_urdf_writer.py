import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limits.errors import LimitsError
from limits.formats.urdf import read_urdf
from limits.formats.urdf_records import JointType, UrdfJoint, UrdfLimit, UrdfMimic, UrdfRobot, UrdfSafety
from limits.formats.urdf_writer import replace_limits, write_urdf

FINITE = st.floats(allow_nan=False, allow_infinity=False)
POSITIVE = st.floats(min_value=0, allow_infinity=False)
LIMIT = UrdfLimit(lower=-0.1, upper=1 / 3, effort=5e-324, velocity=1.7976931348623157e308)
JOINT = UrdfJoint(name="j<1>", type=JointType.REVOLUTE, parent="a", child="b", limit=LIMIT)
ROBOT = UrdfRobot(
    name="r",
    links=("a", "b", "c"),
    joints=(
        JOINT,
        UrdfJoint(
            name="k",
            type=JointType.CONTINUOUS,
            parent="b",
            child="c",
            axis=(0.0, 0.6, -0.8),
            mimic=UrdfMimic(joint="j<1>", multiplier=0.1),
            safety=UrdfSafety(k_velocity=0.1),
        ),
    ),
)
TEXT = """<?xml version='1.0'?>
<robot name='r'> <!-- caf\u00e9 -->
  <link name='a'/><link name='b'/><link name="c"/>
  <joint name='j' type='revolute'><parent link='a'/>
    <child link='b'/><limit effort='1' velocity="1">
    </limit  ><safety_controller k_velocity='1'/></joint>
  <joint name='k' type='continuous'><parent link='b'/><child link='c'/></joint>
  <transmission><joint name='j'><limit/></joint></transmission>
</robot>
"""


def test_a_robot_comes_back_as_it_was() -> None:
    assert read_urdf(write_urdf(ROBOT)) == ROBOT


def test_a_limit_that_would_be_refused_is_not_written() -> None:
    for limit, key in ((None, "limit"), (UrdfLimit(), "effort"), (UrdfLimit(effort=1.0), "velocity")):
        joint = msgspec.structs.replace(JOINT, limit=limit)
        with pytest.raises(LimitsError) as caught:
            write_urdf(UrdfRobot(name="r", links=("a", "b"), joints=(joint,)))
        assert (caught.value.joint, caught.value.key) == ("j<1>", key)
    for safety, key in ((UrdfSafety(), "k_velocity"), (UrdfSafety(k_velocity=-1.0), "k_velocity")):
        joint = msgspec.structs.replace(JOINT, safety=safety)
        with pytest.raises(LimitsError) as caught:
            write_urdf(UrdfRobot(name="r", links=("a", "b"), joints=(joint,)))
        assert caught.value.key == key


def test_only_the_limits_change_in_a_text() -> None:
    joint, other = read_urdf(TEXT).joints
    new = [
        msgspec.structs.replace(joint, limit=LIMIT, safety=None),
        msgspec.structs.replace(other, limit=UrdfLimit(effort=0.1, velocity=2.0), safety=UrdfSafety(k_velocity=3.0)),
    ]
    text = replace_limits(TEXT, new)
    assert read_urdf(text).joints == tuple(new)
    limit = 'limit lower="-0.1" upper="0.3333333333333333" effort="5e-324" velocity="1.7976931348623157e+308"'
    expected = TEXT.replace("limit effort='1' velocity=\"1\"", limit).replace("<safety_controller k_velocity='1'/>", "")
    added = '<limit effort="0.1" velocity="2.0"/><safety_controller k_velocity="3.0"/>'
    assert text == expected.replace("<child link='c'/>", f"<child link='c'/>{added}")


def test_a_zero_has_no_sign() -> None:
    joint = msgspec.structs.replace(JOINT, limit=UrdfLimit(lower=-1.0, upper=-0.0, effort=1.0, velocity=-0.0))
    written = write_urdf(UrdfRobot(name="r", links=("a", "b"), joints=(joint,)))
    assert 'lower="-1.0" upper="0.0" effort="1.0" velocity="0.0"' in written


def test_what_is_equal_already_is_left_alone() -> None:
    assert replace_limits(TEXT, read_urdf(TEXT).joints) == TEXT
    blanks = " \n" + TEXT
    (joint, _) = read_urdf(blanks).joints
    assert replace_limits(blanks, [msgspec.structs.replace(joint, limit=LIMIT)]).startswith(
        " \n<?xml version='1.0'?>\n<r"
    )


def test_attributes_and_content_that_are_not_read_stay() -> None:
    old = """<limit gear:ratio='a > "b" &amp; c'  effort='1' velocity='1' ><!-- of 2019 --></limit>"""
    text = TEXT.replace("""<limit effort='1' velocity="1">\n    </limit  >""", old)
    (joint, _) = read_urdf(text).joints
    written = replace_limits(
        text, [msgspec.structs.replace(joint, limit=UrdfLimit(upper=0.5, effort=2.0, velocity=3.0))]
    )
    new = """<limit upper="0.5" effort="2.0" velocity="3.0" gear:ratio='a &gt; "b" &amp; c' ><!-- of 2019 --></limit>"""
    assert written == text.replace(old, new)


def test_an_acceleration_goes_where_drake_looks_for_it() -> None:
    text = TEXT.replace('velocity="1"', 'velocity="1" drake:acceleration="5"')
    (joint, _) = read_urdf(text).joints
    limit = UrdfLimit(effort=1.0, velocity=1.0, acceleration=4.5)
    written = replace_limits(text, [msgspec.structs.replace(joint, limit=limit)])
    assert '<limit effort="1.0" velocity="1.0" drake:acceleration="4.5">' in written


def test_a_joint_the_text_does_not_have_is_refused() -> None:
    with pytest.raises(LimitsError, match="no such joint"):
        replace_limits(TEXT, [JOINT])
    with pytest.raises(LimitsError, match="needs it"):
        replace_limits(TEXT, [msgspec.structs.replace(JOINT, name="j", limit=None)])


@given(st.tuples(FINITE, FINITE), POSITIVE, POSITIVE, st.none() | POSITIVE)
def test_every_number_comes_back_exactly(
    ends: tuple[float, float], effort: float, velocity: float, jerk: float | None
) -> None:
    lower, upper = sorted(ends)
    joint = read_urdf(TEXT).joints[0]
    limit = UrdfLimit(lower=lower, upper=upper, effort=effort, velocity=velocity, jerk=jerk)
    written = replace_limits(TEXT, [msgspec.structs.replace(joint, limit=limit)])
    assert read_urdf(written).joints[0].limit == limit
