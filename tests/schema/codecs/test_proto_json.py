import json
import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schema import intrinsic, joint_items, messages
from schema.codecs.proto_json import ProtoJsonError, decode_json, encode_json, from_json, to_json
from schema.fields import camel_case

SKELETON = intrinsic.Skeleton(
    name="arm",
    joints=(
        intrinsic.Joint(
            element=intrinsic.Element(id=3, name="关节", parent=1, children=(4, 5)),
            parameters=intrinsic.JointParameters(
                type=intrinsic.JointType.PRISMATIC,
                axis=intrinsic.Point(z=-0.0),
                system_limits=intrinsic.Limits(velocity=math.inf, effort=-math.inf),
            ),
            linear_dependency=intrinsic.LinearDependency(alpha_leading={0: 0.0, 4294967295: 2.5}),
        ),
    ),
    element_id_to_dof_index={3: 0},
)
DOCUMENT: dict[str, Any] = {
    "name": "arm",
    "joints": [
        {
            "element": {"id": 3, "name": "关节", "parent": 1, "children": [4, 5]},
            "parameters": {
                "type": "PRISMATIC",
                "axis": {"z": -0.0},
                "systemLimits": {"velocity": "Infinity", "effort": "-Infinity"},
            },
            "linearDependency": {"alphaLeading": {"0": 0.0, "4294967295": 2.5}},
        }
    ],
    "elementIdToDofIndex": {"3": 0},
}


def test_names_are_lower_camel_case() -> None:
    assert camel_case("element_id_to_dof_index") == "elementIdToDofIndex"
    assert camel_case("x") == "x"


def test_writes_and_reads_every_kind() -> None:
    assert json.dumps(to_json(SKELETON)) == json.dumps(DOCUMENT)
    assert from_json(DOCUMENT, intrinsic.Skeleton) == SKELETON
    assert decode_json(encode_json(SKELETON), intrinsic.Skeleton) == SKELETON
    assert b"\n" in encode_json(SKELETON, indent=2)


def test_nan_goes_as_text() -> None:
    document = to_json(intrinsic.JointLimitUpdate(max_velocity=math.nan, max_jerk=0.0))
    assert document == {"maxVelocity": "NaN", "maxJerk": 0.0}
    back = from_json(document, intrinsic.JointLimitUpdate).max_velocity
    assert back is not None
    assert math.isnan(back)


def test_defaults_are_left_out_and_presence_is_kept() -> None:
    assert to_json(intrinsic.Point()) == {}
    assert to_json(intrinsic.JointParameters()) == {}
    assert to_json(intrinsic.JointParameters(dynamics=intrinsic.JointDynamics())) == {"dynamics": {}}
    assert from_json({"dynamics": {}}, intrinsic.JointParameters).dynamics == intrinsic.JointDynamics()
    assert to_json(intrinsic.Joint(linear_dependency=intrinsic.LinearDependency())) == {"linearDependency": {}}
    assert to_json(intrinsic.JointLimitUpdate(min_position=0.0)) == {"minPosition": 0.0}


def test_unknown_enum_numbers_stay() -> None:
    record = from_json({"type": 7}, intrinsic.JointParameters)
    assert record.type == 7
    assert to_json(record) == {"type": 7}
    assert from_json({"type": 2}, intrinsic.JointParameters).type is intrinsic.JointType.FIXED


def test_proto_names_null_and_whole_fractions_are_read() -> None:
    assert from_json({"min_position": 1, "max_position": None}, intrinsic.JointLimitUpdate) == (
        intrinsic.JointLimitUpdate(min_position=1.0)
    )
    assert from_json({"rows": 3.0}, intrinsic.Matrixd).rows == 3


WRONG: list[tuple[type[Any], Any, str]] = [
    (intrinsic.Point, [], "document: not an object (got [])"),
    (intrinsic.Point, {"v": 1}, "v: no field of Point"),
    (intrinsic.Point, {"x": "1"}, 'x: not a number, "NaN", "Infinity" or "-Infinity" (got \'1\')'),
    (intrinsic.Point, {"x": True}, 'x: not a number, "NaN", "Infinity" or "-Infinity" (got True)'),
    (intrinsic.Point, {"x": 10**400}, "x: beyond the range of a double"),
    (intrinsic.Matrixd, {"rows": 1.5}, "rows: not an integer (got 1.5)"),
    (intrinsic.Matrixd, {"rows": True}, "rows: not an integer (got True)"),
    (intrinsic.Matrixd, {"rows": 1 << 31}, "rows: outside -2147483648 to 2147483647"),
    (intrinsic.Matrixd, {"values": 1.0}, "values: not a list (got 1.0)"),
    (intrinsic.Matrixd, {"values": [1.0, None]}, "values[1]: not a number"),
    (intrinsic.Element, {"id": -1}, "id: outside 0 to 4294967295 (got -1)"),
    (intrinsic.Element, {"name": 1}, "name: not a string (got 1)"),
    (intrinsic.Element, {"name": "\ud800"}, "name: not valid Unicode"),
    (intrinsic.JointParameters, {"type": "HINGE"}, "type: no value of JointType (got 'HINGE')"),
    (intrinsic.JointParameters, {"type": 1.5}, "type: not an integer"),
    (intrinsic.LinearDependency, {"alphaLeading": []}, "alphaLeading: not an object"),
    (intrinsic.LinearDependency, {"alphaLeading": {"01": 1.0}}, "alphaLeading: key is no integer up to 4294967295"),
    (intrinsic.LinearDependency, {"alphaLeading": {"4294967296": 1.0}}, "alphaLeading: key is no integer up to"),
    (intrinsic.LinearDependency, {"alphaLeading": {"1": "x"}}, "alphaLeading[1]: not a number"),
    (intrinsic.JointLimitUpdate, {"minPosition": 1, "min_position": 2}, "min_position: given twice"),
    (intrinsic.Skeleton, {"joints": [{}, {"element": {"id": "1"}}]}, "joints[1].element.id: not an integer"),
]


@pytest.mark.parametrize(("cls", "document", "text"), WRONG)
def test_refuses_by_name(cls: type[Any], document: Any, text: str) -> None:
    with pytest.raises(ProtoJsonError) as caught:
        from_json(document, cls)
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "no JSON"),
        (b"{", "no JSON"),
        (b"\xff", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b'{"x": ' + b"1" * 5000 + b"}", "no JSON"),
        (b'{"x": NaN}', "NaN is no JSON"),
        (b'{"x": 1e999}', "beyond the range of a double"),
        (b'{"x": 1, "x": 2}', "a name stands twice (got 'x')"),
        (b'{"x": 1.5, "y": []}', "y: not a number"),
    ],
)
def test_refuses_text(text: bytes, reason: str) -> None:
    with pytest.raises(ProtoJsonError, match=re.escape(reason)):
        decode_json(text, intrinsic.Point)


def test_kinds_of_no_record_here_are_refused() -> None:
    with pytest.raises(TypeError, match="successful: no proto3 JSON for the kind bool"):
        from_json({"successful": True}, joint_items.SetParametersResult)


def test_numbers_of_single_precision() -> None:
    document = {"controlMode": "ANGULAR_TRAJECTORY", "jointSpeedLimits": [33.1, 0], "twist_angular": 61.25}
    record = from_json(document, messages.KinematicLimits)
    assert (record.joint_speed_limits, record.twist_angular) == ((33.1, 0.0), 61.25)
    assert to_json(record) == {
        "controlMode": "ANGULAR_TRAJECTORY",
        "jointSpeedLimits": [33.1, 0.0],
        "twistAngular": 61.25,
    }
    with pytest.raises(ProtoJsonError, match=r"jointSpeedLimits\[0\]: beyond the range of a float"):
        from_json({"jointSpeedLimits": [1e39]}, messages.KinematicLimits)
    with pytest.raises(ProtoJsonError, match="twistLinear: not a number"):
        from_json({"twistLinear": "fast"}, messages.KinematicLimits)


@given(st.lists(st.none() | st.floats(), min_size=6, max_size=6))
def test_round_trip(values: list[float | None]) -> None:
    record = intrinsic.JointLimitUpdate(*values)
    back = decode_json(encode_json(record), intrinsic.JointLimitUpdate)
    assert repr(back) == repr(record)
