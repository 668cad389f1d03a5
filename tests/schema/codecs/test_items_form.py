"""The document of several items: all that `config.items` can say is read as it was written, all else refused."""

import json
from typing import Any

import msgspec
import pytest

from schema.arms import Slot
from schema.codecs.items_form import (
    MODE_ITEM,
    PATHS_MOST,
    VALUE_ITEMS,
    VALUE_SLOTS,
    ToldItems,
    given_items,
    items_document,
    read_items,
    read_path,
    read_paths,
)
from schema.codecs.json_codec import JSON_PARTS
from schema.codecs.parts import Parts
from schema.codecs.plain import bare, to_plain
from schema.enums import ControlMode
from schema.errors import BrokerError
from schema.intrinsic import JointLimits, RepeatedDouble
from schema.items import CONFIG_ITEMS, ITEMS, slot_name, slot_path, slots
from schema.joint_items import JointParameterMap, JointSafetyGains, JointSafetyMap
from schema.messages import ControlModeInformation, GravityVector, Message, PayloadInformation, TwistLinearSoftLimit
from tests.handlers.builders import speeds, values

SPEEDS: Slot = ("joint_speed_soft_limits", 1)
CHANGES: list[dict[Slot, Message]] = [
    {},
    {SPEEDS: speeds(1.5, 2.5)},
    {("joint_parameters", 0): JointParameterMap({"a.b": True, "a.c": 1.0})},
    {("joint_parameters", 0): JointParameterMap({"a.b": 1.0, "a.c": True})},
    {("joint_limits", 0): JointLimits(max_velocity=RepeatedDouble((-0.0, 1e300, 5.0)))},
    {("joint_limits", 0): JointLimits(max_velocity=RepeatedDouble((0.0, 1e300, 5.0)))},
]


def slot_by_slot(told: dict[Slot, Message]) -> dict[str, Any]:
    """The items as their slots say."""
    document: dict[str, Any] = {item.key: {} for item in CONFIG_ITEMS if item.modes}
    for slot, value in told.items():
        item = ITEMS[slot[0]]
        if item.modes:
            document[item.key][slot_name(slot)] = bare(value, item.field)
        elif item.key != "control_mode":
            document[item.key] = to_plain(value)
    return document


@pytest.mark.parametrize("changes", CHANGES)
def test_every_item_is_told_as_it_is(changes: dict[Slot, Message]) -> None:
    told = values() | changes
    assert told.keys() == set(slots())
    plain = items_document(told)
    assert plain == slot_by_slot(told)
    assert list(plain) == [item.key for item in CONFIG_ITEMS if item.key != "control_mode"]
    for _ in range(2):
        assert msgspec.json.encode(items_document(told, JSON_PARTS)) == msgspec.json.encode(plain)


def test_what_is_not_known_is_left_out() -> None:
    told = {slot: value for slot, value in values().items() if slot[0] not in (SPEEDS[0], "gravity_vector")}
    document = items_document(told)
    assert document[SPEEDS[0]] == {}
    assert "gravity_vector" not in document


def test_what_is_told_again_and_again_is_made_anew_where_it_changed() -> None:
    made: list[Message] = []

    def make(value: Message, value_field: str) -> Any:
        made.append(value)
        return bare(value, value_field)

    values_now, told = values(), ToldItems(Parts(make))
    joint, gravity = ("joint_parameters", 0), ("gravity_vector", 0)
    assert told.of(values_now) == items_document(values_now)
    changes: list[dict[Slot, Message]] = [
        {},
        {SPEEDS: speeds(1.5, 2.5)},
        {joint: JointParameterMap({"a.b": True}), gravity: GravityVector(1.0, 2.0, 3.0)},
        {joint: JointParameterMap({"a.b": 1.0})},
        {("control_mode", 0): ControlModeInformation(ControlMode(4))},
    ]
    for changed in changes:
        values_now = values_now | changed
        made.clear()
        assert msgspec.json.encode(told.of(values_now)) == msgspec.json.encode(items_document(values_now))
        assert {*map(id, made)} == {id(value) for slot, value in changed.items() if slot[0] != MODE_ITEM}
    del values_now[gravity]
    assert list(told.of(values_now)) == list(items_document(values_now))
    assert told.of(values_now | {gravity: GravityVector()}) == items_document(values_now | {gravity: GravityVector()})


def test_every_value_is_read_as_it_was_written() -> None:
    told = {slot: value for slot, value in values().items() if slot in VALUE_SLOTS} | {
        ("joint_safety", 0): JointSafetyMap({"joint_1": JointSafetyGains(1.0, -1.0, 10.0, 20.0)}),
        ("joint_parameters", 0): JointParameterMap({"joint_limits.joint_1.has_velocity_limits": True}),
        ("joint_limits", 0): JointLimits(max_velocity=RepeatedDouble((float("inf"), 1.5))),
    }
    document = json.loads(msgspec.json.encode(items_document(told, JSON_PARTS)))
    assert list(document) == [item.key for item in VALUE_ITEMS]
    assert read_items(document) == told
    assert list(read_items(dict(reversed(document.items())))) == list(VALUE_SLOTS)
    assert {item.key for item in VALUE_ITEMS} == {item.key for item in CONFIG_ITEMS} - {"control_mode"}


def test_what_is_left_out_is_as_in_a_set() -> None:
    found = read_items({"payload_information": {"payload_mass": 2}, "twist_linear_soft_limit": {}})
    assert found == {("payload_information", 0): PayloadInformation(2.0)}
    assert given_items(found) == {"payload_information": {"payload_mass": 2.0}}
    found = read_items({"twist_linear_soft_limit": {"CARTESIAN_JOYSTICK": 1}, "gravity_vector": {"z": -9.81}})
    assert found == {
        ("gravity_vector", 0): GravityVector(0.0, 0.0, -9.81),
        ("twist_linear_soft_limit", 2): TwistLinearSoftLimit(2, 1.0),
    }
    limits = read_items({"joint_limits": {"max_velocity": {"values": [1]}, "max_jerk": {"values": []}}})
    assert limits == {("joint_limits", 0): JointLimits(max_velocity=RepeatedDouble((1.0,)))}


MODE = "twist_linear_soft_limit"
REFUSED: list[tuple[Any, str, str]] = [
    (None, "malformed", "p: null is given, an object of items is needed"),
    ([], "malformed", "p: a list is given, an object of items is needed"),
    ({}, "malformed", "p: at least one value is needed"),
    ({MODE: {}}, "malformed", "p: at least one value is needed"),
    ({"gravity": {}}, "unknown_field", "p.gravity: a document of items has no such field"),
    ({"gravity_vectr": {}}, "unknown_field", "did you mean 'gravity_vector'?"),
    ({"control_mode": {"control_mode": "IDLE"}}, "unsupported_option", "p.control_mode: the control mode is set by"),
    ({"gravity_vector": {"w": 1}}, "unknown_field", "p.gravity_vector.w: GravityVector has no such field"),
    ({"gravity_vector": {"x": "1"}}, "malformed", "p.gravity_vector.x: "),
    ({"gravity_vector": {"x": 1e300}}, "not_finite", "p.gravity_vector.x: "),
    ({"gravity_vector": None}, "malformed", "p.gravity_vector: null is given"),
    ({"cartesian_reference_frame": {"reference_frame": "MOON"}}, "unknown_enum", "p.cartesian_reference_frame.ref"),
    ({MODE: 0.2}, "malformed", f"p.{MODE}: 0.2 is a fraction, an object of control modes is needed"),
    ({MODE: {"CARTESIAN_JOYSTICk": 0.2}}, "unknown_enum", "did you mean 'CARTESIAN_JOYSTICK'?"),
    ({MODE: {"UNSPECIFIED_CONTROL_MODE": 0.2}}, "unknown_enum", "is no control mode"),
    ({MODE: {"IDLE": 0.2}}, "mode_without_limit", f"p.{MODE}: IDLE takes no {MODE}; these do: CARTESIAN_JOYSTICK"),
    ({MODE: {"CARTESIAN_JOYSTICK": {}}}, "malformed", f"p.{MODE}.CARTESIAN_JOYSTICK: an object is given"),
    ({"joint_speed_soft_limits": {"ANGULAR_JOYSTICK": [1, "2"]}}, "malformed", "soft_limits.ANGULAR_JOYSTICK[1]: "),
    ({"joint_safety": {"joints": {"j": {"k_position": 1}}}}, "malformed", "p.joint_safety.joints.j.soft_upper_limit:"),
    ({"joint_limits": {"max_velocity": {"values": [float("nan")]}}}, "not_finite", "max_velocity.values[0]: "),
]


@pytest.mark.parametrize(("document", "kind", "words"), REFUSED)
def test_what_is_no_value_is_refused_by_its_path(document: object, kind: str, words: str) -> None:
    with pytest.raises(BrokerError) as refused:
        read_items(document, "p")
    assert (refused.value.kind, words in refused.value.message) == (kind, True), refused.value.message


def test_a_path_names_a_slot_and_an_item_all_of_its_slots() -> None:
    assert read_paths(["twist_linear_soft_limit", "gravity_vector"]) == (
        ("gravity_vector", 0), *((MODE, int(mode)) for mode in ITEMS[MODE].modes),
    )  # fmt: skip
    assert read_paths([f"{MODE}/CARTESIAN_JOYSTICK", f"{MODE}/CARTESIAN_JOYSTICK"]) == ((MODE, 2),)
    assert all(read_path(slot_path(slot), "") == (slot,) for slot in VALUE_SLOTS)


@pytest.mark.parametrize(
    ("paths", "kind", "words"),
    [
        (None, "malformed", "p: null is given, a list of paths that is not empty is needed"),
        ([], "malformed", "p: a list is given, a list of paths that is not empty is needed"),
        ([1], "malformed", "p[0]: 1 is an integer, a path, item or item/MODE, is needed"),
        (["gravity_vector", f"{MODE}/IDLE"], "unknown_enum", f'p[1]: "{MODE}/IDLE" is no path of a value'),
        (["gravity_vecto"], "unknown_enum", "did you mean 'gravity_vector'?"),
        (["control_mode"], "unknown_enum", "is no path of a value"),
    ],
)
def test_what_is_no_path_is_refused(paths: object, kind: str, words: str) -> None:
    with pytest.raises(BrokerError) as refused:
        read_paths(paths, "p")
    assert (refused.value.kind, words in refused.value.message) == (kind, True), refused.value.message


def test_a_list_of_paths_has_an_end() -> None:
    assert read_paths(["gravity_vector"] * PATHS_MOST) == (("gravity_vector", 0),)
    with pytest.raises(BrokerError) as caught:
        read_paths(["gravity_vector"] * (PATHS_MOST + 1), "params.items")
    assert (caught.value.kind, caught.value.name) == ("out_of_limits", "VALUE_IS_ABOVE_MAXIMUM")
    assert caught.value.message == "params.items: 257 paths > 256, the most that are taken"
