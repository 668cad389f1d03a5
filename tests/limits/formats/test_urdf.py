from collections.abc import Sequence

import pytest

from limits.errors import LimitsError
from limits.formats.diagnostics import Weight
from limits.formats.urdf import read_urdf
from limits.formats.urdf_elements import UrdfDialect
from limits.formats.urdf_records import JointType, UrdfJoint, UrdfLimit, UrdfMimic, UrdfSafety

LIMIT = '<limit lower="-1" upper="2" effort="30" velocity="1.5"/>'


def joint(name: str, parent: str, child: str, body: str = LIMIT, kind: str = "revolute") -> str:
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{body}</joint>'


def robot(*joints: str, links: Sequence[str] = "abc", extra: str = "") -> str:
    declared = "".join(f'<link name="{link}"/>' for link in links)
    return f'<robot name="r">{declared}{"".join(joints)}{extra}</robot>'


ARM = robot(
    joint("j1", "a", "b", f'<axis xyz="0 0 1"/>{LIMIT}<safety_controller k_velocity="20"/>'),
    joint("j2", "b", "c", '<mimic joint="j1"/>' + LIMIT, "prismatic"),
    extra='<material name="m"/><sensor name="x"/>',
)


def test_a_whole_robot_is_read() -> None:
    found = read_urdf(ARM.encode(), "arm.urdf")
    limit = UrdfLimit(lower=-1.0, upper=2.0, effort=30.0, velocity=1.5)
    assert (found.name, found.links, found.unread) == ("r", ("a", "b", "c"), ("sensor",))
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
        (robot(joint("j", "a", "b", LIMIT + LIMIT.replace("30", "20")), links="ab"), "limit"),
        (robot(joint("j", "a", "b", '<mimic joint="j"/>' + LIMIT), links="ab"), "mimic"),
        (
            robot(
                joint("j", "a", "b", '<mimic joint="k"/>' + LIMIT), joint("k", "b", "c", '<mimic joint="j"/>' + LIMIT)
            ),
            "mimic",
        ),
        (robot(joint("j", "a", "b"), links="ab", extra="<xacro:arm/>"), "xacro:arm"),
        (robot(joint("j", "a", "b"), links="ab", extra='<xacro:include filename="x"/>'), "xacro:include"),
        (robot(joint("j", "a", "b"), links="ab", extra='<xacro:if value="1"/>'), "xacro:if"),
        (robot(joint("j", "a", "b"), links="ab", extra='<xacro:macro name="m"/>'), "xacro:macro"),
        (
            robot(joint("j", "a", "b"), links="ab")
            .replace('"r"', '"r" xmlns:x="http://ros.org/xacro"', 1)
            .replace("</robot>", "<x:arm/></robot>"),
            "x:arm",
        ),
        (robot(joint("${p}j", "a", "b"), links="ab"), "name"),
        (robot(joint("j", "a", "b"), links=["a", "b", "$(arg p)c"]), "name"),
        (robot(joint("j", "a", "b"), links="ab").replace('"r"', '"${name}"', 1), "name"),
    ],
)
def test_the_strict_dialect_refuses_more(text: str, key: str) -> None:
    with pytest.raises(LimitsError) as caught:
        read_urdf(text)
    assert caught.value.key == key
    if "$(arg" not in text:
        assert read_urdf(text, None, UrdfDialect.URDFDOM).name in {"r", "${name}"}


@pytest.mark.parametrize(("part", "key"), [('"30"', "effort"), ('"1.5"', "velocity"), ('"revolute"', "type")])
def test_an_expression_in_a_type_or_limit_is_refused(part: str, key: str) -> None:
    text = robot(joint("j", "a", "b"), links="ab").replace(part, '"${2 * x}"', 1)
    with pytest.raises(LimitsError, match="expand the file first") as caught:
        read_urdf(text, "arm.urdf")
    assert (caught.value.file, caught.value.joint, caught.value.key) == ("arm.urdf", "j", key)


def test_definitions_of_macros_that_nothing_uses_are_read_past() -> None:
    extra = '<xacro:property name="d" value="0.3"/><xacro:property name="e" value="1"/><xacro:arg name="f" default=""/>'
    body = f'<origin xyz="0 0 ${{d}}"/>{LIMIT}'
    found = read_urdf(robot(joint("j", "a", "b", body), links="ab", extra=extra))
    assert [(note.key, note.value, note.weight) for note in found.notes] == [
        ("xacro:property", 2, Weight.NOTE),
        ("xacro:arg", 1, Weight.NOTE),
    ]
    assert found.unread == ()


def test_elements_that_a_joint_does_not_have_are_told() -> None:
    body = f'{LIMIT}<dynamics damping="1"/><maker:stiffness value="3"/><calibration rising="0"/>'
    found = read_urdf(robot(joint("j", "a", "b", body), links="ab"))
    assert [(note.joint, note.key, note.weight) for note in found.notes] == [("j", "maker:stiffness", Weight.NOTE)]


def test_of_elements_that_stand_twice_the_first_counts() -> None:
    axes = '<axis xyz="1 0 0"/><axis xyz="0 1 0"/>'
    found = read_urdf(robot(joint("j", "a", "b", f"{axes}{LIMIT}{LIMIT}"), links="ab"))
    assert found.joints[0].axis == (1.0, 0.0, 0.0)
    assert [(note.joint, note.key) for note in found.notes] == [("j", "axis"), ("j", "limit")]


def test_a_mimic_of_nobody_is_told() -> None:
    followers = [joint("k", "b", "c", f'<mimic joint="j"/>{LIMIT}'), joint("m", "c", "d", f'<mimic joint="k"/>{LIMIT}')]
    found = read_urdf(robot(joint("j", "a", "b", f'<mimic joint="x"/>{LIMIT}'), *followers, links="abcd"))
    assert [(note.joint, note.key, note.value) for note in found.notes] == [("j", "mimic", "x")]


def test_blanks_before_the_declaration_do_no_harm() -> None:
    assert read_urdf('\n  <?xml version="1.0"?>' + ARM) == read_urdf(ARM)


@pytest.mark.parametrize(
    ("version", "counts"), [("", False), ("1.0", False), ("1.1", False), ("1.2", True), ("2.0", True), ("x", False)]
)
def test_the_version_says_whether_accelerations_count(version: str, counts: bool) -> None:
    found = read_urdf(ARM.replace('name="r"', f'name="r" version="{version}"', 1))
    assert found.motion_limits_count() is counts
