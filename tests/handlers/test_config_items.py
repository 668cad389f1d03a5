import json
from pathlib import Path
from typing import Any

import pytest

from handlers.config_items import ANGLE_FIELDS, CONFIG_ITEMS, ITEMS, slot_name, slots
from handlers.rpc_table import RPC_TABLE
from limits.kinova_models import SOFT_LIMIT_MODES
from schema.enums import ControlConfigurationEvent
from schema.fields import Kind, fields_of
from tests.handlers.builders import values

# fmt: off
PINNED = [
    # key,                           event, modes,             order,       zero,     unit of its numbers
    ("gravity_vector",                  2,  (),                "unordered", "value",  None),
    ("payload_information",            12,  (),                "unordered", "value",  None),
    ("tool_configuration",             11,  (),                "unordered", "value",  None),
    ("cartesian_reference_frame",      13,  (),                "unordered", "refuse", None),
    ("joint_speed_soft_limits",        16,  (1, 2, 4, 5, 12),  "upper",     "value",  "deg/s"),
    ("joint_acceleration_soft_limits", 19,  (1, 4),            "upper",     "value",  "deg/s²"),
    ("twist_linear_soft_limit",        17,  (2, 5, 12),        "upper",     "refuse", "m/s"),
    ("twist_angular_soft_limit",       18,  (2, 5, 12),        "upper",     "refuse", "deg/s"),
    ("desired_linear_twist",           20,  (),                "upper",     "value",  "m/s"),
    ("desired_angular_twist",          21,  (),                "upper",     "value",  "deg/s"),
    ("desired_joint_speeds",           22,  (),                "upper",     "value",  "deg/s"),
    ("control_mode",                 None,  (),                "unordered", "refuse", None),
]
# fmt: on


def test_the_table_is_the_pinned_one() -> None:
    found = [
        (item.key, item.event, item.modes, item.order, item.zero, item.quantity and item.quantity.unit)
        for item in CONFIG_ITEMS
    ]
    assert found == PINNED


def test_no_key_and_no_event_stands_twice() -> None:
    assert list(ITEMS) == [key for key, *_ in PINNED]
    events = [item.event for item in CONFIG_ITEMS if item.event is not None]
    assert len(set(events)) == len(events)


@pytest.fixture
def rpcs(vectors_dir: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((vectors_dir / "kinova_rpcs.json").read_text())["rpcs"]
    return rows


def test_events_and_modes_are_those_of_the_rpcs(rpcs: list[dict[str, Any]]) -> None:
    writes = [row for row in rpcs if row["event"] is not None]
    assert len(writes) == 18
    for row in writes:
        item = ITEMS[RPC_TABLE[row["rpc"]].item]
        assert item.event == ControlConfigurationEvent[row["event"]] == row["event_number"]
        assert list(item.modes) == (row["modes_seen_accepted"] or [])


def test_the_value_of_a_slot_stands_in_a_field_of_its_message() -> None:
    for item in CONFIG_ITEMS:
        assert bool(item.field) is bool(item.modes)
        if item.field:
            assert item.message.__struct_fields__ == ("control_mode", item.field)
            assert item.modes == SOFT_LIMIT_MODES[item.key]


def test_the_angle_fields_are_the_thetas_of_the_tool() -> None:
    (transform,) = [field for field in fields_of(ITEMS["tool_configuration"].message) if "transform" in field.name]
    names = {field.name for field in fields_of(transform.type) if field.kind is Kind.FLOAT32}
    assert names - ANGLE_FIELDS == {"x", "y", "z"}
    assert names >= ANGLE_FIELDS


def test_an_arm_has_one_slot_a_mode_or_one_an_item() -> None:
    assert set(slots()) == set(values())
    assert len(slots()) == 21
    assert slots()[4:6] == (("joint_speed_soft_limits", 1), ("joint_speed_soft_limits", 2))


def test_a_slot_is_named_by_its_mode() -> None:
    assert slot_name(("twist_linear_soft_limit", 12)) == "CARTESIAN_WAYPOINT_TRAJECTORY"
    assert slot_name(("gravity_vector", 0)) == ""
