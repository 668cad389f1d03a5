import math
from typing import Any

import pytest

from limits.errors import LimitsError
from limits.intrinsic.skeleton_model import skeleton_model
from schema.codecs.proto_json import from_json
from schema.intrinsic import Skeleton

LIMITS = {"position": {"lower": -1.0, "upper": 1.0}, "velocity": 1.0, "acceleration": 1.0, "jerk": 1.0, "effort": 1.0}
AXIS = {"z": 1.0}


def document(**links: Any) -> dict[str, Any]:
    def link(element: int, parent: int, *children: int) -> dict[str, Any]:
        given = {"element": {"id": element, "name": f"l{element}", "parent": parent, "children": list(children)}}
        parameters = links.get(f"l{element}")
        return given if parameters is None else {**given, "parameters": parameters}

    return {
        "links": [link(1, 1, 2, 6), link(3, 2, 4), link(5, 4), link(7, 6)],
        "joints": [
            {
                "element": {"id": 2, "name": "shoulder", "parent": 1, "children": [3]},
                "parameters": {"axis": AXIS, "systemLimits": LIMITS},
            },
            {
                "element": {"id": 4, "name": "elbow", "parent": 3, "children": [5]},
                "parameters": {"axis": AXIS},
                "linearDependency": {"alphaSelf": 1.0, "alphaLeading": {"2": -1.0}},
            },
            {
                "element": {"id": 6, "parent": 1, "children": [7]},
                "parameters": {"type": "FIXED", "systemLimits": LIMITS},
            },
        ],
        "elementIdToDofIndex": {"2": 0, "4": 1},
    }


def test_everything_in_dof_order() -> None:
    model = skeleton_model(from_json(document(l1={}), Skeleton))
    assert model.names == ("shoulder", "elbow")
    assert model.system.max_position.tolist() == [1.0, math.inf]
    assert model.soft.max_velocity.tolist() == [1.0, math.inf]
    assert model.coupling.matrix.tolist() == [[1.0, 0.0], [-1.0, 1.0]]
    assert model.warnings == ("joint 6: limits and default position of a FIXED joint are ignored",)


def test_link_parameters_are_checked_where_they_are_set() -> None:
    inertia = {"rows": 3, "cols": 3, "values": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]}
    assert skeleton_model(from_json(document(l1={"mass": 1.0, "inertia": inertia}), Skeleton))
    with pytest.raises(LimitsError, match="l3: unusable link parameters: inertia_missing"):
        skeleton_model(from_json(document(l3={"mass": 1.0}), Skeleton))
    with pytest.raises(LimitsError, match="l3: unusable link parameters: mass"):
        skeleton_model(from_json(document(l3={"inertia": inertia}), Skeleton))
