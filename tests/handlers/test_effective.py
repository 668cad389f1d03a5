import math
from typing import Any

import pytest

from handlers.arm_limits import limits_of
from handlers.effective import effective_document, limit_sources
from handlers.limit_sources import LimitSources
from limits.formats.urdf import read_urdf
from limits.stack.joints import QUANTITIES
from limits.stack.layer import SLOTS
from schema.joint_items import JointSafetyGains, JointSafetyMap
from tests.handlers.builders import arm, values

OWN = [
    "ANGULAR_JOYSTICK", "CARTESIAN_JOYSTICK", "ANGULAR_TRAJECTORY", "CARTESIAN_TRAJECTORY",
    "CARTESIAN_WAYPOINT_TRAJECTORY",
]  # fmt: skip

URDF = """<robot name="gen3"><link name="a"/><link name="b"/>
<joint name="JOINT-1" type="revolute"><parent link="a"/><child link="b"/>
  <limit lower="-1" upper="1" velocity="1" effort="9"/></joint></robot>"""


def test_each_mode_with_limits_of_its_own_has_its_numbers() -> None:
    document = effective_document(arm())
    assert sorted(document["modes"]) == sorted(OWN)
    number = document["modes"]["ANGULAR_JOYSTICK"]["joints"]["joint_1"]["velocity"]
    assert number | {"by": "", "since": ""} == {
        "value": pytest.approx(math.radians(50)),
        "unit": "rad/s",
        "layer": "soft",
        "source": "soft:ANGULAR_JOYSTICK",
        "by": "",
        "since": "",
    }
    assert document["modes"]["CARTESIAN_JOYSTICK"]["twist_linear"]["value"] == 0.5
    other = document["other_modes"]["joints"]["joint_1"]["velocity"]
    assert (other["value"], other["source"]) == (pytest.approx(math.radians(80)), "hard:device")
    assert document["unknown_mode"]["joints"]["joint_1"]["velocity"]["source"] == "soft:ANGULAR_TRAJECTORY"
    assert "jerk" not in document["other_modes"]["joints"]["joint_1"]


def test_the_document_holds_every_finite_number_of_the_engine() -> None:
    held = values() | {("joint_safety", 0): JointSafetyMap({"joint_2": JointSafetyGains(1.0, -1.5, 2.0, 2.0)})}
    state = arm(desired=held, reported=held)
    document, effective = effective_document(state), limits_of(state).folded
    joints = limits_of(state).joints.names
    rows: list[tuple[dict[str, Any], int | None]] = [(document["unknown_mode"], None)]
    rows += [(document["modes"].get(mode.name, document["other_modes"]), int(mode)) for mode in SLOTS]
    for numbers, mode in rows:
        for quantity in QUANTITIES:
            twist = quantity.startswith("twist")
            for joint in (None,) if twist else joints:
                place = numbers if joint is None else numbers["joints"][joint]
                expected = effective.value(quantity, joint, mode)
                assert (quantity in place) is math.isfinite(expected)
                if quantity in place:
                    assert place[quantity]["value"] == expected
    assert document["other_modes"]["joints"]["joint_2"]["position_lower"]["value"] == -1.5


def test_sources_reports_and_disagreements_are_listed() -> None:
    sources = LimitSources(urdf=read_urdf(URDF), urdf_file="g.urdf", site_caps={"twist_linear": 0.2}, since_us=7)
    found = limit_sources(arm(sources=sources))
    assert [(one["layer"], one["source"]) for one in found["limit_sources"]] == [
        ("hard", "hard:device"),
        ("urdf", "urdf:g.urdf"),
        ("site", "policy:site"),
    ]
    assert found["limit_sources"][1]["since"] == "1970-01-01T00:00:00.000007Z"
    assert "urdf:g.urdf: joint joint_1 is called JOINT-1" in found["joint_reports"]
    assert "urdf:g.urdf: joint joint_2 is missing; it gives no limits of it" in found["joint_reports"]
    (difference,) = found["disagreements"]
    assert difference == {
        "quantity": "velocity",
        "joint_name": "joint_1",
        "unit": "rad/s",
        "value": 1.0,
        "source": "urdf:g.urdf",
        "other_value": pytest.approx(math.radians(80)),
        "other_source": "hard:device",
    }


def test_limits_that_cannot_be_used_say_why() -> None:
    state = arm(sources=LimitSources(site_caps={"velocity": [1.0]}))
    assert list(effective_document(state)) == ["why"]
    assert "needs one number a joint" in limit_sources(state)["joint_reports"][0]
