import json
import math
from typing import Any

import numpy as np
import pytest

from limits.errors import LimitsError
from limits.formats.intrinsic_files import (
    read_joint_limits,
    read_skeleton,
    read_skeleton_record,
    write_joint_limits,
    write_message,
)
from limits.intrinsic.joint_limits import joint_limits_equal, simple_limits
from schema.codecs.proto_json import from_json
from schema.intrinsic import Skeleton

LIMITS = simple_limits(dof=2, position=1.5, velocity=2.0, acceleration=3.0, jerk=4.0)._replace(
    max_jerk=np.array([1.0, math.inf])
)
DOCUMENT: dict[str, Any] = {
    "links": [
        {"element": {"id": 1, "name": "base", "parent": 1, "children": [2]}},
        {"element": {"id": 3, "name": "tip", "parent": 2}},
    ],
    "joints": [
        {
            "element": {"id": 2, "name": "elbow", "parent": 1, "children": [3]},
            "parameters": {"axis": {"z": 1.0}, "systemLimits": {"velocity": 1.0}},
        }
    ],
    "elementIdToDofIndex": {"2": 0},
}


@pytest.mark.parametrize("as_json", [False, True])
def test_joint_limits_keep_every_entry(as_json: bool) -> None:
    data = write_joint_limits(LIMITS, json=as_json)
    assert data.startswith(b"{\n") is as_json
    assert joint_limits_equal(read_joint_limits(data), LIMITS)


@pytest.mark.parametrize("as_json", [False, True])
def test_skeleton(as_json: bool) -> None:
    model = read_skeleton(write_message(from_json(DOCUMENT, Skeleton), json=as_json))
    assert model.names == ("elbow",)
    assert model.system.max_velocity.tolist() == [1.0]
    assert model.warnings[0] == "joint elbow: system_limits acceleration, jerk, effort is absent or 0 and taken as 0"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "a.json: the file is empty"),
        (b'{"minPosition": {"values": [0, "x"]}}', "a.json, minPosition.values[1]: not a number"),
        (b"{", "a.json: no JSON"),
        (
            b"\x09\x00",
            "a.json: no JSON, which starts with {, and as protobuf: ",
        ),
        (b"\x79" + bytes(8), "a.json: no JSON, which starts with {, and as protobuf: "),
        (
            b'{"minPosition": {"values": [2]}, "maxPosition": {"values": [1]}}',
            "a.json, joint elbow, min_position: bounds leave no position (got 2.0, bound 1.0)",
        ),
    ],
)
def test_joint_limits_refusals_name_the_file(data: bytes, text: str) -> None:
    with pytest.raises(LimitsError) as caught:
        read_joint_limits(data, "a.json", names=["elbow"])
    assert str(caught.value).startswith(text)
    assert caught.value.file == "a.json"


def test_fields_of_another_revision_are_dropped_when_told() -> None:
    data = write_joint_limits(LIMITS) + b"\x79" + bytes(8)
    assert joint_limits_equal(read_joint_limits(data, drop_unknown=True), LIMITS)


def test_too_many_joints() -> None:
    with pytest.raises(LimitsError, match=r"too many joints \(got 2, bound 1\)"):
        read_joint_limits(write_joint_limits(LIMITS), max_dof=1)


def test_skeleton_refusals_name_the_file() -> None:
    wrong = {**DOCUMENT, "elementIdToDofIndex": {"2": 1}}
    with pytest.raises(LimitsError, match=r"b\.json, element_id_to_dof_index: not an order"):
        read_skeleton(json.dumps(wrong).encode(), "b.json")
    with pytest.raises(LimitsError, match=r"b\.json, shape: no field of Skeleton"):
        read_skeleton(b'{"shape": 1}', "b.json")


def test_a_record_of_a_skeleton_is_as_it_stands() -> None:
    assert read_skeleton_record(b'{"name": "arm"}').name == "arm"
    with pytest.raises(LimitsError) as caught:
        read_skeleton_record(b"{", "arm.json")
    assert caught.value.file == "arm.json"
