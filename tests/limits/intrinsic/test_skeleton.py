import math
from typing import Any

import pytest

from limits.errors import LimitsError
from limits.intrinsic.skeleton import Part, axis_of, check_skeleton
from schema.codecs.proto_json import from_json
from schema.intrinsic import Joint, JointParameters, JointType, Point, Skeleton

UNIT = {"orientation": {"w": 1.0}}


def link(element: int, parent: int, *children: int, **more: Any) -> dict[str, Any]:
    return {"element": {"id": element, "parent": parent, "children": list(children), **more}}


def joint(element: int, parent: int, *children: int, kind: str = "REVOLUTE") -> dict[str, Any]:
    return {**link(element, parent, *children, name=f"j{element}"), "parameters": {"type": kind, "axis": {"z": 2.0}}}


def document(**more: Any) -> dict[str, Any]:
    """Link 0 - joint 1 - link 2 - joint 3 - link 4 with frames 5 and 6, and a fixed joint 7 to link 8."""
    return {
        "links": [link(0, 0, 1, 7), link(2, 1, 3), link(4, 3, 5), link(8, 7)],
        "joints": [joint(1, 0, 2), joint(3, 2, 4, kind="PRISMATIC"), joint(7, 0, 8, kind="FIXED")],
        "coordinateFrames": [link(5, 4, 6, parentTThis=UNIT), link(6, 5)],
        "elementIdToDofIndex": {"3": 0, "1": 1},
        "anchorOffset": UNIT,
        **more,
    }


def skeleton(**more: Any) -> Skeleton:
    return from_json(document(**more), Skeleton)


def test_a_tree_has_a_root_and_an_order() -> None:
    tree = check_skeleton(skeleton())
    assert tree.root == 0
    assert tree.parts[5] is Part.FRAME
    assert [joint.element.id for joint in tree.joints if joint.element] == [3, 1]


@pytest.mark.parametrize("parent", [0, 9])
def test_a_root_says_itself_or_nothing_as_parent(parent: int) -> None:
    tree = check_skeleton(
        skeleton(
            links=[link(9, parent, 1, 7), *document()["links"][1:]],
            joints=[joint(1, 9, 2), joint(3, 2, 4), joint(7, 9, 8, kind="FIXED")],
        )
    )
    assert tree.root == 9


def test_a_single_link_is_a_skeleton() -> None:
    assert check_skeleton(from_json({"links": [link(0, 0)]}, Skeleton)).joints == ()


LINKS: list[dict[str, Any]] = document()["links"]
JOINTS: list[dict[str, Any]] = document()["joints"]


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"links": [{}]}, r"links\[0\]\.element: missing"),
        ({"coordinateFrames": [link(2, 4)]}, r"coordinate_frames\[0\]\.element\.id: id stands twice \(got 2\)"),
        ({"links": [link(0, 0, 1, 7, 99), *LINKS[1:]]}, r"0: unknown child \(got 99\)"),
        ({"links": [link(0, 0, 1, 1, 7), *LINKS[1:]]}, r"0: child stands twice \(got 1\)"),
        ({"joints": [joint(1, 4, 2), *JOINTS[1:]]}, r"j1: parent and children disagree \(got 4, bound 0\)"),
        ({"links": [*LINKS, link(9, 9)]}, r"not exactly one root \(got \[0, 9\]"),
        ({"links": [], "coordinateFrames": []}, r"j1: unknown child"),
        ({"links": [link(0, 4, 1, 7), *LINKS[1:]]}, r"0: parent and children disagree \(got 4\)"),
        (
            {"elementIdToDofIndex": {"1": 0}},
            r"keys are not the joints that are not FIXED \(got \[1\], bound \[1, 3\]\)",
        ),
        ({"elementIdToDofIndex": {"1": 0, "3": 1, "0": 2}}, r"element_id_to_dof_index: keys are not"),
        ({"elementIdToDofIndex": {"1": 0, "3": 2}}, r"element_id_to_dof_index: not an order"),
        ({"elementIdToDofIndex": {"1": 0, "3": 0}}, r"element_id_to_dof_index: not an order"),
        ({"anchorOffset": {}}, r"anchor_offset\.orientation: not a unit quaternion"),
        ({"coordinateFrames": [link(5, 4, parentTThis={})]}, r"5\.parent_t_this\.orientation: not a unit quat"),
        ({"joints": [{**JOINTS[0], "parameters": {}}, *JOINTS[1:]]}, r"joint j1, axis: no direction"),
        ({"joints": [{**JOINTS[0], "parameters": {"type": 7}}, *JOINTS[1:]]}, r"joint j1, type: unknown joint type"),
    ],
)
def test_faults(more: dict[str, Any], text: str) -> None:
    with pytest.raises(LimitsError, match=text):
        check_skeleton(skeleton(**more))


def test_a_cycle_is_not_reached_from_the_root() -> None:
    with pytest.raises(LimitsError, match=r"cycle: not reached from the root \(got \[1, 2\]\)"):
        check_skeleton(from_json({"links": [link(0, 0), link(2, 1, 1)], "joints": [joint(1, 2, 2)]}, Skeleton))


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"links": [], "joints": [joint(1, 1)]}, "the root is no link"),
        ({"links": [link(0, 0, 1)], "joints": [joint(1, 0, 2), joint(2, 1)]}, "a joint cannot stand under a joint"),
        (
            {"links": [link(0, 0, 5), link(2, 5)], "coordinateFrames": [link(5, 0, 2)]},
            "a link cannot stand under a coor",
        ),
        (
            {"links": [link(0, 0, 1)], "joints": [joint(1, 0, 5)], "coordinateFrames": [link(5, 1)]},
            "a coordinate frame",
        ),
    ],
)
def test_what_stands_under_what(more: dict[str, Any], text: str) -> None:
    with pytest.raises(LimitsError, match=text):
        check_skeleton(from_json(more, Skeleton))


def test_axis_is_scaled_to_one() -> None:
    assert axis_of(Joint(parameters=JointParameters(axis=Point(x=3.0, y=4.0)))) == Point(x=0.6, y=0.8)
    for axis in (None, Point(), Point(x=math.nan), Point(x=math.inf)):
        with pytest.raises(LimitsError, match="no direction"):
            axis_of(Joint(parameters=JointParameters(axis=axis)))


def test_an_absent_type_is_revolute() -> None:
    parameters = from_json({"axis": {"z": 1.0}}, JointParameters)
    assert parameters.type is JointType.REVOLUTE
    one_joint = [{**JOINTS[0], "parameters": {"axis": {"z": 1.0}}}, *JOINTS[1:]]
    assert len(check_skeleton(skeleton(joints=one_joint)).joints) == 2


def test_nothing_is_no_tree() -> None:
    with pytest.raises(LimitsError, match="not exactly one root"):
        check_skeleton(Skeleton())
