import pytest

from limits.errors import LimitsError
from limits.formats.urdf import read_urdf
from limits.formats.urdf_elements import UrdfDialect
from limits.formats.urdf_records import JointType, UrdfJoint, UrdfLimit, UrdfMimic, UrdfSafety

LIMIT = '<limit lower="-1" upper="2" effort="30" velocity="1.5"/>'


def joint(name: str, parent: str, child: str, body: str = LIMIT, kind: str = "revolute") -> str:
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{body}</joint>'


def robot(*joints: str, links: str = "abc", extra: str = "") -> str:
    declared = "".join(f'<link name="{link}"/>' for link in links)
    return f'<robot name="r">{declared}{"".join(joints)}{extra}</robot>'


ARM = robot(
    joint("j1", "a", "b", f'<axis xyz="0 0 1"/>{LIMIT}<safety_controller k_velocity="20"/>'),
    joint("j2", "b", "c", '<mimic joint="j1"/>' + LIMIT, "prismatic"),
    extra='<material name="m"/><ros2_control name="x"/>',
)


def test_a_whole_robot_is_read() -> None:
    found = read_urdf(ARM.encode(), "arm.urdf")
    limit = UrdfLimit(lower=-1.0, upper=2.0, effort=30.0, velocity=1.5)
    assert (found.name, found.links, found.unread) == ("r", ("a", "b", "c"), ("ros2_control",))
    assert found.joints == (
        UrdfJoint(
            name="j1",
            type=JointType.REVOLUTE,
            parent="a",
            child="b",
            axis=(0.0, 0.0, 1.0),
            limit=limit,
            safety=UrdfSafety(k_velocity=20.0),
        ),
        UrdfJoint(name="j2", type=JointType.PRISMATIC, parent="b", child="c", limit=limit, mimic=UrdfMimic(joint="j1")),
    )
    assert found.joint("j2") is found.joints[1]
    with pytest.raises(LimitsError, match="no such joint") as caught:
        found.joint("j3")
    assert caught.value.joint == "j3"


@pytest.mark.parametrize("kind", ["continuous", "fixed", "floating", "planar"])
def test_other_types_need_no_limit(kind: str) -> None:
    for dialect in UrdfDialect:
        found = read_urdf(robot(joint("j", "a", "b", "", kind), links="ab"), None, dialect)
        assert found.joints[0].limit is None


def test_tesseract_ignores_the_limit_of_a_joint_that_has_none() -> None:
    text = robot(joint("j", "a", "b", "<limit/>", "planar"), links="ab")
    assert read_urdf(text, None, UrdfDialect.TESSERACT).joints[0].limit is None
    with pytest.raises(LimitsError):
        read_urdf(text, None, UrdfDialect.URDFDOM)


def test_the_axis_of_a_fixed_joint_is_not_read() -> None:
    assert read_urdf(robot(joint("j", "a", "b", '<axis xyz=""/>', "fixed"), links="ab")).joints[0].axis is None


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("<model/>", "model"),
        ("<robot/>", "name"),
        ('<robot name="r"><link/></robot>', "name"),
        ('<robot name="r"/>', "link"),
        (robot(joint("", "a", "b"), links="ab"), "name"),
        (robot(joint("j", "a", "b", kind="screw"), links="ab"), "type"),
        (robot(joint("j", "a", "b", ""), links="ab"), "limit"),
        (robot('<joint name="j" type="fixed"><parent link="a"/></joint>', links="ab"), "child"),
        (robot('<joint name="j" type="fixed"><parent/><child link="b"/></joint>', links="ab"), "parent"),
        (robot(joint("j", "a", "z"), links="ab"), "child"),
        (robot(joint("j", "z", "b"), links="ab"), "parent"),
        (robot(joint("j", "a", "b"), joint("j", "b", "c")), "name"),
        (robot(joint("j", "a", "b"), links="abb"), "name"),
        (robot(joint("j", "a", "c"), joint("k", "b", "c")), "child"),
        (robot(joint("j", "a", "b")), "link"),
        (robot(joint("j", "b", "c"), joint("k", "c", "b")), "link"),
        (robot(joint("j", "a", "b", "<limit/>"), links="ab"), "effort"),
    ],
)
def test_every_dialect_refuses_a_robot_that_is_none(text: str, key: str) -> None:
    for dialect in UrdfDialect:
        with pytest.raises(LimitsError) as caught:
            read_urdf(text, "r.urdf", dialect)
        assert (caught.value.file, caught.value.key) == ("r.urdf", key)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (robot(joint("j", "a", "b", LIMIT + LIMIT), links="ab"), "limit"),
        (robot(joint("j", "a", "b", '<mimic joint="x"/>' + LIMIT), links="ab"), "mimic"),
        (robot(joint("j", "a", "b", '<mimic joint="j"/>' + LIMIT), links="ab"), "mimic"),
        (
            robot(
                joint("j", "a", "b", '<mimic joint="k"/>' + LIMIT), joint("k", "b", "c", '<mimic joint="j"/>' + LIMIT)
            ),
            "mimic",
        ),
        (robot(joint("j", "a", "b"), links="ab", extra="<xacro:arm/>"), "xacro:arm"),
    ],
)
def test_the_strict_dialect_refuses_more(text: str, key: str) -> None:
    with pytest.raises(LimitsError) as caught:
        read_urdf(text)
    assert caught.value.key == key
    assert read_urdf(text, None, UrdfDialect.URDFDOM).name == "r"
