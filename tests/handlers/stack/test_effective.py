import json
import math
from typing import Any

import pytest

from handlers.stack.arm_limits import limits_of
from handlers.stack.effective import came_from, effective_document, limit_sources, numbers_by_mode
from handlers.stack.limit_layers import SOFT_MODES
from handlers.state.limit_sources import LimitSources
from handlers.state.provenance import Setter, Stamp
from limits.formats.urdf import read_urdf
from limits.formats.urdf_records import JointType
from limits.stack.fold import Effective, fold
from limits.stack.joints import JOINT_QUANTITIES, QUANTITIES, ArmJoints
from limits.stack.layer import SLOTS, Layer, LayerKind, Origin, Stack
from limits.stack.sources import site_layer
from schema.joint_items import JointSafetyGains, JointSafetyMap
from tests.effective import number_in
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
    number = number_in(document, "velocity", "joint_1", "ANGULAR_JOYSTICK")
    assert number is not None
    assert number | {"by": "", "since": ""} == {
        "value": pytest.approx(math.radians(50)),
        "unit": "rad/s",
        "layer": "soft",
        "source": "soft:ANGULAR_JOYSTICK",
        "by": "",
        "since": "",
    }
    twist = number_in(document, "twist_linear", None, "CARTESIAN_JOYSTICK")
    assert twist is not None
    assert (twist["value"], twist["unit"]) == (0.5, "m/s")
    other = number_in(document, "velocity", "joint_1", "IDLE")
    assert other is not None
    assert (other["value"], other["source"]) == (pytest.approx(math.radians(80)), "hard:device")
    unknown = number_in(document, "velocity", "joint_1", "unknown_mode")
    assert unknown is not None
    assert unknown["source"] == "soft:ANGULAR_TRAJECTORY"
    assert not [row for row in (document["other_modes"], *document["modes"].values()) if "jerk" in row]
    assert "jerk" not in document["units"]


def test_a_number_that_is_the_same_in_all_modes_stands_once() -> None:
    document = effective_document(arm(sources=LimitSources(site_caps={"twist_linear": 0.2, "velocity": [0.1] * 7})))
    rows = [*document["modes"].values(), document["unknown_mode"]]
    assert {quantity for row in rows for quantity in row} == {"acceleration", "deceleration"}
    assert document["other_modes"]["twist_linear"]["value"] == 0.2
    assert [row["layer"] for row in document["sources"]].count("site") == 1


def limited_in_everything(joints: int) -> Effective:
    """An arm whose every quantity is limited, with limits of their own in all five modes that take some."""
    arm_joints = ArmJoints(tuple(f"shoulder_joint_{n}" for n in range(joints)), (JointType.REVOLUTE,) * joints)
    numbers: dict[str, Any] = {name: [math.pi / (n + 3) for n in range(joints)] for name in JOINT_QUANTITIES}
    numbers["position_lower"] = [-math.pi] * joints
    hard = Layer(LayerKind.HARD, Origin("hard:device", "@arm", 7), arm_joints.ceilings(numbers | {"twist_linear": 1.1}))
    soft = [
        Layer(
            LayerKind.SOFT,
            Origin(f"soft:{mode.name}", "alice/plc-3", 9),
            arm_joints.ceilings(
                {"velocity": [math.e / (n + 9) for n in range(joints)], "acceleration": [0.3] * joints}
            ),
            mode,
        )
        for mode in SOFT_MODES
    ]
    return fold(Stack.of(arm_joints, (hard, *soft)))


@pytest.mark.parametrize(("joints", "most"), [(7, 6_500), (64, 50_000)])
def test_a_document_has_at_most_750_bytes_a_joint_beside_its_sources(joints: int, most: int) -> None:
    document = numbers_by_mode(limited_in_everything(joints))
    assert len(document["modes"]) == len(SOFT_MODES)
    assert 0.5 * most < len(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()) < most


def test_the_document_holds_every_finite_number_of_the_engine() -> None:
    held = values() | {("joint_safety", 0): JointSafetyMap({"joint_2": JointSafetyGains(1.0, -1.5, 2.0, 2.0)})}
    state = arm(desired=held, reported=held)
    document, effective = effective_document(state), limits_of(state).folded
    rows: list[tuple[str, int | None]] = [("unknown_mode", None), *((mode.name, int(mode)) for mode in SLOTS)]
    for name, mode in rows:
        for quantity in QUANTITIES:
            twist = quantity.startswith("twist")
            for joint in (None,) if twist else limits_of(state).joints.names:
                expected, number = effective.value(quantity, joint, mode), number_in(document, quantity, joint, name)
                assert (number is not None) is math.isfinite(expected)
                if number is not None:
                    layer = effective.layer(quantity, joint, mode)
                    assert layer is not None
                    assert number == {
                        "value": expected,
                        "unit": limits_of(state).joints.unit(quantity, joint),
                        **came_from(layer.kind, layer.origin_of(quantity, joint)),
                    }
    lower = number_in(document, "position_lower", "joint_2", "IDLE")
    assert lower is not None
    assert lower["value"] == -1.5


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


def test_arms_with_the_same_numbers_tell_of_their_own_sources() -> None:
    first, second = arm(), arm()
    other = Setter(Stamp("bob/c", 5))
    for slot in second.reported:
        second.reported_by[slot] = other
    documents = [effective_document(state) for state in (first, second)]
    assert {**documents[0], "sources": 0} == {**documents[1], "sources": 0}
    assert {row["by"] for row in documents[1]["sources"] if row["layer"] == "soft"} == {"bob/c"}
    assert "bob/c" not in {row["by"] for row in documents[0]["sources"]}


def test_a_number_of_another_author_keeps_its_source() -> None:
    state = arm()
    state.reported_by["joint_speed_soft_limits", 1] = Setter(Stamp("bob/c", 5))
    found = [
        number_in(effective_document(state), quantity, "joint_1", "ANGULAR_JOYSTICK")
        for quantity in ("velocity", "acceleration")
    ]
    assert [one and one["by"] for one in found] == ["bob/c", ""]


def test_arms_alike_share_their_numbers_where_several_authors_set_them() -> None:
    states = [arm(), arm()]
    for at_us, state in enumerate(states, start=5):
        state.reported_by["joint_speed_soft_limits", 1] = Setter(Stamp(f"bob/{at_us}", at_us))
    first, second = (effective_document(state) for state in states)
    assert first["modes"] is second["modes"]
    assert [row["by"] for row in first["sources"] if row["by"].startswith("bob")] == ["bob/5"]
    assert [row["by"] for row in second["sources"] if row["by"].startswith("bob")] == ["bob/6"]


def test_sources_are_told_apart_by_number() -> None:
    states = [arm(), arm()]
    states[1].reported_by["joint_speed_soft_limits", 1] = Setter(Stamp("bob/c", 5))
    first, second = (effective_document(state) for state in states)
    assert first["modes"]["ANGULAR_JOYSTICK"] != second["modes"]["ANGULAR_JOYSTICK"]


def test_an_arm_without_joints_has_the_numbers_of_its_twists() -> None:
    joints = ArmJoints((), ())
    cap = site_layer(joints, {"twist_linear": 0.25}, Origin("policy:site", "@settings", 0))
    document = numbers_by_mode(fold(Stack.of(joints, (cap,))))
    assert document["other_modes"] == {"twist_linear": {"value": 0.25, "from": 0}}
    assert document["units"] == {"twist_linear": "m/s"}
