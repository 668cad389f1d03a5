import math
from typing import Any

import pytest

from handlers.items.documents import examine, overlay, read_items, write_items
from handlers.items.paths import CONFIG_SLOTS
from schema.errors import BrokerError
from schema.intrinsic import JointLimits, RepeatedDouble
from schema.joint_items import JointParameterMap, JointSafetyGains, JointSafetyMap
from schema.messages import GravityVector, PayloadInformation
from tests.handlers.builders import linear, values

GAINS = {"soft_upper_limit": 1, "soft_lower_limit": -1, "k_position": 2, "k_velocity": 3}
WRONG: tuple[tuple[dict[str, Any], str, str, str], ...] = (
    ({"payload": 1}, "payload", "unknown_enum", "is no item"),
    ({"control_mode": {}}, "control_mode", "unsupported_option", "no part of a configuration"),
    ({"gravity_vector": 3}, "gravity_vector", "malformed", "an object (GravityVector) is needed"),
    ({"gravity_vector": None}, "gravity_vector", "malformed", "null is given"),
    ({"gravity_vector": {"x": "a"}}, "gravity_vector.x", "malformed", "a number is needed"),
    ({"gravity_vector": {"x": True}}, "gravity_vector.x", "malformed", "a number is needed"),
    ({"gravity_vector": {"x": math.nan}}, "gravity_vector.x", "not_finite", "nan"),
    ({"gravity_vector": {"x": 1e300}}, "gravity_vector.x", "not_finite", "float32"),
    ({"gravity_vector": {"w": 1}}, "gravity_vector.w", "unknown_field", "no such field"),
    ({"gravity_vector": {1: 1}}, "gravity_vector.1", "unknown_field", "no such field"),
    ({"tool_configuration": {"tool_transform": {"x": []}}}, "tool_configuration.tool_transform.x", "malformed", ""),
    ({"cartesian_reference_frame": {"reference_frame": "UP"}}, "cartesian_reference_frame.reference_frame",
     "unknown_enum", "is no CartesianReferenceFrame"),
    ({"twist_linear_soft_limit": 0.2}, "twist_linear_soft_limit", "malformed", "{<MODE>: value}"),
    ({"twist_linear_soft_limit": {"IDLE": 1}}, "twist_linear_soft_limit.IDLE", "mode_without_limit", "takes no"),
    ({"twist_linear_soft_limit": {"X": 1}}, "twist_linear_soft_limit.X", "unknown_enum", "is no control mode"),
    ({"twist_linear_soft_limit": {"CARTESIAN_JOYSTICK": "fast"}}, "twist_linear_soft_limit.CARTESIAN_JOYSTICK",
     "malformed", "a number is needed"),
    ({"joint_speed_soft_limits": {"ANGULAR_JOYSTICK": [1, "a"]}}, "joint_speed_soft_limits.ANGULAR_JOYSTICK[1]",
     "malformed", "a number is needed"),
    ({"joint_speed_soft_limits": {"ANGULAR_JOYSTICK": 1}}, "joint_speed_soft_limits.ANGULAR_JOYSTICK", "malformed",
     "a list is needed"),
    ({"joint_limits": {"max_velocity": {"values": [math.inf]}}}, "joint_limits.max_velocity.values[0]", "not_finite",
     "inf"),
    ({"joint_safety": {"joints": {"j1": {"k_velocity": 1}}}}, "joint_safety.joints.j1.soft_upper_limit", "malformed",
     "a record is set whole"),
    ({"joint_safety": {"joints": {"j1": 3}}}, "joint_safety.joints.j1", "malformed", "an object"),
    ({"joint_safety": {"joints": []}}, "joint_safety.joints", "malformed", "an object"),
    ({"joint_parameters": {"parameters": {"a": "b"}}}, "joint_parameters.parameters.a", "malformed", "a number"),
)  # fmt: skip


@pytest.mark.parametrize(("document", "place", "kind", "words"), WRONG)
def test_what_is_wrong_is_told_with_its_place(document: dict[str, Any], place: str, kind: str, words: str) -> None:
    (fault,) = examine(document).faults
    assert (fault.place, fault.kind) == (place, kind)
    assert words in fault.text
    with pytest.raises(BrokerError) as caught:
        read_items(document, "params.to.items")
    assert caught.value.kind == kind
    assert caught.value.message.startswith(f"params.to.items.{place}: ")


def test_all_that_is_wrong_is_found_at_once_and_the_form_is_told_first() -> None:
    document = {
        "gravity_vector": {"x": math.nan, "y": "a", "z": 1},
        "payload": 1,
        "payload_information": {"payload_mass": 1.5},
    }
    found = examine(document)
    assert [fault.place for fault in found.faults] == ["gravity_vector.x", "gravity_vector.y", "payload"]
    assert found.values == {("payload_information", 0): PayloadInformation(1.5)}
    with pytest.raises(BrokerError) as caught:
        read_items(document, "params.items")
    assert caught.value.kind == "malformed"


@pytest.mark.parametrize("document", [None, [], {}, 3, "x", {"twist_linear_soft_limit": {}}])
def test_a_document_names_at_least_one_slot(document: Any) -> None:
    with pytest.raises(BrokerError) as caught:
        read_items(document, "params.items")
    assert caught.value.kind == "malformed"
    assert caught.value.message.startswith("params.items: ")


def test_what_is_written_is_read_again() -> None:
    held = {slot: value for slot, value in values().items() if slot in CONFIG_SLOTS}
    document = write_items(held)
    assert list(document) == list(dict.fromkeys(key for key, _ in CONFIG_SLOTS))
    assert read_items(document, "items") == held
    assert write_items({}) == {}


def test_records_and_lists_are_read_to_their_last_number() -> None:
    document = {
        "joint_safety": {"joints": {"j1": GAINS}},
        "joint_parameters": {"parameters": {"joint_limits.j1.has_jerk_limits": False}},
        "joint_limits": {"max_velocity": {"values": [1, "Infinity"]}},
    }
    assert read_items(document, "items") == {
        ("joint_safety", 0): JointSafetyMap({"j1": JointSafetyGains(1.0, -1.0, 2.0, 3.0)}),
        ("joint_parameters", 0): JointParameterMap({"joint_limits.j1.has_jerk_limits": False}),
        ("joint_limits", 0): JointLimits(max_velocity=RepeatedDouble((1.0, math.inf))),
    }


def test_a_joint_item_is_laid_over_part_by_part_and_others_as_a_whole() -> None:
    one, two = RepeatedDouble((1.0,)), RepeatedDouble((2.0,))
    kept = JointLimits(max_velocity=one, max_jerk=one)
    assert overlay(kept, JointLimits(max_velocity=two, max_effort=RepeatedDouble())) == JointLimits(
        max_velocity=two, max_jerk=one
    )
    slow, fast = JointSafetyGains(k_velocity=1.0), JointSafetyGains(k_velocity=2.0)
    named = JointSafetyMap({"j2": fast})
    assert overlay(JointSafetyMap({"j1": slow, "j2": slow}), named) == JointSafetyMap({"j1": slow, "j2": fast})
    parameters = JointParameterMap({"a": 1.0, "b": 1.0})
    assert overlay(parameters, JointParameterMap({"b": 2.0})) == JointParameterMap({"a": 1.0, "b": 2.0})
    assert overlay(GravityVector(z=-9.8), GravityVector(x=9.8)) == GravityVector(x=9.8)
    assert overlay(linear(0.2), linear(0.3)) == linear(0.3)
