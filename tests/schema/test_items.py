import json
from pathlib import Path
from typing import Any

import pytest

from schema.enums import ControlConfigurationEvent
from schema.events import CONTROL_MODE_CHANGED, OwnEvent
from schema.fields import Kind, fields_of
from schema.items import (
    ANGLE_FIELDS,
    CONFIG_ITEMS,
    DESIRED_SPEEDS,
    ITEMS,
    KINOVA_ITEMS,
    NUMBER_FIELDS,
    OWN_SLOTS,
    SOFT_LIMIT_MODES,
    SOFT_LIMITS,
    Zero,
    methods_by_verb,
    slot_name,
    slot_path,
    slots,
    slots_of,
)
from schema.messages import DesiredSpeeds, KinematicLimits

PINNED = [
    # key, record, verbs, event, modes, order, zero, unit of its numbers
    ("gravity_vector", "GravityVector", "GSR", 2, (), "unordered", "value", None),
    ("payload_information", "PayloadInformation", "GSR", 12, (), "unordered", "value", None),
    ("tool_configuration", "ToolConfiguration", "GSR", 11, (), "unordered", "value", None),
    ("cartesian_reference_frame", "CartesianReferenceFrameInfo", "GS", 13, (), "unordered", "refuse", None),
    ("joint_speed_soft_limits", "JointSpeedSoftLimits", "SR", 16, (1, 2, 4, 5, 12), "upper", "value", "deg/s"),
    ("joint_acceleration_soft_limits", "JointAccelerationSoftLimits", "SR", 19, (1, 4), "upper", "value", "deg/s²"),
    ("twist_linear_soft_limit", "TwistLinearSoftLimit", "SR", 17, (2, 5, 12), "upper", "refuse", "m/s"),
    ("twist_angular_soft_limit", "TwistAngularSoftLimit", "SR", 18, (2, 5, 12), "upper", "refuse", "deg/s"),
    ("desired_linear_twist", "LinearTwist", "S", 20, (), "upper", "value", "m/s"),
    ("desired_angular_twist", "AngularTwist", "S", 21, (), "upper", "value", "deg/s"),
    ("desired_joint_speeds", "JointSpeeds", "S", 22, (), "upper", "value", "deg/s"),
    ("joint_limits", "JointLimits", "", OwnEvent.JOINT_LIMITS_CHANGED, (), "interval", "value", None),
    ("joint_safety", "JointSafetyMap", "", OwnEvent.JOINT_SAFETY_CHANGED, (), "interval", "value", None),
    ("joint_parameters", "JointParameterMap", "", OwnEvent.JOINT_PARAMETERS_CHANGED, (), "interval", "value", None),
    ("control_mode", "ControlModeInformation", "", None, (), "unordered", "refuse", None),
]
OWN = {"joint_limits", "joint_safety", "joint_parameters"}


def test_the_table_is_the_pinned_one() -> None:
    found = [
        (
            item.key,
            item.record.__name__,
            item.verbs,
            item.event,
            item.modes,
            item.order,
            item.zero,
            item.quantity and item.quantity.unit,
        )
        for item in CONFIG_ITEMS
    ]
    assert found == PINNED


def test_no_key_and_no_event_stands_twice() -> None:
    assert list(ITEMS) == [key for key, *_ in PINNED]
    events = [item.event for item in CONFIG_ITEMS if item.event is not None]
    assert len(set(events)) == len(events)


def test_the_service_holds_what_no_kinova_arm_has() -> None:
    assert {key for key, _ in OWN_SLOTS} == OWN
    assert ITEMS.keys() - OWN == KINOVA_ITEMS


@pytest.fixture
def rpcs(vectors_dir: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((vectors_dir / "kinova_rpcs.json").read_text())["rpcs"]
    return rows


def test_methods_events_and_modes_are_those_of_the_rpcs(rpcs: list[dict[str, Any]]) -> None:
    writes = [row for row in rpcs if row["event"] is not None]
    assert len(writes) == 18
    keys = {method: key for verb in ("Set", "Reset") for key, method in methods_by_verb(verb).items()}
    assert keys.keys() == {row["rpc"] for row in writes}
    for row in writes:
        item = ITEMS[keys[row["rpc"]]]
        assert item.event == ControlConfigurationEvent[row["event"]] == row["event_number"]
        assert (item.event_name, item.event_number) == (row["event"], row["event_number"])
        assert list(item.modes) == (row["modes_seen_accepted"] or [])
        if row["rpc"].startswith("Set"):
            assert row["request"] == item.record.__name__
    assert methods_by_verb("Get").items() <= {key: f"Get{item.noun}" for key, item in ITEMS.items()}.items()
    assert set(methods_by_verb("Get").values()) < {row["rpc"] for row in rpcs}
    assert {key for key, item in ITEMS.items() if item.resettable} == methods_by_verb("Reset").keys()


def test_what_has_no_number_of_kinova_has_a_name() -> None:
    assert (ITEMS["control_mode"].event_name, ITEMS["control_mode"].event_number) == (CONTROL_MODE_CHANGED, 0)
    assert (ITEMS["joint_safety"].event_name, ITEMS["joint_safety"].event_number) == ("JOINT_SAFETY_CHANGED", 0)


def test_the_value_of_a_slot_stands_in_a_field_of_its_record() -> None:
    for item in CONFIG_ITEMS:
        assert bool(item.field) is bool(item.modes)
        if item.field:
            assert item.record.__struct_fields__ == ("control_mode", item.field)


def test_numbers_with_a_bound_have_a_unit_and_a_place_in_the_views() -> None:
    assert {item.key for item in CONFIG_ITEMS if item.order.value == "upper"} == NUMBER_FIELDS.keys()
    assert {item.key for item in CONFIG_ITEMS if item.quantity is not None} == NUMBER_FIELDS.keys()
    assert {*SOFT_LIMITS, *DESIRED_SPEEDS} == {ITEMS[key] for key in NUMBER_FIELDS}
    assert {item.hard for item in SOFT_LIMITS} == {*KinematicLimits.__struct_fields__} - {"control_mode"}
    assert {item.hard for item in DESIRED_SPEEDS} < {item.hard for item in SOFT_LIMITS}
    assert [NUMBER_FIELDS[item.key] for item in DESIRED_SPEEDS] == list(DesiredSpeeds.__struct_fields__)
    assert [NUMBER_FIELDS[item.key] for item in SOFT_LIMITS] == [item.field for item in SOFT_LIMITS]
    assert {item.key: item.modes for item in CONFIG_ITEMS if item.modes} == SOFT_LIMIT_MODES


def test_an_item_of_lists_refuses_no_zero() -> None:
    for key, name in NUMBER_FIELDS.items():
        (field,) = [field for field in fields_of(ITEMS[key].record) if field.name == name]
        assert not (field.repeated and ITEMS[key].zero is Zero.REFUSE)


def test_the_angle_fields_are_the_thetas_of_the_tool() -> None:
    (transform,) = [field for field in fields_of(ITEMS["tool_configuration"].record) if "transform" in field.name]
    names = {field.name for field in fields_of(transform.type) if field.kind is Kind.FLOAT32}
    assert names - ANGLE_FIELDS == {"x", "y", "z"}
    assert names >= ANGLE_FIELDS


def test_an_arm_has_one_slot_a_mode_or_one_an_item() -> None:
    assert len(slots()) == len(set(slots())) == 24
    assert slots()[4:6] == (("joint_speed_soft_limits", 1), ("joint_speed_soft_limits", 2))
    assert slots_of("twist_linear_soft_limit") == tuple(("twist_linear_soft_limit", mode) for mode in (2, 5, 12))
    assert slots_of("gravity_vector") == (("gravity_vector", 0),)
    with pytest.raises(KeyError):
        slots_of("gripper")


def test_a_slot_is_named_by_its_mode() -> None:
    assert slot_name(("twist_linear_soft_limit", 12)) == "CARTESIAN_WAYPOINT_TRAJECTORY"
    assert slot_path(("twist_linear_soft_limit", 2)) == "twist_linear_soft_limit/CARTESIAN_JOYSTICK"
    assert slot_name(("gravity_vector", 0)) == ""
    assert slot_path(("gravity_vector", 0)) == "gravity_vector"
