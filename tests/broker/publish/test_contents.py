"""What documents say of an arm: every value as in a document that is encoded whole."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from broker.publish.contents import differs, items_document
from schema.arms import Slot
from schema.codecs.json_codec import JSON_PARTS
from schema.codecs.plain import bare, to_plain
from schema.intrinsic import JointLimits, RepeatedDouble
from schema.items import CONFIG_ITEMS, ITEMS, slot_name, slots
from schema.joint_items import JointParameterMap
from schema.messages import Message
from tests.handlers.builders import linear, speeds, values
from tests.virtual_plant import Plant, play

SPEEDS: Slot = ("joint_speed_soft_limits", 1)
TWIST: Slot = ("twist_linear_soft_limit", 2)
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


def test_slots_differ_where_the_arm_has_another_value(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        session = plant.session()
        assert differs(session) == []
        reported = session.state.reported[TWIST]
        session.state.reported[TWIST] = linear(0.123)
        assert differs(session) == ["twist_linear_soft_limit/CARTESIAN_JOYSTICK"]
        session.state.reported[TWIST] = reported
        del session.state.reported[SPEEDS]
        assert differs(session) == ["joint_speed_soft_limits/ANGULAR_JOYSTICK"]

    play(tmp_path, scenario)
